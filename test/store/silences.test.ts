import { describe, expect, test } from 'vitest'
import type { Silence } from '../../src/core/incident/silence.ts'
import { slotOf } from '../../src/store/resolution.ts'
import { createMarkWriter } from '../../src/store/sqlite/marks.ts'
import { createRetainer } from '../../src/store/sqlite/retainer.ts'
import type { WriteEvent } from '../../src/store/write-events.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, batchOf, benchOn, DAY_MS, finish, HOUR_MS, RETENTION } from './setting.ts'

function silenceOf(id: string, wanted: Partial<Silence> = {}): Silence {
  return { id, network: 'ethereum', endpoint: 'own-1', reason: 'upgrade', from: BASE, until: BASE + 1000, ...wanted }
}

const saved = (silence: Silence): WriteEvent => ({ kind: 'save-silence', silence })

const engines = everyEngine()

describe('silences', () => {
  for (const { name, open } of engines) {
    test(`${name} are returned as they were saved last, by time and network`, async () => {
      const { store } = await open({ clock: createFakeClock({ now: BASE }) })
      const whole = silenceOf('b', { network: 'avalanche', endpoint: null, from: BASE + 10, until: BASE + 5000 })

      for (const silence of [silenceOf('a'), whole]) store.saveSilence(silence)
      await store.flush()
      store.saveSilence(silenceOf('a', { until: BASE + 500 }))
      await store.flush()

      const found = (from: number, to: number, network?: string) => store.silences({ from, to, network })
      expect(await found(BASE, BASE + 9000)).toEqual([silenceOf('a', { until: BASE + 500 }), whole])
      expect(await found(BASE + 500, BASE + 9000)).toEqual([whole])
      expect(await found(BASE, BASE + 10)).toEqual([silenceOf('a', { until: BASE + 500 })])
      expect(await found(BASE, BASE + 9000, 'avalanche')).toEqual([whole])
    })
  }

  for (const { name, bench } of engines) {
    test(`${name} are kept as long as hours are`, async () => {
      const parts = await bench({ rawMs: DAY_MS, fiveMinutesMs: DAY_MS, hourMs: 2 * DAY_MS })
      await parts.write(batchOf([], [silenceOf('old'), silenceOf('new', { until: BASE + 2 * DAY_MS })].map(saved)))

      await parts.retain(BASE + 3 * DAY_MS)

      expect((await parts.read.silences({ from: 0, to: BASE + DAY_MS })).map(({ id }) => id)).toEqual(['new'])
    })

    test(`${name} are at most ten thousand, with all that hold, and the newest of them are found`, async () => {
      const parts = await bench()
      const silences = Array.from({ length: 10_100 }, (_, at) =>
        silenceOf(`s-${at}`, { from: BASE + at, until: BASE + 20_000 + at }),
      )
      const holds = silenceOf('holds', { until: BASE + DAY_MS })
      await parts.write(batchOf([], [holds, ...silences].map(saved)))

      await parts.retain(BASE + 40_000)

      const found = (await parts.read.silences({ from: 0, to: BASE + DAY_MS })).map(({ id }) => id)
      expect([found.length, found[0], found.at(-1)]).toEqual([2000, 's-8100', 's-10099'])
      expect(await parts.read.silences({ from: BASE + 40_000, to: BASE + DAY_MS })).toEqual([holds])
      // Those that ended first are gone.
      const ended = { from: 0, to: BASE + 100 }
      expect((await parts.read.silences(ended)).map(({ id }) => id)).toEqual(['holds'])
    })
  }

  test('and notes as old as the hours that max_size deletes are deleted with them', () => {
    const bench = benchOn()
    const now = BASE + 60 * DAY_MS
    createMarkWriter(bench.db)([
      ['rolled_to', slotOf(now)],
      ['raw_from', slotOf(now)],
      ['five_minutes_from', slotOf(now)],
      ['hours_from', Math.floor(BASE / HOUR_MS)],
    ])
    bench.writing.write(
      batchOf([], [silenceOf('old'), silenceOf('new', { from: now, until: now + HOUR_MS })].map(saved)),
    )
    const noteAt = (at: number, nth: number): WriteEvent => {
      const note = { id: `${nth}`, incident: 'a', at, isPublic: false, text: 'x'.repeat(2000) }
      return { kind: 'save-note', note }
    }
    const old = Array.from({ length: 500 }, (_, nth) => noteAt(BASE, nth))
    bench.writing.write(batchOf([], [...old, noteAt(now, 500)]))

    finish(createRetainer(bench.db, RETENTION, 1_000_000).pass(now))

    expect(bench.reading.silences({ from: 0, to: now + 1 }).map(({ id }) => id)).toEqual(['new'])
    expect(bench.reading.notes(['a']).map(({ id }) => id)).toEqual(['500'])
  })
})
