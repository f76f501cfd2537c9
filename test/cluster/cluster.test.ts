import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { requirePackage } from '../support/system-package.ts'
import {
  everyoneHears,
  everyoneShows,
  incidentsOf,
  NAMES,
  openCluster,
  placesOf,
  pollsOf,
  startMember,
  stateOf,
  VANTAGES,
} from './members.ts'

const { claimsOf, nodes, run, server, skip } = openCluster()

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'

test.skipIf(skip)(
  'an endpoint unreachable from one of three places is partly down, and from two it is down: one incident names them',
  async () => {
    const url = await server().createDatabase()
    const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes: nodes() })))
    await everyoneHears(members, VANTAGES)

    nodes().of('fra1', 'a').inject({ kind: 'refuse' })
    await everyoneShows(members, 'degraded')
    await until(async () => (await incidentsOf(members[1]!)).length === 1, 'the incident is opened')
    const [partial] = await incidentsOf(members[1]!)
    nodes().of('nyc1', 'a').inject({ kind: 'refuse' })
    await everyoneShows(members, 'down')
    await until(async () => (await incidentsOf(members[2]!))[0]?.state === 'down', 'the incident got worse')
    const during = await incidentsOf(members[2]!)
    nodes().of('fra1', 'a').heal()
    nodes().of('nyc1', 'a').heal()
    await everyoneShows(members, 'up')
    for (const member of members) {
      await until(async () => (await incidentsOf(member)).every(({ closed_at: at }) => at !== null), 'it is closed')
    }

    expect(partial).toMatchObject({ endpoint: 'a', state: 'degraded', vantages: ['fra1'] })
    expect(partial?.conditions[0]).toMatchObject({ code: 'partial' })
    expect(partial?.conditions[0]?.message).toMatch(/^down from fra1 only: .*; up from nyc1, sin1$/)
    expect(during).toMatchObject([{ id: partial?.id, state: 'down', vantages: ['fra1', 'nyc1'] }])
    for (const member of members) expect(await incidentsOf(member)).toMatchObject([{ id: partial?.id }])
  },
)

test.skipIf(skip)('the first member of a place is ready after it has polled every endpoint, not before', async () => {
  const url = await server().createDatabase()
  await startMember({ url, vantage: 'nyc1', nodes: nodes() })
  for (const name of NAMES) nodes().of('fra1', name).inject({ kind: 'slow', delayMs: 500 })

  const ready = await startMember({ url, vantage: 'fra1', nodes: nodes() })

  expect(await pollsOf(ready)).toBeGreaterThanOrEqual(NAMES.length)
})

test.skipIf(skip)('a place that is the first to vote decides nothing: what it alone sees is never down', async () => {
  const url = await server().createDatabase()
  nodes().of('nyc1', 'a').inject({ kind: 'refuse' })

  // A place waits for others for a lease, or for two intervals and two seconds. On a busy machine they start seconds apart.
  const waits = { intervalMs: 4000, leaseMs: 15_000 }
  const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes: nodes(), ...waits })))
  await everyoneShows(members, 'degraded')
  for (const member of members) {
    await until(async () => (await incidentsOf(member)).length === 1, 'the incident is opened')
    const [only] = await incidentsOf(member)
    expect(only).toMatchObject({ endpoint: 'a', state: 'degraded', vantages: ['nyc1'] })
    expect(only?.conditions.map(({ code }) => code)).toEqual(['partial'])
  }
})

test.skipIf(skip)(
  'a place that is cut off from all nodes does not count: no endpoint is down, and no incident is opened',
  async () => {
    const url = await server().createDatabase()
    const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes: nodes() })))
    await everyoneHears(members, VANTAGES)

    for (const name of NAMES) nodes().of('fra1', name).inject({ kind: 'hang' })
    const [first] = members
    await until(async () => (await first?.status())?.observer.impaired === true, 'it notices')
    const seen = new Set<string>()
    await until(async () => {
      for (const member of members) for (const name of NAMES) seen.add(await stateOf(member, name))
      const places = await Promise.all(members.map((member) => placesOf(member)))
      return places.every((of) => of.get('fra1') === false && of.get('nyc1') === true)
    }, 'it does not count')
    for (let round = 0; round < 20; round++)
      for (const member of members) for (const name of NAMES) seen.add(await stateOf(member, name))

    expect([...seen]).toEqual(['up'])
    for (const member of members) expect(await incidentsOf(member)).toEqual([])
  },
)

test.skipIf(skip || !requirePackage('faketime', 'faketime'))(
  'members whose clocks are an hour off show, store and vote as if they were not',
  async () => {
    const url = await server().createDatabase()
    const off = (seconds: string) => ({ LD_PRELOAD: FAKETIME, FAKETIME: seconds, FAKETIME_DONT_FAKE_MONOTONIC: '1' })
    const members = await Promise.all([
      startMember({ url, vantage: 'fra1', nodes: nodes(), env: off('+3600') }),
      startMember({ url, vantage: 'nyc1', nodes: nodes(), env: off('-3600') }),
      startMember({ url, vantage: 'sin1', nodes: nodes() }),
    ])
    await everyoneHears(members, VANTAGES)

    nodes().of('fra1', 'a').inject({ kind: 'http', status: 503 })
    nodes().of('nyc1', 'a').inject({ kind: 'http', status: 503 })
    await everyoneShows(members, 'down')
    nodes().of('fra1', 'a').heal()
    nodes().of('nyc1', 'a').heal()
    await everyoneShows(members, 'up')

    const ages = await run(
      `SELECT vantage_id, min(abs(extract(epoch FROM clock_timestamp()) * 1000 - at_ms))::float8 AS age FROM polls
       GROUP BY vantage_id`,
      url,
    )
    for (const { age } of ages) expect(Number(age)).toBeLessThan(60_000)
    for (const member of members) {
      await until(async () => (await incidentsOf(member))[0]?.closed_at != null, 'one incident, closed')
      expect(await incidentsOf(member)).toHaveLength(1)
    }
    expect((await claimsOf(url)).every(({ token }) => token === 1)).toBe(true)
  },
)
