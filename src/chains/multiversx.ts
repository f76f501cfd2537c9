import type { Shard } from '../core/network.ts'
import type { Head } from '../core/poll-result.ts'
import type { Chain, ChainMemory, ChainTarget, Conversation, Reading } from './chain.ts'
import { isObject } from './json.ts'
import { malformed } from './json-rpc.ts'
import { LATEST_TIME_MS, safeCount } from './quantity.ts'
import { readData } from './rest.ts'

/** MultiversX: REST, one chain for each shard, behind a proxy or on an observer of one shard. */
export const multiversx: Chain = {
  family: 'multiversx',
  liveness: null,
  head: shardHead,
  blockHash: shardBlockHash,
}

const HASH = /^[0-9a-fA-F]{64}$/

/** The newest block of one shard: its nonce, the block by nonce, and once for each new block its by-hash form, which must be the same. */
function* shardHead(target: ChainTarget, shard: Shard, memory: ChainMemory): Conversation<Head> {
  const paths = pathsOf(target, shard)
  const nonce = readNonce(readData(yield get(paths.status)))
  if (!nonce.ok) return nonce
  const newest = yield* blockByNonce(paths, nonce.value, shard)
  // The status may run ahead of the block store by one block; "not found" is an internal issue here, like any other.
  const found =
    !newest.ok && newest.failure.kind === 'rpc' && nonce.value > 0
      ? yield* blockByNonce(paths, nonce.value - 1, shard)
      : newest
  if (!found.ok || memory.seenHashes.get(shard) === found.value.hash) return found
  const { hash } = found.value
  const again = readBlock(readData(yield get(paths.byHash(hash))), shard)
  if (!again.ok) return again
  if (again.value.hash !== hash || again.value.height !== found.value.height) {
    return malformed('the block by hash is another block than by nonce')
  }
  memory.seenHashes.set(shard, hash)
  return found
}

function* shardBlockHash(target: ChainTarget, shard: Shard, height: number): Conversation<string | null> {
  const block = yield* blockByNonce(pathsOf(target, shard), height, shard)
  if (block.ok) return { ok: true, value: block.value.hash }
  const { failure } = block
  return failure.kind === 'rpc' && failure.code === 'internal_issue' ? { ok: true, value: null } : block
}

interface Paths {
  readonly status: string
  byNonce(nonce: number): string
  byHash(hash: string): string
}

function pathsOf({ kind }: ChainTarget, shard: Shard): Paths {
  const part = kind === 'proxy' ? `/${shard}` : ''
  return {
    status: `/network/status${part}`,
    byNonce: (nonce) => `/block${part}/by-nonce/${nonce}`,
    byHash: (hash) => `/block${part}/by-hash/${hash}`,
  }
}

function get(path: string) {
  return { method: 'GET', path, body: null } as const
}

function* blockByNonce(paths: Paths, nonce: number, shard: Shard): Conversation<Head> {
  const block = readBlock(readData(yield get(paths.byNonce(nonce))), shard)
  if (block.ok && block.value.height !== nonce) return malformed('nonce is not the one asked for')
  return block
}

function readNonce(data: Reading<unknown>): Reading<number> {
  if (!data.ok) return data
  const status = isObject(data.value) ? data.value.status : undefined
  const nonce = isObject(status) ? safeCount(status.erd_nonce) : null
  return nonce === null ? malformed('data.status.erd_nonce is no height') : { ok: true, value: nonce }
}

function readBlock(data: Reading<unknown>, shard: Shard): Reading<Head> {
  if (!data.ok) return data
  const block = isObject(data.value) ? data.value.block : undefined
  if (!isObject(block)) return malformed('data.block is no block')
  const height = safeCount(block.nonce)
  if (height === null) return malformed('nonce is no height')
  const hash = readHash(block.hash)
  if (hash === null) return malformed('hash is no 32-byte hash')
  // The genesis block has no parent to name.
  const parentHash = readHash(block.prevBlockHash) ?? (height === 0 ? '' : null)
  if (parentHash === null) return malformed('prevBlockHash is no 32-byte hash')
  if (shard !== null && typeof block.shard === 'number' && block.shard !== shard) {
    return malformed('the block is of another shard')
  }
  const timestamp = readTime(block.timestampMs, block.timestamp, height)
  if (timestamp === null || timestamp > LATEST_TIME_MS) return malformed('timestamp is no time')
  return { ok: true, value: { height, hash, parentHash, timestamp } }
}

function readHash(value: unknown): string | null {
  return typeof value === 'string' && HASH.test(value) ? value.toLowerCase() : null
}

/** `timestampMs` since 2025, seconds before and beside it. */
function readTime(milliseconds: unknown, seconds: unknown, height: number): number | null {
  const fine = safeCount(milliseconds)
  if (fine !== null && fine > 0) return fine
  // Left out of the answer when 0, as it is in the genesis block of a test network.
  if (seconds === undefined && height === 0) return 0
  const coarse = safeCount(seconds)
  return coarse === null ? null : coarse * 1000
}
