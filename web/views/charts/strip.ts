import type { StripView } from '../../../src/http/wire/history.ts'
import type { StateView } from '../../../src/http/wire/status.ts'
import { blocks, duration } from '../format.ts'
import { html, nothing, svg, type TemplateResult } from '../lit.ts'
import { WORDS } from '../words.ts'
import { type StripSpan, stripHours } from './strip-span.ts'

/**
 * The last hours of an endpoint, states above and lag below. The share of bad time is the height of a cell. It is one tab stop: a slider over its cells, moved by
 * `web/tooltip.ts`.
 */
export function strip(of: StripView | undefined, key: string, title: string, span: StripSpan | null): TemplateResult {
  if (of === undefined || span === null || of.states === '') return html`<div class="strip"></div>`
  const all = cellsIn(of, span)
  const cells = all.length
  const drawn = all.map(drawnOf)
  return html`
    <div
      class="strip"
      role="slider"
      tabindex="0"
      data-strip=${key}
      aria-label=${STRIP.label(title, stripHours(span))}
      aria-orientation="horizontal"
      aria-readonly="true"
      aria-valuemin="1"
      aria-valuemax=${cells}
      aria-valuenow=${cells}
      aria-valuetext=${summary(all, of)}
    >
      <svg viewBox="0 0 ${cells} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="ground" d=${path(cells, 0, HEIGHT, (at) => of.states[at] !== '-')} />
        ${band(
          'before',
          path(cells, 0, HEIGHT, (at) => of.states[at] === BEFORE),
        )}
        ${band(
          'up',
          path(cells, 4, TALL, (at) => drawn[at]?.isUp === true),
        )}
        ${band(
          'maintenance',
          path(cells, 7, 11, (at) => drawn[at]?.isMaintenance === true),
        )}
        ${HEIGHTS.map((height) =>
          band(
            'degraded',
            path(cells, TALL - height, TALL, (at) => drawn[at]?.degraded === height),
          ),
        )}
        ${HEIGHTS.map((height) =>
          band(
            'down',
            path(cells, 0, height, (at) => drawn[at]?.down === height),
          ),
        )}
        ${LAGS.map(({ name, height }) => {
          const isIn = (at: number) => lagOf(of.lag_blocks_max[at] ?? 0) === name
          return band(`lag-${name}`, path(cells, HEIGHT - height, HEIGHT, isIn))
        })}
      </svg>
    </div>
  `
}

/** How a cell is drawn: the heights of its bad states, and what lies below them. */
interface Drawn {
  readonly down: number
  readonly degraded: number
  readonly isUp: boolean
  readonly isMaintenance: boolean
}

function drawnOf(cell: StripCell): Drawn {
  const { whole, lasted } = cell
  const { up, degraded, down, maintenance, unknown } = lasted
  return {
    down: heightOf(down / whole),
    degraded: heightOf(degraded / whole),
    isUp: isMostlyUp(cell),
    isMaintenance: maintenance > Math.max(up, unknown),
  }
}

/** What is mostly unknown is not up. Less than a second is rounding. */
export function isMostlyUp({ whole, lasted: { up, maintenance, unknown } }: StripCell): boolean {
  return up >= Math.max(Math.min(1, whole), maintenance) && up + maintenance >= unknown
}

/** The time of one cell since the first poll of its endpoint, and how much of it was in each state, in seconds. */
export interface StripCell {
  readonly letter: string
  readonly before: number
  readonly whole: number
  readonly lasted: Readonly<Record<StateView, number>>
}

export function cellsIn({ states, mixed }: StripView, span: StripSpan): readonly StripCell[] {
  const parts = new Map(mixed.map(([at, ...rest]) => [at, rest]))
  return Array.from(states, (letter, at) => {
    const [degraded = 0, down = 0, maintenance = 0, unknown = 0, before = 0] = parts.get(at) ?? []
    const whole = secondsOf(at, states.length, span) - before
    if (letter === BEFORE) return { letter, before, whole, lasted: NO_TIME }
    if (!parts.has(at)) return { letter, before, whole, lasted: { ...NO_TIME, [LETTERS[letter] ?? 'unknown']: whole } }
    const up = Math.max(0, whole - degraded - down - maintenance - unknown)
    return { letter, before, whole, lasted: { up, degraded, down, maintenance, unknown } }
  })
}

const NO_TIME: Record<StateView, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
const STATES = Object.keys(NO_TIME) as StateView[]

/** Of a bad state that lasted this share of a cell: none of a second is invisible, and only what lasted all of it fills it. */
function heightOf(share: number): number {
  return share <= 0 ? 0 : (LEVELS.find(({ most }) => share <= most)?.height ?? TALL)
}

const HEIGHT = 22
const TALL = 14
/** Down hangs from the top, degraded stands below, so they differ not only by colour. */
const LEVELS = [
  { most: 0.1, height: 4 },
  { most: 0.35, height: 7 },
  { most: 0.7, height: 10 },
  { most: 0.97, height: 12 },
]
const HEIGHTS = [...LEVELS.map(({ height }) => height), TALL]
const LAGS = [
  { least: 10, name: 'much', height: 6 },
  { least: 3, name: 'more', height: 4 },
  { least: 2, name: 'some', height: 2 },
] as const

/** The last cell is not over. */
function secondsOf(at: number, cells: number, { from, to, step_seconds: step }: StripSpan): number {
  const last = (Date.parse(to) - Date.parse(from)) / 1000 - at * step
  return at === cells - 1 && last > 0 ? Math.min(step, last) : step
}

function band(name: string, d: string) {
  return d === '' ? nothing : svg`<path class=${name} d=${d} />`
}

function lagOf(blocks: number): string | null {
  return LAGS.find(({ least }) => blocks >= least)?.name ?? null
}

/** Joins equal neighbours: a healthy day is one rectangle instead of 96. */
function path(cells: number, from: number, to: number, isIn: (at: number) => boolean): string {
  let d = ''
  for (let at = 0; at < cells; at++) {
    if (!isIn(at)) continue
    const start = at
    while (at + 1 < cells && isIn(at + 1)) at++
    const width = at + 1 - start
    d += `M${start} ${from}h${width}v${to - from}h-${width}z`
  }
  return d
}

/** The letter of cells before an endpoint's first poll: they are no gap. */
export const BEFORE = '.'

/** The states of a strip's letters. */
export const LETTERS: Readonly<Record<string, StateView>> = {
  u: 'up',
  g: 'degraded',
  d: 'down',
  m: 'maintenance',
  '-': 'unknown',
}

export function word(state: StateView): string {
  return WORDS.states[state].toLowerCase()
}

/** The time in each state, and the largest lag. */
export function summary(cells: readonly StripCell[], { lag_blocks_max: lags }: StripView): string {
  const lasted = { ...NO_TIME }
  for (const cell of cells) for (const state of STATES) lasted[state] += cell.lasted[state]
  const parts = STATES.filter((state) => lasted[state] >= 1).map((state) =>
    STRIP.lasted(word(state), duration(Math.floor(lasted[state]))),
  )
  const most = Math.max(0, ...lags.map((lag) => lag ?? 0))
  return [...parts, ...(most > 0 ? [STRIP.lag(most)] : [])].join(', ')
}

/** Words of strips. In no file of their own, which would be loaded with this one. */
export const STRIP = {
  label: (title: string, text: string) => `${title}, the last ${text}`,
  before: 'not monitored yet',
  lag: (many: number) => `up to ${blocks(many)} behind`,
  lasted: (state: string, text: string) => `${state} ${text}`,
} as const
