import type { SkipReason } from '../../src/core/poll-result.ts'
import { createScheduler, type ScheduledItem, type Scheduler } from '../../src/poll/scheduler.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'

export interface Run {
  readonly key: string
  /** Monotonic. */
  readonly at: number
  end: number
}

export interface World {
  readonly clock: FakeClock
  readonly scheduler: Scheduler
  readonly runs: Run[]
  readonly skips: Map<SkipReason, number>
  readonly lags: number[]
  most: number
}

interface Setting {
  readonly concurrency?: number
  readonly started?: boolean
  /** What the poll with this number (of its item) comes to. */
  readonly poll?: (key: string, number: number) => { waitMs?: number; suspect?: boolean; durationMs?: number }
}

export function items(count: number, intervalMs: number, over: Partial<ScheduledItem> = {}): ScheduledItem[] {
  return Array.from({ length: count }, (_, at) => ({
    key: `e${at}`,
    intervalMs,
    retryMs: intervalMs / 4,
    limits: [{ name: `host ${at}`, concurrency: 8 }],
    ...over,
  }))
}

/** A scheduler of these items, whose every run is noted. */
export function world(
  of: readonly ScheduledItem[],
  { concurrency = 256, started = true, poll = () => ({}) }: Setting = {},
): World {
  const clock = createFakeClock()
  const numbers = new Map<string, number>()
  let running = 0
  const scheduler = createScheduler({
    clock,
    concurrency,
    run: async (key, signal) => {
      const number = (numbers.get(key) ?? 0) + 1
      numbers.set(key, number)
      const run = { key, at: clock.monotonic(), end: Number.POSITIVE_INFINITY }
      made.runs.push(run)
      made.most = Math.max(made.most, ++running)
      const { durationMs = 5, waitMs = 0, suspect = false } = poll(key, number)
      await clock.sleep(durationMs, signal)
      running--
      run.end = clock.monotonic()
      if (suspect) scheduler.pollSoon(key)
      return { waitMs }
    },
    onLag: (ms) => made.lags.push(ms),
    onSkip: (_key, reason, count) => made.skips.set(reason, (made.skips.get(reason) ?? 0) + count),
  })
  const made: World = { clock, scheduler, runs: [], skips: new Map(), lags: [], most: 0 }
  scheduler.configure(of)
  if (started) scheduler.start()
  return made
}
