import type { Need, Operation } from '../../core/routing/operation.ts'

/**
 * Decides how a method beyond the default list is sent. Only methods that change nothing and depend on no single node
 * are reads, which may be retried. Others (writes, filters, subscriptions, `debug_*`, `trace_*`, unknown) are sent
 * once: a second node would answer `eth_sendRawTransaction` with "already known".
 */
export function extraOperation(method: string, params: string | null): Operation {
  if (FOUND_BY_HASH.has(method)) return READ_BY_HASH
  if (!OTHER_READS.has(method) && !isPlainGet(method)) return SENT_ONCE
  const need = readBlockNeed(method, params)
  const absenceIsDoubtful = BLOCK_PARAMS.get(method) === 0 && need.kind === 'height'
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

/** A height, a tag, or an EIP-1898 object with a height or a hash. */
function readBlock(block: unknown): Need {
  if (block === undefined || block === null || block === 'latest' || block === 'pending') return LATEST
  if (typeof block === 'string') return readHeight(block)
  if (typeof block !== 'object') return ANY
  if ('blockHash' in block) return HASH
  return 'blockNumber' in block && typeof block.blockNumber === 'string' ? readHeight(block.blockNumber) : ANY
}

/** A node that has the newest block of the range has the others too. */
function readFilter(filter: unknown): Need {
  if (typeof filter !== 'object' || filter === null) return ANY
  if ('blockHash' in filter) return HASH
  return readBlock('toBlock' in filter ? filter.toBlock : undefined)
}

function readHeight(text: string): Need {
  const height = /^0x[0-9a-fA-F]{1,14}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(height) ? { kind: 'height', shard: null, height } : ANY
}
