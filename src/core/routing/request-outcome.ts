import { OPERATIONS } from './operation.ts'

/** Why the gateway itself says no, or cannot do it: every row of `gateway/errors.ts`. */
export const REJECTION_REASONS = [
  'unparsable',
  'no-request',
  'unknown-method',
  'bad-params',
  'content-type',
  'http-method',
  'unknown-route',
  'too-large',
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

/** What became of a request: a node's answer, a node's own error, its caller gone before either, or why the gateway said no. */
export const REQUEST_OUTCOMES = ['answered', 'node-error', 'cancelled', ...REJECTION_REASONS] as const
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number]

/** `none`: it was refused before it was known what it asks. */
export const ASKED_OPERATIONS = [...OPERATIONS, 'none'] as const
export type AskedOperation = (typeof ASKED_OPERATIONS)[number]

/** What came of one attempt. */
export const ATTEMPT_OUTCOMES = [
  'answered',
  /** The node's own error, passed on or kept. */
  'node-error',
  /** Null or "not found", of which others may know better. */
  'absent',
  /** A lower height than the caller has seen. */
  'behind',
  'rate-limited',
  'timeout',
  /** It could not be reached, or the connection broke. */
  'connection',
  'http-status',
  'bad-answer',
  /** Our own machine's limits. */
  'local',
  /** The caller left. */
  'cancelled',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** Why another endpoint was asked: the one before failed, had not got it, or was behind what the caller has seen. */
export const RETRY_REASONS = ['failed', 'absent', 'behind'] as const
export type RetryReason = (typeof RETRY_REASONS)[number]
