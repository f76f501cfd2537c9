import { isObject, type JsonObject, parseJson } from '../../core/json.ts'
import type { Shard } from '../../core/network.ts'
import type { NetworkStanding } from '../../state/board.ts'
import { BLOCK_NUMBER, quantityOf } from '../caller-heights.ts'
import type { Reply, UpstreamRequest } from '../upstream-request.ts'

/** Whether answers to this request may be cached: not for tags, whose block changes, nor for data of a single node. */
export function isCacheable({ operation: { name, need }, call }: UpstreamRequest): boolean {
  if (call?.isNotification === true) return false
  switch (name) {
    case 'eth_getBlockByNumber':
    case 'block_by_nonce':
      return need.kind === 'height'
    case 'eth_getTransactionByHash':
    case 'block_by_hash':
    case 'eth_chainId':
    case 'net_version':
      return need.kind !== 'endpoint'
    case 'eth_blockNumber':
    case 'web3_clientVersion':
    case 'health.getLiveness':
    case 'health.health':
    case 'health.readiness':
    case 'health.liveness':
    case 'admin.alias':
    case 'network_status':
    case 'network_config':
    case 'alias':
    case 'other':
      return false
  }
}

/** How long an answer is kept. `isStable`: a reorganisation cannot change it. */
export function lifetimeOf(about: CachedSubject, chain: CachedChain, standing: NetworkStanding, depth: number) {
  if (about.kind === 'network') return { height: -1, ttlMs: NETWORK_TTL_MS, isStable: false }
  const { network, heads } = standing
  const { height } = about
  if (height > finalHeight(standing, chain.shard, depth, chain.finalByNode)) {
    const measured = heads.find((head) => head.shard === chain.shard)?.blockTimeMs ?? network.blockTimeMs
    return { height, ttlMs: Math.min(network.blockTimeMs, measured) / 2, isStable: false }
  }
  const isStable = depth > 0 || height <= chain.height - YOUNG_BLOCKS
  return { height, ttlMs: Number.POSITIVE_INFINITY, isStable }
}

/** One shard of one network, as the cache sees it. */
export interface CachedChain {
  readonly network: string
  readonly shard: Shard
  /** Incremented at every sign of a reorganisation, which invalidates the unstable entries of earlier generations. */
  generation: number
  /** The highest height of a stable entry. */
  stableUpTo: number
  /** The highest height that a node has reported as final. */
  finalByNode: number | null
  /** The reference head when it was last read. */
  height: number
  hash: string | null
}

/** The subject of an answer, which determines its lifetime. */
export type CachedSubject = { readonly kind: 'block'; readonly height: number } | { readonly kind: 'network' }

/** On chains with instant finality, younger blocks are unstable and dropped at any sign of a reorganisation. */
export const YOUNG_BLOCKS = 64
/** Some clients request the chain id with nearly every call. */
const NETWORK_TTL_MS = 30_000

/**
 * The highest final height of a chain; -1 if unknown. Without `finalByNode`, a block is final when `depth` blocks
 * follow it (`final_depth`), because the monitor polls only `latest` and does not know Ethereum's `finalized`.
 */
export function finalHeight(
  { heads, forked }: Pick<NetworkStanding, 'heads' | 'forked'>,
  shard: Shard,
  depth: number,
  finalByNode: number | null = null,
): number {
  // The endpoints disagree about which block belongs to the chain.
  if (forked) return -1
  if (depth === 0) return Number.MAX_SAFE_INTEGER
  const head = heads.find((candidate) => candidate.shard === shard)
  if (head === undefined) return -1
  // Keeps one block of margin and ignores claims above the reference head.
  const byNode = finalByNode !== null && finalByNode <= head.height ? finalByNode - 1 : -1
  return Math.max(-1, head.height - depth, byNode)
}

/** The final height in a MultiversX node's network status. */
export function finalNonceIn(body: Buffer): number | null {
  const found = body.indexOf(FINAL_NONCE)
  if (found === -1) return null
  const start = found + FINAL_NONCE.length
  const digits = /^\s{0,4}(\d{1,16})[\s,}]/.exec(body.toString('latin1', start, start + 24))?.[1]
  const nonce = Number(digits)
  return digits !== undefined && Number.isSafeInteger(nonce) ? nonce : null
}

const FINAL_NONCE = Buffer.from('"erd_highest_final_nonce":')

/**
 * The subject of an answer to a cacheable request; `null` if the answer must not be kept, because it has no block yet
 * or does not match the request. Searches the bytes; only REST answers are parsed.
 */
export function readCacheable(request: UpstreamRequest, reply: Reply, chainId: number | null): CachedSubject | null {
  switch (reply.kind) {
    case 'result':
      return readResult(request, reply.result, chainId)
    case 'rest':
      return reply.status === 200 ? readRestBlock(request, reply.body) : null
    case 'error':
    case 'rejected':
      return null
  }
}

function readResult(
  { operation, canonical }: UpstreamRequest,
  result: Buffer,
  chainId: number | null,
): CachedSubject | null {
  if (result.length < 3 || (result[0] !== BRACE && result[0] !== QUOTE)) return null
  const { name, need } = operation
  if (name === 'eth_chainId' || name === 'net_version') {
    const text = result.toString('latin1', 1, result.length - 1)
    return chainId !== null && Number(text || Number.NaN) === chainId ? { kind: 'network' } : null
  }
  const requested = canonical.slice(2, canonical.indexOf('"', 2))
  if (name === 'eth_getBlockByNumber') {
    if (need.kind !== 'height' || !result.includes(`"number":"${requested}"`, 0, 'latin1')) return null
    return { kind: 'block', height: need.height }
  }
  if (!result.includes(`"hash":"${requested}"`, 0, 'latin1')) return null
  const height = quantityOf(result, BLOCK_NUMBER)
  return height === null ? null : { kind: 'block', height }
}

const BRACE = 0x7b
const QUOTE = 0x22

/** Accepts only blocks on the chain, because MultiversX also returns reverted ones. */
function readRestBlock({ operation: { name, need }, canonical }: UpstreamRequest, body: Buffer): CachedSubject | null {
  const block = restBlockIn(body)
  if (block === null || block.status !== 'on-chain' || !Number.isSafeInteger(block.nonce)) return null
  const height = block.nonce as number
  const isRequested =
    name === 'block_by_nonce'
      ? need.kind === 'height' && need.height === height
      : typeof block.hash === 'string' && canonical.includes(`/by-hash/${block.hash.toLowerCase()}`)
  return isRequested ? { kind: 'block', height } : null
}

function restBlockIn(body: Buffer): JsonObject | null {
  const envelope = parseJson(body)
  const data = isObject(envelope) && envelope.code === 'successful' ? envelope.data : null
  return isObject(data) && isObject(data.block) ? data.block : null
}
