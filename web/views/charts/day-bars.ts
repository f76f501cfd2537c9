import type { DaysView, StripView } from '../../../src/http/wire/history.ts'
import { duration } from '../format.ts'
import { html, svg, type TemplateResult } from '../lit.ts'
import { concerns } from '../model.ts'
import { day } from '../when.ts'
import { WORDS } from '../words.ts'
import { EVENT_WORDS } from '../words-events.ts'
import { BEFORE, cellsIn, isMostlyUp, STRIP, type StripCell, summary } from './strip.ts'
import { lasted } from './strip-cell.ts'

/**
 * A bar for each of the last 90 days of an endpoint. Down hangs from the top and degraded stands at the bottom, as tall as
 * its share of the day, but always visible. It is one tab stop: `web/tooltip-texts.ts` tells each day's incidents.
 */
export function dayBars(
  of: StripView | undefined,
  key: string,
  title: string,
  days: DaysView,
  as: 'slider' | 'picture' = 'slider',
): TemplateResult {
  if (of === undefined || of.states === '') return html`<div class="strip bars"></div>`
  const all = cellsIn(of, days)
  const cells = all.length
  const look = `strip bars ${cells <= WEEK ? 'week' : cells <= MONTH ? 'month' : ''}`.trim()
  const label = STRIP.label(title, cells === 1 ? 'day' : `${cells} days`)
  const text = summary(all, of)
  if (as === 'picture') return html`<div class=${look} role="img" aria-label="${label}: ${text}">${drawn(all)}</div>`
  return html`
    <div
      class=${look}
      role="slider"
      tabindex="0"
      data-days=${key}
      aria-label=${label}
      aria-orientation="horizontal"
      aria-readonly="true"
      aria-valuemin="1"
      aria-valuemax=${cells}
      aria-valuenow=${cells}
      aria-valuetext=${text}
    >${drawn(all)}</div>
  `
}

function drawn(cells: readonly StripCell[]): TemplateResult {
  const shares = cells.map(sharesOf)
  const bars = (name: keyof Shares, box: (height: number) => readonly [y: number, height: number]) => {
    const d = shares.map((share, at) => {
      const [y, height] = box(share[name] === 0 ? 0 : heightOf(share[name]))
      return height === 0 ? '' : `M${at * 3} ${y}h2v${height}h-2z`
    })
    return svg`<path class=${name} d=${d.join('')} />`
  }
  return html`<svg viewBox="0 0 ${cells.length * 3 - 1} ${HEIGHT}" preserveAspectRatio="none" aria-hidden="true" focusable="false">
    ${bars('ground', (height) => [0, height])} ${bars('before', (height) => [HEIGHT - 2, Math.min(2, height)])}
    ${bars('up', (height) => [0, height])}
    ${bars('maintenance', (height) => [HEIGHT / 2 - 1, Math.min(3, height)])}
    ${bars('degraded', (height) => [HEIGHT - height, height])} ${bars('down', (height) => [0, height])}
  </svg>`
}

/** Without the days before the first one that is known of any endpoint, or of any of a network: a young one has as many bars as days. */
export function knownDays(days: DaysView, network?: string): DaysView {
  const strips = days.strips.filter((strip) => network === undefined || strip.network === network)
  const firsts = strips.map(({ states }) => states.search(/[^.]/))
  const known = firsts.filter((at) => at !== -1)
  const most = Math.max(0, ...strips.map(({ states }) => states.length - 1))
  const first = known.length === 0 ? most : Math.min(...known)
  if (first === 0) return days
  const from = new Date(Date.parse(days.from) + first * DAY_MS).toISOString()
  return { ...days, from, strips: days.strips.map((strip) => withoutFirst(strip, first)) }
}

/** The last one is not over. */
export function dayCount({ from, to }: Pick<DaysView, 'from' | 'to'>): number {
  return Math.max(1, Math.ceil((Date.parse(to) - Date.parse(from)) / DAY_MS))
}

export function withoutFirst(strip: StripView, cells: number): StripView {
  return {
    ...strip,
    states: strip.states.slice(cells),
    mixed: strip.mixed.filter(([at]) => at >= cells).map(([at, ...rest]) => [at - cells, ...rest]),
    lag_blocks_max: strip.lag_blocks_max.slice(cells),
    latency_p95_seconds: strip.latency_p95_seconds.slice(cells),
  }
}

/** `12 Nov: up 23 h 56 min, down 4 min. 1 incident: down for 4 min`. */
export function daySentence(of: StripView, at: number, days: DaysView): string {
  const { network, endpoint } = of
  const fromMs = Date.parse(days.from) + at * DAY_MS
  const toMs = Math.min(fromMs + DAY_MS, Date.parse(days.to))
  const found = days.incidents.filter((incident) => {
    const isOurs = incident.endpoint === null && incident.cause !== 'outage' ? true : concerns(incident, endpoint)
    const endMs = incident.closed_at === null ? toMs : Date.parse(incident.closed_at)
    return isOurs && incident.network === network && Date.parse(incident.opened_at) < toMs && endMs >= fromMs
  })
  const times = `${day(fromMs, 'utc')}: ${lasted(of, at, days).join(', ')}`
  if (found.length === 0) return times
  const texts = found.slice(0, MOST_TOLD).map(({ cause, state, state_seconds: seconds }) => {
    const what = cause === 'halted' || cause === 'forked' ? WORDS[cause].toLowerCase() : state
    return `${what} ${WORDS.since} ${duration(seconds)}`
  })
  const more = found.length > MOST_TOLD ? `; ${EVENT_WORDS.more(found.length - MOST_TOLD)}` : ''
  return `${times}. ${EVENT_WORDS.incidentsOf(found.length)}: ${texts.join('; ')}${more}`
}

interface Shares {
  readonly ground: 0 | 1
  readonly before: 0 | 1
  readonly up: 0 | 1
  readonly degraded: number
  readonly down: number
  readonly maintenance: number
}

function sharesOf(cell: StripCell): Shares {
  const { degraded, down, maintenance } = cell.lasted
  const isUp = isMostlyUp(cell)
  const isBefore = cell.letter === BEFORE
  const share = (seconds: number) => Math.min(1, seconds / cell.whole)
  return {
    ground: isUp || isBefore || share(maintenance) === 1 ? 0 : 1,
    before: isBefore ? 1 : 0,
    up: isUp ? 1 : 0,
    degraded: share(degraded),
    down: share(down),
    maintenance: share(maintenance),
  }
}

/** The least share is seen, and only a whole day fills a bar. */
function heightOf(share: number): number {
  return share >= 1 ? HEIGHT : Math.min(HEIGHT - SLIVER, Math.max(SLIVER, Math.round(share * HEIGHT)))
}

const DAY_MS = 86_400_000
const HEIGHT = 24
/** One minute of a day is seen. */
const SLIVER = 3
const MOST_TOLD = 3
/** Bars of few days are no wider than those of many. */
const WEEK = 7
const MONTH = 31
