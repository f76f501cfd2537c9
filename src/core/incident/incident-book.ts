import { type EndpointKey, endpointKey } from '../endpoint.ts'
import type { UnixMs } from '../time.ts'
import { type Verdict, worst } from '../verdict/condition.ts'
import type { Health } from '../verdict/health.ts'
import {
  CALM_INTERVALS,
  type ClosedIncident,
  closedIncidentOf,
  FLAPPING_AFTER,
  isRelatedTo,
  MOST_CLOSINGS,
} from './flapping.ts'
import type { Incident, IncidentChange, IncidentCondition, IncidentSample } from './incident.ts'
import { affectingState, changedSince, changeOf, mergeConditions, sameChange, withChange } from './incident-changes.ts'
import { beginEvent, goOnEvent, type NetworkEvent } from './network-event.ts'

/** One endpoint after a judged poll. */
export interface JudgedEndpoint {
  readonly health: Health
  /** Start of the poll. */
  readonly at: UnixMs
  readonly now: UnixMs
  /** The first poll that did not find what this one ended. */
  readonly goneSince: UnixMs
  /** It is in planned maintenance until then; `null` when it is not. */
  readonly maintainedUntil: UnixMs | null
}

/** A network after a judged poll. */
export interface JudgedNetwork {
  readonly name: string
  readonly now: UnixMs
  /** What happens to all of it; empty when nothing does. */
  readonly events: readonly NetworkEvent[]
  readonly samples: readonly IncidentSample[]
  /** Enough is known to say that an event that is not seen any more has ended. */
  readonly isOver: (incident: Incident) => boolean
}

/**
 * Turns what is confirmed into incidents: one per endpoint from the first bad poll to the first good one, however its causes
 * follow each other; one per network-wide event. Every method returns the incidents that it changed, as they stand now.
 */
export interface IncidentBook {
  /** What an earlier run has left open, and what it closed lately. */
  restore(incidents: readonly Incident[], maintainedUntil: ReadonlyMap<EndpointKey, UnixMs>): void
  /** After every judged poll. */
  endpoint(report: JudgedEndpoint): readonly Incident[]
  /** After every judged poll of the network, while there are events or were at the last one. */
  network(report: JudgedNetwork): readonly Incident[]
  /** The open incidents of the network as a whole. */
  networkWide(name: string): readonly Incident[]
  /** Only these are watched from now on: what was open of others is closed. */
  retain(endpoints: ReadonlySet<EndpointKey>, networks: ReadonlySet<string>, at: UnixMs): readonly Incident[]
}

/** Conditions that compare an endpoint with the others: in a halt or a fork of all they are no trouble of its own. */
const COMPARING: ReadonlySet<IncidentCondition['code']> = new Set(['lagging', 'stalled', 'forked'])

export function createIncidentBook(): IncidentBook {
  const open = new Map<EndpointKey, Incident>()
  const networkWide = new Map<string, Map<NetworkEvent['cause'], Incident>>()
  /** The end of each endpoint's latest incidents, the newest last. */
  const closings = new Map<EndpointKey, readonly ClosedIncident[]>()
  /** The latest that flapped, of those that closed. */
  const calmed = new Map<EndpointKey, Incident>()
  /** When the latest maintenance ends that a poll fell into. */
  const maintained = new Map<EndpointKey, UnixMs>()
  const networkMaintained = new Map<string, Map<NetworkEvent['cause'], UnixMs>>()

  function begin({ health, at }: JudgedEndpoint, verdict: Verdict): Incident {
    const { network, name } = health.endpoint
    const key = endpointKey(health.endpoint)
    const openedAt = openingOf(health.since, maintained.get(key), at)
    const isRelated = isRelatedTo(health, openedAt)
    const last = calmed.get(key)
    if (last !== undefined && isRelated(closedIncidentOf(last))) return reopen(last, health, verdict, openedAt)
    const earlier = (closings.get(key) ?? []).filter(isRelated).length
    return {
      id: `${openedAt.toString(36)}-${network}.${name}`,
      network,
      endpoint: name,
      cause: 'endpoint',
      state: verdict,
      openedAt,
      confirmedAt: Math.max(at, openedAt),
      closedAt: null,
      conditions: mergeConditions([], health.conditions, openedAt, openedAt),
      changes: [changeOf(health, verdict, openedAt)],
      flaps: earlier,
      flapping: earlier + 1 >= FLAPPING_AFTER,
      absorbedBy: null,
      affected: [],
    }
  }

  function reopen(incident: Incident, health: Health, verdict: Verdict, from: UnixMs): Incident {
    return {
      ...incident,
      state: worst([incident.state, verdict]),
      closedAt: null,
      conditions: mergeConditions(incident.conditions, health.conditions, from, from),
      changes: withChange(incident.changes, changeOf(health, verdict, from)),
      flaps: incident.flaps + 1,
    }
  }

  function close(incident: Incident, end: UnixMs): Incident {
    const closedAt = Math.max(end, incident.confirmedAt)
    const conditions = incident.conditions.map((condition) => ({ ...condition, until: condition.until ?? closedAt }))
    return { ...incident, closedAt, conditions }
  }

  function noteClosed(key: EndpointKey, incident: Incident): void {
    closings.set(key, [...(closings.get(key) ?? []), closedIncidentOf(incident)].slice(-MOST_CLOSINGS))
    if (incident.flapping) calmed.set(key, incident)
    else calmed.delete(key)
  }

  function goOn(incident: Incident, { health, at, goneSince }: JudgedEndpoint, verdict: Verdict): Incident {
    const conditions = mergeConditions(incident.conditions, health.conditions, goneSince, incident.openedAt)
    const last = incident.changes.at(-1)
    const change = changeOf(health, verdict, Math.max(last?.at ?? 0, changedSince(incident, health, goneSince, at)))
    const isNew = !sameChange(last, change)
    if (!isNew && conditions === incident.conditions) return incident
    const fellIllAgain = isNew && last?.state === 'up'
    return {
      ...incident,
      state: worst([incident.state, verdict]),
      conditions,
      changes: isNew ? withChange(incident.changes, change) : incident.changes,
      flaps: incident.flaps + Number(fellIllAgain),
    }
  }

  /** One that flaps has to stay well for a while; the incident then ends when it became well. */
  function recover(incident: Incident, { health, at }: JudgedEndpoint): Incident {
    const { since, endpoint } = health
    // What was saved of its health before a crash may be older than what was saved of the incident.
    const wellFrom = Math.max(since >= incident.openedAt ? since : at, incident.changes.at(-1)?.at ?? 0)
    const isNew = incident.changes.at(-1)?.state !== 'up'
    const recovered = isNew
      ? {
          ...incident,
          changes: withChange(incident.changes, changeOf(health, 'up', wellFrom)),
          conditions: mergeConditions(incident.conditions, [], wellFrom, incident.openedAt),
        }
      : incident
    const isCalm = !incident.flapping || at - wellFrom >= CALM_INTERVALS * endpoint.intervalMs
    return isCalm ? close(recovered, wellFrom) : recovered
  }

  /** A network-wide event of which this trouble is only a part. */
  function absorbing(health: Health): Incident | null {
    const grave = affectingState(health.conditions)
    if (grave.length === 0 || !grave.every((condition) => COMPARING.has(condition.code))) return null
    for (const incident of networkWide.get(health.endpoint.network)?.values() ?? []) {
      if (health.since >= incident.openedAt) return incident
    }
    return null
  }

  function absorb(network: string, by: Incident, at: UnixMs): Incident[] {
    const absorbed: Incident[] = []
    for (const [key, incident] of open) {
      if (incident.network !== network || incident.openedAt < by.openedAt) continue
      const held = incident.conditions.filter(({ until }) => until === null)
      if (held.length === 0 || !held.every(({ code }) => COMPARING.has(code))) continue
      open.delete(key)
      absorbed.push({ ...close(incident, at), absorbedBy: by.id })
    }
    return absorbed
  }

  /** Whether it may open now; what is planned is remembered, so that it is known when it was over. */
  function isExcused({ health, at, now, maintainedUntil }: JudgedEndpoint): boolean {
    const key = endpointKey(health.endpoint)
    if (maintainedUntil !== null) maintained.set(key, maintainedUntil)
    const until = maintained.get(key)
    // The poll began in maintenance, and ended after it.
    return maintainedUntil !== null || (until !== undefined && at < until && until <= now)
  }

  function isEventExcused(name: string, { cause, maintainedUntil }: NetworkEvent): boolean {
    if (maintainedUntil !== null) ofNetwork(networkMaintained, name).set(cause, maintainedUntil)
    return maintainedUntil !== null
  }

  return {
    restore(incidents, maintainedUntil) {
      for (const [key, until] of maintainedUntil) maintained.set(key, until)
      for (const incident of incidents.toSorted((a, b) => (a.closedAt ?? 0) - (b.closedAt ?? 0))) {
        const key = keyOf(incident)
        if (incident.closedAt === null) {
          if (key !== null) open.set(key, incident)
          else if (incident.cause !== 'endpoint') ofNetwork(networkWide, incident.network).set(incident.cause, incident)
        } else if (key !== null && incident.absorbedBy === null) noteClosed(key, incident)
      }
    },

    endpoint(report) {
      const { health } = report
      const { verdict } = health
      const key = endpointKey(health.endpoint)
      const excused = isExcused(report)
      const current = open.get(key)
      if (verdict === null) return NOTHING
      if (current === undefined) {
        if (verdict === 'up' || excused || absorbing(health) !== null) return NOTHING
        const begun = begin(report, verdict)
        open.set(key, begun)
        return [begun]
      }
      const next = verdict === 'up' ? recover(current, report) : goOn(current, report, verdict)
      if (next === current) return NOTHING
      if (next.closedAt === null) open.set(key, next)
      else {
        open.delete(key)
        noteClosed(key, next)
      }
      return [next]
    },

    network({ name, now, events, samples, isOver }) {
      const changed: Incident[] = []
      const of = ofNetwork(networkWide, name)
      for (const event of events) {
        const current = of.get(event.cause)
        const excused = isEventExcused(name, event)
        if (current === undefined && excused) continue
        const planned = networkMaintained.get(name)?.get(event.cause)
        const next =
          current === undefined
            ? beginEvent(name, event, samples, openingOf(event.since, planned, now), now)
            : goOnEvent(current, event, samples, now)
        if (next === current) continue
        of.set(event.cause, next)
        changed.push(next)
        if (current === undefined) changed.push(...absorb(name, next, now))
      }
      for (const [cause, incident] of of) {
        if (events.some((event) => event.cause === cause) || !isOver(incident)) continue
        of.delete(cause)
        const closed = close(incident, now)
        const change: IncidentChange = { at: closed.closedAt ?? now, state: 'up', codes: [], samples }
        changed.push({ ...closed, changes: withChange(incident.changes, change) })
      }
      return changed
    },

    networkWide(name) {
      const incidents = networkWide.get(name)
      return incidents === undefined || incidents.size === 0 ? NOTHING : [...incidents.values()]
    },

    retain(endpoints, networks, at) {
      const changed: Incident[] = []
      for (const [key, incident] of open) {
        if (endpoints.has(key)) continue
        open.delete(key)
        changed.push(close(incident, at))
      }
      for (const [name, incidents] of networkWide) {
        if (networks.has(name)) continue
        for (const incident of incidents.values()) changed.push(close(incident, at))
        networkWide.delete(name)
      }
      for (const of of [closings, calmed, maintained])
        for (const key of of.keys()) if (!endpoints.has(key)) of.delete(key)
      for (const name of networkMaintained.keys()) if (!networks.has(name)) networkMaintained.delete(name)
      // What was planned may not be any more. Where it is, the next poll says so.
      for (const [key, until] of maintained) maintained.set(key, Math.min(until, at))
      for (const causes of networkMaintained.values())
        for (const [cause, until] of causes) causes.set(cause, Math.min(until, at))
      return changed
    },
  }
}

const NOTHING: readonly Incident[] = Object.freeze([])

/** What was there before the end of planned maintenance is held against nobody until then. */
function openingOf(since: UnixMs, maintainedUntil: UnixMs | undefined, now: UnixMs): UnixMs {
  return Math.max(since, Math.min(maintainedUntil ?? since, now))
}

function keyOf({ network, endpoint }: Incident): EndpointKey | null {
  return endpoint === null ? null : endpointKey({ network, name: endpoint })
}

function ofNetwork<C, V>(all: Map<string, Map<C, V>>, name: string): Map<C, V> {
  const known = all.get(name)
  if (known !== undefined) return known
  const fresh = new Map<C, V>()
  all.set(name, fresh)
  return fresh
}
