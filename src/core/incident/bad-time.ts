import type { UnixMs } from '../time.ts'
import { countedFrom } from './endpoint-incident.ts'
import type { Incident, IncidentCondition } from './incident.ts'

/** How long an incident lasted, or has lasted until now. Planned maintenance does not count. */
export function lastedMs(incident: Pick<Incident, 'openedAt' | 'closedAt' | 'plannedUntil'>, now: UnixMs): number {
  return Math.max(0, (incident.closedAt ?? now) - countedFrom(incident))
}

/**
 * How long the endpoint of an incident was down, and degraded without being down: a flapping one was up in between. Planned
 * maintenance does not count.
 */
export function badTime(incident: Pick<Incident, 'conditions' | 'closedAt' | 'plannedUntil'>, now: UnixMs): BadTime {
  const { closedAt, plannedUntil } = incident
  const end = closedAt ?? now
  const conditions = incident.conditions.map((one) => ({ ...one, since: Math.max(one.since, plannedUntil ?? 0) }))
  const down = merged(
    conditions.filter(({ state }) => state === 'down'),
    end,
  )
  const bad = merged(
    conditions.filter(({ state }) => state !== 'up'),
    end,
  )
  const downMs = total(down)
  return { downMs, downTimes: down.length, degradedMs: total(bad) - downMs }
}

/** How long an incident was in its worst state: an endpoint may have been better, or up, for a part of it. */
export function worstMs(incident: Incident, now: UnixMs): number {
  if (incident.cause !== 'endpoint') return lastedMs(incident, now)
  const { downMs, degradedMs } = badTime(incident, now)
  return incident.state === 'down' ? downMs : degradedMs
}

export interface BadTime {
  readonly downMs: number
  readonly downTimes: number
  readonly degradedMs: number
}

type Stretch = readonly [from: UnixMs, to: UnixMs]

/** Conditions overlap. */
function merged(conditions: readonly IncidentCondition[], end: UnixMs): readonly Stretch[] {
  const joined: Stretch[] = []
  for (const { since, until } of [...conditions].sort((a, b) => a.since - b.since)) {
    const last = joined.at(-1)
    const to = until ?? end
    if (to < since) continue
    if (last !== undefined && since <= last[1]) joined[joined.length - 1] = [last[0], Math.max(last[1], to)]
    else joined.push([since, to])
  }
  return joined
}

function total(stretches: readonly Stretch[]): number {
  return stretches.reduce((sum, [from, to]) => sum + Math.max(0, to - from), 0)
}
