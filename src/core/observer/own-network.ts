import { DISTANCE, type HostLocation, type Zone } from '../host-location.ts'

/** One poll; times are monotonic, in ms. */
export interface HostPoll {
  readonly location: HostLocation
  /** A host may have several endpoints; it is reachable if one of them answers. */
  readonly endpoint: string
  readonly startedAt: number
  readonly endedAt: number
  /** `answered`: some bytes arrived from the host. `dns`: its name was not resolved. */
  readonly outcome: 'answered' | 'unreached' | 'dns'
  /** There was no route to the host, or no name server. */
  readonly hasNoRoute: boolean
}

export type FaultOwner = 'node' | 'own' | 'undecided'

interface Host {
  readonly location: HostLocation
  readonly groups: readonly Group[]
  answeredEver: boolean
  /** Endpoints whose latest poll was answered, and when that poll ended, the earliest first. */
  readonly answering: Map<string, number>
  /** Start of the first poll in the present run of failures; `null` while the host answers. */
  failingSince: number | null
  /** End of the first answered poll after failures of which nothing shows whose they were. */
  unwitnessedUntil: number
  lastEndedAt: number
}

/** Hosts that are witnesses for each other: all at this distance or further; with `dns`, only hosts with a name. */
interface Group {
  readonly zone: Zone
  readonly dns: boolean
  /** Start of the latest answered poll. */
  answeredAt: number
  /** Whether there was a route to a host at any time. A node on this machine needs none. */
  hadRoute: boolean
  /** Hosts with an endpoint whose latest poll was answered, in the order of their latest polls. */
  readonly reachable: Set<Host>
  /** Hosts that have answered before and failed since the latest answer. */
  readonly unreachable: Set<Host>
  isDown: boolean
  /** End of the first answered poll after an outage. */
  downUntil: number
}

/**
 * Tells outages of our own network from outages of hosts. A failure is the host's if another host as far away answers a
 * poll that began later. It is ours if all hosts that ever answered fail, at least two of them since the last answer; or
 * if there never was a route to any host, of at least two: this machine's network is not up yet. Failures of the only
 * host that far away are its own while a nearer one answers: there is no other host to compare it with.
 */
export function createOwnNetwork() {
  const hosts = new Map<string, Host>()
  const groups = (['loopback', 'private', 'public'] as const).flatMap((zone) => [
    newGroup(zone, false),
    newGroup(zone, true),
  ])
  let maxWaitMs = Number.POSITIVE_INFINITY

  function hostAt(location: HostLocation): Host {
    const known = hosts.get(location.host)
    if (known !== undefined) return known
    const host: Host = {
      location,
      groups: groups.filter((group) => covers(group, location)),
      answeredEver: false,
      answering: new Map(),
      failingSince: null,
      unwitnessedUntil: Number.NEGATIVE_INFINITY,
      lastEndedAt: Number.NEGATIVE_INFINITY,
    }
    hosts.set(location.host, host)
    return host
  }

  function noteAnswer(group: Group, host: Host, { startedAt, endedAt }: HostPoll): void {
    if (group.isDown) group.downUntil = endedAt
    group.hadRoute = true
    group.answeredAt = Math.max(group.answeredAt, startedAt)
    moveToEnd(group.reachable, host)
    group.isDown = false
    // A host that failed while another one answered is itself at fault.
    for (const lost of group.unreachable) {
      if (lost !== host && (lost.failingSince ?? 0) >= group.answeredAt) continue
      group.unreachable.delete(lost)
    }
  }

  function noteFailure(group: Group, host: Host, { endedAt: now, hasNoRoute }: HostPoll): void {
    group.reachable.delete(host)
    if (!hasNoRoute && !group.hadRoute) noteRoute(group)
    const mayBeOurs = host.answeredEver || !group.hadRoute
    if (mayBeOurs && (host.failingSince ?? 0) >= group.answeredAt) group.unreachable.add(host)
    for (const other of group.reachable) {
      if (now - other.lastEndedAt <= maxWaitMs) break
      group.reachable.delete(other)
    }
    group.isDown = group.reachable.size === 0 && group.unreachable.size > 1
  }

  function noteRoute(group: Group): void {
    group.hadRoute = true
    for (const other of group.unreachable) if (!other.answeredEver) group.unreachable.delete(other)
  }

  /** Whether further polls can show that the group is down, with this host. */
  function canGoDown(group: Group, host: Host): boolean {
    const others = group.reachable.size - Number(group.reachable.has(host))
    // All other hosts are unreachable, and not every endpoint of this host has been polled since.
    const isLast = group.unreachable.size > 0 && host.answering.size > 0
    const isFirst = !group.hadRoute && [...hosts.values()].some((other) => isUnpolled(other, group))
    return others > 0 || isLast || isFirst
  }

  function remove(host: Host): void {
    hosts.delete(host.location.host)
    for (const group of groups) {
      group.reachable.delete(host)
      group.unreachable.delete(host)
    }
  }

  return {
    /** Call it for every poll, in the order of their ends. Returns whether undecided polls may be decidable now. */
    record(poll: HostPoll): boolean {
      const { location, endpoint, startedAt, endedAt, outcome } = poll
      const host = hostAt(location)
      host.lastEndedAt = endedAt
      if (outcome === 'answered') {
        if (isUnwitnessed(host)) host.unwitnessedUntil = endedAt
        host.answeredEver = true
        host.answering.delete(endpoint)
        host.answering.set(endpoint, endedAt)
        host.failingSince = null
      } else {
        host.answering.delete(endpoint)
        // Removed endpoints no longer answer.
        for (const [other, at] of host.answering) {
          if (endedAt - at <= maxWaitMs) break
          host.answering.delete(other)
        }
        if (host.answering.size > 0) {
          for (const { reachable } of host.groups) if (reachable.has(host)) moveToEnd(reachable, host)
          return false
        }
        host.failingSince ??= startedAt
      }
      let isClearer = outcome === 'answered'
      for (const group of host.groups) {
        // An attempt to connect shows that the name was resolved.
        if (outcome === 'answered' || (group.dns && outcome !== 'dns')) noteAnswer(group, host, poll)
        else {
          noteFailure(group, host, poll)
          isClearer ||= group.reachable.size < 2
        }
      }
      return isClearer
    },

    /** May be called again for an undecided poll. */
    faultOf({ location, startedAt, endedAt, outcome }: HostPoll): FaultOwner {
      if (outcome === 'answered') return 'node'
      const isDns = outcome === 'dns' && location.hasName
      const group = groups.find(({ zone, dns }) => zone === location.zone && dns === isDns)
      if (group === undefined) return 'node'
      const host = hostAt(location)
      // Without our network, near hosts fail as well: of a single distant host, only they can show it.
      const nearer = host.groups.filter(({ dns }) => isDns || !dns)
      // A poll that began during an outage may time out long after it.
      if (nearer.some(({ isDown, downUntil }) => isDown || startedAt < downUntil)) return 'own'
      if (startedAt < host.unwitnessedUntil) return 'own'
      if (group.answeredAt >= endedAt) return 'node'
      const isOpen = (one: Group) => (one === group || !one.dns) && one.answeredAt < endedAt && canGoDown(one, host)
      return nearer.some(isOpen) ? 'undecided' : 'node'
    },

    /** Reports that the host answered in an earlier run: only hosts that have answered can become unreachable. */
    expect(location: HostLocation, now: number): void {
      const host = hostAt(location)
      host.answeredEver = true
      host.lastEndedAt = now
      for (const { reachable } of host.groups) moveToEnd(reachable, host)
    },

    /** A host that has not been polled for `maxWaitMs` no longer counts as reachable. */
    configure(configured: readonly HostLocation[], waitMs: number): void {
      maxWaitMs = waitMs
      const wanted = new Set(configured.map(({ host }) => host))
      for (const host of hosts.values()) if (!wanted.has(host.location.host)) remove(host)
      for (const location of configured) hostAt(location)
      // No poll ends the outage of a group without hosts: they were removed, or another member of a cluster polls them.
      for (const group of groups) group.isDown &&= group.unreachable.size > 1
    },

    /** Number of unreachable hosts; `dns`: only their names cannot be resolved. `null` while our network works. */
    outage(): { readonly dns: boolean; readonly hosts: number } | null {
      const widest = groups.find(({ isDown, dns }) => isDown && !dns) ?? groups.find(({ isDown }) => isDown)
      return widest === undefined ? null : { dns: widest.dns, hosts: widest.unreachable.size }
    },
  }
}

function moveToEnd(hosts: Set<Host>, host: Host): void {
  hosts.delete(host)
  hosts.add(host)
}

/** Whether another host could be reached, but none was while this one failed. */
function isUnwitnessed({ failingSince, groups }: Host): boolean {
  if (failingSince === null) return false
  return groups.some((one) => !one.dns && one.answeredAt < failingSince && one.reachable.size > 0)
}

function isUnpolled({ groups, lastEndedAt }: Host, group: Group): boolean {
  return lastEndedAt === Number.NEGATIVE_INFINITY && groups.includes(group)
}

function newGroup(zone: Zone, dns: boolean): Group {
  const never = Number.NEGATIVE_INFINITY
  return {
    zone,
    dns,
    answeredAt: never,
    hadRoute: zone === 'loopback',
    reachable: new Set(),
    unreachable: new Set(),
    isDown: false,
    downUntil: never,
  }
}

function covers(group: Group, location: HostLocation): boolean {
  return DISTANCE[location.zone] >= DISTANCE[group.zone] && (!group.dns || location.hasName)
}
