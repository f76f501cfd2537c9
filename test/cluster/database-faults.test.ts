import { expect, test } from 'vitest'
import { until } from '../support/daemon.ts'
import {
  clusterOf,
  everyoneShows,
  INTERVAL_MS,
  idOf,
  incidentsOf,
  longestGap,
  openCluster,
  ownerOf,
  SLACK_MS,
} from './members.ts'

const { claimsOf, nodes, noteWrites, run, server, skip, startTwo } = openCluster()

test.skipIf(skip).each(['hang', 'reset'] as const)(
  'an owner whose connections to PostgreSQL %s loses its networks to another, goes on for itself, and comes back',
  async (how) => {
    const url = await server().createDatabase()
    const { owner, other, daemons } = await startTwo(url, true)
    await noteWrites(url)
    const from = performance.now()

    owner.relay[how]()
    await until(async () => (await claimsOf(url)).length > 1, 'the other one claims')
    await until(async () => !(await clusterOf(owner.daemon)).store.reachable, 'it says so')
    nodes().of('fra1', 'b').inject({ kind: 'http', status: 503 })
    await everyoneShows(daemons, 'down', 'b')
    nodes().of('fra1', 'b').heal()
    await everyoneShows(daemons, 'up', 'b')
    await everyoneShows([owner.daemon], 'up')
    owner.relay.pass()
    await until(async () => (await clusterOf(owner.daemon)).store.reachable, 'it is back')
    await until(async () => (await clusterOf(owner.daemon)).store.spool_rows === 0, 'its rows are replayed')

    await everyoneShows(daemons, 'up')
    expect(longestGap(nodes().requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    // Polls are bound by the claim on polling, what the places found together by the claim on keeping.
    const claimed = (token: number) => `(SELECT floor(extract(epoch FROM claimed_at) * 1000) FROM lease_claims
      WHERE network = 'net' AND token = ${token} AND kind = CASE row->>'vantage_id' WHEN '-1' THEN 'keep' ELSE 'poll' END)`
    const stale = await run(
      `SELECT row FROM noted WHERE writer = '${owner.name}' AND of_table LIKE 'polls%'
         AND (row->>'at_ms')::bigint > ${claimed(2)} AND at_ms < coalesce(${claimed(3)}, 1e15)`,
      url,
    )
    expect(stale).toEqual([])
    await until(
      async () =>
        (await Promise.all(daemons.map(incidentsOf))).every(
          ([one, ...more]) => one?.closed_at != null && more.length === 0,
        ),
      'one incident, closed, on both',
    )
    expect((await claimsOf(url))[1]?.member).toBe(await idOf(other.daemon))
  },
)

test.skipIf(skip)(
  'members come back after PostgreSQL was killed and went on at another address, with the same owner and no row lost',
  async () => {
    const url = await server().createDatabase()
    const { owner, other, daemons } = await startTwo(url, true)
    await until(async () => Number((await run('SELECT count(*) AS n FROM polls', url))[0]?.['n']) > 3, 'rows')
    const from = performance.now()

    await server().kill()
    for (const daemon of daemons) await until(async () => !(await clusterOf(daemon)).store.reachable, 'they notice')
    await server().move()
    await server().start()
    for (const { relay } of [owner, other]) relay.pass(server().port)
    for (const daemon of daemons) {
      await until(async () => (await clusterOf(daemon)).store.reachable, 'it is back')
      await until(async () => (await clusterOf(daemon)).store.spool_rows === 0, 'the rows are replayed')
    }
    await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS))

    expect(await ownerOf(daemons, 'fra1')).toBe(owner.daemon)
    expect(longestGap(nodes().requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    const [gap] = await run(
      `SELECT max(at_ms - before)::int AS gap FROM (
       SELECT at_ms, lag(at_ms) OVER (ORDER BY at_ms) AS before FROM polls JOIN endpoints USING (endpoint_id)
       WHERE endpoints.name = 'net/a' AND vantage_id > 0) AS polls`,
      url,
    )
    expect(gap?.['gap']).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    for (const daemon of daemons) expect(await incidentsOf(daemon)).toEqual([])
  },
)
