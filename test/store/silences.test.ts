import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Silence } from '../../src/core/incident/silence.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { BASE, benchOn, DAY_MS, finish, opened, temporaryDirectory } from './setting.ts'

function silenceOf(id: string, wanted: Partial<Silence> = {}): Silence {
  return { id, network: 'ethereum', endpoint: 'own-1', reason: 'upgrade', from: BASE, until: BASE + 1000, ...wanted }
}

describe('silences', () => {
  for (const where of ['on disk', 'in memory']) {
    test(`${where} are returned as they were saved last, by time and network`, async () => {
      const path = where === 'in memory' ? ':memory:' : join(temporaryDirectory(), 'store.db')
      const { store } = await opened({ path, clock: createFakeClock({ now: BASE }) })
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

  test('are kept as long as hours are', () => {
    const bench = benchOn(':memory:', { rawMs: DAY_MS, fiveMinutesMs: DAY_MS, hourMs: 2 * DAY_MS })
    const silences = [silenceOf('old'), silenceOf('new', { until: BASE + 2 * DAY_MS })]
    const events = silences.map((silence) => ({ after: 0, event: { kind: 'save-silence', silence } as const }))
    bench.writing.write({ polls: new Float64Array(), events })

    finish(bench.retainer.pass(BASE + 3 * DAY_MS))

    expect(bench.reading.silences({ from: 0, to: BASE + DAY_MS }).map(({ id }) => id)).toEqual(['new'])
  })
})
