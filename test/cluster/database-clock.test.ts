import { expect, test } from 'vitest'
import { createDatabaseClock } from '../../src/cluster/database-clock.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const HOUR_MS = 3_600_000

function synchronized(offsetMs: number) {
  const local = createFakeClock()
  const clock = createDatabaseClock(local)
  const answer = (byMs: number, tookMs = 20) => {
    const sentAt = local.monotonic() - tookMs
    clock.synchronize(local.now() - tookMs / 2 + byMs, sentAt, local.monotonic())
  }
  answer(offsetMs)
  return { local, clock, answer }
}

test('before the first answer it is the local clock', () => {
  const local = createFakeClock()

  expect(createDatabaseClock(local).now()).toBe(local.now())
})

test('it is as far from the local clock as the database', async () => {
  const { local, clock } = synchronized(HOUR_MS)

  expect(clock.now() - local.now()).toBe(HOUR_MS)
  await local.advance(90_000)
  expect(clock.now() - local.now()).toBe(HOUR_MS)
})

test('a step of the local wall clock changes nothing', () => {
  const { local, clock } = synchronized(HOUR_MS)
  const before = clock.now()

  local.stepWall(-2 * HOUR_MS)

  expect(clock.now()).toBe(before)
})

test('small differences between answers do not move it, and half a second does', () => {
  const { local, clock, answer } = synchronized(HOUR_MS)

  answer(HOUR_MS + 400)
  expect(clock.now() - local.now()).toBe(HOUR_MS)
  answer(HOUR_MS + 600)
  expect(clock.now() - local.now()).toBe(HOUR_MS + 600)
})

test('an answer that took long does not move it by less than half of that', () => {
  const { local, clock, answer } = synchronized(HOUR_MS)

  answer(HOUR_MS + 1400, 2000)
  expect(clock.now() - local.now()).toBe(HOUR_MS)
  answer(HOUR_MS + 1600, 2000)
  expect(clock.now() - local.now()).toBe(HOUR_MS + 1600)
})
