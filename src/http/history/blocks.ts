import type { Network, Shard } from '../../core/network.ts'
import { seconds, time, timeOrNull, type UnixMs } from '../../core/time.ts'
import type { HeadStanding } from '../../core/verdict/health.ts'
import type { BoardEntry, BoardNetwork } from '../../state/board.ts'
import type { Sighted, Sighting, Sightings } from '../../state/sightings.ts'
import { sendJson } from '../negotiation.ts'
import { sendUnknown } from '../problem.ts'
import { type App, json, NetworkPath, NoQuery, operation, type RouteDeps } from '../route.ts'
import { BlocksView, type BlockView, type BlockWitnessView, type ShardBlocksView } from '../wire/blocks.ts'

/** `GET …/networks/:network/blocks`: when each endpoint of a network was first seen at each of its last blocks. */
export function registerBlocks(
  app: App,
  { board, sightings, clock }: Pick<RouteDeps, 'board' | 'sightings' | 'clock'>,
): void {
  const route = operation({
    visibility: 'private',
    summary: 'When each endpoint was first seen at each recent block; precision is limited by the poll interval',
    params: NetworkPath,
    query: NoQuery,
    answers: {
      200: json(BlocksView, 'The last 60 blocks of each shard, fewer where it has more than a hundred endpoints'),
    },
  })
  app.get('/api/v1/networks/:network/blocks', route, async (request, reply) => {
    const network = board.network(request.params.network)
    if (network === undefined) return sendUnknown(reply, 'network')
    return sendJson(request, reply, JSON.stringify(blocksView(network, sightings, clock.now())))
  })
}

const MOST_BLOCKS = 60
/** Blocks times endpoints per shard. It bounds the response: more endpoints leave fewer blocks. */
const MOST_CELLS = 6000
/** More than a page can show. */
const MOST_WITNESSES = 300

interface Witness {
  readonly entry: BoardEntry
  readonly head: HeadStanding
  readonly sighted: Sighted
}

export function blocksView({ standing, endpoints }: BoardNetwork, sightings: Sightings, now: UnixMs): BlocksView {
  const { network } = standing
  const shards = [...new Set(endpoints.flatMap(({ health }) => health.endpoint.shards))]
  return {
    network: network.name,
    generated_at: time(now),
    thresholds: { lag_blocks: network.thresholds.lagBlocks, stall_seconds: network.thresholds.stallMs / 1000 },
    shards: shards.map((shard) => {
      const witnesses = endpoints.flatMap((entry): Witness[] => {
        const head = entry.health.heads.find((one) => one.shard === shard)
        const sighted = sightings.of(entry.key, shard)
        return head === undefined || sighted === undefined ? [] : [{ entry, head, sighted }]
      })
      const reference = standing.heads.find((head) => head.shard === shard)
      // An endpoint with an impossible height must not move the window past all others.
      const ceiling = (reference?.height ?? Number.POSITIVE_INFINITY) + network.thresholds.lagBlocks
      return shardView(shard, network, reference?.blockTimeMs ?? null, witnesses, ceiling)
    }),
  }
}

function shardView(
  shard: Shard,
  network: Network,
  measuredMs: number | null,
  all: readonly Witness[],
  ceiling: number,
): ShardBlocksView {
  const shown = all.length <= MOST_WITNESSES ? all : furthestBehind(all)
  const newest = shown.reduce((most, { head }) => (head.height <= ceiling ? Math.max(most, head.height) : most), -1)
  const most = Math.min(MOST_BLOCKS, Math.floor(MOST_CELLS / Math.max(1, shown.length)))
  const first = Math.max(0, newest - most + 1)
  const heights = Array.from({ length: newest < first ? 0 : newest - first + 1 }, (_, at) => first + at)
  const observed = shown.map(({ sighted }) => arrivalsOf(sighted, first, heights.length))
  const hasFirst = heights.map((height, at) => !hadBefore(shown, { height, newest, at: earliest(observed, at) }))
  const arrivals = observed.map((own) => own.map((one, at) => (hasFirst[at] ? one : null)))
  const firstSeen = heights.map((_, at) => earliest(arrivals, at))
  const { blocks, reports } = reportedBlocks(
    shown.map(({ sighted }) => sighted),
    heights,
  )
  // Blocks from before the first observation are omitted.
  const known = blocks.findIndex(({ hashes }, at) => hashes.length > 0 || firstSeen[at] !== null)
  const from = known === -1 ? blocks.length : known
  return {
    shard,
    block_time: { expected_seconds: network.blockTimeMs / 1000, measured_seconds: seconds(measuredMs) },
    blocks: blocks
      .map(
        ({ hashes, timestamp }, at): BlockView => ({
          height: first + at,
          timestamp: timeOrNull(timestamp),
          first_seen_at: timeOrNull(firstSeen[at] ?? null),
          hashes,
        }),
      )
      .slice(from),
    endpoints: shown.map(({ entry, head }, at): BlockWitnessView => {
      const own = arrivals[at] ?? []
      return {
        name: entry.health.endpoint.name,
        interval_seconds: entry.health.endpoint.intervalMs / 1000,
        height: head.height,
        advanced_at: time(head.advancedAt),
        answered_at: time(head.readAt),
        told: (reports[at] ?? []).slice(from),
        later_seconds: own.map((one, index) => one && seconds(one.at - (firstSeen[index] ?? one.at))).slice(from),
        within_seconds: own.map((one) => one && seconds(Math.max(0, one.at - one.after))).slice(from),
      }
    }),
    endpoints_left_out: all.length - shown.length,
  }
}

function furthestBehind(all: readonly Witness[]): readonly Witness[] {
  const chosen = new Set([...all].sort((a, b) => a.head.height - b.head.height).slice(0, MOST_WITNESSES))
  return all.filter((witness) => chosen.has(witness))
}

interface Arrival {
  readonly at: UnixMs
  /** Time of the previous poll, which saw a lower height. */
  readonly after: UnixMs
}

/** When the endpoint was first seen at or above each height; skipped heights count from the later poll. */
function arrivalsOf({ heads }: Sighted, first: number, count: number): (Arrival | null)[] {
  const arrivals: (Arrival | null)[] = Array.from({ length: count }, () => null)
  for (const { head, at, after, before } of heads) {
    if (after === null || before === null) continue
    const from = Math.max(first, before + 1)
    const to = Math.min(first + count - 1, head.height)
    for (let height = from; height <= to; height++) arrivals[height - first] ??= { at, after }
  }
  return arrivals
}

/** Whether an endpoint had the block at its first poll, before it was seen to arrive anywhere: then no other one was first. */
function hadBefore(shown: readonly Witness[], { height, newest, at }: Seen): boolean {
  return shown.some(({ sighted: { heads } }) => {
    const [oldest] = heads
    if (oldest === undefined || oldest.before !== null || at === null) return false
    // An impossible height tells nothing of this block.
    return oldest.at <= at && oldest.head.height >= height && oldest.head.height <= newest
  })
}

interface Seen {
  readonly height: number
  /** The height of the newest block. */
  readonly newest: number
  /** When the block was first seen to arrive. */
  readonly at: UnixMs | null
}

function earliest(arrivals: readonly (readonly (Arrival | null)[])[], index: number): UnixMs | null {
  const times = arrivals.flatMap((one) => one[index]?.at ?? [])
  return times.length === 0 ? null : Math.min(...times)
}

interface ReportedBlocks {
  /** One per height. */
  readonly blocks: readonly { readonly hashes: string[]; readonly timestamp: UnixMs | null }[]
  /** Per endpoint and height: index of the endpoint's hash in `hashes`; `null` if it reported none. */
  readonly reports: readonly (number | null)[][]
}

/**
 * Collects the hash that each endpoint has at each height, from its heads, compared blocks and the parents of its
 * heads. Parents count only if one of them is a reported block: a cache may name parents that never existed.
 */
function reportedBlocks(sighted: readonly Sighted[], heights: readonly number[]): ReportedBlocks {
  const reported = sighted.map(hashesOf)
  const known = new Set(reported.flatMap((hashes) => [...hashes].map(([height, hash]) => `${height} ${hash}`)))
  for (const [at, { heads }] of sighted.entries()) addParents(reported[at] as Hashes, heads, known)
  const times = new Map(sighted.flatMap(({ heads }) => heads.map(({ head }) => [head.hash, head.timestamp] as const)))
  const blocks = heights.map((height) => {
    const hashes = mostReportedFirst(reported.flatMap((one) => one.get(height) ?? []))
    return { hashes, timestamp: times.get(hashes[0] ?? '') ?? null }
  })
  const reports = reported.map((one) =>
    heights.map((height, at) => {
      const hash = one.get(height)
      return hash === undefined ? null : (blocks[at]?.hashes.indexOf(hash) ?? null)
    }),
  )
  return { blocks, reports }
}

/** Hash by height. */
type Hashes = Map<number, string>

/** The later of two reports for one height wins. */
function hashesOf({ heads, compared }: Sighted): Hashes {
  return new Map([
    ...compared.map(({ height, hash }) => [height, hash] as const),
    ...heads.map(({ head }) => [head.height, head.hash] as const),
  ])
}

function addParents(hashes: Hashes, heads: readonly Sighting[], known: ReadonlySet<string>): void {
  if (!heads.some(({ head }) => known.has(`${head.height - 1} ${head.parentHash}`))) return
  // Latest head first, because it belongs to the current branch.
  for (const { head } of heads.toReversed()) {
    const height = head.height - 1
    if (head.parentHash !== '' && !hashes.has(height)) hashes.set(height, head.parentHash)
  }
}

function mostReportedFirst(hashes: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  return [...counts].sort(([, a], [, b]) => b - a).map(([hash]) => hash)
}
