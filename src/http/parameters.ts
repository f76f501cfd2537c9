import * as z from 'zod'
import { isCalendarDay, LATEST_TIME, parseDuration } from '../core/time.ts'
import { printable, stampIn } from './plain-text.ts'

/** Parsers of query parameters. Each error says what the parameter must be. */

/** Parses RFC 3339 with an offset, or Unix seconds, into Unix milliseconds that an answer can repeat as a time. */
export const TimeParameter = parameter('an RFC 3339 time or Unix seconds', (given) => {
  // An unencoded `+` arrives as a space.
  const text = given.replace(/ (\d{2}:\d{2})$/, '+$1')
  if (/^\d{1,12}(\.\d{1,9})?$/.test(text)) return Math.min(Math.round(Number(text) * 1000), LATEST_TIME)
  const isTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})$/.test(text)
  const ms = isTime ? Date.parse(text.toUpperCase().replace(' ', 'T')) : Number.NaN
  return Number.isNaN(ms) || !isCalendarDay(text.slice(0, 10)) ? null : Math.min(Math.max(0, ms), LATEST_TIME)
})

export const TimeZoneParameter = parameter('a time zone such as UTC or Europe/Berlin', (text) =>
  stampIn(text) === null ? null : text,
)

/** The latest time that a JavaScript `Date` can hold. */
const LONGEST_MS = 8.64e15

/** Parses a duration like `5m`, or seconds, into milliseconds. */
export const DurationParameter = parameter('a duration of a second or more, like 30s, 5m, 1h or 1d', (text) => {
  const ms = parseDuration(/^\d+$/.test(text) ? `${text}s` : text) ?? 0
  return ms >= 1000 && ms <= LONGEST_MS ? ms : null
})

const NAME_ERROR = { error: 'must be a name: 1 to 64 characters of a-z, 0-9 and -' }
export const NameParameter = z.string(NAME_ERROR).regex(/^[a-z0-9-]{1,64}$/, NAME_ERROR)

export function oneOf<const T extends readonly string[]>(...allowed: T) {
  return z.enum(allowed, { error: `must be ${allowed.join(' or ')}` })
}

export function countUpTo(most: number) {
  const error = `must be a whole number from 1 to ${most}`
  const number = z.int({ error }).min(1, { error }).max(most, { error })
  return z.preprocess((text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text), number)
}

/** Text of a person, on one line and without control and direction characters. */
export function line(most: number) {
  return parameter(`a text of 1 to ${most} characters`, (given) => {
    const text = printable(given)
    return text === '' || text.length > most ? null : text
  })
}

/** The same on several lines. */
export function paragraphs(most: number) {
  return parameter(`a text of 1 to ${most} characters`, (given) => {
    const lines = given.split(/\r\n|\r|\n/).map(printable)
    const text = lines
      .join('\n')
      .replace(/\n{3,}/g, '\n\n')
      .trim()
    return text === '' || text.length > most ? null : text
  })
}

/** A parameter parsed by `read`, which returns `null` for an invalid value. */
export function parameter<T>(expected: string, read: (text: string) => T | null) {
  return z.string({ error: `must be ${expected}` }).transform((text, context): T => {
    const value = read(text)
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: `must be ${expected}` })
    return z.NEVER
  })
}
