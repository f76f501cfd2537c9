import type { BlocksView } from '../../src/http/wire/blocks.ts'
import type { GatewayView, RoutingView } from '../../src/http/wire/gateway.ts'
import type { DaysView, HistoryView, PollsView, RulesView, StripsView } from '../../src/http/wire/history.ts'
import type { IncidentListView, IncidentSummaryView, IncidentView } from '../../src/http/wire/incidents.ts'
import type { NotificationsView } from '../../src/http/wire/notifications.ts'
import type { OwnHealthView } from '../../src/http/wire/own-health.ts'
import type { SilencesView } from '../../src/http/wire/silences.ts'
import type { EndpointView, NetworkView, StatusView } from '../../src/http/wire/status.ts'
import type { ChartGroup } from './charts/chart-group.ts'
import type { TemplateResult } from './lit.ts'
import type { Route } from './route.ts'

/**
 * One view of the page: a pure function that the daemon uses for the first paint and the browser from then on.
 * `load` loads what the view needs in addition to the status, which every view gets.
 */
export interface View<Data = unknown> {
  title(model: Model<Data>): string
  load(sources: Sources, route: Route, nowMs: number, zone?: Settings['zone']): Promise<Answer<Data>>
  /**
   * Loads code that only this model needs, such as that of open incidents; `null` if all of it is there. Before the browser's
   * first drawing it leaves out what `web/take-over.ts` keeps as the daemon drew it.
   */
  prepare?(model: Model<Data>, isFirst?: boolean): Promise<unknown> | null
  draw(model: Model<Data>): TemplateResult
  /** How often the browser calls `load` again; `null` if the view only needs the status. */
  readonly refreshMs: number | null
  /** The charts that `web/charts.ts` draws; must be the same object until something changes. */
  charts?(model: Model<Data>): ChartGroup
  /** Whether there is a `<name>.css` beside it. */
  readonly hasStyle: boolean
  /** A style sheet of `web/views/` that only this model needs. */
  styleOf?(model: Model<Data>): string | null
}

/** Hides the data type of a view. Safe because a view only gets data from its own `load`. */
export function defineView<Data>(view: View<Data>): View {
  return view
}

export interface Model<Data = unknown> {
  readonly route: Route
  /** `null` until the first response of the daemon. */
  readonly status: StatusView | null
  /** What endpoints and incidents are ordered by: earlier ones while the reader is among them. */
  readonly orderedBy?: Pick<Model, 'status' | 'incidents'>
  /** Open incidents, newest first. */
  readonly incidents: readonly IncidentSummaryView[]
  /** Incidents that events have closed, or made part of others. */
  readonly ended?: readonly IncidentSummaryView[]
  readonly contact: Contact
  /**
   * The daemon's clock by its last message, so that a wrong clock of the browser makes no age wrong. It stops while the
   * page is stale.
   */
  readonly nowMs: number
  readonly access: Access
  /** The networks that can be read without the token, as links and pictures are; absent: all. */
  readonly publicNetworks?: readonly string[]
  readonly settings: Settings
  /** The configured name of the page, and whether it has a logo. */
  readonly brand: { readonly title: string; readonly hasLogo: boolean }
  /** The daemon's. */
  readonly version?: string
  /** The origin of the page's address, for embed code; only known in the browser. */
  readonly origin?: string
  /** Whether a link was followed that cannot be opened until the daemon is back. */
  readonly isWaiting?: boolean
  /** When `data` was loaded, if it could not be loaded again since, though the daemon is there. */
  readonly oldSinceMs?: number
  readonly data: Data
}

/** The connection to the daemon. A snapshot is the daemon's own first paint. */
export type Contact =
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly by: 'events' | 'polling' }
  | { readonly kind: 'stale'; readonly forSeconds: number }

/**
 * What the user may see. `open`: everything, no token is configured. `public`: names and states. `closed`: nothing.
 * `signed-in`: everything.
 */
export type Access = 'open' | 'public' | 'closed' | 'signed-in'

/** The user's settings. */
export interface Settings {
  readonly theme: 'auto' | 'light' | 'dark'
  readonly zone: 'local' | 'utc'
  readonly density: 'roomy' | 'dense'
  /** `auto`: a wall above 40 endpoints. */
  readonly layout: Layout | 'auto'
  /** Collapsed networks. */
  readonly folded: readonly string[]
  /** Filters of the overview, as in its address: `show=state%3Adown`. */
  readonly saved: readonly string[]
}

export type Layout = 'list' | 'wall'
export type Filter = '' | 'troubled' | 'lagging' | 'flapping'
export type Sorting = 'state' | 'lag' | 'latency' | 'unavailable' | 'name'

export const DEFAULT_SETTINGS: Settings = {
  theme: 'auto',
  zone: 'local',
  density: 'roomy',
  layout: 'auto',
  folded: [],
  saved: [],
}

/** `missing`: does not exist. `locked`: needs the token. `away`: cannot be read at the moment. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: 'missing' | 'locked' | 'away' }

/** The data that views can load: in the browser from the API, in the daemon from the code behind the API. */
export interface Sources {
  network(name: string): Promise<Answer<NetworkView>>
  /** When each endpoint had each of the last blocks. */
  blocks(network: string): Promise<Answer<BlocksView>>
  /** The gateway's current routing order. */
  routing(network: string): Promise<Answer<RoutingView>>
  endpoint(network: string, endpoint: string): Promise<Answer<EndpointView>>
  history(of: HistoryQuery): Promise<Answer<HistoryView>>
  /** Only the first polls, if there are very many. */
  polls(of: Omit<HistoryQuery, 'stepSeconds'>): Promise<Answer<PollsView>>
  rules(network: string, endpoint: string): Promise<Answer<RulesView>>
  incidents(filter: IncidentQuery): Promise<Answer<IncidentListView>>
  incident(id: string): Promise<Answer<IncidentView>>
  /** The post-mortem as text, with times of the zone; UTC by default. */
  postMortem(id: string, zone?: Settings['zone']): Promise<Answer<string>>
  /** Markdown, by the name of an alert or a condition. */
  runbook(name: string): Promise<Answer<string>>
  gateway(): Promise<Answer<GatewayView>>
  observer(): Promise<Answer<OwnHealthView>>
  notifications(): Promise<Answer<NotificationsView>>
  /** Those that hold now. */
  silences(): Promise<Answer<SilencesView>>
  /** The last 24 hours of every endpoint; `null` until they are computed. */
  strips(): Promise<Answer<StripsView | null>>
  /** The last 90 days of every endpoint; `null` until they are read. */
  days(): Promise<Answer<DaysView | null>>
  /** The same for the public, whose overview shows days; `null` for others. */
  publicDays(): Promise<Answer<DaysView | null>>
}

export interface HistoryQuery {
  readonly network: string
  readonly endpoint: string
  readonly fromMs: number
  readonly toMs: number
  readonly stepSeconds: number
}

export interface IncidentQuery {
  readonly network?: string
  readonly endpoint?: string
  readonly open?: boolean
  /** Unix seconds: incidents that were open in this time. */
  readonly from?: number
  readonly to?: number
  readonly condition?: string
  readonly limit?: number
  readonly cursor?: string
  /** Incidents that are part of this one, which are not listed otherwise. */
  readonly part_of?: string
}
