import type { BlockWitnessView, ShardBlocksView } from '../../src/http/wire-blocks.ts'

/** How one endpoint did in the race for the last blocks. */
export interface EndpointArrivals {
  readonly witness: BlockWitnessView
  /** Blocks at which it was seen first, and those of them at which surely nobody was sooner. */
  readonly firsts: number
  readonly sure: number
  /** How much later than the first, in the middle of all; `null` where it was seen at none. */
  readonly laterSeconds: number | null
  /** How sharp that is: it was there at most so much sooner. */
  readonly withinSeconds: number | null
  /** Of every block: how it stands to it. */
  readonly arrivals: readonly Arrival[]
}

/**
 * `there`: it has it, and nobody saw when it came; `awaited`: it is not there yet, as happens to everybody; `missing`: nor is it at
 * so many others that it lags; `unknown`: it was not watched then.
 */
export type Arrival = 'first' | 'with' | 'late' | 'there' | 'awaited' | 'missing' | 'unknown'

export function arrivalsOf(
  { blocks, endpoints, block_time: pace }: ShardBlocksView,
  lagBlocks: number,
): readonly EndpointArrivals[] {
  // So many blocks come between two polls: without them nobody is called late.
  const between = (of: BlockWitnessView) => Math.ceil(of.interval_seconds / Math.max(0.1, pace.expected_seconds))
  const newest = blocks.at(-1)?.height ?? 0
  const sureOf = blocks.map((_, at) => surelyFirst(endpoints, at))
  return endpoints.map((witness, mine) => {
    const seen = blocks.flatMap((_, at) => (witness.later_seconds[at] === null ? [] : [at]))
    const first = seen.filter((at) => witness.later_seconds[at] === 0)
    return {
      witness,
      firsts: first.length,
      sure: first.filter((at) => sureOf[at] === mine).length,
      laterSeconds: median(seen.map((at) => witness.later_seconds[at] ?? 0)),
      withinSeconds: median(seen.map((at) => witness.within_seconds[at] ?? 0)),
      arrivals: blocks.map(({ height }, at) =>
        arrivalOf(witness, height, at, newest - witness.height >= lagBlocks + between(witness)),
      ),
    }
  })
}

function arrivalOf(witness: BlockWitnessView, height: number, at: number, lags: boolean): Arrival {
  const later = witness.later_seconds[at] ?? null
  if (later === null) {
    if (witness.height < height) return lags ? 'missing' : 'awaited'
    return (witness.told[at] ?? null) === null ? 'unknown' : 'there'
  }
  if (later === 0) return 'first'
  // It may have been there with the first one, and only been asked later.
  return later <= (witness.within_seconds[at] ?? 0) ? 'with' : 'late'
}

/** Whose latest possible time is before everybody else's earliest. */
function surelyFirst(endpoints: readonly BlockWitnessView[], at: number): number | null {
  const first = endpoints.findIndex((witness) => witness.later_seconds[at] === 0)
  if (first === -1) return null
  const isSure = endpoints.every((witness, place) => {
    const later = witness.later_seconds[at] ?? null
    return place === first || later === null || later - (witness.within_seconds[at] ?? 0) >= 0
  })
  return isSure ? first : null
}

/** The time from the block before to each, in seconds: as the blocks say, and where they do not, as they were seen. */
export function intervalsOf({ blocks }: Pick<ShardBlocksView, 'blocks'>): readonly (number | null)[] {
  const said = spread(blocks.map(({ timestamp }) => timestamp))
  const seen = spread(blocks.map(({ first_seen_at: at }) => at))
  return blocks.map((_, at) => said[at] ?? seen[at] ?? null)
}

/** What lies between two known times belongs to all the blocks between them alike. */
function spread(times: readonly (string | null)[]): (number | null)[] {
  const intervals: (number | null)[] = times.map(() => null)
  let last: number | null = null
  for (const [at, time] of times.entries()) {
    if (time === null) continue
    if (last !== null) {
      const each = Math.max(0, Date.parse(time) - Date.parse(times[last] ?? time)) / 1000 / (at - last)
      intervals.fill(each, last + 1, at + 1)
    }
    last = at
  }
  return intervals
}

/** Since the newest block that anybody has; `null` where none was seen to come. */
export function sinceLastBlock({ blocks, endpoints }: ShardBlocksView, nowMs: number): number | null {
  const newest = blocks.at(-1)
  if (newest === undefined) return null
  const advances = endpoints.filter(({ height }) => height === newest.height).map((of) => Date.parse(of.advanced_at))
  const at = newest.timestamp === null ? Math.min(...advances) : Date.parse(newest.timestamp)
  return Number.isFinite(at) ? Math.max(0, (nowMs - at) / 1000) : null
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? null
}

/** Where the endpoints tell different blocks: the places of those heights. */
export function disputedAt({ blocks }: Pick<ShardBlocksView, 'blocks'>): readonly number[] {
  return blocks.flatMap(({ hashes }, at) => (hashes.length > 1 ? [at] : []))
}

/** Whoever is no further behind than this is about to be there, and may yet say another word. */
const CATCHING_UP_BLOCKS = 2

/** What is said of a height: `open` while those that have yet to tell theirs could make a majority. */
export function verdictAt(
  { blocks, endpoints }: Pick<ShardBlocksView, 'blocks' | 'endpoints'>,
  at: number,
): 'majority' | 'split' | 'open' {
  const height = blocks[at]?.height ?? 0
  const near = endpoints.filter((one) => one.height >= height - CATCHING_UP_BLOCKS || (one.told[at] ?? null) !== null)
  const agreeing = near.filter(({ told }) => told[at] === 0).length
  if (agreeing * 2 > near.length) return 'majority'
  const undecided = near.filter(({ told }) => (told[at] ?? null) === null).length
  return (agreeing + undecided) * 2 > near.length ? 'open' : 'split'
}
