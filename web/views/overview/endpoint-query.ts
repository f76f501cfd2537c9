import type { EndpointView, NetworkView } from '../../../src/http/wire/status.ts'
import { inOrderOf, isAtHead, isHealthy, worstFirst, worstHead } from '../model.ts'

/**
 * The endpoints of a network that the address asks for, in its order, as they were `before`. Loaded for an address that
 * asks for something.
 */
export function queried(
  network: NetworkView,
  query: Query,
  latencyOf: (endpoint: EndpointView) => number | null,
  before: readonly EndpointView[],
): readonly EndpointView[] {
  return inOrderOf(
    sorted(before, query, latencyOf),
    network.endpoints.filter((endpoint) => isWanted(network, endpoint, query)),
  )
}

/**
 * Whether an endpoint matches the search `q`, the filter `show` (a name, or `state:down`, `condition:lagging`), and its
 * `provider` and `label` (`region:fra`).
 */
export function isWanted(
  network: NetworkView,
  endpoint: EndpointView,
  { q = '', show = '', provider = '', label = '' }: Query,
): boolean {
  if (provider !== '' && endpoint.provider !== provider) return false
  if (label !== '' && !labelsOf(endpoint).includes(label)) return false
  return (q === '' || isFound(network, endpoint, q)) && isShown(endpoint, show)
}

function isFound(network: NetworkView, endpoint: EndpointView, q: string): boolean {
  const codes = endpoint.conditions.map(({ code }) => code)
  const text =
    `${network.title} ${network.name}/${endpoint.name} ${endpoint.title} ${endpoint.state} ${codes.join(' ')} ${endpoint.provider ?? ''} ${labelsOf(endpoint).join(' ')}`.toLowerCase()
  const words = q.toLowerCase().split(/\s+/)
  return words.every((word) => text.includes(word))
}

function isShown(endpoint: EndpointView, show: string): boolean {
  const [kind = '', value] = show.split(':')
  switch (kind) {
    case 'troubled':
      return !isHealthy(endpoint)
    case 'lagging':
      return isAtHead(endpoint) === false
    case 'flapping':
      return endpoint.flapping
    case 'state':
      return endpoint.state === value
    case 'condition':
      return endpoint.conditions.some(({ code }) => code === value)
    default:
      // An unknown filter, such as one of another version, hides nothing.
      return true
  }
}

/** `region:fra`, as in the address. */
export function labelsOf({ labels = {} }: EndpointView): readonly string[] {
  return Object.entries(labels).map(([name, value]) => `${name}:${value}`)
}

type Query = Readonly<Record<string, string>>

/** In the order that the address asks for; worst first by default. */
function sorted(
  endpoints: readonly EndpointView[],
  { sort = '' }: Query,
  latencyOf: (endpoint: EndpointView) => number | null,
): readonly EndpointView[] {
  const lag = (endpoint: EndpointView) => worstHead(endpoint)?.lag_blocks ?? -1
  switch (sort) {
    case 'lag':
      return endpoints.toSorted((a, b) => lag(b) - lag(a))
    case 'latency':
      return endpoints.toSorted((a, b) => (latencyOf(b) ?? -1) - (latencyOf(a) ?? -1))
    case 'unavailable':
      return endpoints.toSorted((a, b) => (a.availability['30d'].ratio ?? 1) - (b.availability['30d'].ratio ?? 1))
    case 'name':
      return endpoints.toSorted((a, b) => a.title.localeCompare(b.title))
    default:
      return worstFirst(endpoints)
  }
}
