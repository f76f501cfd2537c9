import type { IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import type { EndpointView, NetworkView, StateView, StatusEventView, StatusView } from '../../src/http/wire/status.ts'
import type { Model } from './view.ts'

/** Merges an event into the status: its networks and endpoints replace those of the same name. */
export function applyEvent(status: StatusView | null, event: StatusEventView): StatusView | null {
  const {
    complete,
    maintenance = status?.maintenance ?? [],
    announcements = status?.announcements ?? [],
    ...rest
  } = event
  const news = { ...rest, maintenance, announcements }
  if (complete) return news
  if (status === null) return null
  if (news.networks.length === 0) return { ...news, networks: status.networks }
  const changed = new Map(news.networks.map((network) => [network.name, network]))
  return { ...news, networks: status.networks.map((network) => merge(network, changed.get(network.name))) }
}

function merge(network: NetworkView, news: NetworkView | undefined): NetworkView {
  if (news === undefined) return network
  if (news.endpoints.length === 0) return { ...news, endpoints: network.endpoints }
  const changed = new Map(news.endpoints.map((endpoint) => [endpoint.name, endpoint]))
  return { ...news, endpoints: network.endpoints.map((endpoint) => changed.get(endpoint.name) ?? endpoint) }
}

/** Whether an incident is about an endpoint, alone or with others of its host or provider. */
export function concerns(
  { cause, endpoint, affected }: Pick<IncidentSummaryView, 'cause' | 'endpoint' | 'affected'>,
  name: string,
): boolean {
  return cause === 'outage' ? affected.includes(name) : endpoint === name
}

/** Merges a changed incident into the open ones, newest first. One that is part of another is not listed. */
export function applyIncident(
  open: readonly IncidentSummaryView[],
  news: IncidentSummaryView,
): readonly IncidentSummaryView[] {
  const others = open.filter(({ id }) => id !== news.id)
  if (hasEnded(news)) return others
  return [...others, news].sort((a, b) => Date.parse(b.opened_at) - Date.parse(a.opened_at))
}

/** Merges a changed incident into those that have ended, latest first: what a view has loaded shows them as open. */
export function applyEnd(
  ended: readonly IncidentSummaryView[],
  news: IncidentSummaryView,
): readonly IncidentSummaryView[] {
  const others = ended.filter(({ id }) => id !== news.id)
  return hasEnded(news) ? [news, ...others].slice(0, MOST_ENDED) : others
}

/** Views load again within seconds. */
const MOST_ENDED = 200

function hasEnded({ closed_at: closedAt, absorbed_by: absorbedBy }: IncidentSummaryView): boolean {
  return closedAt !== null || absorbedBy !== null
}

const BADNESS: Record<StateView, number> = { down: 0, degraded: 1, unknown: 2, maintenance: 3, up: 4 }

/** Worst first, with a flapping one before those that are up; equal states stay in configured order. */
export function worstFirst<T extends { readonly state: StateView; readonly flapping?: boolean }>(
  things: readonly T[],
): readonly T[] {
  const badness = ({ state, flapping }: T) => (state === 'up' && flapping ? BADNESS.unknown - 0.5 : BADNESS[state])
  return [...things].sort((a, b) => badness(a) - badness(b))
}

/**
 * Networks, worst first: down, a halted or forked chain, with down endpoints, degraded, unstable. Among alike ones, the
 * larger share of unhealthy endpoints is worse.
 */
export function networksWorstFirst(networks: readonly NetworkView[]): readonly NetworkView[] {
  const badness = new Map(networks.map((network) => [network, badnessOf(network)]))
  return [...networks].sort((a, b) => (badness.get(a) ?? 0) - (badness.get(b) ?? 0))
}

function badnessOf({ state, halted, forked, endpoints }: NetworkView): number {
  const share = (isOne: (endpoint: EndpointView) => boolean) =>
    endpoints.length === 0 ? 0 : endpoints.filter(isOne).length / endpoints.length
  const down = share((endpoint) => endpoint.state === 'down')
  const less = down * 0.2 + share(isUnhealthy) * 0.05
  if (state !== 'down' && (halted || forked)) return BADNESS.down + 0.3 - less
  if (state === 'degraded' && down > 0) return BADNESS.down + 0.6 - less
  return BADNESS[state] - less
}

/** In the order of others of the same names; new ones last. */
export function inOrderOf<T extends { readonly name: string }>(
  others: readonly { readonly name: string }[],
  things: readonly T[],
): readonly T[] {
  const places = new Map(others.map(({ name }, at) => [name, at]))
  const place = ({ name }: T) => places.get(name) ?? others.length
  return [...things].sort((a, b) => place(a) - place(b))
}

export function tally(endpoints: readonly Pick<EndpointView, 'state'>[]): Record<StateView, number> {
  const counts: Record<StateView, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
  for (const { state } of endpoints) counts[state]++
  return counts
}

/** The head of the shard that is furthest behind. */
export function worstHead(endpoint: Pick<EndpointView, 'heads'>): EndpointView['heads'][number] | undefined {
  return endpoint.heads.reduce<EndpointView['heads'][number] | undefined>(
    (worst, head) => (worst === undefined || (head.lag_blocks ?? -1) > (worst.lag_blocks ?? -1) ? head : worst),
    undefined,
  )
}

/** What tells how an endpoint is. */
export type Standing = Pick<EndpointView, 'state' | 'flapping' | 'incident'>

/** Up at the moment, with an open incident: it may be down in the next minute. */
export function isUnstable({ state, flapping, incident }: Standing): boolean {
  return state === 'up' && (flapping || incident !== null)
}

/** How an endpoint is drawn: one that is unstable must not look healthy. */
export function lookOf(endpoint: EndpointView): StateView {
  return isUnstable(endpoint) ? 'degraded' : endpoint.state
}

export function isHealthy(endpoint: EndpointView): boolean {
  return endpoint.state === 'up' && !isUnstable(endpoint)
}

/** Not because of maintenance, and known. */
export function isUnhealthy(endpoint: EndpointView): boolean {
  return endpoint.state === 'down' || endpoint.state === 'degraded' || isUnstable(endpoint)
}

/** Whether a network has a problem of its own or of an endpoint. */
export function isTroubled({ state, halted, forked, endpoints }: Marked): boolean {
  return state === 'down' || state === 'degraded' || halted || forked || endpoints.some(isUnstable)
}

const NOT_AT_HEAD = new Set<string>(['lagging', 'stalled', 'forked'])

/** Whether an endpoint is at head; `null` if heads are not visible. */
export function isAtHead({ state, heads, conditions }: EndpointView): boolean | null {
  if (conditions.some(({ code }) => NOT_AT_HEAD.has(code))) return false
  if (state === 'down' || state === 'unknown') return false
  if (heads.length === 0) return state === 'up' ? null : false
  return heads.every(({ lag_blocks: lag }) => lag !== null)
}

/** How many endpoints are at head; in the public view, how many are up. */
export function atHead(endpoints: readonly EndpointView[]): number {
  return endpoints.filter((endpoint) => isAtHead(endpoint) ?? endpoint.state === 'up').length
}

export interface Marked extends Pick<NetworkView, 'state' | 'halted' | 'forked'> {
  readonly endpoints: readonly Standing[]
}

/** Whether links to data and pictures of a network work, which send no token. */
export function isPublic({ publicNetworks }: Pick<Model, 'publicNetworks'>, network: string): boolean {
  return publicNetworks === undefined || publicNetworks.includes(network)
}

/** The state to display for networks: an unknown or unstable endpoint, or a halted or forked chain, must not look healthy. */
export function toneOf(state: StateView, networks: readonly Marked[]): StateView {
  if (state === 'down' || state === 'degraded') return state
  // The same state as that of the incident.
  if (networks.some(({ halted, forked }) => halted || forked)) return 'degraded'
  if (networks.some(({ endpoints }) => endpoints.some(isUnstable))) return 'degraded'
  const isAnyUnknown = networks.some(({ endpoints }) => endpoints.some((endpoint) => endpoint.state === 'unknown'))
  return state === 'up' && isAnyUnknown ? 'unknown' : state
}
