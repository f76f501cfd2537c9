import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import {
  clusterOf,
  everyoneHears,
  everyoneShows,
  INTERVAL_MS,
  incidentsOf,
  LEASE_MS,
  longestGap,
  type Nodes,
  ownerOf,
  pollsOf,
  startMember,
  startNodes,
  stateOf,
  stopMembers,
} from './members.ts'

const VANTAGES = ['fra1', 'nyc1', 'sin1'] as const
/** What a busy machine adds to a takeover. */
const SLACK_MS = 4000

interface Sink {
  readonly url: string
  /** The type of each message, by its id. */
  readonly types: Map<string, string>
  count: number
}

async function startSink(): Promise<Sink> {
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      sink.types.set(String(request.headers['webhook-id']), (JSON.parse(body) as { type: string }).type)
      sink.count++
      response.end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const sink: Sink = { url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`, types: new Map(), count: 0 }
  return sink
}

let server: PostgresServer
let nodes: Nodes

beforeAll(async () => {
  if (!hasPostgres()) return
  server = await startPostgres()
  nodes = await startNodes(VANTAGES)
})
afterEach(async () => {
  await stopMembers()
  for (const vantage of VANTAGES) nodes?.of(vantage, 'a').heal()
})
afterAll(async () => {
  await nodes?.stop()
  await server?.remove()
})

test.skipIf(!hasPostgres())(
  'an endpoint unreachable from one of three places is partly down, and from two it is down: one incident names them',
  async () => {
    const url = await server.createDatabase()
    const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes })))
    await everyoneHears(members, VANTAGES)

    nodes.of('fra1', 'a').inject({ kind: 'refuse' })
    await everyoneShows(members, 'degraded')
    await until(async () => (await incidentsOf(members[1]!)).length === 1, 'the incident is opened')
    const [partial] = await incidentsOf(members[1]!)
    nodes.of('nyc1', 'a').inject({ kind: 'refuse' })
    await everyoneShows(members, 'down')
    await until(async () => (await incidentsOf(members[2]!))[0]?.state === 'down', 'the incident got worse')
    const during = await incidentsOf(members[2]!)
    nodes.of('fra1', 'a').heal()
    nodes.of('nyc1', 'a').heal()
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

test.skipIf(!hasPostgres())(
  'after kill -9 of the owner another member polls within the lease and an interval, and the incident goes on',
  async () => {
    const url = await server.createDatabase()
    const members = await Promise.all([0, 1].map(() => startMember({ url, vantage: 'fra1', nodes })))
    await everyoneShows(members, 'up')
    nodes.of('fra1', 'a').inject({ kind: 'http', status: 503 })
    await everyoneShows(members, 'down')
    for (const member of members)
      await until(async () => (await incidentsOf(member)).length === 1, 'it has an incident')
    const [before] = await incidentsOf(members[0]!)
    const owner = (await ownerOf(members, 'fra1'))!
    const other = members.find((one) => one !== owner)!

    const killedAt = performance.now()
    await owner.stop('SIGKILL')
    await until(() => (nodes.requests.get('a')?.at(-1) ?? 0) > killedAt + INTERVAL_MS, 'it is polled again')
    const gap = longestGap(nodes.requests.get('a') ?? [], killedAt)
    await until(async () => (await stateOf(other)) === 'down', 'the state is known again')
    nodes.of('fra1', 'a').heal()
    await everyoneShows([other], 'up')
    await until(async () => (await incidentsOf(other))[0]?.closed_at !== null, 'the incident is closed')

    expect(gap).toBeLessThan(LEASE_MS + 1000 + INTERVAL_MS + SLACK_MS)
    expect(await incidentsOf(other)).toMatchObject([{ id: before?.id }])
  },
)

test.skipIf(!hasPostgres())(
  'a keeper that is killed leaves one message about the beginning, and one about the end',
  async () => {
    const url = await server.createDatabase()
    const rows = (text: string) => server.run(text, url)
    const sink = await startSink()
    const notify = { channels: [{ name: 'hook', type: 'webhook', url: sink.url, group_wait: '100ms' }] }
    const members = await Promise.all([0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes, notify })))
    await everyoneShows(members, 'up')

    nodes.of('fra1', 'a').inject({ kind: 'http', status: 503 })
    await until(
      async () => (await rows('SELECT 1 FROM notifications WHERE NOT waiting')).length === 1,
      'its beginning is sent',
    )
    const keeper = members.find((member) => member.log().includes('incident opened'))!
    await keeper.stop('SIGKILL')
    const others = members.filter((member) => member !== keeper)
    await until(async () => (await clusterOf(others[0]!)).leases[0]?.member !== undefined, 'a network has an owner')
    await everyoneShows(others, 'down')
    nodes.of('fra1', 'a').heal()
    await until(() => sink.types.size === 2, 'its end is sent')
    await everyoneShows(others, 'up')

    expect([...sink.types.values()]).toEqual(['incident.opened', 'incident.closed'])
    expect(sink.count).toBe(2)
  },
)

test.skipIf(!hasPostgres())(
  'a place that is the first to vote decides nothing: what it alone sees is never down',
  async () => {
    const url = await server.createDatabase()
    nodes.of('nyc1', 'a').inject({ kind: 'refuse' })

    const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes })))
    await everyoneShows(members, 'degraded')
    for (const member of members) {
      await until(async () => (await incidentsOf(member)).length === 1, 'the incident is opened')
      const [only] = await incidentsOf(member)
      expect(only).toMatchObject({ endpoint: 'a', state: 'degraded', vantages: ['nyc1'] })
      expect(only?.conditions.map(({ code }) => code)).toEqual(['partial'])
    }
  },
)

test.skipIf(!hasPostgres())('incidents of a network that no member has any more are closed', async () => {
  const url = await server.createDatabase()
  const before = await startMember({ url, vantage: 'fra1', nodes, networks: ['net', 'two'] })
  nodes.of('fra1', 'a').inject({ kind: 'http', status: 503 })
  await until(async () => (await incidentsOf(before)).length === 2, 'both networks have an incident')
  await before.stop()

  const after = await startMember({ url, vantage: 'fra1', nodes })
  const open = async () => (await incidentsOf(after)).filter(({ closed_at: at }) => at === null)
  await until(async () => (await open()).length === 1, 'one of them is closed')

  expect(await open()).toMatchObject([{ network: 'net' }])
})

test.skipIf(!hasPostgres())('a rolling restart makes no incident and no gap of more than two intervals', async () => {
  const url = await server.createDatabase()
  const members = await Promise.all(
    [0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes, networks: ['net', 'two'] })),
  )
  await everyoneShows(members, 'up')

  const from = performance.now()
  for (const [at, member] of members.entries()) {
    expect(await member.stop()).toBe(0)
    members[at] = await startMember({ url, vantage: 'fra1', nodes, networks: ['net', 'two'] })
  }
  const last = performance.now()
  await until(() => (nodes.requests.get('b')?.at(-1) ?? 0) > last + INTERVAL_MS, 'polls go on')

  expect(longestGap(nodes.requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
  for (const member of members) expect(await incidentsOf(member)).toEqual([])
})

test.skipIf(!hasPostgres())(
  'while PostgreSQL is away polls go on, and their rows are stored when it is back',
  async () => {
    const url = await server.createDatabase()
    const [first, second] = await Promise.all([
      startMember({ url, vantage: 'fra1', nodes, spool: true }),
      startMember({ url, vantage: 'nyc1', nodes, spool: true }),
    ])
    const members = [first, second]
    await everyoneHears(members, ['fra1', 'nyc1'])

    await server.stop()
    const from = performance.now()
    for (const member of members) {
      await until(async () => !(await clusterOf(member)).store.reachable, 'they notice')
    }
    nodes.of('fra1', 'a').inject({ kind: 'refuse' })
    await until(async () => (await stateOf(first)) === 'down', 'the own view is shown')
    await everyoneShows([second], 'up')
    await until(async () => (await clusterOf(first)).store.spool_rows > 0, 'rows wait')
    await server.start()
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
    const gap = longestGap(nodes.requests.get('b') ?? [], from)

    expect(gap).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    // Every poll of both places is there, also those from the time without the database.
    const polled = await Promise.all(members.map(pollsOf))
    await until(async () => {
      const rows = await server.run(
        'SELECT name, count(*)::int AS polls FROM polls JOIN vantages USING (vantage_id) GROUP BY 1 ORDER BY 1',
        url.replace(/heartline:[^@]+@/, 'postgres@'),
      )
      return rows.every(({ polls }, at) => Number(polls) >= (polled[at] ?? Number.POSITIVE_INFINITY))
    }, 'all polls are stored')
  },
)
