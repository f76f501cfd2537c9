import type { Failure } from '../failure.ts'
import type { Operation } from './operation.ts'

/** What came of asking one endpoint. */
export type AttemptResult =
  /** `unsent`: the node cannot have read a byte of the request. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly unsent: boolean }
  | { readonly kind: 'result'; readonly isNull: boolean }
  /** The node's own error: of JSON-RPC with its integer code (`null`: none), of REST with its code in words. */
  | {
      readonly kind: 'error'
      readonly code: number | string | null
      readonly message: string
      /** It names no request: the node could not read ours, or answers somebody else. */
      readonly toNobody?: boolean
    }

export type RetryStep =
  /** Pass it on. */
  | 'answer'
  /** Ask another endpoint; a node's own error is kept, in case that nobody knows better. */
  | 'next'
  /** Keep it, and ask once or twice elsewhere, where they may have what this one has not. */
  | 'absent'
  /** Keep it, and ask those who may have the method that this one has not, or read what it could not. */
  | 'unable'
  /** Give up. */
  | 'stop'

/**
 * What to do next: a read goes to the next endpoint where this one failed, and is passed on where it answered, errors and all.
 * `tip`: the highest block that is known to exist; above it, "not found" is the truth.
 */
export function nextStep(operation: Operation, came: AttemptResult, tip: number | null): RetryStep {
  switch (came.kind) {
    case 'failed':
      // Another node would send as much.
      return operation.isRead && came.failure.kind !== 'too-large' ? 'next' : 'stop'
    case 'result':
      return came.isNull && operation.isRead && operation.absenceIsDoubtful && mayExist(operation, tip)
        ? 'absent'
        : 'answer'
    case 'error':
      if (!operation.isRead) return 'answer'
      if (isRateLimit(operation, came) || isRefusedAccess(came)) return 'next'
      if (lacksMethod(came)) return 'unable'
      // The next one may read what this one could not; when nobody can, the request is to blame, and its error is the answer.
      if (came.toNobody === true) return 'unable'
      if (isAbsence(came)) return mayExist(operation, tip) ? 'absent' : 'answer'
      // MultiversX says so both of what it has not got and of what it cannot do.
      if (came.code === 'internal_issue') return afterInternalIssue(operation, tip)
      return 'answer'
  }
}

function afterInternalIssue(operation: Operation, tip: number | null): RetryStep {
  if (!operation.absenceIsDoubtful) return 'next'
  return mayExist(operation, tip) ? 'absent' : 'answer'
}

function mayExist({ need }: Operation, tip: number | null): boolean {
  return need.kind !== 'height' || tip === null || need.height <= tip
}

/** EIP-1474 "resource not found", and "pruned history unavailable". */
const ABSENT_CODES: ReadonlySet<number | string | null> = new Set([-32_001, 4444])

/** geth, coreth, erigon and their kin, of a block or a state that is not there, or not there yet. */
const ABSENT_WORDS =
  /cannot query unfinalized data|header not found|header for hash not found|block not found|unknown block|missing trie node|historical state .* is not available|state .* is not available|pruned/i

/** Tags of blocks that the node names for itself: "unknown" is then its answer (-39001). */
function isAbsence({ code, message }: AttemptResult & { kind: 'error' }): boolean {
  if (typeof code === 'string' || code === -39_001) return false
  return ABSENT_CODES.has(code) || ABSENT_WORDS.test(message)
}

/** EIP-1474 "limit exceeded", what providers use in its place, and MultiversX's words. */
export const RATE_LIMIT_CODES: ReadonlySet<unknown> = new Set([-32_005, -32_097, 429, 'system_busy', 'rate_limited'])

/** "Limit exceeded" is also said of a query that asks for too much, which is no rate. */
const RATE_WORDS = /rate|per second|per day|daily|too many requests|throttl|capacity|quota|compute units/i

/** The node limits our rate: it wants to be left alone for a while. */
export function isRateLimit({ name }: Operation, { code, message }: AttemptResult & { kind: 'error' }): boolean {
  return RATE_LIMIT_CODES.has(code) && (code !== -32_005 || name !== 'other' || RATE_WORDS.test(message))
}

/** avalanchego's words; others have a code for it (JSON-RPC 2.0, section 5.1, and EIP-1474). */
const NO_METHOD_WORDS = /^rpc: can't find (?:method|service) /

/** This node, or the plan at this provider, has no such method; others may. */
export function lacksMethod({ code, message }: AttemptResult & { kind: 'error' }): boolean {
  return code === -32_601 || code === -32_004 || (code === -32_000 && NO_METHOD_WORDS.test(message))
}

/** Of our key, not of the caller's request. */
function isRefusedAccess({ code }: AttemptResult & { kind: 'error' }): boolean {
  return code === -32_099 || code === -32_098 || code === 'unauthorized' || code === 'forbidden'
}

/** Whether a failed attempt says that the endpoint is not well: what a breaker counts. */
export function isFault(failure: Failure): boolean {
  switch (failure.kind) {
    case 'timeout':
    case 'dns':
    case 'refused':
    case 'unroutable':
    case 'reset':
    case 'truncated':
    case 'tls':
    case 'not-http':
    case 'headers-too-large':
    case 'bad-encoding':
    case 'not-json':
    case 'too-deep':
    case 'wrong-id':
    case 'malformed':
    case 'wrong-network':
    case 'redirect':
      return true
    case 'http':
      // Of the others the request is to blame, or its size.
      return failure.status >= 500 || failure.status === 401 || failure.status === 403 || failure.status === 404
    case 'local-resources':
    case 'too-large':
    case 'rate-limited':
    case 'rpc':
      return false
  }
}
