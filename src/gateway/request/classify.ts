import type { Family } from '../../core/network.ts'
import type { Need, Operation } from '../../core/routing/operation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Call, ClassifiedRequest } from '../upstream-request.ts'
import type { ServedNetwork } from './admission.ts'
import { isAllowed } from './allowed-methods.ts'
import type { Caller } from './callers.ts'
import {
  HASH_TEXT,
  healthParams,
  noParams,
  type ReadParams,
  readAlias,
  readBlockByNumber,
  readTransactionByHash,
} from './params.ts'
import type { RouteTarget, Surface } from './route.ts'

/** Classifies a call and checks whether its caller may make it. `adminEnabled`: the gateway allows admin callers. */
export function classifyCall(
  call: Call,
  caller: Caller,
  network: ServedNetwork,
  { kind, surface, endpoint }: RouteTarget,
  adminEnabled: boolean,
): ClassifiedRequest | GatewayError {
  const classified = classify({
    family: network.family,
    surface,
    call,
    extraMethods: caller.methods,
    adminAllowed: adminEnabled && caller.admin,
  })
  if (classified.kind !== 'operation' || endpoint === null) return classified
  if (!network.endpoints.has(endpoint)) return NO_SUCH_ENDPOINT
  const { operation } = classified
  const name = kind === 'alias' ? 'alias' : operation.name
  return {
    ...classified,
    operation: { ...operation, name, need: { kind: 'endpoint', endpoint } },
    chainOperation: surface === 'chain' ? operation : undefined,
  }
}

export interface UnclassifiedRequest {
  readonly family: Family
  /** The surface of the route, or of the alias's target. */
  readonly surface: Surface
  readonly call: Call
  /** The caller's `methods`. */
  readonly extraMethods: readonly string[]
  readonly adminAllowed: boolean
}

/** Rejects methods of another surface as unknown. */
export function classify({
  family,
  surface,
  call,
  extraMethods,
  adminAllowed,
}: UnclassifiedRequest): ClassifiedRequest | GatewayError {
  if (family === 'multiversx' || (family === 'ethereum' && surface !== 'chain')) return UNKNOWN_METHOD
  const readParams = DEFAULT_LIST[surface].get(call.method)
  if (readParams !== undefined) {
    return surface === 'admin' && !adminAllowed ? ADMIN_FORBIDDEN : readParams(call.params)
  }
  // The text includes the method, because many methods share this operation.
  const canonical = `${call.method} ${call.params ?? '[]'}`
  if (surface === 'other-chain' && OTHER_CHAIN_READ.test(call.method)) {
    return { kind: 'operation', operation: OTHER_READ, canonical }
  }
  if (!EXTRA_METHOD[surface].test(call.method) || !isAllowed(call.method, extraMethods)) return UNKNOWN_METHOD
  return { kind: 'operation', operation: extraOperation(call.method, call.params), canonical }
}

const HEALTH_METHODS = ['health.getLiveness', 'health.health', 'health.readiness', 'health.liveness'] as const

const CHAIN_METHODS: ReadonlyMap<string, ReadParams> = new Map([
  ['eth_getBlockByNumber', readBlockByNumber],
  ['eth_getTransactionByHash', readTransactionByHash],
  ['eth_blockNumber', noParams('eth_blockNumber', { kind: 'latest', shard: null })],
  ['eth_chainId', noParams('eth_chainId', { kind: 'any' })],
  ['net_version', noParams('net_version', { kind: 'any' })],
  ['web3_clientVersion', noParams('web3_clientVersion', { kind: 'any' })],
])

/** The methods that every caller may use, by surface. Names are case-sensitive (JSON-RPC 2.0, and every node). */
const DEFAULT_LIST: Readonly<Record<Surface, ReadonlyMap<string, ReadParams>>> = {
  chain: CHAIN_METHODS,
  health: new Map(HEALTH_METHODS.map((name) => [name, healthParams(name)])),
  admin: new Map([['admin.alias', readAlias]]),
  'other-chain': CHAIN_METHODS,
}

/** Reads of the X-Chain, the P-Chain and other virtual machines, such as `avm.getUTXOs`; none needs the node's keystore. */
const OTHER_CHAIN_READ = /^(?!(?:admin|auth|ipcs|keystore|wallet)\.)[a-z][A-Za-z0-9]{0,31}\.get[A-Z][A-Za-z0-9]{0,99}$/

/**
 * Names that a caller's `methods` can add: `namespace_method`, `health.method`, other chains' `namespace.method`. The admin API is excluded because it
 * also reads the node's database and configuration, `rpc.*` because it is reserved (JSON-RPC 2.0, section 4.3).
 */
const EXTRA_METHOD: Readonly<Record<Surface, RegExp>> = {
  chain: /^[A-Za-z][A-Za-z0-9]{0,31}_[A-Za-z0-9_]{1,99}$/,
  health: /^health\.[A-Za-z][A-Za-z0-9]{0,99}$/,
  admin: /^(?!)/,
  'other-chain': /^(?!(?:admin|auth|ipcs|keystore|wallet)[._])[A-Za-z][A-Za-z0-9]{0,31}[._][A-Za-z0-9_]{1,99}$/,
}

const OTHER_READ: Operation = { name: 'other', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false }
// ethers recognises "the method … does not exist".
const UNKNOWN_METHOD = gatewayError('unknown-method', 'the method requested does not exist, or is not allowed')
const ADMIN_FORBIDDEN = gatewayError('forbidden', 'admin.alias is not allowed')
const NO_SUCH_ENDPOINT = gatewayError('bad-params', 'x-heartline-endpoint must name an endpoint of this network')

/**
 * Decides how a method beyond the default list is sent. Only methods that change nothing and depend on no single node
 * are reads, which may be retried. Others (writes, filters, subscriptions, `debug_*`, `trace_*`, unknown) are sent
 * once: a second node would answer `eth_sendRawTransaction` with "already known".
 */
export function extraOperation(method: string, params: string | null): Operation {
  if (FOUND_BY_HASH.has(method)) return READ_BY_HASH
  if (!OTHER_READS.has(method) && !isPlainGet(method)) return SENT_ONCE
  const need = readBlockNeed(method, params)
  const absenceIsDoubtful = BLOCK_PARAMS.get(method) === 0 && (need.kind === 'height' || need.kind === 'hash')
  return { name: 'other', need, isRead: true, absenceIsDoubtful }
}

const ANY: Need = { kind: 'any' }
const LATEST: Need = { kind: 'latest', shard: null }
const HASH: Need = { kind: 'hash', shard: null }
const SENT_ONCE: Operation = { name: 'other', need: ANY, isRead: false, absenceIsDoubtful: false }
/** One node may have the block or transaction before another. */
const READ_BY_HASH: Operation = { name: 'other', need: HASH, isRead: true, absenceIsDoubtful: true }

const FOUND_BY_HASH: ReadonlySet<string> = new Set([
  'eth_getBlockByHash',
  'eth_getBlockTransactionCountByHash',
  'eth_getHeaderByHash',
  'eth_getRawTransactionByBlockHashAndIndex',
  'eth_getRawTransactionByHash',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionReceipt',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleCountByBlockHash',
])

/** Reads whose names do not begin with `eth_get`. The last five are the C-Chain's. */
const OTHER_READS: ReadonlySet<string> = new Set([
  'eth_blobBaseFee',
  'eth_call',
  'eth_config',
  'eth_createAccessList',
  'eth_estimateGas',
  'eth_feeHistory',
  'eth_gasPrice',
  'eth_maxPriorityFeePerGas',
  'eth_protocolVersion',
  'eth_simulateV1',
  'eth_syncing',
  'net_listening',
  'net_peerCount',
  'rpc_modules',
  'web3_sha3',
  'eth_baseFee',
  'eth_callDetailed',
  'eth_chainConfig',
  'eth_suggestPriceOptions',
  'eth_getActiveRulesAt',
])

/** Their state lives on one node, so they are not plain reads. */
const NO_PLAIN_GETS: ReadonlySet<string> = new Set(['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_getWork'])

function isPlainGet(method: string): boolean {
  return method.startsWith('eth_get') && !NO_PLAIN_GETS.has(method)
}

/** Position of the block in the params of each method; if it is missing, nodes take `latest`. */
const BLOCK_PARAMS: ReadonlyMap<string, number | 'filter'> = new Map<string, number | 'filter'>([
  ['eth_getBlockReceipts', 0],
  ['eth_getBlockTransactionCountByNumber', 0],
  ['eth_getHeaderByNumber', 0],
  ['eth_getRawTransactionByBlockNumberAndIndex', 0],
  ['eth_getTransactionByBlockNumberAndIndex', 0],
  ['eth_getUncleByBlockNumberAndIndex', 0],
  ['eth_getUncleCountByBlockNumber', 0],
  ['eth_call', 1],
  ['eth_callDetailed', 1],
  ['eth_createAccessList', 1],
  ['eth_estimateGas', 1],
  ['eth_feeHistory', 1],
  ['eth_getBalance', 1],
  ['eth_getCode', 1],
  ['eth_getTransactionCount', 1],
  ['eth_simulateV1', 1],
  ['eth_getProof', 2],
  ['eth_getStorageAt', 2],
  ['eth_getLogs', 'filter'],
  // These take no block and mean the newest one.
  ['eth_baseFee', 1],
  ['eth_blobBaseFee', 1],
  ['eth_gasPrice', 1],
  ['eth_maxPriorityFeePerGas', 1],
])

/** Longer params carry a contract and nearly always mean `latest`, so they are not parsed. */
const MAX_PARSED_PARAMS = 131_072

/**
 * The block that an endpoint needs to answer a call: `eth_call` of `latest` right after a receipt needs the receipt's
 * block. Invalid params are left to the nodes.
 */
export function readBlockNeed(method: string, params: string | null): Need {
  const position = BLOCK_PARAMS.get(method)
  if (position === undefined) return ANY
  if (params === null || params.length > MAX_PARSED_PARAMS) return LATEST
  const list: unknown = JSON.parse(params)
  if (!Array.isArray(list)) return ANY
  return position === 'filter' ? readFilter(list[0]) : readBlock(list[position])
}

/** A height, a tag, a hash, or an EIP-1898 object with one of them. */
function readBlock(block: unknown): Need {
  if (block === undefined || block === null || block === 'latest' || block === 'pending') return LATEST
  if (typeof block === 'string') return HASH_TEXT.test(block) ? HASH : readHeight(block)
  if (typeof block !== 'object') return ANY
  if ('blockHash' in block && block.blockHash !== null) return HASH
  // Nodes also take a tag here.
  return 'blockNumber' in block && typeof block.blockNumber === 'string' ? readBlock(block.blockNumber) : ANY
}

/** A node that has the newest block of the range has the others too. */
function readFilter(filter: unknown): Need {
  if (typeof filter !== 'object' || filter === null) return ANY
  if ('blockHash' in filter && filter.blockHash !== null) return HASH
  return readBlock('toBlock' in filter ? filter.toBlock : undefined)
}

function readHeight(text: string): Need {
  const height = /^0x[0-9a-fA-F]{1,14}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(height) ? { kind: 'height', shard: null, height } : ANY
}
