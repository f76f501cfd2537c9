import { isObject } from '../core/json.ts'
import type { Situation } from './answer.ts'
import type { Block } from './chain.ts'
import { createEvmBlocks, type EvmBlocksOptions } from './evm-block.ts'
import { type CallResult, failure, success } from './json-rpc.ts'

/** The JSON-RPC methods of an EVM node, for Ethereum and for Avalanche's C-Chain. */
export type EvmMethods = (method: string, params: unknown, situation: Situation) => CallResult

export interface EvmOptions extends EvmBlocksOptions {
  readonly clientVersion: string
}

/** Ethereum finalizes two epochs behind the head; Avalanche's accepted blocks are final at once. */
const FINALIZED_BEHIND = 64
const SAFE_BEHIND = 32
/** Transactions of older blocks are not found. */
const FINDABLE_BLOCKS = 64
const TAGS: ReadonlySet<unknown> = new Set(['latest', 'pending', 'safe', 'finalized', 'earliest', 'accepted'])
const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]{0,15})$/i

export function createEvm(options: EvmOptions): EvmMethods {
  const { flavour, clientVersion } = options
  const blocks = createEvmBlocks(options)
  const behind = (count: number) => (flavour === 'avalanche' ? 0 : count)

  function chainId({ faults }: Situation): number {
    return faults.get('wrong-chain')?.fault.chainId ?? options.chainId
  }

  function heightOf(of: unknown, tip: number): number {
    switch (of) {
      case 'latest':
      case 'pending':
      case 'accepted':
        return tip
      case 'safe':
        return Math.max(0, tip - behind(SAFE_BEHIND))
      case 'finalized':
        return Math.max(0, tip - behind(FINALIZED_BEHIND))
      case 'earliest':
        return 0
    }
    return Number(of)
  }

  function byNumber([of, full]: readonly unknown[], situation: Situation): CallResult {
    const { view } = situation
    if (of === undefined || full === undefined) return missing(of === undefined ? 0 : 1)
    if (!TAGS.has(of) && (typeof of !== 'string' || !QUANTITY.test(of))) {
      return failure(-32602, 'invalid argument 0: hex string without 0x prefix')
    }
    if (typeof full !== 'boolean') return notBoolean()
    const block = view.block(null, heightOf(of, view.tip(null)))
    // coreth returns an error instead of null for blocks it has not accepted yet.
    if (block === null && flavour === 'avalanche') return failure(-32000, 'cannot query unfinalized data')
    return rendered(block, full)
  }

  function byHash([of, full]: readonly unknown[], { view }: Situation): CallResult {
    if (of === undefined || full === undefined) return missing(of === undefined ? 0 : 1)
    if (!isHash(of)) return notHash()
    if (typeof full !== 'boolean') return notBoolean()
    return rendered(view.find(null, of.slice(2).toLowerCase()), full)
  }

  function transaction([of]: readonly unknown[], { view }: Situation): CallResult {
    if (of === undefined) return missing(0)
    if (!isHash(of)) return notHash()
    const tip = view.tip(null)
    for (let height = tip; height > Math.max(0, tip - FINDABLE_BLOCKS); height--) {
      const block = view.block(null, height)
      const found = block && blocks.transaction(block, of.toLowerCase())
      if (found) return success(found)
    }
    return success(null)
  }

  function rendered(block: Block | null, full: boolean): CallResult {
    return success(block && blocks.render(block, full))
  }

  return (method, params, situation) => {
    if (params !== undefined && params !== null && !Array.isArray(params)) {
      return isObject(params) ? failure(-32602, 'non-array args') : failure(-32600, 'invalid request')
    }
    const args = params ?? []
    if (QUESTIONS.has(method) && situation.faults.has('not-offered')) return notAvailable(method)
    switch (method) {
      case 'eth_chainId':
        return success(quantity(chainId(situation)))
      case 'net_version':
        return success(String(chainId(situation)))
      case 'web3_clientVersion':
        return success(clientVersion)
      case 'eth_blockNumber':
        return success(quantity(situation.view.tip(null)))
      case 'eth_syncing':
        return syncing(situation)
      case 'net_peerCount':
        return success(quantity(situation.faults.get('few-peers')?.fault.peers ?? PEERS))
      case 'eth_getBlockByNumber':
        return byNumber(args, situation)
      case 'eth_getBlockByHash':
        return byHash(args, situation)
      case 'eth_getTransactionByHash':
        return transaction(args, situation)
    }
    return notAvailable(method)
  }
}

/** What the liveness check asks; many providers offer none of it. */
const QUESTIONS: ReadonlySet<string> = new Set(['eth_syncing', 'net_peerCount', 'web3_clientVersion'])
const PEERS = 50

/** geth's form: an object while syncing. */
function syncing({ faults, view }: Situation): CallResult {
  const blocks = faults.get('syncing')?.fault.blocks
  if (blocks === undefined) return success(false)
  const current = view.tip(null)
  return success({
    startingBlock: '0x0',
    currentBlock: quantity(current),
    highestBlock: quantity(current + blocks),
    txIndexFinishedBlocks: '0x0',
    txIndexRemainingBlocks: '0x1',
  })
}

function quantity(value: number): string {
  return `0x${value.toString(16)}`
}

function notAvailable(method: string): CallResult {
  return failure(-32601, `the method ${method} does not exist/is not available`)
}

function isHash(value: unknown): value is string {
  return typeof value === 'string' && /^0x[0-9a-f]{64}$/i.test(value)
}

const missing = (index: number) => failure(-32602, `missing value for required argument ${index}`)
const notHash = () =>
  failure(-32602, 'invalid argument 0: hex string has length that is not 64, want 64 for common.Hash')
const notBoolean = () =>
  failure(-32602, 'invalid argument 1: json: cannot unmarshal non-boolean into Go value of type bool')
