import type { Zone } from './views/format.ts'
import { spanOf } from './views/span.ts'

/** The address of the time range in a form's fields; `null`, and a hint at the field, if it cannot be shown. */
export function pickTime(form: HTMLFormElement, zone: Zone): URL | null {
  const field = (name: string) => form.querySelector<HTMLInputElement>(`[name=${name}]`)
  const seconds = (name: string) => Date.parse(`${field(name)?.value}${zone === 'utc' ? 'Z' : ''}`) / 1000
  const [from, to] = [seconds('from'), seconds('to')]
  const end = field('to')
  const span = spanOf({ query: { from: String(from), to: String(to) } }, Date.now())
  // What cannot be shown falls back to a named range.
  end?.setCustomValidity(span.range === null ? '' : problemOf(from, to))
  const isValid = form.reportValidity()
  // A field that stays invalid would block the next attempt.
  end?.setCustomValidity('')
  if (!isValid) return null
  const url = new URL(location.href)
  // Other filters stay.
  for (const name of ['range', 'cursor']) url.searchParams.delete(name)
  url.searchParams.set('from', String(from))
  url.searchParams.set('to', String(to))
  return url
}

function problemOf(from: number, to: number): string {
  if (!(to > from)) return 'The range ends before it begins.'
  if (from * 1000 > Date.now()) return 'The range begins in the future.'
  return 'A range is at least a minute and at most a year long.'
}
