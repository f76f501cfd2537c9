import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { serveHttp } from '../support/http-server.ts'
import {
  clusterOf,
  everyoneShows,
  INTERVAL_MS,
  incidentsOf,
  LEASE_MS,
  openCluster,
  startMember,
  startSink,
} from './members.ts'

const { nodes, run, server, skip } = openCluster()

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
    const { url: hook } = await serveHttp((request, response) => {
      told.push(request.headers['webhook-id'])
      response.end()
    })
    const notify = { channels: [{ name: 'ops', type: 'webhook', url: hook }] }
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
