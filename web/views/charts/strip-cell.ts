import type { StripView } from '../../../src/http/wire/history.ts'
import type { StateView } from '../../../src/http/wire/status.ts'
import { duration, latency, type Zone } from '../format.ts'
import { minute } from '../when.ts'
import { WORDS } from '../words.ts'
import { BEFORE, cellsIn, LETTERS, STRIP, word } from './strip.ts'
import type { StripSpan } from './strip-span.ts'

/** The text of one cell: `09:15 to 09:30: up 13 min, down 2 min, up to 3 blocks behind, p95 12 ms`. */
export function cellSentence(of: StripView, at: number, span: StripSpan, zone: Zone): string {
  const { from, step_seconds: step } = span
  const start = Date.parse(from) + at * step * 1000
  const lag = of.lag_blocks_max[at] ?? null
  const p95 = of.latency_p95_seconds[at] ?? null
  const facts = [
    ...lasted(of, at, span),
    ...(lag === null || lag === 0 ? [] : [STRIP.lag(lag)]),
    ...(p95 === null ? [] : [WORDS.p95(latency(p95))]),
  ]
  return `${minute(start, zone)} to ${minute(start + step * 1000, zone)}: ${facts.join(', ')}`
}

/** The time in each state of one cell. */
export function lasted(of: StripView, at: number, span: StripSpan): string[] {
  const letter = of.states[at] ?? '-'
  if (letter === BEFORE) return [STRIP.before]
  const parts = of.mixed.some(([place]) => place === at) ? cellsIn(of, span)[at]?.lasted : undefined
  if (parts === undefined) return letter === '-' ? [WORDS.noPast] : [word(LETTERS[letter] ?? 'unknown')]
  const told = (Object.keys(parts) as StateView[])
    .filter((state) => parts[state] >= 1)
    .map((state) => STRIP.lasted(word(state), duration(Math.round(parts[state]))))
  return told.length === 0 ? [word(LETTERS[letter] ?? 'unknown')] : told
}
