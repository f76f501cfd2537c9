import { LRUCache } from 'lru-cache'
import type { Clock } from '../../clock.ts'
import type { Shard } from '../../core/network.ts'
import type { ChainEvent } from '../../core/verdict/network-view.ts'
import type { Board, NetworkStanding } from '../../state/board.ts'
import type { CallerHeights } from '../caller-heights.ts'
import type { Reply, UpstreamHandler, UpstreamRequest } from '../upstream-request.ts'
import { isCacheable, readCacheable } from './cache-policy.ts'
import { type CacheSlab, createCacheSlab, type Slot } from './cache-slab.ts'
import { finalHeight, finalNonceIn } from './finality.ts'

/**
 * Answers that cannot change any more, and for a moment those that hardly will. Kept are a node's own bytes, never an error, never
 * a `null`, nothing of an endpoint that is not well, and nothing of before a reorganisation.
 */
export interface Cache extends UpstreamHandler {
  /** Forgets everything; called before the first question and after every reload. */
  configure(settings: CacheSettings): void
  /** The monitor saw an endpoint's chain go back, or change its blocks. */
  chainMoved(network: string, event: ChainEvent): void
  /** What is kept, as counted against the limit. */
  readonly bytes: number
  stop(): void
}

export interface CacheSettings {
  /** 0 keeps nothing. */
  readonly maxBytes: number
  /** By network: so many blocks on top of one make it final. Where it is not said none ever is. */
  readonly finalDepths: ReadonlyMap<string, number>
}

export interface CacheDeps {
  readonly next: UpstreamHandler
  readonly board: Pick<Board, 'network' | 'subscribe'>
  readonly clock: Pick<Clock, 'monotonic'>
  /** A block from here is one that the caller knows of. */
  readonly callerHeights: Pick<CallerHeights, 'raise'>
}

/** What is larger is seldom asked twice, and would push out a thousand others. */
const MAX_ENTRY_BYTES = 1024 * 1024
/** What an entry takes besides its key and its bytes: objects, list and map places; measured. */
const ENTRY_BYTES = 400
/** An answer about the network itself has been verified; it is asked with nearly every call of some clients. */
const NETWORK_TTL_MS = 30_000
/** Where blocks are final at once, the newest are dropped at the least doubt all the same. */
const YOUNG_BLOCKS = 64
const MOST_CHAINS = 10_000

/** One chain: one shard of one network. */
interface ChainState {
  readonly network: string
  readonly shard: Shard
  /** Every doubt begins a new one: what is young and of an earlier one is not served, and nothing asked in it is kept. */
  generation: number
  /** No entry above it outlives a doubt. */
  oldUpTo: number
  /** The highest height that a node has called final. */
  toldFinal: number | null
  /** The reference head when it was last looked at. */
  height: number
  hash: string | null
}

interface Entry {
  readonly kind: 'result' | 'rest'
  readonly status: number
  readonly slot: Slot
  readonly endpoint: string | null
  readonly chain: ChainState
  readonly height: number
  /** On the monotonic clock. */
  readonly expiresAt: number
  /** `OLD` holds in all of them. */
  readonly generation: number
}

const OLD = -1

export function createCache({ next, board, clock, callerHeights: tips }: CacheDeps): Cache {
  let entries: LRUCache<string, Entry> | null = null
  let memory: CacheSlab = createCacheSlab(0)
  let finalDepths: ReadonlyMap<string, number> = new Map()
  let chains = new Map<string, ChainState>()
  const unsubscribe = board.subscribe(({ network, endpoint }) => {
    if (endpoint === null) compareReferences(network)
  })

  function chainOf(network: string, shard: Shard): ChainState {
    const key = shard === null ? network : `${network} ${shard}`
    const known = chains.get(key)
    if (known !== undefined) return known
    if (chains.size >= MOST_CHAINS) configure({ maxBytes: entries?.maxSize ?? 0, finalDepths })
    const head = board.network(network)?.standing.heads.find((candidate) => candidate.shard === shard)
    const chain: ChainState = {
      network,
      shard,
      generation: 0,
      oldUpTo: -1,
      toldFinal: null,
      height: head?.height ?? -1,
      hash: head?.hash ?? null,
    }
    chains.set(key, chain)
    return chain
  }

  function configure(settings: CacheSettings): void {
    // What is on its way belongs to the configuration that it was asked under.
    for (const chain of chains.values()) chain.generation++
    chains = new Map()
    finalDepths = settings.finalDepths
    const { maxBytes } = settings
    memory = createCacheSlab(maxBytes)
    entries = maxBytes === 0 ? null : new LRUCache({ maxSize: maxBytes, dispose: ({ slot }) => slot.free() })
  }

  function depthOf(network: string): number {
    return finalDepths.get(network) ?? Number.POSITIVE_INFINITY
  }

  /** A reference head that falls, or becomes another block: a reorganisation of everybody. */
  function compareReferences(name: string): void {
    const standing = board.network(name)?.standing
    if (standing === undefined) return
    for (const { shard, height, hash } of standing.heads) {
      const chain = chains.get(shard === null ? name : `${name} ${shard}`)
      if (chain === undefined) continue
      const fallen = chain.height - height
      const changed = fallen === 0 && hash !== null && chain.hash !== null && hash !== chain.hash
      chain.height = height
      chain.hash = fallen === 0 ? (hash ?? chain.hash) : hash
      // Deeper than it ever can: this is another chain, of which nothing is known.
      if (fallen > 0) dropFrom(chain, fallen >= depthOf(name) ? 0 : height + 1)
      else if (changed) dropFrom(chain, height)
    }
  }

  /** All that tells of a block at this height or above. */
  function dropFrom(chain: ChainState, height: number): void {
    chain.generation++
    chain.toldFinal = null
    if (height > chain.oldUpTo || entries === null) return
    for (const [key, entry] of entries.entries()) {
      if (entry.chain === chain && entry.height >= height) entries.delete(key)
    }
    chain.oldUpTo = height - 1
  }

  function find(key: string): Entry | null {
    const entry = entries?.get(key)
    if (entry === undefined) return null
    const isGone =
      (entry.generation !== OLD && entry.generation !== entry.chain.generation) ||
      (entry.expiresAt !== Number.POSITIVE_INFINITY && entry.expiresAt <= clock.monotonic())
    if (!isGone) return entry
    entries?.delete(key)
    return null
  }

  function keep(key: string, question: UpstreamRequest, reply: Reply, chain: ChainState): void {
    if (reply.degraded || (reply.kind !== 'result' && reply.kind !== 'rest')) return
    const bytes = reply.kind === 'result' ? reply.result : reply.body
    if (entries === null || bytes.length > MAX_ENTRY_BYTES) return
    const size = ENTRY_BYTES + key.length + memory.roomFor(bytes.length)
    if (size > entries.maxSize) return
    const standing = board.network(question.network)?.standing
    if (standing === undefined) return
    const keepable = readCacheable(question, reply, standing.network.chainId)
    if (keepable === null) return
    const { height, ttlMs, isOld } = lifeOf(keepable.kind === 'block' ? keepable.height : null, chain, standing)
    const slot = makeRoom(bytes, entries)
    if (slot === null) return
    if (isOld) chain.oldUpTo = Math.max(chain.oldUpTo, height)
    const entry: Entry = {
      kind: reply.kind,
      status: reply.kind === 'rest' ? reply.status : 200,
      slot,
      endpoint: reply.endpoint,
      chain,
      height,
      expiresAt: clock.monotonic() + ttlMs,
      generation: isOld ? OLD : chain.generation,
    }
    entries.set(key, entry, { size })
  }

  /** What was longest not asked for makes room, until it does. */
  function makeRoom(bytes: Buffer, from: LRUCache<string, Entry>): Slot | null {
    let slot = memory.put(bytes)
    while (slot === null && from.pop() !== undefined) slot = memory.put(bytes)
    return slot
  }

  /** How long an answer of this height may be told again; `null` is one about the network. */
  function lifeOf(
    height: number | null,
    { shard, toldFinal, height: reference }: ChainState,
    standing: NetworkStanding,
  ) {
    if (height === null) return { height: -1, ttlMs: NETWORK_TTL_MS, isOld: false }
    const { network, heads } = standing
    const depth = depthOf(network.name)
    if (height > finalHeight(standing, shard, depth, toldFinal)) {
      const measured = heads.find((head) => head.shard === shard)?.blockTimeMs ?? network.blockTimeMs
      return { height, ttlMs: Math.min(network.blockTimeMs, measured) / 2, isOld: false }
    }
    return { height, ttlMs: Number.POSITIVE_INFINITY, isOld: depth > 0 || height <= reference - YOUNG_BLOCKS }
  }

  async function askNext(key: string, question: UpstreamRequest): Promise<Reply> {
    const chain = chainOf(question.network, shardOf(question))
    const { generation } = chain
    const reply = await next.handle(question)
    if (chain.generation === generation) keep(key, question, reply, chain)
    return missed(reply)
  }

  /** Nodes of MultiversX say themselves what is final, to whoever asks for the status. */
  async function askStatus(question: UpstreamRequest): Promise<Reply> {
    const chain = chainOf(question.network, shardOf(question))
    const { generation } = chain
    const reply = await next.handle(question)
    if (reply.kind !== 'rest' || reply.status !== 200 || reply.degraded || chain.generation !== generation) return reply
    const told = finalNonceIn(reply.body)
    // One that nobody has reached yet is a single node's word.
    if (told !== null && told <= chain.height) chain.toldFinal = Math.max(chain.toldFinal ?? -1, told)
    return reply
  }

  return {
    handle(question) {
      if (entries === null) return next.handle(question)
      const { network, operation } = question
      if (operation.name === 'network_status' && operation.need.kind !== 'endpoint') return askStatus(question)
      if (!isCacheable(question)) return next.handle(question)
      const key = `${network} ${operation.name} ${question.canonical}`
      const entry = find(key)
      if (entry === null) return askNext(key, question)
      const { chain, height, endpoint } = entry
      // Not what is so far ahead that it can be no block: one lie must not bind everybody.
      if (entry.generation !== OLD && height >= 0 && height <= chain.height + YOUNG_BLOCKS) {
        tips.raise(question.caller, network, chain.shard, 'latest', height)
      }
      const { kind, status } = entry
      const bytes = entry.slot.copy()
      return Promise.resolve(
        kind === 'result'
          ? { kind, result: bytes, endpoint, attempts: 0, cache: 'hit', degraded: false, nodeMs: 0, nodeId: null }
          : {
              kind,
              status,
              body: bytes,
              endpoint,
              attempts: 0,
              cache: 'hit',
              degraded: false,
              nodeMs: 0,
              nodeId: null,
            },
      )
    },

    configure,

    chainMoved(network, event) {
      const chain = chains.get(event.shard === null ? network : `${network} ${event.shard}`)
      if (chain === undefined) return
      switch (event.kind) {
        case 'reorged':
          dropFrom(chain, event.height)
          return
        case 'regressed':
          // One endpoint that steps back says little of what is old; the reference head tells when all do.
          chain.generation++
          chain.toldFinal = null
          return
      }
    },

    get bytes() {
      return entries?.calculatedSize ?? 0
    },

    stop: unsubscribe,
  }
}

/** Member by member where there is one for every request: what is spread and then added to costs ten times as much to make. */
function missed(reply: Reply): Reply {
  if (reply.kind !== 'result') return { ...reply, cache: 'miss' }
  const { kind, result, endpoint, attempts, degraded, nodeMs, nodeId = null } = reply
  return { kind, result, endpoint, attempts, cache: 'miss', degraded, nodeMs, nodeId }
}

function shardOf({ operation: { need } }: UpstreamRequest): Shard {
  return need.kind === 'any' || need.kind === 'endpoint' ? null : need.shard
}
