import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import type { EndpointView, NetworkView, StateView, StatusView } from '../../src/http/wire-status.ts'
import { count, duration } from './format.ts'
import { atHead, isTroubled, networksWorstFirst, tally, worstFirst } from './model.ts'
import type { Filter, Settings } from './view.ts'

export const METACHAIN = 4_294_967_295

/** Labels and sentences of the frame and the overview; each other view has its own in `words-<view>.ts`. */
export const WORDS = {
  states: {
    up: 'Up',
    degraded: 'Degraded',
    down: 'Down',
    maintenance: 'Maintenance',
    unknown: 'Unknown',
  } satisfies Record<StateView, string>,
  columns: {
    endpoint: 'Endpoint',
    height: 'Height',
    lag: 'Lag',
    beat: 'Heartbeat',
    failures: 'Failures',
    latency: 'p95, 1 h',
    day: 'Last 24 hours',
    available: '30 days',
  },
  places: {
    overview: 'Overview',
    incidents: 'Incidents',
    gateway: 'Gateway',
    notifications: 'Notifications',
    observer: 'Observer',
  },
  pages: 'Pages',
  skip: 'Skip to content',
  themes: { auto: 'Theme: system', light: 'Theme: light', dark: 'Theme: dark' } satisfies Record<
    Settings['theme'],
    string
  >,
  zones: { local: 'Times: local', utc: 'Times: UTC' } satisfies Record<Settings['zone'], string>,
  densities: { roomy: 'Density: comfortable', dense: 'Density: compact' } satisfies Record<Settings['density'], string>,
  filters: {
    all: 'All endpoints',
    troubled: 'Unhealthy',
    lagging: 'Lagging',
    flapping: 'Flapping',
  } satisfies Record<Filter, string>,
  filter: 'Show',
  search: 'Search (press /)',
  shown: (shown: number, of: number) => `${shown} of ${of} endpoints`,
  noMatch: 'No matching endpoints.',
  fold: (title: string) => `Collapse ${title}`,
  unfold: (title: string) => `Expand ${title}`,
  folded: (count: number) => `${count} ${count === 1 ? 'endpoint' : 'endpoints'} hidden`,
  feed: 'Incident feed',
  api: 'API',
  signIn: 'Sign in',
  signOut: 'Sign out',
  incidents: 'Open incidents',
  maintenance: 'Planned maintenance',
  flapping: 'flapping',
  since: 'for',
  until: (age: string) => `${age} left`,
  ahead: (age: string) => `in ${age}`,
  more: (count: number) => `and ${count} more`,
  atHead: 'at head',
  again: 'again',
  atHeadOf: (count: number, of: number) => `${count} of ${of} at head`,
  /** Of a halted chain, which has no current head. */
  atLastOf: (count: number, of: number) => `${count === of ? 'all' : `${count} of ${of}`} at the last block`,
  atHeadMeaning: 'Endpoints with a current head that are not lagging, stalled or forked',
  behind: (blocks: number) => `${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'} behind`,
  lastSeen: 'last seen',
  none: '–',
  notKnown: 'not known',
  notEnough: 'not enough data',
  coverage: (share: string) => `of ${share}`,
  coverageMeaning: (share: string) => `Data covers ${share} of the time`,
  halted: 'Chain halted',
  forked: 'Chain forked',
  blockAge: 'old',
  live: 'Live',
  polling: 'Live, every 5 s',
  asOf: (time: string) => `As of ${time}`,
  stale: (seconds: number) => `Stale for ${duration(seconds)}`,
  connecting: 'Connecting',
  staleVerdict: (time: string) => `Cannot reach Heartline. This page shows data from ${time}.`,
  waiting: 'The page that you opened follows as soon as Heartline is back.',
  ownTrouble: 'Heartline has a problem of its own; health states are still valid',
  impaired: 'Heartline is impaired; health states are not updated',
  metachain: 'metachain',
  shard: (shard: number) => `shard ${shard}`,
  strip: {
    label: (title: string) => `${title}, the last 24 hours`,
    none: 'no data',
    lag: (blocks: number) => `up to ${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'} behind`,
    latency: (text: string) => `p95 ${text}`,
    lasted: (state: string, text: string) => `${state} ${text}`,
  },
}

/** The state of all networks in one sentence; names those that are unhealthy. */
export function verdictSentence(status: StatusView): string {
  const { networks } = status
  if (networks.length === 0) return 'No endpoints are configured.'
  const troubled = networksWorstFirst(networks.filter((network) => isTroubled(network)))
  const [first, ...others] = troubled
  if (first === undefined) return calmSentence(status)
  const fine = networks.length - troubled.length
  const rest = fine === 0 ? '' : `; ${othersSentence(networks.filter((network) => !isTroubled(network)))}`
  return `${networkSentence(first)}${alsoIn(others)}${rest}.`
}

function calmSentence({ networks, state, observer }: StatusView): string {
  const endpoints = networks.flatMap(({ endpoints }) => endpoints)
  if (state === 'unknown') {
    const isPolled = !observer.impaired && endpoints.every(({ last_polled_at: at }) => at !== null)
    return `No data yet: the first ${isPolled ? 'answers are being confirmed' : 'polls are under way'}.`
  }
  if (state === 'maintenance') return 'Everything is in maintenance.'
  const total = endpoints.length
  const { up, maintenance, unknown } = tally(endpoints)
  if (up === total) return total === 1 ? 'The endpoint is up.' : `All ${total} endpoints are up.`
  const planned = maintenance === 0 ? '' : `; ${maintenance} ${maintenance === 1 ? 'is' : 'are'} in maintenance`
  return `${up} of ${total} endpoints are up${planned}${unknown > 0 ? '; the state of the others is unknown' : ''}.`
}

function othersSentence(fine: readonly NetworkView[]): string {
  const known = fine.every(({ state }) => state !== 'unknown')
  const which = fine.length === 1 ? 'the other network is' : `the other ${fine.length} networks are`
  return `${which} ${known ? 'at head' : 'not unhealthy'}`
}

const MOST_NAMED = 3

function alsoIn(others: readonly NetworkView[]): string {
  if (others.length === 0) return ''
  const [second] = others
  if (others.length === 1 && second !== undefined) return `; ${networkSentence(second)}`
  const named = others.slice(0, MOST_NAMED).map(({ title }) => title)
  const more = others.length - named.length
  if (more > 0) return `; also unhealthy: ${named.join(', ')} and ${more} more`
  return `; also unhealthy: ${named.slice(0, -1).join(', ')} and ${named.at(-1)}`
}

/** `is down: connection refused`. Prefers a condition that holds now and explains the incident's state. */
export function incidentSentence({ cause, state, flapping, conditions }: IncidentSummaryView): string {
  const holding = conditions.filter(({ until }) => until === null)
  const main = holding.find((condition) => condition.state === state) ?? holding[0] ?? conditions.at(-1)
  const why = main === undefined ? '' : `: ${main.message}`
  if (cause !== 'endpoint') return `${cause === 'halted' ? 'is halted' : 'is forked'}${why}`
  return `is ${flapping ? `flapping between up and ${state}` : state}${why}`
}

/** Whether the node or the chain is at fault, judged by the other endpoints; empty for an incident of the whole network. */
export function whoseFault({ cause, endpoint }: IncidentSummaryView, of: NetworkView | undefined): string {
  if (cause !== 'endpoint' || of === undefined || of.halted || of.forked) return ''
  const others = of.endpoints.filter(({ name }) => name !== endpoint)
  if (others.length === 0) return 'There is no other endpoint to compare with.'
  const healthy = atHead(others)
  if (healthy === 0) return 'No other endpoint is at head either.'
  if (healthy < others.length)
    return `Not the chain: ${healthy} of the other ${others.length} ${healthy === 1 ? 'is' : 'are'} at head.`
  return `Not the chain: the other ${healthy === 1 ? 'one is' : `${healthy} are`} at head.`
}

/** `Avalanche: Own node 1`, or the network's title alone. What is no longer configured has no title, so its name is used. */
export function titleOf({ networks }: StatusView, network: string, endpoints: readonly string[] | null): string {
  const of = networks.find(({ name }) => name === network)
  const title = of?.title ?? network
  if (endpoints === null) return title
  const titles = endpoints.map((one) => of?.endpoints.find(({ name }) => name === one)?.title ?? one)
  return `${title}: ${titles.join(', ')}`
}

function networkSentence({ title, endpoints, halted, forked }: NetworkView): string {
  if (halted) return `${title}: the chain is halted, no endpoint advances`
  if (forked) return `${title}: the endpoints disagree on the chain`
  const bad = worstFirst(endpoints).filter(({ state }) => state === 'down' || state === 'degraded')
  const [worst] = bad
  if (worst === undefined) return title
  const of = endpoints.length
  if (bad.length === 1) return `${title}: ${of === 1 ? worst.title : `1 of ${of} endpoints`} ${complaint(worst)}`
  const down = bad.filter(({ state }) => state === 'down').length
  const degraded = bad.length - down
  if (down === 0) return `${title}: ${degraded} of ${of} endpoints are degraded`
  if (degraded === 0) return `${title}: ${down === of ? `all ${of}` : `${down} of ${of}`} endpoints are down`
  return `${title}: ${down} of ${of} endpoints ${down === 1 ? 'is' : 'are'} down, ${degraded} degraded`
}

function complaint({ state, conditions }: EndpointView): string {
  const [worst] = conditions
  if (worst === undefined) return `is ${state}`
  // The messages of these conditions already imply the state.
  if (state === 'degraded') {
    if (worst.message.startsWith('is ')) return worst.message
    if (worst.code === 'lagging' && /^\d/.test(worst.message)) return `is ${worst.message}`
    if (worst.code === 'rate-limited') return 'is rate limited'
    if (worst.code === 'slow') return worst.message
  }
  return `is ${state}, ${worst.message}`
}
