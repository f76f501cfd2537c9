import { isObject } from '../core/json.ts'
import type { Family, Shard } from '../core/network.ts'
import type { ChainMemory, Conversation } from './chain.ts'
import { createCall, malformed, readResult } from './json-rpc.ts'
import { get, readData } from './multiversx-envelope.ts'
import { readQuantity, safeCount } from './parse.ts'

/** The families that a URL may belong to, in the order in which they are tried. */
export function candidatesOf(url: URL, family: Family | null): readonly Candidate[] {
  const [, base, rpcPath = AVALANCHE_RPC_PATH] = /^(.*)(\/ext\/bc\/[^/]+\/rpc)\/?$/.exec(url.pathname) ?? []
  const avalancheUrl = new URL(url)
  if (base !== undefined) avalancheUrl.pathname = base
  const avalanche = (memory: ChainMemory) => identifyEvm('avalanche', rpcPath, memory)
  const all: readonly Candidate[] = [
    { family: 'ethereum', url, identify: (memory) => identifyEvm('ethereum', '/', memory) },
    { family: 'avalanche', url: avalancheUrl, identify: avalanche },
    { family: 'multiversx', url, identify: identifyMultiversx },
  ]
  const wanted = family ?? (base === undefined ? null : 'avalanche')
  return all.filter((candidate) => wanted === null || candidate.family === wanted)
}

export interface Candidate {
  readonly family: Family
  /** Base URL of the endpoint if it is of this family. */
  readonly url: URL
  readonly identify: (memory: ChainMemory) => Conversation<Identity>
}

/** The chain that a node serves, and the settings that its endpoint needs. */
export interface Identity {
  readonly family: Family
  /** `1` or `43114` on an EVM chain; `1`, `D` or `T` on MultiversX. */
  readonly chain: string
  /** Measured over the last blocks; `null` if there are too few. */
  readonly blockTimeMs: number | null
  readonly rpcPath: string | null
  /** The shard of a MultiversX observer; `null` for any other node. */
  readonly shard: Shard
  /** Shards of a MultiversX network, without the metachain; `null` if the node does not say, or on any other chain. */
  readonly shardCount: number | null
}

const AVALANCHE_RPC_PATH = '/ext/bc/C/rpc'

/** The block time is measured over this many blocks, or over as many as there are. */
const MEASURED_BLOCKS = 256
const FEWEST_BLOCKS = 16
/** Each shard is one more request per poll. Mainnet has three; a node that claims more than this is not believed. */
const MOST_SHARDS = 16

function* identifyEvm(family: Family, rpcPath: string, memory: ChainMemory): Conversation<Identity> {
  const call = createCall(rpcPath, 'eth_chainId', [], memory)
  const result = readResult(yield call.request, call)
  if (!result.ok) return result
  const chainId = readQuantity(result.value)
  if (chainId === null) return malformed('eth_chainId is not a quantity')
  const newest = yield* readBlockTime(rpcPath, 'latest', memory)
  if (!newest.ok) return newest
  const blocks = Math.min(MEASURED_BLOCKS, newest.value.height)
  const tag = `0x${(newest.value.height - blocks).toString(16)}`
  const older = blocks < FEWEST_BLOCKS ? null : yield* readBlockTime(rpcPath, tag, memory)
  const blockTimeMs = older?.ok ? roundBlockTime((newest.value.atMs - older.value.atMs) / blocks) : null
  return { ok: true, value: { family, chain: String(chainId), blockTimeMs, rpcPath, shard: null, shardCount: null } }
}

function* readBlockTime(
  rpcPath: string,
  tag: string,
  memory: ChainMemory,
): Conversation<{ readonly height: number; readonly atMs: number }> {
  const call = createCall(rpcPath, 'eth_getBlockByNumber', [tag, false], memory)
  const result = readResult(yield call.request, call)
  if (!result.ok) return result
  const block = isObject(result.value) ? result.value : {}
  const height = readQuantity(block.number)
  const seconds = readQuantity(block.timestamp)
  if (height === null || seconds === null) return malformed('result is not a block')
  return { ok: true, value: { height, atMs: seconds * 1000 } }
}

function* identifyMultiversx(): Conversation<Identity> {
  const data = readData(yield get('/network/config'))
  if (!data.ok) return data
  const config = isObject(data.value) && isObject(data.value.config) ? data.value.config : {}
  const chain = config.erd_chain_id
  if (typeof chain !== 'string' || !/^[\w-]{1,32}$/.test(chain)) return malformed('erd_chain_id is missing')
  // Only an observer has a status of its own; its paths contain no shard.
  const status = readData(yield get('/node/status'))
  const metrics = status.ok && isObject(status.value) && isObject(status.value.metrics) ? status.value.metrics : {}
  const blockTimeMs = safeCount(config.erd_round_duration) || null
  const shard = safeCount(metrics.erd_shard_id)
  const shardCount = readShardCount(config.erd_num_shards_without_meta)
  return { ok: true, value: { family: 'multiversx', chain, blockTimeMs, rpcPath: null, shard, shardCount } }
}

function readShardCount(value: unknown): number | null {
  const count = safeCount(value)
  return count !== null && count >= 1 && count <= MOST_SHARDS ? count : null
}

/** To whole seconds, if that differs by less than 5 %, because a missed slot makes the mean longer; else to 0.05 s. */
function roundBlockTime(ms: number): number | null {
  const seconds = Math.round(ms / 1000)
  if (seconds > 0 && Math.abs(seconds * 1000 - ms) < 0.05 * ms) return seconds * 1000
  return Math.round(ms / 50) * 50 || null
}
