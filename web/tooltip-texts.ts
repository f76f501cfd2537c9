export { holdsOrder } from './held-order.ts'

import type { DaysView, StripsView } from '../src/http/wire/history.ts'
import { type Cursor, moveCursor, type Readable } from './tooltip.ts'
import { daySentence } from './views/charts/day-bars.ts'
import { cellSentence } from './views/charts/strip-cell.ts'
import { zoomPath } from './views/time-range.ts'
import type { Settings } from './views/view.ts'
import { COLUMNS } from './views/words-columns.ts'

/** Adds the cursor to strips and small charts. Loaded when the reader's pointer or focus first comes to them. */
export function readAll(deps: ReadablesDeps, first: Event): Cursor {
  return moveCursor([strips(deps), days(deps), CHART_TABLES, TILES, HEADINGS], first, deps.goTo)
}

export interface ReadablesDeps {
  readonly strips: () => StripsView | null
  readonly days: () => DaysView | null
  readonly zone: () => Settings['zone']
  readonly goTo: (path: string) => void
}

/** An hour of a whole day. */
const FAR = 4

function strips({ strips, zone }: ReadablesDeps): Readable {
  return {
    selector: '[data-strip]',
    far: FAR,
    cellsOf: (strip) => Number(strip.getAttribute('aria-valuemax')),
    tell(strip, at) {
      const all = strips()
      const of = all?.strips.find(({ network, endpoint }) => `${network}/${endpoint}` === strip.dataset.strip)
      return all === null || of === undefined ? '' : cellSentence(of, at, all, zone())
    },
    pathOf: (strip, at) => pathOf(strip.dataset.strip, strips(), at),
  }
}

function days({ days }: ReadablesDeps): Readable {
  return {
    selector: '[data-days]',
    far: 7,
    cellsOf: (bars) => Number(bars.getAttribute('aria-valuemax')),
    tell(bars, at) {
      const all = days()
      const of = all?.strips.find(({ network, endpoint }) => `${network}/${endpoint}` === bars.dataset.days)
      return all === null || of === undefined ? '' : daySentence(of, at, all)
    },
    pathOf: (bars, at) => pathOf(bars.dataset.days, days(), at),
  }
}

/** The endpoint's page in the time of a cell. */
function pathOf(key: string | undefined, all: StripsView | DaysView | null, at: number): string | null {
  const of = all?.strips.find(({ network, endpoint }) => `${network}/${endpoint}` === key)
  if (all === null || of === undefined) return null
  const fromMs = Date.parse(all.from) + at * all.step_seconds * 1000
  return zoomPath(of, fromMs, Math.min(Date.parse(all.to), fromMs + all.step_seconds * 1000))
}

const TILES: Readable = {
  selector: '.tile',
  far: 1,
  cellsOf: () => 1,
  tell: (tile) => tile.getAttribute('aria-label') ?? '',
}

/** Headings of the overview; one that sorts is a link, which can have the focus. */
const HEADINGS: Readable = {
  selector: '.networks thead a, .networks thead th',
  far: 1,
  cellsOf: () => 1,
  tell(heading) {
    const column = heading.closest('th')?.classList
    return Object.entries(COLUMNS).find(([name]) => column?.contains(name))?.[1] ?? ''
  },
}

/** The text of a step is its row of the chart's table: `19:03: State up, Lag 0 blocks`. */
const CHART_TABLES: Readable = {
  selector: '[data-chart-table]',
  far: 10,
  cellsOf: (plot) => tableOf(plot)?.tBodies[0]?.rows.length ?? 0,
  tell(plot, at) {
    const table = tableOf(plot)
    const [time, ...cells] = textsOf(table?.tBodies[0]?.rows[at])
    if (time === undefined) return ''
    const [, ...names] = textsOf(table?.tHead?.rows[0])
    return `${time}: ${cells.map((cell, place) => `${names[place] ?? ''} ${cell}`).join(', ')}`
  },
}

function tableOf(plot: HTMLElement): HTMLTableElement | null {
  return document.querySelector<HTMLTableElement>(`#${CSS.escape(plot.dataset.chartTable ?? '')}`)
}

function textsOf(row: HTMLTableRowElement | undefined): string[] {
  return [...(row?.cells ?? [])].map((cell) => cell.textContent.trim())
}
