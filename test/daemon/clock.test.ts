import { expect, test } from 'vitest'
import { guardedClock, repeat } from '../../src/clock.ts'
import { createFakeClock } from '../support/fake-clock.ts'

function throwing(): never {
  throw new Error('EMFILE: too many open files, uv_resident_set_memory')
}

test('an error in a timer is passed on, and does not reach the caller of the clock', async () => {
  const fake = createFakeClock()
  const errors: unknown[] = []
  const clock = guardedClock(fake, (error) => errors.push(error))

  clock.after(10, throwing)
  clock.after(20, throwing).cancel()
  await fake.advance(100)

  expect(errors).toHaveLength(1)
  expect(clock.now()).toBe(fake.now())
})

test('what is repeated goes on after an error, until it is cancelled', async () => {
  const fake = createFakeClock()
  let runs = 0
  const timer = repeat(
    guardedClock(fake, () => {}),
    1000,
    () => {
      runs++
      if (runs === 2) throwing()
    },
  )

  await fake.advance(4500)
  timer.cancel()
  await fake.advance(4500)

  expect(runs).toBe(4)
})
