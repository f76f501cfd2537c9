import { describeFailure, type Failure } from '../../core/failure.ts'
import type { RejectionReason } from '../../core/routing/request-outcome.ts'
import { type GatewayError, gatewayError, OVERLOADED } from '../errors.ts'
import type { Reply, UpstreamRequest } from '../upstream-request.ts'

/** A question that no endpoint has answered. */
export interface FailedRequest {
  readonly question: UpstreamRequest
  /** The last that failed; `null` where nobody was asked. */
  readonly last: { readonly failure: Failure; readonly unsent: boolean; readonly endpoint: string } | null
  /** Different endpoints that were asked. */
  readonly asked: number
  /** Most of its time went by in want of connections. */
  readonly starved: boolean
  readonly leftMs: number
  /** How long until the first of those who could be asked wants to be left alone no more; `null` where none does. */
  readonly restsForMs: () => number | null
}

/** With less than this left nobody is asked. */
export const TOO_SHORT_MS = 20

export function failureReply({ question, last, asked, starved, leftMs, restsForMs }: FailedRequest): GatewayError {
  // The nodes had no time for it: they are not to blame, and whoever comes again may be luckier.
  if (starved && (question.operation.isRead || last?.unsent === true)) return OVERLOADED
  const { operation, to } = question
  if (last === null)
    return leftMs < TOO_SHORT_MS ? DEADLINE : (resting('no-endpoint', RESTING, restsForMs) ?? NO_ENDPOINT)
  const { failure, unsent, endpoint } = last
  const what = `${endpoint}: ${describeFailure(failure)}`
  if (failure.kind === 'http' && failure.status === 404 && to.kind === 'path' && operation.need.kind === 'endpoint') {
    return gatewayError('unknown-route', what)
  }
  if (!operation.isRead && !unsent && !isRefusal(failure)) {
    return gatewayError('outcome-unknown', `outcome unknown: it was sent to ${what}`)
  }
  if (failure.kind === 'timeout' && leftMs < 2 * TOO_SHORT_MS) return DEADLINE
  const words = asked === 1 ? what : `every attempt failed: ${asked} endpoints were asked, at last ${what}`
  const rests = failure.kind === 'rate-limited' ? resting('all-failed', words, restsForMs) : null
  return rests ?? gatewayError('all-failed', words)
}

/** Nodes want to be left alone: callers are told for how long, so that they come again no sooner. */
function resting(kind: RejectionReason, message: string, restsForMs: () => number | null): GatewayError | null {
  const retryAfterMs = restsForMs()
  return retryAfterMs === null ? null : { kind, message, retryAfterMs }
}

/** The node refused it in so many words, and so has not done it. */
function isRefusal(failure: Failure): boolean {
  return (
    failure.kind === 'redirect' || failure.kind === 'rate-limited' || (failure.kind === 'http' && failure.status < 500)
  )
}

export function refused(why: GatewayError, endpoint: string | null, attempts: number, nodeMs: number): Reply {
  return { kind: 'rejected', rejection: why, endpoint, attempts, cache: 'none', degraded: false, nodeMs, nodeId: null }
}

export const NO_ENDPOINT = gatewayError('no-endpoint', 'no endpoint of this network is usable')
const RESTING = 'every endpoint of this network that is usable limits our rate just now'
const DEADLINE = gatewayError('deadline', 'no endpoint answered in time')
