import type { Need, Operation } from '../../core/routing/operation.ts'
import { isOfOneBlock, readBlockNeed } from './block-param.ts'

/** Methods beyond the default list, which a caller's `methods` allow: whether one is allowed, and how it is treated. */
export function isAllowed(method: string, extraMethods: readonly string[]): boolean {
  return extraMethods.some((allowed) => {
    if (allowed === '*') return !RULING.test(method)
    return allowed.endsWith('*') ? method.startsWith(allowed.slice(0, -1)) : method === allowed
  })
}

/** Who means everything means the chain: what rules a node, or spends what it holds the keys of, must be named. */
const RULING = /^(?:admin|anvil|clique|debug|engine|evm|ganache|hardhat|les|miner|parity|personal)_/

/**
 * A read may be asked of another endpoint when the first fails, and twice when its answer is late. Only methods that are known to
 * leave nothing behind and to need nothing that one node alone has are taken for reads. All others are sent once: what writes
 * (`eth_sendRawTransaction`: the second node would answer "already known", which the caller would take for a failure), filters
 * and subscriptions (they live on the node that made them, and reading one empties it), what keeps a node busy for long (`debug_*`,
 * `trace_*`: sent on, it would keep the next one busy too), and whatever we have never heard of.
 */
export function extraOperation(method: string, params: string | null): Operation {
  if (FOUND_BY_HASH.has(method)) return SOUGHT
  if (!OTHER_READS.has(method) && !isPlainGet(method)) return SENT_ONCE
  const need = readBlockNeed(method, params)
  return { name: 'other', need, isRead: true, absenceIsDoubtful: isOfOneBlock(method) && need.kind === 'height' }
}

const ANY: Need = { kind: 'any' }
const SENT_ONCE: Operation = { name: 'other', need: ANY, isRead: false, absenceIsDoubtful: false }
/** Found on one node before it is on another. */
const SOUGHT: Operation = { name: 'other', need: { kind: 'hash', shard: null }, isRead: true, absenceIsDoubtful: true }

const FOUND_BY_HASH: ReadonlySet<string> = new Set([
  'eth_getBlockByHash',
  'eth_getBlockTransactionCountByHash',
  'eth_getTransactionByBlockHashAndIndex',
  'eth_getTransactionReceipt',
  'eth_getUncleByBlockHashAndIndex',
  'eth_getUncleCountByBlockHash',
])

/** Reads that are not called get. The last five are the C-Chain's. */
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

/** Called get, and yet one node's own: see above. */
const NO_PLAIN_GETS: ReadonlySet<string> = new Set(['eth_getFilterChanges', 'eth_getFilterLogs', 'eth_getWork'])

function isPlainGet(method: string): boolean {
  return method.startsWith('eth_get') && !NO_PLAIN_GETS.has(method)
}
