import { describe, expect, test } from 'vitest'
import { FAILURE_KINDS } from '../../src/core/failure.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, batchOf, benchOn, DAY_MS, finish, HOLD_MS, pollOf } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'

const engines = everyEngine()

describe('single polls', () => {
  for (const { name, open } of engines) {
    test(`are returned ${name} one by one, as stored and amended`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE + 60_000 }) })
      store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
      const failed = pollOf(BASE + 15_000, { state: 'up', failure: 'timeout', latencyMs: null, height: null })

      store.poll(pollOf(BASE))
      store.poll(failed)
      store.poll(pollOf(BASE + 30_000, { lagBlocks: 4, heartbeatLagMs: 1500, contiguousFailures: 2 }))
      store.amend(ENDPOINT, BASE + 15_000, BASE + 30_000, 'down', false)
      await store.flush()

      const { endpoint: _, ...first } = pollOf(BASE)
      const found = await store.polls({ endpoint: ENDPOINT, from: BASE, to: BASE + 30_001, limit: 10 })
      expect(found[0]).toEqual(first)
      expect(found[1]).toMatchObject({
        at: BASE + 15_000,
        state: 'down',
        fresh: false,
        failure: 'timeout',
        height: null,
      })
      expect(found[2]).toMatchObject({ lagBlocks: 4, heartbeatLagMs: 1500, contiguousFailures: 2, failure: null })
      expect(found).toHaveLength(3)
    })
  }

  test('are the first ones in the requested time, of that endpoint only', () => {
    const bench = benchOn()
    const registrations = [ENDPOINT, 'ethereum/own-2'].map((endpoint, index) => ({
      index,
      endpoint,
      holdMs: HOLD_MS,
      at: BASE,
    }))
    const records = Array.from({ length: 100 }, (_, at) => pollOf(BASE + at * 15_000, { height: at }))
    bench.writing.write(batchOf([], [{ kind: 'register', registrations }]))
    bench.writing.write(batchOf(records))

    const read = (from: number, to: number, limit = 1000) =>
      bench.reading.polls({ endpoint: ENDPOINT, from: BASE + from, to: BASE + to, limit }).map(({ height }) => height)

    expect(read(15_000, 60_000)).toEqual([1, 2, 3])
    expect(read(15_001, 60_001)).toEqual([2, 3, 4])
    expect(read(0, DAY_MS, 2)).toEqual([0, 1])
    expect(read(0, DAY_MS)).toHaveLength(100)
    expect(bench.reading.polls({ endpoint: 'ethereum/own-2', from: BASE, to: BASE + DAY_MS, limit: 9 })).toEqual([])
    expect(bench.reading.polls({ endpoint: 'unknown', from: BASE, to: BASE + DAY_MS, limit: 9 })).toEqual([])
  })

  test('are not returned once they are aggregated and deleted', () => {
    const bench = benchOn()
    const registration = { index: 0, endpoint: ENDPOINT, holdMs: HOLD_MS, at: BASE }
    bench.writing.write(batchOf([], [{ kind: 'register', registrations: [registration] }]))
    bench.writing.write(batchOf(Array.from({ length: 400 }, (_, at) => pollOf(BASE + at * 15_000))))

    const now = BASE + 3 * DAY_MS
    finish(bench.rollUp.rollTo(now))
    finish(bench.retainer.pass(now))

    expect(bench.reading.polls({ endpoint: ENDPOINT, from: BASE, to: now, limit: 1000 })).toEqual([])
  })

  test.each(FAILURE_KINDS)('keep the reason for a failure: %s', (failure) => {
    const bench = benchOn()
    const registration = { index: 0, endpoint: ENDPOINT, holdMs: HOLD_MS, at: BASE }
    bench.writing.write(batchOf([], [{ kind: 'register', registrations: [registration] }]))

    bench.writing.write(batchOf([pollOf(BASE, { state: 'down', fresh: false, failure })]))

    const [poll] = bench.reading.polls({ endpoint: ENDPOINT, from: BASE, to: BASE + 1, limit: 1 })
    expect(poll).toMatchObject({ failure, state: 'down', fresh: false })
  })
})
