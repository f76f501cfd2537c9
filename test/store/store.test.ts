import { closeSync, openSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { FAILURE_KINDS } from '../../src/core/failure.ts'
import { outcomeOf } from '../../src/store/poll-columns.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { everyEngine } from './engines.ts'
import { BASE, HOLD_MS, HOUR_MS, opened, pollOf, temporaryDirectory } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'
/** Few bytes are checked by a thread, many by a process. */
const SIZES = [
  { what: 'a small file', bytes: 0 },
  { what: 'a large file', bytes: 32 * 1024 * 1024 },
]

/** SQLite reads nothing beyond its last page. */
function enlarge(path: string, bytes: number): void {
  if (bytes > 0) truncateSync(path, bytes)
}

describe('a store', () => {
  for (const { name, open } of everyEngine()) {
    test(`${name} returns what it was given: history, availability, saved health, times of jobs`, async () => {
      const clock = createFakeClock({ now: BASE + 60_000 })
      const { store } = await open({ clock })
      store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)

      store.poll(pollOf(BASE, { latencyMs: 10 }))
      store.poll(
        pollOf(BASE + 15_000, { state: 'down', fresh: false, failure: 'timeout', latencyMs: null, height: null }),
      )
      store.amend(ENDPOINT, BASE, BASE + 15_000, 'degraded', false)
      store.saveHealth({ endpoint: ENDPOINT, at: BASE + 15_000, value: { streak: [1, 2] } })
      await store.flush()

      const [bucket] = await store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 60_000, stepMs: 60_000 })
      expect(bucket).toMatchObject({
        degradedMs: 15_000,
        downMs: 30_000,
        unknownMs: 15_000,
        polls: 2,
        height: 24_000_000,
      })
      expect(bucket?.latencyP50Ms).toBeCloseTo(10, 0)
      const availability = await store.availability([ENDPOINT], BASE + 45_000)
      expect(availability.get(ENDPOINT)?.['24h']).toMatchObject({ ratio: 0.333333, fresh: 0 })
      expect(await store.savedHealth()).toEqual([{ endpoint: ENDPOINT, at: BASE + 15_000, value: { streak: [1, 2] } }])
      for (const job of ['roll-up', 'retention', 'optimise', 'integrity'] as const) {
        expect(await store.run(job, BASE + 1_000_000)).toBe(true)
      }
      expect(await store.lastRuns()).toEqual(
        new Map([
          ['integrity', BASE + 1_000_000],
          ['optimise', BASE + 1_000_000],
          ['retention', BASE + 1_000_000],
          ['roll-up', BASE + 1_000_000],
        ]),
      )
      expect(store.status()).toMatchObject({ trouble: null, rowsWritten: 2, rowsDropped: 0, queueRows: 0 })
    })
  }

  test('continues after a restart, with the holds of the earlier polls', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE + 600_000 })
    const first = await opened({ path, clock })
    first.store.register([{ endpoint: ENDPOINT, holdMs: 120_000 }], BASE)
    first.store.poll(pollOf(BASE))
    await first.store.close()

    const { store } = await opened({ path, clock })
    store.register([{ endpoint: ENDPOINT, holdMs: 10_000 }], BASE + 300_000)
    store.poll(pollOf(BASE + 300_000))
    await store.flush()

    const [bucket] = await store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 600_000, stepMs: 600_000 })
    expect(bucket).toMatchObject({ upMs: 130_000, unknownMs: 470_000, polls: 2 })
  })

  test('collects polls for a quarter of a second, and writes 500 of them at once', async () => {
    const clock = createFakeClock({ now: BASE })
    const commits: number[] = []
    let second = () => {}
    const committed = new Promise<void>((resolve) => {
      second = resolve
    })
    const { store } = await opened({
      path: ':memory:',
      clock,
      onCommit: ({ rows }) => {
        commits.push(rows)
        if (commits.length === 2) second()
      },
    })
    store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
    for (let row = 0; row < 499; row++) store.poll(pollOf(BASE + row))
    await clock.advance(249)
    expect(store.status().queueRows).toBe(499)

    store.poll(pollOf(BASE + 499))
    store.poll(pollOf(BASE + 500))
    await store.lastRuns()
    expect(commits).toEqual([500])
    await clock.advance(250)
    await committed

    expect(commits).toEqual([500, 1])
  })

  test('does not store a poll of an unregistered endpoint, and counts it', async () => {
    const { store, log } = await opened({ path: ':memory:' })

    store.poll(pollOf(BASE))
    store.poll(pollOf(BASE + 1))

    expect(store.status()).toMatchObject({ rowsDropped: 2, queueRows: 0 })
    expect(log.lines).toEqual(['a poll of an unregistered endpoint is not stored'])
  })

  test('drops numbers that no column accepts, and stores the rest of the poll', async () => {
    const { store } = await opened({ path: ':memory:', clock: createFakeClock({ now: BASE + 60_000 }) })
    store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)

    store.poll(pollOf(BASE + 0.7, { height: 2 ** 60, lagBlocks: 1.5, heartbeatLagMs: Number.POSITIVE_INFINITY }))
    await store.flush()

    const [bucket] = await store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 60_000, stepMs: 60_000 })
    expect(bucket).toMatchObject({ polls: 1, upMs: 30_000, height: null, lagBlocksMax: 2, heartbeatLagMaxMs: null })
    expect(store.status().trouble).toBeNull()
  })

  test('stores every kind of failure under its own number', () => {
    const numbers = new Set(FAILURE_KINDS.map((kind) => outcomeOf('down', false, kind)))

    expect(numbers.size).toBe(FAILURE_KINDS.length)
    expect(outcomeOf('up', true, null)).toBe(0)
  })

  test('closed during a long job ends the job, and writes what is queued', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const hours = 20_000
    const now = BASE + hours * HOUR_MS
    const clock = createFakeClock({ now })
    const first = await opened({ path, clock })
    first.store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
    for (let hour = 0; hour < hours; hour++) first.store.poll(pollOf(BASE + hour * HOUR_MS))
    await first.store.flush()

    const rolling = first.store.run('roll-up', now)
    const retaining = first.store.run('retention', now)
    // Answered between two steps of the job.
    await first.store.lastRuns()
    first.store.poll(pollOf(now))
    await first.store.close()

    expect([await rolling, await retaining]).toEqual([false, false])
    const db = new Database(path, { readonly: true })
    expect(db.prepare('SELECT count(*) FROM polls').pluck().get()).toBe(hours + 1)
    expect(db.prepare("SELECT value FROM marks WHERE name = 'clean'").pluck().get()).toBe(1)
    const rolled = db.prepare('SELECT count(*) FROM five_minutes').pluck().get()
    expect(rolled).toBeGreaterThan(0)
    expect(rolled).toBeLessThan(hours)
    db.close()
  })

  test.each(SIZES)('does not wait for a check of $what that was ended, and reports no damage', async ({ bytes }) => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store } = await opened({ path })
    enlarge(path, bytes)
    const ending = new AbortController()

    const check = store.run('integrity', BASE, ending.signal)
    ending.abort()

    expect(await check).toBe(false)
    expect(store.status().integrityOk).toBe(true)
    expect((await store.lastRuns()).has('integrity')).toBe(false)
  })

  test('checks a small file with a long WAL in a process', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store } = await opened({ path })
    store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
    await store.flush()
    enlarge(`${path}-wal`, 32 * 1024 * 1024)

    const processes = () => process.getActiveResourcesInfo().filter((one) => one === 'ProcessWrap').length
    const before = processes()

    const check = store.run('integrity', BASE)

    await expect.poll(processes, { interval: 5 }).toBe(before + 1)
    expect(await check).toBe(true)
  })

  test.each(SIZES)('detects a damaged page in the middle of $what', async ({ bytes }) => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store } = await opened({ path })
    store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], BASE)
    for (let poll = 0; poll < 5000; poll++) store.poll(pollOf(BASE + poll * 1000))
    await store.flush()
    const other = new Database(path)
    other.pragma('wal_checkpoint(TRUNCATE)')
    other.close()
    const file = openSync(path, 'r+')
    const middle = Math.floor(statSync(path).size / 8192) * 4096
    enlarge(path, bytes)
    expect(await store.run('integrity', BASE)).toBe(true)
    writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, middle)
    closeSync(file)

    expect(await store.run('integrity', BASE)).toBe(false)
    expect(store.status().integrityOk).toBe(false)
  })
})
