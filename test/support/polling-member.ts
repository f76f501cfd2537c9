import type { Clock } from '../../src/clock.ts'
import { createCluster } from '../../src/cluster/cluster.ts'
import { createDatabaseClock } from '../../src/cluster/database-clock.ts'
import { type Health, unpolled, verdictDiffers } from '../../src/core/verdict/health.ts'
import type { NetworkFork } from '../../src/core/verdict/network-chains.ts'
import { createBoard } from '../../src/state/board.ts'
import type { ClusterTables } from '../../src/store/cluster-tables.ts'
import { silentLog } from './log.ts'
import { endpoint, network } from './network.ts'

const INTERVAL_MS = 1000

/** A member of a cluster whose polls are made up: one endpoint in each network, polled each second. */
export function createPollingMember(options: PollingMemberOptions) {
  const { id, vantage, clock, tables, leaseMs, networks } = options
  const polled = new Set<string>()
  const kept = new Set<string>()
  /** Networks that it polls no more, and whether it gave them back. */
  const released: [network: string, isGivenBack: boolean][] = []
  const local = createBoard({ countsChanges: false })
  const shown = createBoard()
  const databaseClock = createDatabaseClock(clock)
  /** What its polls say, by network; else up since long. */
  const said = new Map<string, Partial<Health>>()
  let fork: NetworkFork | null = null
  const configured = networks.map((name) => ({
    network: network({ name }),
    endpoints: [endpoint('own-1', { network: name, intervalMs: INTERVAL_MS })],
  }))
  for (const board of [local, shown]) {
    board.configure(
      configured.map(({ network: one, endpoints }) => ({
        network: one,
        fresh: endpoints.map((of) => ({
          health: unpolled(of, 0),
          tally: { stateChanges: 0, checks: [], reorgs: null, regressions: null },
        })),
      })),
    )
  }
  const cluster = createCluster({
    clock: databaseClock,
    log: silentLog,
    tables,
    settings: { id, version: '1.0.0', url: null, vantage, leaseMs },
    local,
    shown,
    standingOf: () => ({ heads: [], halts: [], fork }),
    isImpaired: options.isImpaired ?? (() => false),
    isReplaying: options.isReplaying ?? (() => false),
    storeStatus: () => ({ reachable: true, since: 0, spoolRows: 0, lagMs: null }),
    hooks: {
      onOwned: (name) => void polled.add(name),
      async onReleased(name, isGivenBack) {
        polled.delete(name)
        released.push([name, isGivenBack])
        await clock.sleep(options.handsOverInMs ?? 0)
      },
      onKept: (name) => void kept.add(name),
      onDropped: (name) => void kept.delete(name),
      onMerged: () => undefined,
    },
  })
  cluster.configure(configured, 'majority')

  function pollNow(): void {
    if (options.polls?.() === false) return
    const now = databaseClock.now()
    for (const { endpoints } of configured) {
      for (const of of endpoints) {
        if (!polled.has(of.network)) continue
        const before = local.entry(of.network, of.name)?.health
        const up = { verdict: 'up', since: now - 60_000, lastPolledAt: now, validUntil: now + 2 * INTERVAL_MS } as const
        const health = { ...unpolled(of, now), ...up, ...said.get(of.network) }
        local.put(health, before === undefined || verdictDiffers(before, health))
      }
    }
  }

  function poll(): void {
    clock.after(INTERVAL_MS, poll)
    pollNow()
  }

  return {
    cluster,
    clock: databaseClock,
    local,
    shown,
    polled,
    kept,
    released,
    pollNow,
    says: (name: string, health: Partial<Health>) => void said.set(name, health),
    seesFork(seen: NetworkFork | null): void {
      fork = seen
    },
    start(): Promise<void> {
      poll()
      return cluster.start()
    },
  }
}

export interface PollingMemberOptions {
  readonly id: string
  readonly vantage: string
  readonly clock: Clock
  readonly tables: ClusterTables
  readonly leaseMs: number
  readonly networks: readonly string[]
  readonly isImpaired?: () => boolean
  readonly isReplaying?: () => boolean
  /** How long the last polls of a network take to be written before it is given back. */
  readonly handsOverInMs?: number
  /** Whether it polls what it owns; by default it does. */
  readonly polls?: () => boolean
}
