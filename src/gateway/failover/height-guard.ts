import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import { type AnswerHeight, answerHeight, type CallerHeights } from '../caller-heights.ts'
import type { UpstreamRequest } from '../upstream-request.ts'
import { type NodeAnswer, TOO_SHORT_MS } from './reply.ts'
import type { UpstreamNetwork } from './upstreams.ts'

/** Keeps one request's caller from being shown a lower block than it has seen: finds lower answers, and waits for higher ones. */
export class HeightGuard {
  readonly #request: UpstreamRequest
  readonly #network: UpstreamNetwork
  readonly #clock: Clock
  readonly #callerHeights: CallerHeights
  readonly #shard: Shard
  /** The highest of the answers below what the caller has seen. */
  lower: LowerAnswer | null = null
  /** Endpoints last seen behind are tried once all others have been. */
  #behindTried: 'no' | 'now' | 'done' = 'no'
  #isRepeated = false
  #waitedMs = 0

  constructor(request: UpstreamRequest, network: UpstreamNetwork, { clock, callerHeights }: HeightGuardDeps) {
    const { need } = request.operation
    this.#request = request
    this.#network = network
    this.#clock = clock
    this.#callerHeights = callerHeights
    this.#shard = need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
  }

  /** For requests about the newest block: the highest that the caller has seen. */
  get minHeight(): number | null {
    const { caller, network, operation } = this.#request
    return operation.need.kind === 'latest'
      ? this.#callerHeights.get(caller, network, operation.need.shard, 'latest')
      : null
  }

  get includesBehind(): boolean {
    return this.#behindTried === 'now'
  }

  /** For requests by height: the highest block known to exist. */
  highestKnown(): number | null {
    const { caller, network, operation } = this.#request
    if (operation.need.kind !== 'height') return null
    const { shard } = operation.need
    const known = this.#network.selector.highestKnown(shard)
    const seen = this.#callerHeights.get(caller, network, shard, 'latest')
    return known === null || seen === null ? (known ?? seen) : Math.max(known, seen)
  }

  /** Whether the answer shows a lower block than the caller has seen; if not, it counts as seen. */
  isBelow(answer: NodeAnswer): boolean {
    const height = answerHeight(this.#request, answer.reply)
    if (height === null) return false
    const { caller, network } = this.#request
    const shard = this.#shard
    const { heights } = answer.upstream
    const before = heights.of(shard)
    if (height.tag === 'latest') {
      if (height.isHead) heights.set(shard, height.height, this.#clock.now())
      else heights.raise(shard, height.height, this.#clock.now())
    }
    const seen = height.isHead ? this.#callerHeights.get(caller, network, shard, height.tag) : null
    if (seen !== null && height.height < seen) {
      const fell = height.tag === 'latest' && before >= seen
      if (this.lower === null || height.height > this.lower.height.height)
        this.lower = { ...answer, height, seen, fell }
      return true
    }
    if (height.height <= this.#network.selector.ceiling(shard)) {
      this.#callerHeights.raise(caller, network, shard, height.tag, height.height)
    }
    return false
  }

  /**
   * No endpoint is left to try, and the best answer is too low. `more`: try those last seen behind as well; `all`: try every endpoint
   * again, as one may have caught up by now.
   */
  async mayRetry(): Promise<'no' | 'more' | 'all'> {
    const { lower } = this
    if (lower === null || lower.height.tag !== 'latest') return 'no'
    if (this.#behindTried === 'no') {
      this.#behindTried = 'now'
      return 'more'
    }
    this.#behindTried = 'done'
    const { deadlineAt, signal } = this.#request
    const { selector, headProbe } = this.#network
    const shard = this.#shard
    const isKnown = () => (selector.highestKnown(shard) ?? -1) >= lower.seen
    // This endpoint had the block a moment ago: it is a pool of nodes, and another of them may answer.
    if (lower.fell && !this.#isRepeated && !isKnown()) {
      this.#isRepeated = true
      return 'all'
    }
    while (lower.height.height < (this.minHeight ?? 0) && isKnown()) {
      const stepMs = Math.min(WAIT_STEP_MS + this.#waitedMs / 4, 4 * WAIT_STEP_MS)
      const isLong = this.#waitedMs + stepMs > LONGEST_WAIT_MS
      if (isLong || signal.aborted || deadlineAt - this.#clock.monotonic() < stepMs + TOO_SHORT_MS) return 'no'
      await waitFor(this.#clock, stepMs, signal)
      this.#waitedMs += stepMs
      // One of the waiting requests asks, and all of them learn from its answer.
      if (selector.isReachedByHealthy(shard, lower.seen) || headProbe.mayBegin(this.#clock.monotonic())) return 'all'
    }
    return 'no'
  }

  /** The chain went back, or the higher endpoint is gone: the lower answer is passed on, and the caller's height lowered. */
  accept(): NodeAnswer | null {
    const { lower } = this
    if (lower === null) return null
    const { caller, network } = this.#request
    const { tag, height } = lower.height
    if (this.#callerHeights.get(caller, network, this.#shard, tag) === lower.seen) {
      this.#callerHeights.lower(caller, network, this.#shard, tag, height)
    }
    return lower
  }
}

interface HeightGuardDeps {
  readonly clock: Clock
  readonly callerHeights: CallerHeights
}

interface LowerAnswer extends NodeAnswer {
  readonly height: AnswerHeight
  /** What the caller had seen. */
  readonly seen: number
  /** The endpoint itself had been there. */
  readonly fell: boolean
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

/** Blocks reach the other endpoints sooner than this. */
const LONGEST_WAIT_MS = 3000
const WAIT_STEP_MS = 50
