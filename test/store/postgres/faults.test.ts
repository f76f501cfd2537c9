import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { type Clock, systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import { openStore } from '../../../src/store/open-store.ts'
import { SCHEMA_LOCK } from '../../../src/store/postgres/migrate.ts'
import { Unreadable } from '../../../src/store/reads.ts'
import { type Store, StoreError } from '../../../src/store/store.ts'
import { until } from '../../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { startRelay } from '../../support/relay.ts'
import { openPostgres } from '../engines.ts'
import { BASE, HOLD_MS, lines, pollOf, RETENTION, temporaryDirectory } from '../setting.ts'

const skip = !hasPostgres()
const ENDPOINT = 'ethereum/own-1'
let server: PostgresServer

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

const spoolFile = () => join(temporaryDirectory(), 'spool.db')

/** Polls one after the other, each with its number as its height. */
function poller(store: Store) {
  let polled = 0
  store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
  return {
    poll(count: number): number {
      for (let nth = 0; nth < count; nth++, polled++) store.poll(pollOf(BASE + polled * 1000, { height: polled }))
      return polled
    },
  }
}

async function heightsIn(url: string): Promise<number[]> {
  const rows = await server.run('SELECT height FROM polls ORDER BY height', url)
  return rows.map(({ height }) => Number(height))
}

/** Waits between two tries a fiftieth of the time. */
function hasty(onRetry?: () => void): Clock {
  const shorter = (ms: number) => (ms <= 5000 ? ms / 50 : ms)
  return {
    ...systemClock,
    after: (ms, task) => systemClock.after(shorter(ms), task),
    sleep(ms, signal) {
      if (ms === 1000) onRetry?.()
      return systemClock.sleep(shorter(ms), signal)
    },
  }
}

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at)

const isWritten = (store: Store) => {
  const { queueRows, remote } = store.status()
  return queueRows === 0 && remote?.spoolRows === 0 && remote.reachable
}

/** Ends the connection that holds the lock of a daemon without `cluster`, and takes it from there. */
async function takeFrom(url: string): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  const lock = "locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
  const { rows } = await client.query(`SELECT pid, objid FROM pg_locks WHERE ${lock}`)
  expect(rows).toHaveLength(1)
  const taken = client.query(`SELECT pg_advisory_lock(${rows[0].objid})`)
  await server.run(`SELECT pg_terminate_backend(${rows[0].pid})`)
  await taken
  return client
}

describe.skipIf(skip)('a store in PostgreSQL', () => {
  test.each([
    ['a file', true],
    ['memory', false],
  ])('keeps polls in %s while the server is stopped, and writes each once when it is back', async (_, inFile) => {
    const url = await server.createDatabase()
    const { store, log } = await openPostgres(url, { path: inFile ? spoolFile() : null })
    const { poll } = poller(store)
    poll(700)
    await store.flush()

    await server.stop()
    poll(1200)
    await store.flush()
    const { remote, trouble, queueRows } = store.status()
    expect(remote).toMatchObject({ reachable: false, spoolRows: inFile ? 1200 : 0 })
    expect([trouble, queueRows]).toEqual(['unreachable', inFile ? 0 : 1200])
    const history = store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 60_000, stepMs: 60_000 })
    await expect(history).rejects.toThrow(Unreadable)

    await server.start()
    const total = poll(300)
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(url)).toEqual(upTo(total))
    expect(store.status()).toMatchObject({ trouble: null, rowsDropped: 0, rowsWritten: total })
    expect(log.lines.join('\n')).not.toContain('secret-of-postgres')
  })

  test('loses no poll and doubles none, however often the server is killed between and during writes', async () => {
    const url = await server.createDatabase()
    const { store } = await openPostgres(url, { path: spoolFile() })
    const { poll } = poller(store)
    let total = 0

    for (let round = 0; round < 10; round++) {
      total = poll(600)
      const writing = store.flush()
      if (round % 2 === 0) await writing
      await server.kill()
      total = poll(400)
      await writing
      await store.flush()
      await server.start()
    }
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(url)).toEqual(upTo(total))
    expect(store.status()).toMatchObject({ rowsDropped: 0, remote: { rowsRefused: 0 } })
  })

  test('finds the rows that an earlier run left in the file, also while the server is still away', async () => {
    const [url, path] = [await server.createDatabase(), spoolFile()]
    const first = await openPostgres(url, { path })
    const { poll } = poller(first.store)
    poll(10)
    await first.store.flush()
    await server.stop()
    poll(500)
    await first.store.close()

    const second = await openPostgres(url, { path })
    expect(second.store.status().remote).toMatchObject({ reachable: false, spoolRows: 500 })
    second.store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE + 600_000)
    second.store.poll(pollOf(BASE + 600_000, { height: 510 }))
    await server.start()
    await until(() => isWritten(second.store), 'everything is written')

    expect(await heightsIn(url)).toEqual(upTo(511))
  })

  test('is used by one daemon without `cluster` at a time, and free again at once after its death', async () => {
    const url = await server.createDatabase()
    const first = await openPostgres(url)

    await expect(openPostgres(url)).rejects.toMatchObject({ kind: 'store-in-use' })
    await first.store.close()
    const second = await openPostgres(url)
    await server.kill()
    await server.start()
    await until(() => isWritten(second.store), 'it is reached again')
    await until(
      () =>
        openPostgres(url).then(
          ({ store }) => store.close().then(() => false),
          () => true,
        ),
      'it is locked again',
    )
  })

  test('is away when the server hangs: a write under way is not a fault of our own', async () => {
    const relay = await startRelay(server.port)
    onTestFinished(() => relay.close())
    const url = await server.createDatabase()
    const { store } = await openPostgres(url.replace(`:${server.port}`, `:${relay.port}`), { path: spoolFile() })
    const { poll } = poller(store)
    poll(10)
    await store.flush()

    relay.hang()
    poll(10)
    await until(() => store.status().trouble !== null, 'the trouble is known')
    const seen = new Set()
    await until(() => {
      seen.add(store.status().trouble)
      return store.status().remote?.spoolRows === 10
    }, 'the polls are put aside')
    expect([...seen]).toEqual(['unreachable'])
    relay.pass()
    await until(() => isWritten(store), 'everything is written')
    expect(await heightsIn(url)).toEqual(upTo(20))
  })

  test('is written over a new connection when the one that waits to bring the schema up to date is dead', async () => {
    const relay = await startRelay(server.port)
    onTestFinished(() => relay.close())
    const url = await server.createDatabase()
    const { store } = await openPostgres(url.replace(`:${server.port}`, `:${relay.port}`), { path: spoolFile() })
    const { poll } = poller(store)
    const other = new Client({ connectionString: url })
    await other.connect()
    onTestFinished(() => other.end())
    await other.query(`SELECT pg_advisory_lock(${SCHEMA_LOCK})`)

    relay.reset()
    poll(10)
    await until(() => store.status().remote?.reachable === false, 'the database is away')
    relay.pass()
    const waits = `SELECT 1 FROM pg_locks WHERE NOT granted AND objid = ${SCHEMA_LOCK}`
    await until(async () => (await other.query(waits)).rowCount === 1, 'it waits for its turn')
    relay.freeze()
    await other.query(`SELECT pg_advisory_unlock(${SCHEMA_LOCK})`)

    await until(() => isWritten(store), 'everything is written', 60_000)
    expect(await heightsIn(url)).toEqual(upTo(10))
  })

  test('is used by members of a cluster, or by one daemon without `cluster`', async () => {
    const url = await server.createDatabase()
    const asMember = (member: string) =>
      openPostgres(url, { cluster: { member, vantage: 'fra1', pollToken: () => 1, keeperToken: () => 1 } })

    const members = [await asMember('fra1-1'), await asMember('fra1-2')]
    await expect(openPostgres(url), 'beside members').rejects.toMatchObject({
      kind: 'store-in-use',
      message: 'another daemon uses the database, and this one has no `cluster`',
    })
    for (const { store } of members) await store.close()
    const alone = await openPostgres(url)
    await expect(asMember('fra1-1')).rejects.toMatchObject({
      kind: 'store-in-use',
      message: 'a daemon without `cluster` uses the database',
    })
    await alone.store.close()
    await (await asMember('fra1-1')).store.close()
  })

  test.each([
    ['a file', true],
    ['memory', false],
  ])('writes nothing while another daemon has taken the database: rows wait in %s', async (_, inFile) => {
    const url = await server.createDatabase()
    const first = await openPostgres(url, { path: inFile ? spoolFile() : null })
    const { poll } = poller(first.store)
    poll(10)
    await first.store.flush()

    const other = await takeFrom(url)
    const total = poll(20)
    await first.store.flush()
    await until(() => first.store.status().trouble === 'busy', 'the trouble is shown')
    expect(await heightsIn(url)).toEqual(upTo(10))
    expect(first.log.lines.filter((line) => line.includes('cannot be used'))).toHaveLength(1)
    expect(first.store.status()).toMatchObject({ trouble: 'busy', remote: { reachable: true } })

    await other.end()
    await until(() => isWritten(first.store), 'everything is written')
    expect(await heightsIn(url)).toEqual(upTo(total))
    expect(first.store.status()).toMatchObject({ trouble: null, rowsDropped: 0 })
  })

  test('is refused at a first start while the server is away', async () => {
    const url = await server.createDatabase()
    await server.stop()
    onTestFinished(() => server.start())

    const opening = openStore({
      url: new Secret(url),
      path: spoolFile(),
      retention: RETENTION,
      maxSizeBytes: 1e9,
      clock: systemClock,
      log: lines(),
    })

    await expect(opening).rejects.toThrow(StoreError)
    await expect(opening).rejects.toMatchObject({ kind: 'unreachable' })
  })

  test('does not wait for a server that hangs: polls wait, and are written when it goes on', async () => {
    const url = await server.createDatabase()
    const { store } = await openPostgres(url, { path: spoolFile() })
    const { poll } = poller(store)
    poll(100)
    await store.flush()

    server.pause()
    onTestFinished(() => server.resume())
    const total = poll(600)
    await until(() => store.status().remote?.reachable === false, 'the server is known to hang')
    server.resume()
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(url)).toEqual(upTo(total))
  })

  test('writes incidents, notifications and notes of the outage once, in their last state', async () => {
    const url = await server.createDatabase()
    const { store } = await openPostgres(url, { path: spoolFile() })
    const incident = { id: 'i-1', network: 'ethereum', endpoint: 'own-1', openedAt: BASE, absorbed: false }
    const notification = { id: 'n-1', channel: 'ops', incident: 'i-1', createdAt: BASE, value: {} }

    store.saveIncident({ ...incident, closedAt: null, value: { nth: 1 } }, [{ ...notification, waiting: true }])
    await store.flush()
    await server.kill()
    store.saveNote({ id: 'x', incident: 'i-1', at: BASE, isPublic: true, text: 'a cable' })
    store.saveIncident({ ...incident, closedAt: BASE + 1, value: { nth: 2 } })
    await store.flush()
    store.saveNotification({ ...notification, waiting: false })
    store.saveIncident({ ...incident, closedAt: BASE + 2, value: { nth: 3 } })
    await store.flush()
    await server.start()
    await until(() => isWritten(store), 'everything is written')
    await until(async () => (await store.incident('i-1'))?.closedAt === BASE + 2, 'the incident is closed')

    expect(await store.incidents({ limit: 9 })).toEqual([{ ...incident, closedAt: BASE + 2, value: { nth: 3 } }])
    expect(await store.notifications({ about: 'latest', limit: 9 })).toEqual([{ ...notification, waiting: false }])
    expect(await store.notes(['i-1'])).toHaveLength(1)
  })

  test.each([
    ['the file', true],
    ['memory', false],
  ])('drops from %s only the batch whose values are rejected time after time', async (_, inFile) => {
    const url = await server.createDatabase()
    const { store, log } = await openPostgres(url, { path: inFile ? spoolFile() : null, clock: hasty() })
    const { poll } = poller(store)
    await store.flush()
    await server.run(
      `CREATE SEQUENCE tries;
       CREATE FUNCTION reject() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         IF NEW.height = 0 OR (NEW.height = 10 AND nextval('tries') <= 3) THEN
           RAISE numeric_value_out_of_range;
         END IF;
         RETURN NEW;
       END $$;
       CREATE TRIGGER reject BEFORE INSERT ON polls FOR EACH ROW EXECUTE FUNCTION reject()`,
      url,
    )
    await server.stop()
    for (let batch = 0; batch < 3; batch++) {
      poll(10)
      await store.flush()
    }

    await server.start()
    await until(() => isWritten(store), 'everything is written or dropped')

    expect(await heightsIn(url)).toEqual(upTo(30).slice(10))
    expect(store.status()).toMatchObject({ trouble: null, rowsDropped: 10, rowsWritten: 20 })
    expect(log.lines.filter((line) => line.includes('the batch is dropped'))).toHaveLength(1)
  })

  test('drops nothing while the database must not be used', async () => {
    const [url, path] = [await server.createDatabase(), spoolFile()]
    const first = await openPostgres(url, { path })
    const { poll } = poller(first.store)
    await server.stop()
    poll(10)
    await first.store.flush()
    await first.store.close()
    await server.start()
    await server.run('INSERT INTO heartline_schema (version) VALUES (99)', url)
    await server.stop()
    let retries = 0
    const { store } = await openPostgres(url, { path, clock: hasty(() => retries++) })

    await server.start()
    await until(() => retries > 50 || store.status().remote?.spoolRows === 0, 'the database was refused many times')
    expect(store.status()).toMatchObject({ trouble: 'other', rowsDropped: 0, remote: { spoolRows: 10 } })
    await server.run('DELETE FROM heartline_schema WHERE version = 99', url)
    await until(() => isWritten(store), 'everything is written')

    expect(await heightsIn(url)).toEqual(upTo(10))
  })

  test('refuses a spool that is a history in SQLite', async () => {
    const path = spoolFile()
    const sqlite = await openStore({
      path,
      retention: RETENTION,
      maxSizeBytes: 1e9,
      clock: systemClock,
      log: lines(),
    })
    await sqlite.close()

    await expect(openPostgres(await server.createDatabase(), { path })).rejects.toMatchObject({
      kind: 'foreign-database',
    })
  })
})
