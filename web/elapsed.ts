/** A moment by both clocks of the browser. */
export interface Moment {
  readonly monotonicMs: number
  readonly wallMs: number
}

export function instant(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() }
}

/** The larger value of two clocks: the monotonic one stops while the computer sleeps, the other may be set back. */
export function since({ monotonicMs, wallMs }: Moment): number {
  return Math.max(performance.now() - monotonicMs, Date.now() - wallMs)
}
