import type { Clock } from '../clock.ts'
import type { MergedStanding } from '../core/cluster/merge-standings.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import { concernedOf, type Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import { isFresh, type Verdict } from '../core/verdict/condition.ts'
import { type Health, stateAt } from '../core/verdict/health.ts'
import type { Log } from '../log.ts'
import type { Board, BoardEntry } from '../state/board.ts'
import type { WritableIncidentLog } from '../state/incident-log.ts'
import type { Store } from '../store/store.ts'
import type { MergedRecord } from '../store/writes.ts'
import {
  countedOf,
  createHeardPlaces,
  datedHealth,
  type HeardPlacesDeps,
  isComingBack,
  isInDoubt,
} from './heard-places.ts'
import {
  createIncidentRecorder,
  earlierIncidents,
  faultSeenFrom,
  type IncidentRecorderDeps,
  type KeptRecorder,
} from './incident-recorder.ts'
import { maintainedIn } from './poll-history.ts'
import { groupMembersOf, type PolledNetwork } from './polled-endpoints.ts'

/**
 * Keeps the incidents of those networks that this member of a cluster may write: records them from the merged verdicts,
 * stores the merged states, and has notifications sent. Of each network, one member at a time is the keeper.
 */
export function createKeeper(deps: KeeperDeps) {
  const { board, incidents, reads, notifier, clock, log } = deps
  const kept = new Map<string, KeptNetwork>()
  const stopping = new AbortController()
  let loading: Promise<void> | null = null
  let configured: ReadonlyMap<string, PolledNetwork> = new Map()
  /** What each endpoint shares with others. */
  let sharing: ReadonlyMap<EndpointKey, string | null> = new Map()
  const places = createHeardPlaces(deps)
  followChanges(board, kept)

  const placesOf = (incident: Incident) => placesSeeing(incident, kept, board)

  function configureRecorder({ name, recorder }: KeptNetwork): void {
    const network = configured.get(name)
    recorder.configure(network === undefined ? [] : groupMembersOf(network))
  }

  /** Closes the incidents of endpoints that are no longer configured: all, if the network is not. */
  function retain({ name, recorder }: KeptNetwork): void {
    const keys = new Set(board.network(name)?.endpoints.map(({ key }) => key))
    recorder.retain(keys, new Set(configured.has(name) ? [name] : []), clock.now())
  }

  /** Continues the incidents that the store has: what is known of them here may be older, or was refused. */
  async function load(gained: readonly KeptNetwork[]): Promise<void> {
    const names = gained.map(({ name }) => name)
    const [records, saved] = await Promise.all([earlierIncidents(reads, names), reads.savedHealth()])
    // First, because channels hear of an end only if they are known to have heard of the beginning.
    await notifier.adopt(new Set(names))
    const maintained = maintainedIn(saved)
    for (const one of gained) {
      const { name, recorder } = one
      if (kept.get(name) !== one) continue
      incidents.forget(name)
      configureRecorder(one)
      const ofNetwork = records.filter(({ network }) => network === name)
      recorder.restore(ofNetwork, maintained)
      retain(one)
      one.isReady = true
    }
  }

  async function loadLate(some: readonly KeptNetwork[]): Promise<void> {
    const late = new Set(some.flatMap((one) => one.late))
    await notifier.adoptLate([...late])
    for (const one of some) {
      if (kept.get(one.name) !== one) continue
      for (const incident of one.late) if (late.has(incident)) goOn(incident, one, incidents)
      one.late = one.late.filter((incident) => !late.has(incident))
      retain(one)
    }
  }

  async function loadAll(): Promise<void> {
    // Leases are claimed many at a time, and read once.
    await Promise.resolve()
    for (let some = unread(); some.length > 0 && !stopping.signal.aborted; some = unread()) {
      try {
        const gained = some.filter(({ isReady }) => !isReady)
        // Messages are sent as soon as their network is adopted, so nothing is read between that and its incidents.
        await (gained.length > 0 ? load(gained) : loadLate(some))
      } catch (error) {
        log.debug({ networks: some.length, error: String(error) }, 'incidents cannot be read: trying again')
        await clock.sleep(READ_AGAIN_MS, stopping.signal)
      }
    }
    loading = null
  }

  const unread = () => [...kept.values()].filter(({ isReady, late }) => !isReady || late.length > 0)

  return {
    /** Whether it keeps the network: its incidents are then written by no other member. */
    keeps: (network: string): boolean => kept.has(network),

    /** Whether the incidents of earlier keepers are continued. */
    isReady: (network: string): boolean => kept.get(network)?.isReady === true,

    configure(networks: readonly PolledNetwork[]): void {
      configured = new Map(networks.map((one) => [one.network.name, one]))
      const members = networks.flatMap(groupMembersOf)
      sharing = new Map(members.map(({ endpoint, key }) => [endpointKey(endpoint), key]))
      for (const one of kept.values()) {
        // Other members may monitor a removed network for a while longer: one of them goes on with its incidents.
        if (!one.isReady || !configured.has(one.name)) continue
        configureRecorder(one)
        retain(one)
      }
    },

    /** Begins to keep a network; resolves when its incidents are continued, once the database was read. */
    async keep(name: string): Promise<void> {
      if (kept.has(name)) return
      const recorder = createIncidentRecorder({ ...deps, placesOf })
      const nothing = { late: [], seenFrom: undefined, changed: null, judged: new Map(), saved: new Map() }
      kept.set(name, { name, recorder, since: clock.now(), gainedAt: clock.monotonic(), isReady: false, ...nothing })
      loading ??= loadAll()
      await loading
    },

    /** Earlier keepers may have stored incidents late: they had waited for the database. Never rejects. */
    async adopt(late: readonly Incident[]): Promise<void> {
      for (const incident of late) kept.get(incident.network)?.late.push(incident)
      loading ??= loadAll()
      await loading
    },

    /** Another member keeps the network from now on: its incidents must be read again. */
    async drop(name: string): Promise<void> {
      if (kept.delete(name)) await notifier.leave(name)
    },

    /** Call it after the votes of a network were merged, at least once a second. */
    merged(name: string, { halts, fork, seenFrom }: Omit<MergedStanding, 'heads'>): void {
      const now = clock.now()
      const isKnown = places.listen(now)
      const one = kept.get(name)
      const onBoard = board.network(name)
      if (onBoard === undefined || one?.isReady !== true || !isKnown) return
      one.seenFrom = seenFrom
      const judged = { network: onBoard.standing.network, isForked: () => fork !== null, fork: () => fork }
      const isEarly = (entry: BoardEntry) => places.isEarly(entry, one.gainedAt)
      const allHeard = () => {
        const isAnyMissing = onBoard.endpoints.some((entry) => isEarly(entry) || places.isAwaited(entry, now))
        return isAnyMissing ? null : onBoard.endpoints
      }
      one.recorder.standing(judged, halts, allHeard, now)
      for (const entry of unrecordedOf(one, onBoard.endpoints)) {
        const { key, health } = entry
        const { verdict } = health
        if (verdict === null || stateAt(health, now) === 'unknown') continue
        if (places.isAwaited(entry, now) || (verdict !== 'up' && isEarly(entry))) continue
        const last = one.saved.get(key)
        if (isInDoubt(entry, last, now) || (last?.verdict === 'down' && isComingBack(entry))) continue
        one.judged.set(key, health)
        const dated = { ...entry, health: datedHealth(entry, last, incidents, now) }
        one.recorder.judged(judged, dated, health.lastPolledAt ?? now, now, sharing.get(key) ?? null)
        const merged = toSave(one, entry, verdict, now)
        if (merged !== null) deps.saveMerged(merged)
      }
    },

    stop: (): void => stopping.abort(),
  }
}

export interface KeeperDeps extends Pick<IncidentRecorderDeps, 'notify'>, Omit<HeardPlacesDeps, 'clock'> {
  /** With the merged verdicts. */
  readonly board: Pick<Board, 'network' | 'entry' | 'subscribe'>
  readonly incidents: WritableIncidentLog
  readonly store: Pick<Store, 'saveIncident'>
  /** Reject if the data cannot be read. */
  readonly reads: Pick<Store, 'incidents' | 'savedHealth'>
  /** Queues the merged state of an endpoint for the store. */
  readonly saveMerged: (state: MergedRecord) => void
  readonly notifier: {
    /** Loads what has not been sent about the networks' incidents. */
    adopt(networks: ReadonlySet<string>): Promise<void>
    /** Loads what was sent, and what was not, about these incidents. */
    adoptLate(late: readonly Incident[]): Promise<void>
    leave(network: string): Promise<void>
  }
  readonly clock: Clock
  readonly log: Log
}

export type Keeper = ReturnType<typeof createKeeper>

interface KeptNetwork {
  readonly name: string
  readonly since: UnixMs
  /** The same, monotonic. */
  readonly gainedAt: number
  readonly recorder: KeptRecorder
  /** Whether the incidents of earlier keepers were read. */
  isReady: boolean
  /** Incidents that earlier keepers have stored since those of before were read, or meanwhile. */
  late: Incident[]
  /** The places that see what its open incidents of the whole network are about. */
  seenFrom: MergedStanding['seenFrom']
  /** Endpoints whose merged health may not be recorded yet; `null` for all of them. */
  changed: Set<BoardEntry> | null
  /** The merged health of each endpoint that was recorded last. */
  readonly judged: Map<EndpointKey, Health>
  /** The merged state of each endpoint that was stored last. */
  readonly saved: Map<EndpointKey, SavedState>
}

interface SavedState {
  readonly verdict: Verdict
  readonly fresh: boolean
  /** The places that counted. */
  readonly counted: string
  readonly at: UnixMs
}

const READ_AGAIN_MS = 1000

/** Thousands of endpoints are not looked at each second for the few that were polled. */
function followChanges(board: KeeperDeps['board'], kept: ReadonlyMap<string, KeptNetwork>): void {
  board.subscribe(({ network, endpoint, verdictChanged }) => {
    const one = kept.get(network)
    if (one === undefined) return
    const entry = endpoint === null ? undefined : board.entry(network, endpoint)
    if (entry !== undefined) one.changed?.add(entry)
    else if (verdictChanged) one.changed = null
  })
}

/** The places that see the fault of an incident; of a halt or fork, no endpoint is at fault. */
function placesSeeing(
  incident: Incident,
  kept: ReadonlyMap<string, Pick<KeptNetwork, 'seenFrom'>>,
  board: KeeperDeps['board'],
): readonly string[] {
  const { network, cause } = incident
  if (cause === 'halted' || cause === 'forked') return kept.get(network)?.seenFrom?.[cause] ?? []
  const names = concernedOf(incident)
  return [...new Set(names.flatMap((name) => faultSeenFrom(board.entry(network, name))))]
}

/** Continues an incident that was stored late, unless it is known; one that has ended is shown. */
function goOn(incident: Incident, { recorder }: KeptNetwork, incidents: WritableIncidentLog): void {
  if (incidents.known(incident.id) !== undefined) return
  if (incident.closedAt === null) recorder.adopt(incident)
  else incidents.put(incident)
}

/** The merged state is stored at each change, and with about each poll, so that it holds until the next one; else `null`. */
function toSave(
  { saved, since: keptSince }: KeptNetwork,
  { key, health, places }: BoardEntry,
  verdict: Verdict,
  now: UnixMs,
): MergedRecord | null {
  const fresh = isFresh(verdict, health.conditions)
  const counted = countedOf(places)
  const last = saved.get(key)
  const isSame = last?.verdict === verdict && last.fresh === fresh
  // A poll that comes a little early is not left out, or the state would end before a late one.
  const isRecent = isSame && now - last.at < health.endpoint.intervalMs / 2
  saved.set(key, { verdict, fresh, counted, at: isRecent ? last.at : now })
  if (isRecent) return null
  // Dated back only where the same places changed their word. Where others count, the places before were right until now.
  const isDatedBack = last === undefined || (last.verdict !== verdict && last.counted === counted)
  const since = isDatedBack ? Math.min(Math.max(health.since, keptSince), now) : now
  return { endpoint: key, at: now, since, state: verdict, fresh }
}

/** Endpoints whose merged health is not recorded yet. */
function unrecordedOf(one: KeptNetwork, all: readonly BoardEntry[]): ReadonlySet<BoardEntry> {
  one.changed ??= new Set(all)
  for (const entry of one.changed) {
    const { key, health } = entry
    if (health.verdict === null || one.judged.get(key) === health) one.changed.delete(entry)
  }
  return one.changed
}
