import type { IncidentSummaryView } from '../../src/http/wire-incidents.ts'
import type { EndpointView, NetworkView, StateView, StatusView } from '../../src/http/wire-status.ts'
import { count, duration } from './format.ts'
import { atHead, isTroubled, networksWorstFirst, tally, worstFirst } from './model.ts'
import type { Filter, Settings } from './view.ts'

export const METACHAIN = 4_294_967_295

/** Every sentence and label of the frame and the overview; a view has its own in `words-<view>.ts`. */
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
  places: { overview: 'Overview', incidents: 'Incidents', gateway: 'Gateway', observer: 'Observer' },
  pages: 'Pages',
  skip: 'To the content',
  themes: { auto: 'Colours: as the system', light: 'Colours: light', dark: 'Colours: dark' } satisfies Record<
    Settings['theme'],
    string
  >,
  zones: { local: 'Times: local', utc: 'Times: UTC' } satisfies Record<Settings['zone'], string>,
  densities: { roomy: 'Rows: roomy', dense: 'Rows: dense' } satisfies Record<Settings['density'], string>,
  filters: {
    all: 'All endpoints',
    troubled: 'Not well',
    lagging: 'Lagging',
    flapping: 'Flapping',
  } satisfies Record<Filter, string>,
  filter: 'Show',
  search: 'Search (press /)',
  shown: (shown: number, of: number) => `${shown} of ${of} endpoints`,
  nobody: 'No endpoint is like that.',
  fold: (title: string) => `Fold ${title}`,
  unfold: (title: string) => `Unfold ${title}`,
  folded: (count: number) => `${count} ${count === 1 ? 'endpoint' : 'endpoints'} folded away`,
  feed: 'Feed of incidents',
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
  /** Where there is no newer block to be had, nobody is at a head that goes on. */
  atLastOf: (count: number, of: number) => `${count === of ? 'all' : `${count} of ${of}`} at the last block`,
  atHeadMeaning: 'With a current head, and neither lagging, stalled nor forked',
  behind: (blocks: number) => `${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'} behind`,
  lastSeen: 'last seen',
  none: '–',
  notTold: 'not known',
  notEnough: 'not enough data',
  coverage: (share: string) => `of ${share}`,
  coverageMeaning: (share: string) => `Known for ${share} of the time`,
  older: 'Older ones',
  asText: 'As text',
  observerWell: 'Heartline is well.',
  noGateway: 'The gateway is not enabled.',
  halted: 'Chain halted',
  forked: 'Chain forked',
  blockAge: 'old',
  live: 'Live',
  polling: 'Live, every 5 s',
  asOf: (time: string) => `As of ${time}`,
  stale: (seconds: number) => `Stale for ${duration(seconds)}`,
  connecting: 'Connecting',
  staleVerdict: 'No contact with Heartline. What follows is what it said last.',
  ownTrouble: 'Heartline has trouble of its own, its verdicts still count',
  impaired: 'Heartline itself is impaired, so its verdicts wait',
  metachain: 'metachain',
  shard: (shard: number) => `shard ${shard}`,
  strip: {
    label: (title: string) => `${title}, the last 24 hours`,
    none: 'nothing is known',
    lag: (blocks: number) => `at most ${count(blocks)} ${blocks === 1 ? 'block' : 'blocks'} behind`,
    latency: (text: string) => `p95 ${text}`,
    lasted: (state: string, text: string) => `${state} ${text}`,
  },
}

/** The whole in one sentence, with the names of the networks that are not well. */
export function verdictSentence(status: StatusView): string {
  const { networks } = status
  if (networks.length === 0) return 'Nothing is configured to be watched.'
  const troubled = networksWorstFirst(networks.filter((network) => isTroubled(network)))
  const [first, ...others] = troubled
  if (first === undefined) return calmSentence(status)
  const fine = networks.length - troubled.length
  const rest = fine === 0 ? '' : `; ${othersSentence(networks.filter((network) => !isTroubled(network)))}`
  return `${networkSentence(first)}${alsoIn(others)}${rest}.`
}

function calmSentence({ networks, state, observer }: StatusView): string {
  const everybody = networks.flatMap(({ endpoints }) => endpoints)
  if (state === 'unknown') {
    const isPolled = !observer.impaired && everybody.every(({ last_polled_at: at }) => at !== null)
    return `Nothing is known yet: the first ${isPolled ? 'answers are being confirmed' : 'polls are under way'}.`
  }
  if (state === 'maintenance') return 'Everything is in maintenance.'
  const total = everybody.length
  const { up, maintenance, unknown } = tally(everybody)
  if (up === total) return total === 1 ? 'The one endpoint is up.' : `All ${total} endpoints are up.`
  const planned = maintenance === 0 ? '' : `; ${maintenance} ${maintenance === 1 ? 'is' : 'are'} in maintenance`
  return `${up} of ${total} endpoints are up${planned}${unknown > 0 ? '; the others are not known' : ''}.`
}

function othersSentence(fine: readonly NetworkView[]): string {
  const known = fine.every(({ state }) => state !== 'unknown')
  const which = fine.length === 1 ? 'the other network is' : `the other ${fine.length} networks are`
  return `${which} ${known ? 'at head' : 'not in trouble'}`
}

const MOST_NAMED = 3

function alsoIn(others: readonly NetworkView[]): string {
  if (others.length === 0) return ''
  const [second] = others
  if (others.length === 1 && second !== undefined) return `; ${networkSentence(second)}`
  const named = others.slice(0, MOST_NAMED).map(({ title }) => title)
  const more = others.length - named.length
  if (more > 0) return `; trouble in ${named.join(', ')} and ${more} more too`
  return `; trouble in ${named.slice(0, -1).join(', ')} and ${named.at(-1)} too`
}

/** An incident in words: `is down: connection refused`. Of the worst reasons that hold, the first; none may hold just now. */
export function incidentSentence({ cause, state, flapping, conditions }: IncidentSummaryView): string {
  const holding = conditions.filter(({ until }) => until === null)
  const main = holding.find((condition) => condition.state === state) ?? holding[0] ?? conditions.at(-1)
  const why = main === undefined ? '' : `: ${main.message}`
  if (cause !== 'endpoint') return `${cause === 'halted' ? 'is halted' : 'is forked'}${why}`
  return `is ${state}${flapping ? ' on and off' : ''}${why}`
}

/** Whether it is the node or the chain, as far as the others tell; nothing where the incident is of the whole network. */
export function whoseFault({ cause, endpoint }: IncidentSummaryView, of: NetworkView | undefined): string {
  if (cause !== 'endpoint' || of === undefined || of.halted || of.forked) return ''
  const others = of.endpoints.filter(({ name }) => name !== endpoint)
  if (others.length === 0) return 'No other endpoint tells whether it is the chain.'
  const well = atHead(others)
  if (well === 0) return 'No other endpoint is at head either.'
  if (well < others.length)
    return `Not the chain: ${well} of the other ${others.length} ${well === 1 ? 'is' : 'are'} at head.`
  return `Not the chain: the other ${well === 1 ? 'one is' : `${well} are`} at head.`
}

/** As people call them: `Avalanche: Own node 1`, or the network alone; by name what is no longer configured. */
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
  // What these say makes the state plain.
  if (state === 'degraded') {
    if (worst.code === 'lagging') return worst.message.startsWith('is ') ? worst.message : `is ${worst.message}`
    if (worst.code === 'rate-limited') return 'is rate limited'
    if (worst.code === 'slow') return worst.message
  }
  return `is ${state}, ${worst.message}`
}
