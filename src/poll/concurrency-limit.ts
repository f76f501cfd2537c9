/** So many polls at once of all that have a lane of this name. */
export interface Lane {
  readonly name: string
  readonly concurrency: number
}

/** Who may run at once: so many in all, and so many in each lane. */
export interface ConcurrencyLimit {
  configure(concurrency: number): void
  /** Whether one with these lanes may start, if only this share of the places were there. */
  free(lanes: readonly Lane[], share: number): boolean
  take(lanes: readonly Lane[]): void
  /** Gives back what `take` took, also when the lanes have been configured anew meanwhile. */
  leave(lanes: readonly Lane[]): void
}

export function createConcurrencyLimit(concurrency: number): ConcurrencyLimit {
  let most = concurrency
  let taken = 0
  const inLane = new Map<string, number>()

  return {
    configure(next) {
      most = next
    },

    free: (lanes, share) =>
      taken < most * share && lanes.every((lane) => (inLane.get(lane.name) ?? 0) < lane.concurrency * share),

    take(lanes) {
      taken++
      for (const { name } of lanes) inLane.set(name, (inLane.get(name) ?? 0) + 1)
    },

    leave(lanes) {
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
export type Visiting =
  | { readonly kind: 'done' }
  | { readonly kind: 'unknown-item' }
  | { readonly kind: 'no-place' }
  | { readonly kind: 'asked-to-wait'; readonly forMs: number }

/** What takes places beside the schedule, and waits for one where none is free. */
export interface OnDemandPolls {
  /** Does `work` as soon as there is a place; gives up when the signal aborts before that. */
  add(lanes: readonly Lane[], signal: AbortSignal, work: () => Promise<void>): Promise<Visiting>
  /** Begins what waits and has a place by now. */
  beginWaiting(): void
}

export interface OnDemandPollsDeps {
  readonly places: ConcurrencyLimit
  /** Of all places, at most. */
  readonly share: number
  /** Nothing is begun from then on. */
  readonly ended: AbortSignal
}

interface Guest {
  readonly lanes: readonly Lane[]
  begin(): void
}

export function createOnDemandPolls({ places, share, ended }: OnDemandPollsDeps): OnDemandPolls {
  const guests = new Set<Guest>()

  async function receive(lanes: readonly Lane[], work: () => Promise<void>): Promise<Visiting> {
    places.take(lanes)
    try {
      await work()
    } finally {
      places.leave(lanes)
    }
    return { kind: 'done' }
  }

  return {
    add(lanes, signal, work) {
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
        if (places.free(lanes, share)) return guest.begin()
        guests.add(guest)
        for (const of of [signal, ended]) of.addEventListener('abort', giveUp, { once: true })
      })
    },

    beginWaiting() {
      for (const guest of guests) if (places.free(guest.lanes, share)) guest.begin()
    },
  }
}
