import { expect, test } from 'vitest'
import { createStateCounter, othersOf } from '../../src/notify/others.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { incident } from '../support/incident.ts'
import { bad, endpoint, network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'

const ENDPOINTS = ['a', 'b', 'c'].map((name) => endpoint(name))
const DOWN = { heads: [{ shard: null, outcome: bad({ kind: 'http', status: 500 }) }] }

test('what the others see is counted from the latest polls, and again when time alone changes it', async () => {
  const clock = createFakeClock()
  const { board, poll, pollAll } = createWorld(clock, [{ network: network(), endpoints: ENDPOINTS }])
  const statesOf = createStateCounter({ board, clock })
  const said = () => {
    const about = incident({ network: 'ethereum', endpoint: 'a' })
    return othersOf(about, board.network('ethereum'), statesOf)
  }
  const [a, b] = ENDPOINTS as [(typeof ENDPOINTS)[0], (typeof ENDPOINTS)[0]]
  for (let round = 0; round < 3; round++) await pollAll()

  const before = said()
  for (let round = 0; round < 3; round++) await poll(a, DOWN)
  const alone = said()
  for (let round = 0; round < 3; round++) await poll(b, DOWN)
  const two = said()
  await clock.advance(60_000)
  const later = said()

  expect([before, alone]).toEqual(
    Array(2).fill("All 2 other endpoints of ethereum are up: the fault is this endpoint's."),
  )
  expect([two, later]).toEqual([
    'The other endpoints of ethereum: 1 up, 1 down.',
    'The other endpoints of ethereum: 2 unknown.',
  ])
})
