import type { Quorum } from '../core/cluster/merge.ts'
import type { MergedStanding } from '../core/cluster/merge-standings.ts'
import { hasResult, type Vote, validUntil } from '../core/cluster/vote.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Network } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { type Health, verdictDiffers } from '../core/verdict/health.ts'
import { standingDiffers, type WritableBoard } from '../state/board.ts'
import type { StoredVote, WrittenVote } from '../store/cluster-tables.ts'
import { createNetworkVotes, type NetworkVotes, type ShownBoard } from './network-votes.ts'
import type { NetworkWord } from './vote-codec.ts'

/** The votes of all vantages: takes ours from the local board, and those of the others from the database. */
export function createVotes({ self, local, shown, standingOf, onMerged }: VotesDeps) {
  let networks = new Map<string, NetworkVotes>()
  let quorum: Quorum = 'majority'
  let impaired: ReadonlySet<string> = new Set()
  const polledNetworks = new Set<string>()

  /** What another member of our vantage has polled is shown to the gateway and to on-demand polls, as long as its vote counts. */
  function putLocally(health: Health): void {
    const before = local.entry(health.endpoint.network, health.endpoint.name)
    if (before === undefined) return
    const shownHealth = hasResult({ health }) ? { ...health, validUntil: validUntil({ health }) } : health
    local.put(shownHealth, verdictDiffers(before.health, shownHealth))
  }

  function readOne(voted: NetworkVotes, vote: StoredVote, now: UnixMs): void {
    const isOfOurVantage = vote.vantage === self.vantage
    if (vote.endpoint !== '') {
      const health = voted.readHealth(vote, now)
      if (isOfOurVantage && health !== null) putLocally(health)
      return
    }
    const standing = voted.readStanding(vote, now)
    const before = local.network(vote.network)?.standing
    if (!isOfOurVantage || standing === null || before === undefined) return
    local.putStanding(standing, standingDiffers(before, standing))
  }

  /** Whether no vote of our vantage on this network holds any more. */
  function isStale(network: string, now: UnixMs): boolean {
    return networks.get(network)?.isStale(now) !== false
  }

  return {
    /**
     * Replaces all networks; votes on those that stay are kept, and put on the local board again. The next `merge` shows
     * all of them.
     */
    configure(next: readonly ClusterNetwork[], nextQuorum: Quorum, isOurs: (network: string) => boolean): void {
      const before = networks
      quorum = nextQuorum
      networks = new Map(
        next.map(({ network, endpoints }) => [
          network.name,
          createNetworkVotes({ network, endpoints, self, earlier: before.get(network.name) }),
        ]),
      )
      for (const [name, { slots }] of networks) {
        if (isOurs(name)) continue
        for (const { votes } of slots.values()) {
          const vote = votes.get(self.vantage)
          if (vote !== undefined) putLocally(vote.health)
        }
      }
    },

    /** Call it when a poll has changed the local board. Health from before `since` is another member's. */
    polled(network: string, endpoint: string, since: UnixMs): void {
      const health = local.entry(network, endpoint)?.health
      if (health === undefined || (health.lastPolledAt ?? 0) < since) return
      networks.get(network)?.polled(health)
      polledNetworks.add(network)
    },

    /** Takes votes from the database. `isOurs`: whether this member polls the network for its vantage. */
    read(votes: readonly StoredVote[], isOurs: (network: string) => boolean, now: UnixMs): void {
      for (const vote of votes) {
        const voted = networks.get(vote.network)
        if (voted === undefined || (vote.vantage === self.vantage && isOurs(vote.network))) continue
        readOne(voted, vote, now)
      }
    },

    /** Shows what has changed. Call it every second at least, as votes expire. */
    merge(nextImpaired: ReadonlySet<string>, now: UnixMs): void {
      const isAll = nextImpaired.size !== impaired.size || [...nextImpaired].some((id) => !impaired.has(id))
      impaired = nextImpaired
      for (const [name, voted] of networks) {
        const word = polledNetworks.delete(name) ? standingOf(name) : null
        if (word !== null) voted.noteStanding(word)
        onMerged(name, voted.merge(quorum, impaired, isAll, now, shown))
      }
    },

    /** Our votes since the last call on networks that have a token. */
    take(tokenOf: (network: string) => number | null): readonly WrittenVote[] {
      return [...networks].flatMap(([name, voted]) => {
        const token = tokenOf(name)
        return token === null ? [] : voted.take(token)
      })
    },

    /** Takes back what could not be written. */
    putBack(votes: readonly WrittenVote[]): void {
      for (const { network, endpoint } of votes) networks.get(network)?.putBack(endpoint)
    },

    isStale,

    /** Whether our vantage has polled every network, and this member every endpoint of those that it polls `since` then. */
    areAllPolled(since: ReadonlyMap<string, UnixMs>, now: UnixMs): boolean {
      return [...networks.keys()].every((name) => {
        const from = since.get(name)
        if (from === undefined) return !isStale(name, now)
        return local.network(name)?.endpoints.every(({ health }) => (health.lastPolledAt ?? 0) >= from) === true
      })
    },
  }
}

export type Votes = ReturnType<typeof createVotes>

export interface ClusterNetwork {
  readonly network: Network
  readonly endpoints: readonly Endpoint[]
}

export interface VotesDeps {
  readonly self: Pick<Vote, 'vantage' | 'member'>
  /** What this vantage sees: written by our polls, and with the votes of other members of the vantage. */
  readonly local: Pick<WritableBoard, 'entry' | 'network' | 'put' | 'putStanding'>
  readonly shown: ShownBoard
  /** What our polls say of a network itself. */
  readonly standingOf: (network: string) => NetworkWord | null
  readonly onMerged: (network: string, merged: MergedStanding) => void
}
