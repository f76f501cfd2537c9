import type { IncomingMessage } from 'node:http'
import type { Family } from '../../core/network.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Caller, Callers } from './callers.ts'
import { isChunked } from './request-body.ts'
import { type NetworkAddresses, type Route, readRoute, readTarget } from './route.ts'

/** Identifies caller, network and route from the request head, and admits the request or reports the first fault. */
export function admit(req: IncomingMessage, { callers, networks, addresses }: AdmissionRules): Admission {
  const { method = 'GET', headers } = req
  // Until the caller is known, not even the error format of a network is revealed.
  const unknown = { caller: null, network: null, origin: null, format: formatOf(method) }
  const fault = headFault(req)
  if (fault !== null) return rejected(unknown, fault)
  const target = readTarget(req.url ?? '', headers.host, addresses)
  if (target.kind !== 'target') return rejected(unknown, target)
  const caller = callers.find(target.endpointId)
  if (caller === null) return rejected(unknown, UNAUTHORIZED)
  const origin = allowedOrigin(headers.origin, caller)
  const network = target.network === null ? undefined : networks.get(target.network)
  if (network === undefined || !caller.networks.has(network.name)) {
    return rejected({ ...unknown, caller, origin }, OTHER_NETWORK)
  }
  const route = readRoute(network.family, target.rest, target.query)
  if (method === 'OPTIONS' && origin !== null && headers['access-control-request-method'] !== undefined) {
    return { kind: 'preflight', caller, network, origin, allow: 'allow' in route ? methodsOf(route) : 'POST' }
  }
  const known = { caller, network, origin, format: network.family === 'multiversx' ? 'rest' : 'rpc' } as const
  const waitMs = caller.rateLimiter?.take(1) ?? 0
  if (waitMs > 0) return rejected(known, rateLimited(waitMs))
  if (!isRoute(route)) return rejected(known, route)
  if (method !== route.allow && !(method === 'HEAD' && route.allow === 'GET')) {
    const allow = methodsOf(route)
    return rejected(known, { kind: 'http-method', message: `use ${allow.replace(', ', ' or ')}`, allow })
  }
  if (route.allow === 'POST' && !isPlainJson(headers)) return rejected(known, NOT_JSON)
  return { kind: 'admitted', caller, network, origin, route, rest: target.rest, query: target.query }
}

export interface AdmissionRules {
  readonly callers: Callers
  readonly networks: ReadonlyMap<string, ServedNetwork>
  readonly addresses: NetworkAddresses
}

export interface ServedNetwork {
  readonly name: string
  readonly family: Family
  /** Empty except for MultiversX. */
  readonly shards: readonly number[]
  /** The names that `x-heartline-endpoint` may take. */
  readonly endpoints: ReadonlySet<string>
}

export type Admission =
  | (Requester & {
      readonly kind: 'admitted'
      readonly caller: Caller
      readonly network: ServedNetwork
      readonly route: Route
      /** The path after the endpoint_id. */
      readonly rest: string
      readonly query: string | null
    })
  | (Requester & { readonly kind: 'preflight'; readonly allow: string })
  | (Requester & { readonly kind: 'rejected'; readonly format: ErrorFormat; readonly rejection: GatewayError })

interface Requester {
  /** `null` if the endpoint_id is wrong. */
  readonly caller: Caller | null
  readonly network: ServedNetwork | null
  /** The origin whose pages may read the answer; `null` without CORS. */
  readonly origin: string | null
}

export type ErrorFormat = 'rpc' | 'rest'

export function rateLimited(waitMs: number): GatewayError {
  return { kind: 'rate-limited', message: 'rate limit reached', retryAfterMs: waitMs }
}

function rejected(requester: Requester & { readonly format: ErrorFormat }, rejection: GatewayError): Admission {
  const { caller, network, origin, format } = requester
  return { kind: 'rejected', caller, network, origin, format, rejection }
}

function formatOf(method: string): ErrorFormat {
  return method === 'GET' || method === 'HEAD' ? 'rest' : 'rpc'
}

function isRoute(route: Route | GatewayError): route is Route {
  return route.kind === 'rpc' || route.kind === 'alias' || route.kind === 'rest'
}

function methodsOf(route: Route | GatewayError): string {
  return route.kind === 'rest' ? 'GET, HEAD' : 'POST'
}

/** Rejects a head that another parser could read differently. */
export function headFault(req: IncomingMessage): GatewayError | null {
  if (req.rawHeaders.length > 2 * MAX_HEADERS) return TOO_MANY_HEADERS
  if (!hasOneHost(req)) return NOT_ONE_HOST
  return req.headers['transfer-encoding'] === undefined || isChunked(req) ? null : TRANSFER_ENCODED
}

/** Two Host headers may select two networks, and a proxy may have used the other one (RFC 9112, section 3.2). */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

function allowedOrigin(origin: string | undefined, { origins }: Caller): string | null {
  if (origin === undefined || origins.size === 0) return null
  if (origins.has('*')) return '*'
  return origins.has(origin) ? origin : null
}

const JSON_TYPE = 'application/json'

/** Parameters of the type are ignored (RFC 8259, section 11); compressed bodies are not supported. */
function isPlainJson(headers: IncomingMessage['headers']): boolean {
  const type = headers['content-type']
  if (type === undefined) return false
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false
  if (type === JSON_TYPE) return true
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase() === JSON_TYPE
}

/** Clients send a tenth of it. */
const MAX_HEADERS = 200
const UNAUTHORIZED = gatewayError('unauthorized', 'Authentication failed')
const OTHER_NETWORK = gatewayError('forbidden', 'this network is not allowed')
const NOT_JSON = gatewayError('content-type', 'content-type must be application/json, without content-encoding')
const TOO_MANY_HEADERS = gatewayError('no-request', `a request may have at most ${MAX_HEADERS} headers`)
const TRANSFER_ENCODED = gatewayError('no-request', 'only "chunked" transfer-encoding is supported')
const NOT_ONE_HOST = gatewayError('no-request', 'exactly one Host header is required')
