import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openStore } from '../../src/store/open-store.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { createQueries } from '../../src/store/sqlite/queries.ts'
import { lines } from '../store/setting.ts'
import { bundled } from '../support/bundled.ts'
import { canBreakDisks, createFaultyDisk } from './faults.ts'
import { killWhileWriting } from './kill.ts'
import { createRandom } from './random.ts'
import { pollAt, RETENTION, START, UNLIMITED, WRITTEN_ENDPOINT } from './written.ts'

const WORK = fileURLToPath(new URL('./children/work.ts', import.meta.url))
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Three days, a poll every ten seconds. */
const POLLS = (3 * DAY_MS) / 10_000
const NOW = START + 3 * DAY_MS

let directory: string
let filled: string
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'heartline-proof-'))
  filled = join(directory, 'filled.db')
  await fill(filled)
})
afterAll(() => rmSync(directory, { recursive: true, force: true }))

function open(path: string) {
  return openStore({ path, retention: RETENTION, maxSizeBytes: UNLIMITED, clock: systemClock, log: lines() })
}

async function fill(path: string): Promise<void> {
  const store = await open(path)
  store.register([{ endpoint: WRITTEN_ENDPOINT, holdMs: 20_000 }], 0)
  for (let poll = 0; poll < POLLS; poll++) store.poll({ ...pollAt(poll), at: START + poll * 10_000 })
  await store.flush()
  // An hour is left to be added up, and a day to be deleted.
  expect(await store.run('roll-up', NOW - HOUR_MS)).toBe(true)
  await store.close()
}

function openAgain(path: string) {
  return openDatabase(path, readMigrations(SQLITE_MIGRATIONS), UNLIMITED).db
}

/** The history of these days as people see it, by the hour. */
function historyIn(path: string) {
  const db = openAgain(path)
  const query = { endpoint: WRITTEN_ENDPOINT, from: START, to: NOW, stepMs: HOUR_MS }
  const buckets = createQueries(db).history(query, NOW)
  const sound = db.pragma('integrity_check', { simple: true })
  db.close()
  return { buckets, sound }
}

function pollsIn(path: string): number {
  const db = new Database(path, { readonly: true })
  const polls = db.prepare('SELECT count(*) FROM polls').pluck().get()
  db.close()
  return Number(polls)
}

test('kill -9 while writing leaves whole batches, every acknowledged one, and the health saved with them', async () => {
  const cycles = []
  const options = { cycles: 4, directory, random: createRandom(4), leastMs: 50, mostMs: 250, from: 'src' } as const
  for await (const cycle of killWhileWriting(options)) cycles.push(cycle)

  expect(cycles).toHaveLength(4)
  for (const cycle of cycles) expect(cycle).toMatchObject({ lost: 0, sound: true, whole: true })
  expect(cycles.reduce((sum, { acknowledged }) => sum + acknowledged, 0)).toBeGreaterThan(100)
}, 120_000)

/** After so many calls on the disk the work is killed in the middle of the next one. */
const MOMENTS = [0, 20, 45, 100, 150, 225, 340, 510]

describe.skipIf(!canBreakDisks())('kill -9 in the middle of a call on the disk', () => {
  let program: string
  beforeAll(async () => {
    program = await bundled(WORK)
  })

  /** Works on a copy of the filled store, and is killed at each of the moments until it ends by itself. */
  function killAt(work: string, part: string, look: (path: string, copy: string) => void, moments = MOMENTS): number {
    const disk = createFaultyDisk(directory)
    let killed = 0
    for (const skip of moments) {
      disk.mend()
      const folder = mkdtempSync(join(directory, `${work}-`))
      const path = join(folder, 'store.db')
      const copy = join(folder, 'copied')
      copyFileSync(filled, path)
      const args = [program, path, work, String(NOW), `KILL wst ${part} ${skip}`, copy]
      const child = spawnSync(process.execPath, args, { env: { ...process.env, ...disk.env }, encoding: 'utf8' })
      expect([child.status, child.signal], child.stderr).toContainEqual(child.signal === null ? 0 : 'SIGKILL')
      if (child.signal === 'SIGKILL') killed++
      look(path, copy)
      if (child.signal === null) return killed
    }
    return killed
  }

  test('of retention leaves the same history as before, and a second attempt succeeds', async () => {
    const before = historyIn(filled)
    const left = new Set<number>()
    const paths: string[] = []

    const killed = killAt('retention', '/store.db', (path) => {
      expect(historyIn(path)).toEqual(before)
      left.add(pollsIn(path))
      paths.push(path)
    })

    expect(before.buckets).toHaveLength(72)
    expect(before.buckets.reduce((sum, { polls }) => sum + polls, 0)).toBe(POLLS)
    expect(killed).toBeGreaterThan(5)
    // Some were killed before it deleted anything, some after.
    expect(left.size).toBeGreaterThan(1)
    for (const path of paths) {
      const store = await open(path)
      expect(await store.run('retention', NOW)).toBe(true)
      await store.close()
      expect(historyIn(path)).toEqual(before)
      expect(pollsIn(path)).toBe(Math.min(...left))
    }
  }, 120_000)

  test('of a backup leaves no copy or a whole one, and the store unchanged', () => {
    let copies = 0

    const killed = killAt('backup', '/copied.partial', (path, copy) => {
      expect(pollsIn(path)).toBe(POLLS)
      if (!existsSync(copy)) return
      copies++
      expect(historyIn(copy)).toMatchObject({ sound: 'ok' })
      expect(pollsIn(copy)).toBe(POLLS)
    })

    expect(killed).toBeGreaterThan(5)
    expect(copies).toBeGreaterThan(0)
  }, 120_000)

  test('of closing leaves every poll', () => {
    const moments = [0, 1, 2, 4, 7, 11, 16, 510]

    const killed = killAt('close', '/store.db', (path) => expect(pollsIn(path)).toBe(POLLS), moments)

    expect(killed).toBeGreaterThan(1)
  }, 120_000)
})
