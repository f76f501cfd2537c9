import type { UnixMs } from '../core/time.ts'

/** At most 14 digits: more cannot be a safe integer. Upper-case digits are unambiguous; leading zeros are not (EIP-1474). */
const QUANTITY = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,13})$/
const HASH = /^0x[0-9a-fA-F]{64}$/
const LOWER_HASH = /^0x[0-9a-f]{64}$/

/** The year 2200: no chain's clock is there, and every time that the store and the page know ends well after it. */
export const LATEST_TIME_MS: UnixMs = Date.UTC(2200, 0, 1)

/** An Ethereum quantity as a safe integer; `null` for anything else (`latest`, decimals, negatives, 2^53 and more). */
export function readQuantity(value: unknown): number | null {
  if (typeof value !== 'string' || !QUANTITY.test(value)) return null
  return safeCount(Number.parseInt(value, 16))
}

/** 32 bytes with `0x`, in lower case; `null` for anything else. */
export function readHash(value: unknown): string | null {
  if (typeof value !== 'string') return null
  if (LOWER_HASH.test(value)) return value
  return HASH.test(value) ? value.toLowerCase() : null
}

/** A count that JSON numbers hold exactly: a safe integer from 0 on; `null` for anything else. */
export function safeCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : null
}
