/** So many polls at once of all that have a lane of this name. */
export interface SharedLimit {
  readonly name: string
  readonly concurrency: number
}

/** Who may run at once: so many in all, and so many in each lane. */
export interface ConcurrencyLimiter {
  configure(concurrency: number): void
  /** Whether one with these lanes may start, if only this share of the places were there. */
  hasRoom(lanes: readonly SharedLimit[], share: number): boolean
  acquire(lanes: readonly SharedLimit[]): void
  /** Gives back what `take` took, also when the lanes have been configured anew meanwhile. */
  release(lanes: readonly SharedLimit[]): void
}

export function createConcurrencyLimiter(concurrency: number): ConcurrencyLimiter {
  let most = concurrency
  let taken = 0
  const inLane = new Map<string, number>()

  return {
    configure(next) {
      most = next
    },

    hasRoom: (lanes, share) =>
      taken < most * share && lanes.every((lane) => (inLane.get(lane.name) ?? 0) < lane.concurrency * share),

    acquire(lanes) {
      taken++
      for (const { name } of lanes) inLane.set(name, (inLane.get(name) ?? 0) + 1)
    },

    release(lanes) {
      taken--
      for (const { name } of lanes) {
        const others = (inLane.get(name) ?? 1) - 1
        if (others === 0) inLane.delete(name)
        else inLane.set(name, others)
      }
    },
  }
}

/** What came of a visit: done, or why it was not begun. */
export type OnDemandResult =
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown-item' }
  | { readonly kind: 'no-place' }
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }

/** What takes places beside the schedule, and waits for one where none is free. */
export interface OnDemandPolls {
  /** Does `work` as soon as there is a place; gives up when the signal aborts before that. */
  run(lanes: readonly SharedLimit[], signal: AbortSignal, work: () => Promise<void>): Promise<OnDemandResult>
  /** Begins what waits and has a place by now. */
  startWaiting(): void
}

export interface OnDemandPollsDeps {
  readonly places: ConcurrencyLimiter
  /** Of all places, at most. */
  readonly share: number
  /** Nothing is begun from then on. */
  readonly ended: AbortSignal
}

interface Guest {
  readonly lanes: readonly SharedLimit[]
  begin(): void
}

export function createOnDemandPolls({ places, share, ended }: OnDemandPollsDeps): OnDemandPolls {
  const guests = new Set<Guest>()

  async function receive(lanes: readonly SharedLimit[], work: () => Promise<void>): Promise<OnDemandResult> {
    places.acquire(lanes)
    try {
      await work()
    } finally {
      places.release(lanes)
    }
    return { kind: 'done' }
  }

  return {
    run(lanes, signal, work) {
      return new Promise((resolve) => {
        const leave = (): void => {
          guests.delete(guest)
          for (const of of [signal, ended]) of.removeEventListener('abort', giveUp)
        }
        const giveUp = (): void => {
          leave()
          resolve({ kind: 'no-place' })
        }
        const guest: Guest = {
          lanes,
          begin() {
            leave()
            resolve(receive(lanes, work))
          },
        }
        if (signal.aborted || ended.aborted) return giveUp()
        if (places.hasRoom(lanes, share)) return guest.begin()
        guests.add(guest)
        for (const of of [signal, ended]) of.addEventListener('abort', giveUp, { once: true })
      })
    },

    startWaiting() {
      for (const guest of guests) if (places.hasRoom(guest.lanes, share)) guest.begin()
    },
  }
}
