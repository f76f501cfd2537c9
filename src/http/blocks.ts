import type { Network, Shard } from '../core/network.ts'
import { seconds, type UnixMs } from '../core/time.ts'
import type { HeadStanding } from '../core/verdict/health.ts'
import type { BoardEntry, BoardNetwork } from '../state/board.ts'
import type { Sighted, Sighting, Sightings } from '../state/sightings.ts'
import { sendCompressed } from './negotiation.ts'
import { sendUnknown } from './problem.ts'
import { time, timeOrNull } from './rfc3339.ts'
import { type App, json, NetworkPath, NoQuery, operation, type RouteDeps } from './route.ts'
import { BlocksView, type BlockView, type BlockWitnessView, type ShardBlocksView } from './wire-blocks.ts'

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
    const body = JSON.stringify(blocksView(network, sightings, clock.now()))
    return sendCompressed(request, reply.type('application/json; charset=utf-8'), body)
  })
}

/** So many blocks, back from the newest … */
const BLOCKS_TOLD = 60
/** … and fewer where many endpoints tell of each: what one answer may cost is bounded. */
const CELLS_TOLD = 6000
/** More than a page can show. */
const WITNESSES_TOLD = 300

interface Witness {
  readonly entry: BoardEntry
  readonly head: HeadStanding
  readonly sighted: Sighted
}

/** Who of a network saw which of its last blocks when, and which block that was. */
export function blocksView({ standing, endpoints }: BoardNetwork, sightings: Sightings, now: UnixMs): BlocksView {
  const { network } = standing
  const shards = [...new Set(endpoints.flatMap(({ health }) => health.endpoint.shards))]
  return {
    network: network.name,
    generated_at: time(now),
    thresholds: { lag_blocks: network.thresholds.lagBlocks, stall_seconds: network.thresholds.stallMs / 1000 },
    shards: shards.map((shard) => {
      const reference = standing.heads.find((head) => head.shard === shard)
      const all = endpoints.flatMap((entry) => witnessOf(entry, shard, sightings))
      // One that claims to be where nobody can be yet must not push everybody else out of sight.
      const ceiling = (reference?.height ?? Number.POSITIVE_INFINITY) + network.thresholds.lagBlocks
      return shardView(shard, network, reference?.blockTimeMs ?? null, all, ceiling)
    }),
  }
}

function witnessOf(entry: BoardEntry, shard: Shard, sightings: Sightings): Witness[] {
  const head = entry.health.heads.find((one) => one.shard === shard)
  const sighted = sightings.of(entry.key, shard)
  return head === undefined || sighted === undefined ? [] : [{ entry, head, sighted }]
}

function shardView(
  shard: Shard,
  network: Network,
  measuredMs: number | null,
  all: readonly Witness[],
  ceiling: number,
): ShardBlocksView {
  const told = all.length <= WITNESSES_TOLD ? all : furthestBehind(all)
  const tip = told.reduce((most, { head }) => (head.height <= ceiling ? Math.max(most, head.height) : most), -1)
  const most = Math.min(BLOCKS_TOLD, Math.floor(CELLS_TOLD / Math.max(1, told.length)))
  const first = Math.max(0, tip - most + 1)
  const heights = Array.from({ length: tip < first ? 0 : tip - first + 1 }, (_, at) => first + at)
  const seen = told.map(({ sighted }) => arrivalsOf(sighted, first, heights.length))
  const firstSeen = heights.map((_, at) => earliest(seen, at))
  const { blocks, words } = toldBlocks(
    told.map(({ sighted }) => sighted),
    heights,
  )
  // What was before anybody looked is not told.
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
    endpoints: told.map(({ entry, head }, at): BlockWitnessView => {
      const mine = seen[at] ?? []
      return {
        name: entry.health.endpoint.name,
        interval_seconds: entry.health.endpoint.intervalMs / 1000,
        height: head.height,
        advanced_at: time(head.advancedAt),
        answered_at: time(head.readAt),
        told: (words[at] ?? []).slice(from),
        later_seconds: mine.map((one, place) => one && seconds(one.at - (firstSeen[place] ?? one.at))).slice(from),
        within_seconds: mine.map((one) => one && seconds(Math.max(0, one.at - one.after))).slice(from),
      }
    }),
    endpoints_left_out: all.length - told.length,
  }
}

function furthestBehind(all: readonly Witness[]): readonly Witness[] {
  const chosen = new Set([...all].sort((a, b) => a.head.height - b.head.height).slice(0, WITNESSES_TOLD))
  return all.filter((witness) => chosen.has(witness))
}

interface Arrival {
  readonly at: UnixMs
  readonly after: UnixMs
}

/** When it was first seen at each height or beyond; a block that was skipped between two polls came between them. */
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

function earliest(seen: readonly (readonly (Arrival | null)[])[], place: number): UnixMs | null {
  let least: UnixMs | null = null
  for (const arrivals of seen) {
    const at = arrivals[place]?.at
    if (at !== undefined && (least === null || at < least)) least = at
  }
  return least
}

interface ToldBlocks {
  /** One for each height. */
  readonly blocks: readonly { readonly hashes: string[]; readonly timestamp: UnixMs | null }[]
  /** One for each endpoint: the place in `hashes` of what it told, height by height. */
  readonly words: readonly (number | null)[][]
}

/**
 * Which block each endpoint has at each height: the heads that it told, what it was asked for besides, and the parents that its
 * heads name. Those only of an endpoint that once named one which was told: a cache may name parents that never were.
 */
function toldBlocks(sighted: readonly Sighted[], heights: readonly number[]): ToldBlocks {
  const told = sighted.map(wordsOf)
  const known = new Set(told.flatMap((words) => [...words].map(([height, hash]) => `${height} ${hash}`)))
  for (const [at, { heads }] of sighted.entries()) addParents(told[at] as Words, heads, known)
  const times = timesOf(sighted)
  const blocks = heights.map((height) => {
    const hashes = mostToldFirst(told.flatMap((words) => words.get(height) ?? []))
    return { hashes, timestamp: times.get(hashes[0] ?? '') ?? null }
  })
  const words = told.map((of) =>
    heights.map((height, at) => {
      const hash = of.get(height)
      return hash === undefined ? null : (blocks[at]?.hashes.indexOf(hash) ?? null)
    }),
  )
  return { blocks, words }
}

type Words = Map<number, string>

/** Of two blocks at one height the later word counts. */
function wordsOf({ heads, compared }: Sighted): Words {
  return new Map([
    ...compared.map(({ height, hash }) => [height, hash] as const),
    ...heads.map(({ head }) => [head.height, head.hash] as const),
  ])
}

function addParents(words: Words, heads: readonly Sighting[], known: ReadonlySet<string>): void {
  const isBelieved = heads.some(({ head }) => known.has(`${head.height - 1} ${head.parentHash}`))
  if (!isBelieved) return
  // The latest first: it was on its way to where it is now.
  for (const { head } of heads.toReversed()) {
    const height = head.height - 1
    if (head.parentHash !== '' && !words.has(height)) words.set(height, head.parentHash)
  }
}

function timesOf(sighted: readonly Sighted[]): ReadonlyMap<string, UnixMs> {
  return new Map(sighted.flatMap(({ heads }) => heads.map(({ head }) => [head.hash, head.timestamp] as const)))
}

function mostToldFirst(hashes: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1)
  return [...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0))
}
