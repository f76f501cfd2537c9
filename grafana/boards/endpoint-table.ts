import { DashboardLinkBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import { PanelBuilder as TableBuilder } from '@grafana/grafana-foundation-sdk/table'
import { DASHBOARDS } from '../uids.ts'
import { BY_ENDPOINT } from './board.ts'
import { DATA_SOURCE, type Placed, table } from './panel.ts'
import { mappingOf, STATE_WORDS, stateOf } from './words.ts'

/** One row per endpoint. Cells that a family does not have (heartbeat, certificate) stay empty. */
export function endpointTable({ width, height }: { readonly width: number; readonly height: number }): Placed {
  return {
    width,
    height,
    draw() {
      const refIds = COLUMNS.map((_, at) => String.fromCharCode('A'.charCodeAt(0) + at))
      const panel = new TableBuilder()
        .title('Endpoints')
        .description(
          'The current health of each endpoint. p95 and coverage (the share of time with data) are over the selected range.',
        )
        .datasource(DATA_SOURCE)
        .filterable(true)
        .withTransformation({ id: 'merge', options: {} })
        .withTransformation({
          id: 'organize',
          options: {
            excludeByName: { Time: true },
            indexByName: { network: 0, endpoint: 1 },
            renameByName: Object.fromEntries(COLUMNS.map(({ name }, at) => [`Value #${refIds[at]}`, name])),
          },
        })
        .overrideByName('State', [
          { id: 'mappings', value: [mappingOf(STATE_WORDS)] },
          { id: 'custom.cellOptions', value: { type: 'color-background' } },
        ])
        .overrideByName('endpoint', [
          { id: 'links', value: [new DashboardLinkBuilder('Endpoint dashboard').url(LINK).build()] },
        ])
      for (const [at, { name, expr, unit }] of COLUMNS.entries()) {
        panel.withTarget(table(expr, refIds[at] ?? ''))
        if (unit !== undefined) panel.overrideByName(name, [{ id: 'unit', value: unit }])
      }
      return panel
    },
  }
}

interface Column {
  readonly name: string
  readonly expr: string
  readonly unit?: string
}

const BY = 'by (network, endpoint)'

/** Not the state `unknown`, which has no series while it is 0 with `metrics.sparse`. */
const SCRAPES = `count_over_time(heartline_endpoint_info{${BY_ENDPOINT}}[$__range])`

const COLUMNS: readonly Column[] = [
  { name: 'State', expr: stateOf(BY_ENDPOINT, 'network, endpoint') },
  { name: 'Height', expr: `max ${BY} (heartline_endpoint_block_height{${BY_ENDPOINT}})`, unit: 'none' },
  { name: 'Behind', expr: `max ${BY} (heartline_endpoint_block_lag{${BY_ENDPOINT}})`, unit: 'none' },
  {
    name: 'Heartbeat',
    expr: `time() - max ${BY} (heartline_node_heartbeat_timestamp_seconds{${BY_ENDPOINT}})`,
    unit: 's',
  },
  {
    name: 'p95',
    expr: `max ${BY} (quantile_over_time(0.95, heartline_check_last_duration_seconds{${BY_ENDPOINT}}[$__range]))`,
    unit: 's',
  },
  {
    name: 'Contiguous failures',
    expr: `max ${BY} (heartline_node_check_contiguous_failures{${BY_ENDPOINT}})`,
    unit: 'none',
  },
  {
    name: 'Coverage',
    expr: `sum ${BY} (count_over_time(heartline_endpoint_up{${BY_ENDPOINT}}[$__range]) or 0 * ${SCRAPES}) / sum ${BY} (${SCRAPES})`,
    unit: 'percentunit',
  },
  {
    name: 'Certificate',
    expr: `min ${BY} (heartline_endpoint_tls_not_after_timestamp_seconds{${BY_ENDPOINT}}) - time()`,
    unit: 's',
  },
]
const LINK = `/d/${DASHBOARDS.endpoint}?var-network=\${__data.fields.network}&var-endpoint=\${__data.fields.endpoint}`
