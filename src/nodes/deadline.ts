import type { Clock, Timer } from '../clock.ts'

/** The one deadline of a check, for all that it sends: whatever is under way when it passes is cut short. */
export class Deadline {
  readonly afterMs: number
  readonly #watching = new Set<() => void>()
  readonly #ofSignal: Set<Deadline>
  readonly #timer: Timer
  #passed: boolean

  /** It passes at once when the signal aborts. */
  constructor(clock: Pick<Clock, 'after'>, afterMs: number, signal: AbortSignal) {
    this.afterMs = afterMs
    this.#passed = signal.aborted
    this.#timer = clock.after(afterMs, () => this.pass())
    this.#ofSignal = deadlinesOf(signal)
    this.#ofSignal.add(this)
  }

  get passed(): boolean {
    return this.#passed
  }

  watch(task: () => void): void {
    this.#watching.add(task)
  }

  unwatch(task: () => void): void {
    this.#watching.delete(task)
  }

  pass(): void {
    if (this.#passed) return
    this.#passed = true
    this.end()
    for (const task of this.#watching) task()
  }

  /** The check is done: nothing is timed any more. */
  end(): void {
    this.#timer.cancel()
    this.#ofSignal.delete(this)
  }
}

/** All polls share one signal, and an EventTarget's own list is slow: one listener of ours for each signal. */
const bySignal = new WeakMap<AbortSignal, Set<Deadline>>()

function deadlinesOf(signal: AbortSignal): Set<Deadline> {
  const known = bySignal.get(signal)
  if (known !== undefined) return known
  const deadlines = new Set<Deadline>()
  bySignal.set(signal, deadlines)
  signal.addEventListener('abort', () => deadlines.forEach((deadline) => deadline.pass()), { once: true })
  return deadlines
}
