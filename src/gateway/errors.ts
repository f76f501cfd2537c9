import type { RejectionReason } from '../core/routing/request-outcome.ts'

export interface GatewayError {
  readonly kind: RejectionReason
  /** A sentence for people: names members and limits, never values of the caller's, never a URL. */
  readonly message: string
  /** When it is worth to come again, where that is known: always for `rate-limited` and `overloaded`. */
  readonly retryAfterMs?: number
  /** For `http-method`. */
  readonly allow?: string
}

interface RefusalRow {
  readonly code: number
  readonly status: number
  /** What a REST answer calls it. */
  readonly restCode: 'bad_request' | 'unauthorized' | 'forbidden' | 'rate_limited' | 'internal_issue'
  readonly restStatus: number
}

export const ERRORS: Readonly<Record<RejectionReason, RefusalRow>> = {
  unparsable: { code: -32_700, status: 400, restCode: 'bad_request', restStatus: 400 },
  'no-request': { code: -32_600, status: 400, restCode: 'bad_request', restStatus: 400 },
  'unknown-method': { code: -32_601, status: 200, restCode: 'bad_request', restStatus: 404 },
  'bad-params': { code: -32_602, status: 200, restCode: 'bad_request', restStatus: 400 },
  'content-type': { code: -32_600, status: 415, restCode: 'bad_request', restStatus: 415 },
  'http-method': { code: -32_600, status: 405, restCode: 'bad_request', restStatus: 405 },
  'unknown-route': { code: -32_600, status: 404, restCode: 'bad_request', restStatus: 404 },
  'too-large': { code: -32_600, status: 413, restCode: 'bad_request', restStatus: 413 },
  unauthorized: { code: -32_099, status: 401, restCode: 'unauthorized', restStatus: 401 },
  forbidden: { code: -32_099, status: 403, restCode: 'forbidden', restStatus: 403 },
  'rate-limited': { code: -32_005, status: 429, restCode: 'rate_limited', restStatus: 429 },
  'no-endpoint': { code: -32_603, status: 503, restCode: 'internal_issue', restStatus: 503 },
  'all-failed': { code: -32_603, status: 502, restCode: 'internal_issue', restStatus: 502 },
  deadline: { code: -32_603, status: 504, restCode: 'internal_issue', restStatus: 504 },
  'outcome-unknown': { code: -32_603, status: 504, restCode: 'internal_issue', restStatus: 504 },
  overloaded: { code: -32_603, status: 503, restCode: 'internal_issue', restStatus: 503 },
}

export function gatewayError(kind: RejectionReason, message: string): GatewayError {
  return { kind, message }
}

export const OVERLOADED: GatewayError = {
  ...gatewayError('overloaded', 'too many requests are at work'),
  retryAfterMs: 1000,
}

/** The `error` member of a JSON-RPC answer, as JSON text. */
export function rpcError({ kind, message }: GatewayError): string {
  return JSON.stringify({ code: ERRORS[kind].code, message })
}

/** The whole body of a REST answer. */
export function restError({ kind, message }: GatewayError): string {
  return JSON.stringify({ data: null, error: message, code: ERRORS[kind].restCode })
}
