import { isObject, parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Need } from '../core/routing/operation.ts'
import type { ChainRollbacks } from './chain-rollbacks.ts'
import { chainOperationOf, type NodeReply, type UpstreamRequest } from './upstream-request.ts'

/**
 * Remembers the highest blocks that each caller was shown, so that no caller sees a chain go backwards. The forwarder,
 * the cache and the coalescer record heights. A rollback of the chain itself deletes them.
 */
export function createCallerHeights(rollbacks: Rollbacks = NO_ROLLBACKS, maxHeights = MAX_HEIGHTS) {
  /** The least recently raised first. */
  const heights = new Map<string, { readonly height: number; shownAt: number }>()

  function get(caller: string, network: string, shard: Shard, tag: HeightTag): number | null {
    const key = keyOf(caller, network, shard, tag)
    const shown = heights.get(key)
    if (shown === undefined) return null
    if (!rollbacks.hasGoneBelow(network, shard, shown.height, shown.shownAt)) return shown.height
    heights.delete(key)
    return null
  }

  return {
    /** `null` if the caller was shown no height yet. */
    get,
    /** Records a height shown to the caller; a lower height than before is ignored. */
    raise(caller: string, network: string, shard: Shard, tag: HeightTag, height: number): void {
      const before = get(caller, network, shard, tag)
      if (before !== null && height < before) return
      const key = keyOf(caller, network, shard, tag)
      const shown = heights.get(key)
      if (shown?.height === height) {
        shown.shownAt = rollbacks.now()
        return
      }
      heights.delete(key)
      heights.set(key, { height, shownAt: rollbacks.now() })
      if (heights.size <= maxHeights) return
      const [oldest] = heights.keys()
      if (oldest !== undefined) heights.delete(oldest)
    },
  }
}

export type CallerHeights = ReturnType<typeof createCallerHeights>

export type HeightTag = 'latest' | 'safe' | 'finalized' | 'pending'

type Rollbacks = Pick<ChainRollbacks, 'now' | 'hasGoneBelow'>
const NO_ROLLBACKS: Rollbacks = { now: () => 0, hasGoneBelow: () => false }

/** The lowest height that may be shown: the highest that the caller has seen here or says it has seen elsewhere. */
export function lowestAllowed(
  callerHeights: Pick<CallerHeights, 'get'>,
  { caller, network, minHeight = null }: UpstreamRequest,
  shard: Shard,
  tag: HeightTag,
): number | null {
  const seen = callerHeights.get(caller, network, shard, tag)
  if (tag === 'safe' || tag === 'finalized') return seen
  // The pending block is never below the latest one; clients differ in whether it is one above.
  const latest = tag === 'pending' ? callerHeights.get(caller, network, shard, 'latest') : null
  return highestOf(highestOf(seen, latest), minHeight)
}

/** Whether the answer is a range of logs: a node below the end of the range answers with a part of them, and no error. */
export function readsLogs({ call }: UpstreamRequest): boolean {
  return call?.method === 'eth_getLogs'
}

/** Whether a node below the block answers as if the block did not exist. */
export function readsBlock(request: UpstreamRequest): boolean {
  const { name } = chainOperationOf(request)
  return name === 'eth_getBlockByNumber' || name === 'block_by_nonce'
}

/** The tag of a block that the caller has seen, and that is `null` in this reply: the node lacks it. Nodes differ in `pending`. */
export function missingTag(
  callerHeights: Pick<CallerHeights, 'get'>,
  request: UpstreamRequest,
  shard: Shard,
  reply: NodeReply,
): HeightTag | null {
  if (reply.kind !== 'result' || !isNull(reply.result) || !readsBlock(request)) return null
  const tag = (/"(latest|safe|finalized)"/.exec(request.call?.params ?? '')?.[1] ?? null) as HeightTag | null
  return tag !== null && lowestAllowed(callerHeights, request, shard, tag) !== null ? tag : null
}

export function highestOf(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.max(a, b)
}

/** Records the height of an answer that is no new sign that the chain still has this block, such as a repeated one. */
export function raiseByRepeat(
  callerHeights: Pick<CallerHeights, 'get' | 'raise'>,
  { caller, network }: UpstreamRequest,
  shard: Shard,
  tag: HeightTag,
  height: number,
): void {
  const seen = callerHeights.get(caller, network, shard, tag)
  if (seen === null || seen < height) callerHeights.raise(caller, network, shard, tag, height)
}

/** Only repeated reloads with new names can reach this, because callers, networks and shards are configured. */
const MAX_HEIGHTS = 10_000

/** Unambiguous, because network names contain no spaces and the caller's name comes last. */
function keyOf(caller: string, network: string, shard: Shard, tag: HeightTag): string {
  return `${tag === 'latest' ? '' : tag} ${network} ${shard ?? ''} ${caller}`
}

export interface AnswerHeight {
  readonly tag: HeightTag
  readonly height: number
  /** The answer claims to be the chain head, so a height below an earlier one is a step back. */
  readonly isHead: boolean
}

/** Reads the height without parsing the answer, which may be megabytes; `null` if it shows none. */
export function answerHeight(request: UpstreamRequest, reply: NodeReply): AnswerHeight | null {
  const operation = chainOperationOf(request)
  const { call } = request
  switch (operation.name) {
    case 'eth_blockNumber':
      return reply.kind === 'result' ? headOf('latest', quantityIn(reply.result)) : null
    case 'eth_getBlockByNumber':
      return reply.kind === 'result' ? blockHeight(operation.need, call?.params ?? '', reply.result) : null
    case 'eth_getTransactionByHash':
      return reply.kind === 'result' ? pastBlock(quantityOf(reply.result, BLOCK_NUMBER)) : null
    case 'network_status':
      return reply.kind === 'rest' && reply.status === 200 ? headOf('latest', decimalOf(reply.body, NONCE)) : null
    case 'block_by_nonce':
    case 'block_by_hash':
      return reply.kind === 'rest' && reply.status === 200 ? pastBlock(blockNonceOf(reply.body)) : null
    case 'eth_chainId':
    case 'net_version':
    case 'web3_clientVersion':
    case 'health.getLiveness':
    case 'health.health':
    case 'health.readiness':
    case 'health.liveness':
    case 'admin.alias':
    case 'network_config':
    case 'alias':
      return null
    case 'other':
      return reply.kind === 'result' ? extraHeight(operation.need, call, reply.result) : null
  }
}

/** Receipts count, because callers then read accounts and need a node that has the receipt's block. */
function extraHeight(need: Need, call: UpstreamRequest['call'], result: Buffer): AnswerHeight | null {
  if (call === null) return null
  switch (call.method) {
    case 'eth_getTransactionReceipt':
      return pastBlock(quantityOf(result, BLOCK_NUMBER))
    case 'eth_getBlockByHash':
    case 'eth_getHeaderByHash':
      return pastBlock(quantityOf(result, NUMBER))
    case 'eth_getHeaderByNumber':
      return blockHeight(need, call.params ?? '', result)
    case 'eth_getBlockReceipts':
      return blockHeight(need, call.params ?? '', result, BLOCK_NUMBER)
    default:
      return null
  }
}

function blockHeight(need: Need, params: string, result: Buffer, member = NUMBER): AnswerHeight | null {
  if (isNull(result)) return null
  if (need.kind === 'height') return pastBlock(need.height)
  const tag = /"(finalized|safe|pending)"/.exec(params)?.[1] as HeightTag | undefined
  if (tag !== undefined) return headOf(tag, quantityOf(result, member))
  if (need.kind === 'latest') return headOf('latest', quantityOf(result, member))
  // By hash, or the earliest one.
  return need.kind === 'hash' || params.includes('"earliest"') ? pastBlock(quantityOf(result, member)) : null
}

function headOf(tag: HeightTag, height: number | null): AnswerHeight | null {
  return height === null ? null : { tag, height, isHead: true }
}

function pastBlock(height: number | null): AnswerHeight | null {
  return height === null ? null : { tag: 'latest', height, isHead: false }
}

/** Withdrawals and transactions in a block have no member of this name. */
const NUMBER = Buffer.from('"number"')
export const BLOCK_NUMBER = Buffer.from('"blockNumber"')
/** Without whitespace, as nodes write it. */
const NONCE = Buffer.from('"erd_nonce":')
/** The nonce is the first member of a block; transactions in it have nonces too. */
const BLOCK_NONCE = Buffer.from('"block":{"nonce":')

function isNull(result: Buffer): boolean {
  return result.length === 4 && result[0] === 0x6e
}

/** The quantity of the first member of this quoted name, which cannot occur inside a string; `null` if it is none. */
export function quantityOf(text: Buffer, name: Buffer): number | null {
  const at = text.indexOf(name)
  if (at === -1) return null
  const start = at + name.length
  const digits = /^\s*:\s*"0x([0-9a-fA-F]{1,14})"/.exec(text.toString('latin1', start, start + 40))?.[1]
  return digits === undefined ? null : safe(Number.parseInt(digits, 16))
}

/** Reads `"0x…"`. */
export function quantityIn(text: Buffer): number | null {
  const digits = /^"0x([0-9a-fA-F]{1,14})"/.exec(text.toString('latin1', 0, 18))?.[1]
  return digits === undefined ? null : safe(Number.parseInt(digits, 16))
}

function decimalOf(text: Buffer, name: Buffer): number | null {
  const found = text.indexOf(name)
  if (found === -1) return null
  const at = found + name.length
  const digits = /^ *([0-9]{1,15})(?![0-9])/.exec(text.toString('latin1', at, at + 40))?.[1]
  return digits === undefined ? null : safe(Number(digits))
}

function blockNonceOf(text: Buffer): number | null {
  if (text.includes(BLOCK_NONCE)) return decimalOf(text, BLOCK_NONCE)
  if (text.length > 1_048_576 || !text.includes('"nonce"')) return null
  const envelope = parseJson(text)
  const data = isObject(envelope) ? envelope.data : null
  const nonce = isObject(data) && isObject(data.block) ? data.block.nonce : null
  return typeof nonce === 'number' && nonce >= 0 ? safe(nonce) : null
}

function safe(height: number): number | null {
  return Number.isSafeInteger(height) ? height : null
}
