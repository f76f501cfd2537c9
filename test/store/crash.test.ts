import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { isSound } from '../../src/store/sqlite/integrity.ts'
import { bundled } from '../support/bundled.ts'
import { BASE, batchOf, benchOn, opened, pollOf, temporaryDirectory } from './setting.ts'

const CHILD = fileURLToPath(new URL('./children/write.ts', import.meta.url))
const CYCLES = 10
const TORN = 50

async function until(condition: () => boolean): Promise<void> {
  const deadline = systemClock.monotonic() + 60_000
  while (!condition()) {
    if (systemClock.monotonic() > deadline) throw new Error('it never happened')
    await systemClock.sleep(5)
  }
}

function lastAcknowledged(side: string): number {
  return existsSync(side) ? Number(readFileSync(side, 'utf8').trimEnd().split('\n').at(-1)) : 0
}

test(`kill -9 in the middle of writing, ${CYCLES} times, loses no acknowledged poll`, async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'store.db')
  const program = await bundled(CHILD)
  const acknowledged: (readonly [from: number, to: number])[] = []

  for (let cycle = 0; cycle < CYCLES; cycle++) {
    const start = BASE + cycle * 1_000_000
    const side = join(directory, `acknowledged-${cycle}`)
    const child = spawn(process.execPath, [program, path, side, String(start)], { stdio: 'inherit' })
    onTestFinished(() => void child.kill('SIGKILL'))
    const ended = once(child, 'exit')
    await until(() => existsSync(side) || child.exitCode !== null)
    await systemClock.sleep(5 + Math.random() * 150)
    child.kill('SIGKILL')
    await ended
    acknowledged.push([start, lastAcknowledged(side)])
  }

  const { store } = await opened({ path })
  expect(store.status()).toMatchObject({ trouble: null, integrityOk: true })
  const db = new Database(path, { readonly: true })
  const count = db.prepare('SELECT count(*) FROM polls WHERE slot * 300000 + offset_ms BETWEEN ? AND ?').pluck()
  for (const [start, to] of acknowledged) {
    expect(to).toBeGreaterThan(start)
    expect(count.get(start + 1, to)).toBe(to - start)
  }
  expect(isSound(db)).toBe(true)
  db.close()
}, 120_000)

test(`a WAL torn at any byte, ${TORN} times, leaves the first transactions whole`, () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'store.db')
  const { db, writing } = benchOn(path)
  writing.register([{ index: 0, endpoint: 'ethereum/own-1', holdMs: 30_000, at: BASE }])
  db.pragma('wal_checkpoint(TRUNCATE)')
  for (let batch = 0; batch < 40; batch++) {
    writing.write(batchOf(Array.from({ length: 20 }, (_, row) => pollOf(BASE + (batch * 20 + row) * 1000))))
  }
  const size = statSync(`${path}-wal`).size
  const kept = new Set<number>()

  for (let cut = 0; cut < TORN; cut++) {
    const copy = join(directory, `torn-${cut}.db`)
    copyFileSync(path, copy)
    copyFileSync(`${path}-wal`, `${copy}-wal`)
    truncateSync(`${copy}-wal`, Math.floor(Math.random() * size))
    const torn = openDatabase(copy, readMigrations(SQLITE_MIGRATIONS), 1024 ** 3).db

    const rows = torn.prepare('SELECT slot * 300000 + offset_ms FROM polls ORDER BY 1').pluck().all() as number[]

    expect(isSound(torn)).toBe(true)
    expect(rows.length % 20).toBe(0)
    expect(rows).toEqual(Array.from(rows, (_, row) => BASE + row * 1000))
    kept.add(rows.length)
    torn.close()
  }

  expect(kept.size).toBeGreaterThan(10)
  db.close()
})
