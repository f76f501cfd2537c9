import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './daemon.ts'
import { freePort } from './free-port.ts'

/** Debian's Alertmanager with this configuration file, once it is ready. */
export async function startAlertmanager(configFile: string): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-alertmanager-'))
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const child = spawn(
    'prometheus-alertmanager',
    [
      `--config.file=${configFile}`,
      `--storage.path=${folder}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--cluster.listen-address=',
    ],
    { stdio: 'ignore' },
  )
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await until(async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true, 'it is ready', 30_000)
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
