import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'

test('a daemon that systemd waits for tells it that it listens, again and again that it lives, and that it stops', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => removeFolder(folder))
  const file = join(folder, 'told')
  const tool = join(folder, 'systemd-notify')
  writeFileSync(tool, `#!/bin/sh\necho "$*" >> '${file}'\n`)
  chmodSync(tool, 0o755)
  const told = () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [])
  const endpoint = { name: 'own-1', url: 'http://127.0.0.1:1' }
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    NOTIFY_SOCKET: join(folder, 'notify'),
    WATCHDOG_USEC: '600000',
  }

  const daemon = await startDaemon(
    { networks: [{ name: 'net', family: 'ethereum', endpoints: [endpoint] }] },
    { folder, env, early: true },
  )
  await until(() => told().filter((line) => line === 'WATCHDOG=1').length >= 2, 'two signs of life', 60_000)
  const status = await daemon.stop()
  await until(() => told().includes('STOPPING=1'), 'stopping is reported', 60_000)

  expect(status).toBe(0)
  expect(told()).toContain(`READY=1 STATUS=the page is at ${daemon.url}/`)
}, 150_000)
