import type { StripsView } from '../../../src/http/wire/history.ts'
import { age } from '../format.ts'

/** The time range of strips. */
export type StripSpan = Pick<StripsView, 'from' | 'to' | 'step_seconds'>

/** `24 h`, or less if less is known. */
export function stripHours({ from, to }: StripSpan): string {
  const hours = (Date.parse(to) - Date.parse(from)) / 3_600_000
  return age((hours > 2 ? Math.ceil(hours) : hours) * 3600)
}
