import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { systemClock } from '../../src/clock.ts'
import { until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: readonly [number, string]
}

/** Without it, a query without an answer would wait for five minutes. */
const LONGEST_QUERY_MS = 30_000

/** A real Prometheus in its own folder. */
export interface Prometheus {
  readonly url: string
  /** Throws the error of Prometheus for an invalid query. */
  query(expression: string): Promise<readonly Sample[]>
  /** Whether it has had a value other than NaN in any second since then. */
  hasHadData(expression: string, since: number): Promise<boolean>
  stop(): Promise<void>
}

export interface PrometheusOptions {
  /** Files by name, including `prometheus.yml`. */
  readonly files: Readonly<Record<string, string>>
  readonly flags?: readonly string[]
}

/** A configuration with these targets; scrapes and rule evaluations happen every second. */
export function everySecond(targets: readonly string[]): string {
  return stringify({
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: ['*.rules.yml'],
    scrape_configs: [{ job_name: 'heartline', static_configs: [{ targets }] }],
  })
}

export async function startPrometheus({ files, flags = [] }: PrometheusOptions): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'heartline-prometheus-'))
  const port = await freePort()
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const data = flags.includes('--enable-feature=agent') ? 'agent' : 'tsdb'
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.${data}.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=warn',
      ...flags,
    ],
    // Its memory is small: collecting garbage seldom takes less CPU time.
    { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, GOGC: '400' } },
  )
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  const url = `http://127.0.0.1:${port}`
  const isReady = async () => (await fetch(`${url}/-/ready`).catch(() => null))?.ok === true
  await until(isReady, `Prometheus is ready: ${log}`, 60_000)

  async function ask<Result>(path: string, parameters: Record<string, string>): Promise<readonly Result[]> {
    const body = new URLSearchParams(parameters)
    const signal = AbortSignal.timeout(LONGEST_QUERY_MS)
    const answer = await fetch(`${url}/api/v1/${path}`, { method: 'POST', body, signal })
    const { status, error, data } = (await answer.json()) as {
      status: string
      error?: string
      data: { result: Result[] }
    }
    if (status !== 'success') throw new Error(`${parameters.query}: ${error}`)
    return data.result
  }

  return {
    url,
    query: (expression) => ask<Sample>('query', { query: expression }),
    async hasHadData(expression, since) {
      const times = { start: `${since / 1000}`, end: `${systemClock.now() / 1000}`, step: '1' }
      const found = await ask<{ values: Sample['value'][] }>('query_range', { query: expression, ...times })
      return found.some(({ values }) => values.some(([, value]) => value !== 'NaN'))
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
