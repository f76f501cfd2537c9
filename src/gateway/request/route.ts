import type { Family } from '../../core/network.ts'
import { type GatewayError, gatewayError } from '../errors.ts'
import type { UpstreamRequest } from '../upstream-request.ts'

/** Which calls belong here: those of the chain, of a node's health API, or of its admin API. */
export type Surface = 'chain' | 'health' | 'admin'

/** What is behind the `endpoint_id`, and by which HTTP method it is asked. */
export type Route =
  | { readonly kind: 'rpc'; readonly allow: 'POST'; readonly surface: Surface; readonly to: UpstreamRequest['to'] }
  /** Anything else below `/ext/`: `path` is what follows that, in which an alias may be what it begins with. */
  | { readonly kind: 'alias'; readonly allow: 'POST'; readonly path: string }
  /** To be read by `readRest`. */
  | { readonly kind: 'rest'; readonly allow: 'GET' }

/** `rest` and `query` are those of a `Target`. Only REST routes take a query. */
export function readRoute(family: Family, rest: string, query: string | null): Route | GatewayError {
  switch (family) {
    case 'ethereum':
      if (rest !== '' && rest !== '/') return UNKNOWN
      return query === null ? CHAIN : NO_QUERY
    case 'avalanche': {
      const route = avalancheRoute(rest)
      return query === null || route === UNKNOWN ? route : NO_QUERY
    }
    case 'multiversx':
      return rest === '' || rest === '/' ? UNKNOWN : REST
  }
}

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
  return rest.startsWith('/ext/') ? { kind: 'alias', allow: 'POST', path: rest.slice(5) } : UNKNOWN
}

const CHAIN: Route = { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }
const HEALTH: Route = { kind: 'rpc', allow: 'POST', surface: 'health', to: { kind: 'path', path: '/ext/health' } }
const ADMIN: Route = { kind: 'rpc', allow: 'POST', surface: 'admin', to: { kind: 'path', path: '/ext/admin' } }
const REST: Route = { kind: 'rest', allow: 'GET' }
const UNKNOWN = gatewayError('unknown-route', 'unknown route')
const NO_QUERY = gatewayError('unknown-route', 'this route takes no query')
