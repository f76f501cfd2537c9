import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeFolder, runHeartline, startDaemon } from '../support/daemon.ts'

/** For a process that would let everyone write to its files. Threads cannot set the umask. */
const CODE = "import { isMainThread } from 'node:worker_threads'; if (isMainThread) process.umask(0)"
const LAX = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(CODE)}` }

function modesIn(folder: string): readonly string[] {
  return readdirSync(folder).map((name) => `${name} ${(statSync(join(folder, name)).mode & 0o777).toString(8)}`)
}

test('the store, its folders and a backup are for the user of the daemon alone, whatever the umask', async (context) => {
  const networks = [{ name: 'net', family: 'ethereum', endpoints: [{ name: 'closed', url: 'http://127.0.0.1:9' }] }]
  const store = { path: 'data/deep/heartline.db' }
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
