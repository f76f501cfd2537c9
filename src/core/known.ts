import { type Health, stateAt } from './health.ts'
import type { UnixMs } from './time.ts'

/** Whether what the latest poll said still holds: until the next one, or for two intervals. */
export function resultHolds(health: Health, now: UnixMs): boolean {
  return health.lastPolledAt !== null && now <= health.validUntil
}

/**
 * Whether the endpoint's heads may be told as where it is now. An endpoint that fails keeps its last heads; once its head
 * check has not succeeded for two intervals they are where it was.
 */
export function headsHold(health: Health, headReadAt: UnixMs | null, now: UnixMs): boolean {
  return headReadAt !== null && resultHolds(health, now) && now <= headReadAt + 2 * health.endpoint.intervalMs
}

/** Since when the state that `stateAt` gives holds: an outdated result is unknown from the moment it ran out. */
export function stateSince(health: Health, now: UnixMs): UnixMs {
  return health.verdict !== null && stateAt(health, now) === 'unknown' ? health.validUntil : health.since
}
