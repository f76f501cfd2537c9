import { type Clock, repeat } from '../../clock.ts'
import type { EndpointKey } from '../../core/endpoint.ts'
import type { UnixMs } from '../../core/time.ts'
import { type Health, isChainIdVerified, isOnOtherChain } from '../../core/verdict/health.ts'
import type { Board } from '../../state/board.ts'
import { createRetryBudget, type RetryBudget } from './retry-budget.ts'
import { Upstream, type UpstreamTarget } from './upstream.ts'
import { createUpstreamSelector, type UpstreamSelector } from './upstream-selector.ts'

/** Holds the upstreams of all networks and updates them from polls. */
export function createUpstreams({ board, clock, onOtherChain }: UpstreamsDeps) {
  let upstreams = new Map<EndpointKey, Upstream>()
  let networks = new Map<string, UpstreamNetwork>()

  const unsubscribe = board.subscribe(({ network, endpoint, verdictChanged }) => {
    const selector = networks.get(network)?.selector
    if (selector === undefined) return
    if (verdictChanged) selector.invalidate()
    if (endpoint === null) return selector.referenceMoved()
    const health = board.entry(network, endpoint)?.health
    const upstream = upstreams.get(`${network}/${endpoint}`)
    if (health !== undefined && upstream !== undefined) learn(upstream, health, selector)
  })

  /** Polls carry wall time, which the monitor corrects when the clock is set. A poll as old as an answer counts as newer. */
  function monotonicOf(at: UnixMs): number {
    return clock.monotonic() - Math.max(0, clock.now() - at - 1)
  }

  function learn(upstream: Upstream, health: Health, selector: UpstreamSelector): void {
    for (const { shard, height, readAt } of health.heads) upstream.heights.setPolled(shard, height, monotonicOf(readAt))
    if (health.latencyMs !== null) upstream.setPolledLatency(health.latencyMs, clock.monotonic())
    // A single poll starts or stops the use of an endpoint, before the verdict changes.
    const isVerified = isChainIdVerified(health)
    const isOnWrongNetwork = health.confirmation.traces.some(({ finding }) => finding.code === 'wrong-network')
    const wasOnOtherChain = upstream.isOnOtherChain
    upstream.isOnOtherChain = isOnOtherChain(health)
    if (upstream.isOnOtherChain && !wasOnOtherChain) onOtherChain?.(upstream)
    if (upstream.isVerified !== isVerified || upstream.isOnWrongNetwork !== isOnWrongNetwork) {
      upstream.isVerified = isVerified
      upstream.isOnWrongNetwork = isOnWrongNetwork
      selector.invalidate()
    }
    const latest = health.confirmation.recent.at(-1)
    const isNewer = health.lastPolledAt !== null && monotonicOf(health.lastPolledAt) >= upstream.breakerOpenedAt
    if (isNewer && health.latencyMs !== null && latest !== undefined && latest.verdict !== 'down') {
      upstream.breaker.close()
    }
  }

  const timer = repeat(clock, TICK_MS, () => {
    const now = clock.now()
    for (const { selector } of networks.values()) selector.tick(now)
  })

  function networkOf(name: string): UpstreamNetwork {
    const selector = createUpstreamSelector({
      network: name,
      board,
      clock,
      upstreamOf: (endpoint) => upstreams.get(`${name}/${endpoint}`),
    })
    const budgets = { failed: createRetryBudget(FAILED), doubtful: createRetryBudget(DOUBTFUL) }
    const stallMs = () => board.network(name)?.standing.network.thresholds.stallMs ?? 0
    return { name, upstreams: [], selector, budgets, stallMs, headProbe: createHeadProbe() }
  }

  return {
    network: (name: string): UpstreamNetwork | undefined => networks.get(name),
    all: (): Iterable<Upstream> => upstreams.values(),

    /** Replaces the set of endpoints. Unchanged endpoints keep their state. */
    retarget(targets: readonly UpstreamTarget[]): void {
      const before = { upstreams, networks }
      upstreams = new Map()
      for (const target of targets) {
        const fresh = new Upstream(target)
        const known = before.upstreams.get(fresh.key)
        upstreams.set(fresh.key, known?.fingerprint === fresh.fingerprint ? known : fresh)
      }
      networks = new Map()
      for (const upstream of upstreams.values()) {
        const { network } = upstream
        const others = networks.get(network)
        if (others !== undefined) {
          others.upstreams.push(upstream)
          continue
        }
        const known = before.networks.get(network)
        known?.selector.invalidate()
        networks.set(network, { ...(known ?? networkOf(network)), upstreams: [upstream] })
      }
      for (const upstream of upstreams.values()) {
        const health = board.entry(upstream.network, upstream.name)?.health
        const selector = networks.get(upstream.network)?.selector
        if (health !== undefined && selector !== undefined) learn(upstream, health, selector)
      }
    },

    close(): void {
      unsubscribe()
      timer.cancel()
    },
  }
}

export interface UpstreamNetwork {
  readonly name: string
  readonly upstreams: Upstream[]
  readonly selector: UpstreamSelector
  /** `thresholds.stall`. */
  readonly stallMs: () => number
  /** Limits how often requests that wait for a higher block probe a node. */
  readonly headProbe: { mayBegin(now: number): boolean }
  /** `failed`: retries after failed attempts; `doubtful`: retries of answers that another endpoint may improve. */
  readonly budgets: { readonly failed: RetryBudget; readonly doubtful: RetryBudget }
}

interface UpstreamsDeps {
  readonly board: Board
  readonly clock: Clock
  /** Called when a poll finds the endpoint on another network or fork. */
  readonly onOtherChain?: (upstream: Upstream) => void
}

function createHeadProbe(): UpstreamNetwork['headProbe'] {
  let beganAt = Number.NEGATIVE_INFINITY
  return {
    mayBegin(now) {
      if (now - beganAt < PROBE_EVERY_MS) return false
      beganAt = now
      return true
    },
  }
}

/** Expired results and maintenance take effect within a second. */
const TICK_MS = 1000
const PROBE_EVERY_MS = 50
/** Allows a fifth more load, which nodes can bear even if they fail together. */
const FAILED = { share: 0.2, floor: 20 }
/** One retry per request, because clients that wait for a transaction poll for it before it exists. */
const DOUBTFUL = { share: 1, floor: 40 }
