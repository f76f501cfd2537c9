/** How far from this machine a host is, by its name alone. */
export type Zone = 'loopback' | 'private' | 'public'

/** What endpoints share when their network, not they, are at fault. */
export interface HostLocation {
  /** Host name or address, without port. */
  readonly host: string
  readonly zone: Zone
  /** A name that has to be resolved, not an address. */
  readonly hasName: boolean
}

/** Whether an answer of `by` says that our network works as far as `of`. */
export function isWitnessFor(by: HostLocation, of: HostLocation): boolean {
  return by.host !== of.host && DISTANCE[by.zone] >= DISTANCE[of.zone]
}

const ADDRESS = /^(\d{1,3}\.){3}\d{1,3}$|^\[.*\]$/
const LOOPBACK = /^(localhost|.*\.localhost|127\.(\d{1,3}\.){2}\d{1,3}|\[::1\])$/
const PRIVATE_ADDRESS =
  /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|\[f[cd]|\[fe[89ab])/
/** A name without a dot, or in a zone that nobody outside can look up. */
const PRIVATE_NAME = /^[^.]+$|\.(local|lan|home|internal|intranet|corp|home\.arpa)$/

/** By the host name of a URL, in lower case, as `URL` writes it. */
export function locationOf(hostname: string): HostLocation {
  const named = !ADDRESS.test(hostname)
  if (LOOPBACK.test(hostname)) {
    // Three ways to write one host; other loopback addresses are others on purpose.
    const host = hostname === 'localhost' || hostname === '[::1]' ? '127.0.0.1' : hostname
    return { host, zone: 'loopback', hasName: false }
  }
  const isPrivate = named ? PRIVATE_NAME.test(hostname) : PRIVATE_ADDRESS.test(hostname)
  return { host: hostname, zone: isPrivate ? 'private' : 'public', hasName: named }
}

/** One poll, on the monotonic clock. */
export interface HostPoll {
  readonly location: HostLocation
  /** Which endpoint was visited: a host may have several, and one that is dead does not make it unreachable. */
  readonly endpoint: string
  readonly startedAt: number
  readonly endedAt: number
  /** `answered`: something of it came from there. `dns`: not even the address was found. */
  readonly outcome: 'answered' | 'unreached' | 'dns'
}

/** Whose fault it is that a host was not reached: the node's (`believed`), ours, or not known yet. */
export type FaultOwner = 'node' | 'own' | 'undecided'

/**
 * Whether it is our own network that is gone. A failure to reach a host is believed once somebody as far away has answered a poll
 * that began after it. It is ours when nobody does: every host that answered before fails, two or more of them since the last
 * answer. With one host there is no other to ask: its failures are its own.
 */
export interface OwnNetwork {
  /** Must be told of every poll, in the order in which they end. Whether rulings that were undecided may have become clear. */
  record(visit: HostPoll): boolean
  /** The same question may get an answer later. */
  faultOf(visit: HostPoll): FaultOwner
  /** It answered in an earlier run: a host that never did cannot be missed. */
  expect(at: HostLocation, now: number): void
  /** A host that has not been asked for this long, in ms, is not waited for. */
  configure(hosts: readonly HostLocation[], patienceMs: number): void
  /** How many hosts are lost, by our fault; `dns`: for want of their addresses alone. `null` while none is. */
  outage(): { readonly dns: boolean; readonly hosts: number } | null
}

interface Host {
  readonly at: HostLocation
  /** Those that it belongs to. */
  readonly groups: readonly Group[]
  answeredEver: boolean
  /** The endpoints whose latest poll was answered, and when that ended. */
  readonly answering: Map<string, number>
  /** When the first poll of the present run of failures began; `null` while it answers. */
  failingSince: number | null
  lastEndedAt: number
}

const DISTANCE: Record<Zone, number> = { loopback: 0, private: 1, public: 2 }

/** The hosts that can vouch for each other: as far away or further; for trouble with names only those that have one. */
interface Group {
  readonly zone: Zone
  readonly dns: boolean
  /** When the latest poll began that was answered. */
  answeredAt: number
  /** Those with an endpoint whose latest poll was answered. */
  readonly reachable: Set<Host>
  /** Those that failed since the last answer, and had answered before; in that order. */
  readonly unreachable: Set<Host>
  isDown: boolean
  /** When the first poll that was answered after a cut ended. */
  downUntil: number
}

export function createOwnNetwork(): OwnNetwork {
  const hosts = new Map<string, Host>()
  const groups: Group[] = (['loopback', 'private', 'public'] as const).flatMap((zone) =>
    [false, true].map((dns) => ({
      zone,
      dns,
      answeredAt: Number.NEGATIVE_INFINITY,
      reachable: new Set<Host>(),
      unreachable: new Set<Host>(),
      isDown: false,
      downUntil: Number.NEGATIVE_INFINITY,
    })),
  )
  let patienceMs = Number.POSITIVE_INFINITY

  function covers(group: Group, at: HostLocation): boolean {
    return DISTANCE[at.zone] >= DISTANCE[group.zone] && (!group.dns || at.hasName)
  }

  function hostOf(at: HostLocation): Host {
    const known = hosts.get(at.host)
    if (known !== undefined) return known
    const host: Host = {
      at,
      groups: groups.filter((group) => covers(group, at)),
      answeredEver: false,
      answering: new Map(),
      failingSince: null,
      lastEndedAt: Number.NEGATIVE_INFINITY,
    }
    hosts.set(at.host, host)
    return host
  }

  function noteAnswer(group: Group, host: Host, { startedAt, endedAt }: HostPoll): void {
    if (group.isDown) group.downUntil = endedAt
    group.answeredAt = Math.max(group.answeredAt, startedAt)
    group.reachable.add(host)
    group.isDown = false
    if (group.unreachable.size === 0) return
    // Whoever failed while others answered failed alone.
    for (const lost of group.unreachable) {
      if (lost !== host && (lost.failingSince ?? 0) >= group.answeredAt) continue
      group.unreachable.delete(lost)
    }
  }

  function noteFailure(group: Group, host: Host, now: number): void {
    group.reachable.delete(host)
    if (host.answeredEver && (host.failingSince ?? 0) >= group.answeredAt) group.unreachable.add(host)
    if (group.reachable.size > 0) dropSilent(group, now)
    group.isDown = group.reachable.size === 0 && group.unreachable.size > 1
  }

  function dropSilent(group: Group, now: number): void {
    for (const host of group.reachable) if (now - host.lastEndedAt > patienceMs) group.reachable.delete(host)
  }

  /** Endpoints that are gone answer no more. */
  function dropLong(answering: Map<string, number>, now: number): void {
    for (const [of, at] of answering) if (now - at > patienceMs) answering.delete(of)
  }

  function remove(host: Host): void {
    hosts.delete(host.at.host)
    for (const group of groups) {
      group.reachable.delete(host)
      group.unreachable.delete(host)
    }
  }

  return {
    record(visit) {
      const { location: at, endpoint: of, startedAt, endedAt, outcome } = visit
      const host = hostOf(at)
      host.lastEndedAt = endedAt
      if (outcome === 'answered') {
        host.answeredEver = true
        host.answering.set(of, endedAt)
        host.failingSince = null
      } else {
        host.answering.delete(of)
        dropLong(host.answering, endedAt)
        if (host.answering.size > 0) return false
        host.failingSince ??= startedAt
      }
      let clearer = outcome === 'answered'
      for (const group of host.groups) {
        // Whoever was looked for at an address had one.
        if (outcome === 'answered' || (group.dns && outcome !== 'dns')) noteAnswer(group, host, visit)
        else {
          noteFailure(group, host, endedAt)
          clearer ||= group.reachable.size < 2
        }
      }
      return clearer
    },

    faultOf({ location: at, startedAt, endedAt, outcome }) {
      if (outcome === 'answered') return 'node'
      const group = groups.find(({ zone, dns }) => zone === at.zone && dns === (outcome === 'dns' && at.hasName))
      if (group === undefined) return 'node'
      // What began while our network was gone may end in a timeout long after it is back.
      if (group.isDown || startedAt < group.downUntil) return 'own'
      if (group.answeredAt >= endedAt) return 'node'
      const host = hostOf(at)
      const others = group.reachable.size - Number(group.reachable.has(host))
      // All others are lost, and of this host not everybody has been asked since.
      const isLast = group.unreachable.size > 0 && host.answering.size > 0
      return others > 0 || isLast ? 'undecided' : 'node'
    },

    expect(at, now) {
      const host = hostOf(at)
      host.answeredEver = true
      host.lastEndedAt = now
      for (const group of host.groups) group.reachable.add(host)
    },

    configure(configured, patience) {
      patienceMs = patience
      const wanted = new Set(configured.map(({ host }) => host))
      for (const host of hosts.values()) if (!wanted.has(host.at.host)) remove(host)
      for (const at of configured) hostOf(at)
    },

    outage() {
      const widest = groups.find(({ isDown: cut, dns }) => cut && !dns) ?? groups.find(({ isDown: cut }) => cut)
      return widest === undefined ? null : { dns: widest.dns, hosts: widest.unreachable.size }
    },
  }
}
