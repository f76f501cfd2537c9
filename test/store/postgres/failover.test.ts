import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import { createClusterTables } from '../../../src/store/postgres/cluster-tables.ts'
import { openDatabase } from '../../../src/store/postgres/migrate.ts'
import { createQueries } from '../../../src/store/postgres/queries.ts'
import type { Store } from '../../../src/store/store.ts'
import { until } from '../../support/daemon.ts'
import { hasPostgres, type PostgresServer, type Standby, startPostgres } from '../../support/postgres.ts'
import { openPostgres } from '../engines.ts'
import { BASE, HOLD_MS, pollOf, temporaryDirectory } from '../setting.ts'

const skip = !hasPostgres()
const ENDPOINT = 'ethereum/own-1'
let primary: PostgresServer
let standby: Standby
let single: string

async function start(): Promise<void> {
  primary = await startPostgres()
  standby = await primary.startStandby()
  single = await primary.createDatabase()
}

async function remove(): Promise<void> {
  await Promise.all([primary?.remove(), standby?.remove()])
}

/** The address of both, as libpq writes it. */
function both(first: PostgresServer, second: PostgresServer): string {
  const hosts = `127.0.0.1:${first.port},127.0.0.1:${second.port}`
  return `${single.replace(/127\.0\.0\.1:\d+/, hosts)}?target_session_attrs=read-write`
}

function poller(store: Store) {
  let polled = 0
  store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
  return (count: number) => {
    for (let nth = 0; nth < count; nth++, polled++) store.poll(pollOf(BASE + polled * 1000, { height: polled }))
    return polled
  }
}

const at = (server: PostgresServer) => single.replace(/:\d+\//, `:${server.port}/`)

async function heightsIn(server: PostgresServer): Promise<number[]> {
  const rows = await server.run('SELECT height FROM polls ORDER BY height', at(server))
  return rows.map(({ height }) => Number(height))
}

const isWritten = (store: Store) => {
  const { queueRows, remote } = store.status()
  return queueRows === 0 && remote?.spoolRows === 0 && remote.reachable
}

const upTo = (count: number) => Array.from({ length: count }, (_, height) => height)

describe.skipIf(skip)('a store whose address has a primary and a standby', () => {
  beforeEach(start)
  afterEach(remove)

  test.each([
    ['first', () => both(primary, standby)],
    ['last', () => both(standby, primary)],
  ])('goes on at the standby once that is promoted, and loses no row: the primary is named %s', async (_, url) => {
    const { store, log } = await openPostgres(url(), { path: join(temporaryDirectory(), 'spool.db') })
    const poll = poller(store)
    const acknowledged = poll(700)
    await store.flush()

    await primary.kill()
    poll(300)
    await store.flush()
    await until(() => store.status().remote?.reachable === false, 'the outage is noticed')
    expect(store.status()).toMatchObject({ trouble: 'unreachable', rowsDropped: 0, remote: { spoolRows: 300 } })
    expect(await heightsIn(standby)).toEqual(upTo(acknowledged))
    await standby.promote()
    const total = poll(100)
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(standby)).toEqual(upTo(total))
    expect(store.status()).toMatchObject({ trouble: null, rowsDropped: 0, remote: { rowsRefused: 0 } })
    expect(log.lines.join('\n')).not.toContain('secret-of-postgres')
  })

  test('leaves a server that only reads from now on, for the one that was promoted', async () => {
    const { store } = await openPostgres(both(primary, standby), { path: join(temporaryDirectory(), 'spool.db') })
    const poll = poller(store)
    const before = poll(10)
    await store.flush()

    await primary.run('ALTER SYSTEM SET default_transaction_read_only = on')
    await primary.run('SELECT pg_reload_conf()')
    await standby.promote()
    const total = poll(10)
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(primary)).toEqual(upTo(before))
    expect(await heightsIn(standby)).toEqual(upTo(total))
    await expect(openPostgres(both(primary, standby)), 'it is locked there').rejects.toMatchObject({
      kind: 'store-in-use',
    })
  })
})

describe.skipIf(skip)('opening a store whose address has a primary and a standby', () => {
  beforeAll(start)
  afterAll(remove)

  test('keeps what the first server says of a login, and does not ask the others', async () => {
    const url = both(primary, standby).replace('secret-of-postgres', 'wrong')

    await expect(openPostgres(url)).rejects.toMatchObject({ kind: 'refused-login' })
  })

  describe('without its primary', () => {
    beforeAll(() => primary.kill())

    test.each([
      ['of several', () => both(standby, primary)],
      ['alone', () => at(standby)],
    ])(
      'waits if none accepts writes, and is refused in one sentence at a first start: a standby %s',
      async (_, url) => {
        const opening = openPostgres(url())

        await expect(opening).rejects.toMatchObject({
          kind: 'unreachable',
          message: 'no server of the address accepts writes: a standby only reads (25006)',
        })
      },
    )
  })
})

describe.skipIf(skip)('members whose database fails over', () => {
  beforeEach(start)
  afterEach(remove)

  test('read everything again, because the new server counts its transactions differently', async () => {
    const database = await openDatabase({ url: new Secret(both(primary, standby)), clock: systemClock })
    onTestFinished(() => database.close())
    const tables = createClusterTables(database)
    const wanted = [{ kind: 'poll', vantage: 'fra1', network: 'ethereum' }] as const
    const [lease] = await tables.claim('one', wanted, 60_000)
    const vote = { network: 'ethereum', endpoint: 'own-1', polledAt: BASE, value: { health: 1 } }
    await tables.writeVotes('one', 'fra1', [{ ...vote, token: lease?.token ?? 0 }], false)
    const { votes, next } = await tables.readVotes(null, 'two')
    expect([votes.length, (await tables.readVotes(next, 'two')).votes.length]).toEqual([1, 0])
    const { changesAfter } = createQueries(database, null)
    const { position } = await changesAfter(null)
    expect((await changesAfter(position)).incidents).toEqual([])

    await primary.kill()
    await standby.promote()
    await until(async () => {
      await database.query('SELECT 1').catch(() => undefined)
      return database.reachable
    }, 'it is reached')
    const again = await tables.readVotes(next, 'two')

    expect(again.votes).toHaveLength(1)
    expect((await changesAfter(position)).incidents, 'all have to be read').toBeNull()
    expect((await tables.readVotes(again.next, 'two')).votes).toHaveLength(0)
    const renewed = await tables.renew(
      { id: 'one', vantage: 'fra1', version: '1', url: null, networksDigest: '', impaired: false, replaying: false },
      lease === undefined ? [] : [lease],
      60_000,
    )
    expect(renewed).toMatchObject([{ network: 'ethereum', token: lease?.token }])
  })
})
