import type { RetryReason } from '../../core/routing/request-outcome.ts'
import {
  type AttemptResult,
  lacksMethod,
  MOST_ABSENCES,
  MOST_ENDPOINTS,
  nextStep,
} from '../../core/routing/retry-policy.ts'
import type { Reply, UpstreamRequest } from '../upstream-request.ts'
import { type Attempt, attemptOn, outcomeOf } from './attempt.ts'
import { HeightGuard, type HeightGuardDeps } from './height-guard.ts'
import { failureReply, type NodeAnswer, needsProxy, passOn, replyInstead, TOO_SHORT_MS } from './reply.ts'
import type { RankedUpstream, Upstream } from './upstream.ts'
import type { UpstreamNetwork } from './upstream-registry.ts'
import type { SelectionCriteria } from './upstream-selector.ts'

/**
 * Sends one request to endpoints in turn until one gives a usable answer, or the deadline, the attempts or the retry
 * budget run out. core/routing/retry-policy.ts decides whether to retry, upstream-selector.ts where.
 */
export class FailoverLoop {
  readonly #request: UpstreamRequest
  readonly #network: UpstreamNetwork
  readonly #deps: FailoverLoopDeps
  readonly #heights: HeightGuard
  #attempts = 0
  /** Attempts that got a connection in time. */
  #connected = 0
  /** The time of attempts, and of waiting for a height. */
  #nodeMs = 0
  /** An endpoint was left to try, but too many requests are retried. */
  #isOverBudget = false
  #tried: Upstream[] = []
  /** Endpoints that are not tried a second time. */
  readonly #failed: Upstream[] = []
  #retryReason: RetryReason = 'failed'
  #lastFailure: (AttemptResult & { kind: 'failed'; endpoint: string; nodeId: string | null }) | null = null
  readonly #fallback = new Fallback()

  constructor(request: UpstreamRequest, network: UpstreamNetwork, deps: FailoverLoopDeps) {
    this.#request = request
    this.#network = network
    this.#deps = deps
    this.#heights = new HeightGuard(request, network, deps)
  }

  async run(): Promise<Reply> {
    const { clock } = this.#deps
    const { signal, deadlineAt } = this.#request
    const began = clock.monotonic()
    this.#network.budgets.failed.earn(began)
    this.#network.budgets.doubtful.earn(began)
    const attemptMs = Math.min(ATTEMPT_MS, (deadlineAt - began) * ATTEMPT_SHARE)
    let isNewRound = false
    while (!signal.aborted) {
      const now = clock.monotonic()
      const leftMs = deadlineAt - now
      if (leftMs < TOO_SHORT_MS) break
      const criteria = this.#criteria(isNewRound)
      const selected = this.#select(criteria, now)
      isNewRound = false
      if (selected === null) {
        if (!this.#mayTryMore || (this.#isOverBudget && this.#heights.tooLow === null)) break
        const retry = await this.#heights.mayRetry(this.#failed, this.#fallback.absences)
        this.#nodeMs += clock.monotonic() - now
        if (retry === 'no') break
        isNewRound = retry === 'all'
        if (isNewRound) this.#tried = [...this.#failed]
        continue
      }
      const isLast = !this.#leavesTimeForAnother(selected, criteria)
      const reply = await this.#try(selected, now, isLast ? leftMs : Math.min(leftMs, attemptMs))
      if (reply !== null) return reply
    }
    return this.#giveUp()
  }

  #criteria(isNewRound: boolean): SelectionCriteria {
    const { operation, call } = this.#request
    return {
      need: operation.need,
      isRead: operation.isRead,
      minHeight: this.#heights.lowest,
      method: call?.method ?? null,
      tried: this.#tried,
      proxiesOnly: needsProxy(this.#request.to),
      needsImprovement: this.#hasAnswer && !isNewRound,
      includeBehind: this.#heights.includesBehind,
      requiresHeight: this.#heights.requiresHeight,
    }
  }

  #select(criteria: SelectionCriteria, now: number): RankedUpstream | null {
    if (!this.#mayTryMore || (this.#attempts > 0 && this.#tried.length >= MOST_ENDPOINTS)) return null
    const selected = this.#network.selector.select(criteria)
    if (selected === null || this.#attempts === 0) return selected
    this.#isOverBudget = !isWithinBudget(this.#network, this.#retryReason, selected.upstream, now)
    if (this.#isOverBudget) return null
    this.#deps.onRetry?.(this.#network.name, this.#retryReason)
    return selected
  }

  /** Whether an endpoint that reaches the height later may be tried. */
  get #mayTryMore(): boolean {
    if (this.#attempts === 0) return true
    if (!this.#request.operation.isRead || this.#fallback.absences >= MOST_ABSENCES) return false
    return this.#failed.length < MOST_ENDPOINTS
  }

  /** If there is an answer already, a second opinion must not use all the remaining time. */
  #leavesTimeForAnother({ upstream }: RankedUpstream, criteria: SelectionCriteria): boolean {
    if (this.#hasAnswer) return true
    return this.#tried.length + 1 < MOST_ENDPOINTS && this.#network.selector.hasAnother(upstream, criteria, ATTEMPT_MS)
  }

  /** All requests to nodes. */
  get #sent(): number {
    return this.#attempts + this.#heights.probes
  }

  get #hasAnswer(): boolean {
    return this.#fallback.answer !== null || this.#heights.tooLow !== null
  }

  /** `null` to go on to the next endpoint. */
  async #try({ upstream, degraded }: RankedUpstream, began: number, withinMs: number): Promise<Reply | null> {
    this.#attempts++
    this.#tried.push(upstream)
    const attempted = await attemptOn(this.#deps, upstream, this.#request, withinMs)
    this.#nodeMs += this.#deps.clock.monotonic() - began
    if (attempted.waitedForConnection !== true) this.#connected++
    return this.#judge(upstream, degraded, attempted)
  }

  #judge(upstream: Upstream, degraded: boolean, attempted: Attempt): Reply | null {
    const { operation, call } = this.#request
    const { result, reply, nodeId } = attempted
    const answer = reply === null ? null : { reply, upstream, degraded, nodeId }
    // Recorded for writes too. They are not retried, but the next one goes to an endpoint that may support the method.
    // An alias may lead to another chain, which has other methods.
    if (result.kind === 'error' && call !== null && operation.name !== 'alias' && lacksMethod(result)) {
      upstream.unsupportedMethods.add(call.method, this.#deps.clock.monotonic())
    }
    const isNull = result.kind === 'result' && result.isNull
    const step = nextStep(operation, result, isNull || result.kind === 'error' ? this.#heights.highestKnown() : null)
    const checked = step === 'answer' && answer !== null ? this.#heights.check(answer) : null
    const isBelow = step === 'absent' && this.#fallback.absences === 0 && this.#heights.isBelow(upstream, isNull)
    const isBehind = isBelow || checked?.verdict === 'too-low'
    const isTooHigh = checked?.verdict === 'too-high'
    this.#deps.onAttempt?.(upstream, operation.name, outcomeOf(attempted, step, isBehind, this.#request))
    switch (step) {
      case 'answer':
        if (isBehind || isTooHigh) this.#retryReason = 'behind'
        if (isTooHigh) this.#fallback.take(answer, false)
        // An error after an absence adds no information.
        if (answer === null || isBehind || isTooHigh || (this.#fallback.absences > 0 && result.kind === 'error'))
          return null
        return passOn(answer, this.#sent, this.#nodeMs, checked?.height, checked?.stateHeight)
      case 'unable':
      case 'absent':
        // Not 'failed', because callers can cause absences at will and must not exhaust the budget for failures.
        if (step === 'absent' || this.#heights.tooLow === null) this.#retryReason = isBehind ? 'behind' : 'absent'
        // An absence may be that of one node of a pool.
        if (step === 'unable') this.#failed.push(upstream)
        if (!isBehind) this.#fallback.take(answer, step === 'absent')
        return null
      case 'next':
      case 'stop':
        this.#failed.push(upstream)
        if (result.kind === 'failed') this.#lastFailure = { ...result, endpoint: upstream.name, nodeId }
        else this.#fallback.take(answer, false)
        if (this.#fallback.absences === 0 && this.#heights.tooLow === null) this.#retryReason = 'failed'
        return step === 'stop' ? this.#giveUp() : null
    }
  }

  #giveUp(): Reply {
    const { isRead, need } = this.#request.operation
    // The failure of the only endpoint that may answer tells more than the wait for its height: an alias may be lost. So
    // does a node's own error.
    const hasFailed = need.kind === 'endpoint' && this.#lastFailure !== null
    const isTold = this.#heights.tooLow === null && (hasFailed || this.#fallback.answer !== null)
    const instead = isTold ? null : this.#heights.giveUp()
    if (instead !== null) return replyInstead(instead, this.#sent, this.#nodeMs)
    if (this.#fallback.answer !== null) return passOn(this.#fallback.answer, this.#sent, this.#nodeMs)
    return failureReply(this.#request, {
      last: this.#lastFailure,
      tried: this.#tried.length,
      attempts: this.#sent,
      nodeMs: this.#nodeMs,
      waitedForConnections: this.#attempts > 0 && this.#connected === 0,
      leftMs: this.#request.deadlineAt - this.#deps.clock.monotonic(),
      rateLimitedForMs: () =>
        this.#network.selector.rateLimitedForMs({ need, isRead, proxiesOnly: needsProxy(this.#request.to) }),
    })
  }
}

export interface FailoverLoopDeps extends HeightGuardDeps {
  readonly onRetry?: ((network: string, reason: RetryReason) => void) | undefined
}

function isWithinBudget({ budgets }: UpstreamNetwork, reason: RetryReason, upstream: Upstream, now: number): boolean {
  if (reason !== 'failed') return budgets.doubtful.spend(now)
  // Not counted for an answering endpoint, which takes over this load anyway once the failing one is excluded.
  return upstream.isAnswering || budgets.failed.spend(now)
}

/** The answer to pass on if no endpoint has a better one: the first absence, else the first error. */
class Fallback {
  answer: NodeAnswer | null = null
  absences = 0

  take(answer: NodeAnswer | null, isAbsence: boolean): void {
    if (this.answer === null || (isAbsence && this.absences === 0)) this.answer = answer
    if (isAbsence) this.absences++
  }
}

/** A node that has not answered by then hangs. The share leaves time for another endpoint if the deadline is short. */
const ATTEMPT_MS = 4000
const ATTEMPT_SHARE = 0.4
