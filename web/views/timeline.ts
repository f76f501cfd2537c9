import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import type { StateView } from '../../src/http/wire-status.ts'
import { type Cell, lastedTexts, shareOf, stretchesOf } from './cells.ts'
import type { ChartGroup } from './chart-group.ts'
import { html, nothing, svg, type TemplateResult } from './lit.ts'
import { incidentPath } from './route.ts'
import { fromTo } from './when.ts'
import { WORDS } from './words.ts'
import { ENDPOINT } from './words-endpoint.ts'

/**
 * The states of an endpoint over time, with its incidents below. Bad states differ by position, not only by colour: down
 * hangs from the top, degraded stands at the bottom. It is one tab stop: a slider over its cells.
 */
export function timeline({ title, group, cells, incidents }: Timeline): TemplateResult {
  const { fromMs, toMs, ticks } = group
  const x = (ms: number) => `${Math.max(0, Math.min(100, ((ms - fromMs) / (toMs - fromMs)) * 100)).toFixed(3)}%`
  const width = (from: number, to: number) => x(fromMs + Math.min(to, toMs) - Math.max(from, fromMs))
  const drawn = stretchesOf(cells, (a, b) => a.state === b.state && shareOf(a) === shareOf(b))
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
const REACH = { little: 45, some: 68, most: 100 } as const

function bars(cell: Cell): readonly Bar[] {
  const share = shareOf(cell)
  const ground = share === 'most' || cell.lasted.up === 0 ? [] : [UP]
  switch (cell.state) {
    case 'up':
      return [UP]
    case 'maintenance':
      return [{ state: 'maintenance', y: 40, height: 20 }]
    case 'degraded': {
      const height = REACH[share] * 0.78
      return [...ground, { state: 'degraded', y: 100 - height, height }]
    }
    case 'down':
      return [...ground, { state: 'down', y: 0, height: REACH[share] }]
    case 'unknown':
      return []
  }
}

function sum(cells: readonly Cell[]): Cell['lasted'] {
  const total = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
  for (const { lasted } of cells) for (const state of Object.keys(total) as StateView[]) total[state] += lasted[state]
  return total
}

/** The timeline as a table, with one row per period of one state. */
export function statesTable(cells: readonly Cell[], zone: ChartGroup['zone']): TemplateResult {
  return html`
    <div class="chart-scroll" tabindex="0" role="group" aria-label=${ENDPOINT.asTable}>
      <table class="chart-table">
        <thead>
          <tr>
            <th scope="col">${ENDPOINT.time}</th>
            <th scope="col">${ENDPOINT.state}</th>
            <th scope="col">${ENDPOINT.lasted}</th>
          </tr>
        </thead>
        <tbody>
          ${stretchesOf(cells, (a, b) => a.state === b.state).map(
            ({ fromMs, toMs, first, cells: within }) => html`<tr>
              <th scope="row">${fromTo(fromMs, toMs, zone)}</th>
              <td>${WORDS.states[first.state]}</td>
              <td>${lastedTexts(sum(within)).join(', ')}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}
