import type { Shard } from '../core/network.ts'
import type { Liveness, NodeCheck, NodeClient, SyncReport } from '../core/poll-result.ts'
import type { ChainMemory, ChainTarget, Inquiry, Reading } from './chain.ts'
import { createCall, fail, malformed, readResultOrError } from './json-rpc.ts'
import { isObject, readClient, readQuantity, safeCount } from './parse.ts'
import { ask, askClient, endingFailure, markUnhealthy, type Question, valueOf } from './questions.ts'

/** Asks an EVM node whether it is syncing and how many peers it has, and once an hour which client it runs. */
export function* evmLiveness(
  { rpcPath }: ChainTarget,
  _shard: Shard,
  memory: ChainMemory,
  now: number,
): Inquiry<Liveness> {
  const checks: NodeCheck[] = []
  const questionnaire = { memory, now, checks }
  const sync = yield* ask(ofMethod('eth_syncing', readSync, rpcPath, memory), questionnaire)
  const ending = endingFailure(sync, 'first')
  if (ending !== null) return fail(ending)
  if (sync.kind === 'told' && sync.value.isSyncing) markUnhealthy(checks)
  const peers = yield* ask(ofMethod('net_peerCount', readPeers, rpcPath, memory), questionnaire)
  const failure = endingFailure(peers, 'later')
  if (failure !== null) return fail(failure)
  const client = yield* askClient(ofMethod('web3_clientVersion', readVersion, rpcPath, memory), questionnaire)
  return {
    ok: true,
    value: {
      healthy: checks.every(({ healthy }) => healthy),
      checks,
      heartbeatAt: null,
      report: { sync: valueOf(sync), peers: valueOf(peers), client, consensus: null },
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

/** `false`, `true`, or an object whose members differ from client to client; three of them are in the specification. */
function readSync(result: unknown): Reading<SyncReport> {
  if (typeof result === 'boolean') return { ok: true, value: { isSyncing: result, remainingBlocks: null } }
  if (!isObject(result) || SPECIFIED.every((name) => result[name] === undefined)) {
    return malformed('eth_syncing is neither true, false nor a progress')
  }
  const current = readNumber(result.currentBlock)
  const highest = readNumber(result.highestBlock)
  const isKnown = current !== null && highest !== null && highest > current
  // geth reports that it is syncing also while it only indexes transactions or old states of blocks that it has.
  const isIndexing =
    highest !== null && highest > 0 && current === highest && INDEXES.some((name) => isAbove0(result[name]))
  return { ok: true, value: { isSyncing: !isIndexing, remainingBlocks: isKnown ? highest - current : null } }
}

const SPECIFIED = ['startingBlock', 'currentBlock', 'highestBlock'] as const

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

function readVersion(result: unknown): Reading<NodeClient> {
  return typeof result === 'string' && result !== ''
    ? { ok: true, value: readClient(result) }
    : malformed('web3_clientVersion is not a text')
}
