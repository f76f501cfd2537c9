import { count, duration, latency, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { fromTo } from '../when.ts'
import { WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'
import type { Chart, ChartGroup, Moment } from './chart-group.ts'

/** One chart: title, legend, the element to draw into, and a table of its data. */
export function chartFigure(chart: Chart, { times, zone, grafana }: ChartGroup): TemplateResult {
  const { key, title, series, thresholds, unit } = chart
  const top = topOf(
    chart,
    valuesOf(chart).reduce((most, value) => Math.max(most, value), 0),
  )
  return html`
    <figure class="chart" aria-labelledby="chart-${key}">
      <figcaption>
        <h3 id="chart-${key}">${title}</h3>
        <p class="chart-legend">
          ${series.length > 1 ? series.map(({ label, look }) => html`<span class=${look}>${label}</span>`) : nothing}
          ${thresholds.map(({ value, state }) => html`<span class=${state}>${ENDPOINT.threshold(WORDS.states[state].toLowerCase(), UNITS[unit](value))}${value > top ? ` ${ENDPOINT.offChart}` : nothing}</span>`)}
        </p>
        ${grafana === null ? nothing : html`<a class="grafana" href=${grafana}>${ENDPOINT.inGrafana}<span class="hidden">: ${title}</span></a>`}
        <output data-read=${key} aria-hidden="true"></output>
      </figcaption>
      <div
        class="chart-plot"
        data-chart=${key}
        role="slider"
        tabindex="0"
        aria-labelledby="chart-${key}"
        aria-orientation="horizontal"
        aria-readonly="true"
        aria-valuemin="1"
        aria-valuemax=${Math.max(1, times.length)}
        aria-valuenow=${Math.max(1, times.length)}
        aria-valuetext=${summary(chart)}
      ></div>
      <p class="still">${summary(chart)}. ${ENDPOINT.still}</p>
      <details>
        <summary>${ENDPOINT.asTable}<span class="hidden">: ${title}</span></summary>
        ${table(chart, times, zone)}
      </details>
    </figure>
  `
}

export const UNITS = { count, latency, duration } as const satisfies Record<Chart['unit'], (value: number) => string>

/** The values at one moment: `14:05 to 14:10: p50 10 ms, p95 20 ms`. */
export function readingAt({ series, unit }: Chart, times: readonly Moment[], at: number, zone: Zone): string {
  const time = times[at]
  if (time === undefined) return ''
  const values = series.flatMap(({ label, values }) => {
    const value = values[at] ?? null
    return value === null ? [] : [series.length > 1 ? `${label} ${UNITS[unit](value)}` : UNITS[unit](value)]
  })
  return `${fromTo(time.fromMs, time.toMs, zone)}: ${values.length === 0 ? WORDS.noPast : values.join(', ')}`
}

/** The index of the last moment that starts at or before `atMs`; -1 if there is none. */
export function momentAt(moments: readonly Moment[], atMs: number): number {
  let [low, high] = [0, moments.length]
  while (low < high) {
    const between = (low + high) >> 1
    if ((moments[between]?.fromMs ?? Infinity) <= atMs) low = between + 1
    else high = between
  }
  return low - 1
}

function valuesOf({ series }: Chart): readonly number[] {
  return series.flatMap(({ values }) => values.filter((value) => value !== null))
}

/** One response of several seconds would flatten all others on a linear scale. */
export function isWide(chart: Chart): boolean {
  const [least, most] = valuesOf(chart).reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, 0],
  )
  return chart.scale === 'wide' && least > 0 && most / least > 30
}

/** The top of the scale for values up to `high`. It includes the first limit once values come near it. */
export function topOf(chart: Chart, high: number): number {
  if (isWide(chart)) return high * 1.25
  const limit = chart.thresholds[0]?.value ?? 0
  return Math.max(high * 1.12, high > limit / 4 ? limit * 1.12 : 0, chart.scale === 'wide' ? 0.001 : 1)
}

function summary(chart: Chart): string {
  const { title, unit } = chart
  const all = valuesOf(chart)
  if (all.length === 0) return ENDPOINT.chartNone(title)
  const [least, most] = all.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  )
  return ENDPOINT.chartSummary(title, UNITS[unit](least), UNITS[unit](most))
}

/** Neighbours with equal values are one row. */
function table({ series, unit }: Chart, times: readonly Moment[], zone: Zone): TemplateResult {
  const rows: { fromMs: number; toMs: number; values: readonly string[] }[] = []
  for (const [at, { fromMs, toMs }] of times.entries()) {
    const values = series.map((one) => {
      const value = one.values[at] ?? null
      return value === null ? WORDS.none : UNITS[unit](value)
    })
    const last = rows.at(-1)
    if (last !== undefined && last.values.every((value, column) => value === values[column])) last.toMs = toMs
    else rows.push({ fromMs, toMs, values })
  }
  return timesTable(
    series.map(({ label }) => html`<th scope="col" class="n">${label}</th>`),
    rows.map(({ values, ...times }) => ({ ...times, cells: values.map((value) => html`<td class="n">${value}</td>`) })),
    zone,
  )
}

/** What a drawing shows as a table with one row for each time. */
export function timesTable(
  heads: readonly TemplateResult[],
  rows: readonly { readonly fromMs: number; readonly toMs: number; readonly cells: readonly TemplateResult[] }[],
  zone: Zone,
): TemplateResult {
  return html`
    <div class="chart-scroll" tabindex="0" role="group" aria-label=${ENDPOINT.asTable}>
      <table class="chart-table">
        <thead>
          <tr>
            <th scope="col">${ENDPOINT.time}</th>
            ${heads}
          </tr>
        </thead>
        <tbody>
          ${rows.map(
            ({ fromMs, toMs, cells }) => html`<tr>
              <th scope="row">${fromTo(fromMs, toMs, zone)}</th>
              ${cells}
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}
