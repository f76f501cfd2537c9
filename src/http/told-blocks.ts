import type { UnixMs } from '../core/time.ts'
import type { Sighted, Sighting } from '../state/sightings.ts'

export interface ToldBlocks {
  /** One for each height. */
  readonly blocks: readonly { readonly hashes: string[]; readonly timestamp: UnixMs | null }[]
  /** One for each endpoint: the place in `hashes` of what it told, height by height. */
  readonly words: readonly (number | null)[][]
}

/**
 * Which block each endpoint has at each height: the heads that it told, what it was asked for besides, and the parents that its
 * heads name. Those only of an endpoint that once named one which was told: a cache may name parents that never were.
 */
export function toldBlocks(sighted: readonly Sighted[], heights: readonly number[]): ToldBlocks {
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
