import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { clusterAlerts } from '../../grafana/alerts/cluster-alerts.ts'
import { paceOf } from '../../grafana/pace.ts'
import { prometheusRules } from '../../grafana/prometheus-rules.ts'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { hasPostgres, type PostgresServer, startPostgres } from '../support/postgres.ts'
import { requirePackage } from '../support/system-package.ts'
import { everySecond, type Prometheus, startPrometheus } from './prometheus.ts'
import { filledIn, keptDashboards } from './queries.ts'

const isPossible = [requirePackage('prometheus', 'prometheus'), hasPostgres()].every(Boolean)
const PATIENCE_MS = 120_000
const LONG = 400_000
/** A second of the test is a minute of the rules. */
const RULES = prometheusRules([{ name: 'cluster', alerts: clusterAlerts(paceOf(60)), keepFiringFor: null }])
const OF_NODE = { network: 'ethereum', endpoint: 'own-2' }

/** Three real daemons in two places over a real PostgreSQL, and a real Prometheus with the rules. */
describe.skipIf(!isPossible)('three daemons in two places', () => {
  const cleanups: (() => unknown)[] = []
  const panels = new Map<string, string>()
  let postgres: PostgresServer
  let prometheus: Prometheus
  let nodes: readonly SimulatedNode[]
  let members: Readonly<Record<'a' | 'b' | 'c', Member>>

  interface Member {
    readonly config: Config
    daemon: RunningDaemon
  }
  type Config = ReturnType<typeof configOf>

  /** Each place reaches `own-2` by a way of its own. */
  function configOf(url: string, vantage: string, port: number, way: SimulatedNode | undefined) {
    const [first, , , third] = nodes
    return {
      server: { listen: `127.0.0.1:${port}` },
      store: { url, path: 'spool.db' },
      cluster: { vantage, lease: '3s' },
      poll: { interval: '1s', timeout: '1s', liveness_interval: '1s' },
      networks: [
        {
          name: 'ethereum',
          family: 'ethereum',
          block_time: '1s',
          thresholds: { stall: '30s' },
          endpoints: [
            { name: 'own-1', url: first?.url },
            { name: 'own-2', url: way?.url },
            { name: 'own-3', url: third?.url },
          ],
        },
      ],
    }
  }

  beforeAll(async () => {
    postgres = await startPostgres()
    cleanups.push(() => postgres.remove())
    const url = await postgres.createDatabase()
    const chain = createChain({ clock: systemClock, seed: 'places', blockTimeMs: 1000 })
    nodes = await Promise.all(
      ['own-1', 'own-2', 'own-2', 'own-3'].map(async (name) =>
        startSimulatedNode({ clock: systemClock, chain, kind: { family: 'ethereum' }, name, port: await freePort() }),
      ),
    )
    for (const node of nodes) cleanups.push(() => node.stop())
    const join = async (vantage: string, way: SimulatedNode | undefined): Promise<Member> => {
      const config = configOf(url, vantage, await freePort(), way)
      const member = { config, daemon: await startDaemon(config) }
      cleanups.push(
        () => removeFolder(member.daemon.folder),
        () => member.daemon.stop('SIGKILL'),
      )
      return member
    }
    const [, near, far] = nodes
    members = { a: await join('fra1', near), b: await join('fra1', near), c: await join('nyc1', far) }
    prometheus = await startPrometheus({
      files: {
        'prometheus.yml': everySecond(Object.values(members).map(({ daemon }) => new URL(daemon.url).host)),
        'heartline.rules.yml': RULES,
      },
    })
    cleanups.push(() => prometheus.stop())
    const board = keptDashboards().find(({ file }) => file === 'cluster.json')
    for (const { title, targets } of board?.panels ?? []) {
      for (const { refId, expr } of targets) panels.set(`${title} ${refId}`, filledIn(expr, { rateInterval: '10s' }))
    }
    await until(() => has('heartline_cluster_members == 3', 3), 'each member knows of three', PATIENCE_MS)
    await until(() => has('heartline_vantage_state{state="up"} == 1', 18), 'each shows both places', PATIENCE_MS)
  }, LONG)
  afterAll(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup()
  }, LONG)

  async function has(expression: string, many = 1): Promise<boolean> {
    return (await prometheus.query(expression)).length >= many
  }

  async function shown(board: string, panel: string): Promise<readonly (readonly [string, object])[]> {
    const found = keptDashboards()
      .find(({ file }) => file === board)
      ?.panels.find(({ title }) => title === panel)
    const samples = await prometheus.query(filledIn(found?.targets[0]?.expr ?? ''))
    return samples.map(({ metric, value }) => [value[1], metric] as const).toSorted(([a], [b]) => a.localeCompare(b))
  }

  const firing = (alert: string, labels: Readonly<Record<string, string>> = {}) => {
    const all = Object.entries({ alertname: alert, alertstate: 'firing', ...labels })
    return `ALERTS{${all.map(([name, value]) => `${name}="${value}"`).join()}}`
  }
  const untilFires = (alert: string, labels?: Readonly<Record<string, string>>) =>
    until(() => has(firing(alert, labels)), `${alert} fires`, PATIENCE_MS)
  const untilOver = (alert: string) => until(async () => !(await has(firing(alert))), `${alert} is over`, PATIENCE_MS)

  test(
    'nothing fires while all is well, and every panel has data',
    async () => {
      const noted = async () => {
        for (const [panel, query] of panels) if (await has(query)) panels.delete(panel)
        return panels.size === 0
      }
      await until(noted, 'all panels', PATIENCE_MS).catch(() => null)

      expect([...panels.keys()]).toEqual([])
      expect(await prometheus.query('ALERTS{alertstate="firing"}')).toEqual([])
    },
    LONG,
  )

  test(
    'an endpoint that one place cannot reach fires as a disagreement of places, and is not down',
    async () => {
      const far = nodes[2]

      far?.inject({ kind: 'refuse' })

      await untilFires('HeartlinePlacesDisagree', OF_NODE)
      const view = await members.a.daemon.endpoint('ethereum', 'own-2')
      expect(view.state).toBe('degraded')
      expect(view.conditions[0]?.message).toMatch(/^down from nyc1 only: .*; up from fra1$/)
      // What all members show is not counted once for each.
      expect(await shown('fleet.json', 'Open incidents')).toEqual([['1', { network: 'ethereum' }]])
      const states = await shown('network.json', 'Endpoints by state')
      expect(states.filter(([value]) => value !== '0')).toEqual([
        ['1', { network: 'ethereum', state: 'degraded' }],
        ['2', { network: 'ethereum', state: 'up' }],
      ])
      far?.heal()
      await untilOver('HeartlinePlacesDisagree')
    },
    LONG,
  )

  test(
    'a member with another endpoint fires as networks that differ, until all have the same again',
    async () => {
      const { config, daemon } = members.c
      const [network] = config.networks
      const more = {
        ...config.networks[0],
        endpoints: [...(network?.endpoints ?? []), { name: 'own-4', url: nodes[0]?.url }],
      }

      daemon.rewrite({ ...config, networks: [more] })
      daemon.process.kill('SIGHUP')

      await untilFires('HeartlineNetworksDiffer')
      daemon.rewrite(config)
      daemon.process.kill('SIGHUP')
      await untilOver('HeartlineNetworksDiffer')
    },
    LONG,
  )

  test(
    'the last member of a place that dies fires as gone, and its networks as polled by no member',
    async () => {
      await members.c.daemon.stop('SIGKILL')

      await untilFires('HeartlineMemberGone')
      await untilFires('HeartlineLeaseNotRenewed', { vantage: 'nyc1', network: 'ethereum' })
      const { state } = await members.a.daemon.endpoint('ethereum', 'own-2')
      expect(state).toBe('up')
      members.c.daemon = await startDaemon(members.c.config, { folder: members.c.daemon.folder })
      await untilOver('HeartlineLeaseNotRenewed')
      await untilOver('HeartlineMemberGone')
    },
    LONG,
  )

  test(
    'a database that is away fires as rows that wait, and nothing else',
    async () => {
      await postgres.stop()

      await untilFires('HeartlineSpoolGrowing')
      const others = await prometheus.query('ALERTS{alertstate="firing",alertname!="HeartlineSpoolGrowing"}')
      expect(others).toEqual([])
      await postgres.start()
      await untilOver('HeartlineSpoolGrowing')
    },
    LONG,
  )

  test(
    'no panel about nodes shows a series once for each member',
    async () => {
      const hasWindow = async () => (await shown('network.json', 'Time without a usable endpoint')).length > 0
      await until(hasWindow, 'the panel that looks every half minute has data', PATIENCE_MS)

      const doubled: string[] = []
      for (const { file, panels: all } of keptDashboards()) {
        if (file === 'heartline.json') continue
        for (const { title, targets } of all) {
          for (const { expr, legendFormat = '' } of targets) {
            if (legendFormat === '') continue
            const legends = (await prometheus.query(filledIn(expr, { rateInterval: '10s' }))).map(({ metric }) =>
              legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? ''),
            )
            if (new Set(legends).size < legends.length) doubled.push(`${file}: ${title}`)
          }
        }
      }

      expect(doubled).toEqual([])
    },
    LONG,
  )
})
