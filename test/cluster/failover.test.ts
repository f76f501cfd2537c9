import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import {
  clusterOf,
  everyoneShows,
  INTERVAL_MS,
  incidentsOf,
  longestGap,
  type Nodes,
  ownerOf,
  startMember,
  startNodes,
  stopMembers,
} from './members.ts'

/** What a busy machine adds to a poll. */
const SLACK_MS = 4000

let primary: PostgresServer
let nodes: Nodes
const skip = !hasPostgres()

beforeAll(async () => {
  if (skip) return
  primary = await startPostgres()
  nodes = await startNodes(['fra1'])
})
afterAll(async () => {
  await stopMembers()
  await nodes?.stop()
  await primary?.remove()
})

test.skipIf(skip)(
  'members go on at the standby that was promoted: same owner, no row lost, incidents as they were',
  async () => {
    const standby = await primary.startStandby()
    onTestFinished(() => standby.remove())
    const single = await primary.createDatabase()
    const url = single.replace(/127\.0\.0\.1:\d+/, `127.0.0.1:${primary.port},127.0.0.1:${standby.port}`)
    const start = () => startMember({ url, vantage: 'fra1', nodes, spool: true })
    const daemons = [await start(), await start()]
    await everyoneShows(daemons, 'up')
    nodes.of('fra1', 'b').inject({ kind: 'http', status: 503 })
    const openOf = async (daemon: (typeof daemons)[number]) =>
      (await incidentsOf(daemon)).map(({ id, endpoint, closed_at }) => ({ id, endpoint, isOpen: closed_at === null }))
    for (const daemon of daemons) await until(async () => (await openOf(daemon)).length === 1, 'the incident of b')
    const before = await openOf(daemons[0] as (typeof daemons)[number])
    await until(async () => (await ownerOf(daemons, 'fra1')) !== undefined, 'all know the owner')
    const owner = await ownerOf(daemons, 'fra1')
    const from = performance.now()

    await primary.kill()
    for (const daemon of daemons) await until(async () => !(await clusterOf(daemon)).store.reachable, 'they notice')
    await standby.promote()
    for (const daemon of daemons) {
      await until(async () => {
        const { store } = await clusterOf(daemon)
        return store.reachable && store.spool_rows === 0
      }, 'the rows are replayed')
    }
    await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS))

    expect(await ownerOf(daemons, 'fra1')).toBe(owner)
    expect(longestGap(nodes.requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    const [gap] = await standby.run(
      `SELECT max(at_ms - before)::int AS gap FROM (
       SELECT at_ms, lag(at_ms) OVER (ORDER BY at_ms) AS before FROM polls JOIN endpoints USING (endpoint_id)
       WHERE endpoints.name = 'net/a' AND vantage_id > 0) AS polls`,
      `postgres://postgres@127.0.0.1:${standby.port}${new URL(single).pathname}`,
    )
    expect(gap?.['gap']).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    for (const daemon of daemons) expect(await openOf(daemon)).toEqual(before)
    nodes.of('fra1', 'b').heal()
    for (const daemon of daemons) {
      await until(async () => (await openOf(daemon))[0]?.isOpen === false, 'the incident is closed')
      expect(await openOf(daemon)).toEqual(before.map((one) => ({ ...one, isOpen: false })))
    }
  },
)
