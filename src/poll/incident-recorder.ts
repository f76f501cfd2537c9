import type { EndpointKey } from '../core/endpoint.ts'
import { lastedMs } from '../core/incident/bad-time.ts'
import type { Incident, IncidentSample } from '../core/incident/incident.ts'
import { createIncidentBook, type MaintainedEndpoint } from '../core/incident/incident-book.ts'
import { isOpen, samplesOf, withPlaces } from '../core/incident/incident-changes.ts'
import type { NetworkEvent } from '../core/incident/network-event.ts'
import { spanAt } from '../core/maintenance.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { named, severity, shardsOf, type Verdict } from '../core/verdict/condition.ts'
import { type Health, headHolds } from '../core/verdict/health.ts'
import { FORK_KNOWN_AFTER_INTERVALS } from '../core/verdict/network-chains.ts'
import type { NetworkView } from '../core/verdict/network-view.ts'
import type { Log } from '../log.ts'
import type { BoardEntry } from '../state/board.ts'
import { readIncident, type WritableIncidentLog } from '../state/incident-log.ts'
import type { IncidentRecord, NotificationRecord, Store } from '../store/store.ts'
import { forkEvent, type Halts, haltEvent, hasResumed, MOST_NAMED } from './network-events.ts'
import type { Group } from './outage-groups.ts'
import { createOutages } from './outages.ts'

/** Turns judged polls into incidents, and stores and logs their changes. */
export function createIncidentRecorder(deps: IncidentRecorderDeps) {
  const { incidents, store, log, notify = () => [], placesOf } = deps
  const book = createIncidentBook()
  const outages = createOutages()
  const places = placesOf === undefined ? null : createPlaces(placesOf)

  /** Since when at least two endpoints of a network can be compared; -Infinity once a fork was seen. */
  const comparedSince = new Map<string, UnixMs>()
  /** When all endpoints of a network were last examined for network-wide incidents. */
  const lookedAt = new Map<string, UnixMs>()

  function keep(changed: readonly Incident[]): void {
    for (const one of changed) {
      const { id, closedAt } = one
      const before = incidents.known(id)
      const incident = places?.add(one, before) ?? one
      put(incident)
      outages.track(incident)
      store.saveIncident(recordOf(incident), notify(incident))
      const wasOpen = before?.closedAt === null
      if (wasOpen !== (closedAt === null)) logChange(log, incident)
    }
  }

  function put(incident: Incident): void {
    incidents.put(incident)
    places?.note(incident)
  }

  /** A place that sees the fault, at this endpoint or at all, by now: that is no message. */
  function keepJoined(incident: Incident, endpoint?: string): void {
    const joined = places?.join(incident, endpoint) ?? null
    if (joined === null) return
    put(joined)
    store.saveIncident(recordOf(joined), [])
  }

  /** `open`: the open outages of the group to look at; `mayBegin`: another endpoint has an incident of its own. */
  function lookForOutages(name: string, group: Group, open: readonly Incident[], mayBegin: boolean, now: UnixMs): void {
    lookedAt.set(group.key, now)
    const ongoing = open.map((incident) => outages.continuing(group, incident))
    const events = [...ongoing, mayBegin ? outages.beginning(group) : null].filter((event) => event !== null)
    const endOf = (incident: Incident) => outages.endOf(group, incident, now)
    const healths = [...group.failing.values()].slice(0, MOST_SAMPLES).map(({ health }) => health)
    const changed = book.network({ name, now, events, samples: samplesIn(healths), open, endOf })
    keep(changed)
    for (const incident of changed) {
      const isNew = !open.some(({ id }) => id === incident.id)
      if (isNew && group.open.has(incident.id)) outages.opened(group, incident)
    }
  }

  return {
    /** Endpoints that share a host or provider. */
    configure: outages.configure,

    /** Continues where an earlier run ended; `maintained`: the endpoints that were then in maintenance. */
    restore(records: readonly IncidentRecord[], maintained: ReadonlyMap<EndpointKey, MaintainedEndpoint>): void {
      const known = records.flatMap((record) => readIncident(record.value) ?? [])
      const closed = book.restore(known, maintained)
      for (const incident of known) {
        put(incident)
        outages.restore(incident)
      }
      keep(closed)
    },

    /** Continues an open incident of an earlier keeper that was stored only now. */
    adopt(incident: Incident): void {
      put(incident)
      outages.restore(incident)
      keep(book.adopt(incident))
    },

    /** On which shards the network had halted when its incident was last written. */
    haltedShards(network: string): readonly Shard[] {
      const halt = book.networkWide(network).find(({ cause }) => cause === 'halted')
      return halt === undefined ? [] : (shardsOf(halt.conditions.filter(isOpen)) ?? WHOLE_CHAIN)
    },

    /** Records the verdict of a poll that began at `at`; `sharing`: the key of what it shares with others. */
    judged(
      { network }: Pick<JudgedNetwork, 'network'>,
      entry: BoardEntry,
      at: UnixMs,
      now: UnixMs,
      sharing: string | null = null,
    ): void {
      const { health, key } = entry
      const { recoverAfter } = network.thresholds
      const goneSince = goneSinceIn(health, recoverAfter, at, places === null ? undefined : book.openOf(key))
      const maintained = spanAt(entry.maintenance, now)
      const group = outages.groupOf(key, sharing)
      const isBad = health.verdict !== null && health.verdict !== 'up'
      let outage: Incident | undefined
      if (group !== undefined && isBad && group.open.size > 0 && book.openOf(key) === undefined) {
        outage = outages.outageOf(group, health, maintained === null ? book.beginningOf(health, at) : null)
      }
      const judged = { health, at, now, goneSince, recoverAfter, maintained, outage }
      keep(book.endpoint(judged))
      const joined = isBad ? (outage ?? book.openOf(key)) : undefined
      if (joined !== undefined) keepJoined(joined, health.endpoint.name)
      if (group === undefined) return
      const beginning = joined === undefined ? null : book.beginningOf(health, at)
      const isNew = outages.note(group, health, beginning, outage?.id ?? null, recoverAfter)
      const mayBegin = isNew && outage === undefined && group.failing.size > 1
      const isSoon = group.failing.size > 1 && Math.abs(now - (lookedAt.get(group.key) ?? 0)) < LOOK_AGAIN_AFTER_MS
      const open = isSoon || group.open.size === 0 ? NOTHING : [...group.open.values()]
      if (mayBegin || open.length > 0) lookForOutages(network.name, group, open, mayBegin, now)
      // All others have recovered.
      if (outage !== undefined && !group.open.has(outage.id)) keep(book.endpoint({ ...judged, outage: undefined }))
    },

    /** Records network-wide incidents after a judged poll; `entries` are all endpoints of the network, `null` if it is too early. */
    standing(judged: JudgedNetwork, halts: Halts, entries: () => readonly BoardEntry[] | null, now: UnixMs): void {
      const { name } = judged.network
      const isForked = judged.isForked()
      const open = book.networkWide(name)
      if (halts.length === 0 && !isForked && open.length === 0) return
      const isUnchanged = halts.length > 0 === hasCause(open, 'halted') && isForked === hasCause(open, 'forked')
      if (isUnchanged && Math.abs(now - (lookedAt.get(name) ?? 0)) < LOOK_AGAIN_AFTER_MS) return
      const all = entries()
      if (all === null) return
      lookedAt.set(name, now)
      const fork = judged.fork()
      const heard = all.filter(({ health }) => health.heads.some((head) => headHolds(head, health, now)))
      const events: NetworkEvent[] = []
      if (halts.length > 0) events.push(haltEvent(halts, heard, now, open))
      if (fork !== null) events.push(forkEvent(fork, heard, now, open))
      const longestMs = Math.max(...all.map(({ health }) => health.endpoint.intervalMs))
      if (fork !== null) comparedSince.set(name, Number.NEGATIVE_INFINITY)
      else if (heard.length < 2 || !comparedSince.has(name)) comparedSince.set(name, now)
      const isForkKnown = now - (comparedSince.get(name) ?? now) > FORK_KNOWN_AFTER_INTERVALS * longestMs
      const isOver = (incident: Incident) => {
        if (incident.cause === 'forked') return all.length < 2 || (heard.length >= 2 && isForkKnown)
        return hasResumed(incident, all, heard, halts)
      }
      const endOf = (incident: Incident) => (isOver(incident) ? now : null)
      keep(book.network({ name, now, events, samples: samplesIn(heard.map(({ health }) => health)), open, endOf }))
      for (const incident of book.networkWide(name)) keepJoined(incident)
    },

    /** Drops all other endpoints and networks; planned maintenance may have changed. */
    retain(endpoints: ReadonlySet<EndpointKey>, networks: ReadonlySet<string>, now: UnixMs): void {
      comparedSince.clear()
      lookedAt.clear()
      keep(book.retain(endpoints, networks, now))
    },
  }
}

export interface IncidentRecorderDeps {
  readonly incidents: WritableIncidentLog
  readonly store: Pick<Store, 'saveIncident'>
  readonly log: Log
  /** The notifications of a change, which are written with it. */
  readonly notify?: ((incident: Incident) => readonly NotificationRecord[]) | undefined
  /** The places of a cluster that see the fault now. */
  readonly placesOf?: ((incident: Incident) => readonly string[]) | undefined
}

/** The places of a cluster that have seen the fault of each open incident. */
function createPlaces(placesOf: (incident: Incident) => readonly string[]) {
  const seen = new Map<string, readonly string[]>()
  return {
    add(incident: Incident, before: Incident | undefined): Incident {
      const known = seen.get(incident.id) ?? before?.vantages ?? incident.vantages ?? []
      return { ...incident, vantages: withPlaces(known, placesOf(incident)) }
    },

    /** `null` if none joins in. */
    join(incident: Incident, endpoint: string | undefined): Incident | null {
      const known = seen.get(incident.id) ?? incident.vantages ?? []
      const all = withPlaces(known, placesOf(endpoint === undefined ? incident : { ...incident, affected: [endpoint] }))
      return all === known ? null : { ...incident, vantages: all }
    },

    note({ id, closedAt, vantages }: Incident): void {
      if (closedAt === null && vantages !== undefined) seen.set(id, vantages)
      else seen.delete(id)
    },
  }
}

/** When what is no longer found ended. `merged`: the incident of a cluster, whose places have no polls in common, but a state. */
function goneSinceIn({ confirmation, since }: Health, recoverAfter: number, at: UnixMs, merged: Incident | undefined) {
  const change = merged?.changes.at(-1)
  return change !== undefined && since > change.at ? since : (confirmation.recent.at(-recoverAfter)?.at ?? at)
}

/** The places that see the endpoint in its merged state, or in a worse one. */
export function faultSeenFrom(entry: BoardEntry | undefined): readonly string[] {
  if (entry === undefined) return []
  const worst = entry.health.verdict ?? 'up'
  const limit = severity(worst === 'up' ? 'degraded' : worst)
  return entry.places
    .filter(({ state, counted }) => counted && isVerdict(state) && severity(state) >= limit)
    .map(({ vantage }) => vantage)
}

function isVerdict(state: BoardEntry['places'][number]['state']): state is Verdict {
  return state === 'up' || state === 'degraded' || state === 'down'
}

export function recordOf(incident: Incident): IncidentRecord {
  const { id, network, endpoint, openedAt, closedAt, absorbedBy } = incident
  return { id, network, endpoint, openedAt, closedAt, absorbed: absorbedBy !== null, value: incident }
}

/** What is known about a network as a whole: the view of its polls, or what several places say together. */
export type JudgedNetwork = Pick<NetworkView, 'network' | 'isForked' | 'fork'>

const NOTHING: readonly Incident[] = Object.freeze([])
/** Of a network that is not sharded. */
const WHOLE_CHAIN: readonly Shard[] = [null]
const MOST_SAMPLES = 64
/** Examining thousands of endpoints after every poll is expensive; one may join an incident a little late. */
const LOOK_AGAIN_AFTER_MS = 1000

function hasCause(incidents: readonly Incident[], cause: Incident['cause']): boolean {
  return incidents.some((incident) => incident.cause === cause)
}

function samplesIn(healths: readonly Health[]): readonly IncidentSample[] {
  return healths.flatMap(samplesOf).slice(0, MOST_SAMPLES)
}

/** Number of closed incidents to load: enough to recognise flapping endpoints. */
const MOST_CLOSED = 1000
const PAGE = 1000

/** Loads the incidents of earlier runs, of all networks or these: all open ones, and those closed recently. */
export async function earlierIncidents(
  store: Pick<Store, 'incidents'>,
  networks?: readonly string[],
): Promise<readonly IncidentRecord[]> {
  const all: IncidentRecord[] = []
  let last: IncidentRecord | undefined
  do {
    const page = await store.incidents({
      networks,
      open: true,
      limit: PAGE,
      ...(last === undefined ? {} : { after: { openedAt: last.openedAt, id: last.id } }),
    })
    all.push(...page)
    last = page.at(-1)
    // A short page is not always the last one, because unreadable incidents are left out.
  } while (last !== undefined)
  return [...all, ...(await store.incidents({ networks, open: false, limit: MOST_CLOSED }))]
}

/** Of a network that several daemons may keep in turn. */
export type KeptRecorder = ReturnType<typeof createIncidentRecorder>
export type IncidentRecorder = Omit<KeptRecorder, 'adopt'>

function logChange(log: Pick<Log, 'info' | 'warn'>, incident: Incident): void {
  const { id, network, endpoint, cause, affected, state, closedAt, flapping } = incident
  const place = endpoint === null ? { cause, endpoints: named(affected, MOST_NAMED) } : { endpoint }
  const fields = { incident: id, network, ...place, state }
  if (closedAt === null) log.warn({ ...fields, ...(flapping && { flapping }) }, 'incident opened')
  else log.info({ ...fields, seconds: Math.round(lastedMs(incident, closedAt) / 1000) }, 'incident closed')
}
