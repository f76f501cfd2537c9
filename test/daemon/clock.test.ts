import { expect, test } from 'vitest'
import { type Clock, guardedClock, repeat, systemClock } from '../../src/clock.ts'
import { removeFolder, startDaemonHere, until } from '../support/daemon.ts'
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

test('a timer of the daemon that fails is logged and counted, and the daemon goes on', async () => {
  let isInTimer = false
  let failures = 0
  const clock: Clock = {
    ...systemClock,
    now: () => (isInTimer && failures++ === 0 ? throwing() : systemClock.now()),
    after: (ms, task) =>
      systemClock.after(ms, () => {
        isInTimer = true
        try {
          task()
        } finally {
          isInTimer = false
        }
      }),
  }
  const endpoints = [{ name: 'a', url: 'http://127.0.0.1:1' }]
  const daemon = await startDaemonHere(
    { networks: [{ name: 'ethereum', family: 'ethereum', poll: { interval: '1h' }, endpoints }] },
    { clock },
  )

  try {
    await until(() => daemon.log().includes('error in a timer: Heartline goes on'), 'the error is logged')

    const { text } = await daemon.get('/metrics')
    expect(text).toContain('heartline_uncaught_errors_total{source="timer"} 1\n')
    expect((await daemon.status()).networks).toHaveLength(1)
  } finally {
    await daemon.stop()
    removeFolder(daemon.folder)
  }
})
