import type { UnixMs } from '../core/time.ts'

const RFC3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:[Zz]|[+-]\d\d:\d\d)$/
const DAY_MS = 86_400_000

/**
 * A time that a node wrote (RFC 3339 with up to nine decimals). `null` for anything else, for Go's zero time (year 1), and for
 * what no honest clock of the node's can have meant: before 1970, or more than a day ahead of us.
 */
export function readTimestamp(value: unknown, now: UnixMs): UnixMs | null {
  if (typeof value !== 'string' || !RFC3339.test(value)) return null
  const at = Date.parse(value)
  return at >= 0 && at <= now + DAY_MS ? at : null
}
