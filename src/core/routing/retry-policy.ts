import { FAILURES, type Failure } from '../failure.ts'
import type { Operation } from './operation.ts'

/**
 * Decides after an attempt whether its answer is passed on or the request is retried on another endpoint. Which endpoint that is,
 * gateway/failover/upstream-selector.ts decides. `highestKnown`: the highest block known to exist; above it, "not found" is true.
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
      // Another node may be able to read the request; if none can, the request is to blame and the error is the answer.
      if (result.hasNullId === true) return 'unable'
      if (isAbsence(result)) return mayExist(operation, highestKnown) ? 'absent' : 'answer'
      // MultiversX uses this code for what it does not have and for what it cannot do.
      if (result.code === 'internal_issue') return afterInternalIssue(operation, highestKnown)
      return 'answer'
  }
}

/** How one endpoint answered, as far as retries depend on it. */
export type AttemptResult =
  /** `unsent`: the node cannot have read any byte of the request. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly unsent: boolean }
  | { readonly kind: 'result'; readonly isNull: boolean }
  /** The node's own error: with an integer code (`null`: none) for JSON-RPC, with a word for REST. */
  | {
      readonly kind: 'error'
      readonly code: number | string | null
      readonly message: string
      /** The node could not read the request, or answers another one. */
      readonly hasNullId?: boolean
    }

export type RetryStep =
  /** Pass it on. */
  | 'answer'
  /** Retry on another endpoint; a node's own error is kept in case that no endpoint has a better answer. */
  | 'next'
  /** Keep it, and look on a few other endpoints for what this one does not have. */
  | 'absent'
  /** Keep it, and try endpoints that may support the method, or be able to read the request. */
  | 'unable'
  /** Give up. */
  | 'stop'

function afterInternalIssue(operation: Operation, highestKnown: number | null): RetryStep {
  if (!operation.absenceIsDoubtful) return 'next'
  return mayExist(operation, highestKnown) ? 'absent' : 'answer'
}

function mayExist({ need }: Operation, highestKnown: number | null): boolean {
  return need.kind !== 'height' || highestKnown === null || need.height <= highestKnown
}

type NodeError = AttemptResult & { kind: 'error' }

/** A block or state that the node does not have (yet), by EIP-1474 "resource not found", "pruned history unavailable", or words. */
function isAbsence({ code, message }: NodeError): boolean {
  // -39001 answers a tag such as `safe`, which each node resolves itself.
  if (typeof code === 'string' || code === -39_001) return false
  return ABSENT_CODES.has(code) || ABSENT_WORDS.test(message)
}

const ABSENT_CODES: ReadonlySet<number | string | null> = new Set([-32_001, 4444])

/** Words of geth, coreth, erigon and others. */
const ABSENT_WORDS =
  /cannot query unfinalized data|header not found|header for hash not found|block not found|unknown block|missing trie node|historical state .* is not available|state .* is not available|pruned/i

/** EIP-1474 "limit exceeded", what providers use in its place, and MultiversX's words. */
export const RATE_LIMIT_CODES: ReadonlySet<unknown> = new Set([-32_005, -32_097, 429, 'system_busy', 'rate_limited'])

/** The node limits the gateway's rate. Some nodes use -32005 also for a query that asks for too much at once. */
export function isRateLimit({ name }: Operation, { code, message }: NodeError): boolean {
  return RATE_LIMIT_CODES.has(code) && (code !== -32_005 || name !== 'other' || RATE_WORDS.test(message))
}

const RATE_WORDS = /rate|per second|per day|daily|too many requests|throttl|capacity|quota|compute units/i

/** This node, or the provider's plan, does not have the method; other endpoints may. */
export function lacksMethod({ code, message }: NodeError): boolean {
  return code === -32_601 || code === -32_004 || (code === -32_000 && NO_METHOD_WORDS.test(message))
}

/** avalanchego's words; others have a code for it (JSON-RPC 2.0, section 5.1, and EIP-1474). */
const NO_METHOD_WORDS = /^rpc: can't find (?:method|service) /

/** The provider rejected the gateway's key, not the caller's request. */
function isRejectedKey({ code }: NodeError): boolean {
  return code === -32_099 || code === -32_098 || code === 'unauthorized' || code === 'forbidden'
}
