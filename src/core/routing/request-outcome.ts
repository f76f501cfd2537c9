import type { OperationName } from './operation.ts'

/** Why the gateway rejects a request or cannot complete it: one row each in `gateway/errors.ts`. */
export const REJECTION_REASONS = [
  'unparsable',
  'no-request',
  'unknown-method',
  'bad-params',
  'content-type',
  'http-method',
  'unknown-route',
  'too-large',
  'answer-too-large',
  'unauthorized',
  'forbidden',
  'rate-limited',
  'no-endpoint',
  'all-failed',
  'deadline',
  'outcome-unknown',
  'overloaded',
] as const
export type RejectionReason = (typeof REJECTION_REASONS)[number]

/** How a request ended: with a node's answer, a node's error, cancelled by its caller, or rejected by the gateway. */
export const REQUEST_OUTCOMES = ['answered', 'node-error', 'cancelled', ...REJECTION_REASONS] as const
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number]

export type OutcomeKind = 'answered' | 'node-error' | 'failed' | 'refused' | 'cancelled'

/** A failure is caused by us or the nodes, a refusal by the caller. */
export const OUTCOME_KINDS: Readonly<Record<RequestOutcome, OutcomeKind>> = {
  answered: 'answered',
  'node-error': 'node-error',
  cancelled: 'cancelled',
  unparsable: 'refused',
  'no-request': 'refused',
  'unknown-method': 'refused',
  'bad-params': 'refused',
  'content-type': 'refused',
  'http-method': 'refused',
  'unknown-route': 'refused',
  'too-large': 'refused',
  'answer-too-large': 'refused',
  unauthorized: 'refused',
  forbidden: 'refused',
  'rate-limited': 'refused',
  'no-endpoint': 'failed',
  'all-failed': 'failed',
  deadline: 'failed',
  'outcome-unknown': 'failed',
  overloaded: 'failed',
}

/** `none`: rejected before the operation was known. */
export type AskedOperation = OperationName | 'none'

export const ATTEMPT_OUTCOMES = [
  'answered',
  /** The node's own error, forwarded or kept. */
  'node-error',
  /** `null` or "not found", although another endpoint may have it. */
  'absent',
  /** A lower height than the caller has seen. */
  'behind',
  'rate-limited',
  'timeout',
  /** The endpoint could not be reached, or the connection broke. */
  'connection',
  'http-status',
  'bad-answer',
  /** This machine is out of resources. */
  'local',
  'cancelled',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** Why a request was retried: the previous endpoint failed, did not have the data, or was behind. */
export const RETRY_REASONS = ['failed', 'absent', 'behind'] as const
export type RetryReason = (typeof RETRY_REASONS)[number]
