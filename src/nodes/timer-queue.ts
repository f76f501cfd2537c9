import type { Clock, Timer } from '../clock.ts'

/** Many alarms for the price of few timers: thousands of one length are under way, and nearly all are cancelled unheard. */
export interface TimerQueue extends Pick<Clock, 'after'> {
  /** Rings all that are set, and times nothing any more: what is set later rings at once. */
  close(): void
}

/** The alarms of one length fall due in the order in which they were set: one timer, for the first, serves them all. */
interface Queue {
  /** Its own neighbour on both sides while nothing is set. */
  readonly ends: Link
  timer: Timer | null
}

/**
 * A list of links, and not a `Set`: one through which thousands pass a second is made anew again and again, and each of its former
 * tables keeps all that it held, and the request that each of those belongs to, until the whole heap is collected.
 */
interface Link {
  before: Link | null
  after: Link | null
}

/** Timers run up to a millisecond early: what is due by then is due. */
const EARLY_MS = 1

/** Alarms this close together ring together. */
const GRAIN_MS = 10

/** A timer that runs this much too late ran as soon as our own event loop was free again. */
const LATE_MS = 50

const RUNG: Timer = { cancel() {} }

export function createTimerQueue(clock: Pick<Clock, 'after' | 'monotonic'>): TimerQueue {
  const queues = new Map<number, Queue>()
  let closed = false

  function queueOf(delayMs: number): Queue {
    let queue = queues.get(delayMs)
    if (queue === undefined) {
      const ends: Link = { before: null, after: null }
      ends.before = ends
      ends.after = ends
      queue = { ends, timer: null }
      queues.set(delayMs, queue)
    }
    return queue
  }

  function arm(queue: Queue, delayMs: number, waitMs: number, mayWait = true): void {
    const dueAt = clock.monotonic() + waitMs
    queue.timer = clock.after(waitMs, () => {
      queue.timer = null
      // Timers run before sockets are read: an answer that came in time must not be called late because we were.
      if (mayWait && clock.monotonic() - dueAt > LATE_MS) return arm(queue, delayMs, GRAIN_MS, false)
      ringDue(queue, delayMs)
      if (queue.timer === null && firstOf(queue) === null) queues.delete(delayMs)
    })
  }

  function ringDue(queue: Queue, delayMs: number): void {
    const now = clock.monotonic()
    const due: Alarm[] = []
    for (let link = queue.ends.after; link instanceof Alarm; link = link.after) {
      if (link.dueAt - now > EARLY_MS) {
        arm(queue, delayMs, Math.max(GRAIN_MS, link.dueAt - now))
        break
      }
      due.push(link)
    }
    // One that rings may cancel another.
    for (const alarm of due) alarm.ring()
  }

  return {
    after(delayMs, task) {
      if (closed) {
        task()
        return RUNG
      }
      const queue = queueOf(delayMs)
      const alarm = new Alarm(clock.monotonic() + delayMs, task, queue.ends)
      if (queue.timer === null) arm(queue, delayMs, delayMs)
      return alarm
    },

    close() {
      closed = true
      for (const queue of queues.values()) {
        queue.timer?.cancel()
        for (let alarm = firstOf(queue); alarm !== null; alarm = firstOf(queue)) alarm.ring()
      }
      queues.clear()
    },
  }
}

function firstOf({ ends }: Queue): Alarm | null {
  return ends.after instanceof Alarm ? ends.after : null
}

class Alarm implements Timer, Link {
  readonly dueAt: number
  before: Link | null
  after: Link | null
  #task: (() => void) | null

  /** The last one before `ends`. */
  constructor(dueAt: number, task: () => void, ends: Link) {
    this.dueAt = dueAt
    this.#task = task
    this.before = ends.before
    this.after = ends
    if (ends.before !== null) ends.before.after = this
    ends.before = this
  }

  cancel(): void {
    const { before, after } = this
    if (before === null || after === null) return
    before.after = after
    after.before = before
    // Nothing that is over may hold on to what comes after it.
    this.before = null
    this.after = null
    this.#task = null
  }

  ring(): void {
    const task = this.#task
    this.cancel()
    task?.()
  }
}
