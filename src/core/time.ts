/** Milliseconds since the Unix epoch, UTC: the only time that `core/` knows. */
export type UnixMs = number

const UNITS: readonly (readonly [label: string, ms: number])[] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1000],
]

/** A duration as a person says it, one unit, rounded down from 10 on: `850 ms`, `2.5 s`, `24 s`, `41 h`. */
export function humanDuration(ms: number): string {
  const size = Math.abs(ms)
  if (size < 1000) return `${Math.round(ms)} ms`
  // Two of a unit are needed before it is used: "41 h" says more than "1 d".
  const unit = UNITS.find(([label, unitMs]) => size >= unitMs * (label === 's' ? 1 : 2)) ?? ['s', 1000]
  const count = ms / unit[1]
  const shown = Math.abs(count) < 10 ? Math.floor(count * 10) / 10 : Math.floor(count)
  return `${shown} ${unit[0]}`
}
