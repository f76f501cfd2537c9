import { type Endpoint, type EndpointKey, endpointKey } from '../../core/endpoint.ts'
import type { Shard } from '../../core/network.ts'
import { createAddress, type NodeAddress } from '../../nodes/address.ts'
import type { NodeTarget } from '../../nodes/probe.ts'
import { createRedact, type Redact, redactJson } from '../../nodes/redact.ts'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'
import { RateLimitPause } from './rate-limit-pause.ts'
import { KnownHeights } from './upstream-heights.ts'

/** An endpoint's state for routing: load, latency, heights, rate limit and circuit breaker. Times are monotonic. */
export class Upstream {
  readonly key: EndpointKey
  readonly name: string
  readonly network: string
  readonly endpoint: Endpoint
  readonly target: UpstreamTarget
  readonly address: NodeAddress
  /** True for a MultiversX observer, whose paths contain no shard. */
  readonly servesOneShard: boolean
  readonly breaker: CircuitBreaker = createCircuitBreaker()
  readonly heights = new KnownHeights()
  readonly rateLimit = new RateLimitPause()
  readonly unsupportedMethods = new UnsupportedMethods()
  inFlight = 0
  /** A poll that began later may close the breaker. */
  breakerOpenedAt = Number.NEGATIVE_INFINITY
  /** A poll has read a head, and has verified the chain id if one is configured. */
  isVerified = false
  isOnWrongNetwork = false
  /** A poll found it on another network or fork. */
  isOnOtherChain = false
  /** The last request was answered, or there was none yet. */
  isAnswering = true
  /** Moving average; `null` until there is a poll or an answer. */
  latencyMs: number | null = null
  #sampledAt = Number.NEGATIVE_INFINITY
  /** When it last answered, or went from idle to busy. */
  #progressAt = 0
  #redact: Redact | null = null

  constructor(target: UpstreamTarget) {
    this.target = target
    this.endpoint = target.endpoint
    this.key = endpointKey(target.endpoint)
    this.name = target.endpoint.name
    this.network = target.endpoint.network
    this.address = createAddress(target)
    this.servesOneShard = target.kind === 'observer'
  }

  /** Equal for upstreams that reach the same node in the same way. Contains secrets. */
  get fingerprint(): string {
    const { origin, connectionKey } = this.address
    const { rpcPath, kind, endpoint, chainId } = this.target
    return JSON.stringify([
      origin,
      connectionKey,
      this.address.pathOf('/x'),
      this.address.headers,
      rpcPath,
      kind,
      endpoint.shards,
      chainId,
    ])
  }

  /** Removes this node's keys from a JSON text; `null` if the text cannot be shown without them. */
  redactJson(text: string): string | null {
    this.#redact ??= createRedact(this.target, SHORTEST_KEY)
    return redactJson(text, this.#redact)
  }

  /** `null`: any shard. */
  serves(shard: Shard): boolean {
    return shard === null || !this.servesOneShard || this.endpoint.shards.includes(shard)
  }

  begin(now: number): void {
    if (this.inFlight++ === 0) this.#progressAt = now
    this.breaker.begin(now)
  }

  /** `latencyMs` is `null` if the duration says nothing about the node; a reset connection is not an answer. */
  end(now: number, latencyMs: number | null, answered: boolean): void {
    this.inFlight--
    if (answered) this.#progressAt = now
    if (latencyMs === null) return
    this.latencyMs = this.latencyMs === null ? latencyMs : this.latencyMs + WEIGHT * (latencyMs - this.latencyMs)
    this.#sampledAt = now
  }

  hasAnsweredSince(began: number): boolean {
    return this.#progressAt > began
  }

  /** Whether requests are waiting and none was answered for a while. */
  isUnresponsive(now: number): boolean {
    return this.inFlight > 0 && now - this.#progressAt > UNRESPONSIVE_AFTER_MS
  }

  /** Replaces the average only where the last answer is old. */
  setPolledLatency(latencyMs: number, now: number): void {
    if (this.latencyMs === null || now - this.#sampledAt > SAMPLE_HOLDS_MS) this.latencyMs = latencyMs
  }

  /** The lowest cost is used first. The added millisecond suppresses noise between two local nodes. */
  cost(): number {
    return ((this.latencyMs ?? 0) + 1) * (this.inFlight + 1)
  }
}

/** The data needed to forward to an endpoint. Everything except `endpoint` is secret. */
export type UpstreamTarget = Omit<NodeTarget, 'beaconUrl' | 'timeoutMs'>

export interface RankedUpstream {
  readonly upstream: Upstream
  /** Group of healthy endpoints; those of the first group are used first. */
  readonly group: number
  /** The endpoint is unhealthy, and used only because no endpoint is healthy. */
  readonly degraded: boolean
}

/** Methods that a node reported as unsupported, for ten minutes each, because the node or plan may be upgraded. */
class UnsupportedMethods {
  /** The oldest first. */
  #until: Map<string, number> | null = null

  add(method: string, now: number): void {
    this.#until ??= new Map()
    this.#until.delete(method)
    this.#until.set(method, now + UNSUPPORTED_FOR_MS)
    if (this.#until.size <= MOST_UNSUPPORTED) return
    const [oldest] = this.#until.keys()
    if (oldest !== undefined) this.#until.delete(oldest)
  }

  has(method: string, now: number): boolean {
    const until = this.#until?.get(method)
    return until !== undefined && now < until
  }
}

const UNRESPONSIVE_AFTER_MS = 1000
const SAMPLE_HOLDS_MS = 30_000
const WEIGHT = 0.1

const UNSUPPORTED_FOR_MS = 600_000
const MOST_UNSUPPORTED = 128
/** Shorter parts of a URL, such as a chain's name, occur in many errors. No provider's key is shorter. */
const SHORTEST_KEY = 12
