import { type Clock, within } from '../clock.ts'
import { networkOf } from '../core/endpoint.ts'
import type { Poller } from '../poll/poller.ts'
import type { Scheduler } from '../poll/scheduler.ts'
import type { SavedHealth, Store } from '../store/store.ts'

/** The networks that a member polls. Each continues where its previous owner was, and is handed over like that. */
export function createOwnedNetworks({ store, poller, scheduler, reschedule, clock }: OwnedNetworksDeps) {
  const owned = new Set<string>()
  const gained = new Set<string>()
  let takingUp: Promise<void> | null = null

  async function savedHealth(): Promise<readonly SavedHealth[]> {
    const read = store.savedHealth().catch(() => [])
    return (await within(clock, WITHIN_MS, read)) ?? []
  }

  async function takeUp(): Promise<void> {
    // Leases are claimed many at a time, and read once.
    await Promise.resolve()
    while (gained.size > 0) {
      const names = [...gained]
      const saved = await savedHealth()
      for (const name of names) {
        // It may have been lost again.
        if (!gained.delete(name)) continue
        owned.add(name)
        poller.adopt(name, saved)
      }
      reschedule()
      // The votes of the previous owner may expire before the first regular turn.
      for (const { endpoint } of saved) if (names.includes(networkOf(endpoint))) scheduler.pollSoon(endpoint)
    }
    takingUp = null
  }

  return {
    has: (network: string): boolean => owned.has(network),

    take(network: string): void {
      if (owned.has(network)) return
      gained.add(network)
      takingUp ??= takeUp()
    },

    /** Stops polling at once; resolves when the next owner can continue, if it waits for that. */
    async release(network: string, isGivenBack: boolean): Promise<void> {
      gained.delete(network)
      if (!owned.delete(network)) return
      reschedule()
      // Its new owner has judged the network since.
      if (isGivenBack) poller.save(network)
      poller.leave(network)
      if (!isGivenBack) return
      await within(clock, WITHIN_MS, store.flush())
    },
  }
}

export interface OwnedNetworksDeps {
  readonly store: Pick<Store, 'savedHealth' | 'flush'>
  readonly poller: Pick<Poller, 'adopt' | 'leave' | 'save'>
  /** Call it when the networks that are polled have changed. */
  readonly reschedule: () => void
  readonly scheduler: Pick<Scheduler, 'pollSoon'>
  readonly clock: Pick<Clock, 'sleep'>
}

export type OwnedNetworks = ReturnType<typeof createOwnedNetworks>

/** Polling goes on from nothing rather than late, if the database is slow. */
const WITHIN_MS = 1000
