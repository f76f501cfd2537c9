import { type Endpoint, type EndpointKey, endpointKey } from '../../core/endpoint.ts'
import type { Shard } from '../../core/network.ts'
import type { UnixMs } from '../../core/time.ts'
import { createAddress, type NodeAddress, type NodeLocation } from '../../nodes/address.ts'
import { createRedact, type Redact, redactJson } from '../../nodes/redact.ts'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'
import { KnownHeights } from './upstream-heights.ts'

/** An endpoint as requests see it: its load, latency, heights, rate limit and circuit breaker. Times are on the monotonic clock. */
export class Upstream {
  readonly key: EndpointKey
  readonly name: string
  readonly network: string
  readonly endpoint: Endpoint
  readonly target: UpstreamTarget
  readonly address: NodeAddress
  /** A MultiversX observer: it serves one shard, and its paths have no shard in them. */
  readonly servesOneShard: boolean
  readonly breaker: CircuitBreaker = createCircuitBreaker()
  readonly heights = new KnownHeights()
  readonly rateLimit = new RateLimit()
  readonly unsupportedMethods = new UnsupportedMethods()
  inFlight = 0
  /** On the wall clock: a poll that began later may close the breaker. */
  breakerOpenedAt: UnixMs = Number.NEGATIVE_INFINITY
  /** A poll has read a head of it, and with it verified its chain id where one is configured. */
  isVerified = false
  /** A poll found another network behind it. */
  isOnWrongNetwork = false
  /** A poll found it on another network or fork. */
  isOnOtherChain = false
  /** Its last request was answered, or there was none yet. */
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

  /** Two upstreams with the same fingerprint reach the same node in the same way. It holds secrets. */
  get fingerprint(): string {
    const { origin, connectionKey } = this.address
    const { rpcPath, kind, endpoint } = this.target
    return JSON.stringify([
      origin,
      connectionKey,
      this.address.pathOf('/x'),
      this.address.headers,
      rpcPath,
      kind,
      endpoint.shards,
    ])
  }

  /** Removes the keys that Heartline sends to this node from a JSON text of the node; `null` if it cannot be shown without them. */
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

  /** `latencyMs` is `null` where the time taken says nothing about the node. */
  end(now: number, latencyMs: number | null, answered: boolean): void {
    this.inFlight--
    if (answered) this.#progressAt = now
    if (latencyMs === null) return
    this.latencyMs = this.latencyMs === null ? latencyMs : this.latencyMs + WEIGHT * (latencyMs - this.latencyMs)
    this.#sampledAt = now
  }

  /** Requests are waiting, and none has been answered for a while. */
  isUnresponsive(now: number): boolean {
    return this.inFlight > 0 && now - this.#progressAt > UNRESPONSIVE_AFTER_MS
  }

  /** Replaces the average only where the last answer is old. */
  setPolledLatency(latencyMs: number, now: number): void {
    if (this.latencyMs === null || now - this.#sampledAt > SAMPLE_HOLDS_MS) this.latencyMs = latencyMs
  }

  /** The lowest is used first. The added millisecond keeps the order of two nodes on this machine from following noise. */
  cost(): number {
    return ((this.latencyMs ?? 0) + 1) * (this.inFlight + 1)
  }
}

/** What must be known of an endpoint to forward to it. All but the endpoint is secret. */
export interface UpstreamTarget extends NodeLocation {
  readonly endpoint: Endpoint
  readonly rpcPath: string
  readonly kind: 'proxy' | 'observer'
}

/** An upstream with its position in the ranking. */
export interface RankedUpstream {
  readonly upstream: Upstream
  /** Group of healthy endpoints; those of the first group are used first. */
  readonly group: number
  /** Used although it is not healthy, because no other endpoint is. */
  readonly degraded: boolean
}

/** The pause that a node asks for when it limits the gateway's rate (429, or an error that says so). */
class RateLimit {
  #until = Number.NEGATIVE_INFINITY
  #nextPauseMs = FIRST_PAUSE_MS
  #isSetByNode = false

  begin(retryAfterMs: number | null, now: number): void {
    // Requests in flight when the first was limited are limited as well: that must not double the pause.
    if (now < this.#until) return
    this.#isSetByNode = retryAfterMs !== null
    this.#until = now + Math.min(retryAfterMs ?? this.#nextPauseMs, LONGEST_PAUSE_MS)
    if (retryAfterMs === null) this.#nextPauseMs = Math.min(this.#nextPauseMs * 2, LONGEST_OWN_PAUSE_MS)
  }

  /** It answered. */
  reset(): void {
    this.#nextPauseMs = FIRST_PAUSE_MS
  }

  /** 0 where there is no pause. */
  remainingMs(now: number): number {
    return Math.max(0, this.#until - now)
  }

  /** Whether one request may test if the limit still holds: only where the length of the pause is our own guess. */
  mayTest(now: number, inFlight: number): boolean {
    return this.remainingMs(now) === 0 || (!this.#isSetByNode && inFlight === 0)
  }
}

/** Methods that a node has said it does not have, for ten minutes each; it, or the provider's plan, may be upgraded. */
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
/** Each answer moves the average by a tenth of the way. */
const WEIGHT = 0.1

const FIRST_PAUSE_MS = 1000
const LONGEST_OWN_PAUSE_MS = 60_000
/** Some providers send the seconds until midnight: that is not honoured. */
const LONGEST_PAUSE_MS = 300_000

const UNSUPPORTED_FOR_MS = 600_000
const MOST_UNSUPPORTED = 128
/** Parts of a URL such as the name of a chain occur in many errors; no provider's key is shorter than this. */
const SHORTEST_KEY = 12
