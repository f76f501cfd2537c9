import type { Need, Operation, OperationName } from '../../core/routing/operation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import { scanObject, skipBlank } from '../json-scan.ts'
import { openScan } from '../json-text.ts'
import type { ClassifiedRequest } from '../upstream-request.ts'
import { isOwnPath, MAX_PATH_BYTES } from './aliases.ts'
import { MAX_DEPTH } from './envelope.ts'

/** Checks the params of one method, given as the JSON text of an array or object. Errors name the invalid member. */
export type ReadParams = (text: string | null) => ClassifiedRequest | GatewayError

/** Accepts missing params (viem) and `[]` (ethers, web3). */
export function noParams(name: OperationName, need: Need): ReadParams {
  const classified = operationOf({ name, need, isRead: true, absenceIsDoubtful: false }, '[]')
  return (text) => {
    if (text === null || text === '[]') return classified
    const params = arrayOf(text)
    if (params === null) return NO_ARRAY
    return params.length === 0 ? classified : bad('params must be empty')
  }
}

/** `eth_getBlockByNumber`: a height or a tag, and whether to include whole transactions. */
export const readBlockByNumber: ReadParams = (text) => {
  const params = arrayOf(text)
  if (params === null) return NO_ARRAY
  if (params.length !== 2) return bad('params must be a block and a boolean')
  const [block, hydrated] = params
  if (typeof hydrated !== 'boolean') return bad('params[1] (hydrated transactions) must be true or false')
  if (typeof block !== 'string') return BAD_BLOCK
  const canonical = `["${block.toLowerCase()}",${hydrated}]`
  const tagged = TAGS.get(block)
  if (tagged !== undefined) return operationOf(tagged, canonical)
  const height = readHeight(block)
  return height === null ? BAD_BLOCK : operationOf(blockBy({ kind: 'height', shard: null, height }, true), canonical)
}

/** `eth_getTransactionByHash`: 32 bytes. */
export const readTransactionByHash: ReadParams = (text) => {
  const params = arrayOf(text)
  if (params === null) return NO_ARRAY
  if (params.length !== 1) return bad('params must be one hash')
  const [hash] = params
  if (typeof hash !== 'string' || !HASH_TEXT.test(hash)) return bad('params[0] must be a hash: 0x and 64 hex digits')
  return operationOf(TRANSACTION_BY_HASH, `["${hash.toLowerCase()}"]`)
}

/**
 * `health.*`: no params, or `{"tags": […]}`, also as the only element of an array, since gorilla/rpc accepts both.
 * avalanchego's Go client sends null for no tags.
 */
export function healthParams(name: OperationName): ReadParams {
  const operation: Operation = { name, need: ANY, isRead: true, absenceIsDoubtful: false }
  const untagged = operationOf(operation, '{}')
  return (text) => {
    if (text === null) return untagged
    const args = argumentOf(text, HEALTH_MEMBERS)
    if (args === null) return bad('params must be an object with the member tags only')
    const tags = args === 'none' ? null : (args.tags ?? null)
    if (tags === null) return untagged
    if (!Array.isArray(tags) || tags.length > MAX_TAGS || !tags.every(isTag)) {
      return bad(`tags must be up to ${MAX_TAGS} strings of 1 to ${MAX_TAG_LENGTH} characters`)
    }
    const sorted = [...new Set(tags as string[])].sort()
    return sorted.length === 0 ? untagged : operationOf(operation, JSON.stringify({ tags: sorted }))
  }
}

/** `admin.alias`: `{"endpoint": "bc/C", "alias": "my-chain"}`, alone or as the only element of an array. */
export const readAlias: ReadParams = (text) => {
  const args = text === null ? 'none' : argumentOf(text, ALIAS_MEMBERS)
  if (args === null || args === 'none') return bad('params must be an object with the members endpoint and alias only')
  const { endpoint, alias } = args
  if (typeof endpoint !== 'string' || !isPlainPath(endpoint)) return bad(`endpoint ${PLAIN_PATH}`)
  if (isOwnPath(endpoint) && endpoint !== 'health')
    return bad('endpoint must be a chain or health, not an API of the node')
  if (typeof alias !== 'string' || !isPlainPath(alias)) return bad(`alias ${PLAIN_PATH}`)
  return operationOf(ALIAS, JSON.stringify({ endpoint, alias }))
}

const ANY: Need = { kind: 'any' }

function operationOf(operation: Operation, canonical: string): ClassifiedRequest {
  return { kind: 'operation', operation, canonical }
}

function blockBy(need: Need, absenceIsDoubtful: boolean): Operation {
  return { name: 'eth_getBlockByNumber', need, isRead: true, absenceIsDoubtful }
}

/** Nodes differ in `pending`, `safe` and `finalized`, and in `earliest` if history was pruned. */
const TAGS: ReadonlyMap<string, Operation> = new Map([
  ['latest', blockBy({ kind: 'latest', shard: null }, true)],
  ['pending', blockBy(ANY, false)],
  ['safe', blockBy(ANY, false)],
  ['finalized', blockBy(ANY, false)],
  ['earliest', blockBy(ANY, true)],
])
const TRANSACTION_BY_HASH: Operation = {
  name: 'eth_getTransactionByHash',
  need: { kind: 'hash', shard: null },
  isRead: true,
  absenceIsDoubtful: true,
}
/** Sent once, because the node answers a repetition with an error. */
const ALIAS: Operation = { name: 'admin.alias', need: ANY, isRead: false, absenceIsDoubtful: false }

/** An execution-apis `uint`: no leading zeros. Nodes accept capitals too. */
const QUANTITY = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,13})$/
export const HASH_TEXT = /^0x[0-9a-fA-F]{64}$/

/** Limited to 2^53 - 1, the largest exact integer. */
function readHeight(text: string): number | null {
  if (!QUANTITY.test(text)) return null
  const height = Number(text)
  return Number.isSafeInteger(height) ? height : null
}

const PATH = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9._-]+)*$/
const PLAIN_PATH = `must be a plain path of at most ${MAX_PATH_BYTES} bytes: segments of letters, digits and . _ - with / between`

/** Allows only paths that all parsers read alike: no escapes, no empty, `.` or `..` segments, no gorilla/mux `{…}`. */
function isPlainPath(text: string): boolean {
  return text.length <= MAX_PATH_BYTES && PATH.test(text) && !/(?:^|\/)\.\.?(?:\/|$)/.test(text)
}

/** Enough for every chain and subnet of a node, named by ids of 50 characters. */
const MAX_TAGS = 64
const MAX_TAG_LENGTH = 128

function isTag(tag: unknown): boolean {
  return typeof tag === 'string' && tag !== '' && tag.length <= MAX_TAG_LENGTH
}

function arrayOf(text: string | null): unknown[] | null {
  const params: unknown = text === null ? [] : JSON.parse(text)
  return Array.isArray(params) ? params : null
}

const HEALTH_MEMBERS = [Buffer.from('tags')]
const ALIAS_MEMBERS = [Buffer.from('endpoint'), Buffer.from('alias')]

/**
 * The arguments object; `none` for `[]`; `null` if invalid. Unknown and repeated members are invalid, because Go's
 * decoder reads `Alias` as `alias` and takes the last of two.
 */
function argumentOf(text: string, members: readonly Buffer[]): Record<string, unknown> | 'none' | null {
  const params: unknown = JSON.parse(text)
  if (Array.isArray(params) && params.length === 0) return 'none'
  if (Array.isArray(params) && params.length > 1) return null
  const args: unknown = Array.isArray(params) ? params[0] : params
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return null
  const scan = openScan(Buffer.from(text))
  const first = skipBlank(scan, 0)
  const spans = new Int32Array(2 * members.length + 1)
  scanObject(scan, Array.isArray(params) ? skipBlank(scan, first + 1) : first, members, spans, MAX_DEPTH)
  return spans.at(-1) === 0 && spans.every((offset) => offset >= 0) ? (args as Record<string, unknown>) : null
}

function bad(message: string): GatewayError {
  return gatewayError('bad-params', message)
}
const NO_ARRAY = bad('params must be an array')
const BAD_BLOCK = bad(
  'params[0] must be a height (0x and hex digits without leading zeros, up to 2^53 - 1), latest, pending, safe, finalized or earliest',
)
