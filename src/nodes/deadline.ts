import type { Clock, Timer } from '../clock.ts'

/** The one deadline of a check, for all that it sends: whatever is under way when it passes is cut short. */
export class Deadline {
  readonly afterMs: number
  /** One for each request under way: as many as there are shards, at most. */
  readonly #watching: (() => void)[] = []
  readonly #ofSignal: Set<Deadline>
  #timer: Timer | null = null
  #passed = false

  /** It passes at once when the signal aborts. */
  constructor(timers: Pick<Clock, 'after'>, afterMs: number, signal: AbortSignal) {
    this.afterMs = afterMs
    this.#ofSignal = deadlinesOf(signal)
    if (signal.aborted) {
      this.#passed = true
      return
    }
    this.#ofSignal.add(this)
    this.#timer = timers.after(afterMs, () => this.pass())
  }

  get passed(): boolean {
    return this.#passed
  }

  watch(task: () => void): void {
    this.#watching.push(task)
  }

  unwatch(task: () => void): void {
    const at = this.#watching.indexOf(task)
    if (at !== -1) this.#watching.splice(at, 1)
  }

  pass(): void {
    if (this.#passed) return
    this.#passed = true
    this.end()
    for (let task = this.#watching.pop(); task !== undefined; task = this.#watching.pop()) task()
  }

  /** The check is done: nothing is timed any more. */
  end(): void {
    this.#timer?.cancel()
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
