import { isObject, parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Head, Liveness, NodeCheck, NodeClient, SyncReport } from '../core/poll-result.ts'
import { beaconConsensus } from './beacon.ts'
import type {
  Chain,
  ChainIdTimes,
  ChainMemory,
  ChainTarget,
  Conversation,
  Inquiry,
  NodeAnswer,
  Reading,
} from './chain.ts'
import {
  type Call,
  createCall,
  fail,
  isRefusal,
  malformed,
  readResult,
  readResultOrError,
  statusFailure,
} from './json-rpc.ts'
import { LATEST_TIME_MS, readClient, readHash, readQuantity, safeCount } from './parse.ts'
import {
  ASK_AGAIN_MS,
  ask,
  askClient,
  endingFailure,
  failedAs,
  markUnhealthy,
  type Question,
  valueOf,
} from './questions.ts'
import { resultText } from './recent-blocks.ts'

/** Any EVM node: JSON-RPC at `rpcPath`. */
export const ethereum: Chain = {
  family: 'ethereum',
  liveness: evmLiveness,
  consensus: beaconConsensus,
  chainId: evmChainId,
  head: evmHead,
  blockHash: evmBlockHash,
}

/** Asks an EVM node whether it is syncing and how many peers it has, and once an hour which client it runs. */
function* evmLiveness({ rpcPath }: ChainTarget, _shard: Shard, memory: ChainMemory, now: number): Inquiry<Liveness> {
  const checks: NodeCheck[] = []
  const questionnaire = { memory, now, checks }
  const sync = yield* ask(ofMethod('eth_syncing', readSync, rpcPath, memory), questionnaire)
  const ending = endingFailure(sync, 'first')
  if (ending !== null) return fail(ending)
  const isSyncing = sync.kind === 'told' && sync.value.isSyncing
  if (isSyncing) markUnhealthy(checks)
  const peers = yield* ask(ofMethod('net_peerCount', readPeers, rpcPath, memory), questionnaire)
  const failure = endingFailure(peers, 'later')
  if (failure !== null && !isSyncing) return fail(failure)
  // Bad news outweighs a rate limit, which says nothing about the node.
  if (failure !== null) checks.pop()
  const client =
    failure === null
      ? yield* askClient(
          ofMethod('web3_clientVersion', (result) => readVersion(result, memory), rpcPath, memory),
          questionnaire,
        )
      : (memory.client?.value ?? null)
  return {
    ok: true,
    value: {
      healthy: checks.every(({ healthy }) => healthy),
      // A copy has no room for more; that of an array that has grown takes more memory than the checks.
      checks: [...checks],
      heartbeatAt: null,
      report: {
        sync: valueOf(sync),
        peers: valueOf(peers),
        client,
        consensus: null,
        ...failedAs('syncFailed', sync),
        ...failedAs('peersFailed', peers),
      },
    },
  }
}

function ofMethod<T>(
  method: string,
  readValue: (result: unknown) => Reading<T>,
  rpcPath: string,
  memory: ChainMemory,
): Question<T> {
  return {
    name: method,
    ask() {
      const call = createCall(rpcPath, method, [], memory)
      return {
        request: call.request,
        read(answer) {
          const result = readResultOrError(answer, call)
          return result.ok ? readValue(result.value) : result
        },
      }
    },
  }
}

/** `false`, `true`, or an object: a client that sends one is syncing, and Arbitrum Nitro's has no heights. */
function readSync(result: unknown): Reading<SyncReport> {
  if (typeof result === 'boolean') return { ok: true, value: { isSyncing: result, remainingBlocks: null } }
  if (!isObject(result)) return malformed('eth_syncing is neither true, false nor a progress')
  const current = readNumber(result.currentBlock)
  const highest = readNumber(result.highestBlock)
  const isKnown = current !== null && highest !== null && highest > current
  // geth reports that it is syncing also while it only indexes transactions or old states of blocks that it has.
  const isIndexing =
    highest !== null && highest > 0 && current === highest && INDEXES.some((name) => isAbove0(result[name]))
  return { ok: true, value: { isSyncing: !isIndexing, remainingBlocks: isKnown ? highest - current : null } }
}

/** Members of geth since v1.13.5, v1.16 and v1.16.8. */
const INDEXES = ['txIndexRemainingBlocks', 'stateIndexRemaining', 'trienodeIndexRemaining'] as const

function isAbove0(value: unknown): boolean {
  return (readNumber(value) ?? 0) > 0
}

function readPeers(result: unknown): Reading<number> {
  const peers = readNumber(result)
  return peers === null ? malformed('net_peerCount is not a quantity') : { ok: true, value: peers }
}

/** A quantity, or the plain number that some servers send instead. */
function readNumber(value: unknown): number | null {
  return readQuantity(value) ?? safeCount(value)
}

function readVersion(result: unknown, memory: ChainMemory): Reading<NodeClient> {
  return typeof result === 'string' && result !== ''
    ? { ok: true, value: readClient(result, memory) }
    : malformed('web3_clientVersion is not a text')
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
  const { rpcPath, chainId } = target
  const call = createCall(rpcPath, 'eth_getBlockByNumber', [tag, false], memory)
  const early = chainId !== null && memory.isChainIdLate ? askChainId(rpcPath, memory) : null
  const answer = yield early === null
    ? call.request
    : { ...call.request, alongside: early.map(({ request }) => request) }
  const block = readAnswer(answer, call, memory)
  if (!block.ok || block.value === null) return block
  if (chainId !== null && (early !== null || !isVerified(answer, memory))) {
    const verified = yield* verifyChainId(early ?? askChainId(rpcPath, memory), chainId, memory)
    if (!verified.ok) return verified
  }
  return block
}

/** A balancer that alternates between two chains sends the second of two requests to the other one. */
const REQUESTS_IN_DOUBT = 2

function askChainId(path: string, memory: ChainMemory): readonly Call[] {
  const requests = memory.doubted ? REQUESTS_IN_DOUBT : 1
  return Array.from({ length: requests }, () => createCall(path, 'eth_chainId', [], memory))
}

function* verifyChainId(calls: readonly Call[], expected: number, memory: ChainMemory): Conversation<null> {
  for (const call of calls) {
    // Stays true if the check ends before the answer.
    memory.isChainIdLate = true
    const answer = yield call.request
    memory.isChainIdLate = false
    const result = readResult(answer, call)
    if (!result.ok) return result
    const verified = compareChainId(result.value, expected, memory)
    if (!verified.ok) return verified
    memory.verifiedAt = answer.receivedAt
  }
  memory.doubted = false
  return { ok: true, value: null }
}

function compareChainId(result: unknown, expected: number, memory: ChainMemory): Reading<null> {
  const actual = readQuantity(result)
  if (actual === null) return malformed('eth_chainId is not a quantity')
  if (actual === expected) return { ok: true, value: null }
  memory.doubted = true
  return fail({ kind: 'wrong-network', expected, actual: String(actual) })
}

/**
 * Returns whether the chain id is verified. A node that does not tell it has not failed, because its liveness is all that
 * was asked for; one that told another chain id has, until it tells the right one.
 */
export function* evmChainId(
  { rpcPath, chainId }: ChainTarget,
  memory: ChainMemory,
  now: ChainIdTimes,
): Inquiry<boolean> {
  const { chainIdRefusedAt, verifiedAt } = memory
  const asBefore = { ok: true, value: verifiedAt !== null } as const
  if (chainId === null) return { ok: true, value: false }
  if (isVerified({ receivedAt: now.wall }, memory)) return { ok: true, value: true }
  if (chainIdRefusedAt !== null && now.monotonic - chainIdRefusedAt < ASK_AGAIN_MS) return asBefore
  for (const call of askChainId(rpcPath, memory)) {
    const answer = yield call.request
    const result = answer.ok ? readResultOrError(answer.value, call) : answer
    if (!result.ok && !memory.doubted) {
      if (answer.ok && isRefusal(result.failure)) memory.chainIdRefusedAt = now.monotonic
      return asBefore
    }
    const verified = result.ok ? compareChainId(result.value, chainId, memory) : result
    if (!verified.ok) return verified
    memory.verifiedAt = now.wall
  }
  memory.doubted = false
  return { ok: true, value: true }
}

/** Heads that do not fit their network are verified at once; this finds a node that has not answered otherwise. */
const VERIFIED_FOR_MS = 600_000

function isVerified({ receivedAt }: Pick<NodeAnswer, 'receivedAt'>, { verifiedAt, doubted }: ChainMemory): boolean {
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
