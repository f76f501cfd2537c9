import type { ClusterReport } from '../../src/core/cluster/report.ts'
import type { Place } from '../../src/core/cluster/vote.ts'
import type { Condition } from '../../src/core/verdict/condition.ts'
import type { Board } from '../../src/state/board.ts'
import type { RemoteStatus } from '../../src/store/store.ts'

const START = Date.UTC(2026, 0, 1)

/** A place that sees the endpoint up. */
export function aPlace(vantage: string, over: Partial<Place> = {}): Place {
  return {
    vantage,
    state: 'up',
    since: START,
    lastPolledAt: START,
    latencyMs: 12,
    conditions: [],
    heads: [],
    counted: true,
    said: null,
    back: undefined,
    ...over,
  }
}

const REFUSED: Condition = { code: 'unreachable', verdict: 'down', message: 'connection refused', since: START }

/** As the merging of votes says it. */
export const PARTIAL: Condition = {
  code: 'partial',
  verdict: 'degraded',
  message: 'down from fra1 only: connection refused; up from nyc1, sin1',
  since: START,
}

/** One of three places does not reach the endpoint. */
export const DISAGREEING: readonly Place[] = [
  aPlace('fra1', { state: 'down', latencyMs: null, conditions: [REFUSED] }),
  aPlace('nyc1'),
  aPlace('sin1'),
]

/** What a cluster puts on the board. */
export function putPlaces(
  board: Board,
  of: { network: string; name: string },
  places: readonly Place[],
  confirmedBy: number,
): void {
  const entry = board.entry(of.network, of.name)
  if (entry === undefined) throw new Error('no such endpoint')
  Object.assign(entry, { places, confirmedBy })
}

const MINUTE = 60_000

/** Two members in two places, and one that has been gone for an hour; `fra-1` reports. */
export function aClusterReport(over: Partial<ClusterReport> = {}): ClusterReport {
  const member = { version: '1.2.3', url: null, seenAt: START, isLive: true, isSelf: false, differs: false }
  const lease = { network: 'avalanche', token: 7, expiresAt: START + MINUTE }
  return {
    self: 'fra-1',
    vantage: 'fra1',
    members: [
      { ...member, id: 'fra-1', vantage: 'fra1', url: 'https://fra.example.org', isSelf: true },
      { ...member, id: 'nyc-1', vantage: 'nyc1' },
      { ...member, id: 'nyc-2', vantage: 'nyc1', seenAt: START - 60 * MINUTE, isLive: false, differs: true },
    ],
    leases: [
      { ...lease, kind: 'poll', vantage: 'fra1', member: 'fra-1' },
      { ...lease, kind: 'poll', vantage: 'nyc1', member: null, expiresAt: START - MINUTE },
      { ...lease, kind: 'keep', vantage: '', member: 'nyc-1' },
      { ...lease, kind: 'poll', vantage: 'fra1', network: 'removed', member: null },
      { ...lease, kind: 'poll', vantage: 'left', member: null },
    ],
    store: { reachable: true, since: START, spoolRows: 0, lagMs: 4 },
    ...over,
  }
}

/** A database server that answers. */
export const REMOTE: RemoteStatus = { reachable: true, since: START, spoolRows: 0, rowsRefused: 0 }
