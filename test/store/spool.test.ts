import { readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Clock } from '../../src/clock.ts'
import { POLL_NUMBERS } from '../../src/store/poll-columns.ts'
import type { Database } from '../../src/store/postgres/database.ts'
import { DatabaseError } from '../../src/store/postgres/database-error.ts'
import { createSpooledWriter } from '../../src/store/postgres/spooled-writer.ts'
import { openSpool, type Spool, type Spooled } from '../../src/store/spool.ts'
import type { Batch, Registration } from '../../src/store/write-events.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { silentLog } from '../support/log.ts'
import { temporaryDirectory } from './setting.ts'

const own: Registration = { index: 0, endpoint: 'ethereum/own-1', holdMs: 10_000, at: 0 }
const other: Registration = { index: 1, endpoint: 'ethereum/own-2', holdMs: 10_000, at: 0 }

function spool(): Spool {
  const opened = openSpool(join(temporaryDirectory(), 'spool.db'))
  onTestFinished(() => opened.close())
  return opened
}

/** Polls of one endpoint at these times, and a change of their verdicts after the first of them. */
function batchOf({ index }: Registration, ...times: readonly number[]): Batch {
  const polls = new Float64Array(times.length * POLL_NUMBERS)
  for (const [nth, at] of times.entries()) polls.set([index, at], nth * POLL_NUMBERS)
  return { polls, events: [{ after: 1, event: { kind: 'amend', index, from: 0, to: 1, verdict: 2 } }] }
}

const timesOf = ({ polls }: Batch) =>
  Array.from({ length: polls.length / POLL_NUMBERS }, (_, nth) => polls[nth * POLL_NUMBERS + 1])

function writerOn(query: () => Promise<never>, clock: Clock, file: Spool) {
  const database = { reachable: true, onChange() {}, query, transaction: query } as unknown as Database
  const gate = { isOpen: () => true, open: async () => {}, report() {} }
  const options = { clock, database, gate, spool: file, cluster: null, log: silentLog, onCommit() {} }
  const writer = createSpooledWriter(options)
  onTestFinished(() => writer.stop())
  return writer
}

const away = async () => {
  throw new DatabaseError('unreachable', 'timeout')
}

const diskOf = (path: string) => statSync(path).size + statSync(`${path}-wal`).size

test('a file that cannot be made is refused with its own reason', () => {
  const file = join(temporaryDirectory(), 'taken')
  writeFileSync(file, '')

  expect(() => openSpool(join(file, 'spool.db'))).toThrow(expect.objectContaining({ kind: 'bad-spool' }))
})

test('a symbolic link is the spool that it leads to, which only one process may have', () => {
  const [link, file] = [join(temporaryDirectory(), 'link.db'), join(temporaryDirectory(), 'spool.db')]
  symlinkSync(file, link)
  const opened = openSpool(link)
  onTestFinished(() => opened.close())

  expect(() => openSpool(file)).toThrow(expect.objectContaining({ kind: 'store-in-use' }))
})

test('many small batches are read as one, in order, and each event stays between its polls', () => {
  const file = spool()
  file.add(batchOf(own, 1, 2), [own])
  file.add(batchOf(other, 3), [own, other])
  file.add(batchOf(own, 4, 5), [own])

  const joined = file.oldest(500)
  if (joined === null) throw new Error('nothing')
  expect(timesOf(joined.batch)).toEqual([1, 2, 3, 4, 5])
  expect(joined.batch.events.map(({ after, event }) => ({ after, ...event }))).toMatchObject([
    { after: 1, index: 0 },
    { after: 3, index: 1 },
    { after: 4, index: 0 },
  ])
  expect(joined.registrations).toEqual([own, other])

  file.remove(joined)
  expect(file).toMatchObject({ rows: 0, isEmpty: true })
})

test('a join ends where it is large enough, and what came later stays', () => {
  const file = spool()
  for (const at of [1, 2, 3, 4]) file.add(batchOf(own, at), [own])

  const joined = file.oldest(4)
  if (joined === null) throw new Error('nothing')
  expect(timesOf(joined.batch)).toEqual([1, 2])
  file.remove(joined)

  expect(file).toMatchObject({ rows: 2, isEmpty: false })
  expect(timesOf(file.oldest(1)?.batch as Batch)).toEqual([3])
})

test.each([
  { ...own, endpoint: 'ethereum/own-3' },
  { ...own, token: 7 },
] as const)('batches that mean different things by one index are not joined', (later) => {
  const file = spool()
  file.add(batchOf(own, 1), [own])
  file.add(batchOf(later, 2), [later])

  const first = file.oldest(500)
  if (first === null) throw new Error('nothing')
  expect(timesOf(first.batch)).toEqual([1])
  file.remove(first)
  expect(file.oldest(500)).toMatchObject({ registrations: [later] })
})

test('a file that cannot be written keeps nothing from being replayed, and is replaced once all is', () => {
  const path = join(temporaryDirectory(), 'spool.db')
  const file = openSpool(path)
  for (const at of [1, 2, 3]) file.add(batchOf(own, at), [own])
  const full = new Sqlite(path)
  full.exec("CREATE TRIGGER full BEFORE DELETE ON batches BEGIN SELECT RAISE(ABORT, 'full'); END")
  full.close()

  for (const at of [1, 2, 3]) {
    const next = file.oldest(1)
    expect(timesOf(next?.batch as Batch)).toEqual([at])
    file.remove(next as Spooled)
    expect(file).toMatchObject({ rows: 3 - at, isEmpty: at === 3 })
  }
  expect(file.oldest(1)).toBeNull()
  file.add(batchOf(own, 4), [own])
  file.close()

  const again = openSpool(path)
  onTestFinished(() => again.close())
  expect(timesOf(again.oldest(500)?.batch as Batch)).toEqual([4])
})

test('a large file is replaced once it is empty', () => {
  const path = join(temporaryDirectory(), 'spool.db')
  const file = openSpool(path)
  onTestFinished(() => file.close())
  const many = batchOf(own, ...Array.from({ length: 100_000 }, (_, at) => at))
  for (let nth = 0; nth < 3; nth++) file.add(many, [own])
  expect(diskOf(path)).toBeGreaterThan(20e6)

  for (let next = file.oldest(1); next !== null; next = file.oldest(1)) file.remove(next)

  expect(readdirSync(dirname(path)).filter((name) => !name.includes('lock'))).toEqual([])
  file.add(batchOf(own, 4), [own])
  expect(file.rows).toBe(1)
})

test('a run that has other endpoints does not join the polls of the one before with its own', async () => {
  const [clock, file] = [createFakeClock(), spool()]
  const moved: Registration = { ...other, index: own.index }
  const registering = (...registrations: Registration[]): Batch => ({
    polls: new Float64Array(),
    events: [{ after: 0, event: { kind: 'register', registrations } }],
  })
  const earlier = writerOn(away, clock, file)
  await earlier.write(registering(own, other))
  await earlier.write(batchOf(own, 1))
  const later = writerOn(away, clock, file)
  await later.write(registering(moved))
  await later.write(batchOf(moved, 2))

  const first = file.oldest(500) as Spooled
  expect(timesOf(first.batch)).toEqual([1])
  expect(first.batch.events.map(({ event }) => event)).not.toContainEqual({ kind: 'register', registrations: [moved] })
  file.remove(first)
  expect(file.oldest(500)).toMatchObject({ registrations: [moved] })
})

test('a file that cannot be read is tried again', async () => {
  const [clock, file] = [createFakeClock(), spool()]
  const writer = writerOn(away, clock, file)
  await writer.write(batchOf(own, 1))
  let reads = 0
  vi.spyOn(file, 'oldest').mockImplementation(() => {
    reads++
    throw Object.assign(new Error('disk I/O error'), { code: 'SQLITE_IOERR_READ' })
  })

  await clock.advance(3000)

  expect(reads).toBe(3)
  expect(writer.trouble()).toBe('other')
})

test('is tried again each second, also while batches are put aside more often', async () => {
  const [clock, file] = [createFakeClock(), spool()]
  const tries: number[] = []
  // As when all connections of the pool are in use: PostgreSQL counts as reachable.
  const busy = async () => {
    tries.push(clock.monotonic())
    throw new DatabaseError('unreachable', 'timeout')
  }
  const writer = writerOn(busy, clock, file)

  for (let nth = 0; nth < 40; nth++) {
    await writer.write(batchOf(own, nth))
    await clock.advance(250)
  }

  expect(file.rows).toBe(40)
  expect(tries).toEqual(Array.from({ length: 11 }, (_, second) => 1000 + 1000 * second))
})
