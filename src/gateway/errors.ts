import type { RejectionReason } from '../core/routing/request-outcome.ts'

/** JSON-RPC and HTTP codes of the gateway's own errors. */
export const ERRORS: Readonly<Record<RejectionReason, ErrorCodes>> = {
  unparsable: { code: -32_700, status: 400, restCode: 'bad_request', restStatus: 400 },
  'no-request': { code: -32_600, status: 400, restCode: 'bad_request', restStatus: 400 },
  'unknown-method': { code: -32_601, status: 200, restCode: 'bad_request', restStatus: 404 },
  'bad-params': { code: -32_602, status: 200, restCode: 'bad_request', restStatus: 400 },
  'content-type': { code: -32_600, status: 415, restCode: 'bad_request', restStatus: 415 },
  'http-method': { code: -32_600, status: 405, restCode: 'bad_request', restStatus: 405 },
  'unknown-route': { code: -32_600, status: 404, restCode: 'bad_request', restStatus: 404 },
  'too-large': { code: -32_600, status: 413, restCode: 'bad_request', restStatus: 413 },
  'answer-too-large': { code: -32_603, status: 502, restCode: 'internal_issue', restStatus: 502 },
  unauthorized: { code: -32_099, status: 401, restCode: 'unauthorized', restStatus: 401 },
  forbidden: { code: -32_099, status: 403, restCode: 'forbidden', restStatus: 403 },
  'rate-limited': { code: -32_005, status: 429, restCode: 'rate_limited', restStatus: 429 },
  'no-endpoint': { code: -32_603, status: 503, restCode: 'internal_issue', restStatus: 503 },
  'all-failed': { code: -32_603, status: 502, restCode: 'internal_issue', restStatus: 502 },
  deadline: { code: -32_603, status: 504, restCode: 'internal_issue', restStatus: 504 },
  'outcome-unknown': { code: -32_603, status: 504, restCode: 'internal_issue', restStatus: 504 },
  overloaded: { code: -32_603, status: 503, restCode: 'internal_issue', restStatus: 503 },
}

interface ErrorCodes {
  readonly code: number
  readonly status: number
  readonly restCode: 'bad_request' | 'unauthorized' | 'forbidden' | 'rate_limited' | 'internal_issue'
  readonly restStatus: number
}

/** An error of the gateway itself, not of a node. */
export interface GatewayError {
  readonly kind: RejectionReason
  /** Names members and limits, never a value that the caller sent and never a URL. */
  readonly message: string
  /** How long to wait before retrying, if that helps and is known: always for `overloaded`. */
  readonly retryAfterMs?: number
  /** Value of the Allow header, only for the kind `http-method`. */
  readonly allow?: string
}

export function gatewayError(kind: RejectionReason, message: string): GatewayError {
  return { kind, message }
}

export const OVERLOADED: GatewayError = {
  ...gatewayError('overloaded', 'too many requests in flight'),
  retryAfterMs: 1000,
}

export const BEHIND_CALLER: GatewayError = {
  kind: 'no-endpoint',
  message: 'no endpoint has reached the block yet that this request needs',
  retryAfterMs: 1000,
}

export const INTERNAL_ERROR = gatewayError('all-failed', 'internal error in the gateway, see its log')

/** The `error` member of a JSON-RPC response, as JSON text. */
export function rpcError({ kind, message }: GatewayError): string {
  return JSON.stringify({ code: ERRORS[kind].code, message })
}

/** A whole JSON-RPC response to a request whose id is not known. */
export function rpcErrorWithoutId(error: GatewayError): string {
  return `{"jsonrpc":"2.0","id":null,"error":${rpcError(error)}}`
}

/** The body of a REST response. */
export function restError({ kind, message }: GatewayError): string {
  return JSON.stringify({ data: null, error: message, code: ERRORS[kind].restCode })
}
