import type { Family } from '../../core/network.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Call, ClassifiedRequest } from '../upstream-request.ts'
import { extraOperation, isAllowed } from './extra-methods.ts'
import {
  healthParams,
  noParams,
  type ReadParams,
  readAlias,
  readBlockByNumber,
  readTransactionByHash,
} from './params.ts'
import type { Surface } from './route.ts'

export interface UnclassifiedRequest {
  readonly family: Family
  /** Where it came in, or what the alias stands for by which it came. */
  readonly surface: Surface
  readonly call: Call
  /** The caller's `methods`. */
  readonly extraMethods: readonly string[]
  /** Both the gateway and the caller may. */
  readonly adminAllowed: boolean
}

/** Decides what a call is, by the surface that it came in by: the method of another surface is as unknown as any. */
export function classify({
  family,
  surface,
  call,
  extraMethods,
  adminAllowed,
}: UnclassifiedRequest): ClassifiedRequest | GatewayError {
  if (family === 'multiversx' || (family === 'ethereum' && surface !== 'chain')) return UNKNOWN_METHOD
  const readParams = DEFAULT_LIST[surface].get(call.method)
  if (readParams !== undefined) {
    return surface === 'admin' && !adminAllowed ? ADMIN_FORBIDDEN : readParams(call.params)
  }
  if (!EXTRA_METHOD[surface].test(call.method) || !isAllowed(call.method, extraMethods)) return UNKNOWN_METHOD
  return {
    kind: 'operation',
    operation: extraOperation(call.method, call.params),
    // Many methods share this operation's name.
    canonical: `${call.method} ${call.params ?? '[]'}`,
  }
}

const HEALTH_METHODS = ['health.getLiveness', 'health.health', 'health.readiness', 'health.liveness'] as const

/** What every caller may ask, by surface. Names are case-sensitive (JSON-RPC 2.0, and every node). */
const DEFAULT_LIST: Readonly<Record<Surface, ReadonlyMap<string, ReadParams>>> = {
  chain: new Map([
    ['eth_getBlockByNumber', readBlockByNumber],
    ['eth_getTransactionByHash', readTransactionByHash],
    ['eth_blockNumber', noParams('eth_blockNumber', { kind: 'latest', shard: null })],
    ['eth_chainId', noParams('eth_chainId', { kind: 'any' })],
    ['net_version', noParams('net_version', { kind: 'any' })],
    ['web3_clientVersion', noParams('web3_clientVersion', { kind: 'any' })],
  ]),
  health: new Map(HEALTH_METHODS.map((name) => [name, healthParams(name)])),
  admin: new Map([['admin.alias', readAlias]]),
}

/**
 * The only names that a caller's `methods` can add, so that nothing else ever stands in what is sent: `namespace_method` to the
 * chain, `health.method` to the health API. Nothing to the admin API, which besides aliases reads the node's database and
 * configuration. Names that begin with `rpc.` are reserved (JSON-RPC 2.0, section 4.3) and match none of these.
 */
const EXTRA_METHOD: Readonly<Record<Surface, RegExp>> = {
  chain: /^[A-Za-z][A-Za-z0-9]{0,31}_[A-Za-z0-9_]{1,99}$/,
  health: /^health\.[A-Za-z][A-Za-z0-9]{0,99}$/,
  admin: /^(?!)/,
}

const UNKNOWN_METHOD = gatewayError('unknown-method', 'the method asked for does not exist, or is not allowed')
const ADMIN_FORBIDDEN = gatewayError('forbidden', 'admin.alias is not allowed')
