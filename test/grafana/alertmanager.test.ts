import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAlertmanager } from '../support/alertmanager.ts'
import { until } from '../support/daemon.ts'
import { checkout } from '../support/project.ts'
import { requirePackage } from '../support/system-package.ts'

const hasAlertmanager = requirePackage('prometheus-alertmanager', 'prometheus-alertmanager')
const CONFIG = join(checkout, 'grafana/prometheus/alertmanager.yml')

interface Shown {
  readonly labels: Readonly<Record<string, string>>
  readonly status: { readonly state: string; readonly inhibitedBy: readonly string[] }
}

describe.skipIf(!hasAlertmanager)('a real Alertmanager', () => {
  let url: string
  let stop: () => Promise<void>

  beforeAll(async () => {
    const running = await startAlertmanager(CONFIG)
    url = running.url
    stop = running.stop
  }, 120_000)

  afterAll(() => stop?.())

  test.each([
    ['a halted chain', 'HeartlineChainHalted', { network: 'a' }, { a: ['EndpointLagging', 'EndpointSlow'], b: [] }],
    [
      'a network that is down',
      'HeartlineNetworkDown',
      { network: 'a' },
      { a: ['EndpointLagging', 'EndpointSlow', 'NetworkDegraded'], b: [] },
    ],
    [
      'an impaired observer',
      'HeartlineObserverImpaired',
      {},
      {
        a: ['EndpointLagging', 'EndpointSlow', 'NetworkDegraded'],
        b: ['EndpointLagging', 'EndpointSlow', 'NetworkDegraded'],
      },
    ],
    [
      'an endpoint that is down',
      'HeartlineEndpointDown',
      { network: 'a', endpoint: 'x', scope: 'endpoint', severity: 'warning' },
      { a: ['EndpointLagging', 'EndpointSlow'], b: [] },
    ],
  ])(
    'inhibits what %s explains, but nothing of another network or another Heartline',
    async (_what, source, where, held) => {
      const instance = source
      const warnings = (network: string) => ({ severity: 'warning', instance, network })
      const others = ['a', 'b'].flatMap((network) => [
        { alertname: 'HeartlineEndpointSlow', scope: 'endpoint', endpoint: 'x', ...warnings(network) },
        { alertname: 'HeartlineEndpointLagging', scope: 'endpoint', endpoint: 'x', ...warnings(network) },
        { alertname: 'HeartlineNetworkDegraded', scope: 'network', ...warnings(network) },
        { alertname: 'HeartlineGatewayErrors', scope: 'gateway', ...warnings(network) },
      ])
      const elsewhere = others.map((labels) => ({ ...labels, instance: `other than ${instance}` }))
      const cause = { alertname: source, instance, severity: 'critical', ...where }

      await send([cause, ...others, ...elsewhere])

      const expected = Object.entries(held).flatMap(([network, names]) =>
        names.map((name) => `${network} Heartline${name}`),
      )
      await until(async () => (await heldBack(instance)).length >= expected.length, 'they are held back')
      expect(await heldBack(instance)).toEqual(expected.toSorted())
      expect(await heldBack(`other than ${instance}`)).toEqual([])
    },
  )

  test('members of a cluster that fire the same alert are one notification', async () => {
    const labels = { alertname: 'HeartlineEndpointDown', scope: 'endpoint', severity: 'warning', network: 'shared' }
    const endpoint = 'own-1'

    await send(['fra1:9780', 'fra1:9782', 'nyc1:9780'].map((instance) => ({ ...labels, endpoint, instance })))

    const alertsOfGroups = async () => {
      const answer = await fetch(`${url}/api/v2/alerts/groups?filter=${encodeURIComponent('network="shared"')}`)
      return ((await answer.json()) as readonly { readonly alerts: readonly unknown[] }[]).map(
        ({ alerts }) => alerts.length,
      )
    }
    await until(async () => (await alertsOfGroups()).reduce((sum, one) => sum + one, 0) === 3, 'they are grouped')
    expect(await alertsOfGroups()).toEqual([3])
  })

  test.each([
    [
      'misses its availability objective is not reported as late',
      'AvailabilityBurnFast',
      'critical',
      'FreshnessBurnFast',
    ],
    ['serves another chain is not reported as down', 'WrongNetwork', 'critical', 'EndpointDown'],
    ['is stalled is not reported as lagging', 'EndpointStalled', 'warning', 'EndpointLagging'],
  ])('what %s too', async (_what, source, severity, target) => {
    const instance = source
    const labels = { instance, scope: 'endpoint', network: 'a', endpoint: 'x', severity: 'warning' }

    await send([
      { ...labels, alertname: `Heartline${source}`, severity },
      { ...labels, alertname: `Heartline${target}` },
      { ...labels, alertname: `Heartline${target}`, network: 'b' },
    ])

    await until(async () => (await heldBack(instance)).length > 0, 'it is held back')
    expect(await heldBack(instance)).toEqual([`a Heartline${target}`])
  })

  async function send(alerts: readonly Readonly<Record<string, string>>[]): Promise<void> {
    const answer = await fetch(`${url}/api/v2/alerts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(alerts.map((labels) => ({ labels }))),
    })
    expect(answer.status).toBe(200)
  }

  async function heldBack(instance: string): Promise<readonly string[]> {
    const answer = await fetch(`${url}/api/v2/alerts?filter=${encodeURIComponent(`instance="${instance}"`)}`)
    const shown = (await answer.json()) as readonly Shown[]
    return shown
      .filter(({ status }) => status.inhibitedBy.length > 0)
      .map(({ labels }) => `${labels['network']} ${labels['alertname']}`)
      .toSorted()
  }

  test('accepts the configuration', () => {
    const { stdout, status } = spawnSync('amtool', ['check-config', CONFIG], { encoding: 'utf8' })

    expect(stdout).toContain('SUCCESS')
    expect(status).toBe(0)
  })
})
