import type { NodeClient } from '../core/poll-result.ts'
import { DAY_MS, type UnixMs } from '../core/time.ts'
import type { ChainMemory } from './chain.ts'

/** A safe integer from 0 on; `null` for anything else. */
export function safeCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}

/** At most 14 digits: more cannot be a safe integer. Upper-case digits are valid, leading zeros are not (EIP-1474). */
const QUANTITY = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,13})$/

/** An Ethereum quantity as a safe integer; `null` for anything else (`latest`, decimals, negatives, 2^53 and more). */
export function readQuantity(value: unknown): number | null {
  if (typeof value !== 'string' || !QUANTITY.test(value)) return null
  return safeCount(Number.parseInt(value, 16))
}

const HASH = /^0x[0-9a-fA-F]{64}$/

/** 32 bytes with `0x`, in lower case; `null` for anything else. */
export function readHash(value: unknown): string | null {
  return typeof value === 'string' && HASH.test(value) ? value.toLowerCase() : null
}

/** The year 2200: later than any real block time, and within the range of the store and the page. */
export const LATEST_TIME_MS: UnixMs = Date.UTC(2200, 0, 1)

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/

/**
 * Reads a node's time in RFC 3339 with up to nine decimals. `null` for anything else, for Go's zero time (year 1), and
 * for implausible times: before 1970, or more than a day ahead of us.
 */
export function readTimestamp(value: unknown, now: UnixMs): UnixMs | null {
  if (typeof value !== 'string' || !RFC3339.test(value)) return null
  const at = Date.parse(value)
  return at >= 0 && at <= now + DAY_MS ? at : null
}

/** Go prints U+00B5 for micro, and also reads U+03BC. */
const GO_UNIT_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  '\u00b5s': 1e-3,
  '\u03bcs': 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
}
const GO_PART = /(\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/y
/** 2^63 ns, about 292 years: the longest Go duration. */
const GO_MAX_MS = 2 ** 63 / 1e6
const GO_MAX_CHARACTERS = 64

/** Parses a Go `time.Duration` (`1h2m3.5s`, `293.098ms`, `0s`) to milliseconds; `null` for anything else. */
export function parseGoDuration(text: string): number | null {
  if (text === '0') return 0
  const isNegative = text.startsWith('-')
  const start = isNegative || text.startsWith('+') ? 1 : 0
  if (text.length === start || text.length > GO_MAX_CHARACTERS) return null
  let ms = 0
  for (GO_PART.lastIndex = start; GO_PART.lastIndex < text.length; ) {
    const part = GO_PART.exec(text)
    if (part === null) return null
    ms += Number(part[1]) * (GO_UNIT_MS[part[2] ?? ''] ?? Number.NaN)
  }
  if (ms > GO_MAX_MS) return null
  return isNegative ? -ms : ms
}

/** Characters that could corrupt a terminal, log or page: controls, separators, direction marks, lone surrogates. */
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu
const PRINTABLE_ASCII = /^[\x20-\x7e]*$/

/** Maximum length of a node's text that is stored and shown. */
export const MAX_NODE_TEXT = 256

/** Truncates a node's text and replaces unprintable characters, so that it can be stored and shown. */
export function printable(text: string): string {
  const short = text.length > MAX_NODE_TEXT ? text.slice(0, MAX_NODE_TEXT) : text
  return PRINTABLE_ASCII.test(short) ? short : short.replace(UNPRINTABLE, '\ufffd')
}

/** `Geth/v1.16.4-stable/linux-amd64/go1.25.1`; an operator's own name for the node may follow the client's name. */
export function readClient(text: string, { redact }: Pick<ChainMemory, 'redact'>): NodeClient {
  const [name = '', ...others] = printable(redact(text, MAX_NODE_TEXT)).split('/')
  const version = others.find((part) => VERSION.test(part))
  return { name: cut(name), version: version === undefined ? null : cut(version) }
}

const VERSION = /^v?\d+\.\d/
const MAX_CLIENT_TEXT = 64

/** Half a character at the end is replaced: PostgreSQL stores no JSON that has one. */
function cut(text: string): string {
  return text.slice(0, MAX_CLIENT_TEXT).toWellFormed()
}
