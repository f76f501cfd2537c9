import { LRUCache } from 'lru-cache'
import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import { shardOf } from '../../core/routing/operation.ts'
import { isOnOtherChain } from '../../core/verdict/health.ts'
import type { ChainEvent } from '../../core/verdict/network-view.ts'
import type { Board } from '../../state/board.ts'
import type { CallerHeights } from '../caller-heights.ts'
import type { NodeReply, Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { type CachedChain, finalNonceIn, isCacheable, lifetimeOf, readCacheable, YOUNG_BLOCKS } from './cache-policy.ts'

/**
 * Answers requests from memory if the answer is final or changes rarely. Stores node responses byte for byte, but no
 * errors, no `null`, nothing from an unhealthy endpoint and nothing from before a reorganisation.
 */
export function createCache({ next, board, clock, callerHeights }: CacheDeps): Cache {
  const entries = new Entries()
  let finalDepths: ReadonlyMap<string, number> = new Map()
  let chains = new Map<string, CachedChain>()
  /** Endpoints that polls found on another network or fork. */
  const distrusted = new Set<string>()
  const unsubscribe = board.subscribe(({ network, endpoint }) => {
    if (endpoint === null) return compareReferences(network)
    const health = board.entry(network, endpoint)?.health
    const key = `${network}/${endpoint}`
    if (health === undefined || !isOnOtherChain(health)) distrusted.delete(key)
    else if (!distrusted.has(key)) {
      distrusted.add(key)
      dropEndpoint(network, endpoint)
    }
  })

  function chainOf(network: string, shard: Shard): CachedChain {
    const key = chainKey(network, shard)
    const known = chains.get(key)
    if (known !== undefined) return known
    const head = board.network(network)?.standing.heads.find((candidate) => candidate.shard === shard)
    const { height = -1, hash = null } = head ?? {}
    const chain: CachedChain = { network, shard, generation: 0, stableUpTo: -1, finalByNode: null, height, hash }
    chains.set(key, chain)
    return chain
  }

  const depthOf = (network: string) => finalDepths.get(network) ?? Number.POSITIVE_INFINITY

  /** Detects a reorganisation of the whole network: its reference head falls, or the hash of that head changes. */
  function compareReferences(name: string): void {
    for (const { shard, height, hash } of board.network(name)?.standing.heads ?? []) {
      const chain = chains.get(chainKey(name, shard))
      if (chain === undefined) continue
      const fallen = chain.height - height
      const changed = fallen === 0 && hash !== null && chain.hash !== null && hash !== chain.hash
      chain.height = height
      chain.hash = fallen === 0 ? (hash ?? chain.hash) : hash
      // A fall deeper than any reorganisation means another chain, so everything is dropped.
      if (fallen > 0) dropFrom(chain, fallen >= depthOf(name) ? 0 : height + 1)
      else if (changed) dropFrom(chain, height)
    }
  }

  /** Drops all entries about blocks at this height or above. */
  function dropFrom(chain: CachedChain, height: number): void {
    chain.generation++
    chain.finalByNode = null
    if (height > chain.stableUpTo) return
    entries.dropWhere((entry) => entry.chain === chain && entry.height >= height)
    chain.stableUpTo = height - 1
  }

  /** Answers of this endpoint, including those in flight, may be from another chain, so none of them is kept. */
  function dropEndpoint(network: string, endpoint: string): void {
    for (const chain of chains.values()) if (chain.network === network) chain.generation++
    entries.dropWhere((entry) => entry.chain.network === network && entry.endpoint === endpoint)
  }

  function keep(key: string, request: UpstreamRequest, reply: Reply, chain: CachedChain): void {
    if (reply.degraded || (reply.kind !== 'result' && reply.kind !== 'rest')) return
    const bytes = reply.kind === 'result' ? reply.result : reply.body
    if (bytes.length > MAX_ENTRY_BYTES || distrusted.has(`${request.network}/${reply.endpoint}`)) return
    const standing = board.network(request.network)?.standing
    if (standing === undefined) return
    const about = readCacheable(request, reply, standing.network.chainId)
    if (about === null) return
    const { height, ttlMs, isStable } = lifetimeOf(about, chain, standing, depthOf(chain.network))
    if (isStable) chain.stableUpTo = Math.max(chain.stableUpTo, height)
    const own = ownBytes(bytes)
    const entry: Entry = {
      reply: reply.kind === 'result' ? { kind: 'result', result: own } : { ...reply, body: own },
      endpoint: reply.endpoint,
      chain,
      height,
      expiresAt: clock.monotonic() + ttlMs,
      generation: isStable ? STABLE : chain.generation,
    }
    entries.set(key, entry, own.length)
  }

  async function handleMiss(key: string, request: UpstreamRequest): Promise<Reply> {
    const chain = chainOf(request.network, shardOf(request.operation.need))
    const { generation } = chain
    const reply = await next.handle(request)
    // The request that began first keeps a shared answer, unless it may be of an earlier generation.
    if (reply.isShared !== true && chain.generation === generation) keep(key, request, reply, chain)
    return missed(reply)
  }

  /** MultiversX nodes report the final height in their network status. */
  async function handleStatus(request: UpstreamRequest): Promise<Reply> {
    const chain = chainOf(request.network, shardOf(request.operation.need))
    const { generation } = chain
    const reply = await next.handle(request)
    if (reply.kind !== 'rest' || reply.status !== 200 || reply.degraded) return reply
    if (reply.isShared === true || chain.generation !== generation) return reply
    const final = finalNonceIn(reply.body)
    // A height above the reference head is only a single node's claim.
    if (final !== null && final <= chain.height) chain.finalByNode = Math.max(chain.finalByNode ?? -1, final)
    return reply
  }

  return {
    handle(request) {
      const { network, operation, canonical, caller } = request
      if (!entries.isEnabled) return next.handle(request)
      if (operation.name === 'network_status' && operation.need.kind !== 'endpoint') return handleStatus(request)
      if (!isCacheable(request)) return next.handle(request)
      const key = `${network} ${operation.name} ${canonical}`
      const entry = entries.find(key, clock.monotonic())
      if (entry === null) return handleMiss(key, request)
      const { chain, height, endpoint } = entry
      // A height too far ahead is a false claim. It does not count as seen, and callers must not send it back.
      const shown = height >= 0 && height <= chain.height + YOUNG_BLOCKS ? height : null
      if (shown !== null) callerHeights.raise(caller, network, chain.shard, 'latest', shown)
      return Promise.resolve(hit(entry.reply, endpoint, shown))
    },

    configure(settings) {
      // Answers in flight were requested under the previous configuration.
      for (const chain of chains.values()) chain.generation++
      chains = new Map()
      finalDepths = settings.finalDepths
      entries.reset(settings.maxBytes)
    },

    chainMoved(network, event) {
      const chain = chains.get(chainKey(network, event.shard))
      if (chain === undefined) return
      switch (event.kind) {
        case 'reorged':
          dropFrom(chain, event.height)
          return
        case 'regressed':
          // One regressed endpoint says little about old blocks. If all regress, the reference head falls.
          chain.generation++
          chain.finalByNode = null
          return
      }
    },

    get bytes() {
      return entries.bytes
    },

    stop: unsubscribe,
  }
}

export interface Cache extends UpstreamHandler {
  /** Empties the cache; called before the first request and after every reload. */
  configure(settings: CacheSettings): void
  /** The monitor saw an endpoint's chain regress or reorganise. */
  chainMoved(network: string, event: ChainEvent): void
  /** Size of all entries as counted against `maxBytes`. */
  readonly bytes: number
  stop(): void
}

export interface CacheSettings {
  /** 0 disables the cache. */
  readonly maxBytes: number
  /** Blocks that must follow a block to make it final, by network. Without an entry, no block is final. */
  readonly finalDepths: ReadonlyMap<string, number>
}

export interface CacheDeps {
  readonly next: UpstreamHandler
  readonly board: Pick<Board, 'network' | 'entry' | 'subscribe'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly callerHeights: Pick<CallerHeights, 'raise'>
}

interface Entry {
  readonly reply: NodeReply
  readonly endpoint: string | null
  readonly chain: CachedChain
  readonly height: number
  /** On the monotonic clock. */
  readonly expiresAt: number
  /** The chain generation in which the entry is valid; `STABLE` for all. */
  readonly generation: number
}

const STABLE = -1
const FROM_CACHE = { attempts: 0, cache: 'hit', degraded: false, nodeMs: 0, nodeId: null } as const

/** Member by member, like `missed`: a spread takes 8 µs, over 5 % of a cached request. */
function hit(reply: NodeReply, endpoint: string | null, height: number | null): Reply {
  if (reply.kind !== 'result') return { ...reply, ...FROM_CACHE, endpoint, height }
  const { result } = reply
  return {
    kind: 'result',
    result,
    attempts: 0,
    cache: 'hit',
    degraded: false,
    nodeMs: 0,
    nodeId: null,
    endpoint,
    height,
  }
}

function missed(reply: Reply): Reply {
  if (reply.kind !== 'result') return { ...reply, cache: 'miss' }
  const { kind, result, endpoint, attempts, degraded, nodeMs, nodeId = null, height = null } = reply
  if (typeof reply.staleMs === 'number') return { ...reply, cache: 'miss' }
  return { kind, result, endpoint, attempts, cache: 'miss', degraded, nodeMs, nodeId, height }
}

class Entries {
  #byKey: LRUCache<string, Entry> | null = null

  reset(maxBytes: number): void {
    this.#byKey = maxBytes === 0 ? null : new LRUCache({ maxSize: maxBytes })
  }

  get isEnabled(): boolean {
    return this.#byKey !== null
  }

  get bytes(): number {
    return this.#byKey?.calculatedSize ?? 0
  }

  find(key: string, now: number): Entry | null {
    const entry = this.#byKey?.get(key)
    if (entry === undefined) return null
    const isValid = entry.generation === STABLE || entry.generation === entry.chain.generation
    if (isValid && entry.expiresAt > now) return entry
    this.#byKey?.delete(key)
    return null
  }

  set(key: string, entry: Entry, bytes: number): void {
    this.#byKey?.set(key, entry, { size: ENTRY_BYTES + key.length + bytes })
  }

  dropWhere(isDropped: (entry: Entry) => boolean): void {
    for (const [key, entry] of this.#byKey?.entries() ?? []) if (isDropped(entry)) this.#byKey?.delete(key)
  }
}

function chainKey(network: string, shard: Shard): string {
  return shard === null ? network : `${network} ${shard}`
}

/** Copies a short slice of a much larger buffer, because the slice would keep the whole buffer in memory. */
function ownBytes(bytes: Buffer): Buffer {
  if (bytes.buffer.byteLength <= SLICE_SHARE * bytes.length) return bytes
  const own = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(own)
  return own
}

const SLICE_SHARE = 1.25
/** Larger answers are seldom requested twice and would displace a thousand others. */
const MAX_ENTRY_BYTES = 1024 * 1024
/** Measured size of an entry's objects, besides its key and its bytes. */
const ENTRY_BYTES = 500
