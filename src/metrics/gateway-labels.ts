import { OPERATIONS } from '../core/operation.ts'

/** The closed lists of the gateway's label values. The gateway has the same as types, and the daemon, which knows both, does not compile when they differ. */
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

/** A node's answer, a node's own error, its caller gone before either, or why the gateway said no. */
export const REQUEST_OUTCOMES = ['answered', 'node-error', 'cancelled', ...REJECTION_REASONS] as const
export type RequestOutcome = (typeof REQUEST_OUTCOMES)[number]

export const ASKED_OPERATIONS = [...OPERATIONS, 'none'] as const
export type AskedOperation = (typeof ASKED_OPERATIONS)[number]

export const ATTEMPT_OUTCOMES = [
  'answered',
  'node-error',
  'absent',
  'behind',
  'rate-limited',
  'timeout',
  'connection',
  'http-status',
  'bad-answer',
  'local',
  'cancelled',
] as const
export type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

export const RETRY_REASONS = ['failed', 'absent', 'behind'] as const
export type RetryReason = (typeof RETRY_REASONS)[number]
