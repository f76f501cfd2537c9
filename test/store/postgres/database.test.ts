import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { Secret } from '../../../src/secret.ts'
import { ANSWER_WITHIN_MS } from '../../../src/store/postgres/connections.ts'
import { DatabaseError } from '../../../src/store/postgres/database-error.ts'
import { openDatabase, postgresMigrations } from '../../../src/store/postgres/migrate.ts'
import { IS_NEW, NOTHING_SEEN, SEEN_NOW, type Seen } from '../../../src/store/postgres/versions.ts'
import { StoreError } from '../../../src/store/store.ts'
import { until } from '../../support/daemon.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../../support/postgres.ts'
import { startRelay, startRelayToOldPostgres } from '../../support/relay.ts'

let server: PostgresServer
const skip = !hasPostgres()

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

async function opened(url: string, migrations = postgresMigrations()) {
  const database = await openDatabase({ url: new Secret(url), clock: systemClock }, migrations)
  onTestFinished(() => database.close())
  return database
}

async function refusal(url: string, migrations = postgresMigrations()): Promise<StoreError> {
  const error = await openDatabase({ url: new Secret(url), clock: systemClock }, migrations).then(
    () => null,
    (cause: unknown) => cause,
  )
  expect(error).toBeInstanceOf(StoreError)
  const refused = error as StoreError
  for (const secret of ['secret-of-postgres', url]) expect(refused.message).not.toContain(secret)
  return refused
}

const tablesOf = (url: string) =>
  server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1", url)

describe.skipIf(skip)('a database', () => {
  test('gets its tables once, however many daemons start at the same time', async () => {
    const url = await server.createDatabase()

    const databases = await Promise.all([opened(url), opened(url), opened(url)])

    const versions = await databases[0]?.query('SELECT version FROM heartline_schema ORDER BY 1')
    expect(versions).toEqual(postgresMigrations().map(({ version }) => ({ version })))
  })

  test('that belongs to another program is refused, and nothing is created in it', async () => {
    const url = await server.createDatabase()
    await server.run('CREATE TABLE customers (id INT)', url)

    const { kind } = await refusal(url)

    expect(kind).toBe('foreign-database')
    expect(await tablesOf(url)).toEqual([{ tablename: 'customers' }])
  })

  test('without a schema is refused', async () => {
    const url = await server.createDatabase()
    await server.run('DROP SCHEMA public', url)

    const { kind, message } = await refusal(url)

    expect([kind, message]).toEqual(['missing-database', expect.stringContaining('create "public"')])
  })

  test('with a schema one step newer is used, with one two steps newer refused', async () => {
    const url = await server.createDatabase()
    await opened(url)
    const all = postgresMigrations()

    await opened(url, all.slice(0, -1))
    await server.run(`INSERT INTO heartline_schema (version) VALUES (${all.length + 1})`, url)
    const { kind, message } = await refusal(url, all.slice(0, -1))

    expect(kind).toBe('newer-schema')
    expect(message).toContain(`${all.length + 1}`)
  })

  test('of a server older than 15 is refused', async () => {
    const url = await server.createDatabase()
    const relay = await startRelayToOldPostgres(server)
    onTestFinished(() => relay.close())

    const { kind, message } = await refusal(url.replace(`:${server.port}`, `:${relay.port}`))

    expect(kind).toBe('postgres-too-old')
    expect(message).toContain('at least 15')
    expect(await tablesOf(url)).toEqual([])
  })

  test.each([
    ['an unknown host', 'unknown-host', (url: string) => url.replace('127.0.0.1', 'postgres.invalid')],
    ['a wrong password', 'refused-login', (url: string) => url.replace('secret-of-postgres', 'wrong')],
    ['an unknown user', 'refused-login', (url: string) => url.replace('heartline:', 'nobody:')],
    ['a missing database', 'missing-database', (url: string) => `${url}_missing`],
    ['a port that refuses', 'unreachable', (url: string) => url.replace(`:${server.port}`, ':1')],
    ['TLS that the server lacks', 'unreachable', (url: string) => `${url}?sslmode=require`],
    ['a certificate that is missing', 'bad-url', (url: string) => `${url}?sslmode=verify-ca&sslrootcert=/none.pem`],
    ['another scheme', 'bad-url', () => 'mysql://user:secret-of-postgres@127.0.0.1/heartline'],
    ['a misspelt parameter', 'bad-url', (url: string) => `${url}?sslmod=verify-full`],
    ['TLS that the server lacks, as JDBC says it', 'unreachable', (url: string) => `${url}?ssl=true`],
    ['an unknown sslmode', 'bad-url', (url: string) => `${url}?sslmode=off`],
    ['the target of readers', 'bad-url', (url: string) => `${url}?target_session_attrs=prefer-standby`],
    ['several ports that refuse', 'unreachable', (url: string) => url.replace(/:\d+\//, ':1,127.0.0.2:1/')],
    ['several hosts, one without a name', 'bad-url', (url: string) => url.replace('@', '@,')],
  ])('at %s is refused as %s', async (_, kind, change) => {
    const url = change(await server.createDatabase())

    expect((await refusal(url)).kind).toBe(kind)
  })

  test('whose user may not create tables is refused', async () => {
    const url = await server.createDatabase()
    await server.run(
      'ALTER SCHEMA public OWNER TO postgres; REVOKE CREATE ON SCHEMA public FROM PUBLIC',
      url.replace(/\/\/[^@]*@/, '//postgres@'),
    )
    await server.run(`ALTER DATABASE ${new URL(url).pathname.slice(1)} OWNER TO postgres`)

    expect((await refusal(url)).kind).toBe('read-only')
  })

  test('says when it cannot be reached, and when it is back', async () => {
    const database = await opened(await server.createDatabase())
    const heard: boolean[] = []
    database.onChange((reachable) => heard.push(reachable))
    await until(() => database.lagMs !== null, 'a round trip was measured')

    await server.kill()
    const failed = await database.query('SELECT 1').catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DatabaseError)
    expect([database.reachable, database.lagMs]).toEqual([false, null])
    await server.start()
    await until(() => database.reachable, 'it is reached again')

    expect(heard).toEqual([false, true])
    expect(await database.query('SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  test('ends what takes too long, and frees the locks of a client that is gone without a word', async () => {
    const database = await opened(await server.createDatabase())
    const limits = `SELECT name, setting::int AS value FROM pg_settings
      WHERE name = ANY('{statement_timeout,lock_timeout,idle_in_transaction_session_timeout,tcp_keepalives_idle}') ORDER BY name`

    for (const use of ['all else', 'leases'] as const) {
      const set = await database.query<{ name: string; value: number }>(limits, [], { use })
      expect(Object.fromEntries(set.map(({ name, value }) => [name, value]))).toEqual({
        idle_in_transaction_session_timeout: 5000,
        lock_timeout: 5000,
        statement_timeout: 10_000,
        tcp_keepalives_idle: 10,
      })
    }
  })

  test('does not wait for the end of a transaction whose connection does not answer', async () => {
    const url = await server.createDatabase()
    const relay = await startRelay(server.port)
    onTestFinished(() => relay.close())
    const database = await opened(url.replace(`:${server.port}`, `:${relay.port}`))
    const from = performance.now()

    const work = database.transaction((query) => {
      relay.freeze()
      return query('SELECT 1', [], { withinMs: 200 })
    })

    await expect(work).rejects.toMatchObject({ code: 'timeout' })
    expect(performance.now() - from).toBeLessThan(ANSWER_WITHIN_MS)
  })

  test('does not try the other connections after one that does not answer', async () => {
    const url = await server.createDatabase()
    const relay = await startRelay(server.port)
    onTestFinished(() => relay.close())
    const database = await opened(url.replace(`:${server.port}`, `:${relay.port}`))
    const query = () => database.query('SELECT pg_sleep(0.1)', [], { withinMs: 3000 })
    await Promise.all([query(), query(), query()])

    relay.freeze()

    await expect(query()).rejects.toMatchObject({ code: 'timeout' })
    expect(await query()).toHaveLength(1)
  })

  test('gives a statement that waits for a connection the next free one, after another did not answer', async () => {
    const database = await opened(await server.createDatabase())
    const lease = (text: string) => database.query(text, [], { use: 'leases' })
    const from = performance.now()
    const busy = lease('SELECT pg_sleep(1)')
    const waiting = lease('SELECT 1 AS one')

    await expect(database.query('SELECT pg_sleep(9)', [], { withinMs: 200 })).rejects.toMatchObject({ code: 'timeout' })
    await busy

    expect(await waiting).toEqual([{ one: 1 }])
    expect(performance.now() - from).toBeLessThan(4000)
  })

  test('closes without an error while a statement is not answered', async () => {
    const url = await server.createDatabase()
    const database = await openDatabase({ url: new Secret(url), clock: systemClock })
    const errors: unknown[] = []
    const note = (error: unknown) => errors.push(error)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))

    const asked = database.query('SELECT pg_sleep(9)', [], { withinMs: 300 }).catch(({ code }) => code)
    await database.query('SELECT 1')
    await database.close()

    expect([await asked, errors]).toEqual(['timeout', []])
    await expect(database.query('SELECT 1')).rejects.toThrow()
  })

  test('rolls a transaction back when its work fails', async () => {
    const database = await opened(await server.createDatabase())

    const failed = database.transaction(async (query) => {
      await query("INSERT INTO jobs (job, ended_ms) VALUES ('roll-up', $1)", [1])
      throw new RangeError('after the first step')
    })

    await expect(failed).rejects.toThrow(RangeError)
    expect(await database.query('SELECT * FROM jobs')).toEqual([])
  })

  test('tells listeners of a notification', async () => {
    const database = await opened(await server.createDatabase())
    const heard: string[] = []
    database.listen('votes', (payload) => heard.push(payload))

    await until(async () => {
      await database.query("SELECT pg_notify('votes', $1)", ['ethereum'])
      return heard.length > 0
    }, 'a notification is heard')

    expect(heard).toContain('ethereum')
  })

  test('gives back what changed since an earlier reading, also what was committed after a later version', async () => {
    const database = await opened(await server.createDatabase())
    const add = 'INSERT INTO aliases VALUES ($1, $1, $1, $1, NULL, $1, 0, NULL, NULL, heartline_version())'
    const since = async (seen: Seen) =>
      (await database.query<{ alias: string }>(`SELECT alias FROM aliases WHERE ${IS_NEW}`, [seen])).map(
        ({ alias }) => alias,
      )
    const now = async () => (await database.query<{ seen: Seen }>(`SELECT ${SEEN_NOW} AS seen`))[0]?.seen ?? ''

    let readBetween = ''
    await database.transaction(async (query) => {
      await query(add, ['slow'])
      await database.query(add, ['quick'])
      readBetween = await now()
      expect(await since(NOTHING_SEEN)).toEqual(['quick'])
      expect(await since(readBetween)).toEqual([])
    })

    expect(await since(readBetween)).toEqual(['slow'])
    expect(await since(await now())).toEqual([])
  })
})
