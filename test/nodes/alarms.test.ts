import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createAlarms } from '../../src/nodes/alarms.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const LENGTHS = [100, 2500, 5000]
const LATEST_MS = 20

/** Counts the timers that were set. */
function setting() {
  const clock = createFakeClock()
  let timers = 0
  const alarms = createAlarms({
    monotonic: clock.monotonic,
    after(delayMs, task) {
      timers++
      return clock.after(delayMs, task)
    },
  })
  return { clock, alarms, timers: () => timers }
}

test('an alarm rings once, when its time has come and hardly later, unless it was cancelled', async () => {
  const step = fc.record({
    waitMs: fc.nat({ max: 200 }),
    lengthMs: fc.constantFrom(...LENGTHS),
    cancelAfterMs: fc.option(fc.nat({ max: 6000 })),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { clock, alarms } = setting()
      const set: { dueAt: number; cancelledAt: number; rangAt: number[] }[] = []
      for (const { waitMs, lengthMs, cancelAfterMs } of steps) {
        await clock.advance(waitMs)
        const now = clock.monotonic()
        const one = { dueAt: now + lengthMs, cancelledAt: Number.POSITIVE_INFINITY, rangAt: [] as number[] }
        const alarm = alarms.after(lengthMs, () => one.rangAt.push(clock.monotonic()))
        if (cancelAfterMs !== null) {
          one.cancelledAt = now + cancelAfterMs
          clock.after(cancelAfterMs, () => alarm.cancel())
        }
        set.push(one)
      }
      await clock.advance(10_000)

      for (const { dueAt, cancelledAt, rangAt } of set) {
        if (cancelledAt < dueAt) expect(rangAt).toEqual([])
        else if (cancelledAt > dueAt + LATEST_MS) expect(rangAt).toHaveLength(1)
        for (const at of rangAt) {
          expect(at).toBeGreaterThanOrEqual(dueAt - 1)
          expect(at).toBeLessThanOrEqual(dueAt + LATEST_MS)
        }
      }
    }),
  )
})

test('a thousand alarms a second that are cancelled take one timer for each length of time', async () => {
  const { clock, alarms, timers } = setting()

  for (let turn = 0; turn < 1000; turn++) {
    const alarm = alarms.after(5000, () => expect.unreachable())
    await clock.advance(1)
    alarm.cancel()
  }

  expect(timers()).toBe(1)
  await clock.advance(60_000)
  expect(timers()).toBe(1)
})

test('an alarm that rings may cancel the next, and set another', async () => {
  const { clock, alarms } = setting()
  const rang: string[] = []
  alarms.after(100, () => {
    rang.push('first')
    second.cancel()
    alarms.after(100, () => rang.push('third'))
  })
  const second = alarms.after(100, () => rang.push('second'))

  await clock.advance(100)
  expect(rang).toEqual(['first'])
  await clock.advance(100)
  expect(rang).toEqual(['first', 'third'])
})

test('closing rings all that are set, and later ones at once', async () => {
  const { clock, alarms, timers } = setting()
  const rang: string[] = []
  alarms.after(100, () => rang.push('set'))
  alarms.after(100, () => rang.push('cancelled')).cancel()

  alarms.close()
  alarms.after(100, () => rang.push('late'))

  expect(rang).toEqual(['set', 'late'])
  await clock.advance(1000)
  expect(rang).toHaveLength(2)
  expect(timers()).toBe(1)
})
