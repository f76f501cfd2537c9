import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { LoopTurns } from '../../src/gateway/request/loop-turns.ts'
import { createFakeClock } from '../support/fake-clock.ts'

/** Begins calls in this order, and notes each when it may run. */
function begin(turns: LoopTurns, callers: readonly string[], ran: string[]): void {
  for (const caller of callers) {
    const turn = turns.next(caller)
    if (turn === null) ran.push(caller)
    else void turn.then(() => ran.push(caller))
  }
}

test('eight calls begin in one iteration of the event loop, the others in the next ones', async () => {
  const turns = new LoopTurns(createFakeClock())
  const ran: string[] = []

  begin(turns, Array<string>(20).fill('hog'), ran)
  const counts = [ran.length]
  for (let iteration = 0; iteration < 3; iteration++) {
    await setImmediate()
    counts.push(ran.length)
  }

  expect(counts).toEqual([8, 16, 20, 20])
})

test('a caller with one call waits for one iteration, however many calls of another caller came before', async () => {
  const turns = new LoopTurns(createFakeClock())
  const ran: string[] = []
  begin(turns, Array<string>(1000).fill('hog'), ran)

  begin(turns, ['wallet'], ran)
  await setImmediate()

  expect(ran).toHaveLength(16)
  expect(ran).toContain('wallet')
})

test('calls that do not exceed the limit begin at once, in each iteration', async () => {
  const turns = new LoopTurns(createFakeClock())

  for (let iteration = 0; iteration < 3; iteration++) {
    for (let nth = 0; nth < 8; nth++) expect(turns.next('wallet')).toBeNull()
    await setImmediate()
    await setImmediate()
  }
})

test('where too many wait already, a call begins at once', async () => {
  const turns = new LoopTurns(createFakeClock())
  const ran: string[] = []
  begin(turns, Array<string>(8 + 3).fill('hog'), ran)

  expect(turns.next('hog', 3)).toBeNull()
  expect(turns.next('hog', 4)).not.toBeNull()

  await setImmediate()
  expect(ran).toHaveLength(11)
})

test.each([
  ['more calls begin after a long iteration', 12, 24],
  ['but not without limit', 500, 64],
])('%s', async (_what, tookMs, most) => {
  const clock = createFakeClock()
  const turns = new LoopTurns(clock)
  const ran: string[] = []
  begin(turns, Array<string>(8 + 500).fill('hog'), ran)
  begin(turns, Array<string>(8).fill('wallet'), ran)

  await clock.advance(tookMs)
  await setImmediate()
  const wallet = ran.filter((caller) => caller === 'wallet')
  const first = ran.length
  await setImmediate()

  expect(first).toBe(8 + most)
  expect(wallet).toHaveLength(8)
  expect(ran).toHaveLength(first + 8)
})
