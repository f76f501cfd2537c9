import { ALONE, type Place } from '../core/cluster/vote.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { MaintenancePeriod } from '../core/maintenance.ts'
import type { ConsensusReport, Liveness, NodeCheck } from '../core/poll-result.ts'
import { seconds, time, timeOrNull, type UnixMs } from '../core/time.ts'
import type { Condition, ConditionCode, State } from '../core/verdict/condition.ts'
import { NOT_COMPARABLE } from '../core/verdict/findings.ts'
import { type HeadStanding, type Health, headHolds, isCurrent, stateAt, stateSince } from '../core/verdict/health.ts'
import { networkState } from '../core/verdict/network-state.ts'
import {
  type BoardEntry,
  type BoardNetwork,
  knownStanding,
  NO_PLACES,
  type ReferenceHead,
  shownState,
} from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type {
  Audience,
  AvailabilityView,
  ConditionView,
  EndpointView,
  HeadView,
  LivenessView,
  MaintenanceView,
  NetworkView,
  NodeCheckView,
  ReferenceHeadView,
  VantageView,
} from './wire/status.ts'

/** Maximum number of checks shown per node, failing ones first; a node may report any number. */
const MAX_CHECKS = 128

/** An endpoint and its open incident, as this audience may see them. */
export function endpointView(
  entry: BoardEntry,
  incident: Pick<Incident, 'id' | 'flapping' | 'openedAt'> | null,
  now: UnixMs,
  audience: Audience,
): EndpointView {
  const { health, availability } = entry
  const { endpoint } = health
  const holds = stateAt(health, now) !== 'unknown'
  const open = audience === 'private'
  const client = health.liveness?.report?.client ?? null
  const state = shownState(entry, now)
  // A fault that outlasts maintenance counts from the start of its incident.
  const isUnhealthy = state === 'down' || state === 'degraded'
  return {
    name: endpoint.name,
    title: endpoint.title,
    state,
    since: time(Math.max(shownSince(entry, now), isUnhealthy ? (incident?.openedAt ?? 0) : 0)),
    incident: incident?.id ?? null,
    flapping: incident?.flapping ?? false,
    last_polled_at: timeOrNull(health.lastPolledAt),
    conditions: holds ? health.conditions.map((condition) => conditionView(condition, audience)) : [],
    heads: open ? health.heads.map((head) => headView(head, headHolds(head, health, now))) : [],
    liveness: open && health.liveness !== null ? livenessView(health.liveness, health) : null,
    ...(open && client !== null ? { client } : {}),
    ...(open ? groupsOf(endpoint) : {}),
    latency_seconds: open ? seconds(health.latencyMs) : null,
    ...vantagesOf(entry, now, audience),
    availability: availability ?? NO_AVAILABILITY,
  }
}

function vantagesOf(
  { health, places, confirmedBy }: BoardEntry,
  now: UnixMs,
  audience: Audience,
): Pick<EndpointView, 'vantages' | 'confirmed_by'> {
  if (places !== NO_PLACES) {
    const { endpoint } = health
    return { vantages: places.map((place) => vantageView(place, endpoint, now, audience)), confirmed_by: confirmedBy }
  }
  const state = stateAt(health, now)
  const counted = state !== 'unknown'
  const only: VantageView = {
    vantage: ALONE,
    state,
    since: time(stateSince(health, now)),
    last_polled_at: timeOrNull(health.lastPolledAt),
    latency_seconds: audience === 'private' ? seconds(health.latencyMs) : null,
    conditions: counted ? health.conditions.map((condition) => conditionView(condition, audience)) : [],
    counted,
  }
  return { vantages: [only], confirmed_by: counted ? 1 : 0 }
}

function vantageView(
  { vantage, state, since, lastPolledAt, latencyMs, conditions, heads, counted }: Place,
  endpoint: Endpoint,
  now: UnixMs,
  audience: Audience,
): VantageView {
  // A place that does not reach the endpoint keeps the head that it saw last.
  const holds = (head: HeadStanding) => counted && isCurrent(head, { lastPolledAt, endpoint }, now)
  return {
    vantage,
    state,
    since: time(since),
    last_polled_at: timeOrNull(lastPolledAt),
    latency_seconds: audience === 'private' ? seconds(latencyMs) : null,
    conditions: conditions.map((condition) => conditionView(condition, audience)),
    heads: audience === 'private' ? heads.map((head) => headView(head, holds(head))) : [],
    counted,
  }
}

/** What endpoints are filtered by. */
function groupsOf({ provider, labels }: Endpoint): Pick<EndpointView, 'provider' | 'labels'> {
  return {
    ...(provider === null ? {} : { provider }),
    ...(Object.keys(labels).length === 0 ? {} : { labels: { ...labels } }),
  }
}

const NONE: AvailabilityView = { ratio: null, coverage: 0, fresh: null }
const NO_AVAILABILITY = { '24h': NONE, '7d': NONE, '30d': NONE, '90d': NONE }

/** Start of the shown state; for maintenance, the earliest start of the current periods. */
export function shownSince({ health, maintenance }: BoardEntry, now: UnixMs): UnixMs {
  let since: UnixMs | null = null
  for (const { from, until } of maintenance) {
    if (from <= now && now < until && (since === null || from < since)) since = from
  }
  return since ?? stateSince(health, now)
}

/** A network without its endpoints. An unknown halt or fork is none. */
export function networkSummary(of: BoardNetwork, now: UnixMs, audience: Audience): Omit<NetworkView, 'endpoints'> {
  const { network } = of.standing
  const { heads, halted, forked } = knownStanding(of, now)
  return {
    name: network.name,
    title: network.title,
    family: network.family,
    ...(audience === 'private' && network.explorerUrl !== undefined ? { explorer_url: network.explorerUrl } : {}),
    state: networkState(of.endpoints.map((entry) => shownState(entry, now))),
    halted: halted === true,
    forked: forked === true,
    heads: audience === 'private' ? heads.map(referenceView) : [],
  }
}

export function networkView(
  of: BoardNetwork,
  incidents: Pick<IncidentLog, 'of'>,
  now: UnixMs,
  audience: Audience,
): NetworkView {
  const endpoints = of.endpoints.map((entry) => endpointView(entry, incidents.of(entry.health.endpoint), now, audience))
  return { ...networkSummary(of, now, audience), endpoints }
}

export function overallState(networks: readonly BoardNetwork[], now: UnixMs): State {
  return networkState(networks.map(({ endpoints }) => networkState(endpoints.map((entry) => shownState(entry, now)))))
}

export function maintenanceView({ name, network, endpoints, from, until }: MaintenancePeriod): MaintenanceView {
  return { name, network, endpoints: endpoints === null ? null : [...endpoints], from: time(from), until: time(until) }
}

/** The message of a condition for the public, without details of the node. It follows `is down:`. */
export function publicMessage({ code, message, isAlone }: Pick<Condition, 'code' | 'message' | 'isAlone'>): string {
  // `down from fra1 only: connection refused; …`: the names of places are public, what they were told is not.
  if (code === 'partial') return message.split(':', 1)[0] ?? GENERIC.partial
  return code === 'stalled' && isAlone === true ? `no new block; ${NOT_COMPARABLE}` : GENERIC[code]
}

const GENERIC: Record<ConditionCode, string> = {
  unreachable: 'no answer',
  'bad-answer': 'invalid responses',
  'wrong-network': 'another network than configured',
  unhealthy: 'the node reports itself unhealthy',
  lagging: 'behind the other nodes',
  stalled: 'no new block while the network advances',
  forked: 'on another branch than the majority',
  'check-failing': 'a check of its own fails',
  'heartbeat-stale': 'no message from its network for too long',
  syncing: 'syncing with its network',
  'few-peers': 'too few peers',
  'consensus-syncing': 'its consensus node is syncing',
  'consensus-down': 'its consensus node does not work',
  slow: 'slow answers',
  'rate-limited': 'rate-limiting us',
  partial: 'down from some places only',
  'clock-skewed': 'a wrong clock',
  'no-evidence': 'no evidence of its health',
}

function conditionView(condition: Condition, audience: Audience): ConditionView {
  const { code, message, since } = condition
  return { code, message: audience === 'private' ? message : publicMessage(condition), since: time(since) }
}

function headView(head: HeadStanding, current: boolean): HeadView {
  return {
    shard: head.shard,
    height: head.height,
    hash: head.hash,
    timestamp: time(head.timestamp),
    lag_blocks: current ? head.lagBlocks : null,
    lag_seconds: current ? seconds(head.lagMs) : null,
  }
}

function referenceView({ shard, height, hash, timestamp }: ReferenceHead): ReferenceHeadView {
  return { shard, height, hash, timestamp: timeOrNull(timestamp) }
}

function livenessView({ healthy, heartbeatAt, checks, report }: Liveness, { lastPolledAt }: Health): LivenessView {
  const shown =
    checks.length > MAX_CHECKS
      ? checks.toSorted((a, b) => Number(a.healthy) - Number(b.healthy)).slice(0, MAX_CHECKS)
      : checks
  return {
    healthy,
    heartbeat_lag_seconds:
      heartbeatAt === null || lastPolledAt === null ? null : seconds(Math.max(0, lastPolledAt - heartbeatAt)),
    contiguous_failures: checks.reduce((most, check) => Math.max(most, check.contiguousFailures), 0),
    checks: shown.map(nodeCheckView),
    ...(report === undefined
      ? {}
      : {
          syncing: report.sync?.isSyncing ?? null,
          blocks_to_go: report.sync?.remainingBlocks ?? null,
          peers: report.peers,
          consensus: consensusView(report.consensus),
        }),
  }
}

export function consensusView(of: ConsensusReport | null): NonNullable<LivenessView['consensus']> | null {
  if (of === null) return null
  return { state: of.state === 'unreached' ? null : of.state, slots_to_go: of.remainingSlots, peers: of.peers }
}

function nodeCheckView(check: NodeCheck): NodeCheckView {
  return {
    name: check.name,
    healthy: check.healthy,
    contiguous_failures: check.contiguousFailures,
    failing_since: timeOrNull(check.failingSince),
    checked_at: timeOrNull(check.checkedAt),
    ...(check.error === null ? {} : { message: check.error }),
    ...(check.offered === false ? { offered: false } : {}),
  }
}
