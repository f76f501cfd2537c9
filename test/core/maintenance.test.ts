import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { concerns, type MaintenancePeriod, periodAt } from '../../src/core/maintenance.ts'

function period(from: number, until: number, over: Partial<MaintenancePeriod> = {}): MaintenancePeriod {
  return { name: `${from} to ${until}`, network: 'ethereum', endpoints: null, from, until, ...over }
}

describe('a period concerns', () => {
  test('all endpoints of its network if it names none, and no others', () => {
    expect(concerns(period(0, 1), { network: 'ethereum', name: 'own-1' })).toBe(true)
    expect(concerns(period(0, 1), { network: 'avalanche', name: 'own-1' })).toBe(false)
  })

  test('only the endpoints that it names', () => {
    const named = period(0, 1, { endpoints: ['own-1'] })

    expect(concerns(named, { network: 'ethereum', name: 'own-1' })).toBe(true)
    expect(concerns(named, { network: 'ethereum', name: 'own-10' })).toBe(false)
    expect(concerns(named, { network: 'avalanche', name: 'own-1' })).toBe(false)
  })
})

describe('the period that holds', () => {
  test('begins with its first millisecond and ends before its last', () => {
    const one = period(100, 200)

    expect([99, 100, 199, 200].map((now) => periodAt([one], now))).toEqual([null, one, one, null])
  })

  test('is the one that ends last if several hold', () => {
    const [short, long] = [period(100, 200), period(50, 300)]

    expect(periodAt([long, short], 150)).toBe(long)
    expect(periodAt([short, long], 150)).toBe(long)
    expect(periodAt([short, long], 250)).toBe(long)
  })

  test('is none where nothing is planned, or the period is empty', () => {
    expect(periodAt([], 0)).toBeNull()
    expect(periodAt([period(100, 100)], 100)).toBeNull()
  })

  test('exists exactly while one of the periods holds, and is the longest', () => {
    const some = fc.array(
      fc.tuple(fc.nat(50), fc.nat(50)).map(([from, length]) => period(from, from + length)),
      { maxLength: 6 },
    )
    fc.assert(
      fc.property(some, fc.nat(110), (periods, now) => {
        const running = periods.filter(({ from, until }) => from <= now && now < until)
        const found = periodAt(periods, now)

        expect(found === null).toBe(running.length === 0)
        if (found !== null) expect(found.until).toBe(Math.max(...running.map(({ until }) => until)))
      }),
      { seed: 20_261_121 },
    )
  })
})
