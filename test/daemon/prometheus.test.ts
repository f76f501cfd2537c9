import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { startDemoNodes } from '../../src/simulator/demo.ts'
import { type Daemon, removeFolder, startDaemonHere, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { requirePackage } from '../support/system-package.ts'

const hasPrometheus = requirePackage('prometheus', 'prometheus')
const hasPromtool = requirePackage('promtool', 'prometheus')

const PATIENCE_MS = 100_000

interface Series {
  readonly metric: Record<string, string>
  readonly value: readonly [number, string]
}

/** A real Prometheus with this configuration, and a way to ask it. */
async function startPrometheus(folder: string, scrapeConfigs: readonly object[]) {
  const port = await freePort()
  const file = join(folder, 'prometheus.yml')
  // JSON is YAML too.
  writeFileSync(file, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: scrapeConfigs }))
  execFileSync('promtool', ['check', 'config', file])
  const prometheus = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'tsdb')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: 'ignore' },
  )
  return {
    async query(expression: string): Promise<readonly Series[]> {
      const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`
      const answer = await fetch(url).catch(() => null)
      if (answer === null || !answer.ok) return []
      return ((await answer.json()) as { data: { result: Series[] } }).data.result
    },
    async stop() {
      prometheus.kill('SIGTERM')
      await new Promise((resolve) => prometheus.once('exit', resolve))
    },
  }
}

/** What stands between a scraper and the daemon when the scraper is to be given the text format, and what it was given. */
async function textOnly(daemon: Daemon) {
  const types: (string | null)[] = []
  const server = createServer((request, response) => {
    void fetch(`${daemon.url}${request.url}`, { headers: { accept: 'text/plain;version=0.0.4' } }).then(
      async (answer) => {
        types.push(answer.headers.get('content-type'))
        response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
        response.end(await answer.text())
      },
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, types, close: () => server.close() }
}

const names = (series: readonly Series[]) => series.map(({ metric: { network, endpoint } }) => `${network}/${endpoint}`)

describe.skipIf(!hasPrometheus || !hasPromtool)('a real Prometheus', () => {
  test('scrapes a daemon over nodes of all three families, finds nothing to object to, and stores what the page says', async () => {
    const nodes = await startDemoNodes({ clock: systemClock })
    const daemon = await startDaemonHere(nodes.config)
    const target = new URL(daemon.url).host
    const prometheus = await startPrometheus(daemon.folder, [
      { job_name: 'heartline', static_configs: [{ targets: [target] }] },
    ])
    const { query } = prometheus

    try {
      await until(
        async () => (await query('up{job="heartline"} == 1')).length === 1,
        'the scrape succeeds',
        PATIENCE_MS,
      )
      // A scrape that a busy machine delays ends all series until the next one.
      const untilKnown = async (series: string) => {
        let known = await query(series)
        await until(async () => (known = await query(series)).length >= 9, `${series} is known`, PATIENCE_MS)
        return known
      }

      const { text } = await daemon.get('/metrics')
      execFileSync('promtool', ['check', 'metrics'], { input: text })
      const states = await untilKnown('sum by (network, endpoint) (heartline_endpoint_state)')
      expect(states).toHaveLength(9)
      for (const { value } of states) expect(value[1]).toBe('1')
      const heights = await untilKnown('heartline_endpoint_block_height')
      expect(new Set(heights.map(({ metric }) => metric['network']))).toEqual(
        new Set(['ethereum', 'avalanche', 'multiversx']),
      )
      expect(heights.filter(({ metric }) => metric['shard'] === '4294967295')).not.toEqual([])
      await until(
        async () => Number((await query('sum(increase(heartline_checks_total[10s]))'))[0]?.value[1] ?? 0) > 5,
        'checks are counted',
        PATIENCE_MS,
      )
      expect(
        await query('histogram_quantile(0.95, sum by (le) (heartline_check_duration_seconds_bucket))'),
      ).toHaveLength(1)
    } finally {
      await prometheus.stop()
      await daemon.stop()
      await nodes.stop()
      removeFolder(daemon.folder)
    }
  }, 180_000)

  test('reads the same series from OpenMetrics as from the text format', async () => {
    const nodes = await startDemoNodes({ clock: systemClock })
    const daemon = await startDaemonHere(nodes.config)
    const text = await textOnly(daemon)
    const { query, stop } = await startPrometheus(daemon.folder, [
      { job_name: 'openmetrics', static_configs: [{ targets: [new URL(daemon.url).host] }] },
      { job_name: 'text', static_configs: [{ targets: [text.host] }] },
    ])

    try {
      for (const job of ['openmetrics', 'text']) {
        await until(async () => (await query(`up{job="${job}"} == 1`)).length === 1, `${job} is scraped`, PATIENCE_MS)
      }
      const { headers } = await daemon.get('/metrics', { accept: 'application/openmetrics-text;version=1.0.0' })

      expect(headers.get('content-type')).toContain('application/openmetrics-text; version=1.0.0')
      expect(new Set(text.types)).toEqual(new Set(['text/plain; version=0.0.4; charset=utf-8']))
      for (const name of [
        'heartline_checks_total',
        'heartline_check_duration_seconds_bucket',
        'heartline_endpoint_state',
      ]) {
        const missing = (has: string, hasNot: string) =>
          query(`${name}{job="${has}"} unless ignoring(job, instance) ${name}{job="${hasNot}"}`)
        await until(async () => (await query(`${name}{job="openmetrics"}`)).length > 5, `${name} is there`, PATIENCE_MS)
        await until(
          async () =>
            (await missing('openmetrics', 'text')).length + (await missing('text', 'openmetrics')).length === 0,
          `${name} is the same in both`,
          PATIENCE_MS,
        )
      }
    } finally {
      await stop()
      text.close()
      await daemon.stop()
      await nodes.stop()
      removeFolder(daemon.folder)
    }
  }, 180_000)

  test('finds every endpoint by /sd and probes it by /probe, with the token alone', async () => {
    const token = 'a-token-of-sixteen-or-more'
    const nodes = await startDemoNodes({ clock: systemClock })
    const daemon = await startDaemonHere({
      ...nodes.config,
      log: { level: 'info' },
      server: { listen: '127.0.0.1:0', token },
    })
    const { host } = new URL(daemon.url)
    // Prometheus 2.42 fills in `Bearer` for scrapes, not for discovery.
    const authorization = { type: 'Bearer', credentials: token }
    const { query, stop } = await startPrometheus(daemon.folder, [
      {
        job_name: 'probes',
        metrics_path: '/probe',
        authorization,
        http_sd_configs: [{ url: `${daemon.url}/sd`, authorization, refresh_interval: '5s' }],
        relabel_configs: [
          { source_labels: ['__address__'], target_label: '__param_target' },
          { source_labels: ['__param_target'], target_label: 'instance' },
          { target_label: '__address__', replacement: host },
        ],
      },
    ])

    try {
      await until(async () => (await query('up{job="probes"} == 1')).length === 9, 'all nine are probed', PATIENCE_MS)
      await until(async () => (await query('heartline_probe_success')).length === 9, 'all nine have told', PATIENCE_MS)

      const probed = await query('heartline_probe_success')
      expect(new Set(probed.map(({ metric }) => metric['instance']))).toEqual(new Set(names(probed)))
      expect(new Set(probed.map(({ metric }) => metric['family']))).toEqual(
        new Set(['ethereum', 'avalanche', 'multiversx']),
      )
      expect((await daemon.get('/sd')).status).toBe(401)
      expect((await daemon.get(`/probe?target=${names(probed)[0]}`)).status).toBe(401)
    } finally {
      await stop()
      await daemon.stop()
      await nodes.stop()
      removeFolder(daemon.folder)
    }
  }, 180_000)
})
