import type { CancelSignal, Clock, Timer } from '../clock.ts'

/** Runs its tasks after a timeout or when a signal aborts. All requests of a check share one deadline. */
export class Deadline {
  readonly afterMs: number
  readonly #clock: DeadlineClock
  readonly #signal: CancelSignal
  readonly #tasks: (() => void)[] = []
  readonly #pass = (): void => this.pass()
  readonly #dueAt: number
  #timer: Timer | null
  passed: boolean

  constructor(clock: DeadlineClock, afterMs: number, signal: CancelSignal) {
    this.afterMs = afterMs
    this.#clock = clock
    this.#signal = signal
    this.passed = signal.aborted
    this.#dueAt = clock.monotonic() + afterMs
    this.#timer = this.passed ? null : this.#start()
  }

  /** Also while the timer is late. */
  get isOver(): boolean {
    return this.passed || this.#clock.monotonic() >= this.#dueAt
  }

  watch(task: () => void): void {
    this.#tasks.push(task)
  }

  unwatch(task: () => void): void {
    const at = this.#tasks.indexOf(task)
    if (at !== -1) this.#tasks.splice(at, 1)
  }

  pass(): void {
    if (this.passed) return
    this.passed = true
    this.#stop()
    for (let task = this.#tasks.pop(); task !== undefined; task = this.#tasks.pop()) task()
  }

  /** Called when the check is done. Requests of which it needs no answer still end at the deadline. */
  end(): void {
    if (this.#tasks.length === 0) this.#stop()
  }

  #stop(): void {
    this.#timer?.cancel()
    this.#signal.removeEventListener('abort', this.#pass)
  }

  #start(): Timer {
    this.#signal.addEventListener('abort', this.#pass)
    return this.#clock.after(this.afterMs, () => {
      // After a blocked event loop, timers run before sockets are read: a response in time must not count as late.
      if (this.#clock.monotonic() - this.#dueAt > LATE_MS) this.#timer = this.#clock.after(GRACE_MS, this.#pass)
      else this.pass()
    })
  }
}

/** Registers one listener for thousands of deadlines, because the listener list of an AbortSignal is slow. */
export function sharedSignal(signal: AbortSignal): CancelSignal {
  let shared = sharedSignals.get(signal)
  if (shared === undefined) {
    const tasks = new Set<() => void>()
    signal.addEventListener('abort', () => tasks.forEach((task) => task()), { once: true })
    shared = {
      get aborted() {
        return signal.aborted
      },
      addEventListener: (_type, task) => void tasks.add(task),
      removeEventListener: (_type, task) => void tasks.delete(task),
    }
    sharedSignals.set(signal, shared)
  }
  return shared
}

const sharedSignals = new WeakMap<AbortSignal, CancelSignal>()

type DeadlineClock = Pick<Clock, 'after' | 'monotonic'>

const LATE_MS = 50
const GRACE_MS = 10
