import { type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Beginning } from '../core/incident/endpoint-incident.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { Health } from '../core/verdict/health.ts'

/** The endpoints of each host and provider, with the open outages that they are part of. */
export function createOutageGroups() {
  const groups = new Map<string, Group>()
  let configured: readonly GroupMember[] = []
  /** Endpoints that are in another group than their own until an outage ends. */
  const joined = new Map<EndpointKey, { readonly outage: string; readonly key: string }>()

  function track(incident: Incident): void {
    const { id, cause, network, affected, closedAt } = incident
    if (cause !== 'outage') return
    if (closedAt !== null) part(id)
    const names = new Set(affected)
    let home: Group | null = null
    let most = 0
    // A reload may have divided its endpoints between groups.
    for (const group of groups.values()) {
      group.open.delete(id)
      const count = group.network === network ? [...group.members].filter((name) => names.has(name)).length : 0
      if (count > most) {
        most = count
        home = group
      }
    }
    if (closedAt === null) home?.open.set(id, incident)
  }

  function regroup(): void {
    const before = new Map(groups)
    const outages = [...before.values()].flatMap(({ open }) => [...open.values()])
    groups.clear()
    for (const { endpoint, key: own } of configured) {
      const key = keyOf(endpointKey(endpoint), own)
      if (key === null) continue
      const { name, network, provider } = endpoint
      const group: Group = groups.get(key) ?? {
        key,
        network,
        provider,
        members: new Set(),
        open: before.get(key)?.open ?? new Map(),
        failing: before.get(key)?.failing ?? new Map(),
        good: before.get(key)?.good ?? new Map(),
        intervalMs: 0,
      }
      group.members.add(name)
      group.intervalMs = Math.max(group.intervalMs, endpoint.intervalMs)
      groups.set(key, group)
    }
    for (const { members, failing, good } of groups.values()) {
      for (const known of [failing, good]) for (const name of known.keys()) if (!members.has(name)) known.delete(name)
    }
    for (const incident of outages) track(incident)
  }

  /** The outage has ended: each of its endpoints is in its own group again. */
  function part(outage: string): void {
    const parted = [...joined].filter(([, one]) => one.outage === outage)
    for (const [endpoint] of parted) joined.delete(endpoint)
    if (parted.length > 0) regroup()
  }

  const keyOf = (endpoint: EndpointKey, own: string | null) => joined.get(endpoint)?.key ?? own

  return {
    /** Call it with every incident that has changed. */
    track,

    /**
     * Call it with every incident of an earlier run or keeper. URLs may differ by place: endpoints that share nothing here
     * are one group until their outage ends.
     */
    restore(incident: Incident): void {
      track(incident)
      const { id, cause, network, affected, closedAt } = incident
      if (cause !== 'outage' || closedAt !== null) return
      const home = [...groups.values()].find(({ open }) => open.has(id))
      const isShared = affected.filter((name) => home?.members.has(name)).length >= FEWEST
      const key = isShared && home !== undefined ? home.key : id
      const names = new Set(affected)
      const apart = configured.filter(
        ({ endpoint, key: own }) => endpoint.network === network && names.has(endpoint.name) && own !== key,
      )
      for (const { endpoint } of apart) {
        const of = endpointKey(endpoint)
        if (!joined.has(of)) joined.set(of, { outage: id, key })
      }
      if (apart.length > 0) regroup()
    },

    /** Replaces all groups; what is known about the endpoints of a group is kept. */
    configure(members: readonly GroupMember[]): void {
      configured = members
      regroup()
    },

    /** `own`: the key of what the endpoint shares with others. */
    groupOf(endpoint: EndpointKey, own: string | null): Group | undefined {
      const key = keyOf(endpoint, own)
      return key === null ? undefined : groups.get(key)
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
  readonly network: string
  readonly provider: string | null
  readonly members: Set<string>
  /** Its open outages, by id. */
  readonly open: Map<string, Incident>
  /** The unhealthy endpoints that have an incident, or are part of one. */
  readonly failing: Map<string, Failing>
  /** The latest time in which each endpoint was healthy. */
  readonly good: Map<string, GoodTime>
  /** The longest of its endpoints. */
  intervalMs: number
}

export interface Failing {
  health: Health
  readonly beginning: Beginning
  /** Its beginning, without planned maintenance. */
  readonly since: UnixMs
  /** The outage that it is part of; `null`: it has an incident of its own. */
  outage: string | null
  /** Whether its last poll was bad, when all others of its outage had recovered. */
  isLast: boolean
}

interface GoodTime {
  readonly since: UnixMs
  until: UnixMs
}

/** A single endpoint is its own incident. */
export const FEWEST = 2
