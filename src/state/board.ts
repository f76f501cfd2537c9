import type { Place } from '../core/cluster/vote.ts'
import { type CheckName, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import { concerns, type MaintenancePeriod, periodAt } from '../core/maintenance.ts'
import type { Network, Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'
import type { State } from '../core/verdict/condition.ts'
import { type Health, headHolds, stateAt } from '../core/verdict/health.ts'
import type { NetworkReference } from '../core/verdict/network-chains.ts'

export type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'

/** The latest health and counters of every endpoint, written by the poller and read by metrics, page and gateway. */
export interface Board {
  /** In the configured order. Only `configure` adds or removes networks and endpoints. */
  networks(): readonly BoardNetwork[]
  network(name: string): BoardNetwork | undefined
  entry(network: string, endpoint: string): BoardEntry | undefined
  /** All current and future maintenance, in the order of time. */
  maintenance(): readonly MaintenancePeriod[]
  /** In the order of the configuration, also past and future ones. */
  announcements(): readonly Announcement[]
  /** Calls `listener` synchronously after every change; returns a function that ends the subscription. */
  subscribe(listener: (change: BoardChange) => void): () => void
}

export interface WritableBoard extends Board {
  /** Replaces all networks and endpoints. Known endpoints keep their availability. */
  configure(
    networks: readonly { readonly network: Network; readonly fresh: readonly { health: Health; tally: Tally }[] }[],
  ): void
  /**
   * `verdictChanged`: the state or the set of conditions differs from before. `merged`: what the places of a cluster say.
   * Returns the entry, if any.
   */
  put(
    health: Health,
    verdictChanged: boolean,
    merged?: Pick<BoardEntry, 'places' | 'confirmedBy'>,
  ): BoardEntry | undefined
  putStanding(standing: NetworkStanding, changed: boolean): void
  putAvailability(of: ReadonlyMap<EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>>): void
  /** Replaces the whole plan, in the order of time; also called when a period begins or ends. */
  putMaintenance(periods: readonly MaintenancePeriod[]): void
  /** Call it before `configure`, which tells the readers of the board. */
  putAnnouncements(notices: readonly Announcement[]): void
}

/** `countsChanges`: whether the tallies count changes of state here; boards of one daemon share them. */
export function createBoard({ countsChanges = true } = {}): WritableBoard {
  let entries: NetworkEntry[] = []
  let byName = new Map<string, NetworkEntry>()
  let byKey = new Map<EndpointKey, Entry>()
  let planned: readonly MaintenancePeriod[] = []
  let announced: readonly Announcement[] = []
  const listeners = new Set<(change: BoardChange) => void>()

  function notify(change: BoardChange): void {
    for (const listener of listeners) listener(change)
  }

  return {
    networks: () => entries,
    network: (name) => byName.get(name),
    // Called in every poll: `endpointKey` would cache an object that is made only for this call.
    entry: (network, endpoint) => byKey.get(`${network}/${endpoint}`),
    maintenance: () => planned,
    announcements: () => announced,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    configure(networks) {
      const previous = byKey
      byKey = new Map()
      entries = networks.map(({ network, fresh }) => {
        const endpoints = fresh.map(({ health, tally }) => {
          const key = endpointKey(health.endpoint)
          const availability = previous.get(key)?.availability ?? null
          const maintenance = planned.filter((period) => concerns(period, health.endpoint))
          const entry: Entry = { key, health, tally, availability, maintenance, places: NO_PLACES, confirmedBy: 0 }
          byKey.set(key, entry)
          return entry
        })
        const standing = byName.get(network.name)?.standing
        return { standing: { ...(standing ?? { heads: [], haltedShards: [], forked: false }), network }, endpoints }
      })
      byName = new Map(entries.map((entry) => [entry.standing.network.name, entry]))
      for (const name of byName.keys()) notify({ network: name, endpoint: null, verdictChanged: true })
    },

    put(health, verdictChanged, merged) {
      const entry = byKey.get(endpointKey(health.endpoint))
      if (entry === undefined) return undefined
      const { verdict } = entry.health
      if (verdict !== null && verdict !== health.verdict && countsChanges) entry.tally.stateChanges++
      entry.health = health
      if (merged !== undefined) {
        entry.places = merged.places
        entry.confirmedBy = merged.confirmedBy
      }
      if (listeners.size > 0)
        notify({ network: health.endpoint.network, endpoint: health.endpoint.name, verdictChanged })
      return entry
    },

    putStanding(standing, changed) {
      const entry = byName.get(standing.network.name)
      if (entry === undefined) return
      entry.standing = standing
      notify({ network: standing.network.name, endpoint: null, verdictChanged: changed })
    },

    putAvailability(of) {
      for (const [key, availability] of of) {
        const entry = byKey.get(key)
        if (entry !== undefined) entry.availability = availability
      }
    },

    putAnnouncements(notices) {
      announced = notices
    },

    putMaintenance(periods) {
      const touched = new Set([...planned, ...periods].map((period) => period.network))
      planned = periods
      for (const network of touched) {
        for (const entry of byName.get(network)?.endpoints ?? []) {
          const before = entry.maintenance
          entry.maintenance = periods.filter((period) => concerns(period, entry.health.endpoint))
          if (before.length + entry.maintenance.length === 0) continue
          notify({ network, endpoint: entry.health.endpoint.name, verdictChanged: true })
        }
      }
    },
  }
}

/** An operator's notice for readers of the page; `null` for a time without limit. */
export interface Announcement {
  readonly text: string
  readonly links: readonly { readonly text: string; readonly url: string }[]
  readonly from: UnixMs | null
  readonly until: UnixMs | null
}

type Entry = { -readonly [property in keyof BoardEntry]: BoardEntry[property] }

interface NetworkEntry {
  standing: NetworkStanding
  endpoints: Entry[]
}

/** The head that a network's endpoints agree on, for one shard. */
export type ReferenceHead = NetworkReference

export interface NetworkStanding {
  readonly network: Network
  /** One for each shard that has a reference head, in the configured order. */
  readonly heads: readonly ReferenceHead[]
  readonly haltedShards: readonly Shard[]
  readonly forked: boolean
}

/** Whether the network is halted or forked, on any shard, otherwise than before. */
export function standingDiffers(a: HaltsAndFork, b: HaltsAndFork): boolean {
  if (a.forked !== b.forked || a.haltedShards.length !== b.haltedShards.length) return true
  return !a.haltedShards.every((shard) => b.haltedShards.includes(shard))
}

type HaltsAndFork = Pick<NetworkStanding, 'haltedShards' | 'forked'>

export interface BoardEntry {
  readonly key: EndpointKey
  readonly health: Health
  readonly tally: Tally
  /** `null` until it was computed for the first time. */
  readonly availability: Readonly<Record<AvailabilityWindow, Availability>> | null
  /** Current and future maintenance of this endpoint, in the order of time. */
  readonly maintenance: readonly MaintenancePeriod[]
  /** What each place of a cluster says of it; none for a daemon alone. A new list after every change of one. */
  readonly places: readonly Place[]
  /** How many of these places stand behind its state. */
  readonly confirmedBy: number
}

/** Of a daemon alone, whose health is the only word. */
export const NO_PLACES: readonly Place[] = []

/** The state to show: planned maintenance takes precedence over any verdict. */
export function shownState({ health, maintenance }: BoardEntry, now: UnixMs): State {
  return maintenance.length > 0 && periodAt(maintenance, now) !== null ? 'maintenance' : stateAt(health, now)
}

/**
 * What is known of a network at `now`: heads that an endpoint still has, and whether it is halted or forked. `null` while
 * no endpoint has a current head, as when Heartline itself is impaired.
 */
export function knownStanding({ standing, endpoints }: BoardNetwork, now: UnixMs): KnownStanding {
  const isKnown = (shard?: Shard) =>
    endpoints.some(({ health }) =>
      health.heads.some((head) => (shard === undefined || head.shard === shard) && headHolds(head, health, now)),
    )
  if (!isKnown()) return UNKNOWN_STANDING
  const { heads, haltedShards, forked } = standing
  return { heads: heads.filter(({ shard }) => isKnown(shard)), halted: haltedShards.length > 0, forked }
}

export interface KnownStanding extends Pick<NetworkStanding, 'heads'> {
  readonly halted: boolean | null
  readonly forked: boolean | null
}

const UNKNOWN_STANDING: KnownStanding = Object.freeze({ heads: [], halted: null, forked: null })

export interface BoardNetwork {
  readonly standing: NetworkStanding
  /** In the configured order. */
  readonly endpoints: readonly BoardEntry[]
}

export interface BoardChange {
  readonly network: string
  /** `null` for a change of the network itself. */
  readonly endpoint: string | null
  /** Whether the state or the set of conditions differs from before, not only heights and times. */
  readonly verdictChanged: boolean
}

/** The results of one check of one endpoint since the daemon started. */
export interface CheckTally {
  readonly check: CheckName
  runs: number
  /** Requests sent to the node. */
  requests: number
  /** `null` if none has failed. */
  failures: Map<FailureKind, number> | null
  consecutiveFailures: number
  lastRunAt: UnixMs | null
  lastSuccessAt: UnixMs | null
  lastDurationMs: number | null
  lastOk: boolean | null
}

/** The counters of one endpoint, removed with it so that no series leaks. */
export interface Tally {
  stateChanges: number
  readonly checks: readonly CheckTally[]
  /** By shard; `null` if there was none. */
  reorgs: Map<Shard, number> | null
  regressions: Map<Shard, number> | null
}

export function newTally(checks: readonly CheckName[]): Tally {
  return {
    stateChanges: 0,
    checks: checks.map(newCheckTally),
    reorgs: null,
    regressions: null,
  }
}

export function newCheckTally(check: CheckName): CheckTally {
  return {
    check,
    runs: 0,
    requests: 0,
    failures: null,
    consecutiveFailures: 0,
    lastRunAt: null,
    lastSuccessAt: null,
    lastDurationMs: null,
    lastOk: null,
  }
}
