import type { HistoryBucketView, PollView, RulesView } from '../../../src/http/wire/history.ts'
import type { Band, Chart, ChartGroup, Moment, Series, Threshold } from '../charts/chart-group.ts'
import { type Cell, cellText, shareOf, stretchesOf } from '../charts/timeline-cells.ts'
import type { Zone } from '../format.ts'
import { grafanaPath } from '../grafana.ts'
import { closerPath, type Endpoint, type Span, ticksOf, widerPath, zoomPath } from '../time-range.ts'
import { tickText } from '../when.ts'
import { ENDPOINT } from '../words-endpoint.ts'

/** The charts of an endpoint's history: of single polls when zoomed in, of rolled-up steps otherwise. */
export function endpointCharts(past: Past, zone: Zone): ChartGroup {
  const { of, span, cells, canZoom, nowMs } = past
  const { times, charts } = past.polls === null ? bucketCharts(past) : pollCharts(past, past.polls)
  const ticks = ticksOf(span, zone)
  const known = charts.filter(({ series }) => series.some(({ values }) => values.some((value) => value !== null)))
  const calm = known.filter((chart) => isCalm(chart))
  return {
    fromMs: span.fromMs,
    toMs: span.toMs,
    times,
    charts: known.filter((chart) => !calm.includes(chart)),
    calm: calm.map(({ title }) => title),
    bands: bandsOf(cells),
    cells,
    cellText(at) {
      const cell = cells[at]
      return cell === undefined ? '' : cellText(cell, zone)
    },
    zoomTo: (fromMs, toMs) =>
      !canZoom || toMs - fromMs < 60_000
        ? null
        : zoomPath(of, Math.max(fromMs, span.fromMs), Math.min(toMs, span.toMs)),
    closer: (atMs) => (canZoom ? closerPath(of, span, atMs) : null),
    wider: canZoom ? widerPath(of, span, nowMs) : null,
    ticks: ticks.at.map((ms) => ({ ms, text: tickText(ms, ticks.apartMs, zone) })),
    zone,
    grafana: grafanaPath(past.rules?.grafana_url, 'endpoint', span, { network: of.network, endpoint: of.endpoint }),
  }
}

/** Never behind, or without a failure: a line at zero says no more than its title. */
function isCalm({ unit, scale, series }: Chart): boolean {
  return unit === 'count' && scale === 'zero' && series.every(({ values }) => values.every((value) => !value))
}

export interface Past {
  readonly of: Endpoint
  readonly span: Span
  readonly cells: readonly Cell[]
  readonly buckets: readonly HistoryBucketView[]
  /** Single polls; `null` if there are too many. */
  readonly polls: readonly PollView[] | null
  readonly rules: RulesView | null
  /** Whether finer data can be loaded. */
  readonly canZoom: boolean
  readonly nowMs: number
}

type Values = Pick<ChartGroup, 'times' | 'charts'>

function bucketCharts({ cells, buckets, rules }: Past): Values {
  const of = (label: string, look: Series['look'], key: KeysOf<HistoryBucketView>): readonly Series[] => [
    { label, look, values: buckets.map((bucket) => bucket[key]) },
  ]
  const { series } = ENDPOINT
  const latency = [
    ...of(series.max, 'faint', 'latency_max_seconds'),
    ...of(series.p95, 'main', 'latency_p95_seconds'),
    ...of(series.p50, 'second', 'latency_p50_seconds'),
  ]
  const charts = chartsOf(rules, latency, (label, look, key) => of(label, look, key === 'height' ? key : `${key}_max`))
  return { times: cells, charts }
}

function pollCharts({ span, rules }: Past, polls: readonly PollView[]): Values {
  const rows = rowsOf(polls, 2500 * (rules?.interval_seconds ?? 60))
  const places = [...new Set(polls.map(({ vantage }) => vantage ?? 'default'))].sort()
  const of = (label: string, look: Series['look'], key: KeysOf<PollView>): readonly Series[] =>
    places.map((place, nth) => ({
      label: places.length < 2 ? label : place,
      look: places.length < 2 ? look : ((['stepped', 'second'] as const)[nth] ?? 'faint'),
      values: rows.map(({ latest }) => latest.get(place)?.[key] ?? null),
    }))
  const times: Moment[] = rows.map(({ fromMs }, at) => ({ fromMs, toMs: rows[at + 1]?.fromMs ?? span.toMs }))
  return { times, charts: chartsOf(rules, of(ENDPOINT.series.poll, 'points', 'latency_seconds'), of) }
}

interface Row {
  readonly fromMs: number
  /** By place. */
  readonly latest: ReadonlyMap<string, PollView>
}

/** What the latest poll of each place says, whenever that changes: also when one holds no longer, which breaks its line. */
function rowsOf(polls: readonly PollView[], holdsMs: number): readonly Row[] {
  const rows: Row[] = []
  const latest = new Map<string, PollView>()
  const add = (fromMs: number) => rows.push({ fromMs, latest: new Map(latest) })
  for (const poll of polls) {
    const fromMs = Date.parse(poll.at)
    const own = poll.vantage ?? 'default'
    // The oldest comes first.
    for (const [place, { at }] of latest) {
      const endMs = Date.parse(at) + holdsMs
      if (endMs < fromMs && latest.delete(place)) add(endMs)
    }
    latest.delete(own)
    latest.set(own, poll)
    add(fromMs)
  }
  return rows
}

type KeysOf<T> = { [K in keyof T]-?: T[K] extends number | null ? K : never }[keyof T]

type Key = 'lag_blocks' | 'height' | 'heartbeat_lag_seconds' | 'contiguous_failures'

function chartsOf(
  rules: RulesView | null,
  latency: readonly Series[],
  of: (label: string, look: Series['look'], key: Key) => readonly Series[],
): readonly Chart[] {
  const { charts, series: labels } = ENDPOINT
  const limits = rules?.thresholds
  const from = (value: number | undefined, state: Threshold['state'] = 'degraded'): readonly Threshold[] =>
    value === undefined ? [] : [{ value, state }]
  const chart = (
    key: keyof typeof charts,
    unit: Chart['unit'],
    scale: Chart['scale'],
    series: readonly Series[],
    thresholds: Chart['thresholds'],
  ): Chart => ({ key, title: charts[key], unit, scale, series, thresholds })
  const lagLimits = [...from(limits?.lag_blocks), ...from(limits?.lag_blocks_down, 'down')]
  return [
    chart('latency', 'latency', 'wide', latency, from(limits?.latency_seconds)),
    chart('lag', 'count', 'zero', of(labels.lag, 'stepped', 'lag_blocks'), lagLimits),
    chart('height', 'count', 'free', of(labels.height, 'main', 'height'), []),
    chart(
      'beat',
      'duration',
      'zero',
      of(labels.beat, 'main', 'heartbeat_lag_seconds'),
      from(limits?.heartbeat_seconds),
    ),
    chart(
      'failures',
      'count',
      'zero',
      of(labels.failures, 'stepped', 'contiguous_failures'),
      from(limits?.contiguous_failures),
    ),
  ]
}

/** The states behind the lines. A state that took little of a cell only caps it: a flapping endpoint is mostly up. */
function bandsOf(cells: readonly Cell[]): readonly Band[] {
  const banded = cells.flatMap((cell): Band[] => {
    const { state, fromMs, toMs } = cell
    const isBad = state === 'down' || state === 'degraded'
    const kind = isBad ? state : (['unknown', 'maintenance'] as const).find((one) => isMostly(cell, one))
    return kind === undefined ? [] : [{ fromMs, toMs, kind, isBrief: isBad && shareOf(cell) === 'little' }]
  })
  const stretches = stretchesOf(banded, (a, b) => a.kind === b.kind && a.isBrief === b.isBrief)
  return stretches.map(({ first, fromMs, toMs }) => ({ ...first, fromMs, toMs }))
}

function isMostly({ lasted }: Cell, state: 'unknown' | 'maintenance'): boolean {
  const whole = Object.values(lasted).reduce((sum, seconds) => sum + seconds, 0)
  return lasted[state] > whole / 2
}
