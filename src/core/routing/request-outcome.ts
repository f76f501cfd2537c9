import { OPERATIONS } from './operation.ts'

/** Why the gateway itself rejects a request or cannot complete it: one row each in `gateway/errors.ts`. */
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

/** How a request ended: with a node's answer, a node's own error, cancelled by its caller, or rejected by the gateway. */
export const REQUEST_OUTCOMES = ['answered', 'node-error', 'cancelled', ...REJECTION_REASONS] as const
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number]

/** `none`: it was rejected before its operation was known. */
export const ASKED_OPERATIONS = [...OPERATIONS, 'none'] as const
export type AskedOperation = (typeof ASKED_OPERATIONS)[number]

/** How one attempt ended. */
export const ATTEMPT_OUTCOMES = [
  'answered',
  /** The node's own error, passed on or kept. */
  'node-error',
  /** Null or "not found", where another endpoint may have it. */
  'absent',
  /** A lower height than the caller has seen. */
  'behind',
  'rate-limited',
  'timeout',
  /** It could not be reached, or the connection broke. */
  'connection',
  'http-status',
  'bad-answer',
  /** A limit of this machine. */
  'local',
  /** The caller left. */
  'cancelled',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** Why a request was retried on another endpoint: the previous one failed, did not have it, or was behind. */
export const RETRY_REASONS = ['failed', 'absent', 'behind'] as const
export type RetryReason = (typeof RETRY_REASONS)[number]
