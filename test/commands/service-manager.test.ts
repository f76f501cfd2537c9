import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServiceManager } from '../../src/commands/service-manager.ts'
import { bundled } from '../support/bundled.ts'
import { removeFolder, temporaryFolder, until } from '../support/daemon.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => removeFolder(folder))

/** Stands in for systemd-notify: appends its arguments to a file, one line per call, and exits with the given status. */
function recorder(status = 0): { env: NodeJS.ProcessEnv; told: () => string[] } {
  const told = join(folder, 'told')
  const tool = join(folder, 'systemd-notify')
  writeFileSync(tool, `#!/bin/sh\necho "$*" >> '${told}'\nexit ${status}\n`)
  chmodSync(tool, 0o755)
  return {
    env: { PATH: `${folder}${delimiter}${process.env.PATH}`, NOTIFY_SOCKET: '/run/systemd/notify' },
    told: () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n') : []),
  }
}

function manager(env: NodeJS.ProcessEnv) {
  const clock = createFakeClock()
  const log = recordingLog()
  return { clock, log, manager: createServiceManager({ env, clock, log, pid: 42 }) }
}

const PATIENCE_MS = 100_000
const WITHOUT_FILES = fileURLToPath(new URL('./children/without-files.ts', import.meta.url))

test('reports ready with the page address, three signs of life per watchdog interval, and stopping', async () => {
  const { env, told } = recorder()
  const { clock, manager: it } = manager({ ...env, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '42' })

  it.ready('the page is at http://127.0.0.1:9780/')
  await until(() => told().length === 1, 'ready is reported', PATIENCE_MS)
  for (let signs = 1; signs <= 3; signs++) {
    await clock.advance(20_000)
    await until(() => told().length === 1 + signs, `sign of life ${signs}`, PATIENCE_MS)
  }
  it.stopping()
  await until(() => told().length === 5, 'stopping is reported', PATIENCE_MS)
  await clock.advance(120_000)

  expect(told()).toEqual([
    'READY=1 STATUS=the page is at http://127.0.0.1:9780/',
    'WATCHDOG=1',
    'WATCHDOG=1',
    'WATCHDOG=1',
    'STOPPING=1',
  ])
})

test.each([
  ['without a watchdog', {}],
  ['with the watchdog of another process', { WATCHDOG_USEC: '60000000', WATCHDOG_PID: '1' }],
  ['with a watchdog that cannot be read', { WATCHDOG_USEC: 'soon' }],
])('%s sends no signs of life', async (_title, over) => {
  const { env, told } = recorder()
  const { clock, manager: it } = manager({ ...env, ...over })

  it.ready('well')
  await clock.advance(600_000)
  it.stopping()
  await until(() => told().length >= 2, 'ready and stopping are reported', PATIENCE_MS)

  expect(new Set(told())).toEqual(new Set(['READY=1 STATUS=well', 'STOPPING=1']))
})

test('without NOTIFY_SOCKET nothing is reported', async () => {
  const { env, told } = recorder()
  const { clock, log, manager: it } = manager({ ...env, NOTIFY_SOCKET: '', WATCHDOG_USEC: '1000000' })

  it.ready('well')
  await clock.advance(10_000)
  it.stopping()

  expect(told()).toEqual([])
  expect(log.lines).toEqual([])
})

test('a missing or failing systemd-notify is logged once and stops nothing', async () => {
  const failing = manager({ ...recorder(1).env, WATCHDOG_USEC: '1000' })
  const missing = manager({ PATH: join(folder, 'nowhere'), NOTIFY_SOCKET: '/run/systemd/notify' })

  for (const { manager: it, clock, log } of [failing, missing]) {
    it.ready('well')
    await clock.advance(5)
    await until(() => log.lines.length > 0, 'it is complained of', PATIENCE_MS)
    it.stopping()
  }

  expect(missing.log.lines).toHaveLength(1)
  expect(missing.log.lines[0]).toMatchObject({ fields: { problem: 'ENOENT' } })
})

test('a sign of life needs no free descriptor, and passes on nothing of the environment but PATH and NOTIFY_SOCKET', async () => {
  const { env, told } = recorder()
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\n(echo "$*"; env) >> '${join(folder, 'told')}'\n`)
  const program = await bundled(WITHOUT_FILES)

  const { stderr } = spawnSync('sh', ['-c', 'ulimit -n 64; exec "$0" "$1"', process.execPath, program], {
    encoding: 'utf8',
    env: { ...env, WATCHDOG_USEC: '600000', HEARTLINE_TOKEN: 'hunter2' },
  })

  expect(stderr).toBe('')
  expect(told().filter((line) => line === 'WATCHDOG=1').length).toBeGreaterThanOrEqual(1)
  expect(told()).toContain('READY=1 STATUS=well')
  expect(told()).toContain('STOPPING=1')
  // The shell sets some of its own.
  const names = new Set(
    told().flatMap((line) => /^(?!PWD|OLDPWD|SHLVL|_=|READY|WATCHDOG|STOPPING)(\w+)=/.exec(line)?.[1] ?? []),
  )
  expect(names).toEqual(new Set(['PATH', 'NOTIFY_SOCKET']))
  expect(told().join()).not.toContain('hunter2')
})
