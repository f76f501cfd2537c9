import type { ClusterLease, ClusterMember } from '../core/cluster/report.ts'
import type { UnixMs } from '../core/time.ts'

/** The tables by which the members of a cluster agree. Times are the database's. Every call rejects while it is away. */
export interface ClusterTables {
  /** All members heard of within a day and all leases, as of one moment. */
  view(): Promise<ClusterView>
  /** Records that the member lives and prolongs those of `held` that no other member has claimed since; returns them. */
  renew(member: LiveMember, held: readonly HeldLease[], leaseMs: number): Promise<readonly HeldLease[]>
  /** Claims those of `wanted` that are free or have expired, each with a new token; returns them. */
  claim(member: string, wanted: readonly LeaseKey[], leaseMs: number): Promise<readonly HeldLease[]>
  /** Frees those of `held` that the member still holds. */
  release(member: string, held: readonly HeldLease[]): Promise<void>
  /** Frees all leases of the member, and forgets it. */
  leave(member: string): Promise<void>
  /** Replaces votes. One whose token is no longer the current one changes nothing. `isUrgent`: the others get a hint. */
  writeVotes(member: string, vantage: string, votes: readonly WrittenVote[], isUrgent: boolean): Promise<void>
  /** Votes of other members since the position, `null` for all of them; one may be returned twice. */
  readVotes(position: string | null, member: string): Promise<ReadVotes>
  /** Calls `listener` soon after another member wrote votes or freed leases; it is a hint, which may be missing. */
  onHint(member: string, listener: (hint: ClusterHint) => void): () => void
}

export type ClusterHint = 'votes' | 'leases'

/** `poll`: the right to poll a network for a vantage; `keep`: to write its incidents and send its notifications. */
export const LEASE_KINDS = ['poll', 'keep'] as const satisfies readonly ClusterLease['kind'][]
export type LeaseKind = ClusterLease['kind']
export type LeaseKey = Pick<ClusterLease, 'kind' | 'vantage' | 'network'>
export type HeldLease = Pick<ClusterLease, keyof LeaseKey | 'token'>

/** What a member tells the others about itself. */
export interface LiveMember extends Pick<ClusterMember, 'id' | 'vantage' | 'version' | 'url'> {
  /** Of the names, families and checks that it monitors. */
  readonly networksDigest: string
  /** Whether it cannot judge nodes at present. */
  readonly impaired: boolean
  /** Whether the database lacks what an earlier run of it has put aside: until then it continues no incidents. */
  readonly replaying: boolean
}

export interface MemberRow extends LiveMember {
  readonly startedAt: UnixMs
  readonly seenAt: UnixMs
}

export interface ClusterView {
  readonly now: UnixMs
  readonly members: readonly MemberRow[]
  readonly leases: readonly ClusterLease[]
}

/** A vote as it is stored; `value` is an opaque JSON value to the store. */
export interface StoredVote {
  readonly vantage: string
  readonly network: string
  /** Empty for what is said of the network itself. */
  readonly endpoint: string
  readonly member: string
  readonly polledAt: UnixMs
  readonly value: unknown
}

export interface ReadVotes {
  readonly votes: readonly StoredVote[]
  /** The position of the next call. */
  readonly next: string
}

export interface WrittenVote extends Pick<StoredVote, 'network' | 'endpoint' | 'polledAt' | 'value'> {
  readonly token: number
}
