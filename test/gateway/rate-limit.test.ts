import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRateLimiter } from '../../src/gateway/request/callers.ts'
import { createFakeClock } from '../support/fake-clock.ts'

test('as many at once as the limit says, then one for each share of the time', async () => {
  const clock = createFakeClock()
  const limiter = createRateLimiter({ clock, limit: { requests: 10, perMs: 1000 } })

  for (let taken = 0; taken < 10; taken++) expect(limiter.take(1)).toBe(0)
  expect(limiter.take(1)).toBe(100)
  await clock.advance(100)
  expect(limiter.take(1)).toBe(0)
  expect(limiter.take(1)).toBe(100)
})

test('a batch is taken whole or not at all, and told how long to wait', async () => {
  const clock = createFakeClock()
  const limiter = createRateLimiter({ clock, limit: { requests: 10, perMs: 1000 } })

  expect(limiter.take(8)).toBe(0)
  expect(limiter.take(8)).toBe(600)
  expect(limiter.take(2)).toBe(0)
  await clock.advance(800)
  expect(limiter.take(8)).toBe(0)
})

test('what is given back can be taken again, and never more than the limit', () => {
  const limiter = createRateLimiter({ clock: createFakeClock(), limit: { requests: 2, perMs: 1000 } })

  limiter.take(1)
  limiter.giveBack(5)

  expect(limiter.take(2)).toBe(0)
  expect(limiter.take(1)).toBeGreaterThan(0)
})

test('in no span of time are more than the limit and its refill taken, and who waits as long as was said may go ahead', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 1000 }),
      fc.integer({ min: 1, max: 10_000 }),
      fc.array(fc.tuple(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 0, max: 300 })), { maxLength: 100 }),
      (requests, perMs, steps) => {
        const clock = createFakeClock()
        const limiter = createRateLimiter({ clock, limit: { requests, perMs } })
        let taken = 0
        let elapsed = 0
        for (const [count, passing] of steps) {
          const wait = limiter.take(count)
          if (wait === 0) taken += count
          else if (count <= requests) {
            clock.blockLoop(wait)
            elapsed += wait
            expect(limiter.take(count)).toBe(0)
            taken += count
          }
          expect(taken).toBeLessThanOrEqual(requests + (elapsed * requests) / perMs + 1e-6)
          clock.blockLoop(passing)
          elapsed += passing
        }
      },
    ),
  )
})
