import { mkdtempSync, readFileSync, rmSync, statfsSync, statSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import type Database from 'better-sqlite3'
import { systemClock } from '../src/clock.ts'
import { encodeHistogram } from '../src/core/latency-histogram.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../src/store/migrations.ts'
import { openStore } from '../src/store/open-store.ts'
import { POLL_NUMBERS } from '../src/store/poll-columns.ts'
import { openDatabase } from '../src/store/sqlite/database.ts'
import { createRetainer } from '../src/store/sqlite/retainer.ts'
import { createRollUp } from '../src/store/sqlite/roll-up.ts'
import { createWriteStatements } from '../src/store/sqlite/write-statements.ts'
import type { PollRecord } from '../src/store/store.ts'
import type { Registration } from '../src/store/write-events.ts'
import { cpuSince } from './support.ts'

/**
 * What the store costs: bytes a poll, rows a second, milliseconds to open and to answer. Prints a table.
 * `throughput`, `writes`, `day`, `month` or `large` as the argument runs that part alone.
 */
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const RETENTION = { rawMs: 2 * DAY_MS, fiveMinutesMs: 30 * DAY_MS, hourMs: 730 * DAY_MS }
const MAX_SIZE = 100 * 1024 ** 3
const orders = new Map<number, readonly number[]>()
const directory = mkdtempSync(join(tmpdir(), 'heartline-bench-'))

function figure(what: string, value: string): void {
  console.log(`${what.padEnd(72)} ${value}`)
}

const log = { debug() {}, info() {}, warn: console.warn, error: console.error }

function fileOf(name: string): string {
  return join(directory, `${name}.db`)
}

/** A store on this thread, filled without waiting. */
function benchOn(path: string) {
  const { db } = openDatabase(path, readMigrations(SQLITE_MIGRATIONS), MAX_SIZE)
  const rollUp = createRollUp(db)
  const writing = createWriteStatements(db, rollUp)
  return { db, rollUp, writing, retainer: createRetainer(db, RETENTION, MAX_SIZE) }
}

function register(endpoints: number, intervalMs: number, at: number): Registration[] {
  return Array.from({ length: endpoints }, (_, index) => ({
    index,
    endpoint: `network-${index % 3}/endpoint-${index}`,
    holdMs: 2 * intervalMs,
    at,
  }))
}

/** One round of polls as a daemon would see them: spread latencies, a third with heartbeats, few not up. */
function roundOf(endpoints: number, at: number, intervalMs: number): Float64Array {
  const polls = new Float64Array(endpoints * POLL_NUMBERS)
  for (const [place, index] of orderOf(endpoints).entries()) {
    const time = at + Math.floor(turnOf(index) * intervalMs)
    const bad = Math.random() < 0.01
    const heartbeat = index % 3 === 1 ? 1000 + Math.floor(Math.random() * 4000) : Number.NaN
    const failures = index % 3 === 1 ? 0 : Number.NaN
    const latencyUs = 20_000 + Math.floor(Math.random() ** 4 * 200_000)
    const height = 24_000_000 + Math.floor(at / 12_000)
    polls.set([index, time, bad ? 5 : 0, latencyUs, height, bad ? 4 : 0, heartbeat, failures], place * POLL_NUMBERS)
  }
  return polls
}

/** The endpoints in the order in which the scheduler polls them: neighbours in a batch are not neighbours in the file. */
function orderOf(endpoints: number): readonly number[] {
  const known = orders.get(endpoints)
  if (known !== undefined) return known
  const order = Array.from({ length: endpoints }, (_, index) => index).sort((a, b) => turnOf(a) - turnOf(b))
  orders.set(endpoints, order)
  return order
}

function turnOf(index: number): number {
  return (index * 0.618_033_988_749_895) % 1
}

function run(steps: Generator<void>): { steps: number; longestMs: number } {
  let longestMs = 0
  let count = 0
  let before = systemClock.monotonic()
  for (const _ of steps) {
    const now = systemClock.monotonic()
    longestMs = Math.max(longestMs, now - before)
    before = now
    count++
  }
  return { steps: count, longestMs }
}

function month(endpoints: number, intervalMs: number): void {
  const path = fileOf(`month-${intervalMs}`)
  const { db, rollUp, writing, retainer } = benchOn(path)
  const start = Date.UTC(2026, 9, 1)
  const days = 31
  writing.register(register(endpoints, intervalMs, start))
  let polls = 0
  let writingMs = 0
  let rollingMs = 0
  let longestMs = 0
  for (let at = start; at < start + days * DAY_MS; at += intervalMs) {
    const before = systemClock.monotonic()
    polls += writing.write({ polls: roundOf(endpoints, at, intervalMs), events: [] })
    writingMs += systemClock.monotonic() - before
    if ((at + intervalMs) % 300_000 === 0) {
      const now = systemClock.monotonic()
      longestMs = Math.max(longestMs, run(rollUp.rollTo(at + intervalMs)).longestMs)
      if ((at + intervalMs) % HOUR_MS === 0)
        longestMs = Math.max(longestMs, run(retainer.pass(at + intervalMs)).longestMs)
      rollingMs += systemClock.monotonic() - now
    }
  }
  db.pragma('wal_checkpoint(TRUNCATE)')
  const bytes = (sql: string) => (db.prepare(sql).pluck().get() as number | null) ?? 0
  const sizeOf = (table: string) => bytes(`SELECT sum(pgsize) FROM dbstat WHERE name = '${table}'`)
  const rowsOf = (table: string) => bytes(`SELECT count(*) FROM ${table}`)
  const total = statSync(path).size
  const title = `a month of ${endpoints} endpoints every ${intervalMs / 1000} s`
  figure(`${title}: file`, `${(total / 1e6).toFixed(1)} MB`)
  figure(`${title}: bytes a poll made`, (total / polls).toFixed(1))
  figure(`${title}: bytes a raw poll kept`, (sizeOf('polls') / rowsOf('polls')).toFixed(1))
  for (const table of ['five_minutes', 'hours', 'days']) {
    figure(`${title}: bytes a row of ${table}`, (sizeOf(table) / rowsOf(table)).toFixed(1))
  }
  figure(`${title}: file / raw polls kept`, `${(total / rowsOf('polls')).toFixed(1)} B`)
  figure(`${title}: µs a poll to write`, ((writingMs / polls) * 1000).toFixed(1))
  figure(`${title}: µs a poll to roll up and retain`, ((rollingMs / polls) * 1000).toFixed(1))
  figure(`${title}: longest step of either`, `${longestMs.toFixed(0)} ms`)
  db.close()
}

async function throughput(): Promise<void> {
  const store = await opened(fileOf('throughput'))
  const endpoints = register(1000, 15_000, 0).map(({ endpoint, holdMs }) => ({ endpoint, holdMs }))
  const start = Date.UTC(2026, 10, 1)
  store.register(endpoints, start)
  await store.flush()
  const records: PollRecord[] = endpoints.map(({ endpoint }) => ({
    endpoint,
    at: start,
    state: 'up',
    fresh: true,
    latencyMs: 43.2,
    height: 24_000_000,
    lagBlocks: 0,
    heartbeatLagMs: null,
    contiguousFailures: null,
    failure: null,
  }))
  const rounds = 100
  const before = systemClock.monotonic()
  let queueing = 0
  for (let round = 0; round < rounds; round++) {
    const from = systemClock.monotonic()
    for (const record of records) store.poll({ ...record, at: start + round * 1000 })
    queueing += systemClock.monotonic() - from
    await store.flush()
  }
  const ms = systemClock.monotonic() - before
  figure('rows a second, from poll() to acknowledged', Math.round((rounds * 1000 * 1000) / ms).toLocaleString('en'))
  figure('µs of the event loop for one poll()', ((queueing / rounds / 1000) * 1000).toFixed(2))
  await store.close()
}

/** Hours of polls in batches as a daemon makes them: bytes handed to the kernel for the file and its WAL, and bytes stored. */
function writes(endpoints: number, intervalMs: number, hours: number): void {
  const path = fileOf(`writes-${endpoints}`)
  const { db, rollUp, writing } = benchOn(path)
  const start = Date.UTC(2026, 9, 1)
  writing.register(register(endpoints, intervalMs, start))
  const batch = Math.min(500, Math.ceil((endpoints * 250) / intervalMs))
  const writtenBytes = () => Number(/wchar: (\d+)/.exec(readFileSync('/proc/self/io', 'utf8'))?.[1])
  const before = writtenBytes()
  const cpu = process.cpuUsage()
  let polls = 0
  for (let at = start; at < start + hours * HOUR_MS; at += intervalMs) {
    const round = roundOf(endpoints, at, intervalMs)
    for (let from = 0; from < round.length; from += batch * POLL_NUMBERS) {
      polls += writing.write({ polls: round.slice(from, from + batch * POLL_NUMBERS), events: [] })
    }
    // A daemon does this every ten seconds.
    db.pragma('wal_checkpoint(PASSIVE)')
    if ((at + intervalMs) % 300_000 === 0) run(rollUp.rollTo(at + intervalMs))
  }
  const title = `${hours} h of ${endpoints.toLocaleString('en')} endpoints every ${intervalMs / 1000} s`
  figure(`${title}: µs a poll, with roll-ups`, (cpuSince(cpu) / polls).toFixed(1))
  figure(`${title}: bytes written a poll`, Math.round((writtenBytes() - before) / polls).toLocaleString('en'))
  db.pragma('wal_checkpoint(TRUNCATE)')
  figure(`${title}: bytes stored a poll`, (statSync(path).size / polls).toFixed(1))
  db.close()
}

function opened(path: string) {
  return openStore({ path, retention: RETENTION, maxSizeBytes: MAX_SIZE, clock: systemClock, log })
}

/** 1,000 endpoints with ninety days of hours, thirty of five minutes, and polls to fill a gigabyte. */
async function large(): Promise<void> {
  const path = fileOf('large')
  const { db, writing } = benchOn(path)
  const now = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 2
  const endpoints = 1000
  writing.register(register(endpoints, 15_000, 0))
  db.pragma('synchronous = OFF')
  fillTier(db, 'days', DAY_MS, now - 90 * DAY_MS, now, endpoints)
  fillTier(db, 'hours', HOUR_MS, now - 90 * DAY_MS, now, endpoints)
  fillTier(db, 'five_minutes', 300_000, now - 30 * DAY_MS, now, endpoints)
  const slot = now / 300_000
  const pages = () => db.pragma('page_count', { simple: true }) as number
  let from = slot
  const pageSize = db.pragma('page_size', { simple: true }) as number
  while (pages() * pageSize < 1e9 || from > slot - 300) fillSlot(db, --from, endpoints)
  // The last two slots are not rolled up yet: what a daemon has at any time.
  const mark = db.prepare('INSERT OR REPLACE INTO marks VALUES (?, ?)')
  mark.run('rolled_to', slot - 2)
  mark.run('raw_from', from)
  mark.run('five_minutes_from', Math.floor((now - 30 * DAY_MS) / HOUR_MS) * 12)
  db.pragma('wal_checkpoint(TRUNCATE)')
  db.close()

  for (const shutdown of ['unclean', 'clean']) {
    const before = systemClock.monotonic()
    const store = await opened(path)
    const saved = await store.savedHealth()
    figure(
      `open a store of ${(statSync(path).size / 1e9).toFixed(2)} GB after an ${shutdown} stop`.replace(
        'an clean',
        'a clean',
      ),
      `${(systemClock.monotonic() - before).toFixed(0)} ms (${saved.length} saved)`,
    )
    await store.close()
  }

  const store = await opened(path)
  const keys = register(endpoints, 15_000, 0).map(({ endpoint }) => endpoint)
  store.register(
    keys.map((endpoint) => ({ endpoint, holdMs: 30_000 })),
    now,
  )
  await store.availability(keys, now)
  const times: number[] = []
  for (let round = 0; round < 5; round++) {
    const before = systemClock.monotonic()
    await store.availability(keys, now)
    times.push(systemClock.monotonic() - before)
  }
  figure('availability of 1,000 endpoints, four windows', `${Math.min(...times).toFixed(0)} ms`)
  for (const [name, rangeMs, stepMs] of [
    ['24 h in steps of 5 min', DAY_MS, 300_000],
    ['24 h in steps of 1 min (from polls)', DAY_MS, 60_000],
    ['90 d in steps of 6 h', 90 * DAY_MS, 6 * HOUR_MS],
  ] as const) {
    const from = Math.floor((now - rangeMs) / stepMs) * stepMs
    const query = { endpoint: keys[500] ?? '', from, to: now, stepMs }
    await store.history(query)
    const before = systemClock.monotonic()
    const buckets = await store.history(query)
    figure(`history of ${name}`, `${(systemClock.monotonic() - before).toFixed(1)} ms (${buckets.length} buckets)`)
  }
  await store.close()
}

/** Twenty polls of every endpoint. */
function fillSlot(db: Database.Database, slot: number, endpoints: number): void {
  db.prepare(
    `WITH RECURSIVE e (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM e WHERE id < ?),
       n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 19)
     INSERT INTO polls SELECT ?, id, i * 15000 + id, 0, 20000 + abs(random()) % 90000, 24000000, 0, NULL, NULL FROM e, n`,
  ).run(endpoints, slot)
}

function fillTier(db: Database.Database, table: string, widthMs: number, from: number, to: number, endpoints: number) {
  const latencies = Buffer.from(
    encodeHistogram(
      new Map([
        [104, 9],
        [108, 4],
        [112, 3],
        [120, 2],
        [125, 1],
        [128, 1],
      ]),
    ) ?? [],
  )
  db.prepare(
    `WITH RECURSIVE e (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM e WHERE id < @endpoints),
       b (bucket) AS (SELECT @first UNION ALL SELECT bucket + 1 FROM b WHERE bucket < @last - 1)
     INSERT INTO ${table} SELECT id, bucket, @width - down, 0, down, 0, @polls, @latencies, 220000, 24000000, 3, 4000, 0
     FROM e, (SELECT bucket, CASE WHEN bucket % 50 = 0 THEN 15000 ELSE 0 END AS down FROM b)`,
  ).run({
    endpoints,
    latencies,
    first: Math.floor(from / widthMs),
    last: Math.floor(to / widthMs),
    width: widthMs,
    polls: widthMs / 15_000,
  })
}

const only = process.argv[2]
try {
  console.log(
    `Node ${process.version}, ${cpus()[0]?.model ?? 'unknown CPU'}, ${cpus().length} cores, ${new Date().toISOString().slice(0, 10)}`,
  )
  const { bavail, bsize } = statfsSync(directory)
  if (bavail * bsize < 4e9) throw new Error('4 GB of free disk space are needed')
  if (only === undefined || only === 'throughput') await throughput()
  if (only === undefined || only === 'writes') {
    writes(1000, 15_000, 0.5)
    writes(10_000, 10_000, 0.5)
  }
  if (only === undefined || only === 'day') writes(1000, 15_000, 24)
  if (only === undefined || only === 'month') {
    month(20, 15_000)
    month(3, 1000)
  }
  if (only === undefined || only === 'large') await large()
} finally {
  rmSync(directory, { recursive: true, force: true })
}
