import type { IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import type { EndpointView, LivenessView, NetworkView, StatusView, VantageView } from '../../src/http/wire/status.ts'

const NOTHING = { ratio: null, coverage: 0, fresh: null }

export function anEndpoint(name: string, over: Partial<EndpointView> = {}): EndpointView {
  return {
    name,
    title: name,
    state: 'up',
    since: '2026-01-01T00:00:00.000Z',
    incident: null,
    flapping: false,
    last_polled_at: '2026-01-01T00:00:00.000Z',
    conditions: [],
    heads: [],
    liveness: null,
    latency_seconds: 0.012,
    vantages: [aVantage('default')],
    confirmed_by: 1,
    availability: { '24h': NOTHING, '7d': NOTHING, '30d': NOTHING, '90d': NOTHING },
    ...over,
  }
}

export function aVantage(vantage: string, over: Partial<VantageView> = {}): VantageView {
  return {
    vantage,
    state: 'up',
    since: '2026-01-01T00:00:00.000Z',
    last_polled_at: '2026-01-01T00:00:00.000Z',
    latency_seconds: 0.012,
    conditions: [],
    counted: true,
    ...over,
  }
}

export function aLiveness(over: Partial<LivenessView> = {}): LivenessView {
  return {
    healthy: true,
    heartbeat_lag_seconds: 3,
    contiguous_failures: 0,
    checks: [],
    ...over,
  }
}

export function aNetwork(
  name: string,
  endpoints: EndpointView[] = [anEndpoint('a')],
  over: Partial<NetworkView> = {},
): NetworkView {
  return {
    name,
    title: name.toUpperCase(),
    family: 'ethereum',
    state: 'up',
    halted: false,
    forked: false,
    heads: [],
    endpoints,
    ...over,
  }
}

export function aStatus(networks: NetworkView[], over: Partial<StatusView> = {}): StatusView {
  return {
    generated_at: '2026-01-01T00:00:00.000Z',
    state: 'up',
    observer: { impaired: false, judging: true, reasons: [] },
    maintenance: [],
    announcements: [],
    networks,
    ...over,
  }
}

export function anIncident(id: string, over: Partial<IncidentSummaryView> = {}): IncidentSummaryView {
  const since = over.opened_at ?? '2026-01-01T00:00:00.000Z'
  return {
    id,
    network: 'one',
    endpoint: 'a',
    cause: 'endpoint',
    scope: 'endpoint',
    provider: null,
    state: 'down',
    conditions: [{ code: 'unreachable', state: 'down', message: 'connection refused', since, until: null }],
    opened_at: since,
    planned_until: null,
    confirmed_at: since,
    closed_at: null,
    duration_seconds: null,
    flapping: false,
    flaps: 0,
    affected: [],
    vantages: ['default'],
    absorbed_by: null,
    ...over,
  }
}
