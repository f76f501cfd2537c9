import { createServer } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type RunningDaemon, until } from '../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { startRelay } from '../support/relay.ts'
import { requirePackage } from '../support/system-package.ts'
import {
  clusterOf,
  everyoneHears,
  everyoneShows,
  INTERVAL_MS,
  incidentsOf,
  LEASE_MS,
  longestGap,
  NAMES,
  type Nodes,
  ownerOf,
  placesOf,
  startMember,
  startNodes,
  stateOf,
  stopMembers,
} from './members.ts'

const VANTAGES = ['fra1', 'nyc1', 'sin1'] as const
/** What a busy machine adds to a takeover. */
const SLACK_MS = 4000

let server: PostgresServer
let nodes: Nodes
const skip = !hasPostgres()

beforeAll(async () => {
  if (skip) return
  server = await startPostgres()
  nodes = await startNodes(VANTAGES)
})
afterEach(async () => {
  await stopMembers()
  if (skip) return
  for (const vantage of VANTAGES) for (const name of NAMES) nodes.of(vantage, name).heal()
})
afterAll(async () => {
  await nodes?.stop()
  await server?.remove()
})

/** The same database, reached by this port, and with a name by which its writes are known. */
function through(url: string, port: number, name: string): string {
  const address = new URL(url)
  address.port = String(port)
  address.searchParams.set('application_name', name)
  return address.href
}

/** From now on, each row that reaches these tables is noted with the member that wrote it. */
async function noteWrites(url: string): Promise<void> {
  await server.run(
    `CREATE TABLE noted (writer TEXT, of_table TEXT, at_ms BIGINT, row JSONB);
     ALTER TABLE noted OWNER TO heartline;
     CREATE FUNCTION note() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
       INSERT INTO noted VALUES (current_setting('application_name'), TG_TABLE_NAME,
         extract(epoch FROM clock_timestamp()) * 1000, to_jsonb(NEW));
       RETURN NEW;
     END $$;
     CREATE TRIGGER note AFTER INSERT OR UPDATE ON votes FOR EACH ROW EXECUTE FUNCTION note();
     CREATE TRIGGER note AFTER INSERT OR UPDATE ON incidents FOR EACH ROW EXECUTE FUNCTION note();
     CREATE TRIGGER note AFTER INSERT ON polls FOR EACH ROW EXECUTE FUNCTION note()`,
    asSuperuser(url),
  )
}

function asSuperuser(url: string): string {
  return `postgres://postgres@127.0.0.1:${server.port}${new URL(url).pathname}`
}

async function claimsOf(url: string, network = 'net'): Promise<{ token: number; member: string; at: number }[]> {
  const rows = await server.run(
    `SELECT token, member, floor(extract(epoch FROM claimed_at) * 1000)::float8 AS at FROM lease_claims
     WHERE kind = 'poll' AND network = '${network}' ORDER BY token`,
    asSuperuser(url),
  )
  return rows.map(({ token, member, at }) => ({ token: Number(token), member: String(member), at: Number(at) }))
}

const idOf = async (daemon: RunningDaemon) => (await clusterOf(daemon)).members.find(({ self }) => self)?.id ?? ''

/** Two members of one place over relays of their own, the owner of the network first. */
async function startTwo(url: string, spool = false) {
  const started = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const relay = await startRelay(server.port)
      onTestFinished(() => relay.close())
      const daemon = await startMember({ url: through(url, relay.port, name), vantage: 'fra1', nodes, spool })
      return { name, relay, daemon }
    }),
  )
  const daemons = started.map(({ daemon }) => daemon)
  await everyoneShows(daemons, 'up')
  await until(async () => (await ownerOf(daemons, 'fra1')) !== undefined, 'all know the owner')
  const owner = await ownerOf(daemons, 'fra1')
  const [first, second] = started.toSorted((a) => (a.daemon === owner ? -1 : 1))
  if (first === undefined || second === undefined) throw new Error('two members')
  return { owner: first, other: second, daemons }
}

describe.skipIf(skip)('an owner', () => {
  test('that is stopped for four leases has no write accepted afterwards, and rejoins', async () => {
    const url = await server.createDatabase()
    const { owner, other, daemons } = await startTwo(url)
    await noteWrites(url)

    owner.daemon.process.kill('SIGSTOP')
    await until(async () => (await claimsOf(url)).length > 1, 'the other one claims')
    const claimedAt = (await claimsOf(url))[1]?.at ?? 0
    await new Promise((resolve) => setTimeout(resolve, 4 * LEASE_MS))
    owner.daemon.process.kill('SIGCONT')
    await until(
      async () => (await clusterOf(owner.daemon)).leases[0]?.member === (await idOf(other.daemon)),
      'it knows',
    )
    await new Promise((resolve) => setTimeout(resolve, 3 * INTERVAL_MS))

    const noted = await server.run(
      `SELECT of_table, at_ms, row FROM noted WHERE writer = '${owner.name}' AND at_ms > ${claimedAt}`,
      asSuperuser(url),
    )
    // A poll from before the claim may arrive late; nothing else of a member that owns nothing.
    const stale = noted.filter(({ of_table: table, row }) => {
      return table === 'votes' || (row as { at_ms: number }).at_ms > claimedAt
    })
    expect(stale).toEqual([])
    await everyoneShows(daemons, 'up')
    for (const daemon of daemons) {
      expect(await incidentsOf(daemon)).toEqual([])
      expect((await clusterOf(daemon)).members).toHaveLength(2)
    }
  })

  test.each(['hang', 'reset'] as const)(
    'whose connections to PostgreSQL %s loses its networks to another, goes on for itself, and comes back',
    async (how) => {
      const url = await server.createDatabase()
      const { owner, other, daemons } = await startTwo(url, true)
      await noteWrites(url)
      const from = performance.now()

      owner.relay[how]()
      await until(async () => (await claimsOf(url)).length > 1, 'the other one claims')
      const claimedAt = (await claimsOf(url))[1]?.at ?? 0
      await until(async () => !(await clusterOf(owner.daemon)).store.reachable, 'it says so')
      nodes.of('fra1', 'b').inject({ kind: 'http', status: 503 })
      await everyoneShows(daemons, 'down', 'b')
      nodes.of('fra1', 'b').heal()
      await everyoneShows(daemons, 'up', 'b')
      await everyoneShows([owner.daemon], 'up')
      owner.relay.pass()
      await until(async () => (await clusterOf(owner.daemon)).store.reachable, 'it is back')
      await until(async () => (await clusterOf(owner.daemon)).store.spool_rows === 0, 'its rows are replayed')

      await everyoneShows(daemons, 'up')
      expect(longestGap(nodes.requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
      const stale = await server.run(
        `SELECT row FROM noted WHERE writer = '${owner.name}' AND of_table LIKE 'polls%'
           AND (row->>'at_ms')::bigint > ${claimedAt} AND at_ms < (SELECT coalesce(
             (SELECT floor(extract(epoch FROM claimed_at) * 1000) FROM lease_claims WHERE kind = 'poll' AND token = 3), 1e15))`,
        asSuperuser(url),
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
})

describe.skipIf(skip)('a place', () => {
  test('that is cut off from all nodes does not count: no endpoint is down, and no incident is opened', async () => {
    const url = await server.createDatabase()
    const members = await Promise.all(VANTAGES.map((vantage) => startMember({ url, vantage, nodes })))
    await everyoneHears(members, VANTAGES)

    for (const name of NAMES) nodes.of('fra1', name).inject({ kind: 'hang' })
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
  })
})

describe.skipIf(skip)('members', () => {
  test('that join and leave leave each network with exactly one owner, and none unpolled', async () => {
    const url = await server.createDatabase()
    const networks = ['net', 'two', 'three', 'four']
    const start = () => startMember({ url, vantage: 'fra1', nodes, networks })
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
    expect(longestGap(nodes.requests.get('a') ?? [], from)).toBeLessThan(LEASE_MS + INTERVAL_MS + SLACK_MS)
    for (const member of members) expect(await incidentsOf(member)).toEqual([])
  })

  test('come back after PostgreSQL was killed and went on at another address, with the same owner and no row lost', async () => {
    const url = await server.createDatabase()
    const { owner, other, daemons } = await startTwo(url, true)
    await until(
      async () => Number((await server.run('SELECT count(*) AS n FROM polls', asSuperuser(url)))[0]?.['n']) > 3,
      'rows',
    )
    const from = performance.now()

    await server.kill()
    for (const daemon of daemons) await until(async () => !(await clusterOf(daemon)).store.reachable, 'they notice')
    await server.move()
    await server.start()
    for (const { relay } of [owner, other]) relay.pass(server.port)
    for (const daemon of daemons) {
      await until(async () => (await clusterOf(daemon)).store.reachable, 'it is back')
      await until(async () => (await clusterOf(daemon)).store.spool_rows === 0, 'the rows are replayed')
    }
    await new Promise((resolve) => setTimeout(resolve, 2 * INTERVAL_MS))

    expect(await ownerOf(daemons, 'fra1')).toBe(owner.daemon)
    expect(longestGap(nodes.requests.get('a') ?? [], from)).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    const [gap] = await server.run(
      `SELECT max(at_ms - before)::int AS gap FROM (
         SELECT at_ms, lag(at_ms) OVER (ORDER BY at_ms) AS before FROM polls JOIN endpoints USING (endpoint_id)
         WHERE endpoints.name = 'net/a' AND vantage_id > 0) AS polls`,
      asSuperuser(url),
    )
    expect(gap?.['gap']).toBeLessThan(2 * INTERVAL_MS + SLACK_MS)
    for (const daemon of daemons) expect(await incidentsOf(daemon)).toEqual([])
  })

  test.skipIf(!requirePackage('faketime', 'faketime'))(
    'whose clocks are an hour off show, store and vote as if they were not',
    async () => {
      const url = await server.createDatabase()
      const off = (seconds: string) => ({ LD_PRELOAD: FAKETIME, FAKETIME: seconds, FAKETIME_DONT_FAKE_MONOTONIC: '1' })
      const members = await Promise.all([
        startMember({ url, vantage: 'fra1', nodes, env: off('+3600') }),
        startMember({ url, vantage: 'nyc1', nodes, env: off('-3600') }),
        startMember({ url, vantage: 'sin1', nodes }),
      ])
      await everyoneHears(members, VANTAGES)

      nodes.of('fra1', 'a').inject({ kind: 'http', status: 503 })
      nodes.of('nyc1', 'a').inject({ kind: 'http', status: 503 })
      await everyoneShows(members, 'down')
      nodes.of('fra1', 'a').heal()
      nodes.of('nyc1', 'a').heal()
      await everyoneShows(members, 'up')

      const ages = await server.run(
        `SELECT vantage_id, min(abs(extract(epoch FROM clock_timestamp()) * 1000 - at_ms))::float8 AS age FROM polls
         GROUP BY vantage_id`,
        asSuperuser(url),
      )
      for (const { age } of ages) expect(Number(age)).toBeLessThan(60_000)
      for (const member of members) {
        await until(async () => (await incidentsOf(member))[0]?.closed_at != null, 'one incident, closed')
        expect(await incidentsOf(member)).toHaveLength(1)
      }
      expect((await claimsOf(url)).every(({ token }) => token === 1)).toBe(true)
    },
  )

  test('of which two believe to keep the same incidents open one incident, and tell it under one key', async () => {
    const url = await server.createDatabase()
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
    const members = await Promise.all([0, 1, 2].map(() => startMember({ url, vantage: 'fra1', nodes, notify })))
    await everyoneShows(members, 'up')

    nodes.of('fra1', 'a').inject({ kind: 'http', status: 503 })
    // Each time, another member claims before the holder has noticed.
    const steal = () =>
      server.run("UPDATE leases SET expires_at = now() - interval '1 s' WHERE kind = 'keep'", asSuperuser(url))
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
  })
})

const FAKETIME = '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1'
