import { readHealth, writeHealth } from '../../src/cluster/vote-codec.ts'
import { turnsAfter, type Vote } from '../../src/core/cluster/vote.ts'
import type { Condition, ConditionCode, Verdict } from '../../src/core/verdict/condition.ts'
import { type Health, unpolled } from '../../src/core/verdict/health.ts'
import type { WritableBoard } from '../../src/state/board.ts'
import { endpoint } from './network.ts'

export const VOTED = endpoint('own-1')

export function condition(code: ConditionCode, verdict: Verdict, since: number, message: string = code): Condition {
  return { code, verdict, message, since }
}

const REASONS: Record<Verdict, (since: number) => readonly Condition[]> = {
  up: () => [],
  degraded: (since) => [condition('lagging', 'degraded', since, '5 blocks behind')],
  down: (since) => [condition('unreachable', 'down', since, 'connection refused')],
}

/** A vantage that has said the same since then, and polled just now. */
export function aVote(
  vantage: string,
  verdict: Verdict | null,
  since: number,
  now: number,
  over: Partial<Omit<Vote, 'health'>> & { health?: Partial<Health> } = {},
): Vote {
  const health: Health = {
    ...unpolled(VOTED, since),
    verdict,
    lastPolledAt: now,
    validUntil: now + 2 * VOTED.intervalMs,
    conditions: verdict === null ? [] : REASONS[verdict](since),
    latencyMs: verdict === 'down' ? null : 12,
    ...over.health,
  }
  return { vantage, member: `${vantage}-a`, turns: { down: since, up: since }, isImpaired: false, ...over, health }
}

/** The endpoint has this condition, as another member of the cluster says: through the database. */
export function putVote(board: Pick<WritableBoard, 'entry' | 'put'>, name: string, code: ConditionCode): void {
  const known = board.entry('ethereum', name)?.health
  if (known === undefined) throw new Error(`no health of ${name}`)
  const health: Health = { ...known, verdict: 'down', conditions: [condition(code, 'down', known.since)] }
  const stored: unknown = JSON.parse(JSON.stringify(writeHealth(health, turnsAfter(null, health))))
  const read = readHealth(stored, health.endpoint)
  if (read === null) throw new Error('unreadable')
  board.put(read.health, true)
}
