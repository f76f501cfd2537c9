import type { UnixMs } from '../time.ts'
import { type HeadStanding, type Health, stateAt } from './health.ts'

/** Whether what the latest poll said still holds: until the next one, or for two intervals. */
export function resultHolds(health: Health, now: UnixMs): boolean {
  return health.lastPolledAt !== null && now <= health.validUntil
}

/** Whether a head may be told as where the endpoint is now: once it was not read for two intervals it is where it was. */
export function headHolds(head: HeadStanding, health: Health, now: UnixMs): boolean {
  return resultHolds(health, now) && now <= head.readAt + 2 * health.endpoint.intervalMs
}

/** Since when the state that `stateAt` gives holds: an outdated result is unknown from the moment it ran out. */
export function stateSince(health: Health, now: UnixMs): UnixMs {
  return health.verdict !== null && stateAt(health, now) === 'unknown' ? health.validUntil : health.since
}
