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
      { standing: { network: network(), heads: [], haltedShards: [], forked: false } },
      () => ({
        counts: { up: 1, degraded: 0, down: 1, maintenance: 0, unknown: 0 },
        states: new Map([
          ['a', 'down'],
          ['b', 'up'],
        ]),
      }),
    )

  expect(of(partial)).toBe('Other places reach it: the path from the places that do not may be the cause.')
  expect(of({ ...partial, until: START + 60_000 }, condition())).toBe(
    "The other endpoint of ethereum is up: the fault is this endpoint's.",
  )
})

test('an outage that ended says which of its endpoints are still unhealthy', () => {
  const ended = (c: 'up' | 'degraded' | 'down' | 'maintenance') =>
    othersOf(
      incident({
        network: 'ethereum',
        endpoint: null,
        cause: 'outage',
        affected: ['a', 'b', 'c', 'gone'],
        closedAt: START,
      }),
      { standing: { network: network(), heads: [], haltedShards: [], forked: false } },
      () => ({
        counts: { up: 3, degraded: 1, down: 0, maintenance: 0, unknown: 0, [c]: 1 },
        states: new Map([
          ['a', 'up'],
          ['b', 'up'],
          ['c', c],
          ['d', 'degraded'],
        ]),
      }),
    )

  expect(ended('down')).toBe('Still unhealthy: c.')
  expect(ended('degraded')).toBe('Still unhealthy: c.')
  expect([ended('up'), ended('maintenance')]).toEqual(['', ''])
})
