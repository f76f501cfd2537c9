import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** A real Prometheus that scrapes each second and evaluates rules as often. */
export interface Prometheus {
  /** Throws what Prometheus says of a query that it does not take. */
  query(expression: string): Promise<readonly Sample[]>
  stop(): Promise<void>
}

export interface PrometheusOptions {
  /** Host and port of each. */
  readonly targets: readonly string[]
  readonly rules: string
}

export async function startPrometheus({ targets, rules }: PrometheusOptions): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-prometheus-'))
  const port = await freePort()
  const file = join(folder, 'prometheus.yml')
  writeFileSync(join(folder, 'rules.yml'), rules)
  writeFileSync(
    file,
    stringify({
      global: { scrape_interval: '1s', evaluation_interval: '1s' },
      rule_files: ['rules.yml'],
      scrape_configs: [{ job_name: 'heartline', static_configs: [{ targets }] }],
    }),
  )
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true
  await until(isReady, `Prometheus is ready: ${log}`, 60_000)

  return {
    async query(expression) {
      const answer = await fetch(`${url}/api/v1/query`, {
        method: 'POST',
        body: new URLSearchParams({ query: expression }),
      })
      const body = (await answer.json()) as { status: string; error?: string; data: { result: Sample[] } }
      if (body.status !== 'success') throw new Error(`${expression}: ${body.error}`)
      return body.data.result
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
