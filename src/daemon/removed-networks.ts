import { type Clock, repeat, type Timer } from '../clock.ts'
import { type Log, placeOf } from '../log.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { Keeper } from '../poll/keeper.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { ClusterTables, HeldLease } from '../store/cluster-tables.ts'
import type { Store } from '../store/store.ts'

/**
 * Closes the open incidents of networks that no member is configured with any more: those have no keeper. A member keeps
 * such a network until their ends are sent.
 */
export function createRemovedNetworks(deps: RemovedNetworksDeps) {
  const { tables, member, leaseMs, incidents, keeper, store, clock, log } = deps
  const tokens = new Map<string, number>()
  const stopping = new AbortController()
  let seen: ReadonlySet<string> = new Set()
  let timer: Timer | null = null
  let running: Promise<void> | null = null

  async function close(network: string): Promise<void> {
    const [lease] = await tables.claim(member, [{ kind: 'keep', vantage: '', network }], leaseMs)
    if (lease === undefined) return
    tokens.set(network, lease.token)
    try {
      await keeper.keep(network)
      await store.flush()
      await told(network)
      log.info({ network }, 'closed the incidents of a network that was removed')
    } finally {
      await end(lease)
    }
  }

  /** Waits for what channels have to hear of it, as long as the lease certainly holds. */
  async function told(network: string): Promise<void> {
    const until = clock.monotonic() + leaseMs / 2
    const waits = () => deps.notifier.status().waiting.some(({ report }) => report?.network === network)
    while (waits() && clock.monotonic() < until && !stopping.signal.aborted) await clock.sleep(100, stopping.signal)
  }

  async function end(lease: HeldLease): Promise<void> {
    await keeper.drop(lease.network)
    tokens.delete(lease.network)
    await tables.release(member, [lease])
  }

  async function look(): Promise<void> {
    const removed = deps.isAgreed()
      ? new Set(incidents.open().flatMap(({ network }) => (deps.isConfigured(network) ? [] : [network])))
      : new Set<string>()
    // Members that reload one after the other differ for a moment without knowing it.
    const again = [...removed].filter((network) => seen.has(network))
    seen = removed
    for (const network of again) {
      await close(network).catch((error: unknown) =>
        log.warn({ network, error: placeOf(error) }, 'incidents of a removed network stay open'),
      )
    }
  }

  return {
    token: (network: string): number | null => tokens.get(network) ?? null,

    start(): void {
      timer = repeat(clock, LOOK_EVERY_MS, () => {
        running ??= look().finally(() => {
          running = null
        })
      })
    },

    async stop(): Promise<void> {
      stopping.abort()
      timer?.cancel()
      await running
    },
  }
}

export interface RemovedNetworksDeps {
  readonly tables: Pick<ClusterTables, 'claim' | 'release'>
  readonly member: string
  readonly leaseMs: number
  readonly incidents: Pick<IncidentLog, 'open'>
  readonly keeper: Pick<Keeper, 'keep' | 'drop'>
  readonly store: Pick<Store, 'flush'>
  readonly notifier: Pick<Notifier, 'status'>
  readonly isConfigured: (network: string) => boolean
  /** Whether this member acts for all, and all live members have the same networks. */
  readonly isAgreed: () => boolean
  readonly clock: Clock
  readonly log: Log
}

const LOOK_EVERY_MS = 5000
