import type { BlocksView } from '../../src/http/wire-blocks.ts'
import type { GatewayView, RoutingView } from '../../src/http/wire-gateway.ts'
import type { HistoryView, PollsView, RulesView, StripsView } from '../../src/http/wire-history.ts'
import type { IncidentListView, IncidentSummaryView, IncidentView } from '../../src/http/wire-incidents.ts'
import type { OwnHealthView } from '../../src/http/wire-own-health.ts'
import type { EndpointView, NetworkView, StatusView } from '../../src/http/wire-status.ts'
import type { ChartGroup } from './chart-group.ts'
import type { TemplateResult } from './lit.ts'
import type { Route } from './route.ts'

/**
 * One view of the page, drawn by the daemon for the first paint and by the browser from then on, by the same pure function.
 * `load` asks for what the view needs besides the status, which every view has.
 */
export interface View<Data = unknown> {
  title(model: Model<Data>): string
  load(sources: Sources, route: Route, nowMs: number): Promise<Answer<Data>>
  draw(model: Model<Data>): TemplateResult
  /** How often the browser loads anew what `load` told; `null` where the status alone makes it live. */
  readonly refreshMs: number | null
  /** What `web/charts.ts` draws in its places, where it has any; the same object while nothing has changed. */
  charts?(model: Model<Data>): ChartGroup
  /** Whether it has a style sheet of its own, `web/views/<name>.css`. */
  readonly hasStyle: boolean
}

/** A view knows its data; whoever hands it a model has it from that view's own `load`. */
export function defineView<Data>(view: View<Data>): View {
  return view
}

export interface Model<Data = unknown> {
  readonly route: Route
  /** `null` until the daemon has answered once. */
  readonly status: StatusView | null
  /** Open ones, the newest first. */
  readonly incidents: readonly IncidentSummaryView[]
  readonly contact: Contact
  /**
   * The daemon's clock, as far as the last message tells it: a reader's wrong clock makes no age wrong. It stands still
   * while the page is stale: nobody knows whether what was so then is so still.
   */
  readonly nowMs: number
  readonly access: Access
  readonly settings: Settings
  /** Of this page's address, for whoever wants to quote it; only a browser knows it. */
  readonly origin?: string
  readonly data: Data
}

/** How well the page hears the daemon. A snapshot was written by the daemon, and hears nothing. */
export type Contact =
  | { readonly kind: 'snapshot' }
  | { readonly kind: 'connecting' }
  | { readonly kind: 'live'; readonly by: 'events' | 'polling' }
  | { readonly kind: 'stale'; readonly forSeconds: number }

/**
 * What the reader may see. `open`: there is no token, everything; `public`: names and states; `closed`: nothing;
 * `signed-in`: everything, by the token.
 */
export type Access = 'open' | 'public' | 'closed' | 'signed-in'

/** What the reader has chosen, kept by the browser. */
export interface Settings {
  readonly theme: 'auto' | 'light' | 'dark'
  readonly zone: 'local' | 'utc'
  readonly density: 'roomy' | 'dense'
  readonly filter: Filter
  readonly query: string
  /** Networks whose endpoints are folded away. */
  readonly folded: readonly string[]
}

export type Filter = 'all' | 'troubled' | 'lagging' | 'flapping'

export const DEFAULT_SETTINGS: Settings = {
  theme: 'auto',
  zone: 'local',
  density: 'roomy',
  filter: 'all',
  query: '',
  folded: [],
}

/** `missing`: there is no such thing. `locked`: it takes the token. `away`: it cannot be read now. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly why: 'missing' | 'locked' | 'away' }

/** What views can ask for: of the API in the browser, and in the daemon of what the API is made of. */
export interface Sources {
  network(name: string): Promise<Answer<NetworkView>>
  /** Who saw which of its last blocks when. */
  blocks(network: string): Promise<Answer<BlocksView>>
  /** Whom the gateway would ask now. */
  routing(network: string): Promise<Answer<RoutingView>>
  endpoint(network: string, endpoint: string): Promise<Answer<EndpointView>>
  history(of: HistoryQuery): Promise<Answer<HistoryView>>
  /** The first of them, where there are very many. */
  polls(of: Omit<HistoryQuery, 'stepSeconds'>): Promise<Answer<PollsView>>
  rules(network: string, endpoint: string): Promise<Answer<RulesView>>
  incidents(filter: IncidentQuery): Promise<Answer<IncidentListView>>
  incident(id: string): Promise<Answer<IncidentView>>
  /** As a text for people. */
  postMortem(id: string): Promise<Answer<string>>
  gateway(): Promise<Answer<GatewayView>>
  observer(): Promise<Answer<OwnHealthView>>
  /** The last 24 hours of every endpoint; `null` where they have yet to be worked out. */
  strips(): Promise<Answer<StripsView | null>>
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
  readonly limit?: number
  readonly cursor?: string
  /** Those that are part of this one, which are not listed otherwise. */
  readonly part_of?: string
}

/** For a view that needs nothing but the status. */
export async function loadNothing(): Promise<Answer<null>> {
  return { ok: true, value: null }
}
