import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { startDemoNodes } from '../../src/simulator/demo.ts'
import { removeFolder, startDaemon, until } from '../support/daemon.ts'
import { requirePackage } from '../support/system-package.ts'

const hasPrometheus = requirePackage('prometheus', 'prometheus')
const hasPromtool = requirePackage('promtool', 'prometheus')

interface Series {
  readonly metric: Record<string, string>
  readonly value: readonly [number, string]
}

async function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number }
      server.close(() => resolve(port))
    })
  })
}

describe.skipIf(!hasPrometheus || !hasPromtool)('a real Prometheus', () => {
  test('scrapes a daemon over nodes of all three families, finds nothing to object to, and stores what the page says', async () => {
    const nodes = await startDemoNodes({ clock: systemClock })
    const daemon = await startDaemon(nodes.config)
    const port = await freePort()
    const file = join(daemon.folder, 'prometheus.yml')
    const target = new URL(daemon.url).host
    writeFileSync(
      file,
      `global: { scrape_interval: 1s }\nscrape_configs:\n  - { job_name: heartline, static_configs: [ { targets: ["${target}"] } ] }\n`,
    )
    const prometheus = spawn(
      'prometheus',
      [
        `--config.file=${file}`,
        `--storage.tsdb.path=${join(daemon.folder, 'tsdb')}`,
        `--web.listen-address=127.0.0.1:${port}`,
        '--log.level=error',
      ],
      { stdio: 'ignore' },
    )
    const query = async (expression: string): Promise<readonly Series[]> => {
      const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expression)}`
      const answer = await fetch(url).catch(() => null)
      if (answer === null || !answer.ok) return []
      return ((await answer.json()) as { data: { result: Series[] } }).data.result
    }

    try {
      await until(async () => (await query('up{job="heartline"} == 1')).length === 1, 'the scrape succeeds')
      await until(async () => (await query('heartline_endpoint_up')).length >= 8, 'endpoints are known')

      const { text } = await daemon.get('/metrics')
      execFileSync('promtool', ['check', 'metrics'], { input: text })
      const states = await query('sum by (network, endpoint) (heartline_endpoint_state)')
      expect(states).toHaveLength(9)
      for (const { value } of states) expect(value[1]).toBe('1')
      const heights = await query('heartline_endpoint_block_height')
      expect(new Set(heights.map(({ metric }) => metric['network']))).toEqual(
        new Set(['ethereum', 'avalanche', 'multiversx']),
      )
      expect(heights.filter(({ metric }) => metric['shard'] === '4294967295')).not.toEqual([])
      await until(
        async () => Number((await query('sum(increase(heartline_checks_total[10s]))'))[0]?.value[1] ?? 0) > 5,
        'checks are counted',
      )
      expect(
        await query('histogram_quantile(0.95, sum by (le) (heartline_check_duration_seconds_bucket))'),
      ).toHaveLength(1)
    } finally {
      prometheus.kill('SIGTERM')
      await new Promise((resolve) => prometheus.once('exit', resolve))
      await daemon.stop()
      await nodes.stop()
      removeFolder(daemon.folder)
    }
  }, 60_000)
})
