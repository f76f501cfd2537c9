import type { HistoryBucketView, HistoryView, RulesView } from '../../../src/http/wire/history.ts'
import type { IncidentSummaryView, IncidentView } from '../../../src/http/wire/incidents.ts'
import { type Panel, smallCharts } from '../charts/small-charts.ts'
import { blocks, count, duration, latency, type Zone } from '../format.ts'
import { grafanaPath } from '../grafana.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import type { Answer, Model, Sources } from '../view.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

export async function loadIncident(
  sources: Sources,
  id: string,
  nowMs: number,
  zone: Zone,
): Promise<Answer<IncidentData>> {
  const answer = await sources.incident(id)
  if (!answer.ok) return answer
  const incident = answer.value
  const names = incident.endpoint === null ? incident.affected.slice(0, MAX_CHARTED) : [incident.endpoint]
  const [parts, text, ...histories] = await Promise.all([
    incident.endpoint === null ? sources.incidents({ part_of: id, limit: MAX_PARTS }) : null,
    sources.postMortem(id, zone),
    ...names.map((endpoint) => loadHistory(sources, incident, endpoint, nowMs)),
  ])
  return {
    ok: true,
    value: {
      incident,
      parts: parts?.ok ? parts.value.incidents : [],
      text: text.ok ? text.value : null,
      histories: histories.includes('locked') ? null : histories.filter((one) => typeof one === 'object'),
    },
  }
}

/** An incident with everything that its page shows. */
export interface IncidentData {
  readonly incident: IncidentView
  /** For an incident of several endpoints: the endpoint incidents that are part of it. */
  readonly parts: readonly IncidentSummaryView[]
  /** `null` without permission to see figures. */
  readonly histories: readonly EndpointHistory[] | null
  readonly text: string | null
}

interface EndpointHistory {
  readonly endpoint: string
  readonly history: HistoryView
  readonly rules: RulesView | null
}

export const MAX_CHARTED = 6
const MAX_PARTS = 100
const MAX_CELLS = 120
const MINUTE_MS = 60_000
/** The charts show the incident's own length before and after it, within these limits. */
const SHORTEST_MARGIN_MS = 10 * MINUTE_MS
const LONGEST_MARGIN_MS = 60 * MINUTE_MS
const STEPS_S = [10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400]

async function loadHistory(
  sources: Sources,
  { network, opened_at: openedAt, closed_at: closedAt }: IncidentView,
  endpoint: string,
  nowMs: number,
): Promise<EndpointHistory | 'locked' | 'away'> {
  const rules = await sources.rules(network, endpoint)
  const openedMs = Date.parse(openedAt)
  const endMs = closedAt === null ? nowMs : Date.parse(closedAt)
  const marginMs = Math.min(LONGEST_MARGIN_MS, Math.max(SHORTEST_MARGIN_MS, endMs - openedMs))
  const toMs = closedAt === null ? nowMs : Math.min(nowMs, endMs + marginMs)
  // A step shorter than two polls would show false gaps.
  const atLeast = rules.ok ? 2 * rules.value.interval_seconds : 0
  const range = (toMs - openedMs + marginMs) / 1000
  const stepSeconds =
    STEPS_S.find((step) => step >= atLeast && range / step <= MAX_CELLS) ??
    Math.ceil(range / MAX_CELLS / 86_400) * 86_400
  const fromMs = Math.floor((openedMs - marginMs) / 1000 / stepSeconds) * stepSeconds * 1000
  const history = await sources.history({ network, endpoint, fromMs: Math.max(0, fromMs), toMs, stepSeconds })
  if (!history.ok) return history.why === 'locked' ? 'locked' : 'away'
  return { endpoint, history: history.value, rules: rules.ok ? rules.value : null }
}

/** Whether its endpoint or network, which may have been removed since, has a page. */
export function isMonitored(
  { network, endpoint }: Pick<IncidentSummaryView, 'network' | 'endpoint'>,
  status: Model['status'],
): boolean {
  if (status === null) return true
  const of = status.networks.find(({ name }) => name === network)
  return of !== undefined && (endpoint === null || of.endpoints.some(({ name }) => name === endpoint))
}

/** Charts of every affected endpoint before, during and after the incident. */
export function incidentCharts(
  { data: { histories }, settings, status, nowMs }: Model<IncidentData>,
  incident: IncidentSummaryView,
): TemplateResult {
  const { network, state, opened_at: openedAt, closed_at: closedAt } = incident
  if (histories === null) return html`<p class="quiet">${INCIDENT_WORDS.locked}</p>`
  if (histories.length === 0)
    return html`<p class="quiet">${isMonitored(incident, status) ? INCIDENT_WORDS.away : INCIDENT_WORDS.notCharted}</p>`
  const endpoints = status?.networks.find(({ name }) => name === network)?.endpoints ?? []
  return html`${histories.map(({ endpoint, history, rules }) => {
    const title = endpoints.find(({ name }) => name === endpoint)?.title ?? endpoint
    const drawn = smallCharts({
      id: `charts-${endpoint}`,
      title: `${title}: ${INCIDENT_WORDS.charts}`,
      startMs: Date.parse(history.buckets[0]?.start ?? history.from),
      stepMs: history.step_seconds * 1000,
      cells: history.buckets.length,
      zone: settings.zone,
      states: history.buckets.map(letterOf).join(''),
      panels: panelsOf(history.buckets, rules),
      grafana: grafanaPath(
        rules?.grafana_url,
        'endpoint',
        { fromMs: Date.parse(history.from), toMs: Date.parse(history.to) },
        { network, endpoint },
      ),
      marked: { fromMs: Date.parse(openedAt), toMs: closedAt === null ? nowMs : Date.parse(closedAt), state },
    })
    return html`${histories.length > 1 ? html`<h3>${title}</h3>` : nothing} ${drawn}`
  })}`
}

function panelsOf(buckets: readonly HistoryBucketView[], rules: RulesView | null): Panel[] {
  const limits = rules?.thresholds
  const of = (read: (bucket: HistoryBucketView) => number | null) => buckets.map(read)
  const lag = of((bucket) => bucket.lag_blocks_max)
  const took = of((bucket) => bucket.latency_p95_seconds)
  const beats = of((bucket) => bucket.heartbeat_lag_seconds_max)
  const panels: Panel[] = [
    { name: INCIDENT_WORDS.lag, values: lag, write: blocks, limit: limits?.lag_blocks },
    { name: INCIDENT_WORDS.height, kind: 'line', floor: 'lowest', values: of(({ height }) => height), write: count },
    { name: INCIDENT_WORDS.latency, kind: 'line', values: took, write: latency, limit: limits?.latency_seconds },
  ]
  if (beats.every((beat) => beat === null)) return panels
  const limit = limits?.heartbeat_seconds
  return [...panels, { name: INCIDENT_WORDS.heartbeat, kind: 'line', values: beats, write: duration, limit }]
}

/** The letter of the worst state; mostly unknown time is unknown, not up. */
function letterOf(bucket: HistoryBucketView): string {
  const { up_seconds: up, degraded_seconds: degraded, down_seconds: down } = bucket
  const { maintenance_seconds: maintenance, unknown_seconds: unknown } = bucket
  if (down > 0) return 'd'
  if (degraded > 0) return 'g'
  if (unknown > up + maintenance || up + maintenance === 0) return '-'
  return maintenance > up ? 'm' : 'u'
}
