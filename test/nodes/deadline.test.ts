import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Deadline } from '../../src/nodes/deadline.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const NEVER = new AbortController().signal

test('a deadline ends what watches it once, when its time has come', async () => {
  const clock = createFakeClock()
  const deadline = new Deadline(clock, 5000, NEVER)
  const ended: string[] = []
  const unwatched = (): void => void ended.push('unwatched')
  deadline.watch(() => ended.push('first'))
  deadline.watch(unwatched)
  deadline.watch(() => ended.push('second'))
  deadline.unwatch(unwatched)

  await clock.advance(4999)
  expect([ended, deadline.passed]).toEqual([[], false])
  await clock.advance(60_000)

  expect([ended.toSorted(), deadline.passed]).toEqual([['first', 'second'], true])
})

test('a deadline passes at once when its signal aborts, or had aborted before', () => {
  const signal = new AbortController()
  const deadline = new Deadline(createFakeClock(), 5000, signal.signal)
  let ended = 0
  deadline.watch(() => ended++)

  signal.abort()

  expect([ended, deadline.passed]).toEqual([1, true])
  expect(new Deadline(createFakeClock(), 5000, signal.signal).passed).toBe(true)
})

test('a deadline that has ended does not pass any more, and its signal forgets it', async () => {
  const clock = createFakeClock()
  const listeners = new Set<() => void>()
  const signal = {
    aborted: false,
    addEventListener: (_type: 'abort', task: () => void) => void listeners.add(task),
    removeEventListener: (_type: 'abort', task: () => void) => void listeners.delete(task),
  }
  const deadline = new Deadline(clock, 5000, signal)
  expect(listeners.size).toBe(1)

  deadline.end()
  await clock.advance(60_000)

  expect([listeners.size, deadline.passed]).toEqual([0, false])
})

test('a deadline that has ended still ends what watches it in time', async () => {
  const clock = createFakeClock()
  const deadline = new Deadline(clock, 5000, NEVER)
  let ended = 0
  deadline.watch(() => ended++)

  deadline.end()
  await clock.advance(5000)

  expect(ended).toBe(1)
})

/** In a thread of its own: it answers at once while our thread is blocked. */
const ECHO = `
const { createServer } = require('node:net')
const { parentPort } = require('node:worker_threads')
const server = createServer((socket) => socket.on('error', () => {}).pipe(socket))
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port))
`

test('a response that arrived while our event loop was blocked is read before the deadline passes', async () => {
  const echo = new Worker(ECHO, { eval: true })
  const port = await new Promise<number>((resolve) => echo.once('message', resolve))
  const socket = connect(port, '127.0.0.1')
  await new Promise((resolve) => socket.once('connect', resolve))
  const happened: string[] = []
  const deadline = new Deadline(systemClock, 100, NEVER)

  const passed = new Promise<void>((resolve) => {
    deadline.watch(() => {
      happened.push('deadline')
      resolve()
    })
  })
  socket.once('data', () => happened.push('response'))
  socket.write('?')
  await new Promise((resolve) => setImmediate(resolve))
  const until = performance.now() + 600
  while (performance.now() < until);
  await passed

  expect(happened).toEqual(['response', 'deadline'])
  socket.destroy()
  await echo.terminate()
})
