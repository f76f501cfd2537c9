import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createTimerQueue } from '../../src/nodes/timer-queue.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const LENGTHS = [100, 2500, 5000]
const LATEST_MS = 20

/** Counts the timers that were set. */
function setting() {
  const clock = createFakeClock()
  let timers = 0
  const alarms = createTimerQueue({
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

/** In a thread of its own: it answers at once, whatever holds up ours. */
const ECHO = `
const { createServer } = require('node:net')
const { parentPort } = require('node:worker_threads')
const server = createServer((socket) => socket.on('error', () => {}).pipe(socket))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

test('what has arrived while our event loop was held is read before an alarm rings', async () => {
  const echo = new Worker(ECHO, { eval: true })
  const port = await new Promise<number>((resolve) => echo.once('message', resolve))
  const socket = connect(port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  const alarms = createTimerQueue(systemClock)
  const happened: string[] = []

  const rung = new Promise<void>((resolve) => {
    alarms.after(100, () => {
      happened.push('alarm')
      resolve()
    })
  })
  socket.once('data', () => happened.push('answer'))
  socket.write('?')
  await new Promise((resolve) => setImmediate(resolve))
  const until = performance.now() + 600
  while (performance.now() < until);
  await rung

  expect(happened).toEqual(['answer', 'alarm'])
  alarms.close()
  socket.destroy()
  await echo.terminate()
})
