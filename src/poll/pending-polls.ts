import type { Clock } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import { DISTANCE, type HostLocation, isWitnessFor } from '../core/host-location.ts'

/** Holds polls that cannot be decided yet; the polls of one key are decided in the order of arrival. */
export function createPendingPolls<T, D extends string>(deps: PendingPollsDeps<T, D>) {
  const { decide, onDecided, onWaiting, clock } = deps
  const waiting = new Map<string, T[]>()
  let continues = false

  /** Returns whether all of them are decided. */
  function settle(items: T[]): boolean {
    while (items.length > 0) {
      const item = items[0] as T
      const decision = decide(item)
      if (decision === 'undecided') return false
      items.shift()
      onDecided(item, decision)
    }
    return true
  }

  function review(): void {
    if (continues) return
    let decided = 0
    for (const [key, items] of waiting) {
      if (!settle(items)) continue
      waiting.delete(key)
      if (++decided < MOST_IN_A_TURN) continue
      continues = true
      clock.after(0, goOn)
      return
    }
  }

  function goOn(): void {
    continues = false
    review()
  }

  return {
    /** Number of keys with waiting polls. */
    get size() {
      return waiting.size
    },

    /** Decides the poll now if possible; otherwise it waits. */
    add(key: string, item: T): void {
      const before = waiting.get(key)
      if (before === undefined) {
        const decision = decide(item)
        if (decision !== 'undecided') return onDecided(item, decision)
        waiting.set(key, [item])
      } else {
        before.push(item)
        if (settle(before)) {
          waiting.delete(key)
          return
        }
      }
      onWaiting(key, item)
    },

    /** Decides the polls that new information makes decidable: if they are many, not all in one turn of the event loop. */
    review,

    /** Returns the waiting polls, which are not decided any more. */
    removeAll(): readonly T[] {
      const items = [...waiting.values()].flat()
      waiting.clear()
      return items
    },

    retain(keys: ReadonlySet<string>): void {
      for (const key of waiting.keys()) if (!keys.has(key)) waiting.delete(key)
    },
  }
}

export interface PendingPollsDeps<T, D extends string> {
  readonly decide: (item: T) => D | 'undecided'
  readonly onDecided: (item: T, decision: D) => void
  /** Called when the poll must wait for more information. */
  readonly onWaiting: (key: string, item: T) => void
  readonly clock: Pick<Clock, 'after'>
}

/** Judging one that opens an incident takes up to a millisecond. */
const MOST_IN_A_TURN = 16

/** Finds an endpoint whose poll can show whether our own network works. */
export function createWitnesses() {
  let candidates: readonly Witness[] = []
  let next = 0
  /** Polls per ms of each host, and of all hosts at a distance or further. */
  let ofHost = new Map<string, number>()
  let ofDistance: readonly number[] = []

  /** The endpoints of its own host fail with it. */
  function areMany({ endpoint, at }: Witness): boolean {
    const pollsPerMs = (ofDistance[DISTANCE[at.zone]] ?? 0) - (ofHost.get(at.host) ?? 0)
    return (pollsPerMs * endpoint.intervalMs) / 4 > ENOUGH_WITNESSES
  }

  /** Without an answering host as far away, the farthest: with our own network gone, it fails as well. */
  function canShow({ at }: Witness): (candidate: Witness) => boolean {
    const isDistant = (one: Witness) => one.answers && isWitnessFor(one.at, at)
    if (candidates.some(isDistant)) return isDistant
    const isOther = (one: Witness) => one.answers && one.at.host !== at.host
    const farthest = candidates.reduce((most, one) => (isOther(one) ? Math.max(most, DISTANCE[one.at.zone]) : most), 0)
    return (one) => isOther(one) && DISTANCE[one.at.zone] === farthest
  }

  return {
    configure(all: readonly Witness[]): void {
      candidates = all
      ofHost = new Map()
      const rates = [0, 0, 0]
      for (const { endpoint, at } of all) {
        const rate = 1 / endpoint.intervalMs
        ofHost.set(at.host, (ofHost.get(at.host) ?? 0) + rate)
        for (let distance = 0; distance <= DISTANCE[at.zone]; distance++)
          rates[distance] = (rates[distance] ?? 0) + rate
      }
      ofDistance = rates
    },

    /** Whether the regular polls of others show it before this endpoint is polled again. */
    isFoundSoon(suspect: Witness): boolean {
      if (areMany(suspect)) return true
      const isWitness = canShow(suspect)
      return candidates.some((one) => one.endpoint.intervalMs <= suspect.endpoint.intervalMs && isWitness(one))
    },

    /** `null` if no endpoint can, or if the regular polls of many endpoints will show it soon enough. */
    find(suspect: Witness): Witness | null {
      if (areMany(suspect)) return null
      const isWitness = canShow(suspect)
      for (let tried = 0; tried < candidates.length; tried++) {
        const candidate = candidates[next++ % candidates.length]
        if (candidate !== undefined && isWitness(candidate)) return candidate
      }
      return null
    },
  }
}

export interface Witness {
  readonly key: EndpointKey
  readonly endpoint: { readonly intervalMs: number }
  readonly at: HostLocation
  /** Whether its host answered its latest poll, be it with an error, and did not ask to wait before the next one. */
  readonly answers: boolean
  /** Whether another poll is to confirm what its latest one has shown. */
  readonly isSuspect: boolean
}

/** With this many other polls in a quarter of an interval, one of them shows soon enough whose fault a failure is. */
const ENOUGH_WITNESSES = 8
