import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { takeLock } from '../../src/store/sqlite/disk.ts'
import { StoreError } from '../../src/store/store.ts'
import { bundled } from '../support/bundled.ts'
import { BASE, opened, temporaryDirectory } from './setting.ts'

const CHILD = fileURLToPath(new URL('./children/write.ts', import.meta.url))

test('a store that another process has open is rejected at once; after kill -9 it is free again', async () => {
  const directory = temporaryDirectory()
  const path = join(directory, 'store.db')
  const side = join(directory, 'side')
  const child = spawn(process.execPath, [await bundled(CHILD), path, side, String(BASE)], { stdio: 'inherit' })
  const ended = once(child, 'exit')
  const deadline = systemClock.monotonic() + 15_000
  while (!existsSync(side) && systemClock.monotonic() < deadline) await systemClock.sleep(10)

  const before = systemClock.monotonic()
  const refusal = await opened({ path }).catch((error: unknown) => error)
  expect(systemClock.monotonic() - before).toBeLessThan(1000)
  expect(refusal).toBeInstanceOf(StoreError)
  expect(refusal).toMatchObject({ kind: 'store-in-use' })

  child.kill('SIGKILL')
  await ended
  const { store } = await opened({ path })
  expect(store.status().trouble).toBeNull()
})

test('a closed store is free for the next process, and leaves no WAL', async () => {
  const path = join(temporaryDirectory(), 'store.db')
  const { store } = await opened({ path })
  expect(() => takeLock(path)).toThrow(StoreError)

  await store.close()

  takeLock(path).release()
  expect(existsSync(`${path}-wal`)).toBe(false)
})

test('a folder that takes no new ones, such as /proc, is an error at once', async () => {
  const refusal = await opened({ path: '/proc/none/store.db' }).catch((error: unknown) => error)

  expect(refusal).toMatchObject({ kind: 'read-only' })
})
