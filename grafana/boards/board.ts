import {
  type Dashboard,
  DashboardBuilder,
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DASHBOARDS, type DashboardName } from '../uids.ts'
import { DATA_SOURCE, type Placed } from './panel.ts'

/** The Grafana dashboard of a board. */
export function dashboardOf(board: Board): Dashboard {
  const builder = new DashboardBuilder(board.title)
    .uid(DASHBOARDS[board.name])
    .description(board.description)
    .tags([TAG])
    .refresh('30s')
    .time({ from: 'now-6h', to: 'now' })
    .timezone('browser')
    .readonly()
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(choice('instance', 'Heartline', 'label_values(heartline_build_info, instance)'))
    .link(
      new DashboardLinkBuilder('Dashboards')
        .type(DashboardLinkType.Dashboards)
        .tags([TAG])
        .asDropdown(true)
        .includeVars(true)
        .keepTime(true),
    )
    .link(
      new DashboardLinkBuilder('Status page')
        .type(DashboardLinkType.Link)
        .icon('external link')
        .url('${page}')
        .targetBlank(true),
    )
  if (board.variables.includes('network')) {
    builder.withVariable(choice('network', 'Network', `label_values(heartline_endpoint_info{${BY_INSTANCE}}, network)`))
  }
  if (board.variables.includes('endpoint')) {
    builder.withVariable(
      choice('endpoint', 'Endpoint', `label_values(heartline_endpoint_info{${BY_NETWORK}}, endpoint)`),
    )
  }
  builder.withVariable(new TextBoxVariableBuilder('page').label('Status page').defaultValue('http://127.0.0.1:9780'))

  let [x, y, rowHeight] = [0, 0, 0]
  for (const [at, { width, height, draw }] of board.panels.entries()) {
    if (x + width > COLUMNS) [x, y, rowHeight] = [0, y + rowHeight, 0]
    const panel = draw()
    panel.id(at + 1)
    panel.gridPos({ x, y, w: width, h: height })
    builder.withPanel(panel)
    x += width
    rowHeight = Math.max(rowHeight, height)
  }
  return builder.build()
}

/** One dashboard, with its panels from left to right, row by row. */
export interface Board {
  readonly name: DashboardName
  readonly title: string
  readonly description: string
  /** Its variables, in addition to the data source and the Heartline. */
  readonly variables: readonly ('network' | 'endpoint')[]
  readonly panels: readonly Placed[]
}

/** The label filters of all queries of a dashboard. */
export const BY_INSTANCE = 'instance=~"$instance"'
export const BY_NETWORK = `${BY_INSTANCE},network=~"$network"`
export const BY_ENDPOINT = `${BY_NETWORK},endpoint=~"$endpoint"`

const TAG = 'heartline'
const COLUMNS = 24

function choice(name: string, label: string, query: string): QueryVariableBuilder {
  return new QueryVariableBuilder(name)
    .label(label)
    .datasource(DATA_SOURCE)
    .query({ query, refId: name })
    .definition(query)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue('.*')
    .current({ selected: true, text: ['All'], value: ['$__all'] })
}
