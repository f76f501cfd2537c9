import type { Endpoint } from '../core/endpoint.ts'
import { RECOVERED_AFTER_INTERVALS } from '../core/incident/endpoint-incident.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { NetworkEvent } from '../core/incident/network-event.ts'
import type { UnixMs } from '../core/time.ts'
import { type Condition, severity, worst } from '../core/verdict/condition.ts'
import type { Health } from '../core/verdict/health.ts'

/**
 * Finds outages: endpoints of one network behind one host, or of one provider, that become unhealthy together. One
 * incident is opened for all of them.
 */
export function createOutages() {
  const groups = new Map<string, Group>()

  return {
    /** Replaces all groups; what is known about the endpoints of a group is kept. */
    configure(members: readonly GroupMember[]): void {
      const before = new Map(groups)
      groups.clear()
      for (const { endpoint, key } of members) {
        if (key === null) continue
        const { name, provider } = endpoint
        const {
          unhealthy = new Map<string, Health>(),
          polled = new Set<string>(),
          goodSince = null,
        } = before.get(key) ?? {}
        const fresh = { key, provider, members: new Set<string>(), unhealthy, polled, goodSince, intervalMs: 0 }
        const group: Group = groups.get(key) ?? fresh
        group.members.add(name)
        group.intervalMs = Math.max(group.intervalMs, endpoint.intervalMs)
        groups.set(key, group)
      }
      for (const { members, unhealthy, polled } of groups.values()) {
        for (const known of [unhealthy, polled])
          for (const name of known.keys()) if (!members.has(name)) known.delete(name)
      }
    },

    groupOf: (key: string | null): Group | undefined => (key === null ? undefined : groups.get(key)),

    /** The open incident of the group. */
    openOf: ({ members }: Group, open: readonly Incident[]): Incident | undefined =>
      open.find(({ cause, affected }) => cause === 'outage' && affected.some((name) => members.has(name))),

    /** Call it after every judged poll; `counts`: the endpoint has an incident, or is part of the open outage. */
    note({ unhealthy, polled }: Group, health: Health, counts: boolean): void {
      const { name } = health.endpoint
      polled.add(name)
      if (counts) unhealthy.set(name, health)
      else unhealthy.delete(name)
    },

    /** The outage that begins, or that goes on; `null` if too few endpoints are unhealthy together. */
    eventOf(group: Group, open: Incident | undefined): NetworkEvent | null {
      const { members, unhealthy, provider } = group
      const healths = [...unhealthy.values()]
      const latest = healths.reduce((last, { since }) => Math.max(last, since), 0)
      const from = open?.openedAt ?? latest - WINDOW_INTERVALS * group.intervalMs
      const together = healths.filter(({ since }) => since >= from)
      if (together.length < FEWEST) return null
      if (open === undefined && 2 * together.length < members.size && together.length < ENOUGH) return null
      const state = worst(together.map(({ verdict }) => verdict ?? 'up'))
      const main = together.flatMap(({ conditions }) => conditions).reduce(worse)
      return {
        cause: 'outage',
        continues: open?.id ?? null,
        key: group.key,
        provider,
        state,
        code: main.code,
        message: main.message,
        intervalMs: group.intervalMs,
        since: together.reduce((first, { since }) => Math.min(first, since), latest),
        affected: together.map(({ endpoint }) => endpoint.name).sort(),
        maintainedUntil: null,
      }
    },

    /**
     * Since when fewer than two endpoints of the outage are unhealthy; `null` while more are, until all were polled
     * after a restart, and for some intervals more if it is flapping.
     */
    endOf(group: Group, { affected, openedAt, flapping }: Incident, now: UnixMs): UnixMs | null {
      const { members, unhealthy, polled } = group
      const left = affected.filter((name) => (unhealthy.get(name)?.since ?? Number.NEGATIVE_INFINITY) >= openedAt)
      const isOver = left.length < FEWEST && affected.every((name) => polled.has(name) || !members.has(name))
      group.goodSince = isOver ? (group.goodSince ?? now) : null
      if (group.goodSince === null) return null
      const waitsMs = flapping ? RECOVERED_AFTER_INTERVALS * group.intervalMs : 0
      return now - group.goodSince >= waitsMs ? group.goodSince : null
    },
  }
}

export interface GroupMember {
  /** Identifies the network with the provider, or else the host, that the endpoint shares with others. Never shown. */
  readonly key: string | null
  readonly endpoint: Endpoint
}

export interface Group {
  readonly key: string
  readonly provider: string | null
  readonly members: Set<string>
  readonly unhealthy: Map<string, Health>
  /** Names of the endpoints that were polled since the start. */
  readonly polled: Set<string>
  /** Since when its outage is over, but may not be closed yet. */
  goodSince: UnixMs | null
  /** The longest of its endpoints. */
  intervalMs: number
}

/** A single endpoint is its own incident. */
const FEWEST = 2
/** This many that fail together are one outage even if most endpoints of a large provider are healthy. */
const ENOUGH = 10
/** Endpoints are polled at different times within an interval, and the first bad poll counts. */
const WINDOW_INTERVALS = 2

function worse(a: Condition, b: Condition): Condition {
  return severity(b.verdict) > severity(a.verdict) ? b : a
}
