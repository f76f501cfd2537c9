import { METACHAIN, type Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { type Answer, type Family, json, type Request, type Situation } from './answer.ts'
import { type Block, digest } from './chain.ts'

export interface MultiversxOptions {
  readonly family: 'multiversx'
  /** An observer serves one shard and has no shard in its paths. */
  readonly kind?: 'proxy' | 'observer' | undefined
  readonly shard?: number | undefined
  readonly shards?: readonly number[]
  readonly roundMs: number
}

export const MULTIVERSX_SHARDS: readonly number[] = [0, 1, 2, METACHAIN]
/** One day of six-second rounds. */
const EPOCH_ROUNDS = 14_400
/** A block is final when the next block exists. */
const FINAL_BEHIND = 1
const PEERS = 47
const UINT64 = /^\d{1,20}$/
const FLAGS = ['withTxs', 'withLogs', 'forHyperblock'] as const

/** Simulates a MultiversX proxy, or an observer of one shard. */
export function createMultiversx(options: MultiversxOptions): Family {
  const { kind = 'proxy', shard = 0, shards = MULTIVERSX_SHARDS, roundMs } = options

  function observer(request: Request, situation: Situation): Answer {
    if (request.path === '/network/status') return status(shard, situation, roundMs)
    if (request.path === '/node/status') return nodeStatus(shard, situation, roundMs)
    if (request.path === '/network/config') return envelope({ config: config(situation, shards, roundMs) })
    const [, how, which] = /^\/block\/(by-nonce|by-hash)\/([^/]+)$/.exec(request.path) ?? []
    return which === undefined ? notFound() : blockAnswer(shard, how, which, request, situation, roundMs)
  }

  function proxy(request: Request, situation: Situation): Answer {
    const [, ofStatus] = /^\/network\/status\/([^/]+)$/.exec(request.path) ?? []
    const [, ofBlock, how, which = ''] = /^\/block\/([^/]+)\/(by-nonce|by-hash)\/([^/]+)$/.exec(request.path) ?? []
    const part = ofStatus ?? ofBlock
    if (part === undefined) return notFound()
    const asked = uint32(part)
    if (asked === null) return envelope(null, 400, 'bad_request', 'cannot parse shard ID')
    if (!shards.includes(asked)) {
      return envelope(null, 500, 'internal_issue', `sending request error, missing observers for shard ${asked}`)
    }
    if (ofStatus !== undefined) return status(asked, situation, roundMs)
    return blockAnswer(asked, how, which, request, situation, roundMs)
  }

  return (request, situation) => {
    if (request.method !== 'GET') return notFound()
    if (request.path === '/network/config') return envelope({ config: config(situation, shards, roundMs) })
    return kind === 'observer' ? observer(request, situation) : proxy(request, situation)
  }
}

function blockAnswer(
  shard: number,
  how: string | undefined,
  which: string,
  request: Request,
  { view }: Situation,
  roundMs: number,
): Answer {
  for (const flag of FLAGS) {
    const value = request.query.get(flag)
    // The values that Go's strconv.ParseBool accepts.
    if (value !== null && !/^(?:1|t|T|true|TRUE|True|0|f|F|false|FALSE|False)$/.test(value)) {
      return envelope(
        null,
        400,
        'bad_request',
        `bad url parameter(s): strconv.ParseBool: parsing "${value}": invalid syntax`,
      )
    }
  }
  if (how === 'by-nonce') {
    if (!UINT64.test(which)) return envelope(null, 400, 'bad_request', 'cannot parse nonce')
    const found = view.block(shard, Number(which))
    return found ? envelope({ block: render(found, shard, roundMs) }) : blockNotFound('could not find block nonce')
  }
  if (!/^(?:[0-9a-f]{2})+$/i.test(which)) return envelope(null, 400, 'bad_request', 'invalid block hash parameter')
  const found = view.find(shard, which.toLowerCase())
  return found ? envelope({ block: render(found, shard, roundMs) }) : blockNotFound('key not found')
}

function render(block: Block, shard: number, roundMs: number): Record<string, unknown> {
  const of = (what: string) => digest(block.hash, what)
  const round = roundAt(block.timestamp, roundMs)
  return {
    nonce: block.height,
    round,
    epoch: Math.floor(round / EPOCH_ROUNDS),
    shard,
    numTxs: 3,
    hash: block.hash,
    prevBlockHash: block.parentHash,
    stateRootHash: of('state'),
    accumulatedFees: '61870000000000',
    developerFees: '0',
    accumulatedFeesInEpoch: '5000000000000000',
    developerFeesInEpoch: '0',
    status: 'on-chain',
    randSeed: of('random') + of('seed').slice(0, 32),
    prevRandSeed: digest(block.parentHash, 'random') + digest(block.parentHash, 'seed').slice(0, 32),
    pubKeyBitmap: 'ffffffffffffff1f',
    signature: of('signature') + of('of it').slice(0, 32),
    leaderSignature: of('leader') + of('of them').slice(0, 32),
    chainID: '1',
    softwareVersion: '32',
    receiptsHash: '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8',
    reserved: '',
    timestamp: Math.floor(block.timestamp / 1000),
    timestampMs: Math.floor(block.timestamp),
    miniBlocks: [
      {
        hash: of('mini-block'),
        type: 'TxBlock',
        processingType: 'Normal',
        constructionState: 'Final',
        sourceShard: shard,
        destinationShard: shard,
        indexOfFirstTxProcessed: 0,
        indexOfLastTxProcessed: 2,
      },
    ],
  }
}

function metrics(shard: number, { view }: Situation, roundMs: number): Record<string, unknown> {
  const nonce = view.tip(shard)
  const timestamp = view.block(shard, nonce)?.timestamp ?? 0
  const round = roundAt(timestamp, roundMs)
  return {
    erd_block_timestamp: Math.floor(timestamp / 1000),
    erd_block_timestamp_ms: Math.floor(timestamp),
    erd_cross_check_block_height: '0: 1, 1: 1, 2: 1, ',
    erd_current_round: round,
    erd_epoch_number: Math.floor(round / EPOCH_ROUNDS),
    erd_highest_final_nonce: Math.max(0, nonce - FINAL_BEHIND),
    erd_nonce: nonce,
    erd_nonce_at_epoch_start: Math.max(0, nonce - (round % EPOCH_ROUNDS)),
    erd_nonces_passed_in_current_epoch: round % EPOCH_ROUNDS,
    erd_round_at_epoch_start: round - (round % EPOCH_ROUNDS),
    erd_rounds_passed_in_current_epoch: round % EPOCH_ROUNDS,
    erd_rounds_per_epoch: EPOCH_ROUNDS,
  }
}

const status = (shard: number, situation: Situation, roundMs: number) =>
  envelope({ status: metrics(shard, situation, roundMs) })

function nodeStatus(shard: number, situation: Situation, roundMs: number): Answer {
  const { faults, view } = situation
  if (faults.has('not-offered')) return notFound()
  const remaining = faults.get('syncing')?.fault.blocks ?? 0
  return envelope({
    metrics: {
      ...metrics(shard, situation, roundMs),
      erd_app_version: 'v1.10.6-0-g53f8b2e4c/go1.23.6/linux-amd64/4a1f26ce2b',
      erd_are_vm_queries_ready: 'true',
      erd_is_syncing: remaining > 0 ? 1 : 0,
      erd_num_connected_peers: faults.get('few-peers')?.fault.peers ?? PEERS,
      erd_probable_highest_nonce: view.tip(shard) + remaining,
      erd_shard_id: shard,
    },
  })
}

function config({ faults }: Situation, shards: readonly Shard[], roundMs: number): Record<string, unknown> {
  return {
    erd_chain_id: String(faults.get('wrong-chain')?.fault.chainId ?? 1),
    erd_denomination: 18,
    erd_extra_gas_limit_guarded_tx: '50000',
    erd_gas_per_data_byte: 1500,
    erd_gas_price_modifier: '0.01',
    erd_meta_consensus_group_size: 400,
    erd_min_gas_limit: 50_000,
    erd_min_gas_price: 1_000_000_000,
    erd_min_transaction_version: 1,
    erd_num_metachain_nodes: 400,
    erd_num_shards_without_meta: shards.filter((shard) => shard !== METACHAIN).length,
    erd_round_duration: roundMs,
    erd_rounds_per_epoch: EPOCH_ROUNDS,
    erd_start_time: 1_596_117_600,
    erd_top_up_factor: '0.500000',
  }
}

function roundAt(timestamp: UnixMs, roundMs: number): number {
  return Math.max(0, Math.floor((timestamp - 1_596_117_600_000) / roundMs))
}

function uint32(part: string): number | null {
  const value = Number(part)
  return /^\d{1,10}$/.test(part) && value <= 0xffff_ffff ? value : null
}

const blockNotFound = (why: string) =>
  envelope(null, 500, 'internal_issue', `sending request error, getting block failed: ${why}`)

/** The default 404 response of gin. */
const notFound = (): Answer => ({ status: 404, headers: { 'content-type': 'text/plain' }, body: '404 page not found' })

/** `GenericAPIResponse` of proxy and node. */
export function envelope(data: unknown, status = 200, code = 'successful', error = ''): Answer {
  return json(status, { data, error, code })
}
