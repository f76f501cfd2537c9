import type { Builder } from '@grafana/grafana-foundation-sdk/cog'
import * as common from '@grafana/grafana-foundation-sdk/common'
import { GraphThresholdsStyleConfigBuilder, VizLegendOptionsBuilder } from '@grafana/grafana-foundation-sdk/common'
import {
  type Panel,
  type Threshold,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  type ValueMapping,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder, PromQueryFormat } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimelineBuilder } from '@grafana/grafana-foundation-sdk/statetimeline'
import { PanelBuilder as GraphBuilder } from '@grafana/grafana-foundation-sdk/timeseries'
import { mappingOf, type Words } from './words.ts'

/** One panel: title, description, unit, queries. */
export interface PanelSpec {
  readonly title: string
  /** One sentence for new readers. */
  readonly description: string
  /** A Grafana unit, such as `s`. */
  readonly unit?: string
  /** Grid columns, out of 24. */
  readonly width: number
  readonly height: number
  readonly queries: readonly Query[]
  /** Values from here on are bad. A configurable bound is shown by a query instead. */
  readonly bad?: { readonly above: number } | { readonly below: number }
  readonly words?: Words
  readonly stacked?: boolean
  readonly max?: number
}

export interface Query {
  readonly expr: string
  /** Such as `{{endpoint}}`. */
  readonly legend: string
}

export type Drawn = Builder<Panel> & { gridPos(position: Panel['gridPos'] & object): unknown; id(id: number): unknown }

export interface Placed {
  readonly width: number
  readonly height: number
  readonly draw: () => Drawn
}

export const DATA_SOURCE = { type: 'prometheus', uid: '${datasource}' }
const GREEN = 'green'
const RED = 'red'

export function graph(spec: PanelSpec): Placed {
  return placed(spec, () => {
    const panel = new GraphBuilder()
      .lineWidth(1)
      .fillOpacity(spec.stacked ? 30 : 5)
      .showPoints(common.VisibilityMode.Never)
      .legend(
        new VizLegendOptionsBuilder()
          .displayMode(common.LegendDisplayMode.Table)
          .placement(common.LegendPlacement.Bottom)
          .showLegend(true)
          .calcs(['lastNotNull', 'max']),
      )
      .tooltip(new common.VizTooltipOptionsBuilder().mode(common.TooltipDisplayMode.Multi))
      .thresholdsStyle(
        new GraphThresholdsStyleConfigBuilder().mode(
          spec.bad ? common.GraphThresholdsStyleMode.Line : common.GraphThresholdsStyleMode.Off,
        ),
      )
    if (spec.stacked) panel.stacking(new common.StackingConfigBuilder().mode(common.StackingMode.Normal))
    return panel
  })
}

export function stat(spec: PanelSpec): Placed {
  return placed(spec, () =>
    new StatBuilder()
      .reduceOptions(new common.ReduceDataOptionsBuilder().calcs(['lastNotNull']))
      .colorMode(spec.bad || spec.words ? common.BigValueColorMode.Background : common.BigValueColorMode.Value)
      .graphMode(common.BigValueGraphMode.None)
      .textMode(common.BigValueTextMode.ValueAndName),
  )
}

export function timeline(spec: PanelSpec): Placed {
  return placed(spec, () =>
    new TimelineBuilder().mergeValues(true).showValue(common.VisibilityMode.Never).rowHeight(0.8),
  )
}

export function table(query: string, refId: string): DataqueryBuilder {
  return new DataqueryBuilder().refId(refId).expr(query).instant().format(PromQueryFormat.Table).datasource(DATA_SOURCE)
}

/** The methods that all panel builders share. */
interface AnyBuilder extends Drawn {
  title(title: string): this
  description(text: string): this
  datasource(source: typeof DATA_SOURCE): this
  unit(unit: string): this
  max(max: number): this
  mappings(mappings: ValueMapping[]): this
  thresholds(thresholds: ThresholdsConfigBuilder): this
  withTarget(query: DataqueryBuilder): this
}

function placed(spec: PanelSpec, build: () => AnyBuilder): Placed {
  return {
    width: spec.width,
    height: spec.height,
    draw() {
      const panel = build().title(spec.title).description(spec.description).datasource(DATA_SOURCE)
      if (spec.unit !== undefined) panel.unit(spec.unit)
      if (spec.max !== undefined) panel.max(spec.max)
      if (spec.words !== undefined) panel.mappings([mappingOf(spec.words)])
      panel.thresholds(new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps(stepsOf(spec.bad)))
      for (const [at, { expr, legend }] of spec.queries.entries()) {
        panel.withTarget(
          new DataqueryBuilder()
            .refId(String.fromCharCode('A'.charCodeAt(0) + at))
            .expr(expr)
            .legendFormat(legend)
            .range()
            .datasource(DATA_SOURCE),
        )
      }
      return panel
    },
  }
}

function stepsOf(bad: PanelSpec['bad']): Threshold[] {
  // Grafana's first step has no lower bound.
  const first = (color: string): Threshold => ({ value: null, color })
  if (bad === undefined) return [first(GREEN)]
  return 'above' in bad
    ? [first(GREEN), { value: bad.above, color: RED }]
    : [first(RED), { value: bad.below, color: GREEN }]
}
