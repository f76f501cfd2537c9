import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { clusterOf, everyoneShows, INTERVAL_MS, incidentsOf, LEASE_MS, openCluster, startMember } from './members.ts'

const { nodes, run, server, skip } = openCluster()

interface Sink {
  readonly url: string
  /** What it answers. */
  status: number
  /** The type of each message, by its id. */
  readonly types: Map<string, string>
  count: number
  accepted: number
}

async function startSink(): Promise<Sink> {
  const receiver = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => {
      body += chunk.toString()
    })
    request.on('end', () => {
      if (sink.status === 200) {
        sink.types.set(String(request.headers['webhook-id']), (JSON.parse(body) as { type: string }).type)
        sink.accepted++
      }
      sink.count++
      response.writeHead(sink.status).end()
    })
  })
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    receiver.closeAllConnections()
    receiver.close()
  })
  const { port } = receiver.address() as AddressInfo
  const sink: Sink = { url: `http://127.0.0.1:${port}`, status: 200, types: new Map(), count: 0, accepted: 0 }
  return sink
}

test.skipIf(skip)('a keeper that is killed leaves one message about the beginning, and one about the end', async () => {
  const url = await server().createDatabase()
  const rows = (text: string) => run(text, url)
  const sink = await startSink()
  const notify = { channels: [{ name: 'hook', type: 'webhook', url: sink.url, group_wait: '100ms' }] }
  const members = await Promise.all([0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes: nodes(), notify })))
  await everyoneShows(members, 'up')

  nodes().of('fra1', 'a').inject({ kind: 'http', status: 503 })
  await until(
    async () => (await rows('SELECT 1 FROM notifications WHERE NOT waiting')).length === 1,
    'its beginning is sent',
  )
  const keeper = members.find((member) => member.log().includes('incident opened'))!
  await keeper.stop('SIGKILL')
  const others = members.filter((member) => member !== keeper)
  await until(async () => (await clusterOf(others[0]!)).leases[0]?.member !== undefined, 'a network has an owner')
  await everyoneShows(others, 'down')
  nodes().of('fra1', 'a').heal()
  await until(() => sink.types.size === 2, 'its end is sent')
  await everyoneShows(others, 'up')

  expect([...sink.types.values()]).toEqual(['incident.opened', 'incident.closed'])
  expect(sink.count).toBe(2)
})

test.skipIf(skip)(
  'a keeper that is stopped while a message waits to be tried again does not send it after another one has',
  async () => {
    const url = await server().createDatabase()
    const sink = await startSink()
    const notify = { channels: [{ name: 'hook', type: 'webhook', url: sink.url, group_wait: '100ms' }] }
    const members = await Promise.all([0, 1].map(() => startMember({ url, vantage: 'fra1', nodes: nodes(), notify })))
    await everyoneShows(members, 'up')
    const claims = () => run("SELECT 1 FROM lease_claims WHERE kind = 'keep'", url)
    const before = (await claims()).length

    sink.status = 503
    nodes().of('fra1', 'a').inject({ kind: 'http', status: 503 })
    await until(() => sink.count > 0, 'its beginning is refused')
    const keeper = members.find((member) => member.log().includes('incident opened'))!
    keeper.process.kill('SIGSTOP')
    await until(async () => (await claims()).length > before, 'the other one takes over')
    sink.status = 200
    await until(() => sink.accepted === 1, 'its beginning is sent')
    nodes().of('fra1', 'a').heal()
    await until(() => sink.accepted === 2, 'its end is sent')
    keeper.process.kill('SIGCONT')
    await everyoneShows(members, 'up')
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS))

    expect([...sink.types.values()]).toEqual(['incident.opened', 'incident.closed'])
    expect(sink.accepted).toBe(2)
  },
)

test.skipIf(skip)(
  'two members that believe to keep the same incidents open one incident, and tell it under one key',
  async () => {
    const url = await server().createDatabase()
    const told: unknown[] = []
    const hooks = createServer((request, response) => {
      told.push(request.headers['webhook-id'])
      request.resume().on('end', () => response.end())
    })
    await new Promise<void>((resolve) => hooks.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void hooks.close())
    const address = hooks.address()
    const port = typeof address === 'object' ? address?.port : 0
    const notify = { channels: [{ name: 'ops', type: 'webhook', url: `http://127.0.0.1:${port}/` }] }
    const members = await Promise.all(
      [0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes: nodes(), notify })),
    )
    await everyoneShows(members, 'up')

    nodes().of('fra1', 'a').inject({ kind: 'http', status: 503 })
    // Each time, another member claims before the holder has noticed.
    const steal = () => run("UPDATE leases SET expires_at = now() - interval '1 s' WHERE kind = 'keep'", url)
    for (let round = 0; round < 15; round++) {
      await steal()
      await new Promise((resolve) => setTimeout(resolve, 300))
    }
    await everyoneShows(members, 'down')
    await until(() => told.length > 0, 'a message was sent')
    for (const member of members) await until(async () => (await incidentsOf(member)).length > 0, 'all know it')

    const all = await Promise.all(members.map(incidentsOf))
    expect(new Set(all.flat().map(({ id }) => id)).size).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 3 * INTERVAL_MS))
    // At least once: a keeper that has sent it may have lost the right to note that.
    expect(new Set(told).size).toBe(1)
  },
)

test.skipIf(skip)(
  'incidents of a network that no member has any more are closed, and channels hear of it',
  async () => {
    const url = await server().createDatabase()
    const rows = (text: string) => run(text, url)
    const sink = await startSink()
    const notify = { channels: [{ name: 'hook', type: 'webhook', url: sink.url, group_wait: '100ms' }] }
    const member = { url, vantage: 'fra1', nodes: nodes(), notify }
    const before = await startMember({ ...member, networks: ['net', 'two'] })
    for (const name of ['a', 'b'] as const) nodes().of('fra1', name).inject({ kind: 'http', status: 503 })
    await until(async () => (await rows('SELECT 1 FROM notifications WHERE NOT waiting')).length === 4, 'four are sent')
    sink.status = 503
    await before.stop()

    const after = await startMember(member)
    const open = async () => (await incidentsOf(after)).filter(({ closed_at: at }) => at === null)
    await until(async () => (await open()).length === 2, 'those of one network are closed')
    const holders = () => rows("SELECT 1 FROM leases WHERE kind = 'keep' AND network = 'two' AND member IS NOT NULL")
    const count = sink.count
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS))
    expect(await open()).toMatchObject([{ network: 'net' }, { network: 'net' }])
    expect(sink.count).toBeGreaterThan(count)
    expect(await holders()).toHaveLength(1)
    await after.stop('SIGKILL')

    // Another one sends what is left.
    sink.status = 200
    sink.types.clear()
    await startMember(member)
    await until(() => sink.types.size >= 2, 'both ends arrive')
    await until(async () => (await holders()).length === 0, 'no member keeps it any more')

    expect([...sink.types.values()]).toEqual(['incident.closed', 'incident.closed'])
    expect(await rows('SELECT 1 FROM notifications WHERE waiting')).toEqual([])
  },
)
