import { expect, onTestFinished, test } from 'vitest'
import { removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { recordNotifications } from '../support/systemd-notify.ts'

test('a daemon that systemd waits for tells it that it listens, again and again that it lives, and that it stops', async () => {
  const folder = temporaryFolder()
  onTestFinished(() => removeFolder(folder))
  const { env, sent } = recordNotifications(folder, 600)
  const endpoint = { name: 'own-1', url: 'http://127.0.0.1:1' }

  const daemon = await startDaemon(
    { networks: [{ name: 'net', family: 'ethereum', endpoints: [endpoint] }] },
    { folder, env, early: true },
  )
  await until(() => sent().filter((line) => line === 'WATCHDOG=1').length >= 2, 'two signs of life', 60_000)
  const status = await daemon.stop()
  await until(() => sent().includes('STOPPING=1'), 'stopping is reported', 60_000)

  expect(status).toBe(0)
  expect(sent()).toContain(`READY=1 STATUS=the page is at ${daemon.url}/`)
}, 150_000)
