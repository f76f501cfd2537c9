import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { describe, expect, test } from 'vitest'
import { backupStore } from '../../src/store/sqlite/backup.ts'
import { BASE, HOLD_MS, opened, pollOf, temporaryDirectory } from './setting.ts'

function rowsIn(path: string): number {
  const db = new Database(path, { readonly: true })
  const rows = db.prepare('SELECT count(*) FROM polls').pluck().get() as number
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
  db.close()
  return rows
}

async function filled(path: string, rows: number) {
  const { store } = await opened({ path })
  store.register([{ endpoint: 'ethereum/own-1', holdMs: HOLD_MS }], BASE)
  for (let row = 0; row < rows; row++) store.poll(pollOf(BASE + row))
  await store.flush()
  return store
}

describe('a backup', () => {
  test('of a store that is being written is one file with whole batches', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const store = await filled(path, 20_000)

    const copied = backupStore(path, join(directory, 'copy.db'))
    for (let row = 0; row < 5000; row++) store.poll(pollOf(BASE + 20_000 + row))
    await store.flush()
    await copied

    const rows = rowsIn(join(directory, 'copy.db'))
    expect(rows).toBeGreaterThanOrEqual(20_000)
    expect(rows % 500).toBe(0)
    expect(readdirSync(directory).filter((name) => name.startsWith('copy'))).toEqual(['copy.db'])
  })

  test('from another process, of a live store, has every acknowledged poll', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const store = await filled(path, 3000)

    await backupStore(path, join(directory, 'copy.db'))

    expect(rowsIn(join(directory, 'copy.db'))).toBe(3000)
    expect(store.status().trouble).toBeNull()
  })

  test('from another process, of a closed store, can be opened', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const store = await filled(path, 1500)
    await store.close()
    await backupStore(path, join(directory, 'copy.db'))

    const copy = await opened({ path: join(directory, 'copy.db') })

    expect(copy.store.status()).toMatchObject({ trouble: null, integrityOk: true })
    expect(rowsIn(join(directory, 'copy.db'))).toBe(1500)
  })

  test('that begins while another one writes the same file fails and leaves that one alone', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    const store = await filled(path, 100_000)

    const both = await Promise.allSettled([1, 2].map(() => backupStore(path, join(directory, 'copy.db'))))

    expect(rowsIn(join(directory, 'copy.db'))).toBe(100_000)
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(readdirSync(directory).filter((name) => name.startsWith('copy'))).toEqual(['copy.db'])
    expect(store.status().trouble).toBeNull()
  })

  test('that fails leaves no file and reports the error', async () => {
    const directory = temporaryDirectory()
    const path = join(directory, 'store.db')
    await filled(path, 10)

    await expect(backupStore(path, join(directory, 'missing', 'copy.db'))).rejects.toThrow()
    await expect(backupStore(join(directory, 'none.db'), join(directory, 'copy.db'))).rejects.toThrow()

    expect(existsSync(join(directory, 'copy.db'))).toBe(false)
    expect(readdirSync(directory).some((name) => name.endsWith('.partial'))).toBe(false)
  })
})
