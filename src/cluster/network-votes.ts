import { type MergedVotes, mergeVotes, type Quorum } from '../core/cluster/merge.ts'
import { type MergedStanding, mergeStandings } from '../core/cluster/merge-standings.ts'
import {
  isBackAt,
  type NetworkVote,
  TRAVELS_MS,
  turnsAfter,
  type Vote,
  validUntil,
  voteHoldsMs,
} from '../core/cluster/vote.ts'
import type { Endpoint } from '../core/endpoint.ts'
import type { Network, Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { type Health, verdictDiffers } from '../core/verdict/health.ts'
import { FORK_KNOWN_AFTER_INTERVALS } from '../core/verdict/network-chains.ts'
import { type NetworkStanding, standingDiffers } from '../state/board.ts'
import type { StoredVote, WrittenVote } from '../store/cluster-tables.ts'
import { type NetworkWord, readHealth, readNetworkWord, writeHealth } from './vote-codec.ts'

/** The votes of all vantages on one network and its endpoints, and what they come to. */
export function createNetworkVotes({ network, endpoints, self, earlier }: NetworkVotesDeps): NetworkVotes {
  const { vantage, member } = self
  const longestIntervalMs = Math.max(0, ...endpoints.map(({ intervalMs }) => intervalMs))
  const slots = new Map(endpoints.map((endpoint) => [endpoint.name, slotOf(endpoint, earlier)]))
  const words = new Map(earlier?.words)
  /** Endpoints with a poll of ours since votes were last taken. */
  const unwritten = new Set<Slot>()
  /** Endpoints with a new vote since they were merged. */
  const due = new Set<Slot>()
  /** No endpoint needs to be merged for a vote that expires before this time. */
  let recheckAt = Number.NEGATIVE_INFINITY
  let standing: NetworkStanding = { network, heads: [], haltedShards: [], forked: false }
  /** Start of the latest poll of ours that counts; `null` before the first. */
  let polledAt: UnixMs | null = null
  /** The fork that the owner before us saw, until our own polls can show one. */
  let earlierFork: { readonly fork: NetworkWord['fork']; readonly until: UnixMs } | null = null

  function forkIn(fork: NetworkWord['fork'], at: UnixMs): NetworkWord['fork'] {
    const before = words.get(vantage)
    if (before !== undefined && before.member !== member) {
      earlierFork = { fork: before.fork, until: at + FORK_KNOWN_AFTER_INTERVALS * longestIntervalMs }
    }
    if (fork !== null || (earlierFork !== null && at > earlierFork.until)) earlierFork = null
    return fork ?? earlierFork?.fork ?? null
  }

  function noteWord({ heads, halts, fork }: NetworkWord, of: Pick<Vote, 'vantage' | 'member'>, at: UnixMs): void {
    const until = at + voteHoldsMs(longestIntervalMs)
    words.set(of.vantage, { ...of, heads, halts, fork, validUntil: until, isImpaired: false })
  }

  return {
    network,
    slots,
    words,

    polled(health) {
      const slot = slots.get(health.endpoint.name)
      if (slot === undefined || health.lastPolledAt === null) return
      const before = slot.votes.get(vantage)
      const last = before === undefined ? null : { verdict: before.health.verdict, turns: before.turns }
      const known = turnsAfter(last, health)
      const isBack = before !== undefined && isBackAt(health.lastPolledAt, before)
      const turns = isBack ? { ...known, back: health.lastPolledAt } : known
      slot.votes.set(vantage, { vantage, member, health, turns, isImpaired: false })
      due.add(slot)
      // A poll that failed by our own fault says nothing of the network either.
      if (health.validUntil > health.lastPolledAt) polledAt = health.lastPolledAt
      unwritten.add(slot)
    },

    noteStanding(word) {
      if (polledAt !== null) noteWord({ ...word, fork: forkIn(word.fork, polledAt) }, self, polledAt)
    },

    readHealth(vote, now) {
      const slot = slots.get(vote.endpoint)
      if (slot === undefined) return null
      if (isPassed(vote.polledAt, slot.votes.get(vote.vantage)?.health.lastPolledAt ?? null, now)) return null
      const said = readHealth(vote.value, slot.endpoint)
      if (said === null) return null
      slot.votes.set(vote.vantage, { vantage: vote.vantage, member: vote.member, ...said, isImpaired: false })
      due.add(slot)
      return said.health
    },

    readStanding(vote, now) {
      if (vote.vantage === vantage && isPassed(vote.polledAt, polledAt, now)) return null
      const word = readNetworkWord(vote.value)
      if (word === null) return null
      noteWord(word, vote, vote.polledAt)
      return { network, heads: word.heads, haltedShards: shardsOf(word.halts), forked: word.fork !== null }
    },

    merge(quorum, impaired, isAll, now, shown) {
      const isRechecked = isAll || now > recheckAt
      if (isRechecked) recheckAt = Number.POSITIVE_INFINITY
      for (const slot of isRechecked ? slots.values() : due) {
        if (isAll || due.has(slot) || now > slot.recheckAt) {
          const { merged, changed } = mergeSlot(slot, quorum, impaired, now)
          shown.put(merged.health, changed, merged)
        }
        recheckAt = Math.min(recheckAt, slot.recheckAt)
      }
      due.clear()
      const votes = [...words.values()].map((word) => ({ ...word, isImpaired: impaired.has(word.member) }))
      const merged = mergeStandings(votes, quorum, now)
      const next = standingAfter(standing, merged)
      if (next !== standing) shown.putStanding(next, standingDiffers(standing, next))
      standing = next
      return merged
    },

    take(token) {
      const taken: WrittenVote[] = []
      for (const { endpoint, votes } of unwritten) {
        const vote = votes.get(vantage)
        const at = vote?.health.lastPolledAt ?? null
        if (vote?.member !== member || at === null) continue
        const value = writeHealth(vote.health, vote.turns)
        taken.push({ network: network.name, endpoint: endpoint.name, token, polledAt: at, value })
      }
      unwritten.clear()
      const word = words.get(vantage)
      if (taken.length === 0 || word?.member !== member || polledAt === null) return taken
      const { heads, halts, fork } = word
      return [...taken, { network: network.name, endpoint: '', token, polledAt, value: { heads, halts, fork } }]
    },

    putBack(endpoint) {
      const slot = slots.get(endpoint)
      if (slot !== undefined) unwritten.add(slot)
    },

    isStale: (now) =>
      [...slots.values()].every(({ votes }) => {
        const vote = votes.get(vantage)
        if (vote === undefined || now > validUntil(vote)) return true
        // Of a poll from before the first answer of the database, when this member's own clock was ahead.
        return (vote.health.lastPolledAt ?? now) > now + TRAVELS_MS
      }),
  }
}

export interface NetworkVotes {
  readonly network: Network
  readonly slots: ReadonlyMap<string, Slot>
  readonly words: ReadonlyMap<string, NetworkVote>
  /** Takes a poll of ours as our vantage's vote. */
  polled(health: Health): void
  /** What our polls say of the network itself. */
  noteStanding(word: NetworkWord): void
  /** Takes another member's vote of an endpoint; `null` if it cannot be read, or is older than what is known. */
  readHealth(vote: StoredVote, now: UnixMs): Health | null
  /** Takes another member's vote of the network. */
  readStanding(vote: StoredVote, now: UnixMs): NetworkStanding | null
  /** Merges what has changed, or all of it, and shows it. `impaired`: ids of members whose votes do not count. */
  merge(quorum: Quorum, impaired: ReadonlySet<string>, isAll: boolean, now: UnixMs, shown: ShownBoard): MergedStanding
  /** Our votes since the last call. */
  take(token: number): readonly WrittenVote[]
  /** Takes back a vote that could not be written. */
  putBack(endpoint: string): void
  /** Whether no vote of our vantage holds any more. */
  isStale(now: UnixMs): boolean
}

/** Where the merged view is shown. */
export interface ShownBoard {
  put(health: Health, verdictChanged: boolean, merged: Pick<MergedVotes, 'places' | 'confirmedBy'>): unknown
  putStanding(standing: NetworkStanding, changed: boolean): void
}

export interface NetworkVotesDeps {
  readonly network: Network
  readonly endpoints: readonly Endpoint[]
  readonly self: Pick<Vote, 'vantage' | 'member'>
  /** The same network before a reload. */
  readonly earlier: Pick<NetworkVotes, 'slots' | 'words'> | undefined
}

/** One endpoint and its votes by vantage. */
interface Slot {
  readonly endpoint: Endpoint
  readonly votes: Map<string, Vote>
  merged: MergedVotes | null
  /** After this time one of the votes no longer counts. */
  recheckAt: UnixMs
}

/**
 * Whether a vote is older than what its vantage has said: after an outage of the database, each of its members has polled.
 * A time that has not come is from before the first answer of the database.
 */
function isPassed(readAt: UnixMs, knownAt: UnixMs | null, now: UnixMs): boolean {
  return knownAt !== null && readAt < knownAt && knownAt <= now + TRAVELS_MS
}

/** A vantage that has not voted for this long is no longer shown. */
const FORGOTTEN_AFTER_MS = 86_400_000

function slotOf(endpoint: Endpoint, earlier: NetworkVotesDeps['earlier']): Slot {
  const votes = [...(earlier?.slots.get(endpoint.name)?.votes.values() ?? [])].map((vote): [string, Vote] => [
    vote.vantage,
    { ...vote, health: { ...vote.health, endpoint } },
  ])
  return { endpoint, votes: new Map(votes), merged: null, recheckAt: Number.NEGATIVE_INFINITY }
}

function mergeSlot(slot: Slot, quorum: Quorum, impaired: ReadonlySet<string>, now: UnixMs) {
  const votes: Vote[] = []
  for (const [vantage, vote] of slot.votes) {
    const isImpaired = impaired.has(vote.member)
    if ((vote.health.lastPolledAt ?? 0) < now - FORGOTTEN_AFTER_MS) slot.votes.delete(vantage)
    else votes.push(vote.isImpaired === isImpaired ? vote : { ...vote, isImpaired })
  }
  const before = slot.merged
  const merged = mergeVotes(slot.endpoint, votes, quorum, now)
  slot.merged = merged
  slot.recheckAt = Number.POSITIVE_INFINITY
  for (const vote of votes) {
    const until = validUntil(vote)
    if (until >= now && until < slot.recheckAt) slot.recheckAt = until
  }
  const wasKnown = before !== null && before.confirmedBy > 0
  const isKnown = merged.confirmedBy > 0
  const changed = before === null || wasKnown !== isKnown || verdictDiffers(before.health, merged.health)
  return { merged, changed }
}

/** The same object if nothing differs. */
function standingAfter(before: NetworkStanding, { heads, halts, fork }: MergedStanding): NetworkStanding {
  const isSame = JSON.stringify(heads) === JSON.stringify(before.heads)
  const next = {
    network: before.network,
    heads: isSame ? before.heads : heads,
    haltedShards: shardsOf(halts),
    forked: fork !== null,
  }
  return isSame && !standingDiffers(before, next) ? before : next
}

function shardsOf(halts: NetworkWord['halts']): readonly Shard[] {
  return halts.map(({ shard }) => shard)
}
