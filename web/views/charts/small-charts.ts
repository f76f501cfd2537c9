import type { StateView } from '../../../src/http/wire/status.ts'
import { duration, type Zone } from '../format.ts'
import { html, nothing, svg, type TemplateResult } from '../lit.ts'
import { clockOf, dated, minute } from '../when.ts'
import { LETTERS, word } from './strip.ts'
import { CHART_WORDS } from './words-small-charts.ts'

/**
 * Small charts below each other on one time axis, with a table of their data. They are one tab stop: `web/tooltip-texts.ts`
 * reads the table's rows. The table also works without a script.
 */
export function smallCharts(of: SmallCharts): TemplateResult {
  const { id, title, startMs, stepMs, cells, zone } = of
  const endMs = startMs + cells * stepMs
  const span = CHART_WORDS.span(stamp(startMs, of), stamp(endMs, of))
  return html`
    <figure class="small-charts">
      <div
        class="plot"
        role="slider"
        tabindex="0"
        data-chart-table="${id}-table"
        aria-label=${title}
        aria-orientation="horizontal"
        aria-readonly="true"
        aria-valuemin="1"
        aria-valuemax=${cells}
        aria-valuenow=${cells}
        aria-valuetext="${span}, ${CHART_WORDS.cells(cells, duration(stepMs / 1000))}"
      >
        ${of.states === undefined ? nothing : stateLane(of.states, of)} ${of.panels.map((panel) => lane(panel, of))}
      </div>
      <p class="axis" aria-hidden="true">
        <span>${stamp(startMs, of)}</span><span>${stamp(startMs + (cells * stepMs) / 2, of)}</span
        ><span>${stamp(endMs, of)}${zone === 'utc' ? ' UTC' : ''}</span>
      </p>
      ${of.grafana === undefined || of.grafana === null ? nothing : html`<a class="grafana" href=${of.grafana} aria-label="${CHART_WORDS.inGrafana}: ${title}">${CHART_WORDS.inGrafana}</a>`}
      <details class="behind">
        <summary>${CHART_WORDS.table}</summary>
        <div class="scroll" tabindex="0" role="region" aria-label=${title}>${table(of)}</div>
      </details>
    </figure>
  `
}

/** Figures over one time range, in cells of equal length. */
export interface SmallCharts {
  /** Unique in the document. */
  readonly id: string
  /** The accessible name. */
  readonly title: string
  readonly startMs: number
  readonly stepMs: number
  readonly cells: number
  readonly zone: Zone
  /** One letter per cell, as in a strip. */
  readonly states?: string
  readonly panels: readonly Panel[]
  /** The same figures on a dashboard. */
  readonly grafana?: string | null
  /** The time to highlight. */
  readonly marked?: { readonly fromMs: number; readonly toMs: number; readonly state: StateView }
}

export interface Panel {
  readonly name: string
  /** By default bars. */
  readonly kind?: 'bars' | 'line'
  /** `null` for unknown values. */
  readonly values: readonly (number | null)[]
  readonly write: (value: number) => string
  /** Where the scale starts, by default at zero. */
  readonly floor?: 'zero' | 'lowest'
  /** Values from here on are bad. */
  readonly limit?: number | undefined
}

const HEIGHT = 40
const TOP = 3
/** The smallest bar that is visible. */
const LEAST = 1.5

/** An hour of minutes: shorter charts begin with unknown cells, so that the first minutes do not look like a full history. */
const LEAST_CELLS = 60

export function padded(of: SmallCharts): SmallCharts {
  const more = Math.max(0, LEAST_CELLS - of.cells)
  const before = Array.from({ length: more }, () => null)
  return {
    ...of,
    startMs: of.startMs - more * of.stepMs,
    cells: of.cells + more,
    panels: of.panels.map((panel) => ({ ...panel, values: [...before, ...panel.values] })),
  }
}

function stateLane(states: string, of: SmallCharts): TemplateResult {
  return html`
    <div class="lane states">
      <span class="label">${CHART_WORDS.state}</span>
      <svg viewBox="0 0 ${of.cells} 14" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="ground" d=${bars(
          Array.from(states, (one) => (one === '-' ? null : 14)),
          14,
        )} />
        ${Object.entries(LETTERS).map(([letter, state]) => {
          const at = state === 'down' ? 0 : state === 'degraded' ? 2 : state === 'maintenance' ? 6 : 4
          const d =
            state === 'unknown'
              ? ''
              : bars(
                  Array.from(states, (one) => (one === letter ? 14 - at : null)),
                  14,
                )
          return d === '' ? nothing : svg`<path class=${state} d=${d} />`
        })}
        ${band(of, 14)}
      </svg>
    </div>
  `
}

function lane({ name, kind = 'bars', values, write, floor = 'zero', limit }: Panel, of: SmallCharts): TemplateResult {
  const known = values.filter((value) => value !== null)
  const most = known.reduce((a, b) => Math.max(a, b), 0)
  if (kind === 'bars' && known.length > 0 && most === 0) {
    return html`<p class="lane"><span class="label">${name}</span> <span class="most">${CHART_WORDS.flat(write(0))}</span></p>`
  }
  const lowest = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
  const bottom = floor === 'lowest' && known.length > 0 ? lowest : 0
  const top = Math.max(most, limit !== undefined && most > limit / 2 ? limit : 0, bottom + 1e-9)
  const heightOf = (value: number) => {
    const height = ((value - bottom) / (top - bottom)) * (HEIGHT - TOP)
    return value > bottom ? Math.max(LEAST, height) : 0
  }
  const heights = values.map((value) => (value === null ? null : heightOf(value)))
  const ground = bars(
    values.map((value) => (value === null ? null : HEIGHT)),
    HEIGHT,
  )
  const isOver = (value: number | null) => limit !== undefined && value !== null && value >= limit
  const over = bars(
    heights.map((height, at) => (isOver(values[at] ?? null) ? height : null)),
    HEIGHT,
  )
  return html`
    <div class="lane ${kind}">
      <span class="label">${name}</span>
      <span class="most">${known.length === 0 ? CHART_WORDS.unknown : scaleText(bottom, most, floor, write)}</span>
      <svg viewBox="0 0 ${of.cells} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="ground" d=${ground} />
        ${band(of, HEIGHT)} <path class="area" d=${bars(heights, HEIGHT)} />
        ${kind === 'line' ? svg`<path class="trace" d=${trace(heights)} vector-effect="non-scaling-stroke" />` : nothing}
        ${over === '' ? nothing : svg`<path class="over" d=${over} />`}
        ${
          limit === undefined || limit > top
            ? nothing
            : svg`<path class="limit" d="M0 ${round(HEIGHT - heightOf(limit))}h${of.cells}" vector-effect="non-scaling-stroke" />`
        }
      </svg>
    </div>
  `
}

function scaleText(bottom: number, most: number, floor: 'zero' | 'lowest', write: Panel['write']): string {
  return floor === 'lowest' ? CHART_WORDS.span(write(bottom), write(most)) : `${CHART_WORDS.max} ${write(most)}`
}

function band({ marked, startMs, stepMs, cells }: SmallCharts, height: number): TemplateResult | typeof nothing {
  if (marked === undefined) return nothing
  const place = (ms: number) => Math.min(cells, Math.max(0, (ms - startMs) / stepMs))
  const [from, to] = [place(marked.fromMs), place(marked.toMs)]
  return svg`<rect class="band ${marked.state}" x=${round(from)} y="0" width=${round(Math.max(0.3, to - from))} height=${height} />`
}

/** The path of bars; neighbours of equal height are joined. */
function bars(heights: readonly (number | null)[], ground: number): string {
  let d = ''
  for (let at = 0; at < heights.length; at++) {
    const height = heights[at] ?? null
    if (height === null || height === 0) continue
    const start = at
    while (heights[at + 1] === height) at++
    const width = at + 1 - start
    d += `M${start} ${ground}v-${round(height)}h${width}v${round(height)}z`
  }
  return d
}

/** A stepped line, broken at unknown values. */
function trace(heights: readonly (number | null)[]): string {
  let d = ''
  let isDrawing = false
  for (const [at, height] of heights.entries()) {
    if (height !== null) d += `${isDrawing ? 'L' : 'M'}${at} ${round(HEIGHT - height)}h1`
    isDrawing = height !== null
  }
  return d
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function stamp(ms: number, { stepMs, cells, zone }: SmallCharts): string {
  return dated(stepMs < 60_000 ? clockOf(ms, zone) : minute(ms, zone), ms, cells * stepMs, zone)
}

function table(of: SmallCharts): TemplateResult {
  const { id, states, panels, cells, startMs, stepMs } = of
  return html`
    <table class="data" id="${id}-table">
      <thead>
        <tr>
          <th scope="col">${CHART_WORDS.time}</th>
          ${states === undefined ? nothing : html`<th scope="col">${CHART_WORDS.state}</th>`}
          ${panels.map(({ name }) => html`<th scope="col" class="n">${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${Array.from({ length: cells }, (_, at) => {
          const state = LETTERS[states?.[at] ?? '-'] ?? 'unknown'
          return html`<tr>
            <th scope="row">${stamp(startMs + at * stepMs, of)}</th>
            ${states === undefined ? nothing : html`<td>${word(state)}</td>`}
            ${panels.map(({ values, write }) => {
              const value = values[at] ?? null
              return html`<td class="n">${value === null ? CHART_WORDS.none : write(value)}</td>`
            })}
          </tr>`
        })}
      </tbody>
    </table>
  `
}
