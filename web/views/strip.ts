import type { StripView } from '../../src/http/wire-history.ts'
import type { StateView } from '../../src/http/wire-status.ts'
import { duration } from './format.ts'
import { html, nothing, svg, type TemplateResult } from './lit.ts'
import { WORDS } from './words.ts'

/**
 * The last hours of an endpoint, states above and lag below. It is one tab stop: a slider over its cells, moved by
 * `web/cursor.ts`.
 */
export function strip(of: StripView | undefined, key: string, title: string): TemplateResult {
  const cells = of?.states.length ?? 0
  if (of === undefined || cells === 0) return html`<div class="strip"></div>`
  return html`
    <div
      class="strip"
      role="slider"
      tabindex="0"
      data-strip=${key}
      aria-label=${WORDS.strip.label(title)}
      aria-orientation="horizontal"
      aria-readonly="true"
      aria-valuemin="1"
      aria-valuemax=${cells}
      aria-valuenow=${cells}
      aria-valuetext=${summary(of)}
    >
      <svg viewBox="0 0 ${cells} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <path class="ground" d=${path(cells, 0, HEIGHT, (at) => of.states[at] !== '-')} />
        ${Object.entries(BANDS).map(([letter, { state, from, to }]) => {
          const d = path(cells, from, to, (at) => of.states[at] === letter)
          return d === '' ? nothing : svg`<path class=${state} d=${d} />`
        })}
        ${LAGS.map(({ name, height }) => {
          const d = path(cells, HEIGHT - height, HEIGHT, (at) => levelOf(of.lag_blocks_max[at] ?? 0) === name)
          return d === '' ? nothing : svg`<path class="lag-${name}" d=${d} />`
        })}
      </svg>
    </div>
  `
}

const HEIGHT = 22
/** The vertical extent of each state: bad states differ by shape, not only by colour. Unknown time is not drawn. */
const BANDS: Readonly<Record<string, { readonly state: StateView; readonly from: number; readonly to: number }>> = {
  u: { state: 'up', from: 4, to: 14 },
  m: { state: 'maintenance', from: 7, to: 11 },
  g: { state: 'degraded', from: 2, to: 14 },
  d: { state: 'down', from: 0, to: 14 },
}
const LAGS = [
  { least: 10, name: 'much', height: 6 },
  { least: 3, name: 'more', height: 4 },
  { least: 1, name: 'some', height: 2 },
] as const

function levelOf(blocks: number): string | null {
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

/** A summary by the worst state of each cell. */
function summary({ states, lag_blocks_max: lags }: StripView): string {
  const hours = (letter: string) => (states.split(letter).length - 1) / 4
  const parts = Object.entries(LETTERS)
    .map(([letter, state]) => ({ state, hours: hours(letter) }))
    .filter((part) => part.hours > 0)
    .map((part) => WORDS.strip.lasted(word(part.state), duration(part.hours * 3600)))
  const most = Math.max(0, ...lags.map((lag) => lag ?? 0))
  return [...parts, ...(most > 0 ? [WORDS.strip.lag(most)] : [])].join(', ')
}
