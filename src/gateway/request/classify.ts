import type { Family } from '../../core/network.ts'
import type { Operation } from '../../core/routing/operation.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Call, ClassifiedRequest } from '../upstream-request.ts'
import type { ServedNetwork } from './admission.ts'
import { isAllowed } from './allowed-methods.ts'
import type { Caller } from './callers.ts'
import { extraOperation } from './extra-methods.ts'
import {
  healthParams,
  noParams,
  type ReadParams,
  readAlias,
  readBlockByNumber,
  readTransactionByHash,
} from './params.ts'
import type { RouteTarget, Surface } from './route.ts'

/** Classifies a call and checks whether its caller may make it. `adminEnabled`: the gateway allows admin callers. */
export function classifyCall(
  call: Call,
  caller: Caller,
  network: ServedNetwork,
  { kind, surface, endpoint }: RouteTarget,
  adminEnabled: boolean,
): ClassifiedRequest | GatewayError {
  const classified = classify({
    family: network.family,
    surface,
    call,
    extraMethods: caller.methods,
    adminAllowed: adminEnabled && caller.admin,
  })
  if (classified.kind !== 'operation' || endpoint === null) return classified
  if (!network.endpoints.has(endpoint)) return NO_SUCH_ENDPOINT
  const name = kind === 'alias' ? 'alias' : classified.operation.name
  return { ...classified, operation: { ...classified.operation, name, need: { kind: 'endpoint', endpoint } } }
}

export interface UnclassifiedRequest {
  readonly family: Family
  /** The surface of the route, or of the alias's target. */
  readonly surface: Surface
  readonly call: Call
  /** The caller's `methods`. */
  readonly extraMethods: readonly string[]
  readonly adminAllowed: boolean
}

/** Rejects methods of another surface as unknown. */
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
  // The text includes the method, because many methods share this operation.
  const canonical = `${call.method} ${call.params ?? '[]'}`
  if (surface === 'other-chain' && OTHER_CHAIN_READ.test(call.method)) {
    return { kind: 'operation', operation: OTHER_READ, canonical }
  }
  if (!EXTRA_METHOD[surface].test(call.method) || !isAllowed(call.method, extraMethods)) return UNKNOWN_METHOD
  return { kind: 'operation', operation: extraOperation(call.method, call.params), canonical }
}

const HEALTH_METHODS = ['health.getLiveness', 'health.health', 'health.readiness', 'health.liveness'] as const

const CHAIN_METHODS: ReadonlyMap<string, ReadParams> = new Map([
  ['eth_getBlockByNumber', readBlockByNumber],
  ['eth_getTransactionByHash', readTransactionByHash],
  ['eth_blockNumber', noParams('eth_blockNumber', { kind: 'latest', shard: null })],
  ['eth_chainId', noParams('eth_chainId', { kind: 'any' })],
  ['net_version', noParams('net_version', { kind: 'any' })],
  ['web3_clientVersion', noParams('web3_clientVersion', { kind: 'any' })],
])

/** The methods that every caller may use, by surface. Names are case-sensitive (JSON-RPC 2.0, and every node). */
const DEFAULT_LIST: Readonly<Record<Surface, ReadonlyMap<string, ReadParams>>> = {
  chain: CHAIN_METHODS,
  health: new Map(HEALTH_METHODS.map((name) => [name, healthParams(name)])),
  admin: new Map([['admin.alias', readAlias]]),
  'other-chain': CHAIN_METHODS,
}

/** Reads of the X-Chain, the P-Chain and other virtual machines, such as `avm.getUTXOs`; none needs the node's keystore. */
const OTHER_CHAIN_READ = /^(?!(?:admin|auth|ipcs|keystore|wallet)\.)[a-z][A-Za-z0-9]{0,31}\.get[A-Z][A-Za-z0-9]{0,99}$/

/**
 * Names that a caller's `methods` can add: `namespace_method`, `health.method`, other chains' `namespace.method`. The admin API is excluded because it
 * also reads the node's database and configuration, `rpc.*` because it is reserved (JSON-RPC 2.0, section 4.3).
 */
const EXTRA_METHOD: Readonly<Record<Surface, RegExp>> = {
  chain: /^[A-Za-z][A-Za-z0-9]{0,31}_[A-Za-z0-9_]{1,99}$/,
  health: /^health\.[A-Za-z][A-Za-z0-9]{0,99}$/,
  admin: /^(?!)/,
  'other-chain': /^(?!(?:admin|auth|ipcs|keystore|wallet)[._])[A-Za-z][A-Za-z0-9]{0,31}[._][A-Za-z0-9_]{1,99}$/,
}

const OTHER_READ: Operation = { name: 'other', need: { kind: 'any' }, isRead: true, absenceIsDoubtful: false }
// ethers recognises "the method … does not exist".
const UNKNOWN_METHOD = gatewayError('unknown-method', 'the method requested does not exist, or is not allowed')
const ADMIN_FORBIDDEN = gatewayError('forbidden', 'admin.alias is not allowed')
const NO_SUCH_ENDPOINT = gatewayError('bad-params', 'x-heartline-endpoint must name an endpoint of this network')
