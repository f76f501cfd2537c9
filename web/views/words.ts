import type { NetworkView, StateView, StatusView } from '../../src/http/wire/status.ts'
import { duration } from './format.ts'
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
    '': 'All endpoints',
    troubled: 'Unhealthy',
    lagging: 'Lagging',
    flapping: 'Flapping',
  } satisfies Record<Filter, string>,
  filter: 'Show',
  search: 'Search (press /)',
  shown: (shown: number, of: number) => `${shown} of ${of} endpoints`,
  noMatch: 'No matching endpoints.',
  clear: 'Clear filters',
  fold: (title: string) => `Collapse ${title}`,
  unfold: (title: string) => `Expand ${title}`,
  folded: (count: number) => `${count} ${count === 1 ? 'endpoint' : 'endpoints'} hidden`,
  palette: 'Go to (Ctrl+K)',
  help: 'Help (?)',
  runbooks: 'Runbooks',
  feed: 'Incident feed',
  api: 'API',
  metrics: 'Metrics',
  badge: 'Badge',
  signIn: 'Sign in',
  signOut: 'Sign out',
  flapping: 'flapping',
  unstable: 'Unstable',
  since: 'for',
  lasts: 'For',
  atHead: 'at head',
  /** Of a halted chain, which has no current head. */
  atLast: 'last block',
  otherBranch: 'other branch',
  again: 'again',
  runbook: 'What it means and what to do',
  atHeadOf: (count: number, of: number) => `${count} of ${of} at head`,
  /** Of a halted chain, which has no current head. */
  atLastOf: (count: number, of: number) => `${count === of ? 'all' : `${count} of ${of}`} at the last block`,
  atHeadMeaning: 'Endpoints with a current head that are not lagging, stalled or forked',
  atLastMeaning: 'Endpoints that have the last block of the halted chain',
  lastSeen: 'last seen',
  last: (text: string) => `Last ${text}`,
  days: (many: number) => (many === 1 ? 'Today' : `Last ${many} days`),
  none: '–',
  notKnown: 'not known',
  noData: 'no data yet',
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
  oldData: (time: string) => `Some of this page cannot be read at the moment. It is from ${time}.`,
  noResponse: 'Heartline does not respond.',
  waiting: 'The page that you opened follows as soon as Heartline is back.',
  ownTrouble: 'Heartline has a problem of its own; health states are still valid',
  impaired: 'Heartline is impaired; health states are not updated',
  ownView: (time: string, vantage: string) =>
    `The database cannot be reached since ${time}. This page shows only what ${vantage} sees.`,
  networksDiffer: 'The members of this cluster monitor different networks.',
  metachain: 'metachain',
  shard: (shard: number) => `shard ${shard}`,
  noPast: 'no data',
  p95: (text: string) => `p95 ${text}`,
}

/** `Avalanche: Own node 1`, or the network's title alone. What is no longer configured has no title, so its name is used. */
export function titleOf({ networks }: StatusView, network: string, endpoints: readonly string[] | null): string {
  const of = networks.find(({ name }) => name === network)
  const title = of?.title ?? network
  if (endpoints === null) return title
  const titles = endpoints.map((one) => of?.endpoints.find(({ name }) => name === one)?.title ?? one)
  return `${title}: ${titles.join(', ')}`
}

/** Of an endpoint that is 0 blocks behind. */
export function headWords(network: Pick<NetworkView, 'halted'> | undefined): string {
  return network?.halted ? WORDS.atLast : WORDS.atHead
}
