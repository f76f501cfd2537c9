import { type EndpointKey, endpointKey } from '../endpoint.ts'
import type { MaintenanceSpan } from '../maintenance.ts'
import type { UnixMs } from '../time.ts'
import { type ConfirmationState, conditionsOf } from '../verdict/confirm.ts'
import type { Health } from '../verdict/health.ts'
import {
  type Beginning,
  closeIncident,
  continueIncident,
  countedFrom,
  isBack,
  openIncident,
  recoverIncident,
  reopenIncident,
} from './endpoint-incident.ts'
import { closedIncidentOf, createClosedEvents, createClosedIncidents, isRelatedTo } from './flapping.ts'
import type { Incident, IncidentSample } from './incident.ts'
import { isOnlyOf, isPartOf, wasPartOf } from './incident-changes.ts'
import { createMaintenanceMemory } from './maintenance-memory.ts'
import { beginEvent, continueEvent, endEvent, type NetworkEvent } from './network-event.ts'

/**
 * Turns confirmed conditions into incidents: one per endpoint from its first bad poll to its first good one, even if
 * the conditions change, and one per event of several endpoints. Methods return the incidents that they changed.
 */
export interface IncidentBook {
  /** Loads the open and the recently closed incidents of an earlier run, and the maintenance of endpoints at its end. */
  restore(incidents: readonly Incident[], maintained: ReadonlyMap<EndpointKey, MaintainedEndpoint>): readonly Incident[]
  /**
   * Continues an open incident that another daemon began. An endpoint has one open incident: a second one is closed, as
   * part of the first.
   */
  adopt(incident: Incident): readonly Incident[]
  /** Call it after every judged poll. */
  endpoint(judged: JudgedEndpoint): readonly Incident[]
  /** Call it after every judged poll while the network has events, and once after the last one ended. */
  network(judged: JudgedNetwork): readonly Incident[]
  openOf(endpoint: EndpointKey): Incident | undefined
  /** How the endpoint's open incident began; without one, how that of an unhealthy endpoint polled `at` would begin. */
  beginningOf(health: Health, at: UnixMs): Beginning
  /** The network's open incidents of the whole network: halted or forked. */
  networkWide(name: string): readonly Incident[]
  /** Closes the open incidents of all endpoints and networks that are not in these sets. */
  retain(endpoints: ReadonlySet<EndpointKey>, networks: ReadonlySet<string>, at: UnixMs): readonly Incident[]
}

/** What was saved of an endpoint in planned maintenance; `confirmation` is `null` if that cannot be read. */
export interface MaintainedEndpoint {
  readonly span: MaintenanceSpan
  readonly confirmation: ConfirmationState | null
}

export interface JudgedEndpoint {
  readonly health: Health
  /** Start of the poll. */
  readonly at: UnixMs
  readonly now: UnixMs
  /** Start of the first poll that no longer found the conditions that this poll ended. */
  readonly goneSince: UnixMs
  /** Consecutive polls before a better state is confirmed. */
  readonly recoverAfter: number
  /** Its planned maintenance; `null` outside of maintenance. */
  readonly maintained: MaintenanceSpan | null
  /** The open outage that it is part of, if any: it gets no incident of its own. */
  readonly outage: Incident | undefined
}

export interface JudgedNetwork {
  readonly name: string
  readonly now: UnixMs
  readonly events: readonly NetworkEvent[]
  readonly samples: readonly IncidentSample[]
  /** The open incidents of several endpoints that were examined: those without an event may have ended. */
  readonly open: readonly Incident[]
  /** When an event that is no longer seen ended; `null` while too little is known to conclude that. */
  readonly endOf: (incident: Incident) => UnixMs | null
}

export function createIncidentBook(): IncidentBook {
  const open = new Map<EndpointKey, Incident>()
  /** By network, then by id: those of the whole network, and outages. */
  const networkWide = new Map<string, Map<string, Incident>>()
  const outages = new Map<string, Map<string, Incident>>()
  const closedEvents = createClosedEvents()
  const closed = createClosedIncidents()
  const maintenance = createMaintenanceMemory()

  const mapOf = (cause: Incident['cause']) => (cause === 'outage' ? outages : networkWide)

  function beginningIn({ endpoint, since, confirmation }: Health, at: UnixMs): Beginning {
    return maintenance.beginningOf(endpointKey(endpoint), since, at, confirmation.badSince)
  }

  function begin(health: Health, verdict: Incident['state'], at: UnixMs): Incident {
    const key = endpointKey(health.endpoint)
    const beginning = beginningIn(health, at)
    const isRelated = isRelatedTo(health, beginning.openedAt)
    const last = closed.flappingOf(key)
    if (last !== undefined && isRelated(closedIncidentOf(last)))
      return reopenIncident(last, health, verdict, countedFrom(beginning))
    const earlier = closed.of(key).filter(isRelated).length
    return openIncident(health, verdict, beginning, at, earlier)
  }

  function adopt(incident: Incident): readonly Incident[] {
    const key = keyOf(incident)
    const other = key === null ? undefined : open.get(key)
    if (other !== undefined) return other.id === incident.id ? NOTHING : [closeAsPartOf(other, incident)]
    if (key !== null) open.set(key, incident)
    else if (incident.cause !== 'endpoint') eventsOf(mapOf(incident.cause), incident.network).set(incident.id, incident)
    return NOTHING
  }

  return {
    restore(incidents, maintained) {
      const inOrder = incidents.toSorted((a, b) => (a.closedAt ?? 0) - (b.closedAt ?? 0) || a.openedAt - b.openedAt)
      const changed = inOrder.flatMap((incident) => {
        const key = keyOf(incident)
        if (incident.closedAt === null) return adopt(incident)
        if (key === null) closedEvents.note(incident)
        else if (incident.absorbedBy === null) closed.note(key, incident)
        return NOTHING
      })
      for (const [key, one] of maintained) noteMaintained(maintenance, key, one, open, [outages, networkWide])
      return changed
    },

    adopt,

    endpoint({ health, at, now, goneSince, recoverAfter, maintained, outage }) {
      const { verdict } = health
      const key = endpointKey(health.endpoint)
      const isExcused = maintenance.excuses(key, maintained, at, now)
      const current = open.get(key)
      if (verdict === null) return NOTHING
      if (current === undefined) {
        if (verdict === 'up' || outage !== undefined) return NOTHING
        if (isPartOf(health, valuesOf(networkWide.get(health.endpoint.network)))) return NOTHING
        if (maintained !== null) maintenance.noteFailure(key, maintained, health.confirmation.badSince ?? health.since)
        if (isExcused) return NOTHING
        // Planned work that ended well is no incident, nor is what is left of a larger one.
        const isLeft = () => wasPartOf(health, closedEvents.of(health.endpoint.network))
        if (isBack(health) && (beginningIn(health, at).plannedUntil !== null || isLeft())) return NOTHING
        const begun = begin(health, verdict, at)
        open.set(key, begun)
        return [begun]
      }
      const next =
        verdict === 'up'
          ? recoverIncident(current, health, at, goneSince, recoverAfter)
          : continueIncident(current, health, verdict, at, goneSince)
      if (next === current) return NOTHING
      if (next.closedAt === null) open.set(key, next)
      else {
        open.delete(key)
        closed.note(key, next)
      }
      return [next]
    },

    network({ name, now, events, samples, open: examined, endOf }) {
      const changed: Incident[] = []
      for (const event of events) {
        const openEvents = eventsOf(mapOf(event.cause), name)
        const current = event.continues === null ? undefined : openEvents.get(event.continues)
        const key = `${name} ${event.key}`
        const { since, plannedUntil, maintained } = event
        if (current === undefined && maintained !== null) {
          maintenance.noteFailure(key, maintained, since)
          continue
        }
        const beginning =
          plannedUntil === null ? maintenance.beginningOf(key, since, now) : { openedAt: since, plannedUntil }
        const next =
          current === undefined
            ? beginEvent(name, event, samples, beginning, now, closedEvents.of(name))
            : continueEvent(current, event, samples, now)
        if (next === current) continue
        openEvents.set(next.id, next)
        changed.push(next)
        if (current === undefined) changed.push(...absorb(open, next, now))
      }
      for (const incident of examined) {
        if (events.some(({ continues }) => continues === incident.id)) continue
        const end = endOf(incident)
        if (end === null) continue
        mapOf(incident.cause).get(name)?.delete(incident.id)
        const recovered = endEvent(incident, end, samples)
        closedEvents.note(recovered)
        changed.push(recovered)
      }
      return changed
    },

    openOf: (key) => open.get(key),

    beginningOf(health, at) {
      const current = open.get(endpointKey(health.endpoint))
      if (current === undefined) return beginningIn(health, at)
      return { openedAt: current.openedAt, plannedUntil: current.plannedUntil ?? null }
    },

    networkWide: (name) => valuesOf(networkWide.get(name)),

    retain(endpoints, networks, at) {
      const changed: Incident[] = []
      for (const [key, incident] of open) {
        if (endpoints.has(key)) continue
        open.delete(key)
        changed.push(closeIncident(incident, at))
      }
      for (const [name, incidents] of [...networkWide, ...outages]) {
        for (const [id, incident] of incidents) {
          if (networks.has(name) && !isGone(incident, endpoints)) continue
          incidents.delete(id)
          changed.push(closeIncident(incident, at))
        }
        if (networks.has(name)) continue
        networkWide.delete(name)
        outages.delete(name)
        closedEvents.forget(name)
      }
      closed.retain(endpoints)
      maintenance.retain((key) => endpoints.has(key) || networks.has(key.split(' ')[0] ?? ''), at)
      return changed
    },
  }
}

/** Closes the incidents of endpoints that are only part of a new network-wide event. */
function absorb(open: Map<EndpointKey, Incident>, by: Incident, at: UnixMs): Incident[] {
  const absorbed: Incident[] = []
  const affected: ReadonlySet<string | null> = new Set(by.affected)
  const startOf = by.cause === 'outage' ? countedFrom : ({ openedAt }: Incident) => openedAt
  for (const [key, incident] of open) {
    if (incident.network !== by.network || startOf(incident) < startOf(by)) continue
    if (by.cause === 'outage' ? !affected.has(incident.endpoint) : !isOnlyOf(incident, by)) continue
    open.delete(key)
    absorbed.push({ ...closeIncident(incident, at), absorbedBy: by.id })
  }
  return absorbed
}

/** A failure that was saved counts as planned, unless it has an incident or is a part of one. */
function noteMaintained(
  maintenance: ReturnType<typeof createMaintenanceMemory>,
  key: EndpointKey,
  { span, confirmation }: MaintainedEndpoint,
  open: ReadonlyMap<EndpointKey, Incident>,
  events: readonly ReadonlyMap<string, ReadonlyMap<string, Incident>>[],
): void {
  const [network = '', name = ''] = key.split('/')
  const [outages = NOTHING, networkWide = NOTHING] = events.map((of) => valuesOf(of.get(network)))
  const badSince = confirmation?.badSince ?? span.from
  const isOwn =
    confirmation !== null &&
    !open.has(key) &&
    !outages.some(({ affected }) => affected.includes(name)) &&
    !isPartOf({ conditions: conditionsOf(confirmation), since: confirmation.since }, networkWide)
  maintenance.noteFailure(key, span, isOwn ? badSince : span.from)
}

function keyOf({ network, endpoint }: Incident): EndpointKey | null {
  return endpoint === null ? null : endpointKey({ network, name: endpoint })
}

/** Nothing more is known of it than its latest change. */
function closeAsPartOf(other: Incident, incident: Incident): Incident {
  return { ...closeIncident(incident, incident.changes.at(-1)?.at ?? incident.openedAt), absorbedBy: other.id }
}

const NOTHING: readonly Incident[] = Object.freeze([])

function valuesOf(incidents: ReadonlyMap<string, Incident> | undefined): readonly Incident[] {
  return incidents === undefined || incidents.size === 0 ? NOTHING : [...incidents.values()]
}

function eventsOf<C, V>(all: Map<string, Map<C, V>>, name: string): Map<C, V> {
  const known = all.get(name)
  if (known !== undefined) return known
  const fresh = new Map<C, V>()
  all.set(name, fresh)
  return fresh
}

/** Whether none of the endpoints of an outage is configured any more. */
function isGone({ cause, network, affected }: Incident, endpoints: ReadonlySet<EndpointKey>): boolean {
  return cause === 'outage' && !affected.some((name) => endpoints.has(endpointKey({ network, name })))
}
