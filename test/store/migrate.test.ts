import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { readMigrations, SQLITE_MIGRATIONS } from '../../src/store/migrations.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { migrate } from '../../src/store/sqlite/migrate.ts'
import { StoreError } from '../../src/store/store.ts'
import { bundled } from '../support/bundled.ts'
import { opened, temporaryDirectory } from './setting.ts'

const CHILD = fileURLToPath(new URL('./children/migrate.ts', import.meta.url))

function tablesOf(path: string): string[] {
  const db = new Database(path)
  const names = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all() as string[]
  db.close()
  return names
}

describe('migrations', () => {
  for (const { version, sql } of readMigrations(SQLITE_MIGRATIONS)) {
    const statements = sql.split(/;$/m).length - 1
    test(`number ${version} killed after any of its ${statements} statements leaves the old schema, and runs again`, async () => {
      const program = await bundled(CHILD)
      for (let after = 0; after <= statements; after++) {
        const path = join(temporaryDirectory(), 'store.db')

        const child = spawnSync(process.execPath, [program, path, String(version), String(after)])

        expect(child.signal, child.stderr.toString()).toBe('SIGKILL')
        const db = new Database(path)
        expect(db.pragma('user_version', { simple: true })).toBe(version - 1)
        migrate(db, readMigrations(SQLITE_MIGRATIONS))
        expect(db.pragma('user_version', { simple: true })).toBe(readMigrations(SQLITE_MIGRATIONS).length)
        db.close()
        expect(tablesOf(path)).toContain('polls')
      }
    }, 120_000)
  }

  test('run only once', () => {
    const db = new Database(':memory:')

    migrate(db, readMigrations(SQLITE_MIGRATIONS))
    migrate(db, readMigrations(SQLITE_MIGRATIONS))

    expect(db.pragma('user_version', { simple: true })).toBe(readMigrations(SQLITE_MIGRATIONS).length)
  })

  test('with a gap in their numbers are rejected', () => {
    const directory = temporaryDirectory()
    writeFileSync(join(directory, '0001-a.sql'), '')
    writeFileSync(join(directory, '0003-b.sql'), '')

    expect(() => readMigrations(directory)).toThrow('expected number 2, found 0003-b.sql')
  })

  test('reject a schema newer than this version supports, and leave the file unchanged', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    const newer = new Database(path)
    newer.pragma('journal_mode = WAL')
    newer.pragma(`user_version = ${readMigrations(SQLITE_MIGRATIONS).length + 1}`)
    newer.close()
    const before = readFileSync(path)

    const refusal = await opened({ path }).catch((error: unknown) => error)

    expect(refusal).toBeInstanceOf(StoreError)
    expect(refusal).toMatchObject({ kind: 'newer-schema' })
    expect(readFileSync(path).equals(before)).toBe(true)
  })

  test.each([0, 3])(
    'reject the file of another program, of its version %i, and leave it unchanged',
    async (version) => {
      const path = join(temporaryDirectory(), 'store.db')
      const other = new Database(path)
      other.exec('CREATE TABLE bookmarks (url TEXT); INSERT INTO bookmarks VALUES (1)')
      other.pragma(`user_version = ${version}`)
      other.close()
      const before = readFileSync(path)

      const refusal = await opened({ path }).catch((error: unknown) => error)

      expect(refusal).toMatchObject({ kind: 'foreign-database', message: expect.stringContaining('not a history') })
      expect(readFileSync(path).equals(before)).toBe(true)
    },
  )

  test('reject a text file, and leave it unchanged', async () => {
    const path = join(temporaryDirectory(), 'store.db')
    writeFileSync(path, 'networks:\n  - name: ethereum # Zürich\n')

    const refusal = await opened({ path }).catch((error: unknown) => error)

    expect(refusal).toMatchObject({ kind: 'foreign-database', message: expect.stringContaining('not a history') })
    expect(readFileSync(path, 'utf8')).toBe('networks:\n  - name: ethereum # Zürich\n')
  })

  test('make a file that can release its free pages, with explicit sync settings', () => {
    const { db } = openDatabase(join(temporaryDirectory(), 'store.db'), readMigrations(SQLITE_MIGRATIONS), 1024 ** 3)

    expect(db.pragma('auto_vacuum', { simple: true })).toBe(2)
    expect(db.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(db.pragma('synchronous', { simple: true })).toBe(1)
    expect(db.pragma('max_page_count', { simple: true })).toBe(1024 ** 3 / 4096)
    db.close()
  })
})
