import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { LoopTurns, pacedTimers, turnsOfSlices } from '../../src/gateway/loop-turns.ts'
import { frame, frameBatch, respond } from '../../src/gateway/request/respond.ts'
import { serveHttp } from '../support/http-server.ts'

/** Begins calls in this order, and notes each when it may run. */
function begin(turns: LoopTurns, callers: readonly string[], ran: string[]): void {
  for (const caller of callers) {
    const turn = turns.next(caller)
    if (turn === null) ran.push(caller)
    else void turn.then(() => ran.push(caller))
  }
}

test('eight calls of a caller begin in one iteration of the event loop, the others in the next ones', async () => {
  const turns = new LoopTurns()
  const ran: string[] = []

  begin(turns, Array<string>(20).fill('hog'), ran)
  const counts = [ran.length]
  for (let iteration = 0; iteration < 3; iteration++) {
    await setImmediate()
    counts.push(ran.length)
  }

  expect(counts).toEqual([8, 16, 20, 20])
})

test('of slices of large answers, a caller may take two', async () => {
  const turns = turnsOfSlices()
  const ran: string[] = []

  begin(turns, [...Array<string>(5).fill('hog'), 'wallet'], ran)
  const first = [...ran]
  await setImmediate()

  expect(first).toEqual(['hog', 'hog', 'wallet'])
  expect(ran).toHaveLength(5)
})

test('a caller waits for none of the calls of another one, however many came before', async () => {
  const turns = new LoopTurns()
  const ran: string[] = []
  begin(turns, Array<string>(1000).fill('hog'), ran)

  begin(turns, Array<string>(12).fill('wallet'), ran)
  const counts = [ran.filter((caller) => caller === 'wallet').length]
  await setImmediate()
  counts.push(ran.filter((caller) => caller === 'wallet').length)

  expect(counts).toEqual([8, 12])
  expect(ran).toHaveLength(12 + 16)
})

test('of many callers 32 calls begin in one iteration, one caller after the other', async () => {
  const turns = new LoopTurns()
  const ran: string[] = []
  const hogs = Array.from({ length: 8 }, (_, nth) => Array<string>(100).fill(`hog ${nth}`)).flat()
  begin(turns, hogs, ran)
  begin(turns, ['wallet'], ran)

  const counts = [ran.length]
  await setImmediate()
  counts.push(ran.length)

  expect(counts).toEqual([32, 64])
  expect(ran).toContain('wallet')
})

test('calls that do not exceed the limit begin at once, in each iteration', async () => {
  const turns = new LoopTurns()

  for (let iteration = 0; iteration < 3; iteration++) {
    for (let nth = 0; nth < 8; nth++) expect(turns.next('wallet')).toBeNull()
    await setImmediate()
    await setImmediate()
  }
})

test('a batch of many answers is written in a turn for each 256 KiB, however many there are', async () => {
  const answers = Array.from({ length: 1000 }, (_, id) =>
    frame(String(id), 'result', Buffer.from(`"${'f'.repeat(500)}"`)),
  )
  let turns = 0
  const nextTurn = async () => {
    turns++
    await setImmediate()
  }
  const headers = { requestId: '1', provenance: null, origin: null }
  const { url } = await serveHttp((_, res) => void respond(res, 200, frameBatch(answers), headers, { nextTurn }))

  const received = await fetch(url)

  expect(await received.json()).toHaveLength(answers.length)
  expect(turns).toBe(3)
})

test('where too many wait already, a call begins at once', async () => {
  const turns = new LoopTurns()
  const ran: string[] = []
  begin(turns, Array<string>(8 + 3).fill('hog'), ran)

  expect(turns.next('hog', 3)).toBeNull()
  expect(turns.next('hog', 4)).not.toBeNull()

  await setImmediate()
  expect(ran).toHaveLength(11)
})

test('of timers that are due at once, 32 run in one iteration of the event loop', async () => {
  const due: (() => void)[] = []
  const timer = { cancel() {} }
  const clock = pacedTimers({ ...systemClock, after: (_ms, task) => (due.push(task), timer) })
  let ran = 0
  for (let one = 0; one < 100; one++) clock.after(1000, () => ran++)

  for (const task of due) task()
  const counts = [ran]
  for (let iteration = 0; iteration < 3; iteration++) {
    await setImmediate()
    counts.push(ran)
  }

  expect(counts).toEqual([32, 64, 96, 100])
})
