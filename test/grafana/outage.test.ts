import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { alertGroups } from '../../grafana/alerts/alerts.ts'
import { prometheusRules } from '../../grafana/prometheus-rules.ts'
import { requirePackage } from '../support/system-package.ts'
import { promtool } from './promtool.ts'

const hasPromtool = requirePackage('promtool', 'prometheus')
const OURS = 'job="heartline",instance="heartline:9780"'
const NODE = `${OURS},network="ethereum",endpoint="own-1"`

/** Scraped every 15 s: ten minutes up, one hour gone, then up again; each time the first polls take 30 s. */
const SERIES: Readonly<Record<string, string>> = {
  [`up{${OURS}}`]: '1x39 0x239 1x200',
  [`heartline_build_info{${OURS},version="1.2.3",node_version="20.20.2"}`]: '1x39 stale _x238 1x200',
  [`heartline_start_timestamp_seconds{${OURS}}`]: '0x39 stale _x238 4200x200',
  [`heartline_scheduler_last_round_timestamp_seconds{${OURS}}`]: '0+15x39 stale _x238 4200+15x200',
  [`heartline_store_filesystem_free_bytes{${OURS}}`]: '50000000000-1000000x39 stale _x238 49900000000-1000000x200',
  [`heartline_observer_impaired{${OURS}}`]: '0x39 stale _x238 0x200',
  [`heartline_endpoint_state{${NODE},state="unknown"}`]: '1x1 0x37 stale _x238 1x1 0x198',
  [`heartline_endpoint_up{${NODE}}`]: '_x2 1x37 stale _x240 1x198',
  [`heartline_endpoint_condition{${NODE},condition="lagging"}`]: '0x39 stale _x238 0x200',
  [`heartline_endpoint_state_changes_total{${NODE}}`]: '5x39 stale _x238 0x200',
  [`heartline_gateway_eligible{${NODE}}`]: '0x1 1x37 stale _x238 0x1 1x198',
  [`heartline_network_endpoints{${OURS},network="ethereum",state="unknown"}`]: '1x1 0x37 stale _x238 1x1 0x198',
  [`heartline_network_endpoints{${OURS},network="ethereum",state="up"}`]: '0x1 1x37 stale _x238 0x1 1x198',
  [`heartline_network_endpoints{${OURS},network="ethereum",state="down"}`]: '0x39 stale _x238 0x200',
}

test.skipIf(!hasPromtool)(
  'a Heartline that is gone for an hour only fires its absence alert, and only for that hour',
  () => {
    const firing = 'count by (alertname) (ALERTS{alertstate="firing"})'
    const quiet = [5, 9, 72, 80, 100, 115]
    const absent = [14, 40, 69]
    const document = {
      rule_files: ['rules.yml'],
      evaluation_interval: '15s',
      tests: [
        {
          interval: '15s',
          input_series: Object.entries(SERIES).map(([series, values]) => ({ series, values })),
          promql_expr_test: [
            ...quiet.map((minute) => ({ expr: firing, eval_time: `${minute}m`, exp_samples: [] })),
            ...absent.map((minute) => ({
              expr: firing,
              eval_time: `${minute}m`,
              exp_samples: [{ labels: '{alertname="HeartlineAbsent"}', value: 1 }],
            })),
          ],
        },
      ],
    }

    const { output } = promtool(['test', 'rules', 'test.yml'], {
      'rules.yml': prometheusRules(alertGroups()),
      'test.yml': stringify(document),
    })

    expect(output).toContain('SUCCESS')
  },
)
