import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type Daemon, removeFolder, startDaemonHere, until } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'
import { requirePackage } from '../support/system-package.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'

const hasPrometheus = requirePackage('prometheus', 'prometheus')
const PATIENCE_MS = 100_000
const LONG = 120_000
const read = (name: string) => readFileSync(join(checkout, 'grafana/prometheus', name), 'utf8')

describe.skipIf(!hasPrometheus)('the example configurations in a real Prometheus', () => {
  let nodes: readonly SimulatedNode[]
  let daemon: Daemon
  let host: string
  const running: Prometheus[] = []

  beforeAll(async () => {
    const chain = createChain({ clock: systemClock, seed: 'scrape', blockTimeMs: 1000 })
    nodes = await Promise.all(
      ['a', 'b'].map((name) => startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name })),
    )
    daemon = await startDaemonHere({
      poll: { interval: '2s', timeout: '2s' },
      networks: [{ name: 'net', family: 'ethereum', endpoints: nodes.map(({ name, url }) => ({ name, url })) }],
    })
    host = new URL(daemon.url).host
  }, LONG)

  afterAll(async () => {
    for (const prometheus of running.reverse()) await prometheus.stop()
    await daemon.stop()
    removeFolder(daemon.folder)
    await Promise.all(nodes.map((node) => node.stop()))
  }, LONG)

  async function start(config: string, flags: readonly string[] = []): Promise<Prometheus> {
    // Replaces container names, and intervals that are too long for a test.
    const text = config.replaceAll('heartline:9780', host).replaceAll(/scrape_interval: \S+/g, 'scrape_interval: 1s')
    const prometheus = await startPrometheus({ files: { 'prometheus.yml': text }, flags })
    running.push(prometheus)
    return prometheus
  }

  test(
    'service discovery finds every endpoint, and each scrape polls one endpoint',
    async () => {
      const { query } = await start(`global: { scrape_interval: 1s }\n${read('http-sd.yml')}`)

      await until(
        async () => (await query('heartline_probe_success == 1')).length === 2,
        'both are probed',
        PATIENCE_MS,
      )

      const probes = await query('heartline_probe_success')
      expect(
        probes.map(({ metric }) => metric).toSorted((a, b) => (a['instance'] ?? '').localeCompare(b['instance'] ?? '')),
      ).toEqual(
        ['a', 'b'].map((endpoint) => ({
          __name__: 'heartline_probe_success',
          job: 'heartline-probe',
          instance: `net/${endpoint}`,
          network: 'net',
          endpoint,
          family: 'ethereum',
        })),
      )
      // Duplicate series would cause duplicate alerts.
      expect(await query('count({job="heartline-probe",__name__=~"heartline_(endpoint|network|check)_.*"})')).toEqual(
        [],
      )
    },
    LONG,
  )

  test(
    'an agent forwards its scrapes with a unique instance name',
    async () => {
      const receiver = await start('global: { scrape_interval: 1s }\n', ['--web.enable-remote-write-receiver'])
      const agent = read('agent.yml')
        .replaceAll('127.0.0.1:9780', host)
        .replace(/url: \S+/, `url: ${receiver.url}/api/v1/write`)
        .replace(/^ +authorization: .*$/m, '')
      await start(agent, ['--enable-feature=agent'])

      const up = () => receiver.query('heartline_endpoint_up == 1')
      await until(async () => (await up()).length === 2, 'it arrives', PATIENCE_MS)

      expect((await up()).map(({ metric }) => metric['instance'])).toEqual([
        'heartline-frankfurt',
        'heartline-frankfurt',
      ])
    },
    LONG,
  )
})
