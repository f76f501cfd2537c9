import type { HistoryBucketView, StripsView } from '../../../src/http/wire/history.ts'
import type { StateView } from '../../../src/http/wire/status.ts'
import { duration, latency, type Zone } from '../format.ts'
import type { Span } from '../time-range.ts'
import { fromTo } from '../when.ts'
import { WORDS } from '../words.ts'
import { BEFORE, cellsIn, LETTERS, STRIP, word } from './strip.ts'

/** The timeline of an endpoint, from the buckets of its history. */
export function cellsOf(
  buckets: readonly HistoryBucketView[],
  { stepMs, toMs }: Pick<Span, 'stepMs' | 'toMs'>,
): Cell[] {
  return buckets.map((bucket) => {
    const fromMs = Date.parse(bucket.start)
    const lasted = {
      up: bucket.up_seconds,
      degraded: bucket.degraded_seconds,
      down: bucket.down_seconds,
      maintenance: bucket.maintenance_seconds,
      unknown: bucket.unknown_seconds,
    }
    return {
      fromMs,
      toMs: Math.min(fromMs + stepMs, toMs),
      state: worstOf(lasted),
      lasted,
      lagBlocks: bucket.lag_blocks_max,
      latencyP95: bucket.latency_p95_seconds,
    }
  })
}

/** One step of a timeline: the time in each state, and the worst state, which names it. */
export interface Cell {
  readonly fromMs: number
  readonly toMs: number
  readonly state: StateView
  /** Seconds. */
  readonly lasted: Readonly<Record<StateView, number>>
  readonly lagBlocks: number | null
  readonly latencyP95: number | null
}

/** The cells of the public view: only states, only the last day. */
export function cellsOfStrip(of: StripsView, network: string, endpoint: string): Cell[] {
  const strip = of.strips.find((one) => one.network === network && one.endpoint === endpoint)
  if (strip === undefined) return []
  return cellsIn(strip, of).flatMap(({ letter, before, lasted }, at) => {
    if (letter === BEFORE) return []
    const startMs = Date.parse(of.from) + at * of.step_seconds * 1000
    const fromMs = startMs + before * 1000
    const toMs = Math.min(startMs + of.step_seconds * 1000, Date.parse(of.to))
    return [{ fromMs, toMs, state: LETTERS[letter] ?? 'unknown', lasted, lagBlocks: null, latencyP95: null }]
  })
}

/** The same rule as for the overview's strips: mostly unknown time is unknown, not up. */
function worstOf({ up, degraded, down, maintenance, unknown }: Cell['lasted']): StateView {
  if (down > 0) return 'down'
  if (degraded > 0) return 'degraded'
  if (unknown > up + maintenance) return 'unknown'
  return maintenance > up ? 'maintenance' : 'up'
}

/** The share of the cell in that state, in three sizes: one bad minute in six hours is small, but visible. */
export function shareOf({ lasted, state }: Cell): 'little' | 'some' | 'most' {
  const whole = Object.values(lasted).reduce((sum, seconds) => sum + seconds, 0)
  const share = whole === 0 ? 1 : lasted[state] / whole
  return share < 0.2 ? 'little' : share < 0.6 ? 'some' : 'most'
}

/** Joins equal neighbours. */
export function stretchesOf<T extends { readonly fromMs: number; readonly toMs: number }>(
  cells: readonly T[],
  alike: (a: T, b: T) => boolean,
): { readonly fromMs: number; readonly toMs: number; readonly first: T; readonly cells: readonly T[] }[] {
  const stretches: { fromMs: number; toMs: number; first: T; cells: T[] }[] = []
  for (const cell of cells) {
    const last = stretches.at(-1)
    if (last !== undefined && last.toMs === cell.fromMs && alike(last.first, cell)) {
      last.toMs = cell.toMs
      last.cells.push(cell)
    } else stretches.push({ fromMs: cell.fromMs, toMs: cell.toMs, first: cell, cells: [cell] })
  }
  return stretches
}

/** `14:05 to 14:10: up 4 min, down 1 min, up to 3 blocks behind, p95 12 ms`. */
export function cellText(cell: Cell, zone: Zone): string {
  const { fromMs, toMs, lagBlocks, latencyP95 } = cell
  const facts = [
    ...lastedTexts(cell.lasted),
    ...(lagBlocks === null || lagBlocks === 0 ? [] : [STRIP.lag(lagBlocks)]),
    ...(latencyP95 === null ? [] : [WORDS.p95(latency(latencyP95))]),
  ]
  return `${fromTo(fromMs, toMs, zone)}: ${facts.join(', ')}`
}

/** The time in each state; only the name if one state lasted the whole time. */
export function lastedTexts(lasted: Cell['lasted']): string[] {
  const there = (Object.keys(lasted) as StateView[]).filter((state) => lasted[state] >= 1)
  if (there.length === 1) return there.map((state) => (state === 'unknown' ? WORDS.noPast : word(state)))
  if (there.length === 0) return [WORDS.noPast]
  return there.map((state) => STRIP.lasted(word(state), duration(Math.round(lasted[state]))))
}
