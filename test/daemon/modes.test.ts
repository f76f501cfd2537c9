import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeFolder, runHeartline, startDaemon, temporaryFolder, until } from '../support/daemon.ts'

/** For a process that would let everyone write to its files. Threads cannot set the umask. */
const CODE = "import { isMainThread } from 'node:worker_threads'; if (isMainThread) process.umask(0)"
const LAX = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(CODE)}` }

function modesIn(folder: string): readonly string[] {
  return readdirSync(folder).map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`)
}

const networks = [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'closed', url: 'http://127.0.0.1:9' }] }]
const store = { path: 'data/deep/heartline.db' }

test('the store, its folders and a backup are for the user of the daemon alone, whatever the umask', async (context) => {
  const daemon = await startDaemon({ networks, store }, { env: LAX })
  context.onTestFinished(async () => {
    await daemon.stop('SIGKILL')
    removeFolder(daemon.folder)
  })
  const copy = join(daemon.folder, 'copy.db')

  const backup = await runHeartline(['-c', join(daemon.folder, 'heartline.yaml'), 'backup', copy], { env: LAX })

  expect(backup).toMatchObject({ status: 0, err: '' })
  expect(modesIn(join(daemon.folder, 'data'))).toEqual(['deep 700'])
  expect(modesIn(join(daemon.folder, 'data/deep'))).toEqual(
    expect.arrayContaining(['heartline.db 600', 'heartline.db-shm 600', 'heartline.db-wal 600']),
  )
  expect(modesIn(join(daemon.folder, 'data/deep')).filter((line) => !line.endsWith(' 600'))).toEqual([])
  expect(modesIn(daemon.folder)).toContain('data 700')
  expect(modesIn(daemon.folder)).toContain('copy.db 600')
}, 120_000)

test('a store and folders that exist keep their modes', async (context) => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'data/deep'), { recursive: true })
  const file = join(folder, 'data/deep/heartline.db')
  writeFileSync(file, '')
  chmodSync(file, 0o640)
  for (const existing of ['data', 'data/deep']) chmodSync(join(folder, existing), 0o750)
  const daemon = await startDaemon({ networks, store }, { folder })
  context.onTestFinished(async () => {
    await daemon.stop('SIGKILL')
    removeFolder(folder)
  })

  await until(() => statSync(file).size > 0, 'the store is written')

  expect(modesIn(folder)).toContain('data 750')
  expect(modesIn(join(folder, 'data'))).toEqual(['deep 750'])
  expect(modesIn(join(folder, 'data/deep'))).toContain('heartline.db 640')
}, 120_000)
