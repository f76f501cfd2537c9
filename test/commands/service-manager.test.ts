import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createServiceManager } from '../../src/commands/service-manager.ts'
import { removeFolder, temporaryFolder, until } from '../support/daemon.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})
afterEach(() => removeFolder(folder))

/** In the place of systemd-notify: writes down what it is told, one line each time, and ends so. */
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

const PATIENCE_MS = 30_000

test('systemd hears that we are ready and where the page is, three signs of life within its time, and that we stop', async () => {
  const { env, told } = recorder()
  const { clock, manager: it } = manager({ ...env, WATCHDOG_USEC: '60000000', WATCHDOG_PID: '42' })

  it.ready('the page is at http://127.0.0.1:9780/')
  await until(() => told().length === 1, 'ready is told', PATIENCE_MS)
  for (let signs = 1; signs <= 3; signs++) {
    await clock.advance(20_000)
    await until(() => told().length === 1 + signs, `sign of life ${signs}`, PATIENCE_MS)
  }
  it.stopping()
  await until(() => told().length === 5, 'stopping is told', PATIENCE_MS)
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
])('%s nothing is told again and again', async (_title, over) => {
  const { env, told } = recorder()
  const { clock, manager: it } = manager({ ...env, ...over })

  it.ready('well')
  await clock.advance(600_000)
  it.stopping()
  await until(() => told().length >= 2, 'ready and stopping are told', PATIENCE_MS)

  expect(new Set(told())).toEqual(new Set(['READY=1 STATUS=well', 'STOPPING=1']))
})

test('where no systemd waits for it, nobody is told', async () => {
  const { env, told } = recorder()
  const { clock, log, manager: it } = manager({ ...env, NOTIFY_SOCKET: '', WATCHDOG_USEC: '1000000' })

  it.ready('well')
  await clock.advance(10_000)
  it.stopping()

  expect(told()).toEqual([])
  expect(log.lines).toEqual([])
})

test('a tool that is missing or fails is complained of once, and ends nothing', async () => {
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
