import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { expect, onTestFinished, test, vi } from 'vitest'
import { checkFile } from '../../src/store/sqlite/integrity.ts'
import { removeFolder, temporaryFolder, until } from '../support/daemon.ts'

function open(): string {
  const folder = temporaryFolder()
  onTestFinished(() => removeFolder(folder))
  return join(folder, 'store.db')
}

/** The environment of the process that was started with this argument; `null` if there is none. */
function environmentOf(argument: string): string[] | null {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [program] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(-2)
      if (program === argument) return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').filter(Boolean)
    } catch {
      // The process has ended.
    }
  }
  return null
}

test('the process that checks a file gets no secrets of the environment', async () => {
  vi.stubEnv('HEARTLINE_TOKEN', 'canary-of-the-token')
  onTestFinished(() => void vi.unstubAllEnvs())
  const path = open()
  // Opening it waits until it is written, so that the process goes on while its environment is read.
  execFileSync('mkfifo', [path])
  const ending = new AbortController()

  const checked = checkFile(path, ending.signal)
  let environment: string[] | null = null
  await until(() => (environment = environmentOf(path)) !== null, 'the process is found')
  ending.abort()

  expect(await checked).toBe('ended')
  expect((environment ?? ['none']).filter((variable) => !variable.startsWith('LD_LIBRARY_PATH='))).toEqual([])
})

test('the process that checks a file needs no environment', async () => {
  const path = open()
  new Database(path).exec('CREATE TABLE polls (at INTEGER)').close()

  expect(await checkFile(path, new AbortController().signal)).toBe('sound')
})
