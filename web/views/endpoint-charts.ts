import type { HistoryBucketView, PollView, RulesView } from '../../src/http/wire/history.ts'
import type { Band, Chart, ChartGroup, Moment, Series } from './chart-group.ts'
import type { Zone } from './format.ts'
import { grafanaPath } from './grafana.ts'
import { closerPath, type Endpoint, type Span, ticksOf, widerPath, zoomPath } from './time-range.ts'
import { type Cell, cellText, shareOf, stretchesOf } from './timeline-cells.ts'
import { tickText } from './when.ts'
import { ENDPOINT } from './words-endpoint.ts'

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
  const of = (read: (bucket: HistoryBucketView) => number | null) => buckets.map(read)
  const latency: readonly Series[] = [
    { label: ENDPOINT.series.max, look: 'faint', values: of((bucket) => bucket.latency_max_seconds) },
    { label: ENDPOINT.series.p95, look: 'main', values: of((bucket) => bucket.latency_p95_seconds) },
    { label: ENDPOINT.series.p50, look: 'second', values: of((bucket) => bucket.latency_p50_seconds) },
  ]
  const charts = chartsOf(rules, {
    latency,
    lag: of((bucket) => bucket.lag_blocks_max),
    height: of((bucket) => bucket.height),
    beat: of((bucket) => bucket.heartbeat_lag_seconds_max),
    failures: of((bucket) => bucket.contiguous_failures_max),
  })
  return { times: cells, charts }
}

function pollCharts({ span, rules }: Past, given: readonly PollView[]): Values {
  const holdsMs = 2500 * (rules?.interval_seconds ?? 60)
  const polls: ({ readonly atMs: number } & Partial<PollView>)[] = []
  for (const poll of given) {
    const atMs = Date.parse(poll.at)
    const last = polls.at(-1)
    // No poll in between: break the line.
    if (last !== undefined && atMs - last.atMs > holdsMs) polls.push({ atMs: (last.atMs + atMs) / 2 })
    polls.push({ ...poll, atMs })
  }
  const of = (read: (poll: Partial<PollView>) => number | null | undefined) => polls.map((poll) => read(poll) ?? null)
  const charts = chartsOf(rules, {
    latency: [{ label: ENDPOINT.series.poll, look: 'points', values: of((poll) => poll.latency_seconds) }],
    lag: of((poll) => poll.lag_blocks),
    height: of((poll) => poll.height),
    beat: of((poll) => poll.heartbeat_lag_seconds),
    failures: of((poll) => poll.contiguous_failures),
  })
  const times: Moment[] = polls.map(({ atMs }, at) => ({ fromMs: atMs, toMs: polls[at + 1]?.atMs ?? span.toMs }))
  return { times, charts }
}

interface Measured {
  readonly latency: readonly Series[]
  readonly lag: Series['values']
  readonly height: Series['values']
  readonly beat: Series['values']
  readonly failures: Series['values']
}

function chartsOf(rules: RulesView | null, { latency, lag, height, beat, failures }: Measured): readonly Chart[] {
  const { charts, series } = ENDPOINT
  const limits = rules?.thresholds
  const from = (value: number | undefined) => (value === undefined ? [] : [{ value, state: 'degraded' } as const])
  return [
    {
      key: 'latency',
      title: charts.latency,
      unit: 'latency',
      series: latency,
      thresholds: from(limits?.latency_seconds),
      scale: 'wide',
    },
    {
      key: 'lag',
      title: charts.lag,
      unit: 'count',
      series: [{ label: series.lag, look: 'steps', values: lag }],
      thresholds:
        limits === undefined ? [] : [...from(limits.lag_blocks), { value: limits.lag_blocks_down, state: 'down' }],
      scale: 'zero',
    },
    {
      key: 'height',
      title: charts.height,
      unit: 'count',
      series: [{ label: series.height, look: 'main', values: height }],
      thresholds: [],
      scale: 'free',
    },
    {
      key: 'beat',
      title: charts.beat,
      unit: 'duration',
      series: [{ label: series.beat, look: 'main', values: beat }],
      thresholds: from(limits?.heartbeat_seconds),
      scale: 'zero',
    },
    {
      key: 'failures',
      title: charts.failures,
      unit: 'count',
      series: [{ label: series.failures, look: 'steps', values: failures }],
      thresholds: from(limits?.contiguous_failures),
      scale: 'zero',
    },
  ]
}

/** The states behind the lines. A state that took little of a cell only caps it: a flapping endpoint is mostly up. */
function bandsOf(cells: readonly Cell[]): readonly Band[] {
  const bandOf = (cell: Cell): Pick<Band, 'kind' | 'isBrief'> | null => {
    const { state } = cell
    if (state === 'down' || state === 'degraded') return { kind: state, isBrief: shareOf(cell) === 'little' }
    const kind = (['unknown', 'maintenance'] as const).find((one) => isMostly(cell, one))
    return kind === undefined ? null : { kind, isBrief: false }
  }
  const banded = cells.flatMap((cell) => {
    const band = bandOf(cell)
    return band === null ? [] : [{ fromMs: cell.fromMs, toMs: cell.toMs, ...band }]
  })
  return stretchesOf(banded, (a, b) => a.kind === b.kind && a.isBrief === b.isBrief).map(
    ({ fromMs, toMs, first: { kind, isBrief } }) => ({ fromMs, toMs, kind, isBrief }),
  )
}

function isMostly({ lasted }: Cell, state: 'unknown' | 'maintenance'): boolean {
  const whole = Object.values(lasted).reduce((sum, seconds) => sum + seconds, 0)
  return lasted[state] > whole / 2
}
