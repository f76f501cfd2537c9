import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Worker } from 'node:worker_threads'
import Database from 'better-sqlite3'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { Unreadable } from '../../src/store/reads.ts'
import { type Store, StoreError } from '../../src/store/store.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { mayMount } from '../support/mount.ts'
import { BASE, HOLD_MS, opened, pollOf, temporaryDirectory } from './setting.ts'

const ENDPOINT = 'ethereum/own-1'

function mounted(...options: string[]): string {
  const directory = temporaryDirectory()
  execFileSync('mount', [...options, directory])
  onTestFinished(() => {
    execFileSync('umount', ['-l', directory])
  })
  return directory
}

function fill(file: string): void {
  const block = Buffer.alloc(64 * 1024, 1)
  try {
    for (;;) writeFileSync(file, block, { flag: 'a' })
  } catch {
    // That is the point.
  }
}

let at = BASE
function pollMany(store: Store, count: number): void {
  for (let poll = 0; poll < count; poll++) store.poll(pollOf((at += 100)))
}

function register(store: Store): void {
  store.register([{ endpoint: ENDPOINT, holdMs: HOLD_MS }], at)
}

function rowsIn(path: string): number {
  const db = new Database(path, { readonly: true })
  const rows = db.prepare('SELECT count(*) FROM polls').pluck().get() as number
  db.close()
  return rows
}

async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = systemClock.monotonic() + 90_000
  while (!(await condition())) {
    if (systemClock.monotonic() > deadline) throw new Error('it never happened')
    await systemClock.sleep(10)
  }
}

describe.skipIf(!mayMount())('a disk', () => {
  test('that is full releases the reserve and goes on; without a reserve polls wait, and none gets lost', async () => {
    const directory = mounted('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs')
    const path = join(directory, 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock })
    register(store)
    await until(() => existsSync(`${path}.reserve`))
    pollMany(store, 1000)
    await store.flush()

    fill(join(directory, 'filler'))
    let queued = 1000
    while (existsSync(`${path}.reserve`)) {
      pollMany(store, 1000)
      queued += 1000
      await store.flush()
    }
    expect(store.status()).toMatchObject({ trouble: null, rowsWritten: queued })

    fill(join(directory, 'filler'))
    while (store.status().trouble === null) {
      pollMany(store, 1000)
      queued += 1000
      await store.flush()
      fill(join(directory, 'filler'))
    }
    const { trouble, writeFailures, queueRows } = store.status()
    expect(trouble).toBe('full')
    expect(writeFailures.get('full')).toBeGreaterThan(0)
    expect(queueRows).toBeGreaterThan(0)

    rmSync(join(directory, 'filler'))
    await clock.advance(5000)
    await store.flush()
    expect(store.status()).toMatchObject({ trouble: null, rowsWritten: queued, rowsDropped: 0, queueRows: 0 })
    expect(rowsIn(path)).toBe(queued)
  }, 120_000)

  test('that cannot be written at the start is rejected with the reason', async () => {
    const directory = mounted('-t', 'tmpfs', '-o', 'size=24m,ro', 'tmpfs')
    const path = join(directory, 'store', 'store.db')

    const refusal = await opened({ path }).catch((error: unknown) => error)

    expect(refusal).toBeInstanceOf(StoreError)
    expect(refusal).toMatchObject({ kind: 'read-only' })
    expect((refusal as StoreError).message).toContain(`${path} cannot be written`)
  })

  test('that turns read-only is rejected at the next start, and the store stays unchanged', async () => {
    const directory = mounted('-t', 'tmpfs', '-o', 'size=24m', 'tmpfs')
    const path = join(directory, 'store.db')
    const first = await opened({ path })
    register(first.store)
    pollMany(first.store, 10)
    await first.store.close()
    execFileSync('mount', ['-o', 'remount,ro', directory])

    const refusal = await opened({ path }).catch((error: unknown) => error)

    expect(refusal).toMatchObject({ kind: 'read-only' })
    execFileSync('mount', ['-o', 'remount,rw', directory])
    const { store } = await opened({ path })
    expect(store.status()).toMatchObject({ trouble: null, integrityOk: true })
    expect(rowsIn(path)).toBe(10)
  })

  test('that turns read-only later is trouble that loses no poll and recovers by itself', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock })
    register(store)
    pollMany(store, 10)
    await store.flush()

    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,ro', 'tmpfs', directory])
    let umounted = false
    const umount = () => {
      if (!umounted) execFileSync('umount', ['-l', directory])
      umounted = true
    }
    onTestFinished(umount)
    await clock.advance(10_000)
    await until(() => store.status().trouble !== null)
    pollMany(store, 5)
    await store.flush()
    expect(store.status()).toMatchObject({ trouble: 'read-only', queueRows: 5 })
    const history = store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 1000, stepMs: 1000 })
    await expect(history).rejects.toThrow(Unreadable)
    expect(await store.savedHealth()).toEqual([])
    expect(await store.incidents({ limit: 10 })).toEqual([])
    await expect(store.incident('any')).rejects.toThrow(Unreadable)

    umount()
    await clock.advance(5000)
    await store.flush()
    expect(store.status()).toMatchObject({ trouble: null, queueRows: 0, rowsWritten: 15 })
    expect(rowsIn(path)).toBe(15)
  })
})

describe('a path', () => {
  test('on NFS is rejected before a file is created', async () => {
    const path = join(temporaryDirectory(), 'data', 'store.db')
    const asked: string[] = []
    const fileSystemType = (directory: string) => {
      asked.push(directory)
      return 0x6969
    }

    const refusal = await opened({ path, fileSystemType }).catch((error: unknown) => error)

    expect(refusal).toMatchObject({ kind: 'network-disk' })
    expect((refusal as StoreError).message).toContain('has neither the shared memory nor the reliable locks')
    expect(asked).toEqual([join(path, '..')])
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  test('below a file, or of a directory, is rejected', async () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, 'file'), '')

    for (const path of [join(directory, 'file', 'store.db'), join(directory, 'file', 'deep', 'store.db'), directory]) {
      const refusal = await opened({ path }).catch((error: unknown) => error)
      expect(refusal).toMatchObject({ kind: 'read-only' })
    }
  })
})

describe('a quota', () => {
  test('that is reached deletes the oldest polls, and never the newest', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock, maxSizeBytes: 1024 * 1024 })
    register(store)
    const first = at

    for (let round = 0; round < 100; round++) {
      const before = at
      pollMany(store, 1500)
      await clock.advance(at - before)
      await store.flush()
      expect(store.status()).toMatchObject({ trouble: null, queueRows: 0 })
    }

    expect(statSync(path).size).toBeLessThanOrEqual(1024 * 1024)
    const db = new Database(path, { readonly: true })
    const newest = db.prepare('SELECT max(slot * 300000 + offset_ms) FROM polls').pluck().get()
    expect(newest).toBe(at)
    // What went is still there, added up.
    const [bucket] = await store.history({
      endpoint: ENDPOINT,
      from: Math.ceil(first / 300_000) * 300_000,
      to: at,
      stepMs: 300_000,
    })
    expect(bucket).toMatchObject({ upMs: 300_000, polls: 3000 })
    db.close()
  }, 120_000)

  test('that the very first polls reach makes room for their aggregates', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock, maxSizeBytes: 512 * 1024 })
    register(store)
    const before = at

    pollMany(store, 50_000)
    await clock.advance(at - before)
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, queueRows: 0, rowsWritten: 50_000 })
    expect(statSync(path).size).toBeLessThanOrEqual(640 * 1024)
  }, 120_000)
})

describe('a file', () => {
  test('of garbage is moved aside, and a new one created', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    writeFileSync(path, Buffer.alloc(20_000, 7))

    const { store, log } = await opened({ path })
    register(store)
    pollMany(store, 3)
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, rowsWritten: 3, integrityOk: false })
    const aside = readdirSync(directory).find((name) => name.startsWith('store.db.corrupt-'))
    expect(statSync(join(directory, aside ?? '')).size).toBe(20_000)
    expect(log.lines).toContain('the store was damaged: it was moved aside, and a new one created')
  })

  test('that was truncated is moved aside', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const first = await opened({ path })
    register(first.store)
    pollMany(first.store, 5000)
    await first.store.flush()
    await first.store.close()
    truncateSync(path, statSync(path).size - 40_000)

    const { store } = await opened({ path })
    register(store)
    pollMany(store, 1)
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, rowsWritten: 1, integrityOk: false })
    expect(rowsIn(path)).toBe(1)
  })

  test('that is deleted while it is open is created again, with all endpoints and the plan', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock })
    register(store)
    store.maintain([{ endpoint: ENDPOINT, from: BASE + 1000, until: BASE + 3000 }], BASE)
    pollMany(store, 5)
    await store.flush()

    for (const part of ['', '-wal', '-shm']) rmSync(path + part)
    await clock.advance(10_000)
    await until(() => existsSync(path))
    pollMany(store, 2)
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, rowsWritten: 7 })
    expect(rowsIn(path)).toBe(2)
    const from = at - 50
    expect(await store.history({ endpoint: ENDPOINT, from, to: at + 950, stepMs: 1000 })).toHaveLength(1)
    const [planned] = await store.history({ endpoint: ENDPOINT, from: BASE, to: BASE + 5000, stepMs: 5000 })
    expect(planned?.maintenanceMs).toBe(2000)
  })

  test('that another process is writing delays neither callers nor, afterwards, a single poll', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock })
    register(store)
    await store.flush()
    const foreign = new Database(path)
    foreign.exec('BEGIN IMMEDIATE')

    const before = systemClock.monotonic()
    pollMany(store, 700)
    expect(systemClock.monotonic() - before).toBeLessThan(250)
    await store.flush()
    expect(store.status()).toMatchObject({ trouble: 'busy', queueRows: 700, rowsWritten: 0 })

    foreign.exec('COMMIT')
    foreign.close()
    await clock.advance(5000)
    await store.flush()
    expect(store.status()).toMatchObject({ trouble: null, queueRows: 0, rowsWritten: 700 })
  })
})

describe('a thread that dies', () => {
  test('is restarted, and loses neither an acknowledged poll nor a queued one', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store, workers } = await opened({ path, clock })
    register(store)
    pollMany(store, 100)
    await store.flush()

    pollMany(store, 600)
    const flushed = store.flush()
    await workers[0]?.terminate()
    await flushed
    await until(() => store.status().threadRestarts === 1)
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, rowsDropped: 0, queueRows: 0 })
    expect(rowsIn(path)).toBe(700)
    expect(workers).toHaveLength(2)
  })

  test('and cannot be started for a while is measured again afterwards', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const workers: Worker[] = []
    let mayStart = true
    const onSpawn = (worker: Worker): void => {
      workers.push(worker)
      if (mayStart) return
      void worker.terminate()
      throw new Error('no memory for another thread')
    }
    const { store } = await opened({ path, clock, onSpawn })
    register(store)
    await store.flush()
    mayStart = false
    await workers[0]?.terminate()
    await until(() => store.status().trouble === 'other')

    for (let time = 0; time < 3; time++) await clock.advance(10_000)
    mayStart = true
    // The end of a thread comes when the machine lets it: the clock goes on until then.
    const tenSecondsLater = async (holds: () => boolean) => {
      await clock.advance(10_000)
      return holds()
    }
    await until(() => tenSecondsLater(() => store.status().trouble === null))
    const before = store.status().databaseBytes ?? 0
    pollMany(store, 3000)
    await store.flush()

    await until(() => tenSecondsLater(() => (store.status().databaseBytes ?? 0) > before))
  })

  test('and finds its file damaged moves the file aside', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store, workers } = await opened({ path, clock: createFakeClock({ now: BASE }) })
    register(store)
    pollMany(store, 3000)
    await store.flush()
    const other = new Database(path)
    other.pragma('wal_checkpoint(TRUNCATE)')
    other.close()

    await workers[0]?.terminate()
    for (const part of ['-wal', '-shm']) rmSync(path + part, { force: true })
    writeFileSync(path, Buffer.alloc(8192, 0xa5), { flag: 'r+' })
    pollMany(store, 3)
    await store.flush()
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, integrityOk: false, queueRows: 0 })
    expect(rowsIn(path)).toBe(3)
  })

  test('while it reads is restarted for the next query', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const { store, workers } = await opened({ path })
    register(store)
    store.poll(pollOf(BASE))
    await store.flush()
    const query = { endpoint: ENDPOINT, from: BASE, to: BASE + 1000, stepMs: 1000 }
    await store.history(query)

    await workers[1]?.terminate()
    const [bucket] = await store.history(query)

    expect(bucket).toMatchObject({ polls: 1 })
    expect(store.status().threadRestarts).toBe(1)
  })
})

describe('a disk that accepts nothing for long', () => {
  test('loses only the oldest polls, and counts them', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const clock = createFakeClock({ now: BASE })
    const { store } = await opened({ path, clock, maxQueueRows: 2000 })
    register(store)
    store.saveHealth({ endpoint: ENDPOINT, at: BASE, value: 'first' })
    await store.flush()
    const foreign = new Database(path)
    foreign.exec('BEGIN IMMEDIATE')
    pollMany(store, 500)
    store.saveHealth({ endpoint: ENDPOINT, at: BASE + 1, value: 'second' })
    await store.flush()
    pollMany(store, 4500)
    expect(store.status()).toMatchObject({ queueRows: 2000, rowsDropped: 3000, trouble: 'busy' })

    foreign.exec('COMMIT')
    foreign.close()
    await store.flush()

    expect(store.status()).toMatchObject({ trouble: null, queueRows: 0, rowsDropped: 3000 })
    const db = new Database(path, { readonly: true })
    expect(db.prepare('SELECT max(slot * 300000 + offset_ms) FROM polls').pluck().get()).toBe(at)
    db.close()
    expect(await store.savedHealth()).toEqual([{ endpoint: ENDPOINT, at: BASE + 1, value: 'second' }])
  })
})
