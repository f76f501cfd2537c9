import type { DaysView, PollView } from '../../../src/http/wire/history.ts'
import type { IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import type { EndpointView } from '../../../src/http/wire/status.ts'
import { chartFigure } from '../charts/chart.ts'
import type { ChartGroup } from '../charts/chart-group.ts'
import { dayBars, dayCount } from '../charts/day-bars.ts'
import { statesTable, timeline } from '../charts/timeline.ts'
import type { Cell } from '../charts/timeline-cells.ts'
import { age, duration, percent } from '../format.ts'
import { html, nothing, repeat, type TemplateResult } from '../lit.ts'
import { endpointPath } from '../route.ts'
import {
  AVAILABILITY_RANGES,
  besidePaths,
  type Endpoint,
  nowPath,
  type Part,
  partsOf,
  RANGE_NAMES,
  RANGES,
  rangePath,
  type Span,
  zoomPath,
} from '../time-range.ts'
import { day, fieldTime, fromTo, minute } from '../when.ts'
import { WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'

/** The history: availability, timeline and charts on one time axis. */
export function historySection(history: History): TemplateResult {
  const { of, title, group, cells, incidents, detail } = history
  return html`
    <section class="history" aria-labelledby="history">
      <h2 id="history" class="hidden">${ENDPOINT.history}</h2>
      ${ranges(history)} ${lastDays(history)} ${detail === 'all' ? navigation(history) : nothing}
      ${detail === 'away' ? html`<p class="note">${ENDPOINT.away}</p>` : nothing}
      ${
        cells.length === 0
          ? nothing
          : html`
              <figure class="chart of-states">
                <figcaption>
                  <h3>${ENDPOINT.timeline}</h3>
                  <p class="chart-legend">${legend(cells)}</p>
                  <output data-read="timeline" aria-hidden="true"></output>
                </figcaption>
                ${timeline({ title, group, cells, incidents })}
                <details>
                  <summary>${ENDPOINT.asTable}<span class="hidden">: ${ENDPOINT.timeline}</span></summary>
                  ${statesTable(cells, group.zone)}
                </details>
              </figure>
            `
      }
      ${detail === 'states' ? html`<p class="note">${ENDPOINT.locked} <a href="/sign-in?to=${encodeURIComponent(endpointPath(of.network, of.endpoint))}">${WORDS.signIn}</a></p>` : nothing}
      ${group.charts.map((chart) => chartFigure(chart, group))}
      ${group.calm.length === 0 ? nothing : html`<p class="note">${group.calm.map((title) => ENDPOINT.calm(title)).join(' ')}</p>`}
      ${group.charts.length === 0 ? nothing : html`<p class="hint">${ENDPOINT.zoomHint}</p>`}
    </section>
  `
}

export interface History {
  readonly of: Endpoint
  readonly title: string
  readonly availability: EndpointView['availability']
  readonly group: ChartGroup
  readonly days: DaysView | null
  readonly span: Span
  readonly cells: readonly Cell[]
  readonly polls: readonly PollView[] | null
  readonly incidents: readonly IncidentSummaryView[]
  readonly detail: 'all' | 'states' | 'away'
  readonly loadedMs: number
}

/** Explains only the states that are shown, if only for a part of a cell. */
function legend(cells: readonly Cell[]): readonly TemplateResult[] {
  return (['up', 'degraded', 'down', 'maintenance', 'unknown'] as const)
    .filter((state) => cells.some(({ lasted }) => lasted[state] > 0))
    .map((state) => html`<span class="is-${state}">${WORDS.states[state]}</span>`)
}

const ENOUGH = 0.5

function ranges({ availability }: History): TemplateResult {
  return html`<div class="ranges">${AVAILABILITY_RANGES.map((range) => html`<p>${figures(range, availability[range])}</p>`)}</div>`
}

function figures(
  range: (typeof AVAILABILITY_RANGES)[number],
  { ratio, coverage, fresh }: EndpointView['availability']['24h'],
): TemplateResult {
  const covered = ENDPOINT.covered(share(coverage))
  const isEnough = ratio !== null && coverage >= ENOUGH
  const known =
    ratio === null ? WORDS.noData : `${percent(ratio)} ${WORDS.coverage(age((coverage * RANGES[range]) / 1000))}`
  return html`
    <span class="range">${ENDPOINT.ranges[range]}</span>
    ${isEnough ? html`<b>${percent(ratio)}</b>` : html`<b class="quiet">${known}</b>`}
    <small>${fresh === null || !isEnough ? nothing : html`<span title=${ENDPOINT.freshMeaning}>${ENDPOINT.fresh(percent(fresh))}</span>, `}<span title=${WORDS.coverageMeaning(share(coverage))}>${covered}</span></small>
  `
}

function share(ratio: number): string {
  return `${Math.floor(ratio * 100)} %`
}

/** A bar for each of the last 90 days. */
function lastDays({ of, title, days }: History): TemplateResult | typeof nothing {
  if (days === null) return nothing
  return html`<div class="days">
    <h3>${WORDS.days(dayCount(days))}</h3>
    ${dayBars(days.strips[0], `${of.network}/${of.endpoint}`, title, days)}
  </div>`
}

/** The shown time range, and links to others: plain links work without a script. */
function navigation({ of, span, polls, group, loadedMs }: History): TemplateResult {
  const { zone, wider } = group
  const { earlier, later } = besidePaths(of, span, loadedMs)
  const now = nowPath(of, span, loadedMs)
  const parts = partsOf(span, zone)
  const step = polls === null ? ENDPOINT.each(duration(span.stepMs / 1000)) : ENDPOINT.eachPoll
  const when = fromTo(span.fromMs, span.toMs, zone)
  return html`
    <div class="places" role="navigation" aria-label=${ENDPOINT.spans}>
      <p class="picker">
        ${RANGE_NAMES.map((range) => html`<a href=${rangePath(of, range)} aria-current=${span.range === range ? 'true' : nothing}>${ENDPOINT.ranges[range]}</a>`)}
      </p>
      ${repeat(
        [span.range ?? when],
        (shown) => shown,
        () => timePicker(span, zone),
      )}
    </div>
    <div class="places" role="navigation" aria-label=${ENDPOINT.navigation}>
      <p class="where"><b>${span.range === null ? when : ENDPOINT.last(ENDPOINT.ranges[span.range])}</b> <small>${span.range === null ? step : `${when}, ${step}`}</small></p>
      <p class="steps">
        <a href=${earlier}>‹ ${ENDPOINT.earlier}</a>
        ${wider === null ? nothing : html`<a href=${wider}>${ENDPOINT.zoomOut}</a>`}
        ${later === null ? nothing : html`<a href=${later}>${ENDPOINT.later} ›</a>`}
        ${now === null ? nothing : html`<a href=${now}>${ENDPOINT.now}</a>`}
      </p>
      ${
        parts.length < 2
          ? nothing
          : html`<p class="parts"><span>${ENDPOINT.zoomIn}</span> ${parts.map((part) => html`<a href=${zoomPath(of, part.fromMs, part.toMs)}>${partText(part, zone)}</a>`)}</p>`
      }
    </div>
  `
}

/** A new one for each range; until then, what a user has typed stays while the page is drawn again. */
function timePicker({ fromMs, toMs }: Span, zone: ChartGroup['zone']): TemplateResult {
  return html`
    <form class="from-to" data-act="pick-time">
      <label>${ENDPOINT.from} <input type="datetime-local" name="from" required value=${fieldTime(fromMs, zone)} /></label>
      <label>${ENDPOINT.to} <input type="datetime-local" name="to" required value=${fieldTime(toMs, zone)} /></label>
      <button>${ENDPOINT.show}</button>
    </form>
  `
}

function partText({ fromMs, by }: Part, zone: ChartGroup['zone']): string {
  return by === 'day' ? day(fromMs, zone) : minute(fromMs, zone)
}
