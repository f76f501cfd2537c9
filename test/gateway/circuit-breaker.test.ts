import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CircuitBreaker, createCircuitBreaker } from '../../src/gateway/failover/circuit-breaker.ts'
import { createRetryBudget } from '../../src/gateway/failover/retry-budget.ts'

function fail(breaker: CircuitBreaker, now: number, times: number): boolean[] {
  return Array.from({ length: times }, () => breaker.fail(now, now))
}

describe('a breaker', () => {
  test('opens at the fifth failure of the last ten, and not before', () => {
    const breaker = createCircuitBreaker()

    expect(fail(breaker, 0, 4)).toEqual([false, false, false, false])
    for (let i = 0; i < 6; i++) breaker.succeed()
    expect(breaker.allows(0)).toBe(true)
    expect(breaker.fail(0, 0)).toBe(false)
    expect(fail(breaker, 0, 4).at(-1)).toBe(true)
    expect(breaker.allows(0)).toBe(false)
  })

  test('lets one through after ten seconds, and closes when that is answered', () => {
    const breaker = createCircuitBreaker()
    fail(breaker, 0, 5)

    expect(breaker.allows(9999)).toBe(false)
    expect([breaker.allows(10_000), breaker.state(10_000)]).toEqual([true, 'half-open'])
    breaker.begin(10_000)
    expect(breaker.allows(10_001)).toBe(false)
    breaker.succeed()

    expect([breaker.allows(10_002), breaker.state(10_002)]).toEqual([true, 'closed'])
  })

  test('stays open twice as long each time, five minutes at most', () => {
    const breaker = createCircuitBreaker()
    fail(breaker, 0, 5)
    let now = 0
    const lengths: number[] = []
    for (let round = 0; round < 7; round++) {
      let length = 0
      while (!breaker.allows(now + length)) length += 1000
      lengths.push(length / 1000)
      now += length
      breaker.begin(now)
      expect(breaker.fail(now, now)).toBe(true)
    }

    expect(lengths).toEqual([10, 20, 40, 80, 160, 300, 300])
  })

  test('forgets the doubling only after lasting health', () => {
    const breaker = createCircuitBreaker()
    fail(breaker, 0, 5)
    breaker.close()
    fail(breaker, 0, 5)
    expect(breaker.allows(19_999)).toBe(false)

    breaker.close()
    for (let i = 0; i < 20; i++) breaker.succeed()
    fail(breaker, 0, 5)

    expect(breaker.allows(10_000)).toBe(true)
  })

  test('a trial whose caller left makes room for another', () => {
    const breaker = createCircuitBreaker()
    fail(breaker, 0, 5)
    breaker.begin(10_000)
    breaker.ignore(10_000)

    expect(breaker.allows(10_001)).toBe(true)
  })

  test('a trial is neither decided nor ended by requests that fail beside it', () => {
    const breaker = createCircuitBreaker()
    fail(breaker, 0, 5)
    breaker.begin(10_000)
    breaker.begin(10_001)

    breaker.ignore(9000)
    breaker.ignore(10_001)
    expect([breaker.fail(10_002, 9000), breaker.fail(10_003, 10_001)]).toEqual([false, false])
    expect([breaker.allows(10_004), breaker.state(10_004)]).toEqual([false, 'half-open'])

    expect(breaker.fail(10_005, 10_000)).toBe(true)
    expect(breaker.state(10_005)).toBe('open')
  })

  test('is never open with fewer than five failures since it was closed, and never longer than five minutes', () => {
    const steps = fc.array(fc.constantFrom('ok', 'fail', 'begin', 'forget', 'wait', 'close'), { maxLength: 200 })
    fc.assert(
      fc.property(steps, (taken) => {
        const breaker = createCircuitBreaker()
        let now = 0
        let failures = 0
        for (const step of taken) {
          const was = breaker.state(now)
          if (step === 'ok') breaker.succeed()
          if (step === 'fail') {
            failures++
            breaker.fail(now, now)
          }
          if (step === 'begin' && breaker.allows(now)) breaker.begin(now)
          if (step === 'forget') breaker.ignore(now)
          if (step === 'wait') now += 7000
          if (step === 'close') breaker.close()
          if (was === 'closed' && breaker.state(now) === 'open') expect(failures).toBeGreaterThanOrEqual(5)
          if (breaker.state(now) === 'closed' && was !== 'closed') failures = 0
        }
        expect(breaker.allows(now + 315_000)).toBe(true)
      }),
    )
  })
})

describe('a budget for second attempts', () => {
  test('allows the floor however few requests there are, and their share when there are many', () => {
    const budget = createRetryBudget({ share: 0.2, floor: 5 })
    const spent = () => {
      let count = 0
      while (budget.spend(500)) count++
      return count
    }

    budget.earn(500)
    expect(spent()).toBe(5)
    for (let i = 0; i < 99; i++) budget.earn(500)

    expect(spent()).toBe(15)
  })

  test('is new after ten seconds', () => {
    const budget = createRetryBudget({ share: 0.2, floor: 1 })
    budget.earn(0)
    expect([budget.spend(0), budget.spend(0), budget.spend(8999)]).toEqual([true, false, false])

    expect(budget.spend(10_000)).toBe(true)
  })

  test('is never exceeded in any ten seconds, whatever comes when', () => {
    const events = fc.array(fc.record({ after: fc.nat(3000), kind: fc.constantFrom('earn', 'spend') }), {
      maxLength: 300,
    })
    fc.assert(
      fc.property(events, (given) => {
        const budget = createRetryBudget({ share: 0.2, floor: 3 })
        let now = 0
        const spent: number[] = []
        const earned: number[] = []
        for (const { after, kind } of given) {
          now += after
          if (kind === 'earn') {
            budget.earn(now)
            earned.push(now)
          } else if (budget.spend(now)) spent.push(now)
          const since = now - 9000
          const recent = spent.filter((at) => at > since).length
          const requests = earned.filter((at) => at > now - 10_000).length
          expect(recent).toBeLessThanOrEqual(Math.max(3, 0.2 * requests) + 1e-9)
        }
      }),
    )
  })
})
