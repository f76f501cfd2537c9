import type { IncomingMessage } from 'node:http'
import type { Family } from '../../core/network.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { Caller, Callers } from './callers.ts'
import { type GatewayPlaces, readTarget } from './request-target.ts'
import { type Route, readRoute } from './route.ts'

/** A network as requests see it. */
export interface ServedNetwork {
  readonly name: string
  readonly family: Family
  /** Of a MultiversX network; else empty. */
  readonly shards: readonly number[]
  /** The names that `x-heartline-endpoint` may give. */
  readonly endpoints: ReadonlySet<string>
}

/** What stands still while a request is judged. */
export interface AdmissionRules {
  readonly callers: Callers
  readonly networks: ReadonlyMap<string, ServedNetwork>
  readonly places: GatewayPlaces
}

/** In which form an error is told. */
export type Shape = 'rpc' | 'rest'

/** What is known of a request before its body is read. */
export type Admission = {
  /** `null` while nobody is known to ask. */
  readonly caller: Caller | null
  readonly network: ServedNetwork | null
  /** The origin to which a browser may show the answer; `null` without CORS. */
  readonly origin: string | null
} & (
  | {
      readonly kind: 'admitted'
      readonly caller: Caller
      readonly network: ServedNetwork
      readonly route: Route
      /** What follows the endpoint_id, and its query. */
      readonly rest: string
      readonly query: string | null
    }
  | { readonly kind: 'preflight'; readonly allow: string }
  | { readonly kind: 'turned-away'; readonly shape: Shape; readonly rejection: GatewayError }
)

/** Who asks, of which network and by which route; the body is not looked at. What is wrong first is what is told. */
export function admit(req: IncomingMessage, { callers, networks, places }: AdmissionRules): Admission {
  const { method = 'GET', headers } = req
  // Until it is known what they may use, callers learn nothing of it: not even which form a network's errors have.
  const shape: Shape = method === 'GET' || method === 'HEAD' ? 'rest' : 'rpc'
  if (req.rawHeaders.length > 2 * MOST_HEADERS) return turnedAway(null, null, null, shape, TOO_MANY_HEADERS)
  if (!hasOneHost(req)) return turnedAway(null, null, null, shape, NOT_ONE_HOST)
  if (!isPlainlyFramed(req)) return turnedAway(null, null, null, shape, CODED)
  const target = readTarget(req.url ?? '', headers.host, places)
  if (target.kind !== 'target') return turnedAway(null, null, null, shape, target)
  const caller = callers.find(target.endpointId)
  if (caller === null) return turnedAway(null, null, null, shape, UNAUTHORIZED)
  const origin = originOf(headers.origin, caller)
  const network = target.network === null ? undefined : networks.get(target.network)
  if (network === undefined || !caller.networks.has(network.name)) {
    return turnedAway(caller, null, origin, shape, OTHER_NETWORK)
  }
  const route = readRoute(network.family, target.rest, target.query)
  if (method === 'OPTIONS' && origin !== null && headers['access-control-request-method'] !== undefined) {
    return { kind: 'preflight', caller, network, origin, allow: 'allow' in route ? methodsOf(route) : 'POST' }
  }
  const form: Shape = network.family === 'multiversx' ? 'rest' : 'rpc'
  const waitMs = caller.bucket?.take(1) ?? 0
  if (waitMs > 0) return turnedAway(caller, network, origin, form, rateLimited(waitMs))
  if (!isRoute(route)) return turnedAway(caller, network, origin, form, route)
  if (method !== route.allow && !(method === 'HEAD' && route.allow === 'GET')) {
    const allow = methodsOf(route)
    return turnedAway(caller, network, origin, form, {
      kind: 'http-method',
      message: `use ${allow.replace(', ', ' or ')}`,
      allow,
    })
  }
  if (route.allow === 'POST' && !isPlainJson(headers)) return turnedAway(caller, network, origin, form, NO_JSON)
  return { kind: 'admitted', caller, network, origin, route, rest: target.rest, query: target.query }
}

export function rateLimited(waitMs: number): GatewayError {
  return { kind: 'rate-limited', message: 'rate limit reached', retryAfterMs: waitMs }
}

function turnedAway(
  caller: Caller | null,
  network: ServedNetwork | null,
  origin: string | null,
  shape: Shape,
  because: GatewayError,
): Admission {
  return { kind: 'turned-away', caller, network, origin, shape, rejection: because }
}

function isRoute(route: Route | GatewayError): route is Route {
  return route.kind === 'rpc' || route.kind === 'alias' || route.kind === 'rest'
}

function methodsOf(route: Route | GatewayError): string {
  return route.kind === 'rest' ? 'GET, HEAD' : 'POST'
}

/**
 * Two of them are two networks, and whoever is in front of us may have looked at the other (RFC 9112, section 3.2). HTTP/1.0 may
 * have none.
 */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0')
}

/** Chunks are undone before we see them, and in no other way may a body be coded on its way (RFC 9112, section 6.1). */
function isPlainlyFramed({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || (httpVersion === '1.1' && coding.toLowerCase() === 'chunked')
}

function originOf(origin: string | undefined, { origins }: Caller): string | null {
  if (origin === undefined || origins.size === 0) return null
  if (origins.has('*')) return '*'
  return origins.has(origin) ? origin : null
}

const JSON_TYPE = 'application/json'

/** The body is JSON as it stands: parameters say nothing (RFC 8259, section 11), and nothing is unpacked. */
function isPlainJson(headers: IncomingMessage['headers']): boolean {
  const type = headers['content-type']
  if (type === undefined) return false
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') return false
  if (type === JSON_TYPE) return true
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase() === JSON_TYPE
}

const UNAUTHORIZED = gatewayError('unauthorized', 'Authentication failed')
const OTHER_NETWORK = gatewayError('forbidden', 'this network is not allowed')
const NO_JSON = gatewayError('content-type', 'the content type must be application/json, and not encoded')
/** No client of ours sends a tenth of it. */
const MOST_HEADERS = 200
const TOO_MANY_HEADERS = gatewayError('no-request', `a request may have ${MOST_HEADERS} headers`)
const CODED = gatewayError('no-request', 'a body may come in chunks, and in no other transfer coding')
const NOT_ONE_HOST = gatewayError('no-request', 'a request must have one Host')
