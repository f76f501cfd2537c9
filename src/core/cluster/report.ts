import type { UnixMs } from '../time.ts'

/** What one member knows of its cluster. */
export interface ClusterReport {
  /** This member's id and place. */
  readonly self: string
  readonly vantage: string
  readonly members: readonly ClusterMember[]
  readonly leases: readonly ClusterLease[]
  readonly store: {
    readonly reachable: boolean
    /** Since when it is, or is not. */
    readonly since: UnixMs
    /** Rows that wait in the spool while it is not. */
    readonly spoolRows: number
    /** Duration of the latest round trip; `null` while there is none. */
    readonly lagMs: number | null
  }
}

/** A daemon that the database has heard of in the last 24 hours. */
export interface ClusterMember {
  readonly id: string
  readonly vantage: string
  readonly version: string
  /** The address of its page, as configured. */
  readonly url: string | null
  readonly seenAt: UnixMs
  /** Heard within one lease; `null` if it was when the database could last be reached, and nothing is known since. */
  readonly isLive: boolean | null
  readonly isSelf: boolean
  /** Whether its networks are others than ours. */
  readonly differs: boolean
}

/** The right of one member, until a time on the database's clock, to poll a network for a place, or to keep its incidents. */
export interface ClusterLease {
  readonly kind: 'poll' | 'keep'
  /** Empty for `keep`. */
  readonly vantage: string
  readonly network: string
  /** The member that holds it, or held it until it expired; `null` once it was freed. */
  readonly member: string | null
  /** Grows with each claim. */
  readonly token: number
  readonly expiresAt: UnixMs
}

/** The leases to show: without those of networks that are not monitored any more, and of places that have no member. */
export function currentLeases(
  { leases, members }: Pick<ClusterReport, 'leases' | 'members'>,
  isMonitored: (network: string) => boolean,
): readonly ClusterLease[] {
  const places = new Set(members.map(({ vantage }) => vantage))
  return leases.filter(({ kind, vantage, network }) => isMonitored(network) && (kind === 'keep' || places.has(vantage)))
}
