import { isObject } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Head } from '../core/poll-result.ts'
import type { Chain, ChainMemory, ChainTarget, Conversation, Reading } from './chain.ts'
import { malformed } from './json-rpc.ts'
import { get, readData, shardPath } from './multiversx-envelope.ts'
import { multiversxLiveness } from './multiversx-liveness.ts'
import { LATEST_TIME_MS, safeCount } from './parse.ts'

/** MultiversX: REST, one chain per shard, served by a proxy for all shards or by an observer for one shard. */
export const multiversx: Chain = {
  family: 'multiversx',
  liveness: multiversxLiveness,
  consensus: null,
  chainId: null,
  head: shardHead,
  blockHash: shardBlockHash,
}

/** Reads a shard's newest block: its nonce, the block by nonce, and once per new block by hash, which must match. */
function* shardHead(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head> {
  const part = shardPath(target, shard)
  const nonce = readNonce(readData(yield get(`/network/status${part}`)))
  if (!nonce.ok) return nonce
  const newest = yield* blockByNonce(part, nonce.value, shard)
  // The status may be one block ahead of the block store.
  const found = isMissing(newest) && nonce.value > 0 ? yield* blockByNonce(part, nonce.value - 1, shard) : newest
  if (!found.ok || memory.seenHashes?.get(shard) === found.value.hash) return found
  const { height, hash, parentHash } = found.value
  const same = yield* blockByHash(part, hash, height, shard)
  // A pool may send this request to a node that is one block behind the one that had the block by nonce.
  const head = isMissing(same) && height > 0 ? yield* blockByHash(part, parentHash, height - 1, shard) : same
  if (!head.ok) return head
  memory.seenHashes ??= new Map()
  memory.seenHashes.set(shard, head.value.hash)
  return head
}

/** A missing block is reported as an internal issue. */
function isMissing(block: Reading<Head>): boolean {
  return !block.ok && block.failure.kind === 'rpc'
}

function* shardBlockHash(target: ChainTarget, shard: Shard, height: number): Conversation<string | null> {
  const block = yield* blockByNonce(shardPath(target, shard), height, shard)
  if (block.ok) return { ok: true, value: block.value.hash }
  const { failure } = block
  return failure.kind === 'rpc' && failure.code === 'internal_issue' ? { ok: true, value: null } : block
}

function* blockByNonce(part: string, nonce: number, shard: Shard): Conversation<Head> {
  const block = readBlock(readData(yield get(`/block${part}/by-nonce/${nonce}`)), shard)
  if (block.ok && block.value.height !== nonce) return malformed('nonce is not the requested one')
  return block
}

function* blockByHash(part: string, hash: string, height: number, shard: Shard): Conversation<Head> {
  const block = readBlock(readData(yield get(`/block${part}/by-hash/${hash}`)), shard)
  if (block.ok && (block.value.hash !== hash || block.value.height !== height)) {
    return malformed('the block by hash is another block than by nonce')
  }
  return block
}

function readNonce(data: Reading<unknown>): Reading<number> {
  if (!data.ok) return data
  const status = isObject(data.value) ? data.value.status : undefined
  const nonce = isObject(status) ? safeCount(status.erd_nonce) : null
  return nonce === null ? malformed('data.status.erd_nonce is not a height') : { ok: true, value: nonce }
}

function readBlock(data: Reading<unknown>, shard: Shard): Reading<Head> {
  if (!data.ok) return data
  const block = isObject(data.value) ? data.value.block : undefined
  if (!isObject(block)) return malformed('data.block is not a block')
  const height = safeCount(block.nonce)
  if (height === null) return malformed('nonce is not a height')
  const hash = readHash(block.hash)
  if (hash === null) return malformed('hash is not a 32-byte hash')
  // The genesis block has no parent.
  const parentHash = readHash(block.prevBlockHash) ?? (height === 0 ? '' : null)
  if (parentHash === null) return malformed('prevBlockHash is not a 32-byte hash')
  if (shard !== null && typeof block.shard === 'number' && block.shard !== shard) {
    return malformed('the block is of another shard')
  }
  const timestamp = readTime(block.timestampMs, block.timestamp, height)
  if (timestamp === null || timestamp > LATEST_TIME_MS) return malformed('timestamp is not a time')
  return { ok: true, value: { height, hash, parentHash, timestamp } }
}

const HASH = /^[0-9a-fA-F]{64}$/

function readHash(value: unknown): string | null {
  return typeof value === 'string' && HASH.test(value) ? value.toLowerCase() : null
}

/** Unix milliseconds, from `timestampMs` (since 2025) or from the older `timestamp` in seconds. */
function readTime(milliseconds: unknown, seconds: unknown, height: number): number | null {
  const fine = safeCount(milliseconds)
  if (fine !== null && fine > 0) return fine
  // `timestamp` is omitted when 0, as in the genesis block of a test network.
  if (seconds === undefined && height === 0) return 0
  const coarse = safeCount(seconds)
  return coarse === null ? null : coarse * 1000
}
