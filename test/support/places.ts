import type { Place } from '../../src/core/cluster/vote.ts'
import type { Condition } from '../../src/core/verdict/condition.ts'
import type { Board } from '../../src/state/board.ts'

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
    ...over,
  }
}

export const REFUSED: Condition = { code: 'unreachable', verdict: 'down', message: 'connection refused', since: START }

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
