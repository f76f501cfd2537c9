import { type Clock, repeat, type Timer } from '../clock.ts'
import { type Log, placeOf } from '../log.ts'
import type { Notifier } from '../notify/notifier.ts'
import { readNotification } from '../notify/stored-notification.ts'
import type { Keeper } from '../poll/keeper.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { Store } from '../store/store.ts'

/**
 * Finds the networks that no member is configured with any more, and that have open incidents or messages to be sent: those
 * have no keeper. One member keeps them until their incidents are closed and their messages sent.
 */
export function createRemovedNetworks(deps: RemovedNetworksDeps) {
  const { incidents, keeper, notifier, isConfigured, clock, log } = deps
  const kept = new Set<string>()
  let seen: ReadonlySet<string> = new Set()
  /** Networks with messages that earlier members left; `null` while this member does not act for all. */
  let unsent: Set<string> | null = null
  let timer: Timer | null = null
  let running: Promise<void> | null = null

  async function readUnsent(): Promise<Set<string>> {
    const records = await deps.reads.notifications({ about: 'unfinished', limit: MOST_READ })
    const waiting = records.flatMap((record) => (record.waiting ? (readNotification(record.value) ?? []) : []))
    return new Set(waiting.flatMap(({ report }) => report?.network ?? []))
  }

  function isDone(network: string): boolean {
    if (!keeper.isReady(network) || incidents.open().some((one) => one.network === network)) return false
    return !notifier.status().waiting.some(({ report }) => report?.network === network)
  }

  async function look(): Promise<void> {
    for (const network of kept) {
      if (!isConfigured(network) && !isDone(network)) continue
      kept.delete(network)
      unsent?.delete(network)
      if (isConfigured(network)) continue
      log.info({ network }, 'a removed network has no open incidents or messages any more')
    }
    if (!deps.isAgreed()) {
      unsent = null
      seen = new Set()
      return
    }
    unsent ??= await readUnsent()
    const all = [...incidents.open().map(({ network }) => network), ...unsent]
    const removed = new Set(all.filter((network) => !isConfigured(network)))
    // Members that reload one after the other differ for a moment without knowing it.
    for (const network of removed) if (seen.has(network)) kept.add(network)
    seen = removed
  }

  return {
    /** Those that this member is to keep. */
    kept: (): ReadonlySet<string> => kept,

    start(): void {
      timer = repeat(clock, LOOK_EVERY_MS, () => {
        running ??= look()
          .catch((error: unknown) =>
            log.debug({ error: placeOf(error) }, 'messages of removed networks cannot be read'),
          )
          .finally(() => {
            running = null
          })
      })
    },

    async stop(): Promise<void> {
      timer?.cancel()
      await running
    },
  }
}

export interface RemovedNetworksDeps {
  readonly incidents: Pick<IncidentLog, 'open'>
  readonly keeper: Pick<Keeper, 'isReady'>
  /** Rejects if the data cannot be read. */
  readonly reads: Pick<Store, 'notifications'>
  readonly notifier: Pick<Notifier, 'status'>
  readonly isConfigured: (network: string) => boolean
  /** Whether this member acts for all, and all live members have the same networks. */
  readonly isAgreed: () => boolean
  readonly clock: Clock
  readonly log: Log
}

const LOOK_EVERY_MS = 5000
const MOST_READ = 50_000
