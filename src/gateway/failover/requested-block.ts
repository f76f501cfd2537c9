import type { Failure } from '../../core/failure.ts'
import { answerHeight, quantityIn } from '../caller-heights.ts'
import { chainOperationOf, type NodeReply, type UpstreamRequest } from '../upstream-request.ts'

/** Why an answer is not what was requested; `null` if it is. */
export function mismatchOf(
  request: UpstreamRequest,
  reply: NodeReply,
  isResult: boolean,
  chainId: number | null,
): Failure | null {
  if (!isRequestedBlock(request, reply)) return OTHER_BLOCK
  if (isResult && lacksHeight(request, reply)) return NO_HEIGHT
  return chainId === null ? null : otherChain(request, reply, chainId)
}

const OTHER_BLOCK: Failure = {
  kind: 'malformed',
  what: 'it is about another block or transaction than the requested one',
}
const NO_HEIGHT: Failure = { kind: 'malformed', what: 'it has no height' }

/** Without its height, the newest block cannot be compared with what the caller has seen. */
function lacksHeight(request: UpstreamRequest, reply: NodeReply): boolean {
  const { name } = chainOperationOf(request)
  return (name === 'eth_blockNumber' || name === 'network_status') && answerHeight(request, reply) === null
}

/** Clients sign for the chain id that they are given. `net_version` is another number on some chains. */
function otherChain(request: UpstreamRequest, reply: NodeReply, expected: number): Failure | null {
  if (reply.kind !== 'result' || chainOperationOf(request).name !== 'eth_chainId') return null
  const actual = quantityIn(reply.result)
  if (actual === null) return NO_CHAIN_ID
  return actual === expected ? null : { kind: 'wrong-network', expected, actual: String(actual) }
}

const NO_CHAIN_ID: Failure = { kind: 'malformed', what: 'eth_chainId is not a quantity' }

/** Whether an answer is about the requested block or transaction. An answer that does not name its block passes. */
export function isRequestedBlock(request: UpstreamRequest, reply: NodeReply): boolean {
  if (reply.kind === 'error') return true
  const { call, to } = request
  const { name, need } = chainOperationOf(request)
  if (reply.kind === 'rest') {
    if (name === 'block_by_nonce') {
      if (need.kind !== 'height') return true
      return isSame(reply.body, NONCE, need.height) && (need.shard === null || isSame(reply.body, SHARD, need.shard))
    }
    const hash = name === 'block_by_hash' && to.kind === 'path' ? PATH_HASH.exec(to.path)?.[1] : undefined
    return hash === undefined || isSame(reply.body, REST_HASH, hash)
  }
  const method = call?.method ?? name
  const number = BY_NUMBER.get(method)
  if (number !== undefined && need.kind === 'height') return isSame(reply.result, number, need.height)
  const member = BY_HASH.get(method)
  const hash = member === undefined ? undefined : HASH.exec(call?.params ?? '')?.[0]
  return member === undefined || hash === undefined || isSame(reply.result, member, hash)
}

interface Member {
  readonly name: string
  readonly quoted: Buffer
  readonly path: readonly string[]
}

function member(name: string, path: readonly string[] = []): Member {
  return { name, quoted: Buffer.from(`"${name}"`), path }
}

const NONCE = member('nonce', ['data', 'block'])
const SHARD = member('shard', ['data', 'block'])
const REST_HASH = member('hash', ['data', 'block'])
const BY_NUMBER: ReadonlyMap<string, Member> = new Map([
  ['eth_getBlockByNumber', member('number')],
  ['eth_getHeaderByNumber', member('number')],
  ['eth_getBlockReceipts', member('blockNumber', ['0'])],
])
const BY_HASH: ReadonlyMap<string, Member> = new Map([
  ['eth_getTransactionByHash', member('hash')],
  ['eth_getBlockByHash', member('hash')],
  ['eth_getHeaderByHash', member('hash')],
  ['eth_getBlockReceipts', member('blockHash', ['0'])],
  ['eth_getTransactionReceipt', member('transactionHash')],
])
const HASH = /0x[0-9a-fA-F]{64}/
const PATH_HASH = /\/by-hash\/([0-9a-fA-F]+)/

/** Searches the bytes first, which is cheap. Parses only if the value differs, because the match may be nested. */
function isSame(text: Buffer, { name, quoted, path }: Member, expected: string | number): boolean {
  const at = text.indexOf(quoted)
  if (at === -1) return true
  const from = at + quoted.length
  const value = /^\s*:\s*"?([0-9a-zA-Z]{1,80})/.exec(text.toString('latin1', from, from + 100))?.[1]
  if (value !== undefined && isEqual(value, expected)) return true
  if (text.length > MAX_PARSED) return false
  let object: unknown = JSON.parse(text.toString())
  for (const step of path) object = (object as Record<string, unknown> | null | undefined)?.[step]
  const own = (object as Record<string, unknown> | null | undefined)?.[name]
  if (own === undefined || own === null) return true
  return (typeof own === 'string' || typeof own === 'number') && isEqual(String(own), expected)
}

function isEqual(value: string, expected: string | number): boolean {
  return typeof expected === 'number' ? Number(value) === expected : value.toLowerCase() === expected.toLowerCase()
}

const MAX_PARSED = 2 ** 20
