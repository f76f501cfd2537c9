import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Incident } from '../../src/core/incident/incident.ts'
import { setUp } from '../http/setting.ts'
import { playFleetOutage } from '../support/fleet-outage.ts'
import { bad, endpoint, network } from '../support/network.ts'

const endpoints = Array.from({ length: 5000 }, (_, at) => endpoint(`e${at}`))
const { server, world, incidents, clock } = setUp({ networks: [{ network: network(), endpoints }] })
let healthy = ''

beforeAll(async () => {
  await world.pollAll()
  healthy = await read('/')
  for (let round = 0; round < 2; round++) {
    await clock.advance(10_000)
    await world.pollAll({ heads: [{ shard: null, outcome: bad({ kind: 'http', status: 503 }) }] })
  }
})
afterAll(() => server.close())

/** Long enough that a write for each second of the outage would be too many. */
const ROUNDS = [
  ['healthy', 2],
  ['failing', 2],
  ['down', 4],
  ['recovering', 2],
] as const

/** Endpoints that fail within one round of polls: what a page, a feed, a channel and the store get of it. */
test.each([
  ['5,000 endpoints of one host', { endpoints: 5000, hosts: 1, provider: null }],
  ['2,000 endpoints of one provider, on 500 hosts', { endpoints: 2000, hosts: 500, provider: 'acme' }],
])('%s are one incident, and two messages', async (_of, shape) => {
  const { listed, absorbed, saves, savedBytes, messages, errors } = await playFleetOutage(shape, ROUNDS)

  expect(listed).toMatchObject([{ cause: 'outage', provider: shape.provider, closedAt: expect.any(Number) }])
  expect(listed[0]?.affected).toHaveLength(shape.endpoints)
  expect(absorbed).toBeLessThanOrEqual(10)
  expect(messages.map(({ type, reports }) => [type, reports.length])).toEqual([
    ['incident.opened', 1],
    ['incident.closed', 1],
  ])
  expect(errors).toBe(0)
  // About one write a second while endpoints join, although each names all of them.
  expect(saves).toBeLessThan(60)
  expect(savedBytes).toBeLessThan(800 * shape.endpoints)
  const pages = await readDuring(listed)
  expect(timesIn(pages.feed, '<entry>')).toBe(1)
  expect(pages.feed.length).toBeLessThan(2000)
  expect(pages.list.length).toBeLessThan(10_000)
  expect(timesIn(pages.incident, 'href="/endpoints/ethereum/')).toBe(100)
  expect(pages.incident).toContain(`and ${shape.endpoints - 100} more`)
  expect(pages.incident.length).toBeLessThan(60_000)
  expect(pages.overview.length).toBeLessThan(1.25 * pages.healthy.length)
})

test('2,000 endpoints on 500 hosts without a provider are one incident for each host, opened in few messages', async () => {
  const { listed, messages, errors } = await playFleetOutage({ endpoints: 2000, hosts: 500, provider: null }, ROUNDS)

  expect(listed).toHaveLength(500)
  expect(listed.every(({ cause, affected }) => cause === 'outage' && affected.length === 4)).toBe(true)
  // Each groups at most 250.
  expect(messages.filter(({ type }) => type === 'incident.opened').length).toBeLessThanOrEqual(5)
  expect(errors).toBe(0)
  const pages = await readDuring(listed)
  expect(timesIn(pages.feed, '<entry>')).toBe(50)
  expect(pages.feed.length).toBeLessThan(40_000)
  expect(pages.list.length).toBeLessThan(70_000)
  expect(pages.overview.length).toBeLessThan(1.25 * pages.healthy.length)
})

/** Feed and pages, in characters before compression, while these incidents are open and all endpoints are down. */
async function readDuring(listed: readonly Incident[]) {
  incidents.forget('ethereum')
  for (const one of listed) incidents.put({ ...one, closedAt: null })
  // The overview is drawn at most once a second.
  await clock.advance(2000)
  return {
    healthy,
    overview: await read('/'),
    list: await read('/incidents'),
    incident: await read(`/incidents/${encodeURIComponent(listed[0]?.id ?? '')}`),
    feed: await read('/feed.xml'),
  }
}

async function read(path: string): Promise<string> {
  const { statusCode, body } = await server.inject(path)
  expect([path, statusCode]).toEqual([path, 200])
  return body
}

function timesIn(text: string, part: string): number {
  return text.split(part).length - 1
}
