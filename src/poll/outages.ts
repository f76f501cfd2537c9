import { type Beginning, countedFrom, hasRecovered, isBack } from '../core/incident/endpoint-incident.ts'
import { RECOVERED_AFTER_INTERVALS } from '../core/incident/flapping.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { NetworkEvent } from '../core/incident/network-event.ts'
import type { UnixMs } from '../core/time.ts'
import { type Condition, severity, worst } from '../core/verdict/condition.ts'
import type { Health } from '../core/verdict/health.ts'
import { createOutageGroups, type Failing, FEWEST, type Group } from './outage-groups.ts'

/**
 * Finds outages: endpoints of one network behind one host, or of one provider, that become unhealthy together. One
 * incident is opened for all of them.
 */
export function createOutages() {
  const groups = createOutageGroups()

  return {
    ...groups,

    /**
     * The open outage that an unhealthy endpoint is part of: it failed soon after the start of the outage, or was part
     * of it and has not been healthy for long since. `beginning`: of its failure; `null` in planned maintenance, at whose
     * end the endpoint joins.
     */
    outageOf(group: Group, { endpoint, since }: Health, beginning: Beginning | null): Incident | undefined {
      const { open, failing, good, intervalMs } = group
      const { name } = endpoint
      const known = failing.get(name)
      if (known !== undefined) return known.outage === null ? undefined : open.get(known.outage)
      const healthy = good.get(name) ?? { since, until: since }
      for (const outage of open.values()) {
        const beganAt = latestStart(outage)
        const isSoon = beginning !== null && Math.abs(countedFrom(beginning) - beganAt) <= WINDOW_INTERVALS * intervalMs
        // Not seen healthy since the outage began: such a group may take longer than an interval to poll.
        const isUnseen = healthy.until < beganAt
        if (isSoon || (isUnseen && beginning !== null)) return outage
        const wasHealthyForLong = since - healthy.since > RECOVERED_AFTER_INTERVALS * intervalMs
        if ((isUnseen || !wasHealthyForLong) && outage.affected.includes(name)) return outage
      }
      return undefined
    },

    /**
     * Call it after every judged poll. `beginning`: of the incident that the endpoint has or is part of; `null` without
     * one. Returns whether the endpoint newly counts as unhealthy.
     */
    note(
      group: Group,
      health: Health,
      beginning: Beginning | null,
      outage: string | null,
      recoverAfter: number,
    ): boolean {
      const { failing, good } = group
      const { verdict, since, lastPolledAt } = health
      const { name } = health.endpoint
      if (verdict === 'up') {
        if (wasFailing(group, name) && !hasRecovered(health, recoverAfter)) return false
        const known = good.get(name)
        // A bad poll that is not confirmed leaves the verdict as it is.
        const isBad = (health.confirmation.recent.at(-1)?.verdict ?? 'up') !== 'up'
        if (known?.since === since) known.until = isBad ? known.until : (lastPolledAt ?? since)
        else good.set(name, { since, until: lastPolledAt ?? since })
      }
      const known = failing.get(name)
      if (beginning === null) failing.delete(name)
      else {
        const isLast = !isBack(health) && isOnlyOne(failing, name, outage)
        failing.set(name, { beginning, since: countedFrom(beginning), ...known, health, outage, isLast })
      }
      return beginning !== null && known === undefined
    },

    /** The outage that begins; `null` if too few endpoints became unhealthy together. */
    beginning(group: Group): NetworkEvent | null {
      const { members, failing, intervalMs } = group
      const own = [...failing.values()].filter(({ outage }) => outage === null)
      const latest = own.reduce((last, { since }) => Math.max(last, since), 0)
      const together = own.filter(({ since }) => since >= latest - WINDOW_INTERVALS * intervalMs)
      if (together.length < FEWEST || (2 * together.length < members.size && together.length < ENOUGH)) return null
      return eventOf(group, together, null)
    },

    /** The outage as it goes on; `null` if fewer than two endpoints of it are unhealthy. */
    continuing(group: Group, { id }: Incident): NetworkEvent | null {
      const parts = [...group.failing.values()].filter(({ outage }) => outage === id)
      return parts.length < FEWEST ? null : eventOf(group, parts, id)
    },

    /** The incident has replaced those of its endpoints. */
    opened({ failing }: Group, incident: Incident): void {
      for (const name of incident.affected) {
        const known = failing.get(name)
        if (known !== undefined && known.since >= countedFrom(incident)) known.outage = incident.id
      }
    },

    /**
     * When an outage of which fewer than two endpoints are unhealthy ended: the first good poll of the last endpoint
     * that recovered. `null` until all were polled after a restart, until a bad poll of the one that is left, and for
     * some intervals more if it is flapping.
     */
    endOf({ members, failing, good, intervalMs }: Group, outage: Incident, now: UnixMs): UnixMs | null {
      let end: UnixMs | null = null
      for (const name of outage.affected) {
        const since = good.get(name)?.since ?? null
        if (failing.get(name)?.isLast === false) return null
        if (since === null && members.has(name) && !failing.has(name)) return null
        if (since !== null && !failing.has(name)) end = Math.max(end ?? since, since)
      }
      end ??= now
      const waitsMs = outage.flapping ? RECOVERED_AFTER_INTERVALS * intervalMs : 0
      return now - end >= waitsMs ? end : null
    },
  }
}

/** This many that fail together are one outage even if most endpoints of a large provider are healthy. */
const ENOUGH = 10
/** Endpoints are polled at different times within an interval, and the first bad poll counts. */
const WINDOW_INTERVALS = 2

/** Also one of an outage of an earlier run that has not been good since. */
function wasFailing({ failing, good, open }: Group, name: string): boolean {
  if (failing.has(name) || good.has(name)) return failing.has(name)
  return [...open.values()].some(({ affected }) => affected.includes(name))
}

/** Whether no other endpoint of the outage is unhealthy. Called for every poll of one: thousands may be. */
function isOnlyOne(failing: Group['failing'], name: string, outage: string | null): boolean {
  for (const [other, one] of failing) if (other !== name && one.outage === outage) return false
  return true
}

/** A flapping outage that was opened again keeps its first `openedAt`. */
function latestStart({ changes, openedAt, plannedUntil }: Incident): UnixMs {
  const start = changes.findLast((_, at) => at === 0 || changes[at - 1]?.state === 'up')?.at ?? openedAt
  return Math.max(start, plannedUntil ?? start)
}

function eventOf(
  { key, provider, intervalMs }: Group,
  parts: readonly Failing[],
  continues: string | null,
): NetworkEvent | null {
  const [first, ...others] = parts.flatMap(({ health }) => health.conditions)
  if (first === undefined) return null
  const main = others.reduce(worse, first)
  const isAllPlanned = parts.every(({ beginning }) => beginning.plannedUntil !== null)
  const starts = parts.map(({ beginning, since }) => (isAllPlanned ? beginning.openedAt : since))
  return {
    cause: 'outage',
    continues,
    key,
    provider,
    state: worst(parts.map(({ health }) => health.verdict ?? 'up')),
    code: main.code,
    message: main.message,
    intervalMs,
    since: starts.reduce((first, since) => Math.min(first, since), Number.POSITIVE_INFINITY),
    plannedUntil: isAllPlanned
      ? parts.reduce((first, { since }) => Math.min(first, since), Number.POSITIVE_INFINITY)
      : null,
    affected: parts.map(({ health }) => health.endpoint.name).sort(),
    maintained: null,
  }
}

function worse(a: Condition, b: Condition): Condition {
  return severity(b.verdict) > severity(a.verdict) ? b : a
}
