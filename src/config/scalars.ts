import { validate as isCron } from 'node-cron'
import * as z from 'zod'
import { DURATION, isCalendarDay, parseDuration } from '../core/time.ts'
import { Secret } from '../secret.ts'

/** Types of single configuration values. Each parses one scalar or reports what it expected, never the value. */

/** Documentation of a key; `description` is one sentence. */
export interface About {
  readonly description: string
  /** Shown in the documentation if the default depends on other keys. */
  readonly defaultText?: string
}

/** JSON Schema of a value written as `${NAME}`. */
export const INTERPOLATED = { type: 'string', pattern: '\\$\\{[^}]+\\}' } as const

type Read<T> = (value: unknown) => T | undefined

export function scalar<T>(expected: string, kind: string, jsonSchema: Record<string, unknown>, read: Read<T>) {
  function whatIsWrong(value: unknown): string {
    if (value === null) return `expected ${expected}, found nothing`
    const isUnquoted = (typeof value === 'number' || typeof value === 'boolean') && read(String(value)) !== undefined
    return `expected ${expected}${isUnquoted ? ` (in quotes: YAML reads it as a ${typeof value})` : ''}`
  }
  return (about: About) =>
    z
      .unknown()
      .transform((value, context): T => {
        const result = read(value)
        if (result !== undefined) return result
        context.addIssue({ code: 'custom', message: value === undefined ? 'required' : whatIsWrong(value) })
        return z.NEVER
      })
      .meta({
        description: about.description,
        kind,
        ...(about.defaultText ? { defaultText: about.defaultText } : {}),
        jsonSchema,
      })
}

/** A scalar written as text. `pattern` is its JSON Schema; `null` if only `read` can tell. */
export function textual<T>(
  expected: string,
  kind: string,
  pattern: string | null,
  read: (text: string) => T | undefined,
) {
  const patterns = pattern === null ? {} : { anyOf: [{ pattern }, { pattern: INTERPOLATED.pattern }] }
  return scalar(expected, kind, { type: 'string', ...patterns }, (value) =>
    typeof value === 'string' ? read(value) : undefined,
  )
}

const BYTES_OF = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
} as const
const SIZE = /^(\d{1,15}(?:\.\d{1,6})?)(B|[kKMGT]B|[KMGT]iB)$/

/** Parses `1KiB`, `64MiB`, `10GiB`, `500MB` to bytes; `undefined` if invalid or not positive. */
export function parseSize(text: string): number | undefined {
  const [, count, unit] = SIZE.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const bytes = Math.round(Number(count) * BYTES_OF[unit as keyof typeof BYTES_OF])
  return Number.isSafeInteger(bytes) && bytes > 0 ? bytes : undefined
}

interface Span {
  readonly min?: string
  /** Of a duration, set where a longer one would exceed a timer (24.8 days) or a date. */
  readonly max?: string
}

export function duration(about: About, { min, max = '100y' }: Span = {}) {
  const minMs = min === undefined ? 0 : (parseDuration(min) ?? 0)
  const maxMs = parseDuration(max) ?? 0
  const least = min === undefined ? 'above 0' : `at least ${min}`
  const expected = `a duration such as 500ms, 15s, 2m, 48h or 90d, ${least} and at most ${max}`
  return textual(expected, 'duration', DURATION.source, (text) => {
    const ms = minMs === 0 && min !== undefined && NO_TIME.test(text) ? 0 : parseDuration(text)
    return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined
  })(about)
}

const NO_TIME = /^0(?:ms|s|m|h|d|y)$/

export function size(about: About, { min, max }: Span = {}) {
  const minBytes = min === undefined ? 0 : (parseSize(min) ?? 0)
  const maxBytes = max === undefined ? Number.MAX_SAFE_INTEGER : (parseSize(max) ?? 0)
  const least = min === undefined ? 'above 0' : `at least ${min}`
  const expected = `a size such as 64KiB, 64MiB, 10GiB or 500MB, ${least}${max === undefined ? '' : ` and at most ${max}`}`
  return textual(expected, 'size', SIZE.source, (text) => {
    const bytes = parseSize(text)
    return bytes !== undefined && bytes >= minBytes && bytes <= maxBytes ? bytes : undefined
  })(about)
}

/** A whole number, or text that contains one, because `${NAME}` yields text. */
export function whole(about: About, min: number, max: number) {
  return scalar(
    `a whole number from ${min} to ${max}`,
    'number',
    { anyOf: [{ type: 'integer', minimum: min, maximum: max }, INTERPOLATED] },
    (value) => {
      const number = typeof value === 'string' && /^\d{1,16}$/.test(value) ? Number(value) : value
      return typeof number === 'number' && Number.isSafeInteger(number) && number >= min && number <= max
        ? number
        : undefined
    },
  )(about)
}

/** A boolean, or text that contains one, because `${NAME}` yields text. */
export function flag(about: About) {
  return scalar('true or false', 'boolean', { anyOf: [{ type: 'boolean' }, INTERPOLATED] }, (value) => {
    if (typeof value === 'boolean') return value
    return value === 'true' ? true : value === 'false' ? false : undefined
  })(about)
}

export function choice<const T extends string>(values: readonly T[], about: About) {
  return scalar(
    values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`,
    values.join(' | '),
    { anyOf: [{ enum: values }, INTERPOLATED] },
    (value) => values.find((candidate) => candidate === value),
  )(about)
}

export function shaped(expected: string, kind: string, pattern: RegExp) {
  return textual(expected, kind, pattern.source, (text) => (pattern.test(text) ? text : undefined))
}

export const name = shaped('1 to 64 characters of a-z, 0-9 and -', 'name', /^[a-z0-9-]{1,64}$/)
export const callerName = shaped('1 to 64 characters of A-Z, a-z, 0-9, ., _ and -', 'name', /^[A-Za-z0-9._-]{1,64}$/)
export const title = shaped('1 to 100 characters on one line', 'text', /^[^\p{Cc}]{1,100}$/u)
export const labelValue = shaped('1 to 64 characters on one line', 'text', /^[^\p{Cc}]{1,64}$/u)
export const announcement = shaped('1 to 500 characters on one line', 'text', /^[^\p{Cc}]{1,500}$/u)
export const file = shaped('the path of a file', 'path', /^[^\0]{1,4096}$/)
export const authorities = () =>
  file({
    description: "PEM file with the certificate authorities to trust instead of the system's.",
    defaultText: "the system's",
  })
export const rpcPath = shaped(
  'a path that starts with /, without query or fragment',
  'path',
  /^\/[A-Za-z0-9._~!$&'()*+,;=:@%/-]{0,511}$/,
)
export const allowedMethod = shaped(
  'a method such as eth_call or eth_get*, a REST route such as "GET /address/*" (no POST), or * for all; * only at the end',
  'method',
  /^(?:\*|[A-Za-z][A-Za-z0-9_.]{0,99}\*?|GET \/[A-Za-z0-9._~:/-]{0,200}\*?)$/,
)

export const quorum = scalar(
  'majority, or a whole number of places from 1 to 100',
  'majority | number',
  { anyOf: [{ enum: ['majority'] }, { type: 'integer', minimum: 1, maximum: 100 }, INTERPOLATED] },
  (value): 'majority' | number | undefined => {
    if (value === 'majority') return value
    const number = typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : value
    return typeof number === 'number' && Number.isInteger(number) && number >= 1 && number <= 100 ? number : undefined
  },
)

function secret(expected: string, pattern: RegExp) {
  return textual(expected, 'text (secret)', null, (text) => (pattern.test(text) ? new Secret(text) : undefined))
}

// It may follow `Bearer ` in a header.
export const token = secret('1 to 512 visible ASCII characters', /^[!-~]{1,512}$/)
export const endpointId = secret('16 to 128 characters of A-Z, a-z, 0-9 and . _ ~ -', /^[A-Za-z0-9._~-]{16,128}$/)
// Visible ASCII and inner spaces (RFC 9110, section 5.5), because a line break could inject a second header.
export const headerValue = secret('a header value: visible ASCII on one line', /^[!-~](?:[ \t!-~]{0,8190}[!-~])?$/)

export const topic = secret('1 to 64 characters of A-Z, a-z, 0-9, _ and -', /^[A-Za-z0-9_-]{1,64}$/)
/** Telegram's chats have numbers, public ones also a name. YAML reads a number as one. */
export const chatId = (about: About) =>
  scalar(
    'a number such as -1001234567890, or @NAME',
    'text (secret)',
    { anyOf: [{ type: 'integer' }, { type: 'string' }] },
    (value) => {
      const text = typeof value === 'number' ? String(value) : value
      return typeof text === 'string' && /^(?:-?\d{1,20}|@\w{1,64})$/.test(text) ? new Secret(text) : undefined
    },
  )(about)

/** The specification asks for 24 to 64 bytes in base64. */
export const webhookSecret = scalar(
  'whsec_ and 24 to 64 bytes in base64',
  'text (secret)',
  { type: 'string' },
  (value) => {
    const base64 = typeof value === 'string' ? /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(value)?.[1] : undefined
    if (base64 === undefined || base64.length % 4 !== 0) return undefined
    const { length } = Buffer.from(base64, 'base64')
    return length >= 24 && length <= 64 ? new Secret(String(value)) : undefined
  },
)

/** Messages a minute: `30` or `30/min`. */
export const ratePerMinute = scalar(
  'a number from 1 to 10000, such as 30 or 30/min',
  'number',
  { anyOf: [{ type: 'integer', minimum: 1, maximum: 10_000 }, { type: 'string' }] },
  (value) => {
    const [, digits] = /^(\d{1,5})(?:\/min)?$/.exec(String(value)) ?? []
    const count = Number(digits)
    return count >= 1 && count <= 10_000 ? count : undefined
  },
)

/** A daily time without messages; it may pass midnight. Minutes are counted from midnight in the time zone. */
export interface QuietHours {
  readonly fromMinute: number
  readonly untilMinute: number
  readonly timeZone: string
}

export const quietHours = scalar(
  'hours and a time zone such as "22:00-07:00 Europe/Bucharest"',
  'hours',
  { type: 'string' },
  (value): QuietHours | undefined => {
    const [, from, until, timeZone = 'UTC'] =
      /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)(?: ([A-Za-z0-9_+/-]{1,64}))?$/.exec(String(value)) ?? []
    if (from === undefined || until === undefined || from === until || !isTimeZone(timeZone)) return undefined
    return { fromMinute: minuteOf(from), untilMinute: minuteOf(until), timeZone }
  },
)

function minuteOf(time: string): number {
  const [hours = '0', minutes = '0'] = time.split(':')
  return 60 * Number(hours) + Number(minutes)
}

export const cron = textual('a cron pattern such as "0 3 * * 0"', 'cron', null, (text) =>
  text.length <= 200 && isCron(text) ? text : undefined,
)

function isTimeZone(text: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: text })
    return true
  } catch {
    return false
  }
}

export const timeZone = textual('a time zone such as UTC or Europe/Berlin', 'time zone', null, (text) =>
  isTimeZone(text) ? text : undefined,
)

const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

function parseInstant(text: string): number | undefined {
  const [, date] = INSTANT.exec(text) ?? []
  const ms = Date.parse(text)
  return date === undefined || Number.isNaN(ms) || !isCalendarDay(date) ? undefined : ms
}

export const instant = textual(
  'a time with its offset such as 2026-12-01T03:00:00Z',
  'time',
  INSTANT.source,
  parseInstant,
)
