import { type Block, digest } from './chain.ts'

export interface EvmBlocksOptions {
  readonly flavour: 'ethereum' | 'avalanche'
  readonly chainId: number
  /** 150 result in a block of 11.8 KB, the usual size on mainnet. */
  readonly transactionsPerBlock: number
}

const REMEMBERED_BLOCKS = 128
const EMPTY_LIST = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
const EMPTY_HASH = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'

const hex = (value: number) => `0x${value.toString(16)}`
const hash = (...parts: readonly (string | number)[]) => `0x${digest(...parts)}`
const address = (...parts: readonly (string | number)[]) => `0x${digest(...parts).slice(0, 40)}`

/** Blocks and transactions with all fields that real nodes return. */
export function createEvmBlocks({ flavour, chainId, transactionsPerBlock }: EvmBlocksOptions) {
  const remembered = new Map<string, readonly string[]>()

  function hashesOf(block: Block): readonly string[] {
    const known = remembered.get(block.hash)
    if (known) return known
    const hashes = Array.from({ length: block.height === 0 ? 0 : transactionsPerBlock }, (_, index) =>
      hash(block.hash, 'transaction', index),
    )
    remembered.set(block.hash, hashes)
    const oldest = remembered.keys().next().value
    if (remembered.size > REMEMBERED_BLOCKS && oldest !== undefined) remembered.delete(oldest)
    return hashes
  }

  function renderTransaction(block: Block, index: number): Record<string, unknown> {
    const of = (what: string) => hash(block.hash, what, index)
    return {
      blockHash: `0x${block.hash}`,
      blockNumber: hex(block.height),
      blockTimestamp: hex(Math.floor(block.timestamp / 1000)),
      from: address(block.hash, 'from', index),
      gas: hex(100_000 + index),
      gasPrice: hex(2_000_000_000),
      maxFeePerGas: hex(3_000_000_000),
      maxPriorityFeePerGas: hex(1_000_000_000),
      hash: hashesOf(block)[index],
      input: `0xa9059cbb${of('input').slice(2)}${'0'.repeat(63)}1`,
      nonce: hex(index),
      to: address('contract', index % 16),
      transactionIndex: hex(index),
      value: '0x0',
      type: '0x2',
      accessList: [],
      chainId: hex(chainId),
      v: hex(index % 2),
      yParity: hex(index % 2),
      r: of('r').replace(/^0x0+/, '0x'),
      s: of('s').replace(/^0x0+/, '0x'),
    }
  }

  /** The result of `eth_getBlockBy…`. */
  function render(block: Block, full: boolean): Record<string, unknown> {
    const of = (what: string) => hash(block.hash, what)
    const transactions = hashesOf(block)
    return {
      baseFeePerGas: hex(1_000_000_000 + (block.height % 1000) * 1_000_000),
      blobGasUsed: '0x0',
      difficulty: flavour === 'avalanche' ? '0x1' : '0x0',
      excessBlobGas: '0x0',
      extraData: '0x',
      gasLimit: hex(45_000_000),
      gasUsed: hex(transactions.length * 100_000),
      hash: `0x${block.hash}`,
      logsBloom: `0x${Array.from({ length: 8 }, (_, index) => digest(block.hash, 'bloom', index)).join('')}`,
      miner: address(block.hash, 'miner'),
      mixHash: flavour === 'avalanche' ? hash(0) : of('mix'),
      nonce: '0x0000000000000000',
      number: hex(block.height),
      parentBeaconBlockRoot: of('beacon'),
      parentHash: `0x${block.parentHash}`,
      receiptsRoot: of('receipts'),
      ...(flavour === 'ethereum' ? { requestsHash: EMPTY_HASH } : {}),
      sha3Uncles: EMPTY_LIST,
      size: hex(600 + transactions.length * 180),
      stateRoot: of('state'),
      timestamp: hex(Math.floor(block.timestamp / 1000)),
      ...(flavour === 'avalanche' ? avalancheExtras(block) : {}),
      transactions: full ? transactions.map((_, index) => renderTransaction(block, index)) : transactions,
      transactionsRoot: of('transactions'),
      uncles: [],
      ...(flavour === 'ethereum' ? { withdrawals: [], withdrawalsRoot: of('withdrawals') } : {}),
    }
  }

  return {
    render,
    /** `null` if the block has no transaction with this hash. */
    transaction(block: Block, wanted: string): Record<string, unknown> | null {
      const index = hashesOf(block).indexOf(wanted)
      return index === -1 ? null : renderTransaction(block, index)
    },
  }
}

/** Fields that coreth adds. */
function avalancheExtras(block: Block): Record<string, unknown> {
  return {
    blockExtraData: '0x',
    blockGasCost: '0x0',
    extDataGasUsed: '0x0',
    extDataHash: '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421',
    minDelayExcess: '0x0',
    timestampMilliseconds: hex(Math.floor(block.timestamp)),
    totalDifficulty: hex(block.height),
  }
}
