import type { Incident, IncidentChange, IncidentCondition } from '../../src/core/incident/incident.ts'
import type { IncidentRecord } from '../../src/store/store.ts'

/** 2026-01-01: where the fake clock begins. */
export const START = Date.UTC(2026, 0, 1)

export function condition(over: Partial<IncidentCondition> = {}): IncidentCondition {
  return {
    code: 'unreachable',
    state: 'down',
    message: 'connection refused',
    since: START,
    until: null,
    ...over,
  }
}

export function change(over: Partial<IncidentChange> = {}): IncidentChange {
  return {
    at: START,
    state: 'down',
    codes: ['unreachable'],
    samples: [{ endpoint: 'own-1', shard: null, height: 1000, lagBlocks: 12, latencyMs: null }],
    ...over,
  }
}

/** avalanche/own-1, down since `START` and still so. */
export function incident(over: Partial<Incident> = {}): Incident {
  return {
    id: 'incident-1',
    network: 'avalanche',
    provider: null,
    endpoint: 'own-1',
    cause: 'endpoint',
    state: 'down',
    openedAt: START,
    confirmedAt: (over.openedAt ?? START) + 10_000,
    closedAt: null,
    conditions: [condition()],
    changes: [change()],
    flaps: 0,
    flapping: false,
    absorbedBy: null,
    affected: [],
    ...over,
  }
}

/** As the store keeps it. */
export function incidentRecord(of: Incident): IncidentRecord {
  const { id, network, endpoint, openedAt, closedAt, absorbedBy } = of
  return { id, network, endpoint, openedAt, closedAt, absorbed: absorbedBy !== null, value: of }
}
