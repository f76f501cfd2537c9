import type { BlockWitnessView, ShardBlocksView } from '../../../src/http/wire/blocks.ts'

/** How early each endpoint of a shard had the last blocks. */
export function arrivalsOf(
  { blocks, endpoints, block_time: pace }: ShardBlocksView,
  lagBlocks: number,
): readonly EndpointArrivals[] {
  // Blocks of one poll interval are tolerated: an endpoint cannot be seen with them earlier.
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

/** The arrivals of one endpoint. */
export interface EndpointArrivals {
  readonly witness: BlockWitnessView
  /** Number of blocks at which it was the first one seen, and those of them at which no other can have been earlier. */
  readonly firsts: number
  readonly sure: number
  /** Median delay behind the first endpoint; `null` if no arrival was observed. */
  readonly laterSeconds: number | null
  /** Uncertainty: it may have arrived this much earlier. */
  readonly withinSeconds: number | null
  /** One entry per block. */
  readonly arrivals: readonly Arrival[]
}

/**
 * `there`: it has the block, arrival not observed. `awaited`: not there yet, within tolerance. `missing`: so many blocks are not
 * there that it lags. `unknown`: it was not polled then.
 */
export type Arrival = 'first' | 'with' | 'late' | 'there' | 'awaited' | 'missing' | 'unknown'

function arrivalOf(witness: BlockWitnessView, height: number, at: number, lags: boolean): Arrival {
  const later = witness.later_seconds[at] ?? null
  if (later === null) {
    if (witness.height < height) return lags ? 'missing' : 'awaited'
    return (witness.told[at] ?? null) === null ? 'unknown' : 'there'
  }
  if (later === 0) return 'first'
  // It may have arrived together with the first, and only been polled later.
  return later <= (witness.within_seconds[at] ?? 0) ? 'with' : 'late'
}

/** The endpoint whose latest possible arrival is before the earliest possible arrival of all others. */
function surelyFirst(endpoints: readonly BlockWitnessView[], at: number): number | null {
  const first = endpoints.findIndex((witness) => witness.later_seconds[at] === 0)
  if (first === -1) return null
  const isSure = endpoints.every((witness, place) => {
    const later = witness.later_seconds[at] ?? null
    return place === first || later === null || later - (witness.within_seconds[at] ?? 0) >= 0
  })
  return isSure ? first : null
}

/** Seconds since the previous block: by timestamps, or by observed arrivals where there are none. */
export function intervalsOf({ blocks }: Pick<ShardBlocksView, 'blocks'>): readonly (number | null)[] {
  const said = spread(blocks.map(({ timestamp }) => timestamp))
  const seen = spread(blocks.map(({ first_seen_at: at }) => at))
  return blocks.map((_, at) => said[at] ?? seen[at] ?? null)
}

/** Divides the time between two known blocks evenly among the blocks in between. */
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

/** Seconds since the newest block of any endpoint; `null` if no arrival was observed. */
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

/** The indexes of heights at which endpoints report different blocks. */
export function disputedAt({ blocks }: Pick<ShardBlocksView, 'blocks'>): readonly number[] {
  return blocks.flatMap(({ hashes }, at) => (hashes.length > 1 ? [at] : []))
}

/** An endpoint this close behind may report a block of that height soon. */
const CATCHING_UP_BLOCKS = 2

/** The verdict on a height: `open` while missing reports could still form a majority. */
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
