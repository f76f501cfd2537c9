import type { IncidentSummaryView } from '../../../src/http/wire/incidents.ts'
import type { StateView } from '../../../src/http/wire/status.ts'
import { html, nothing, svg, type TemplateResult } from '../lit.ts'
import { incidentPath } from '../route.ts'
import { fromTo } from '../when.ts'
import { WORDS } from '../words.ts'
import { ENDPOINT } from '../words-endpoint.ts'
import { timesTable } from './chart.ts'
import type { ChartGroup } from './chart-group.ts'
import { type Cell, lastedTexts, stretchesOf } from './timeline-cells.ts'

/**
 * The states of an endpoint over time, with its incidents below. Bad states differ by position, not only by colour: down
 * hangs from the top, degraded stands at the bottom. It is one tab stop: a slider over its cells.
 */
export function timeline({ title, group, cells, incidents }: Timeline): TemplateResult {
  const { fromMs, toMs, ticks } = group
  const x = (ms: number) => `${Math.max(0, Math.min(100, ((ms - fromMs) / (toMs - fromMs)) * 100)).toFixed(3)}%`
  const width = (from: number, to: number) => x(fromMs + Math.min(to, toMs) - Math.max(from, fromMs))
  const drawn = stretchesOf(cells, (a, b) => lookOf(a) === lookOf(b))
  const known = stretchesOf(
    cells.filter(({ state }) => state !== 'unknown'),
    () => true,
  )
  const shown = incidents.filter(({ closed_at: closed }) => closed === null || Date.parse(closed) > fromMs)
  return html`
    <div class="timeline">
      <div
        class="past-states"
        data-timeline
        role="slider"
        tabindex="0"
        aria-label=${ENDPOINT.timelineOf(title, fromTo(fromMs, toMs, group.zone))}
        aria-orientation="horizontal"
        aria-readonly="true"
        aria-valuemin="1"
        aria-valuemax=${Math.max(1, cells.length)}
        aria-valuenow=${Math.max(1, cells.length)}
        aria-valuetext=${lastedTexts(sum(cells)).join(', ')}
      >
        <svg width="100%" height="100%" aria-hidden="true" focusable="false">
          ${known.map(({ fromMs: from, toMs: to }) => svg`<rect class="ground" x=${x(from)} width=${width(from, to)} y="0" height="100%" />`)}
          ${drawn.map(({ fromMs: from, toMs: to, first }) =>
            bars(first).map(
              ({ state, y, height }) =>
                svg`<rect class=${state} x=${x(from)} width=${width(from, to)} y="${y}%" height="${height}%" />`,
            ),
          )}
        </svg>
      </div>
      <svg class="past-incidents" width="100%" height="9" aria-hidden="true" focusable="false">
        ${shown.map(({ id, state, opened_at: openedAt, closed_at: closedAt }) => {
          const [from, to] = [Date.parse(openedAt), closedAt === null ? toMs : Date.parse(closedAt)]
          if (from > toMs) return nothing
          return svg`<a href=${incidentPath(id)} tabindex="-1"><rect class="incident ${state}" x=${x(from)} width=${width(from, to)} y="1" height=${state === 'down' ? 7 : 4} rx="1" /></a>`
        })}
      </svg>
      <svg class="past-axis" width="100%" height="17" aria-hidden="true" focusable="false">
        ${ticks.map(({ ms, text }) => {
          // A label at the end would stick out.
          const anchor = toMs - ms < 0.08 * (toMs - fromMs) ? 'end' : 'start'
          return svg`<text x=${x(ms)} y="13" text-anchor=${anchor}>${text}</text>`
        })}
      </svg>
    </div>
  `
}

export interface Timeline {
  readonly title: string
  readonly group: ChartGroup
  readonly cells: readonly Cell[]
  readonly incidents: readonly IncidentSummaryView[]
}

interface Bar {
  readonly state: StateView
  /** Percent of the height, from the top. */
  readonly y: number
  readonly height: number
}

const UP: Bar = { state: 'up', y: 28, height: 44 }
/** Only what lasted the whole cell fills it, and the least is visible. */
const REACHES = [
  { most: 0.1, percent: 25 },
  { most: 0.35, percent: 45 },
  { most: 0.7, percent: 68 },
  { most: 0.97, percent: 86 },
]

function reachOf(seconds: number, whole: number): number {
  const share = whole === 0 ? 0 : seconds / whole
  return share <= 0 ? 0 : (REACHES.find(({ most }) => share <= most)?.percent ?? 100)
}

/** Each bad state by its share of the cell; up below them, unless more of the cell is unknown. */
function bars({ lasted }: Cell): readonly Bar[] {
  const { up, degraded, down, maintenance, unknown } = lasted
  const whole = up + degraded + down + maintenance + unknown
  const below = reachOf(degraded, whole) * 0.78
  const all: readonly Bar[] = [
    up >= 1 && up + maintenance >= unknown && up >= maintenance ? UP : { ...UP, height: 0 },
    { state: 'maintenance', y: 40, height: maintenance > Math.max(up, unknown) ? 20 : 0 },
    { state: 'degraded', y: 100 - below, height: below },
    { state: 'down', y: 0, height: reachOf(down, whole) },
  ]
  return all.filter(({ height }) => height > 0)
}

function lookOf(cell: Cell): string {
  return bars(cell)
    .map(({ state, height }) => `${state} ${height}`)
    .join()
}

function sum(cells: readonly Cell[]): Cell['lasted'] {
  const total = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
  for (const { lasted } of cells) for (const state of Object.keys(total) as StateView[]) total[state] += lasted[state]
  return total
}

/** The timeline as a table, with one row per period of one state. */
export function statesTable(cells: readonly Cell[], zone: ChartGroup['zone']): TemplateResult {
  const stretches = stretchesOf(cells, (a, b) => a.state === b.state)
  return timesTable(
    [ENDPOINT.state, ENDPOINT.lasted].map((label) => html`<th scope="col">${label}</th>`),
    stretches.map(({ fromMs, toMs, first, cells: within }) => ({
      fromMs,
      toMs,
      cells: [WORDS.states[first.state], lastedTexts(sum(within)).join(', ')].map((text) => html`<td>${text}</td>`),
    })),
    zone,
  )
}
