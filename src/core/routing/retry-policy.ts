import { FAILURES, type Failure } from '../failure.ts'
import type { Operation } from './operation.ts'

/**
 * Decides whether an attempt's answer is forwarded or the request is retried; gateway/failover/upstream-selector.ts
 * picks the next endpoint. Above `highestKnown`, the highest block known to exist, "not found" is believed.
 */
export function nextStep(operation: Operation, result: AttemptResult, highestKnown: number | null): RetryStep {
  switch (result.kind) {
    case 'failed':
      return operation.isRead && FAILURES[result.failure.kind].isRetryable ? 'next' : 'stop'
    case 'result':
      return result.isNull && operation.isRead && operation.absenceIsDoubtful && mayExist(operation, highestKnown)
        ? 'absent'
        : 'answer'
    case 'error':
      if (!operation.isRead) return 'answer'
      if (isRateLimit(operation, result) || isRejectedKey(result)) return 'next'
      if (lacksMethod(result)) return 'unable'
      // Another node may be able to read the request; if none can, the request is at fault and gets this error.
      if (result.hasNullId === true) return 'unable'
      if (isAbsence(result)) return mayExist(operation, highestKnown) ? 'absent' : 'answer'
      // MultiversX uses this code both for missing data and for unsupported requests.
      if (result.code === 'internal_issue') return afterInternalIssue(operation, highestKnown)
      return 'answer'
  }
}

/** A read is sent to this many endpoints, including the first. */
export const MOST_ENDPOINTS = 3
/** After this many absences, "not found" is the answer. */
export const MOST_ABSENCES = 3

/** How one endpoint answered, as far as retries depend on it. */
export type AttemptResult =
  /** `unsent`: the node cannot have read any byte of the request. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly unsent: boolean }
  | { readonly kind: 'result'; readonly isNull: boolean }
  /** The node's own error. The code is an integer for JSON-RPC (`null` if missing), a word for REST. */
  | {
      readonly kind: 'error'
      readonly code: number | string | null
      readonly message: string
      /** The answer's id is null: the node could not read the request, or answers another one. */
      readonly hasNullId?: boolean
    }

export type RetryStep =
  /** Forward this answer. */
  | 'answer'
  /** Retry on another endpoint. A node's own error is kept in case no endpoint has a better answer. */
  | 'next'
  /** Keep this answer, and try a few other endpoints that may have the data. */
  | 'absent'
  /** Keep this answer, and try endpoints that may support the method or be able to read the request. */
  | 'unable'
  | 'stop'

function afterInternalIssue(operation: Operation, highestKnown: number | null): RetryStep {
  if (!operation.absenceIsDoubtful) return 'next'
  return mayExist(operation, highestKnown) ? 'absent' : 'answer'
}

function mayExist({ need }: Operation, highestKnown: number | null): boolean {
  return need.kind !== 'height' || highestKnown === null || need.height <= highestKnown
}

type NodeError = AttemptResult & { kind: 'error' }

/** The node lacks a block or state: EIP-1474 "resource not found", "pruned history unavailable", or words. */
function isAbsence({ code, message }: NodeError): boolean {
  // -39001 is the answer to a tag such as `safe`, which each node resolves itself.
  if (typeof code === 'string' || code === -39_001) return false
  return ABSENT_CODES.has(code) || ABSENT_WORDS.test(message)
}

const ABSENT_CODES: ReadonlySet<number | string | null> = new Set([-32_001, 4444])

/** Used by geth, coreth, erigon, reth and others. */
const ABSENT_WORDS =
  /after last accepted block|beyond (?:current head|head|latest executed) block|cannot query unfinalized data|header not found|header for hash not found|block not found|unknown block|missing trie node|historical state .* is not available|state .* is not available|pruned/i

/** EIP-1474 "limit exceeded", codes that providers use instead, and MultiversX's words. */
export const RATE_LIMIT_CODES: ReadonlySet<unknown> = new Set([-32_005, -32_097, 429, 'system_busy', 'rate_limited'])

/** Providers also limit the rate under codes of their own. */
export const RATE_LIMIT_WORDS = /\brate.?limit|too many requests|\brequests? (?:limit|per)\b/i

/** Whether the node rate-limits the gateway. Some nodes also use -32005 for a query that requests too much at once. */
export function isRateLimit(operation: Operation, { code, message }: NodeError): boolean {
  if (!RATE_LIMIT_CODES.has(code)) return !mayQuote(operation) && RATE_LIMIT_WORDS.test(message)
  return code !== -32_005 || !mayBeLarge(operation) || RATE_WORDS.test(message)
}

/** Whether the words of an error may be a contract's or the caller's: those of a reverted call, an alias or a tag. */
function mayQuote(operation: Operation): boolean {
  return mayBeLarge(operation) || operation.name === 'admin.alias' || operation.name.startsWith('health.')
}

/** Whether the call may ask for much and take long: its method is not one of Heartline's own list, or not known. */
export function mayBeLarge({ name }: Operation): boolean {
  return name === 'other' || name === 'alias'
}

/** Wider than `RATE_LIMIT_WORDS`, because the code already names a limit. */
const RATE_WORDS = /rate|per second|per day|daily|too many requests|throttl|capacity|quota|compute units/i

/** Whether this node or the provider's plan lacks the method; other endpoints may have it. */
export function lacksMethod({ code, message }: NodeError): boolean {
  return code === -32_601 || code === -32_004 || (code === -32_000 && NO_METHOD_WORDS.test(message))
}

/** Used by avalanchego; others have codes (JSON-RPC 2.0, section 5.1, and EIP-1474). */
const NO_METHOD_WORDS = /^rpc: can't find (?:method|service) /

/** Whether the provider rejected the gateway's key, not the caller's request. */
function isRejectedKey({ code }: NodeError): boolean {
  return code === -32_099 || code === -32_098 || code === 'unauthorized' || code === 'forbidden'
}
