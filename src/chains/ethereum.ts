import type { Shard } from '../core/network.ts'
import type { Head } from '../core/poll-result.ts'
import { beaconConsensus } from './beacon.ts'
import type { Chain, ChainMemory, ChainTarget, Conversation, NodeAnswer, Reading } from './chain.ts'
import { evmLiveness } from './evm-liveness.ts'
import { type Call, createCall, fail, malformed, readResult, statusFailure } from './json-rpc.ts'
import { isObject, LATEST_TIME_MS, parseJson, readHash, readQuantity } from './parse.ts'
import { resultText } from './recent-blocks.ts'

/** Any EVM node: JSON-RPC at `rpcPath`. */
export const ethereum: Chain = {
  family: 'ethereum',
  liveness: evmLiveness,
  consensus: beaconConsensus,
  head: evmHead,
  blockHash: evmBlockHash,
}

/** Reads the latest block. A head counts only while the endpoint's chain id is verified. */
export function* evmHead(target: ChainTarget, _shard: Shard, memory: ChainMemory): Conversation<Head> {
  const head = yield* askBlock(target, 'latest', memory)
  if (!head.ok) return head
  return head.value === null ? malformed('result is null: the node has no block') : { ok: true, value: head.value }
}

/** Reads the hash of the block at this height. Like a head, it counts only while the chain id is verified. */
export function* evmBlockHash(
  target: ChainTarget,
  _shard: Shard,
  height: number,
  memory: ChainMemory,
): Conversation<string | null> {
  const block = yield* askBlock(target, `0x${height.toString(16)}`, memory)
  if (!block.ok) return block
  if (block.value === null) return { ok: true, value: null }
  return block.value.height === height
    ? { ok: true, value: block.value.hash }
    : malformed('number is not the requested one')
}

/** `null` if the node has no such block. */
function* askBlock(target: ChainTarget, tag: string, memory: ChainMemory): Conversation<Head | null> {
  const call = createCall(target.rpcPath, 'eth_getBlockByNumber', [tag, false], memory)
  const answer = yield call.request
  const block = readAnswer(answer, call, memory)
  if (!block.ok || block.value === null) return block
  if (target.chainId !== null && !isVerified(answer, memory)) {
    const verified = yield* verifyChainId(target.rpcPath, target.chainId, memory)
    if (!verified.ok) return verified
  }
  return block
}

/** A balancer that alternates between two chains sends the second of two requests to the other one. */
const REQUESTS_IN_DOUBT = 2

function* verifyChainId(path: string, expected: number, memory: ChainMemory): Conversation<null> {
  const requests = memory.doubted ? REQUESTS_IN_DOUBT : 1
  for (let sent = 0; sent < requests; sent++) {
    const call = createCall(path, 'eth_chainId', [], memory)
    const answer = yield call.request
    const result = readResult(answer, call)
    if (!result.ok) return result
    const actual = readQuantity(result.value)
    if (actual === null) return malformed('eth_chainId is not a quantity')
    if (actual !== expected) {
      memory.doubted = true
      return fail({ kind: 'wrong-network', expected, actual: String(actual) })
    }
    memory.verifiedAt = answer.receivedAt
  }
  memory.doubted = false
  return { ok: true, value: null }
}

/** Heads that do not fit their network are verified at once; this finds a node that has not answered otherwise. */
const VERIFIED_FOR_MS = 600_000

function isVerified({ receivedAt }: NodeAnswer, { verifiedAt, doubted }: ChainMemory): boolean {
  // `abs`, because a verification must not last longer if the wall clock is set back.
  return !doubted && verifiedAt !== null && Math.abs(receivedAt - verifiedAt) < VERIFIED_FOR_MS
}

/** Returns the cached result for an identical block text; parses the whole response if no block can be cut out. */
function readAnswer(answer: NodeAnswer, call: Call, { recentBlocks }: ChainMemory): Reading<Head | null> {
  const text = statusFailure(answer) === null ? resultText(answer.body, call.id) : null
  const known = text === null ? undefined : recentBlocks.find(text)
  if (known !== undefined) return { ok: true, value: known }
  const block = text === null ? undefined : parseJson(text)
  if (text === null || block === undefined) {
    const result = readResult(answer, call)
    return result.ok ? readBlock(result.value) : result
  }
  const head = readBlock(block)
  if (head.ok && head.value !== null) recentBlocks.keep(text, head.value)
  return head
}

function readBlock(block: unknown): Reading<Head | null> {
  if (block === null) return { ok: true, value: null }
  if (!isObject(block)) return malformed('result is not a block')
  const height = readQuantity(block.number)
  if (height === null) return malformed('number is not a height')
  const hash = readHash(block.hash)
  if (hash === null) return malformed('hash is not a 32-byte hash')
  const parentHash = readHash(block.parentHash)
  if (parentHash === null) return malformed('parentHash is not a 32-byte hash')
  const seconds = readQuantity(block.timestamp)
  if (seconds === null || seconds * 1000 > LATEST_TIME_MS) return malformed('timestamp is not a time')
  return { ok: true, value: { height, hash, parentHash, timestamp: seconds * 1000 } }
}
