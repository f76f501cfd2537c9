import type { Failure } from '../../core/failure.ts'
import type { Operation } from '../../core/routing/operation.ts'
import type { AttemptOutcome } from '../../core/routing/request-outcome.ts'
import { isRateLimit, type RetryStep } from '../../core/routing/retry-policy.ts'
import type { UpstreamRequest } from '../upstream-request.ts'
import type { Attempt } from './attempt.ts'
import type { Upstream } from './upstream.ts'

export function outcomeOf(
  { result: came, isLocal: isOurs }: Attempt,
  step: RetryStep,
  isBehind: boolean,
  { operation, signal }: UpstreamRequest,
): AttemptOutcome {
  if (came.kind === 'failed') {
    if (signal.aborted) return 'cancelled'
    return isOurs && came.failure.kind !== 'timeout' ? 'local' : failureOutcome(came.failure)
  }
  if (isBehind) return 'behind'
  if (step === 'absent') return 'absent'
  if (came.kind === 'result') return 'answered'
  return isRateLimit(operation, came) ? 'rate-limited' : 'node-error'
}

function failureOutcome(failure: Failure): AttemptOutcome {
  switch (failure.kind) {
    case 'timeout':
      return 'timeout'
    case 'dns':
    case 'refused':
    case 'unroutable':
    case 'reset':
    case 'truncated':
    case 'tls':
      return 'connection'
    case 'local-resources':
      return 'local'
    case 'redirect':
    case 'http':
      return 'http-status'
    case 'rate-limited':
      return 'rate-limited'
    case 'not-http':
    case 'headers-too-large':
    case 'too-large':
    case 'bad-encoding':
    case 'not-json':
    case 'too-deep':
    case 'rpc':
    case 'wrong-id':
    case 'malformed':
    case 'wrong-network':
      return 'bad-answer'
  }
}

/** Notes on the endpoint what the attempt says of it; whether that opened its breaker. */
export function settle(
  upstream: Upstream,
  operation: Operation,
  attempted: Attempt,
  began: number,
  ended: number,
): boolean {
  const { result: came, isLocal: isOurs, isFault, retryAfterMs } = attempted
  const isAnswer = came.kind !== 'failed'
  const isLate = came.kind === 'failed' && came.failure.kind === 'timeout' && !isOurs
  // How soon a connection is refused says nothing of how soon a request is answered.
  upstream.end(ended, isAnswer || isLate ? ended - began : null, !isOurs && !isLate)
  const isLimited = came.kind === 'error' ? isRateLimit(operation, came) : isFailure(came, 'rate-limited')
  if (isLimited) upstream.limitRate(retryAfterMs, ended)
  if (!isOurs) upstream.isAnswering = isAnswer && !isLimited
  if (isFault) return upstream.breaker.fail(ended)
  if (!isAnswer || isLimited) upstream.breaker.ignore()
  else {
    upstream.breaker.succeed()
    upstream.clearRateLimit()
  }
  return false
}

function isFailure(came: Attempt['result'], kind: Failure['kind']): boolean {
  return came.kind === 'failed' && came.failure.kind === kind
}
