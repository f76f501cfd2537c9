import { type GatewayError, gatewayError } from '../errors.ts'
import type { Call, ClassifiedRequest, UpstreamRequest } from '../upstream-request.ts'
import type { ServedNetwork } from './admission.ts'
import type { Caller } from './callers.ts'
import { classify } from './classify.ts'
import type { Route, Surface } from './route.ts'

/** Where calls of one request go. */
export interface RouteTarget {
  readonly surface: Surface
  readonly to: UpstreamRequest['to']
  /** The only endpoint that will do; `null` for any. */
  readonly endpoint: string | null
  readonly isAlias: boolean
}

/** Where an alias leads: to the endpoint that took it, and there to what its target is. */
export interface AliasRouteTarget {
  readonly kind: 'alias'
  readonly surface: Surface
  readonly endpoint: string
  readonly to: UpstreamRequest['to']
}

export interface AliasRoutes {
  /** `path` is what follows `/ext/`. */
  resolve(network: string, path: string): AliasRouteTarget | GatewayError
}

/** Of whom, of what network, and by which route. */
export interface RoutedRequest {
  readonly caller: Caller
  readonly network: ServedNetwork
  readonly route: Exclude<Route, { kind: 'rest' }>
  readonly rules: { readonly admin: boolean }
  /** The endpoint that `x-heartline-endpoint` names. */
  readonly pinned: string | null
}

export function routeTargetOf(
  { route, network, pinned }: RoutedRequest,
  aliases: AliasRoutes,
): RouteTarget | { refused: GatewayError } {
  if (route.kind === 'alias') {
    const place = aliases.resolve(network.name, route.path)
    return place.kind === 'alias' ? { ...place, isAlias: true } : { refused: place }
  }
  const { surface, to } = route
  // The chain is the same wherever it is asked; a node's health, and its aliases, are its own.
  return { surface, to, endpoint: surface === 'chain' ? null : pinned, isAlias: false }
}

/** What a call asks for there, and that it may. */
export function classifyCall(
  call: Call,
  { caller, network, rules }: RoutedRequest,
  place: RouteTarget,
): ClassifiedRequest | GatewayError {
  const { surface, endpoint, isAlias } = place
  const asked = classify({
    family: network.family,
    surface,
    call,
    extraMethods: caller.methods,
    adminAllowed: rules.admin && caller.admin,
  })
  if (asked.kind !== 'operation' || endpoint === null) return asked
  if (!network.endpoints.has(endpoint)) return NO_SUCH_ENDPOINT
  const name = isAlias ? 'alias' : asked.operation.name
  return { ...asked, operation: { ...asked.operation, name, need: { kind: 'endpoint', endpoint } } }
}

const NO_SUCH_ENDPOINT = gatewayError('bad-params', 'x-heartline-endpoint must name an endpoint of this network')
