import type { ClusterLease } from '../core/cluster/report.ts'
import type { UnixMs } from '../core/time.ts'
import type { LeaseKind, MemberRow } from '../store/cluster-tables.ts'

/**
 * Decides what a member claims and gives back, from one view of the database. Every member computes the same shares
 * from the same view, so that they claim different networks.
 */
export function planLeases(situation: Situation): LeasePlan {
  const { self, networks, candidates, isReplaying, mayTakeOver, isOverdue } = situation
  const mayHold = !isReplaying || candidates.includes(self)
  const holders = holdersOf(situation)
  const loads = new Map(candidates.map((member) => [member, 0]))
  for (const { name, weight } of networks) {
    const holder = holders.get(name)
    if (holder !== undefined && loads.has(holder)) loads.set(holder, (loads.get(holder) ?? 0) + weight)
  }
  const free = networks.filter(({ name }) => !holders.has(name)).sort(heaviestFirst)
  const claim: string[] = []
  let left = 0
  for (const { name, weight } of free) {
    const taker = leastLoaded(loads)
    if (taker !== null) loads.set(taker, (loads.get(taker) ?? 0) + weight)
    const isForeign = situation.leases.some(({ network, member }) => network === name && member !== null)
    if (isForeign && !mayTakeOver) continue
    if (taker === self || (mayHold && isOverdue(name))) claim.push(name)
    else left++
  }
  const own = networks.filter(({ name }) => holders.get(name) === self)
  if (!mayHold) return { claim, left, release: own.map(({ name }) => name) }
  // While a network waits for its next member, nothing more is given back.
  return { claim, left, release: free.length > 0 ? [] : surplusOf(self, own, loads) }
}

export interface Situation {
  readonly self: string
  /** The database's time of the view. */
  readonly now: UnixMs
  /** The members that share these leases. `self` is not among them if others are better suited. */
  readonly candidates: readonly string[]
  /** Whether `self` cannot use these leases yet: it holds them only if no other member can. */
  readonly isReplaying: boolean
  /** Those that this member monitors. */
  readonly networks: readonly SharedNetwork[]
  /** Of one kind and vantage. */
  readonly leases: readonly ClusterLease[]
  /** `false` for a while after the database was away: the holders of expired leases come first. */
  readonly mayTakeOver: boolean
  /** Whether the network has been free for so long that it does not matter whose share it is. */
  readonly isOverdue: (network: string) => boolean
}

export interface SharedNetwork {
  readonly name: string
  /** How much work it is; above 0. */
  readonly weight: number
}

export interface LeasePlan {
  /** Names of networks. */
  readonly claim: readonly string[]
  readonly release: readonly string[]
  /** How many free networks are left to other members. */
  readonly left: number
}

/**
 * The members that share leases of a kind: live ones with the same networks, without impaired ones unless all are. Those that
 * cannot continue incidents yet share no leases to keep them, unless none can.
 */
export function candidatesFor(kind: LeaseKind, self: MemberRow, members: readonly MemberRow[], liveSince: UnixMs) {
  const sharing = members.filter(
    ({ id, vantage, networksDigest, seenAt }) =>
      id !== self.id &&
      seenAt > liveSince &&
      networksDigest === self.networksDigest &&
      (kind === 'keep' || vantage === self.vantage),
  )
  const able = without([self, ...sharing], ({ replaying }) => kind === 'keep' && replaying)
  return without(able, ({ impaired }) => impaired)
    .map(({ id }) => id)
    .sort()
}

/** All of them if that leaves no member. */
function without(members: readonly MemberRow[], isUnsuited: (member: MemberRow) => boolean): readonly MemberRow[] {
  const suited = members.filter((member) => !isUnsuited(member))
  return suited.length > 0 ? suited : members
}

/** An expired lease is still its holder's own, who renews it unless another member was faster. */
function holdersOf({ self, now, leases }: Situation): ReadonlyMap<string, string> {
  const holders = new Map<string, string>()
  for (const { network, member, expiresAt } of leases)
    if (member !== null && (expiresAt > now || member === self)) holders.set(network, member)
  return holders
}

/** The part of its networks that a member gives back at once, so that few polls are late. */
const GIVEN_AT_ONCE = 0.1

/** What the most loaded member gives to the least loaded one; empty for all others. */
function surplusOf(self: string, own: readonly SharedNetwork[], before: ReadonlyMap<string, number>): string[] {
  const loads = new Map(before)
  const most = Math.max(1, Math.floor(own.length * GIVEN_AT_ONCE))
  const surplus: string[] = []
  for (const { name, weight } of own.toSorted(heaviestFirst)) {
    if (surplus.length === most) break
    const taker = leastLoaded(loads)
    if (taker === null || taker === self) break
    const load = loads.get(self)
    if (load !== undefined && !isMostLoaded(self, loads)) break
    const given = (loads.get(taker) ?? 0) + weight
    if (load !== undefined && given >= load) continue
    surplus.push(name)
    loads.set(taker, given)
    if (load !== undefined) loads.set(self, load - weight)
  }
  return surplus
}

function leastLoaded(loads: ReadonlyMap<string, number>): string | null {
  let least: string | null = null
  for (const [member, load] of loads) if (least === null || load < (loads.get(least) ?? 0)) least = member
  return least
}

function isMostLoaded(self: string, loads: ReadonlyMap<string, number>): boolean {
  const load = loads.get(self) ?? 0
  return [...loads].every(([member, other]) => other < load || (other === load && self <= member))
}

function heaviestFirst(a: SharedNetwork, b: SharedNetwork): number {
  return b.weight - a.weight || (a.name < b.name ? -1 : 1)
}
