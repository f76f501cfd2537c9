import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Secret } from '../../src/secret.ts'
import { type Copied, copyStore } from '../../src/store/copy-store.ts'
import { openSpool } from '../../src/store/spool.ts'
import type { Store } from '../../src/store/store.ts'
import { runHeartline, runHere } from '../support/daemon.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openPostgres } from './engines.ts'
import { BASE, DAY_MS, HOLD_MS, HOUR_MS, opened, pollOf, temporaryDirectory } from './setting.ts'

const ENDPOINTS = ['ethereum/own-1', 'ethereum/own-2']
const NOW = BASE + DAY_MS
const skip = !hasPostgres()
let server: PostgresServer

beforeAll(async () => {
  if (!skip) server = await startPostgres()
})
afterAll(() => server?.remove())

/** A history with rows in every table, closed. */
async function history(): Promise<string> {
  const file = join(temporaryDirectory(), 'store.db')
  const { store } = await opened({ path: file, clock: createFakeClock({ now: NOW }) })
  const endpoint = ENDPOINTS[0] ?? ''
  store.register(
    ENDPOINTS.map((name) => ({ endpoint: name, holdMs: HOLD_MS })),
    BASE,
  )
  for (let at = BASE; at < NOW; at += 30_000) {
    const isDown = at % HOUR_MS < 600_000
    store.poll(pollOf(at, isDown ? { state: 'down', failure: 'timeout', latencyMs: null, height: null } : {}))
    store.poll(pollOf(at + 7, { endpoint: ENDPOINTS[1] ?? '', height: at, heartbeatLagMs: 5 }))
  }
  store.hashChange({ endpoint, at: BASE, shard: null, height: 1, hash: 'a', previousHash: 'b' })
  store.saveHealth({ endpoint, at: NOW, value: { streak: 3 } })
  const incident = { id: 'i', network: 'ethereum', endpoint: 'own-1', openedAt: BASE, closedAt: null, absorbed: false }
  store.saveIncident({ ...incident, value: { cause: 'é 😀' } }, [
    { id: 'n', channel: 'ops', incident: 'i', createdAt: BASE, waiting: true, value: {} },
  ])
  store.saveSilence({ id: 's', network: 'ethereum', endpoint: null, reason: 'why', from: BASE, until: NOW })
  store.saveNote({ id: 'x', incident: 'i', at: BASE, isPublic: true, text: 'two\nlines' })
  const call = {
    network: 'avalanche',
    caller: 'me',
    alias: 'c',
    target: 'bc/C',
    endpoint: 'own-1',
    nodeId: null,
    at: BASE,
  }
  store.saveAlias({ ...call, stale: { at: NOW, reason: 'lost' } })
  store.adminCall({ ...call, nth: 0, outcome: 'accepted' })
  store.maintain([{ endpoint, from: NOW - HOUR_MS, until: NOW + HOUR_MS }], NOW - HOUR_MS)
  await store.flush()
  await store.run('roll-up', NOW)
  await store.close()
  return file
}

async function answersOf(store: Store) {
  const times = { from: BASE - HOUR_MS, to: NOW }
  return {
    histories: await Promise.all(
      ENDPOINTS.flatMap((endpoint) =>
        [HOUR_MS, 420_000].map((stepMs) => store.history({ endpoint, ...times, stepMs })),
      ),
    ),
    polls: await store.polls({ endpoint: ENDPOINTS[1] ?? '', ...times, limit: 10_000 }),
    availability: [...(await store.availability(ENDPOINTS, NOW))].sort(([a], [b]) => (a < b ? -1 : 1)),
    incidents: await store.incidents({ limit: 9 }),
    notifications: await store.notifications({ about: 'latest', limit: 9 }),
    silences: await store.silences(times),
    notes: await store.notes(['i']),
    aliases: await store.aliases(),
    savedHealth: await store.savedHealth(),
    lastRuns: await store.lastRuns(),
  }
}

describe.skipIf(skip)('a copy of a history to PostgreSQL', () => {
  test('answers like the original, also if it was stopped after any table and run again', async () => {
    const [file, url] = [await history(), await server.createDatabase()]
    const seen: Copied[] = []
    const copy = (signal: AbortSignal, onTable: (copied: Copied) => void = () => undefined) =>
      copyStore({ file, url: new Secret(url), clock: systemClock, signal, onTable })

    for (const table of ['holds', 'polls', 'incidents']) {
      const stop = new AbortController()
      const isComplete = await copy(stop.signal, (copied) => copied.table === table && stop.abort())
      expect(isComplete).toBe(false)
    }
    expect(await copy(new AbortController().signal, (copied) => seen.push(copied))).toBe(true)

    expect(seen.find(({ table }) => table === 'polls')).toEqual({ table: 'polls', rows: 5760 })
    expect(seen.filter(({ rows }) => rows === 0)).toEqual([])
    const clock = createFakeClock({ now: NOW })
    const [original, copied] = [await opened({ path: file, clock }), await openPostgres(url, { clock })]
    expect(await answersOf(copied.store)).toEqual(await answersOf(original.store))
    copied.store.register([{ endpoint: 'ethereum/new', holdMs: HOLD_MS }], NOW)
    copied.store.poll(pollOf(NOW, { endpoint: 'ethereum/new' }))
    await copied.store.flush()
    expect(await copied.store.polls({ endpoint: 'ethereum/new', from: NOW, to: NOW + 1, limit: 9 })).toHaveLength(1)
  })

  test('is not made into a database with a history, nor of one in use, nor from a file in use', async () => {
    const [file, url] = [await history(), await server.createDatabase()]
    const { store } = await openPostgres(url)
    store.register([{ endpoint: 'ethereum/own-1', holdMs: HOLD_MS }], BASE)
    await store.flush()
    const copy = (to: string) =>
      copyStore({
        file,
        url: new Secret(to),
        clock: systemClock,
        signal: new AbortController().signal,
        onTable: () => undefined,
      })

    await expect(copy(url)).rejects.toMatchObject({ kind: 'store-in-use', message: 'a daemon uses the database' })
    await store.close()
    await expect(copy(url)).rejects.toMatchObject({ kind: 'foreign-database' })
    await opened({ path: file })
    await expect(copy(await server.createDatabase())).rejects.toMatchObject({ kind: 'store-in-use' })
  })

  test('of something else than a history is refused with its name', async () => {
    const folder = temporaryDirectory()
    const text = join(folder, 'text.db')
    writeFileSync(text, 'no history')

    for (const from of [text, folder]) {
      const { status, err } = await runHere(['migrate-store', '--from', from, '--to', await server.createDatabase()])
      expect([status, err]).toEqual([78, expect.stringContaining(`heartline: ${from} cannot be read as a history (`)])
    }
  })

  test('of a spool, or of a history of another version, is refused with what to do', async () => {
    const folder = temporaryDirectory()
    const copyOf = async (name: string, sql: string) => {
      const file = join(folder, name)
      if (sql === '') openSpool(file).close()
      else new Database(file).exec(`CREATE TABLE polls (at); ${sql}`).close()
      return runHere(['migrate-store', '--from', file, '--to', await server.createDatabase()])
    }

    const spool = await copyOf('spool.db', '')
    const older = await copyOf('older.db', 'PRAGMA user_version = 1')
    const newer = await copyOf('newer.db', 'PRAGMA user_version = 999')

    expect([spool.status, spool.err]).toEqual([
      78,
      expect.stringContaining('spool.db has no history: if it is the spool'),
    ])
    expect([older.status, older.err]).toEqual([78, expect.stringContaining("let this version's daemon open it once")])
    expect([newer.status, newer.err]).toEqual([78, expect.stringContaining('use the version that wrote it')])
  })

  test('that is not complete is refused by a daemon, and can be completed afterwards', async () => {
    const [file, url] = [await history(), await server.createDatabase()]
    const stop = new AbortController()
    const options = { file, url: new Secret(url), clock: systemClock }
    await copyStore({ ...options, signal: stop.signal, onTable: ({ table }) => table === 'holds' && stop.abort() })

    await expect(openPostgres(url)).rejects.toMatchObject({
      kind: 'foreign-database',
      message: expect.stringContaining('not complete: run heartline migrate-store again'),
    })

    expect(await copyStore({ ...options, signal: new AbortController().signal, onTable: () => undefined })).toBe(true)
    const { store } = await openPostgres(url)
    expect(await store.incidents({ limit: 9 })).toHaveLength(1)
  })

  test('is compared for as long as it takes', async () => {
    const [file, url] = [await history(), await server.createDatabase()]
    const stop = new AbortController()
    const options = { file, url: new Secret(url), clock: systemClock }
    await copyStore({ ...options, signal: stop.signal, onTable: ({ table }) => table === 'holds' && stop.abort() })
    const client = new Client({ connectionString: url })
    await client.connect()
    // Empty for a statement that the server would end, as it would do for many rows.
    await client.query(`ALTER TABLE holds RENAME TO all_holds;
      CREATE FUNCTION is_unlimited() RETURNS boolean LANGUAGE sql AS $$ SELECT current_setting('statement_timeout') = '0' $$;
      CREATE VIEW holds AS SELECT * FROM all_holds WHERE is_unlimited()`)
    await client.end()

    const again = copyStore({ ...options, signal: new AbortController().signal, onTable: () => undefined })

    expect(await again).toBe(true)
  })

  test('that differs from the original is reported', async () => {
    const [file, url] = [await history(), await server.createDatabase()]
    const stop = new AbortController()
    const options = { file, url: new Secret(url), clock: systemClock }
    await copyStore({ ...options, signal: stop.signal, onTable: ({ table }) => table === 'polls' && stop.abort() })
    const db = new Database(file)
    db.exec("UPDATE endpoints SET name = 'longer/name' WHERE endpoint_id = 1")
    db.close()

    const again = copyStore({ ...options, signal: new AbortController().signal, onTable: () => undefined })

    await expect(again).rejects.toThrow('endpoints differs in name')
  })

  test('is what heartline migrate-store makes, which shows no password', async () => {
    const [file, url] = [await history(), await server.createDatabase()]

    const copied = await runHeartline(['migrate-store', '--from', file], { env: { DATABASE_URL: url } })
    const again = await runHeartline(['migrate-store', '--from', file, '--to', url])

    expect([copied.status, again.status]).toEqual([0, 78])
    expect(copied.out).toContain('polls: 5760 rows, counts and sums agree')
    expect(again.err).toContain('has a history already')
    for (const text of [copied.out, copied.err, again.err]) expect(text).not.toContain('secret-of-postgres')
    expect((await runHeartline(['migrate-store', '--from', '/none.db', '--to', url])).status).toBe(64)
  })
})
