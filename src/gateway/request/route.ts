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
