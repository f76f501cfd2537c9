import type { Clock, Timer } from '../clock.ts'

/** Runs one task again and again, never two at once. A failed run does not prevent the next. */
export function createLoop({ clock, everyMs, run }: LoopDeps) {
  let timer: Timer | null = null
  let running: Promise<void> | null = null
  let dueAt = Number.POSITIVE_INFINITY
  let isStopped = false

  function schedule(delayMs: number): void {
    if (isStopped) return
    timer?.cancel()
    dueAt = clock.monotonic() + delayMs
    timer = clock.after(delayMs, () => void begin())
  }

  async function begin(): Promise<void> {
    if (running !== null || isStopped) return running ?? undefined
    dueAt = Number.POSITIVE_INFINITY
    let nextMs = everyMs
    running = run().then(
      (soonerMs) => {
        nextMs = Math.min(nextMs, soonerMs ?? nextMs)
      },
      () => undefined,
    )
    await running
    running = null
    // A wish for an earlier run, made during this one, is not forgotten.
    schedule(Math.max(0, Math.min(nextMs, dueAt - clock.monotonic())))
  }

  return {
    /** Runs at once; resolves after the first run. */
    start: begin,

    /** Makes the next run begin within this time. */
    soon(withinMs: number): void {
      const due = clock.monotonic() + withinMs
      if (due >= dueAt) return
      if (running === null) schedule(withinMs)
      else dueAt = due
    },

    /** Resolves once nothing runs any more. */
    async stop(): Promise<void> {
      isStopped = true
      timer?.cancel()
      await running
    },
  }
}

interface LoopDeps {
  readonly clock: Pick<Clock, 'after' | 'monotonic'>
  /** From the end of a run to the start of the next. */
  readonly everyMs: number
  /** May return a shorter time until the next run. */
  readonly run: () => Promise<number | undefined>
}
