import { expect, onTestFinished, test } from 'vitest'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { paceOf } from '../../grafana/pace.ts'
import { prometheusRules } from '../../grafana/prometheus-rules.ts'
import { removeFolder, startDaemon, temporaryFolder, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'
import { requirePackage } from '../support/system-package.ts'
import { everySecond, startPrometheus } from './prometheus.ts'

const hasPrometheus = requirePackage('prometheus', 'prometheus')
const PATIENCE_MS = 120_000
const DOWN = 'heartline_endpoint_state{endpoint="gone",state="down"} == 1'
/** Restarts if the alert was resolved and fired again. */
const ACTIVE_SINCE = 'ALERTS_FOR_STATE{alertname="HeartlineEndpointDown"}'
const FIRING = 'ALERTS{alertname="HeartlineEndpointDown",alertstate="firing"}'

/** As shipped, except that alerts fire after two seconds. */
const RULES = alertGroups(paceOf(60)).map((group, at) => ({
  ...group,
  keepFiringFor: alertGroups()[at]?.keepFiringFor ?? null,
}))

test.skipIf(!hasPrometheus)(
  'a restart of the daemon resolves no alert of an endpoint that stays down',
  async () => {
    const folder = temporaryFolder()
    onTestFinished(() => removeFolder(folder))
    const port = await freePort()
    const config = {
      server: { listen: `127.0.0.1:${port}` },
      store: { path: 'heartline.db' },
      poll: { interval: '1s' },
      networks: [
        {
          name: 'ethereum',
          family: 'ethereum',
          endpoints: [{ name: 'gone', url: `http://127.0.0.1:${await freePort()}` }],
        },
      ],
    }
    const first = await startDaemon(config, { folder })
    const prometheus = await startPrometheus({
      files: { 'prometheus.yml': everySecond([`127.0.0.1:${port}`]), 'heartline.rules.yml': prometheusRules(RULES) },
    })
    onTestFinished(() => prometheus.stop())
    const has = async (expression: string) => (await prometheus.query(expression)).length > 0
    await until(() => has(FIRING), 'the alert fires', PATIENCE_MS)

    const activeSince = async () => (await prometheus.query(ACTIVE_SINCE))[0]?.value[1]
    const before = await activeSince()
    await first.stop()
    await until(async () => !(await has(DOWN)), 'Prometheus notices that the series is gone', PATIENCE_MS)
    const second = await startDaemon(config, { folder })
    onTestFinished(async () => void (await second.stop()))
    await until(() => has(DOWN), 'the endpoint is down again', PATIENCE_MS)

    expect(await has(FIRING)).toBe(true)
    expect(await activeSince()).toBe(before)
  },
  300_000,
)
