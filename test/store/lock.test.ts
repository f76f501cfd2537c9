import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { takeLock } from '../../src/store/sqlite/disk.ts'
import { StoreError } from '../../src/store/store.ts'
import { bundled } from '../support/bundled.ts'
import { BASE, opened, temporaryDirectory } from './setting.ts'

const CHILD = fileURLToPath(new URL('./children/write.ts', import.meta.url))

/** Another process that writes to this store; resolves, once it does, to what kills it. */
async function writerOf(path: string): Promise<() => Promise<void>> {
  const side = join(temporaryDirectory(), 'side')
  const child = spawn(process.execPath, [await bundled(CHILD), path, side, String(BASE)], { stdio: 'inherit' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  const deadline = systemClock.monotonic() + 15_000
  while (!existsSync(side) && systemClock.monotonic() < deadline) await systemClock.sleep(10)
  return async () => {
    child.kill('SIGKILL')
    await ended
  }
}

test('a store that another process has open is rejected at once; after kill -9 it is free again', async () => {
  const path = join(temporaryDirectory(), 'store.db')
  const kill = await writerOf(path)

  const before = systemClock.monotonic()
  const refusal = await opened({ path }).catch((error: unknown) => error)
  expect(systemClock.monotonic() - before).toBeLessThan(1000)
  expect(refusal).toBeInstanceOf(StoreError)
  expect(refusal).toMatchObject({ kind: 'store-in-use' })

  await kill()
  const { store } = await opened({ path })
  expect(store.status().trouble).toBeNull()
})

test('a symbolic link is the store that it leads to: it has the same lock, and after kill -9 the same history', async () => {
  const [links, disk] = [temporaryDirectory(), temporaryDirectory()]
  const link = join(links, 'store.db')
  symlinkSync(join(disk, 'store.db'), link)
  const kill = await writerOf(link)

  await expect(opened({ path: join(disk, 'store.db') })).rejects.toMatchObject({ kind: 'store-in-use' })

  await kill()
  const { store, log } = await opened({ path: link })
  expect(store.status()).toMatchObject({ trouble: null, integrityOk: true })
  expect(log.lines).toEqual([])
  expect(readdirSync(links)).toEqual(['store.db'])
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
