/** Runs work that yields between its slices to its end. */
export function finish<Result>(slices: Generator<undefined, Result, void>): Result {
  for (;;) {
    const slice = slices.next()
    if (slice.done === true) return slice.value
  }
}
