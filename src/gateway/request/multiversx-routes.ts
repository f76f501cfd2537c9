import type { Operation } from '../../core/routing/operation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { ClassifiedRequest, UpstreamPath } from '../upstream-request.ts'
import { isAllowed } from './allowed-methods.ts'
import { UNKNOWN_ROUTE } from './route.ts'

/** Parses the routes of a MultiversX proxy (mx-chain-proxy-go, api/groups) and gives each request one spelling. */
export function readRest({ rest, query, shards, extraMethods }: RestTarget): RestRequest | GatewayError {
  const [, group, second, third, fourth, more] = rest.split('/', 6)
  if (group === 'block' && fourth !== undefined && more === undefined) {
    if (third === 'by-hash') return blockBy('hash', second, fourth, query, shards)
    if (third === 'by-nonce') return blockBy('nonce', second, fourth, query, shards)
  }
  if (group === 'network' && second === 'status' && third !== undefined && fourth === undefined) {
    return networkStatus(third, query, shards)
  }
  if (rest === '/network/config') return query === null ? NETWORK_CONFIG : NO_QUERY
  return extraRoute(rest, query, extraMethods)
}

export interface RestRequest extends ClassifiedRequest {
  readonly to: Extract<UpstreamPath, { readonly kind: 'path' }>
}

/** `rest` and `query` are those of a `RequestTarget`. */
export interface RestTarget {
  readonly rest: string
  readonly query: string | null
  readonly shards: readonly number[]
  /** The caller's `methods`; those that begin with `GET ` are routes. */
  readonly extraMethods: readonly string[]
}

function blockBy(
  kind: 'hash' | 'nonce',
  shardText: string | undefined,
  text: string,
  query: string | null,
  shards: readonly number[],
): RestRequest | GatewayError {
  const shard = readShard(shardText, shards)
  if (shard === null) return BAD_SHARD
  const flags = readFlags(query)
  if (flags === null) return BAD_FLAGS
  let operation: Operation
  if (kind === 'hash') {
    if (!HASH.test(text)) return BAD_HASH
    operation = { name: 'block_by_hash', need: { kind: 'hash', shard }, isRead: true, absenceIsDoubtful: true }
  } else {
    const height = readWhole(text)
    if (height === null) return BAD_NONCE
    operation = {
      name: 'block_by_nonce',
      need: { kind: 'height', shard, height },
      isRead: true,
      absenceIsDoubtful: true,
    }
  }
  const tail = `by-${kind}/${text.toLowerCase()}${flags}`
  return restRequest(operation, `/block/${shard}/${tail}`, `/block/${tail}`)
}

function networkStatus(shardText: string, query: string | null, shards: readonly number[]): RestRequest | GatewayError {
  const shard = readShard(shardText, shards)
  if (shard === null) return BAD_SHARD
  if (query !== null) return NO_QUERY
  const operation: Operation = {
    name: 'network_status',
    need: { kind: 'latest', shard },
    isRead: true,
    absenceIsDoubtful: false,
  }
  return restRequest(operation, `/network/status/${shard}`, '/network/status')
}

/** Sent only to proxies, because the shard whose observer could answer is unknown. */
function extraRoute(rest: string, query: string | null, extraMethods: readonly string[]): RestRequest | GatewayError {
  if (!isAllowed(`GET ${rest}`, extraMethods)) return UNKNOWN_ROUTE
  return restRequest(OTHER, query === null ? rest : `${rest}?${query}`, null)
}

function restRequest(operation: Operation, path: string, singleShardPath: string | null): RestRequest {
  return { kind: 'operation', operation, canonical: path, to: { kind: 'path', path, singleShardPath } }
}

const OTHER: Operation = { name: 'other', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false }
const NETWORK_CONFIG = restRequest(
  { name: 'network_config', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false },
  '/network/config',
  '/network/config',
)

const HASH = /^[0-9a-fA-F]{64}$/
const WHOLE = /^(?:0|[1-9][0-9]{0,15})$/

function readWhole(text: string): number | null {
  const number = WHOLE.test(text) ? Number(text) : Number.NaN
  return Number.isSafeInteger(number) ? number : null
}

function readShard(text: string | undefined, shards: readonly number[]): number | null {
  const shard = readWhole(text ?? '')
  return shard !== null && shards.includes(shard) ? shard : null
}

/** In the order in which they are sent. */
const FLAGS = ['forHyperblock', 'withLogs', 'withTxs'] as const

/** The query with the flags that are set; `null` if a flag is unknown, repeated, or not true or false (the default). */
function readFlags(query: string | null): string | null {
  if (query === null) return ''
  const given = new Map<string, string>()
  for (const pair of query.split('&', FLAGS.length + 1)) {
    const [name = '', value = '', more] = pair.split('=', 3)
    if (more !== undefined || given.has(name) || !(FLAGS as readonly string[]).includes(name)) return null
    if (value !== 'true' && value !== 'false') return null
    given.set(name, value)
  }
  const set = FLAGS.filter((flag) => given.get(flag) === 'true').map((flag) => `${flag}=true`)
  return set.length === 0 ? '' : `?${set.join('&')}`
}

const BAD_SHARD = gatewayError('bad-params', 'shard must be one of this network')
const BAD_HASH = gatewayError('bad-params', 'hash must be 64 hex digits')
const BAD_NONCE = gatewayError('bad-params', 'nonce must be a whole number without leading zeros, up to 2^53 - 1')
const BAD_FLAGS = gatewayError(
  'bad-params',
  `the query may contain ${FLAGS.join(', ')}, each at most once, true or false`,
)
const NO_QUERY = gatewayError('bad-params', 'this route takes no query')
