import { type Endpoint, type EndpointKey, endpointKey } from '../../core/endpoint.ts'
import type { Shard } from '../../core/network.ts'
import type { UnixMs } from '../../core/time.ts'
import { createAddress, type NodeAddress, type NodeLocation } from '../../nodes/address.ts'
import { createRedact, type Redact } from '../../nodes/redact.ts'
import { type CircuitBreaker, createCircuitBreaker } from './circuit-breaker.ts'

/** What must be known of an endpoint to forward to it. All but the endpoint is secret. */
export interface UpstreamTarget extends NodeLocation {
  readonly endpoint: Endpoint
  readonly rpcPath: string
  readonly kind: 'proxy' | 'observer'
}

/** An endpoint in its place among the others. */
export interface RankedUpstream {
  readonly upstream: Upstream
  /** Which group of the well it is in; those of the first are asked first. */
  readonly group: number
  /** Nobody is well: this one is the least bad. */
  readonly degraded: boolean
}

/** How high an endpoint is known to be, by its polls and its answers, whichever is newer. */
interface KnownHeight {
  height: number
  at: UnixMs
}

/** Requests that wait this long with no answer at all coming back: it hangs, as far as anybody can tell. */
const SILENT_AFTER_MS = 1000

/** A latency counts for this long; later the polls' is nearer to the truth. */
const SAMPLE_HOLDS_MS = 30_000

/** Each answer moves the average by a tenth of the way. */
const WEIGHT = 0.1

/** Where the node limits our rate and does not say for how long; doubled each time. */
const FIRST_REST_MS = 1000
const LONGEST_OWN_REST_MS = 60_000
/** Longer than this nobody is left alone, whatever it asks for: providers send the seconds until midnight. */
const LONGEST_REST_MS = 300_000

/** A node's method may come with its next version, or a provider's with the next plan. */
const LACKS_FOR_MS = 600_000
/** Words of a URL, such as the name of a chain, stand in many an error; no provider's key is as short. */
const SHORTEST_KEY = 12
/** Nobody's list of methods is longer by that much than a node's. */
const MOST_LACKED = 128

/** An endpoint as the traffic knows it. Times are on the monotonic clock, but for heights, which polls date as well. */
export class Upstream {
  readonly key: EndpointKey
  readonly name: string
  readonly network: string
  readonly endpoint: Endpoint
  readonly target: UpstreamTarget
  readonly address: NodeAddress
  readonly servesOneShard: boolean
  readonly breaker: CircuitBreaker = createCircuitBreaker()
  inFlight = 0
  /** When its breaker was last opened, on the wall clock: a poll that began later may close it. */
  breakerOpenedAt: UnixMs = Number.NEGATIVE_INFINITY
  /** A poll has read a head of it, and with it verified its chain id where that is configured. */
  isVerified = false
  /** A poll found another network behind it. */
  isOnWrongNetwork = false
  /** What it was last asked, it answered; of one that was not asked yet nothing bad is known. */
  isAnswering = true
  /** Moving average; `null` until there is a poll or an answer. */
  latencyMs: number | null = null
  #sampledAt = Number.NEGATIVE_INFINITY
  /** When it last answered, or began to have something to answer. */
  #progressAt = 0
  #restUntil = Number.NEGATIVE_INFINITY
  #restMs = FIRST_REST_MS
  /** The node has said itself for how long. */
  #restIsTold = false
  readonly #heights = new Map<Shard, KnownHeight>()
  /** Methods that it has not, and until when that is believed; the oldest first. `null`: it has all that it was asked for. */
  #lacked: Map<string, number> | null = null
  /** Made when a node first answers with an error. */
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

  /** All that decides whom we talk to, and how. It holds secrets. */
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

  /** Takes the keys that we send along out of what the node says of them. */
  redact(text: string): string {
    this.#redact ??= createRedact(this.target, SHORTEST_KEY)
    return this.#redact(text)
  }

  /** An observer serves one shard, a proxy all. `null`: it does not matter which. */
  serves(shard: Shard): boolean {
    return shard === null || !this.servesOneShard || this.endpoint.shards.includes(shard)
  }

  begin(now: number): void {
    if (this.inFlight++ === 0) this.#progressAt = now
    this.breaker.begin(now)
  }

  /** `tookMs` is `null` where it tells nothing of the node. */
  end(now: number, tookMs: number | null, answered: boolean): void {
    this.inFlight--
    if (answered) this.#progressAt = now
    if (tookMs === null) return
    this.latencyMs = this.latencyMs === null ? tookMs : this.latencyMs + WEIGHT * (tookMs - this.latencyMs)
    this.#sampledAt = now
  }

  /** Requests lie there, and nothing comes back. */
  isUnresponsive(now: number): boolean {
    return this.inFlight > 0 && now - this.#progressAt > SILENT_AFTER_MS
  }

  /** What a poll took, which says more than answers of long ago. */
  setPolledLatency(latencyMs: number, now: number): void {
    if (this.latencyMs === null || now - this.#sampledAt > SAMPLE_HOLDS_MS) this.latencyMs = latencyMs
  }

  /** The lower, the sooner the next request is answered. The added millisecond keeps two nodes on this machine from racing for noise. */
  cost(): number {
    return ((this.latencyMs ?? 0) + 1) * (this.inFlight + 1)
  }

  limitRate(retryAfterMs: number | null, now: number): void {
    // Those under way when the first was refused are refused as well: that is no reason to wait twice as long.
    if (now < this.#restUntil) return
    const ms = retryAfterMs ?? this.#restMs
    this.#restIsTold = retryAfterMs !== null
    if (retryAfterMs === null) this.#restMs = Math.min(this.#restMs * 2, LONGEST_OWN_REST_MS)
    this.#restUntil = now + Math.min(ms, LONGEST_REST_MS)
  }

  /** It answered something, so it does not limit us any more. */
  clearRateLimit(): void {
    this.#restMs = FIRST_REST_MS
  }

  /** How long it still wants to be left alone; 0 where it does not. */
  rateLimitedForMs(now: number): number {
    return Math.max(0, this.#restUntil - now)
  }

  /** It says that it has no such method. */
  markUnsupported(method: string, now: number): void {
    this.#lacked ??= new Map()
    this.#lacked.delete(method)
    this.#lacked.set(method, now + LACKS_FOR_MS)
    if (this.#lacked.size <= MOST_LACKED) return
    for (const oldest of this.#lacked.keys()) {
      this.#lacked.delete(oldest)
      return
    }
  }

  isUnsupported(method: string, now: number): boolean {
    if (this.#lacked === null) return false
    const until = this.#lacked.get(method)
    return until !== undefined && now < until
  }

  /** It rests for a time that is only our guess, and nobody is trying whether it still has to. */
  mayTestRateLimit(now: number): boolean {
    return this.rateLimitedForMs(now) === 0 || (!this.#restIsTold && this.inFlight === 0)
  }

  /** It answered so: its latest block, be it lower than what was known. */
  setHeight(shard: Shard, height: number, at: UnixMs): void {
    const known = this.#heights.get(shard)
    if (known === undefined) this.#heights.set(shard, { height, at })
    else {
      known.height = height
      known.at = at
    }
  }

  /** It has this block, and so stands there or higher. */
  raiseHeight(shard: Shard, height: number, at: UnixMs): void {
    const known = this.#heights.get(shard)
    if (known === undefined || height > known.height) this.setHeight(shard, height, at)
  }

  /** A poll that began at `readAt` found it there. */
  setPolledHeight(shard: Shard, height: number, readAt: UnixMs): void {
    const known = this.#heights.get(shard)
    if (known === undefined || readAt >= known.at || height > known.height) this.setHeight(shard, height, readAt)
  }

  /** -1 where nothing is known. */
  height(shard: Shard): number {
    return this.#heights.get(shard)?.height ?? -1
  }

  /** Where it will be by now, at the chain's pace. */
  expectedHeight(shard: Shard, now: UnixMs, blockTimeMs: number): number {
    const known = this.#heights.get(shard)
    if (known === undefined) return -1
    return known.height + Math.max(0, now - known.at) / blockTimeMs
  }
}
