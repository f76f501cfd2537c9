import type { Family } from '../../core/network.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { UpstreamPath } from '../upstream-request.ts'

/** The route of a request. `rest` and `query` are those of its `RequestTarget`; only REST routes take a query. */
export function readRoute(family: Family, rest: string, query: string | null): Route | GatewayError {
  switch (family) {
    case 'ethereum':
      if (rest !== '' && rest !== '/') return UNKNOWN_ROUTE
      return query === null ? CHAIN : NO_QUERY
    case 'avalanche': {
      const route = avalancheRoute(rest)
      return query === null || route === UNKNOWN_ROUTE ? route : NO_QUERY
    }
    case 'multiversx':
      return rest === '' || rest === '/' ? UNKNOWN_ROUTE : REST
  }
}

export type Route = RpcRoute | { readonly kind: 'rest'; readonly allow: 'GET' }

export type RpcRoute =
  | { readonly kind: 'rpc'; readonly allow: 'POST'; readonly surface: Surface; readonly to: UpstreamPath }
  /** Any other path below `/ext/`: `path` is an alias, perhaps followed by more segments. */
  | { readonly kind: 'alias'; readonly allow: 'POST'; readonly path: string }

/** The API of a JSON-RPC route: the network's chain, the node's health or admin API, or another chain behind an alias. */
export type Surface = 'chain' | 'health' | 'admin' | 'other-chain'

function avalancheRoute(rest: string): Route | GatewayError {
  switch (rest) {
    case '':
    case '/':
    case '/ext/bc/C/rpc':
      return CHAIN
    case '/ext/health':
      return HEALTH
    case '/ext/admin':
      return ADMIN
  }
  return rest.startsWith('/ext/') ? { kind: 'alias', allow: 'POST', path: rest.slice(5) } : UNKNOWN_ROUTE
}

const CHAIN: Route = { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }
const HEALTH: Route = { kind: 'rpc', allow: 'POST', surface: 'health', to: { kind: 'path', path: '/ext/health' } }
const ADMIN: Route = { kind: 'rpc', allow: 'POST', surface: 'admin', to: { kind: 'path', path: '/ext/admin' } }
const REST: Route = { kind: 'rest', allow: 'GET' }
const NO_QUERY = gatewayError('unknown-route', 'this route takes no query')
export const UNKNOWN_ROUTE = gatewayError('unknown-route', 'unknown route')

/** Where the calls of a JSON-RPC request are sent. */
export interface RouteTarget {
  readonly kind: 'rpc' | 'alias'
  readonly surface: Surface
  readonly to: UpstreamPath
  /** The only endpoint that may answer; `null` for any. */
  readonly endpoint: string | null
}

/** `path` is what follows `/ext/`. */
export interface AliasRoutes {
  resolve(network: string, path: string): RouteTarget | GatewayError
}

/** `pinned` is the endpoint that `x-heartline-endpoint` names. */
export function routeTargetOf(
  route: RpcRoute,
  network: string,
  pinned: string | null,
  aliases: AliasRoutes,
): RouteTarget | GatewayError {
  if (route.kind === 'alias') return aliases.resolve(network, route.path)
  const { surface, to } = route
  // The chain is the same at every endpoint; health and aliases are the node's own.
  return { kind: 'rpc', surface, to, endpoint: surface === 'chain' ? null : pinned }
}

export function isRouteTarget(target: RouteTarget | GatewayError): target is RouteTarget {
  return target.kind === 'rpc' || target.kind === 'alias'
}

/** Far above the longest route: an alias has at most 512 characters, an `endpoint_id` 128. */
const MAX_TARGET = 8192

/**
 * Splits a request target without decoding, trimming or normalising it, because parsers that read a path differently
 * can be used to bypass rules. Characters that no route needs are rejected from every caller.
 */
export function readTarget(
  url: string,
  host: string | undefined,
  networks: NetworkAddresses,
): RequestTarget | GatewayError {
  if (url.length > MAX_TARGET) return TOO_LONG
  const pathEnd = plainPathEnd(url)
  if (pathEnd < 0) return UNKNOWN_ROUTE
  const query = pathEnd < url.length ? url.slice(pathEnd + 1) : null
  if (query !== null && !isPlainQuery(query)) return UNKNOWN_ROUTE
  const { names, hosts, base = '' } = networks
  const byHost = hosts.size === 0 || host === undefined ? undefined : networkOfHost(host, hosts)
  if (byHost !== undefined) return targetAt(url, 1, pathEnd, byHost, query)
  const first = url.indexOf('/', 1)
  if (first === -1) return UNKNOWN_ROUTE
  // A proxy may have removed the base.
  const at = base === '' || names.has(url.slice(1, first)) || !url.startsWith(`${base}/`) ? 1 : base.length + 1
  const slash = at === 1 ? first : url.indexOf('/', at)
  if (slash === -1) return UNKNOWN_ROUTE
  const name = url.slice(at, slash)
  return targetAt(url, slash + 1, pathEnd, names.has(name) ? name : null, query)
}

/** How requests name the networks that are served. */
export interface NetworkAddresses {
  /** The first segment of the path, or of what follows `base`. */
  readonly names: ReadonlySet<string>
  /** The network of each Host, in lower case. */
  readonly hosts: ReadonlyMap<string, string>
  /** The path of `gateway.public_url`, which may come first: `/rpc`. */
  readonly base?: string
}

/** The parts of a request target, of which only the characters have been checked. */
export interface RequestTarget {
  readonly kind: 'target'
  /** `null` if unknown. The `endpoint_id` is checked even then: only valid callers may learn which networks exist. */
  readonly network: string | null
  readonly endpointId: string
  /** The path after the `endpoint_id`: '', '/' or a path such as `/ext/health`, exactly as sent. */
  readonly rest: string
  /** The query without its `?`. */
  readonly query: string | null
}

/**
 * `at` is the offset of the `endpoint_id`. Only the last segment can be empty here, and no query contains `/`. A
 * trailing slash is accepted only after the `endpoint_id`, where libraries append it to a base URL.
 */
function targetAt(
  url: string,
  at: number,
  pathEnd: number,
  network: string | null,
  query: string | null,
): RequestTarget | GatewayError {
  const slash = url.indexOf('/', at)
  const end = slash === -1 ? pathEnd : slash
  if (end === at || (url.charCodeAt(pathEnd - 1) === SLASH && end !== pathEnd - 1)) return UNKNOWN_ROUTE
  return { kind: 'target', network, endpointId: url.slice(at, end), rest: url.slice(end, pathEnd), query }
}

const SLASH = 47
const POINT = 46
const QUESTION = 63

/** A path may contain letters, digits and `-._~:`, a query also `=&,`. */
const IN_PATH = alphabet('-._~:')
const IN_QUERY = alphabet('-._~:=&,')

function alphabet(others: string): Uint8Array {
  const table = new Uint8Array(128)
  const letters = 'abcdefghijklmnopqrstuvwxyz'
  for (const character of `0123456789${letters}${letters.toUpperCase()}${others}`) table[character.charCodeAt(0)] = 1
  return table
}

/** The end offset of the path; -1 if a segment is `.` or `..`, has other characters, or is empty but not the last. */
function plainPathEnd(url: string): number {
  if (url.charCodeAt(0) !== SLASH) return -1
  let segment = 1
  for (let at = 1; at < url.length; at++) {
    const code = url.charCodeAt(at)
    if (code === QUESTION) return segment === at || isPlainSegment(url, segment, at) ? at : -1
    if (code === SLASH) {
      if (!isPlainSegment(url, segment, at)) return -1
      segment = at + 1
    } else if (IN_PATH[code] !== 1) return -1
  }
  return segment === url.length || isPlainSegment(url, segment, url.length) ? url.length : -1
}

function isPlainSegment(url: string, start: number, end: number): boolean {
  if (end - start > 2 || url.charCodeAt(start) !== POINT) return end > start
  return end - start === 2 && url.charCodeAt(start + 1) !== POINT
}

function isPlainQuery(query: string): boolean {
  for (let at = 0; at < query.length; at++) if (IN_QUERY[query.charCodeAt(at)] !== 1) return false
  return query !== ''
}

/** Host names are case-insensitive (RFC 4343); a port does not matter. */
function networkOfHost(host: string, hosts: ReadonlyMap<string, string>): string | undefined {
  const asSent = hosts.get(host)
  if (asSent !== undefined) return asSent
  const colon = host.indexOf(':')
  if (colon !== -1 && !isPort(host, colon + 1)) return undefined
  return hosts.get((colon === -1 ? host : host.slice(0, colon)).toLowerCase())
}

function isPort(host: string, at: number): boolean {
  for (let here = at; here < host.length; here++) {
    const code = host.charCodeAt(here)
    if (code < 48 || code > 57) return false
  }
  return host.length <= at + 5
}

const TOO_LONG = gatewayError('unknown-route', `the request target is longer than ${MAX_TARGET} characters`)
