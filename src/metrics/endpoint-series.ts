import type { NodeCheck } from '../core/poll-result.ts'
import { seconds, type UnixMs } from '../core/time.ts'
import { STATES } from '../core/verdict/condition.ts'
import { headHolds, resultHolds, stateAt } from '../core/verdict/health.ts'
import { type BoardEntry, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import {
  CHECK_ENDS,
  CONDITION_ENDS,
  labelsOf,
  labelValue,
  lastLabel,
  PLACE_STATE_ENDS,
  STATE_ENDS,
} from './endpoint-labels.ts'
import type { DeferredLines, Lines } from './lines.ts'
import { MAX_NODE_CHECKS, METRIC_NAMES, type MetricName, PREFIX } from './registry.ts'

/**
 * Renders the state of these endpoints. Values that are unknown at `now` have no line. `sparse` leaves out the states
 * and conditions that are 0.
 */
export function renderEndpoints(
  entries: readonly BoardEntry[],
  incidents: OpenIncidents,
  now: UnixMs,
  sparse = false,
): EndpointLines {
  return {
    ...renderVerdicts(entries, incidents, now, sparse),
    ...renderPlaces(entries, sparse),
    ...renderHeads(entries, now),
    ...renderChecks(entries, now),
    ...renderNodes(entries, now),
    ...renderReports(entries, now),
  }
}

export type EndpointLines = Partial<Record<MetricName, string | readonly DeferredLines[]>>

export type OpenIncidents = Pick<IncidentLog, 'of'>

/** The beginning of each metric's lines. */
const START = Object.fromEntries(METRIC_NAMES.map((name) => [name, `${PREFIX}${name}{`])) as Record<MetricName, string>

/** All lines of a metric with one line per value, cut where the endpoint's labels belong. `ones` are the values that are 1. */
function linesOf<T extends string>(
  name: MetricName,
  ends: readonly (readonly [value: T, end: string])[],
  ones: readonly T[],
  sparse: boolean,
): readonly string[] {
  const shown = sparse ? ends.filter(([value]) => ones.includes(value)) : ends
  if (shown.length === 0) return NONE
  const lines = shown.map(([value, end]) => `${end}${ones.includes(value) ? 1 : 0}\n`)
  return [START[name], ...lines.map((line, at) => (at === lines.length - 1 ? line : line + START[name]))]
}

function renderVerdicts(
  entries: readonly BoardEntry[],
  incidents: OpenIncidents,
  now: UnixMs,
  sparse: boolean,
): EndpointLines {
  let info = ''
  let up = ''
  const states: DeferredLines[] = []
  const conditions: DeferredLines[] = []
  let changes = ''
  let flapping = ''
  const noConditions = linesOf('endpoint_condition', CONDITION_ENDS, NONE, sparse)
  const statesOf = new Map(STATES.map((state) => [state, linesOf('endpoint_state', STATE_ENDS, [state], sparse)]))
  for (const entry of entries) {
    const { health, tally } = entry
    const { endpoint } = health
    const { bare, info: infoLabels } = labelsOf(endpoint)
    const isKnown = stateAt(health, now) !== 'unknown'
    const shown = shownState(entry, now)
    info += `${START.endpoint_info}${infoLabels}1\n`
    if (isKnown) up += `${START.endpoint_up}${bare}} ${health.verdict === 'down' ? 0 : 1}\n`
    states.push([statesOf.get(shown) ?? NONE, bare])
    const codes = isKnown ? health.conditions.map(({ code }) => code) : NONE
    const ofCodes = codes.length === 0 ? noConditions : linesOf('endpoint_condition', CONDITION_ENDS, codes, sparse)
    conditions.push([ofCodes, bare])
    changes += `${START.endpoint_state_changes_total}${bare}} ${tally.stateChanges}\n`
    flapping += `${START.endpoint_flapping}${bare}} ${incidents.of(endpoint)?.flapping === true ? 1 : 0}\n`
  }
  return {
    endpoint_info: info,
    endpoint_up: up,
    endpoint_state: states,
    endpoint_condition: conditions,
    endpoint_state_changes_total: changes,
    endpoint_flapping: flapping,
  }
}

/** One line per state of each place; none for a daemon alone. */
function renderPlaces(entries: readonly BoardEntry[], sparse: boolean): Lines {
  let states = ''
  for (const { health, places } of entries) {
    if (places.length === 0) continue
    const { bare } = labelsOf(health.endpoint)
    for (const { vantage, state } of places) {
      const labels = `${bare},vantage="${labelValue(vantage)}"`
      for (const [value, end] of PLACE_STATE_ENDS) {
        if (value === state || !sparse) states += `${START.vantage_state}${labels}${end}${value === state ? 1 : 0}\n`
      }
    }
  }
  return { vantage_state: states }
}

function renderHeads(entries: readonly BoardEntry[], now: UnixMs): Lines {
  let heights = ''
  let timestamps = ''
  let lags = ''
  let advances = ''
  let reorgs = ''
  let regressions = ''
  for (const { health, tally } of entries) {
    const { byShard } = labelsOf(health.endpoint)
    for (const head of health.heads) {
      if (!headHolds(head, health, now)) continue
      const labels = byShard.find((one) => one.shard === head.shard)?.labels
      if (labels === undefined) continue
      heights += `${START.endpoint_block_height}${labels}${head.height}\n`
      timestamps += `${START.endpoint_block_timestamp_seconds}${labels}${head.timestamp / 1000}\n`
      if (head.lagBlocks !== null) lags += `${START.endpoint_block_lag}${labels}${head.lagBlocks}\n`
      advances += `${START.endpoint_last_advance_timestamp_seconds}${labels}${head.advancedAt / 1000}\n`
    }
    for (const { shard, labels } of byShard) {
      reorgs += `${START.endpoint_reorgs_total}${labels}${tally.reorgs?.get(shard) ?? 0}\n`
      regressions += `${START.endpoint_height_regressions_total}${labels}${tally.regressions?.get(shard) ?? 0}\n`
    }
  }
  return {
    endpoint_block_height: heights,
    endpoint_block_timestamp_seconds: timestamps,
    endpoint_block_lag: lags,
    endpoint_last_advance_timestamp_seconds: advances,
    endpoint_reorgs_total: reorgs,
    endpoint_height_regressions_total: regressions,
  }
}

function renderChecks(entries: readonly BoardEntry[], now: UnixMs): Lines {
  let success = ''
  let lastRun = ''
  let lastSuccess = ''
  let consecutive = ''
  let runs = ''
  let requests = ''
  let failures = ''
  let durations = ''
  for (const { health, tally } of entries) {
    const { bare } = labelsOf(health.endpoint)
    const holds = resultHolds(health, now)
    for (const of of tally.checks) {
      const { check } = of
      const labels = bare + CHECK_ENDS[check]
      if (holds && of.lastOk !== null) success += `${START.check_success}${labels}${of.lastOk ? 1 : 0}\n`
      if (of.lastRunAt !== null) {
        lastRun += `${START.check_last_run_timestamp_seconds}${labels}${of.lastRunAt / 1000}\n`
        consecutive += `${START.check_consecutive_failures}${labels}${of.consecutiveFailures}\n`
      }
      if (of.lastSuccessAt !== null) {
        lastSuccess += `${START.check_last_success_timestamp_seconds}${labels}${of.lastSuccessAt / 1000}\n`
      }
      runs += `${START.checks_total}${labels}${of.runs}\n`
      requests += `${START.node_requests_total}${labels}${of.requests}\n`
      for (const [kind, count] of of.failures ?? []) {
        const end = lastLabel('check_failures_total', kind)
        failures += `${START.check_failures_total}${bare},check="${check}"${end}${count}\n`
      }
      if (holds && of.lastDurationMs !== null) {
        durations += `${START.check_last_duration_seconds}${labels}${seconds(of.lastDurationMs)}\n`
      }
    }
  }
  return {
    check_success: success,
    check_last_run_timestamp_seconds: lastRun,
    check_last_success_timestamp_seconds: lastSuccess,
    check_consecutive_failures: consecutive,
    checks_total: runs,
    node_requests_total: requests,
    check_failures_total: failures,
    check_last_duration_seconds: durations,
  }
}

function renderNodes(entries: readonly BoardEntry[], now: UnixMs): Lines {
  let healthy = ''
  let heartbeats = ''
  let contiguous = ''
  let firstFailures = ''
  let skews = ''
  let certificates = ''
  for (const { health } of entries) {
    if (!resultHolds(health, now)) continue
    const { bare } = labelsOf(health.endpoint)
    const { liveness, clockSkewMs, tlsNotAfter } = health
    if (clockSkewMs !== null) skews += `${START.endpoint_clock_skew_seconds}${bare}} ${clockSkewMs / 1000}\n`
    if (tlsNotAfter !== null) {
      certificates += `${START.endpoint_tls_not_after_timestamp_seconds}${bare}} ${tlsNotAfter / 1000}\n`
    }
    if (liveness === null) continue
    // A node that was not reached, or that offers none of the questions, has told nothing.
    const isTold = liveness.report === undefined || liveness.checks.some(({ offered }) => offered !== false)
    if (isTold && liveness.unanswered !== true) healthy += `${START.node_healthy}${bare}} ${liveness.healthy ? 1 : 0}\n`
    if (liveness.heartbeatAt !== null) {
      heartbeats += `${START.node_heartbeat_timestamp_seconds}${bare}} ${liveness.heartbeatAt / 1000}\n`
    }
    for (const [name, check] of namedChecks(liveness.checks)) {
      const labels = bare + lastLabel('node_check_contiguous_failures', name)
      contiguous += `${START.node_check_contiguous_failures}${labels}${check.contiguousFailures}\n`
      if (check.failingSince !== null) {
        firstFailures += `${START.node_check_first_failure_timestamp_seconds}${labels}${check.failingSince / 1000}\n`
      }
    }
  }
  return {
    node_healthy: healthy,
    node_heartbeat_timestamp_seconds: heartbeats,
    node_check_contiguous_failures: contiguous,
    node_check_first_failure_timestamp_seconds: firstFailures,
    endpoint_clock_skew_seconds: skews,
    endpoint_tls_not_after_timestamp_seconds: certificates,
  }
}

function renderReports(entries: readonly BoardEntry[], now: UnixMs): Lines {
  let syncing = ''
  let remaining = ''
  let peerCounts = ''
  let consensusUp = ''
  let consensusSyncing = ''
  let consensusPeers = ''
  for (const { health } of entries) {
    const report = health.liveness?.report
    if (report === undefined || !resultHolds(health, now)) continue
    const { bare } = labelsOf(health.endpoint)
    const { sync, peers, consensus } = report
    if (sync !== null) {
      syncing += `${START.node_syncing}${bare}} ${sync.isSyncing ? 1 : 0}\n`
      const blocks = sync.isSyncing ? sync.remainingBlocks : 0
      if (blocks !== null) remaining += `${START.node_sync_remaining_blocks}${bare}} ${blocks}\n`
    }
    if (peers !== null) peerCounts += `${START.node_peers}${bare}} ${peers}\n`
    const state = consensus?.state ?? null
    if (consensus === null || state === null || state === 'unreached') continue
    consensusUp += `${START.node_consensus_up}${bare}} ${state === 'down' ? 0 : 1}\n`
    if (state !== 'down') consensusSyncing += `${START.node_consensus_syncing}${bare}} ${state === 'synced' ? 0 : 1}\n`
    if (consensus.peers !== null) consensusPeers += `${START.node_consensus_peers}${bare}} ${consensus.peers}\n`
  }
  return {
    node_syncing: syncing,
    node_sync_remaining_blocks: remaining,
    node_peers: peerCounts,
    node_consensus_up: consensusUp,
    node_consensus_syncing: consensusSyncing,
    node_consensus_peers: consensusPeers,
  }
}

/** The checks that become series, by label. If there are too many, failing ones come first, then by name. */
function namedChecks(checks: readonly NodeCheck[]): readonly NamedCheck[] {
  const named: NamedCheck[] = []
  const ordered =
    checks.length > MAX_NODE_CHECKS ? checks.toSorted((a, b) => isBad(b) - isBad(a) || compare(a.name, b.name)) : checks
  for (const check of ordered) {
    if (named.length === MAX_NODE_CHECKS) break
    const label = labelValue(check.name)
    if (!named.some(([known]) => known === label)) named.push([label, check])
  }
  return named
}

type NamedCheck = readonly [label: string, check: NodeCheck]

function isBad(check: NodeCheck): number {
  return check.healthy && check.contiguousFailures === 0 ? 0 : 1
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const NONE: readonly never[] = []
