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
