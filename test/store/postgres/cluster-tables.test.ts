import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import type { HeldLease, LiveMember } from '../../../src/store/cluster-tables.ts'
import { createClusterTables } from '../../../src/store/postgres/cluster-tables.ts'
import type { Database } from '../../../src/store/postgres/database.ts'
import { openDatabase } from '../../../src/store/postgres/migrate.ts'
import { until } from '../../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'

let server: PostgresServer
const skip = !hasPostgres()

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

const LEASE_MS = 60_000

async function opened(url: string) {
  const database = await openDatabase({ url: new Secret(url), clock: systemClock })
  onTestFinished(() => database.close())
  return { database, tables: createClusterTables(database) }
}

const poll = (network: string, vantage = 'fra1') => ({ kind: 'poll' as const, vantage, network })
const names = (leases: readonly HeldLease[]) => leases.map(({ network }) => network).sort()

function member(id: string, over: Partial<LiveMember> = {}): LiveMember {
  return {
    id,
    vantage: 'fra1',
    version: '1.0.0',
    url: null,
    networksDigest: 'd',
    impaired: false,
    replaying: false,
    ...over,
  }
}

const expire = (database: Database) => database.query("UPDATE leases SET expires_at = now() - interval '1 ms'")

/** Waits until this many connections hear hints. Those that do are checked with `SELECT 1`. */
const hearing = (database: Database, connections: number) =>
  until(async () => {
    const rows = await database.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND (query LIKE 'LISTEN%' OR query = 'SELECT 1')",
    )
    return rows.length >= connections
  }, 'LISTEN')

/** Waits until a statement waits for a lock. */
const waiting = (database: Database) =>
  until(async () => {
    const rows = await database.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    )
    return rows.length > 0
  }, 'a lock')

describe.skipIf(skip)('leases', () => {
  test('ten members that claim the same networks at once get each of them once', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    const wanted = Array.from({ length: 20 }, (_, at) => poll(`n${at}`))

    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, at) => tables.claim(`m${at}`, at % 2 ? wanted : wanted.toReversed(), LEASE_MS)),
    )

    const all = claims.flat()
    expect(names(all)).toEqual(names(wanted.map((key) => ({ ...key, token: 1 }))))
    expect(all.every(({ token }) => token === 1)).toBe(true)
    const noted = await database.query('SELECT network, token FROM lease_claims')
    expect(noted).toHaveLength(20)
  })

  test('a lease is claimed again once it has expired, with a higher token, and its holder learns it at the renewal', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    const [first] = await tables.claim('a', [poll('n')], LEASE_MS)
    expect(await tables.claim('b', [poll('n')], LEASE_MS)).toEqual([])

    await expire(database)
    const [second] = await tables.claim('b', [poll('n')], LEASE_MS)

    expect([first?.token, second?.token]).toEqual([1, 2])
    expect(await tables.renew(member('a'), first === undefined ? [] : [first], LEASE_MS)).toEqual([])
    expect(await tables.renew(member('b'), second === undefined ? [] : [second], LEASE_MS)).toEqual([second])
    expect(await database.query('SELECT previous_member FROM leases')).toEqual([{ previous_member: 'a' }])
  })

  test('a lease that expired is still its holder’s if no other member has claimed it', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    const held = await tables.claim('a', [poll('n')], LEASE_MS)
    await expire(database)

    const renewed = await tables.renew(member('a'), held, LEASE_MS)

    expect(renewed).toEqual(held)
    expect(await tables.claim('b', [poll('n')], LEASE_MS)).toEqual([])
  })

  test('a claim does not wait for a lease that another statement has locked', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n1'), poll('n2')], LEASE_MS)
    await expire(database)

    const claimed = await database.transaction(async (query) => {
      await query("SELECT 1 FROM leases WHERE network = 'n1' FOR UPDATE")
      return tables.claim('b', [poll('n1'), poll('n2')], LEASE_MS)
    })

    expect(names(claimed)).toEqual(['n2'])
  })

  test.each(['renew', 'release', 'leave'] as const)(
    '%s never waits in a circle with a writer of incidents',
    async (call) => {
      const { tables, database } = await opened(await server.createDatabase())
      const held = ['n2', 'n1'].map((network) => ({ ...poll(network), token: 1 }))
      for (const { network } of held) await tables.claim('a', [poll(network)], LEASE_MS)
      const calls = {
        renew: () => tables.renew(member('a'), held, LEASE_MS),
        release: () => tables.release('a', held),
        leave: () => tables.leave('a'),
      }

      const done = await database.transaction(async (query) => {
        await query("SELECT 1 FROM leases WHERE network = 'n1' FOR SHARE")
        const doing = calls[call]()
        // Below, this transaction may be the one that fails.
        doing.catch(() => undefined)
        await waiting(database)
        await query("SELECT 1 FROM leases WHERE network = 'n2' FOR SHARE")
        return { doing }
      })
      await done.doing

      const { leases } = await tables.view()
      expect(leases.map(({ member: holder }) => holder)).toEqual(call === 'renew' ? ['a', 'a'] : [null, null])
    },
  )

  test('are renewed while everything else waits for a connection, of which there are five', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    tables.onHint('a', () => undefined)
    await hearing(database, 1)
    const held = await tables.claim('a', [poll('n')], LEASE_MS)
    let end = () => {}
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    onTestFinished(end)
    let begun = 0
    const busy = Array.from({ length: 10 }, () =>
      database
        .transaction(async () => {
          begun++
          await ended
        })
        .catch(() => undefined),
    )
    await until(() => begun === 3, 'no connection is free')

    expect(await tables.renew(member('a'), held, LEASE_MS)).toEqual(held)
    expect((await tables.view()).leases).toHaveLength(1)
    await tables.release('a', held)
    expect(begun).toBe(3)
    end()
    await Promise.all(busy)
    const [row] = await database.query('SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()')
    expect(row).toEqual({ count: 5 })
  })

  test('released leases are free at once, and the others hear of it', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await opened(url), await opened(url)]
    const hints: string[] = []
    other.tables.onHint('b', (hint) => hints.push(hint))
    await hearing(one.database, 1)
    const held = await one.tables.claim('a', [poll('n1'), poll('n2')], LEASE_MS)

    await one.tables.release('a', held.slice(0, 1))

    await until(() => hints.includes('leases'), 'a hint of free leases')
    expect(names(await other.tables.claim('b', [poll('n1'), poll('n2')], LEASE_MS))).toEqual([held[0]?.network])
  })

  test('a member that leaves frees all its leases and is no longer listed', async () => {
    const { tables } = await opened(await server.createDatabase())
    await tables.renew(member('a'), [], LEASE_MS)
    await tables.renew(
      member('b', { vantage: 'nyc1', impaired: true, replaying: true, url: 'https://b.example' }),
      [],
      LEASE_MS,
    )
    await tables.claim('a', [poll('n'), { kind: 'keep', vantage: '', network: 'n' }], LEASE_MS)

    await tables.leave('a')

    const { now, members, leases } = await tables.view()
    expect(members).toEqual([
      {
        ...member('b', { vantage: 'nyc1', impaired: true, replaying: true, url: 'https://b.example' }),
        startedAt: expect.any(Number),
        seenAt: expect.any(Number),
      },
    ])
    expect(Math.abs(now - (members[0]?.seenAt ?? 0))).toBeLessThan(60_000)
    expect(leases.map(({ kind, network, member: holder, token }) => [kind, network, holder, token])).toEqual([
      ['poll', 'n', null, 1],
      ['keep', 'n', null, 1],
    ])
  })
})

describe.skipIf(skip)('votes', () => {
  const vote = (network: string, endpoint: string, token: number, polledAt: number, value: unknown = { polledAt }) => ({
    network,
    endpoint,
    token,
    polledAt,
    value,
  })

  test('are read by the others from where they stopped, and not by their own member', async () => {
    const { tables } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)
    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 1000), vote('n', '', 1, 1000, { heads: [] })], false)

    const first = await tables.readVotes(null, 'b')
    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 2000)], false)
    const second = await tables.readVotes(first.next, 'b')
    const third = await tables.readVotes(second.next, 'b')

    expect(first.votes.map(({ endpoint }) => endpoint).sort()).toEqual(['', 'own-1'])
    expect(second.votes).toMatchObject([
      { vantage: 'fra1', network: 'n', endpoint: 'own-1', member: 'a', polledAt: 2000, value: { polledAt: 2000 } },
    ])
    expect(third.votes).toEqual([])
    expect((await tables.readVotes(null, 'a')).votes).toEqual([])
  })

  test('of a member whose lease another has claimed change nothing', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)
    await expire(database)
    await tables.claim('b', [poll('n')], LEASE_MS)
    await tables.writeVotes('b', 'fra1', [vote('n', 'own-1', 2, 1000)], false)

    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 5000), vote('n', 'own-2', 1, 5000)], false)
    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 2, 5000)], false)

    const { votes } = await tables.readVotes(null, 'c')
    expect(votes.map(({ endpoint, member: of, polledAt }) => [endpoint, of, polledAt])).toEqual([['own-1', 'b', 1000]])
  })

  test('never go back in time', async () => {
    const { tables } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)

    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 2000)], false)
    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 1000)], false)

    expect((await tables.readVotes(null, 'b')).votes.map(({ polledAt }) => polledAt)).toEqual([2000])
  })

  test('go back with the clock of the database, and no further', async () => {
    const { tables } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)
    const now = Date.now()

    for (const polledAt of [now + 3_600_000, now, now - 1000]) {
      await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, polledAt)], false)
    }

    expect((await tables.readVotes(null, 'b')).votes.map(({ value }) => value)).toEqual([{ polledAt: now }])
  })

  test('of a transaction that ends after a later one are not missed', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)

    const afterwards = await database.transaction(async (query) => {
      await query(`INSERT INTO votes VALUES ('nyc1', 'n', 'slow', 'x', 1, now(), heartline_version(), '{}')`)
      await tables.writeVotes('a', 'fra1', [vote('n', 'fast', 1, 1000)], false)
      return tables.readVotes(null, 'b')
    })

    expect(afterwards.votes.map(({ endpoint }) => endpoint)).toEqual(['fast'])
    const { votes } = await tables.readVotes(afterwards.next, 'b')
    expect(votes.map(({ endpoint }) => endpoint)).toContain('slow')
  })

  test('are read once, also while a long transaction of others runs on the server', async () => {
    const { tables } = await opened(await server.createDatabase())
    const elsewhere = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)

    await elsewhere.database.transaction(async (query) => {
      await query('SELECT pg_current_xact_id()')
      await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 1000)], false)
      const first = await tables.readVotes(null, 'b')
      await tables.writeVotes('a', 'fra1', [vote('n', 'own-2', 1, 1000)], false)
      const second = await tables.readVotes(first.next, 'b')
      expect([first, second].map(({ votes }) => votes.map(({ endpoint }) => endpoint))).toEqual([['own-1'], ['own-2']])
      expect((await tables.readVotes(second.next, 'b')).votes).toEqual([])
    })
  })

  test('of another server are read once, however high their versions', async () => {
    const url = await server.createDatabase()
    await opened(url)
    await server.run(`INSERT INTO votes VALUES ('nyc1', 'n', 'e', 'x', 1, now(), 900000000000, '{}')`, url)

    const { tables } = await opened(url)

    const first = await tables.readVotes(null, 'b')
    expect(first.votes.map(({ endpoint }) => endpoint)).toEqual(['e'])
    expect((await tables.readVotes(first.next, 'b')).votes).toEqual([])
  })

  test('are read in pages of a thousand, with those that change between two pages', async () => {
    const { database } = await opened(await server.createDatabase())
    const change = `UPDATE votes SET value = '"changed"', version = heartline_version() WHERE endpoint = '1'`
    await database.query(
      `INSERT INTO votes SELECT 'nyc1', 'n', at, 'x', 1, now(), heartline_version(), '{}' FROM generate_series(1, 2500) AS at`,
    )
    const parts: number[] = []
    const tables = createClusterTables({
      ...database,
      async query<Row>(...asked: Parameters<Database['query']>) {
        const rows = await database.query<Row>(...asked)
        parts.push((rows as readonly { votes?: unknown[] }[])[0]?.votes?.length ?? 0)
        if (parts.length === 2) await database.query(change)
        return rows
      },
    })

    const { votes, next } = await tables.readVotes(null, 'b')

    expect(Math.max(...parts)).toBe(1000)
    expect(new Set(votes.map(({ endpoint }) => endpoint)).size).toBe(2500)
    expect((await tables.readVotes(next, 'b')).votes.map(({ value }) => value)).toEqual(['changed'])
  })

  test('that are larger than any of ours are left out', async () => {
    const { tables, database } = await opened(await server.createDatabase())
    await database.query(
      `INSERT INTO votes SELECT 'nyc1', 'n', 'huge', 'x', 1, now(), heartline_version(),
        (SELECT jsonb_agg(md5(at::text)) FROM generate_series(1, 10000) AS at)`,
    )

    expect((await tables.readVotes(null, 'b')).votes).toEqual([])
  })

  test('with text that PostgreSQL refuses in JSON are stored, with a mark in its place', async () => {
    const { tables } = await opened(await server.createDatabase())
    await tables.claim('a', [poll('n')], LEASE_MS)

    const text = 'half \ud83d, NUL \0, whole \u{1f600}, backslash \\u0000'
    await tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 1000, { text })], false)

    const [read] = (await tables.readVotes(null, 'b')).votes
    expect(read?.value).toEqual({ text: 'half \ufffd, NUL \ufffd, whole \u{1f600}, backslash \\ufffd' })
  })

  test('urgent ones are announced to the others only', async () => {
    const url = await server.createDatabase()
    const [one, other] = [await opened(url), await opened(url)]
    const hints: string[] = []
    one.tables.onHint('a', () => hints.push('own'))
    other.tables.onHint('b', (hint) => hints.push(hint))
    await hearing(one.database, 2)
    await one.tables.claim('a', [poll('n')], LEASE_MS)

    await one.tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 1000)], false)
    await one.tables.writeVotes('a', 'fra1', [vote('n', 'own-1', 1, 2000)], true)

    await until(() => hints.length > 0, 'a hint')
    await one.tables.release('a', [{ ...poll('n'), token: 1 }])
    await until(() => hints.includes('leases'), 'a hint of free leases')
    expect(hints).toEqual(['votes', 'leases'])
  })
})
