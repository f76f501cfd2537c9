import { expect, onTestFinished, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { startRelay } from '../support/relay.ts'
import {
  clusterOf,
  everyoneShows,
  INTERVAL_MS,
  idOf,
  incidentsOf,
  LEASE_MS,
  longestGap,
  openCluster,
  ownerOf,
  SLACK_MS,
  startMember,
} from './members.ts'

const { claimsOf, nodes, run, server, skip } = openCluster()

/** The same database, reached by this port, and with a name by which its writes are known. */
function through(url: string, port: number, name: string): string {
  const address = new URL(url)
  address.port = String(port)
  address.searchParams.set('application_name', name)
  return address.href
}

/** From now on, each row that reaches these tables is noted with the member that wrote it. */
async function noteWrites(url: string): Promise<void> {
  await run(
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
    url,
  )
}

/** Two members of one place over relays of their own, the owner of the network first. */
async function startTwo(url: string, spool = false) {
  const started = await Promise.all(
    ['one', 'two'].map(async (name) => {
      const relay = await startRelay(server().port)
      onTestFinished(() => relay.close())
      const daemon = await startMember({ url: through(url, relay.port, name), vantage: 'fra1', nodes: nodes(), spool })
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

test.skipIf(skip)(
  'an owner that is stopped for four leases has no write accepted afterwards, and rejoins',
  async () => {
    const url = await server().createDatabase()
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

    const noted = await run(
      `SELECT of_table, at_ms, row FROM noted WHERE writer = '${owner.name}' AND at_ms > ${claimedAt}`,
      url,
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
  },
)

test.skipIf(skip).each(['hang', 'reset'] as const)(
  'an owner whose connections to PostgreSQL %s loses its networks to another, goes on for itself, and comes back',
  async (how) => {
    const url = await server().createDatabase()
    const { owner, other, daemons } = await startTwo(url, true)
    await noteWrites(url)
    const from = performance.now()

    owner.relay[how]()
    await until(async () => (await claimsOf(url)).length > 1, 'the other one claims')
    const claimedAt = (await claimsOf(url))[1]?.at ?? 0
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
    const stale = await run(
      `SELECT row FROM noted WHERE writer = '${owner.name}' AND of_table LIKE 'polls%'
         AND (row->>'at_ms')::bigint > ${claimedAt} AND at_ms < (SELECT coalesce(
           (SELECT floor(extract(epoch FROM claimed_at) * 1000) FROM lease_claims WHERE kind = 'poll' AND token = 3), 1e15))`,
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
