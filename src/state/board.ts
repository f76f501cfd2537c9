import { type CheckName, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import { concerns, type MaintenancePeriod, periodAt } from '../core/maintenance.ts'
import type { Network, Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'
import type { State } from '../core/verdict/condition.ts'
import { type Health, stateAt } from '../core/verdict/health.ts'

export type { Availability, AvailabilityWindow } from '../core/verdict/availability.ts'

/** The head that a network's endpoints agree on, for one shard. */
export interface ReferenceHead {
  readonly shard: Shard
  readonly height: number
  /** The height that half of the endpoints have, never above `height`. */
  readonly confirmedHeight: number
  /** `null` until an endpoint at that height has told them. */
  readonly hash: string | null
  readonly timestamp: UnixMs | null
  /** How many different blocks the endpoints have at the newest height that most of them have reached. */
  readonly branches: number
  /** The time from block to block, as measured; `null` until enough blocks were seen. */
  readonly blockTimeMs: number | null
}

/** One network as the latest polls left it. */
export interface NetworkStanding {
  readonly network: Network
  /** One for each shard that has a reference head by now, in the configured order. */
  readonly heads: readonly ReferenceHead[]
  readonly halted: boolean
  readonly forked: boolean
}

export interface BoardEntry {
  readonly key: EndpointKey
  readonly health: Health
  readonly tally: Tally
  /** `null` until it has been worked out for the first time. */
  readonly availability: Readonly<Record<AvailabilityWindow, Availability>> | null
  /** Planned for this endpoint, now and ahead, in the order of time. */
  readonly maintenance: readonly MaintenancePeriod[]
}

/** What the endpoint is called at this moment: planned maintenance goes before any verdict. */
export function shownState({ health, maintenance }: BoardEntry, now: UnixMs): State {
  return maintenance.length > 0 && periodAt(maintenance, now) !== null ? 'maintenance' : stateAt(health, now)
}

export interface BoardNetwork {
  readonly standing: NetworkStanding
  /** In the configured order. */
  readonly endpoints: readonly BoardEntry[]
}

export interface BoardChange {
  readonly network: string
  /** `null` when something of the network itself changed. */
  readonly endpoint: string | null
  /** Whether the state or the set of conditions is another than before, not only heights and times. */
  readonly verdictChanged: boolean
}

/** The one board: the poller writes it; the metrics, the page and the gateway read it. */
export interface Board {
  /** In the configured order. The arrays change only on `configure`; their entries are replaced, never mutated. */
  networks(): readonly BoardNetwork[]
  network(name: string): BoardNetwork | undefined
  entry(network: string, endpoint: string): BoardEntry | undefined
  /** Every planned period, now and ahead, in the order of time. */
  maintenance(): readonly MaintenancePeriod[]
  /** Calls `listener` after every change, synchronously; returns what ends it. */
  subscribe(listener: (change: BoardChange) => void): () => void
}

/** What the poller and the daemon may do to the board. */
export interface WritableBoard extends Board {
  /** The new whole set. Endpoints that were there keep their availability. */
  configure(
    networks: readonly { readonly network: Network; readonly fresh: readonly { health: Health; tally: Tally }[] }[],
  ): void
  /** `verdictChanged`: the state or the set of conditions is another than before. The entry that it became, where there is one. */
  put(health: Health, verdictChanged: boolean): BoardEntry | undefined
  putStanding(standing: NetworkStanding, changed: boolean): void
  putAvailability(of: ReadonlyMap<EndpointKey, Readonly<Record<AvailabilityWindow, Availability>>>): void
  /** The new whole plan, in the order of time; also called when a period begins or ends. */
  putMaintenance(periods: readonly MaintenancePeriod[]): void
}

interface Entry {
  key: EndpointKey
  health: Health
  tally: Tally
  availability: Readonly<Record<AvailabilityWindow, Availability>> | null
  maintenance: readonly MaintenancePeriod[]
}

interface NetworkSlot {
  standing: NetworkStanding
  endpoints: Entry[]
}

export function createBoard(): WritableBoard {
  let slots: NetworkSlot[] = []
  let byName = new Map<string, NetworkSlot>()
  let byKey = new Map<EndpointKey, Entry>()
  let planned: readonly MaintenancePeriod[] = []
  const listeners = new Set<(change: BoardChange) => void>()

  function tell(change: BoardChange): void {
    for (const listener of listeners) listener(change)
  }

  return {
    networks: () => slots,
    network: (name) => byName.get(name),
    // Asked in every poll: `endpointKey` would remember an object made for the question.
    entry: (network, endpoint) => byKey.get(`${network}/${endpoint}`),
    maintenance: () => planned,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },

    configure(networks) {
      const previous = byKey
      byKey = new Map()
      slots = networks.map(({ network, fresh }) => {
        const endpoints = fresh.map(({ health, tally }) => {
          const key = endpointKey(health.endpoint)
          const availability = previous.get(key)?.availability ?? null
          const maintenance = planned.filter((period) => concerns(period, health.endpoint))
          const kept: Entry = { key, health, tally, availability, maintenance }
          byKey.set(key, kept)
          return kept
        })
        const standing = byName.get(network.name)?.standing
        return {
          standing: { ...(standing ?? { heads: [], halted: false, forked: false }), network },
          endpoints,
        }
      })
      byName = new Map(slots.map((slot) => [slot.standing.network.name, slot]))
      for (const slot of slots) tell({ network: slot.standing.network.name, endpoint: null, verdictChanged: true })
    },

    put(health, verdictChanged) {
      const entry = byKey.get(endpointKey(health.endpoint))
      if (entry === undefined) return undefined
      if (entry.health.verdict !== null && entry.health.verdict !== health.verdict) entry.tally.stateChanges++
      entry.health = health
      if (listeners.size > 0) tell({ network: health.endpoint.network, endpoint: health.endpoint.name, verdictChanged })
      return entry
    },

    putStanding(standing, changed) {
      const slot = byName.get(standing.network.name)
      if (slot === undefined) return
      slot.standing = standing
      tell({ network: standing.network.name, endpoint: null, verdictChanged: changed })
    },

    putAvailability(of) {
      for (const [key, availability] of of) {
        const entry = byKey.get(key)
        if (entry !== undefined) entry.availability = availability
      }
    },

    putMaintenance(periods) {
      const touched = new Set([...planned, ...periods].map((period) => period.network))
      planned = periods
      for (const network of touched) {
        for (const entry of byName.get(network)?.endpoints ?? []) {
          const before = entry.maintenance
          entry.maintenance = periods.filter((period) => concerns(period, entry.health.endpoint))
          if (before.length + entry.maintenance.length === 0) continue
          tell({ network, endpoint: entry.health.endpoint.name, verdictChanged: true })
        }
      }
    },
  }
}

/** What one check of one endpoint has done since the daemon started. */
export interface CheckTally {
  runs: number
  readonly failures: Map<FailureKind, number>
  consecutiveFailures: number
  lastRunAt: UnixMs | null
  lastSuccessAt: UnixMs | null
  lastDurationMs: number | null
  lastOk: boolean | null
}

/** The counters of one endpoint; they go when the endpoint goes, so no series can leak. */
export interface Tally {
  stateChanges: number
  readonly checks: Map<CheckName, CheckTally>
  readonly reorgs: Map<Shard, number>
  readonly regressions: Map<Shard, number>
}

export function newTally(checks: readonly CheckName[], shards: readonly Shard[]): Tally {
  return {
    stateChanges: 0,
    checks: new Map(checks.map((check) => [check, newCheckTally()])),
    reorgs: new Map(shards.map((shard) => [shard, 0])),
    regressions: new Map(shards.map((shard) => [shard, 0])),
  }
}

function newCheckTally(): CheckTally {
  return {
    runs: 0,
    failures: new Map(),
    consecutiveFailures: 0,
    lastRunAt: null,
    lastSuccessAt: null,
    lastDurationMs: null,
    lastOk: null,
  }
}
