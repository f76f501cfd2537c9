import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import type {
  EndpointView,
  MaintenanceView,
  NetworkView,
  StateView,
  StatusEventView,
  StatusView,
} from '../../src/http/wire-status.ts'
import type { Settings } from './view.ts'

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

/** Merges a changed incident into the open ones, newest first. One that is part of another is not listed. */
export function applyIncident(
  open: readonly IncidentSummaryView[],
  news: IncidentSummaryView,
): readonly IncidentSummaryView[] {
  const others = open.filter(({ id }) => id !== news.id)
  if (news.closed_at !== null || news.absorbed_by !== null) return others
  return [...others, news].sort((a, b) => Date.parse(b.opened_at) - Date.parse(a.opened_at))
}

/** Running maintenance, and the next occurrence of each window. The daemon sends them ordered by time. */
export function planAt(
  maintenance: readonly MaintenanceView[],
  nowMs: number,
): { readonly running: readonly MaintenanceView[]; readonly ahead: readonly MaintenanceView[] } {
  const left = maintenance.filter(({ until }) => Date.parse(until) > nowMs)
  const later = left.filter(({ from }) => Date.parse(from) > nowMs)
  const next = new Map(later.toReversed().map((period) => [`${period.network}/${period.name}`, period]))
  return {
    running: left.filter(({ from }) => Date.parse(from) <= nowMs),
    ahead: later.filter((period) => next.get(`${period.network}/${period.name}`) === period),
  }
}

const BADNESS: Record<StateView, number> = { down: 0, degraded: 1, unknown: 2, maintenance: 3, up: 4 }

/** Worst first; equal states stay in configured order. */
export function worstFirst<T extends { readonly state: StateView }>(things: readonly T[]): readonly T[] {
  return [...things].sort((a, b) => BADNESS[a.state] - BADNESS[b.state])
}

/**
 * Networks, worst first. Among degraded networks, one with a down endpoint is worse, and a halted or forked chain is
 * worse than both.
 */
export function networksWorstFirst(networks: readonly NetworkView[]): readonly NetworkView[] {
  return [...networks].sort((a, b) => badnessOf(a) - badnessOf(b))
}

function badnessOf({ state, halted, forked, endpoints }: NetworkView): number {
  if (state !== 'down' && (halted || forked)) return BADNESS.down + 0.1
  if (state === 'degraded' && endpoints.some((endpoint) => endpoint.state === 'down')) return BADNESS.down + 0.2
  return BADNESS[state]
}

export function tally(endpoints: readonly EndpointView[]): Record<StateView, number> {
  const counts: Record<StateView, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
  for (const { state } of endpoints) counts[state]++
  return counts
}

/** The head of the shard that is furthest behind. */
export function worstHead(endpoint: EndpointView): EndpointView['heads'][number] | undefined {
  return endpoint.heads.reduce<EndpointView['heads'][number] | undefined>(
    (worst, head) => (worst === undefined || (head.lag_blocks ?? -1) > (worst.lag_blocks ?? -1) ? head : worst),
    undefined,
  )
}

/** Unhealthy, and not because of maintenance. */
export function isTroubled({ state, halted, forked }: Pick<NetworkView, 'state' | 'halted' | 'forked'>): boolean {
  return state === 'down' || state === 'degraded' || halted || forked
}

const NOT_AT_HEAD = new Set<string>(['lagging', 'stalled', 'forked'])

/** Whether an endpoint is at head; `null` if heads are not visible. */
function isAtHead({ state, heads, conditions }: EndpointView): boolean | null {
  if (conditions.some(({ code }) => NOT_AT_HEAD.has(code))) return false
  if (state === 'down' || state === 'unknown') return false
  if (heads.length === 0) return state === 'up' ? null : false
  return heads.every(({ lag_blocks: lag }) => lag !== null)
}

/** How many endpoints are at head; in the public view, how many are up. */
export function atHead(endpoints: readonly EndpointView[]): number {
  return endpoints.filter((endpoint) => isAtHead(endpoint) ?? endpoint.state === 'up').length
}

/** Whether an endpoint matches the filter and the search. */
export function isWanted(network: NetworkView, endpoint: EndpointView, { filter, query }: Wish): boolean {
  const words = query.toLowerCase().split(/\s+/)
  const text = `${network.title} ${network.name} ${endpoint.title} ${endpoint.name} ${endpoint.state}`.toLowerCase()
  if (!words.every((word) => text.includes(word))) return false
  switch (filter) {
    case 'all':
      return true
    case 'troubled':
      return endpoint.state !== 'up'
    case 'lagging':
      return isAtHead(endpoint) === false
    case 'flapping':
      return endpoint.flapping
  }
}

type Wish = Pick<Settings, 'filter' | 'query'>

type Marked = Pick<NetworkView, 'state' | 'halted' | 'forked' | 'endpoints'>

/** The state to display for networks: an unknown endpoint, or a halted or forked chain, must not look healthy. */
export function toneOf(state: StateView, networks: readonly Marked[]): StateView {
  if (state === 'down' || state === 'degraded') return state
  // The same state as that of the incident.
  if (networks.some(({ halted, forked }) => halted || forked)) return 'degraded'
  const isAnyUnknown = networks.some(({ endpoints }) => endpoints.some((endpoint) => endpoint.state === 'unknown'))
  return state === 'up' && isAnyUnknown ? 'unknown' : state
}
