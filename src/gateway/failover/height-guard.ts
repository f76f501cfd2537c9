import type { Shard } from '../../core/network.ts'
import { type Operation, shardOf } from '../../core/routing/operation.ts'
import {
  answerHeight,
  type CallerHeights,
  type HeightTag,
  highestOf,
  lowestAllowed,
  missingTag,
  raiseByRepeat,
  readsBlock,
  readsLogs,
} from '../caller-heights.ts'
import { BEHIND_CALLER, type GatewayError } from '../errors.ts'
import { chainOperationOf, type UpstreamRequest } from '../upstream-request.ts'
import { type AttemptDeps, attemptOn, outcomeOf } from './attempt.ts'
import { type NodeAnswer, TOO_SHORT_MS } from './reply.ts'
import type { RepeatedAnswer, StaleAnswers } from './stale-answers.ts'
import type { Upstream } from './upstream.ts'
import type { UpstreamNetwork } from './upstream-registry.ts'

/**
 * Protects the caller of one request from seeing a lower block than before: detects answers that are too low, waits
 * until an endpoint has caught up, or repeats the last answer.
 */
export class HeightGuard {
  readonly #request: UpstreamRequest
  readonly #network: UpstreamNetwork
  readonly #deps: HeightGuardDeps
  readonly #operation: Operation
  readonly #shard: Shard
  /** Set if an answer was lower than allowed. `fell`: its endpoint was higher before. */
  tooLow: { readonly tag: HeightTag; readonly fell: boolean } | null = null
  /** Endpoints last seen behind are tried after all others. */
  includesBehind = false
  /** Number of heads requested from nodes. */
  probes = 0
  #behindTried = false
  #isRetried = false
  #waitedMs: number | null = null
  #probed: Upstream[] = []

  constructor(request: UpstreamRequest, network: UpstreamNetwork, deps: HeightGuardDeps) {
    this.#operation = chainOperationOf(request)
    this.#request = request
    this.#network = network
    this.#deps = deps
    this.#shard = shardOf(this.#operation.need)
  }

  /** The lowest block that may be shown, or that an endpoint needs to have the block or all logs; `null` for any. */
  get lowest(): number | null {
    const { need } = this.#operation
    if (need.kind === 'latest') return this.#seen()
    if (need.kind !== 'height') return null
    const isLogs = readsLogs(this.#request)
    if (!isLogs && !readsBlock(this.#request)) return null
    return need.height <= ((isLogs ? this.highestKnown() : this.#seen()) ?? -1) ? need.height : null
  }

  /** Whether to try only endpoints known to have the height: the answer does not show its own, or all were behind. */
  get requiresHeight(): boolean {
    return (this.#operation.name === 'other' || this.#waitedMs !== null) && this.lowest !== null
  }

  /** The highest block known to exist; `null` unless the request is by height. */
  highestKnown(): number | null {
    const { need } = this.#operation
    if (need.kind !== 'height') return null
    return highestOf(this.#network.selector.highestKnown(need.shard), this.#seen())
  }

  #seen(): number | null {
    return lowestAllowed(this.#deps.callerHeights, this.#request, this.#shard, 'latest')
  }

  /**
   * Whether an endpoint lacks a block that the caller has seen because it is below it. One that is not is believed, but not
   * that there is no newest block.
   */
  isBelow(upstream: Upstream, isNull: boolean): boolean {
    const { lowest } = this
    const { kind } = this.#operation.need
    const isNewest = kind === 'latest' && isNull && readsBlock(this.#request)
    if (lowest === null || (kind !== 'height' && !isNewest)) return false
    const isBelow = isNewest || upstream.heights.of(this.#shard) < lowest
    this.tooLow = isBelow ? { tag: 'latest', fell: false } : null
    return isBelow
  }

  /** Whether the height that the answer shows is allowed and plausible. If it is, it counts as seen. */
  check({ reply, upstream, degraded }: NodeAnswer): CheckedHeight {
    const shown = answerHeight(this.#request, reply)
    if (shown === null) {
      const missing = missingTag(this.#deps.callerHeights, this.#request, this.#shard, reply)
      if (missing !== null) {
        this.tooLow = { tag: missing, fell: false }
        return TOO_LOW
      }
      if (reply.kind !== 'result') return NO_HEIGHT
      return { verdict: 'shown', height: null, stateHeight: this.#sawState(upstream) }
    }
    const { clock, callerHeights, staleAnswers } = this.#deps
    const { caller, network } = this.#request
    const { tag, height, isHead } = shown
    const shard = this.#shard
    const before = upstream.heights.of(shard)
    if (tag === 'latest' && isHead) upstream.heights.set(shard, height, clock.monotonic())
    else if (tag === 'latest') upstream.heights.raise(shard, height, clock.monotonic())
    const lowest = isHead ? lowestAllowed(callerHeights, this.#request, shard, tag) : null
    if (lowest !== null && height < lowest) {
      this.tooLow = { tag, fell: this.tooLow?.fell === true || (tag === 'latest' && before >= lowest) }
      return TOO_LOW
    }
    if (height > this.#network.selector.ceiling(shard)) return isHead ? TOO_HIGH : NO_HEIGHT
    callerHeights.raise(caller, network, shard, tag, height)
    if (!upstream.isOnOtherChain) {
      staleAnswers.keep(this.#request, shard, reply, shown, { endpoint: upstream.name, degraded, ...this.#now() })
    }
    return { verdict: 'shown', height: toldHeight(tag, height) }
  }

  /** State at the newest block is that of the block that its endpoint is known to have, or of a later one. */
  #sawState(upstream: Upstream): number | null {
    const { name, need } = this.#operation
    if (name !== 'other' || need.kind !== 'latest') return null
    const { caller, network } = this.#request
    const height = upstream.heights.of(this.#shard)
    if (height < 0 || height > this.#network.selector.ceiling(this.#shard)) return null
    this.#deps.callerHeights.raise(caller, network, this.#shard, 'latest', height)
    return height
  }

  /**
   * Called when no endpoint is left to try. `more`: also try those last seen behind; `all`: try every endpoint again,
   * because one may have caught up.
   */
  async mayRetry(failed: readonly Upstream[], absences: number): Promise<'no' | 'more' | 'all'> {
    const { lowest } = this
    const isAbsent = this.#operation.need.kind === 'height' && absences > 0
    if (lowest === null || (this.tooLow === null && !this.requiresHeight && !isAbsent)) return 'no'
    // An endpoint that has reached the end of a range and lacks its logs has deleted them.
    if (isAbsent && readsLogs(this.#request)) return 'no'
    this.includesBehind = (this.tooLow !== null || isAbsent) && !this.#behindTried
    if (this.includesBehind) {
      this.#behindTried = true
      return 'more'
    }
    const { selector } = this.#network
    const newest = selector.highestKnown(this.#shard) ?? -1
    // The endpoint had the block a moment ago, so it is a pool of nodes and another node may answer.
    const isPool = isAbsent ? newest <= lowest : this.tooLow?.fell === true && newest < lowest
    if (isPool && !this.#isRetried) {
      this.#isRetried = true
      return 'all'
    }
    if (isAbsent) return 'no'
    if (this.#repeated() !== null) return 'no'
    if (lowest > selector.ceiling(this.#shard)) {
      this.#waitedMs ??= 0
      return 'no'
    }
    return (await this.#wait(failed)) ? 'all' : 'no'
  }

  /** The reply in place of an answer that is too low; `null` if heights did not cause the failure. */
  giveUp(): RepeatedAnswer | GatewayError | null {
    if (this.tooLow === null && this.#waitedMs === null) return null
    const last = this.#repeated()
    if (last === null || this.tooLow === null) return BEHIND_CALLER
    const { tag } = this.tooLow
    raiseByRepeat(this.#deps.callerHeights, this.#request, this.#shard, tag, last.height)
    return { ...last, height: toldHeight(tag, last.height) }
  }

  #repeated(): (RepeatedAnswer & { readonly height: number }) | null {
    if (this.tooLow === null) return null
    const { callerHeights, staleAnswers } = this.#deps
    const { tag } = this.tooLow
    const lowest = lowestAllowed(callerHeights, this.#request, this.#shard, tag) ?? 0
    return staleAnswers.repeat(this.#request, this.#shard, tag, lowest, this.#now())
  }

  #now() {
    return { now: this.#deps.clock.monotonic(), holdsMs: this.#network.stallMs() }
  }

  /** Waits before the next round; one waiting request probes a head. `false` if no endpoint or no time is left. */
  async #wait(failed: readonly Upstream[]): Promise<boolean> {
    const { clock } = this.#deps
    const { deadlineAt, signal } = this.#request
    if (this.#nextToProbe(failed) === null) return false
    if (this.#waitedMs !== null) {
      const stepMs = Math.min(WAIT_STEP_MS + this.#waitedMs / 4, 4 * WAIT_STEP_MS)
      if (deadlineAt - clock.monotonic() < stepMs + TOO_SHORT_MS) return false
      await clock.sleep(stepMs, signal)
      this.#waitedMs += stepMs
    }
    if (signal.aborted) return false
    if (this.#request.call !== null && this.#network.headProbe.mayBegin(clock.monotonic())) {
      if (!(await this.#probe(failed))) return false
    }
    this.#waitedMs ??= 0
    return true
  }

  /** `false` if no endpoint answers. */
  async #probe(failed: readonly Upstream[]): Promise<boolean> {
    const upstream = this.#nextToProbe(failed)
    if (upstream === null) return false
    this.#probed.push(upstream)
    this.probes++
    const probe = { ...this.#request, ...HEAD_REQUEST }
    const leftMs = this.#request.deadlineAt - this.#deps.clock.monotonic()
    const attempted = await attemptOn(this.#deps, upstream, probe, Math.min(PROBE_MS, leftMs))
    this.#deps.onAttempt?.(upstream, HEAD.name, outcomeOf(attempted, 'answer', false, probe))
    if (attempted.reply === null) return this.#probe([...failed, upstream])
    const shown = answerHeight(probe, attempted.reply)
    if (shown !== null) upstream.heights.set(this.#shard, shown.height, this.#deps.clock.monotonic())
    return true
  }

  #nextToProbe(failed: readonly Upstream[]): Upstream | null {
    const { need } = this.#request.operation
    const criteria = { ...PROBE_CRITERIA, need: need.kind === 'endpoint' ? need : HEAD.need, minHeight: this.lowest }
    const next = this.#network.selector.select({ ...criteria, tried: [...failed, ...this.#probed] })
    if (next !== null || this.#probed.length === 0) return next?.upstream ?? null
    this.#probed = []
    return this.#network.selector.select({ ...criteria, tried: failed })?.upstream ?? null
  }
}

/** `too-high`: no chain can be there yet, so the answer is passed on only if no endpoint has a better one. */
interface CheckedHeight {
  readonly verdict: 'shown' | 'too-low' | 'too-high'
  /** The height to tell the caller. */
  readonly height: number | null
  /** The height at which state counts as seen. */
  readonly stateHeight?: number | null
}

export interface HeightGuardDeps extends AttemptDeps {
  readonly callerHeights: CallerHeights
  readonly staleAnswers: StaleAnswers
}

/** No height for the pending block: a caller that sends it back would wait until that block exists. */
function toldHeight(tag: HeightTag, height: number | null): number | null {
  return tag === 'pending' ? null : height
}

const NO_HEIGHT: CheckedHeight = { verdict: 'shown', height: null }
const TOO_LOW: CheckedHeight = { verdict: 'too-low', height: null }
const TOO_HIGH: CheckedHeight = { verdict: 'too-high', height: null }
const HEAD: Operation = {
  name: 'eth_blockNumber',
  need: { kind: 'latest', shard: null },
  isRead: true,
  absenceIsDoubtful: false,
}
const HEAD_CALL = { id: '1', isNotification: false, method: 'eth_blockNumber', params: '[]' }
const HEAD_REQUEST: Pick<UpstreamRequest, 'operation' | 'chainOperation' | 'canonical' | 'to' | 'call'> = {
  operation: HEAD,
  chainOperation: undefined,
  canonical: '[]',
  to: { kind: 'rpc' },
  call: HEAD_CALL,
}
const PROBE_CRITERIA = {
  isRead: true,
  method: HEAD_CALL.method,
  proxiesOnly: false,
  needsImprovement: false,
  includeBehind: true,
  requiresHeight: false,
}
const PROBE_MS = 1000
const WAIT_STEP_MS = 50
