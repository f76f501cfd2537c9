import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { incidentsOf, LEASE_MS, openCluster, startMember, startSink } from './members.ts'

const { nodes, run, server, skip } = openCluster()

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
