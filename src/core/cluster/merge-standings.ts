import type { Shard } from '../network.ts'
import type { UnixMs } from '../time.ts'
import type { NetworkFork, NetworkReference } from '../verdict/network-chains.ts'
import { neededOf, nth, type Quorum } from './merge.ts'
import type { NetworkVote } from './vote.ts'

/** What the votes of all vantages together say of a network's chains. */
export function mergeStandings(votes: readonly NetworkVote[], quorum: Quorum, now: UnixMs): MergedStanding {
  const counted = votes
    .filter(({ isImpaired, validUntil }) => !isImpaired && now <= validUntil)
    .sort((a, b) => (a.vantage < b.vantage ? -1 : 1))
  const needed = neededOf(quorum, counted.length)
  const shards = [...new Set(counted.flatMap(({ heads }) => heads.map(({ shard }) => shard)))]
  const heads = shards.sort(byShard).flatMap((shard) => referenceOf(counted, shard, needed) ?? [])
  const [halts, fork] = [haltsOf(counted, needed), forkOf(counted, needed)]
  const isSame = ({ shard }: { readonly shard: Shard }) => halts.some((halt) => halt.shard === shard)
  const halted = counted.filter((vote) => vote.halts.some(isSame))
  const forked = counted.filter((vote) => fork !== null && vote.fork?.shard === fork.shard)
  const isAny = halts.length > 0 || fork !== null
  return { heads, halts, fork, ...(isAny && { seenFrom: { halted: namesOf(halted), forked: namesOf(forked) } }) }
}

export interface MergedStanding {
  readonly heads: readonly NetworkReference[]
  /** Shards that a quorum of vantages see halted. */
  readonly halts: NetworkVote['halts']
  /** The fork that a quorum of vantages see, as one of them describes it. */
  readonly fork: NetworkFork | null
  /** The vantages that see them, in the order of their names; missing if there are none. */
  readonly seenFrom?: Readonly<Record<'halted' | 'forked', readonly string[]>>
}

function namesOf(votes: readonly NetworkVote[]): readonly string[] {
  return votes.map(({ vantage }) => vantage)
}

function byShard(a: Shard, b: Shard): number {
  return (a ?? -1) - (b ?? -1)
}

/** The highest that a quorum of the vantages with a reference head have reached: one of them alone may be misled. */
function referenceOf(counted: readonly NetworkVote[], shard: Shard, needed: number): NetworkReference | undefined {
  const known = counted.flatMap(({ heads }) => heads.find((head) => head.shard === shard) ?? [])
  return known.sort((a, b) => b.height - a.height)[Math.min(needed, known.length) - 1]
}

function haltsOf(counted: readonly NetworkVote[], needed: number): NetworkVote['halts'] {
  const sinces = new Map<Shard, UnixMs[]>()
  for (const { halts } of counted)
    for (const { shard, since } of halts) sinces.set(shard, [...(sinces.get(shard) ?? []), since])
  return [...sinces]
    .sort(([a], [b]) => byShard(a, b))
    .flatMap(([shard, times]) => {
      const since = nth(times, needed)
      return since === null ? [] : [{ shard, since }]
    })
}

function forkOf(counted: readonly NetworkVote[], needed: number): NetworkFork | null {
  const forks = counted.flatMap(({ fork }) => fork ?? [])
  const shards = [...new Set(forks.map(({ shard }) => shard))].sort(byShard)
  for (const shard of shards) {
    const same = forks.filter((fork) => fork.shard === shard)
    const since = nth(
      same.map((fork) => fork.since),
      needed,
    )
    const [first] = same.sort((a, b) => b.height - a.height)
    if (since !== null && first !== undefined) return { ...first, since }
  }
  return null
}
