import { isObject, type JsonObject } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Liveness, NodeCheck, SyncReport } from '../core/poll-result.ts'
import type { ChainMemory, ChainTarget, Inquiry, NodeAnswer, Reading } from './chain.ts'
import { fail, malformed } from './json-rpc.ts'
import { get, readData, shardPath } from './multiversx-envelope.ts'
import { readClient, safeCount } from './parse.ts'
import { ask, endingFailure, failedAs, markUnhealthy, type Question, valueOf } from './questions.ts'

/** Reads an observer's metrics. A proxy tells the status of its shards, and nothing about itself. */
export function* multiversxLiveness(
  target: ChainTarget,
  shard: Shard,
  memory: ChainMemory,
  now: number,
): Inquiry<Liveness> {
  const checks: NodeCheck[] = []
  const question = target.kind === 'observer' ? NODE_STATUS : networkStatus(shardPath(target, shard))
  const answer = yield* ask(question, { memory, now, checks })
  const ending = endingFailure(answer, 'first')
  if (ending !== null) return fail(ending)
  const metrics = valueOf(answer)
  const sync = metrics === null ? null : syncOf(metrics, memory)
  if (sync?.isSyncing === true) markUnhealthy(checks)
  const version = metrics?.erd_app_version
  if (typeof version === 'string') memory.client = { value: readClient(`mx-chain-go/${version}`, memory), askedAt: now }
  return {
    ok: true,
    value: {
      healthy: checks.every(({ healthy }) => healthy),
      checks,
      heartbeatAt: null,
      report: {
        sync,
        peers: metrics === null ? null : safeCount(metrics.erd_num_connected_peers),
        client: memory.client?.value ?? null,
        consensus: null,
        ...failedAs('syncFailed', answer),
        ...failedAs('peersFailed', answer),
      },
    },
  }
}

const NODE_STATUS = ofPath('/node/status', '/node/status', 'metrics')

function networkStatus(part: string): Question<JsonObject> {
  return ofPath('/network/status', `/network/status${part}`, 'status')
}

function ofPath(name: string, path: string, member: 'metrics' | 'status'): Question<JsonObject> {
  return { name, ask: () => ({ request: get(path), read: (answer) => readMember(answer, member) }) }
}

function readMember(answer: NodeAnswer, member: 'metrics' | 'status'): Reading<JsonObject> {
  const data = readData(answer)
  if (!data.ok) return data
  const metrics = isObject(data.value) ? data.value[member] : undefined
  return isObject(metrics) ? { ok: true, value: metrics } : malformed(`data.${member} is not an object`)
}

/**
 * A node says for a whole round that it is syncing if one block is late. MultiversX's proxy counts one that has all but
 * nine blocks as synced (process/baseProcessor.go), and so does this, unless the node says so for ten blocks on end.
 */
const FEWEST_TO_SYNC = 10

/** `null` if the node does not tell. */
function syncOf(metrics: JsonObject, memory: ChainMemory): SyncReport | null {
  const { erd_is_syncing: flag, erd_nonce, erd_probable_highest_nonce } = metrics
  if (flag === 0 || flag === false) {
    memory.syncingFrom = null
    return { isSyncing: false, remainingBlocks: null }
  }
  if (flag !== 1 && flag !== true) return null
  const nonce = safeCount(erd_nonce)
  const highest = safeCount(erd_probable_highest_nonce)
  // Both are 0 while it starts.
  if (nonce === null || highest === null || highest === 0) return { isSyncing: true, remainingBlocks: null }
  memory.syncingFrom ??= highest
  const remaining = highest - nonce
  const isSyncing = Math.max(remaining, highest - memory.syncingFrom) >= FEWEST_TO_SYNC
  return { isSyncing, remainingBlocks: isSyncing && remaining > 0 ? remaining : null }
}
