import { expect, test } from 'vitest'
import { createScheduler, type OnDemandResult, type ScheduledItem } from '../../src/poll/scheduler.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const HOST = { name: 'host', concurrency: 2 }
const NEVER = new AbortController().signal

interface Setting {
  readonly items?: readonly ScheduledItem[]
  readonly concurrency?: number
  readonly pollMs?: number
  readonly waitMs?: number
}

/** A scheduler whose every run is noted, and visits that take as long as a run. */
function world({ items = [item('a')], concurrency = 8, pollMs = 10, waitMs = 0 }: Setting = {}) {
  const clock = createFakeClock()
  const events: string[] = []
  const skips: string[] = []
  const work = async (name: string, signal: AbortSignal = NEVER) => {
    events.push(`${name} begins at ${clock.monotonic() - began}`)
    await clock.sleep(pollMs, signal)
    events.push(`${name} ends`)
    return { waitMs }
  }
  const lags: number[] = []
  const scheduler = createScheduler({
    clock,
    concurrency,
    run: (key, signal) => work(key, signal),
    onLag: (ms) => lags.push(ms),
    onSkip: (_key, reason) => skips.push(reason),
  })
  scheduler.configure(items)
  const began = clock.monotonic()
  const visit = (key: string, signal: AbortSignal = NEVER): Promise<OnDemandResult> =>
    scheduler.pollOnDemand(key, signal, () => work(`visit of ${key}`))
  return { clock, scheduler, events, skips, lags, visit }
}

function item(key: string, over: Partial<ScheduledItem> = {}): ScheduledItem {
  return { key, intervalMs: 1000, retryMs: 250, limits: [], ...over }
}

test('an on-demand poll starts at once if there is room, and is no turn', async () => {
  const { clock, scheduler, events, skips, visit } = world()
  scheduler.start()
  await clock.advance(500)

  const visited = visit('a')
  await clock.advance(600)

  expect(await visited).toEqual({ kind: 'done' })
  expect(events.filter((event) => event.includes('begins'))).toEqual([
    'a begins at 0',
    'visit of a begins at 500',
    'a begins at 1000',
  ])
  expect(skips).toEqual([])
})

test('an on-demand poll starts while another poll of the endpoint hangs, and delays no turn', async () => {
  const { clock, scheduler, events, lags, skips, visit } = world({ pollMs: 990 })
  scheduler.start()
  await clock.advance(100)

  const visited = visit('a')
  await clock.advance(1500)

  expect(await visited).toEqual({ kind: 'done' })
  expect(events.filter((event) => event.includes('begins'))).toEqual([
    'a begins at 0',
    'visit of a begins at 100',
    'a begins at 1000',
  ])
  expect({ lags, skips }).toEqual({ lags: [0, 0], skips: [] })
})

test('on-demand polls use at most half of the limits', async () => {
  const items = ['a', 'b', 'c', 'd'].map((key) => item(key, { limits: [HOST], intervalMs: 100_000 }))
  const { clock, events, visit } = world({ items, pollMs: 100 })

  const visits = items.map(({ key }) => visit(key))
  await clock.advance(50)
  const first = [...events]
  await clock.advance(1000)

  expect(first).toEqual(['visit of a begins at 0'])
  expect(await Promise.all(visits)).toEqual(items.map(() => ({ kind: 'done' })))
})

test('an on-demand poll that finds no room in time does not start', async () => {
  const items = [item('a', { limits: [{ name: 'host', concurrency: 1 }] })]
  const { clock, scheduler, events, visit } = world({ items, pollMs: 5000 })
  scheduler.start()
  const patience = new AbortController()

  const visited = visit('a', patience.signal)
  await clock.advance(900)
  patience.abort()

  expect(await visited).toEqual({ kind: 'no-place' })
  await clock.advance(10_000)
  expect(events.filter((event) => event.startsWith('visit'))).toEqual([])
})

test('a node that limits our rate gets no on-demand poll, and one that does so in an on-demand poll has no turn until the wait is over', async () => {
  const { clock, scheduler, events, skips, visit } = world({ waitMs: 3000 })

  expect(await Promise.all([visit('a'), clock.advance(20)])).toEqual([{ kind: 'done' }, undefined])
  scheduler.start()
  await clock.advance(1000)

  expect(await visit('a')).toEqual({ kind: 'asked-to-wait', forMs: 1990 })
  expect(events.filter((event) => event.startsWith('a begins'))).toEqual([])
  expect(skips).toContain('rate-limited')
})

test('an unknown endpoint is not polled, and stopping ends the waiting', async () => {
  const items = [item('a', { limits: [{ name: 'host', concurrency: 1 }] })]
  const { clock, scheduler, visit } = world({ items, pollMs: 5000 })
  scheduler.start()
  await clock.advance(1)

  const waiting = visit('a')
  const stopped = scheduler.stop()

  expect(await visit('missing')).toEqual({ kind: 'unknown-endpoint' })
  expect(await waiting).toEqual({ kind: 'no-place' })
  expect(await visit('a')).toEqual({ kind: 'no-place' })
  await stopped
})

test('an item that another daemon polls is polled on demand only, until it gets turns', async () => {
  const other = item('a', { onDemandOnly: true })
  const { clock, scheduler, events, visit } = world({ items: [other] })
  scheduler.start()
  scheduler.pollSoon('a')
  await clock.advance(5000)
  expect([events, scheduler.firstRoundDone, scheduler.lateMs]).toEqual([[], true, 0])

  const visited = visit('a')
  await clock.advance(10)
  expect(await visited).toEqual({ kind: 'done' })

  scheduler.configure([item('a')])
  await clock.advance(3000)
  expect(events.filter((event) => event.startsWith('a begins'))).toHaveLength(4)

  scheduler.configure([other])
  scheduler.pollSoon('a')
  await clock.advance(5000)
  expect(events.filter((event) => event.startsWith('a begins'))).toHaveLength(4)
})

test('an item that loses its turns while it waits for a free poll is not polled', async () => {
  const limits = [{ name: 'host', concurrency: 1 }]
  const both = [item('a', { limits }), item('b', { limits })]
  const { clock, scheduler, events } = world({ items: both, pollMs: 900 })
  scheduler.start()
  await clock.advance(800)
  expect(events).toEqual(['a begins at 0'])

  scheduler.configure([item('a', { limits }), item('b', { limits, onDemandOnly: true })])
  await clock.advance(5000)

  expect(events.filter((event) => event.startsWith('b'))).toEqual([])
})
