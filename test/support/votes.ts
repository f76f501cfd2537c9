import type { Vote } from '../../src/core/cluster/vote.ts'
import type { Condition, ConditionCode, Verdict } from '../../src/core/verdict/condition.ts'
import { type Health, unpolled } from '../../src/core/verdict/health.ts'
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
