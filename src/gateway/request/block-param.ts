import type { Need } from '../../core/routing/operation.ts'

/**
 * Which block a method of the chain is about, as far as that decides whom to ask: `eth_call` of `latest` right after a receipt must
 * not be answered by a node that has not got the receipt's block. Nothing is refused here, and nothing changed: nodes do that.
 */
export function readBlockNeed(method: string, params: string | null): Need {
  const place = PLACES.get(method)
  if (place === undefined) return ANY
  // Those that carry a contract are not worth another look: `latest` is what they mean nearly always.
  if (params === null || params.length > LONGEST) return LATEST
  const list: unknown = JSON.parse(params)
  if (!Array.isArray(list)) return ANY
  return place === 'filter' ? readFilter(list[0]) : readBlock(list[place])
}

/** The methods that tell of one block, or of something in it, by its number: `null` is then "not here yet". */
export function isOfOneBlock(method: string): boolean {
  return PLACES.get(method) === 0
}

/** Where the block stands among the params of each method; where it is left out, nodes take `latest`. */
const PLACES: ReadonlyMap<string, number | 'filter'> = new Map<string, number | 'filter'>([
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
  // These take none: they tell of the newest.
  ['eth_baseFee', 1],
  ['eth_blobBaseFee', 1],
  ['eth_gasPrice', 1],
  ['eth_maxPriorityFeePerGas', 1],
])

const LONGEST = 131_072

const ANY: Need = { kind: 'any' }
const LATEST: Need = { kind: 'latest', shard: null }
const HASH: Need = { kind: 'hash', shard: null }

/** A height or a tag, or EIP-1898's object of a height or a hash. */
function readBlock(block: unknown): Need {
  if (block === undefined || block === null || block === 'latest' || block === 'pending') return LATEST
  if (typeof block === 'string') return readHeight(block)
  if (typeof block !== 'object') return ANY
  if ('blockHash' in block) return HASH
  return 'blockNumber' in block && typeof block.blockNumber === 'string' ? readHeight(block.blockNumber) : ANY
}

/** What reaches to its newest block reaches to all before. */
function readFilter(filter: unknown): Need {
  if (typeof filter !== 'object' || filter === null) return ANY
  if ('blockHash' in filter) return HASH
  return readBlock('toBlock' in filter ? filter.toBlock : undefined)
}

function readHeight(text: string): Need {
  const height = /^0x[0-9a-fA-F]{1,14}$/.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(height) ? { kind: 'height', shard: null, height } : ANY
}
