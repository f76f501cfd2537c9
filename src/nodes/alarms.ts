import type { Clock, Timer } from '../clock.ts'

/** Many alarms for the price of few timers: thousands of one length are under way, and nearly all are cancelled unheard. */
export interface Alarms extends Pick<Clock, 'after'> {
  /** Rings all that are set, and times nothing any more: what is set later rings at once. */
  close(): void
}

/** The alarms of one length fall due in the order in which they were set: one timer, for the first, serves them all. */
interface Queue {
  readonly alarms: Set<Alarm>
  timer: Timer | null
}

interface Alarm extends Timer {
  readonly dueAt: number
  readonly task: () => void
}

/** Timers run up to a millisecond early: what is due by then is due. */
const EARLY_MS = 1

/** Alarms this close together ring together. */
const GRAIN_MS = 10

const RUNG: Timer = { cancel() {} }

export function createAlarms(clock: Pick<Clock, 'after' | 'monotonic'>): Alarms {
  const queues = new Map<number, Queue>()
  let closed = false

  function queueOf(delayMs: number): Queue {
    let queue = queues.get(delayMs)
    if (queue === undefined) {
      queue = { alarms: new Set(), timer: null }
      queues.set(delayMs, queue)
    }
    return queue
  }

  function arm(queue: Queue, delayMs: number, waitMs: number): void {
    queue.timer = clock.after(waitMs, () => {
      queue.timer = null
      ringDue(queue, delayMs)
      if (queue.alarms.size === 0) queues.delete(delayMs)
    })
  }

  function ringDue(queue: Queue, delayMs: number): void {
    const now = clock.monotonic()
    const due: Alarm[] = []
    for (const alarm of queue.alarms) {
      if (alarm.dueAt - now > EARLY_MS) {
        arm(queue, delayMs, Math.max(GRAIN_MS, alarm.dueAt - now))
        break
      }
      due.push(alarm)
    }
    ring(due, queue.alarms)
  }

  return {
    after(delayMs, task) {
      if (closed) {
        task()
        return RUNG
      }
      const queue = queueOf(delayMs)
      const alarm: Alarm = {
        dueAt: clock.monotonic() + delayMs,
        task,
        cancel: () => void queue.alarms.delete(alarm),
      }
      queue.alarms.add(alarm)
      if (queue.timer === null) arm(queue, delayMs, delayMs)
      return alarm
    },

    close() {
      closed = true
      for (const { alarms, timer } of queues.values()) {
        timer?.cancel()
        ring([...alarms], alarms)
      }
      queues.clear()
    },
  }
}

/** One that rings may cancel another. */
function ring(due: readonly Alarm[], alarms: Set<Alarm>): void {
  for (const alarm of due) if (alarms.delete(alarm)) alarm.task()
}
