import { expect, test } from 'vitest'
import type { IncidentCondition } from '../../src/core/incident/incident.ts'
import { createStateCounter, othersOf } from '../../src/notify/other-endpoints.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { condition, incident, START } from '../support/incident.ts'
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

test('an endpoint that is down from some places only is not blamed, until it is down', () => {
  const partial = condition({ code: 'partial', state: 'degraded', message: 'down from fra1 only: connection refused' })
  const of = (...conditions: IncidentCondition[]) =>
    othersOf(
      incident({ network: 'ethereum', endpoint: 'a', conditions }),
      { standing: { network: network(), heads: [], haltedShards: [], forked: false }, endpoints: [] },
      () => ({
        counts: { up: 1, degraded: 0, down: 1, maintenance: 0, unknown: 0 },
        states: new Map([
          ['a', 'down'],
          ['b', 'up'],
        ]),
      }),
    )

  expect(of(partial)).toBe('Other places reach it: the path from the places that see it down may be the cause.')
  expect(of({ ...partial, until: START + 60_000 }, condition())).toBe(
    "The other endpoint of ethereum is up: the fault is this endpoint's.",
  )
})

test('an outage that ended says which of its endpoints are still unhealthy, also in maintenance, and which were removed', async () => {
  const clock = createFakeClock()
  const { board, poll, pollAll } = createWorld(clock, [{ network: network(), endpoints: ENDPOINTS }])
  const statesOf = createStateCounter({ board, clock })
  const affected = ['a', 'c', 'gone']
  const outage = incident({ network: 'ethereum', endpoint: null, cause: 'outage', affected, closedAt: START })
  const said = (names = affected) => othersOf({ ...outage, affected: names }, board.network('ethereum'), statesOf)
  const [, b, c] = ENDPOINTS as [(typeof ENDPOINTS)[0], (typeof ENDPOINTS)[0], (typeof ENDPOINTS)[0]]
  for (let round = 0; round < 3; round++) await pollAll()

  const recovered = said()
  for (let round = 0; round < 3; round++) await poll(b, DOWN)
  for (let round = 0; round < 3; round++) await poll(c, DOWN)
  const left = said()
  const from = clock.now() - 1000
  board.putMaintenance([{ name: 'upgrade', network: 'ethereum', endpoints: ['c'], from, until: from + 60_000 }])

  const planned = said()
  await poll(c)

  const removed = 'No longer monitored: gone.'
  expect([recovered, left, planned]).toEqual([
    removed,
    `Still unhealthy: c. ${removed}`,
    `Still unhealthy: c. ${removed}`,
  ])
  // Back, but not confirmed yet: nothing would say later that it has recovered.
  expect(said()).toBe(removed)
  // The message says that all of them are no longer monitored.
  expect(said(['gone', 'gone too'])).toBe('')
})
