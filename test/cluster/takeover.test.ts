import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import {
  clusterOf,
  everyoneHears,
  everyoneShows,
  INTERVAL_MS,
  idOf,
  incidentsOf,
  LEASE_MS,
  longestGap,
  openCluster,
  ownerOf,
  pollsOf,
  SLACK_MS,
  startMember,
  stateOf,
} from './members.ts'

const { nodes, run, server, skip } = openCluster()

test.skipIf(skip)(
  'after kill -9 of the owner another member polls within the lease and an interval, and the incident goes on',
  async () => {
    const url = await server().createDatabase()
    const members = await Promise.all([0, 1].map(() => startMember({ url, vantage: 'fra1', nodes: nodes() })))
    await everyoneShows(members, 'up')
    nodes().of('fra1', 'a').inject({ kind: 'http', status: 503 })
    await everyoneShows(members, 'down')
    for (const member of members)
      await until(async () => (await incidentsOf(member)).length === 1, 'it has an incident')
    const [before] = await incidentsOf(members[0]!)
    const owner = (await ownerOf(members, 'fra1'))!
    const other = members.find((one) => one !== owner)!

    const killedAt = performance.now()
    await owner.stop('SIGKILL')
    await until(() => (nodes().requests.get('a')?.at(-1) ?? 0) > killedAt + INTERVAL_MS, 'it is polled again')
    const gap = longestGap(nodes().requests.get('a') ?? [], killedAt)
    await until(async () => (await stateOf(other)) === 'down', 'the state is known again')
    nodes().of('fra1', 'a').heal()
    await everyoneShows([other], 'up')
    await until(async () => (await incidentsOf(other))[0]?.closed_at !== null, 'the incident is closed')

    expect(gap).toBeLessThan(LEASE_MS + 1000 + INTERVAL_MS + SLACK_MS)
    expect(await incidentsOf(other)).toMatchObject([{ id: before?.id }])
  },
)

test.skipIf(skip)('a rolling restart makes no incident and no gap of more than two intervals', async () => {
  const url = await server().createDatabase()
  const members = await Promise.all(
    [0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes: nodes(), networks: ['net', 'two'] })),
  )
  await everyoneShows(members, 'up')

  const from = performance.now()
  for (const [at, member] of members.entries()) {
    expect(await member.stop()).toBe(0)
    members[at] = await startMember({ url, vantage: 'fra1', nodes: nodes(), networks: ['net', 'two'] })
  }
  const last = performance.now()
  await until(() => (nodes().requests.get('b')?.at(-1) ?? 0) > last + INTERVAL_MS, 'polls go on')

  expect(longestGap(nodes().requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
  for (const member of members) expect(await incidentsOf(member)).toEqual([])
})

test.skipIf(skip)(
  'members that join and leave leave each network with exactly one owner, and none unpolled',
  async () => {
    const url = await server().createDatabase()
    const networks = ['net', 'two', 'three', 'four']
    const start = () => startMember({ url, vantage: 'fra1', nodes: nodes(), networks })
    const members = [await start(), await start()]
    await everyoneShows(members, 'up')
    const from = performance.now()

    for (let round = 0; round < 5; round++) {
      members.push(await start())
      expect(await members.shift()?.stop()).toBe(0)
    }

    const ids = await Promise.all(members.map(idOf))
    await until(async () => {
      const views = await Promise.all(members.map(clusterOf))
      return views.every(
        ({ leases }) =>
          leases.length === 4 && ids.every((id) => leases.filter(({ member }) => member === id).length === 2),
      )
    }, 'each has two networks')
    expect(longestGap(nodes().requests.get('a') ?? [], from)).toBeLessThan(LEASE_MS + INTERVAL_MS + SLACK_MS)
    for (const member of members) expect(await incidentsOf(member)).toEqual([])
  },
)

test.skipIf(skip)('while PostgreSQL is away polls go on, and their rows are stored when it is back', async () => {
  const url = await server().createDatabase()
  const [first, second] = await Promise.all([
    startMember({ url, vantage: 'fra1', nodes: nodes(), spool: true }),
    startMember({ url, vantage: 'nyc1', nodes: nodes(), spool: true }),
  ])
  const members = [first, second]
  await everyoneHears(members, ['fra1', 'nyc1'])

  await server().stop()
  const from = performance.now()
  for (const member of members) {
    await until(async () => !(await clusterOf(member)).store.reachable, 'they notice')
  }
  nodes().of('fra1', 'a').inject({ kind: 'refuse' })
  await until(async () => (await stateOf(first)) === 'down', 'the own view is shown')
  await everyoneShows([second], 'up')
  await until(async () => (await clusterOf(first)).store.spool_rows > 0, 'rows wait')
  await server().start()
  for (const member of members) {
    await until(async () => (await clusterOf(member)).store.reachable, 'it is back')
    await until(async () => (await clusterOf(member)).store.spool_rows === 0, 'the rows are replayed')
  }
  await everyoneShows(members, 'degraded')
  for (const member of members) await until(async () => (await incidentsOf(member)).length > 0, 'they know it')
  // Not what one place alone said meanwhile.
  for (const member of members) {
    expect(await incidentsOf(member)).toMatchObject([{ endpoint: 'a', state: 'degraded', vantages: ['fra1'] }])
  }
  const gap = longestGap(nodes().requests.get('b') ?? [], from)

  expect(gap).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
  // Every poll of both places is there, also those from the time without the database.
  const polled = await Promise.all(members.map(pollsOf))
  await until(async () => {
    const rows = await run(
      'SELECT name, count(*)::int AS polls FROM polls JOIN vantages USING (vantage_id) GROUP BY 1 ORDER BY 1',
      url,
    )
    return rows.every(({ polls }, at) => Number(polls) >= (polled[at] ?? Number.POSITIVE_INFINITY))
  }, 'all polls are stored')
})
