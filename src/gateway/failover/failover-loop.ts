import type { Clock } from '../../clock.ts'
import type { EndpointKey } from '../../core/endpoint.ts'
import type { Failure } from '../../core/failure.ts'
import type { OperationName } from '../../core/routing/operation.ts'
import type { AttemptOutcome, RetryReason } from '../../core/routing/request-outcome.ts'
import { lacksMethod, nextStep } from '../../core/routing/retry-policy.ts'
import { type AnswerHeight, answerHeight, type CallerHeights } from '../caller-heights.ts'
import type { NodeReply, Reply, UpstreamRequest } from '../upstream-request.ts'
import type { Attempt } from './attempt.ts'
import { outcomeOf, settle } from './attempt-outcome.ts'
import { failureReply, refused, TOO_SHORT_MS } from './failure-reply.ts'
import { type FallbackReply, passOn } from './fallback-reply.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamNetwork } from './upstreams.ts'

/** Different endpoints, the first included. */
const MOST_ENDPOINTS = 3
/** Beyond the one that had not got it. */
const MOST_ABSENCES = 3
/** A node that has not answered by then hangs; there must be time left for another, also where the deadline is short. */
const ATTEMPT_MS = 4000
const ATTEMPT_SHARE = 0.4
/** Who has the caller's height is away: how long the others are given to get there; blocks travel faster than that. */
const LONGEST_WAIT_MS = 3000
const WAIT_STEP_MS = 50

export interface FailoverLoopDeps {
  readonly clock: Clock
  readonly callerHeights: CallerHeights
  readonly send: (upstream: Upstream, question: UpstreamRequest, withinMs: number) => Promise<Attempt>
  /** Its traffic fails: it should be polled at once. */
  readonly onDoubt: (key: EndpointKey) => void
  readonly onAttempt?: ((upstream: Upstream, operation: OperationName, outcome: AttemptOutcome) => void) | undefined
  readonly onRetry?: ((network: string, reason: RetryReason) => void) | undefined
}

/** One question on its way from endpoint to endpoint. */
export class FailoverLoop {
  readonly #question: UpstreamRequest
  readonly #network: UpstreamNetwork
  readonly #deps: FailoverLoopDeps
  #attempts = 0
  #nodeMs = 0
  #tried: Upstream[] = []
  /** Those that failed are not asked a second time. */
  readonly #failed: Upstream[] = []
  /** After a wait everybody else is asked again. */
  #anew = false
  /** Why the next one is asked. */
  #reason: RetryReason = 'failed'
  #absences = 0
  #waitedMs = 0
  #askedAgain = false
  /** Whether those that are taken to be behind as well are asked, lest their news be missed. */
  #others: 'unasked' | 'asking' | 'asked' = 'unasked'
  /** What is passed on when nobody knows better. */
  #kept: FallbackReply | null = null
  #keptIsAbsence = false
  /** The highest of the answers that are below the caller's mark. */
  #behind: (FallbackReply & { readonly height: AnswerHeight; readonly mark: number; readonly fell: boolean }) | null =
    null
  #failure: { readonly failure: Failure; readonly unsent: boolean; readonly upstream: Upstream } | null = null
  /** Attempts for which there was a connection in time. */
  #connected = 0

  constructor(question: UpstreamRequest, network: UpstreamNetwork, deps: FailoverLoopDeps) {
    this.#question = question
    this.#network = network
    this.#deps = deps
  }

  async run(): Promise<Reply> {
    const { clock } = this.#deps
    const { operation, signal, deadlineAt } = this.#question
    const { budgets } = this.#network
    const began = clock.monotonic()
    budgets.failed.earn(began)
    budgets.doubtful.earn(began)
    const attemptMs = Math.min(ATTEMPT_MS, (deadlineAt - began) * ATTEMPT_SHARE)
    while (!signal.aborted) {
      const now = clock.monotonic()
      const leftMs = deadlineAt - now
      if (leftMs < TOO_SHORT_MS) break
      const pick = this.#next(now)
      if (pick === null) {
        if (await this.#mayAskAgain()) continue
        break
      }
      const { upstream, degraded } = pick
      const isLast = this.#tried.length + 1 >= Math.min(MOST_ENDPOINTS, this.#network.size)
      const mayMove = operation.isRead && operation.need.kind !== 'endpoint' && !isLast
      // Where there is an answer already, a second opinion is not worth all the time that is left.
      const isShort = mayMove || this.#kept !== null || this.#behind !== null
      upstream.begin(now)
      this.#attempts++
      this.#tried.push(upstream)
      const attempted = await this.#deps.send(upstream, this.#question, isShort ? Math.min(leftMs, attemptMs) : leftMs)
      const ended = clock.monotonic()
      this.#nodeMs += ended - now
      if (settle(upstream, operation, attempted, now, ended)) {
        upstream.breakerOpenedAt = clock.now()
        this.#deps.onDoubt(upstream.key)
      }
      const reply = this.#judge(upstream, degraded, attempted)
      if (reply !== null) return reply
    }
    return this.#conclude()
  }

  #next(now: number) {
    const { operation } = this.#question
    const forMore = this.#kept !== null || this.#behind !== null
    if (this.#attempts > 0) {
      if (!operation.isRead || this.#tried.length >= MOST_ENDPOINTS) return null
      if (this.#keptIsAbsence && this.#absences >= MOST_ABSENCES) return null
    }
    const pick = this.#network.selector.select({
      need: operation.need,
      isRead: operation.isRead,
      minHeight: this.#mark('latest'),
      method: this.#question.call?.method ?? null,
      tried: this.#tried,
      proxiesOnly: needsProxy(this.#question),
      needsImprovement: forMore && !this.#anew,
      includeBehind: this.#others === 'asking',
    })
    this.#anew = false
    if (pick === null || this.#attempts === 0) return pick
    const { failed, doubtful } = this.#network.budgets
    // Whoever answers takes over: that load would be its own as soon as the failing one is left out.
    const isFree = this.#reason === 'failed' && pick.upstream.isAnswering
    if (!isFree && !(this.#reason === 'failed' ? failed : doubtful).spend(now)) return null
    this.#deps.onRetry?.(this.#network.name, this.#reason)
    return pick
  }

  /** `null`: go on. */
  #judge(upstream: Upstream, degraded: boolean, attempted: Attempt): Reply | null {
    const { operation, call } = this.#question
    const { result: came, reply, nodeId, waitedForConnection: isStarved = false } = attempted
    if (!isStarved) this.#connected++
    // What is sent once is not sent on, but the next goes to somebody who may have it.
    if (came.kind === 'error' && call !== null && lacksMethod(came)) {
      upstream.markUnsupported(call.method, this.#deps.clock.monotonic())
    }
    const isAbsence = came.kind === 'error' || (came.kind === 'result' && came.isNull)
    const step = nextStep(operation, came, isAbsence ? this.#knownTip() : null)
    const isBehind = step === 'answer' && reply !== null && this.#isBehind(upstream, degraded, reply, nodeId)
    this.#deps.onAttempt?.(upstream, operation.name, outcomeOf(attempted, step, isBehind, this.#question))
    switch (step) {
      case 'answer':
        if (reply === null || isBehind) return null
        // Two that do not know: the first one's words are as good.
        if (this.#keptIsAbsence && came.kind === 'error') return null
        return passOn({ reply, upstream, degraded, nodeId }, this.#attempts, this.#nodeMs)
      case 'unable':
        // Any caller can bring this about, and must not use up what failing over needs.
        if (this.#behind === null) this.#reason = 'absent'
        if (this.#kept === null && reply !== null) this.#kept = { reply, upstream, degraded, nodeId }
        return null
      case 'absent':
        this.#absences++
        this.#reason = 'absent'
        if (!this.#keptIsAbsence && reply !== null) this.#kept = { reply, upstream, degraded, nodeId }
        this.#keptIsAbsence = true
        return null
      case 'next':
      case 'stop':
        this.#failed.push(upstream)
        if (came.kind === 'failed') this.#failure = { ...came, upstream }
        else if (this.#kept === null && reply !== null) this.#kept = { reply, upstream, degraded, nodeId }
        if (!this.#keptIsAbsence && this.#behind === null) this.#reason = 'failed'
        return step === 'stop' ? this.#conclude() : null
    }
  }

  /** Whether the answer would take the caller back; if not, its marks rise. */
  #isBehind(upstream: Upstream, degraded: boolean, reply: NodeReply, nodeId: string | null): boolean {
    const height = answerHeight(this.#question, reply)
    if (height === null) return false
    const { clock, callerHeights: tips } = this.#deps
    const { caller, network } = this.#question
    const shard = this.#shard
    const { selector: choice } = this.#network
    const known = upstream.height(shard)
    if (height.tag === 'latest') {
      if (height.isHead) upstream.setHeight(shard, height.height, clock.now())
      else upstream.raiseHeight(shard, height.height, clock.now())
    }
    const mark = height.isHead ? tips.get(caller, network, shard, height.tag) : null
    if (mark !== null && height.height < mark) {
      const fell = height.tag === 'latest' && known >= mark
      if (this.#behind === null || height.height > this.#behind.height.height) {
        this.#behind = { reply, upstream, degraded, nodeId, height, mark, fell }
      }
      this.#reason = 'behind'
      return true
    }
    if (height.height <= choice.ceiling(shard)) tips.raise(caller, network, shard, height.tag, height.height)
    return false
  }

  /** Nobody is left to ask for something better than is there: perhaps somebody is in a moment. */
  async #mayAskAgain(): Promise<boolean> {
    const behind = this.#behind
    if (behind === null || behind.height.tag !== 'latest') return false
    if (this.#others === 'unasked') {
      this.#others = 'asking'
      return true
    }
    this.#others = 'asked'
    const { clock } = this.#deps
    const { deadlineAt, signal } = this.#question
    const { selector: choice, scout } = this.#network
    const shard = this.#shard
    const again = (): true => {
      this.#tried = [...this.#failed]
      this.#anew = true
      return true
    }
    // It had it itself a moment ago: a pool of nodes, of which another may answer.
    if (behind.fell && !this.#askedAgain && !choice.isReachedByAny(shard, behind.mark)) {
      this.#askedAgain = true
      return again()
    }
    while (this.#isStillBehind(behind.height) && choice.isReachedByAny(shard, behind.mark)) {
      const stepMs = Math.min(WAIT_STEP_MS + this.#waitedMs / 4, 4 * WAIT_STEP_MS)
      const isLong = this.#waitedMs + stepMs > LONGEST_WAIT_MS
      if (isLong || signal.aborted || deadlineAt - clock.monotonic() < stepMs + TOO_SHORT_MS) return false
      await waitFor(clock, stepMs, signal)
      this.#waitedMs += stepMs
      // All who wait learn from the one that asks.
      if (choice.isReachedByHealthy(shard, behind.mark) || scout.mayGo(clock.monotonic())) return again()
    }
    return false
  }

  #isStillBehind({ height }: AnswerHeight): boolean {
    const mark = this.#mark('latest')
    return mark !== null && height < mark
  }

  #conclude(): Reply {
    const behind = this.#behind
    if (behind !== null) {
      const { caller, network } = this.#question
      const { callerHeights: tips } = this.#deps
      const { tag: mark, height } = behind.height
      // The chain went back, or whoever was higher is gone: from now on this is where it is.
      if (tips.get(caller, network, this.#shard, mark) === behind.mark) {
        tips.lower(caller, network, this.#shard, mark, height)
      }
      return passOn(behind, this.#attempts, this.#nodeMs)
    }
    return this.#kept === null ? this.#refuse() : passOn(this.#kept, this.#attempts, this.#nodeMs)
  }

  #refuse(): Reply {
    const { need, isRead } = this.#question.operation
    const last = this.#failure
    const why = failureReply({
      question: this.#question,
      last: last === null ? null : { ...last, endpoint: last.upstream.name },
      asked: this.#tried.length,
      starved: this.#attempts > 0 && this.#connected === 0,
      leftMs: this.#question.deadlineAt - this.#deps.clock.monotonic(),
      restsForMs: () =>
        this.#network.selector.rateLimitedForMs({ need, isRead, proxiesOnly: needsProxy(this.#question) }),
    })
    // Where only one could be asked, who it was matters as much as what came of it.
    const isOnes = !isRead || need.kind === 'endpoint'
    return refused(why, isOnes ? (last?.upstream.name ?? null) : null, this.#attempts, this.#nodeMs)
  }

  get #shard() {
    const { need } = this.#question.operation
    return need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
  }

  #mark(mark: 'latest'): number | null {
    const { caller, network, operation } = this.#question
    return operation.need.kind === 'latest'
      ? this.#deps.callerHeights.get(caller, network, operation.need.shard, mark)
      : null
  }

  /** The highest block that is known to exist, for what may be found elsewhere. */
  #knownTip(): number | null {
    const { caller, network, operation } = this.#question
    if (operation.need.kind !== 'height') return null
    const { shard } = operation.need
    const known = this.#network.selector.highestKnown(shard)
    const seen = this.#deps.callerHeights.get(caller, network, shard, 'latest')
    return known === null || seen === null ? (known ?? seen) : Math.max(known, seen)
  }
}

/** Of what only a proxy can answer. */
function needsProxy({ to }: UpstreamRequest): boolean {
  return to.kind === 'path' && to.singleShardPath === null
}

function waitFor(clock: Clock, ms: number, signal: UpstreamRequest['signal']): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = clock.after(ms, done)
    signal.addEventListener('abort', done)
  })
}
