import type { Head } from './head.ts'
import { createHeightTally, type HeightTally } from './height-tally.ts'
import type { UnixMs } from './time.ts'

/** The last head of one endpoint, as it is kept over a restart. */
export interface SeenHead {
  readonly head: Head
  /** The highest height since the last real step back; smaller steps are a pool's jitter. */
  readonly highest: number
  /** When its height was last seen to grow. */
  readonly advancedAt: UnixMs
}

/** The last head of every endpoint of one chain: of those that answer now, and of those that are silent. */
export interface KnownHeads {
  /** Everybody's: blocks that were there do not go away with who told them. */
  readonly all: HeightTally
  /** Of those that answered recently. */
  readonly recent: HeightTally
  endpoints(): Iterable<string>
  answering(): Iterable<string>
  answers(endpoint: string): boolean
  seen(endpoint: string): SeenHead | undefined
  /** When it last told its head; at the latest when that last grew. */
  readAt(endpoint: string): UnixMs
  heads(): Iterable<SeenHead>
  /** Whether its height grew, beyond a pool's jitter. */
  take(endpoint: string, head: Head, at: UnixMs): boolean
  /** Those that have not answered since then fall silent; who they are. */
  silence(before: UnixMs): readonly string[]
  forget(endpoint: string): boolean
  /** Without `answeredAt` it counts as silent until it answers again. */
  restore(endpoint: string, seen: SeenHead, answeredAt?: UnixMs): void
  shift(ms: number): void
}

/** A step back by no more than `jitterBlocks` keeps the mark to beat, so that swinging between two heights is no advance. */
export function createKnownHeads(jitterBlocks: number): KnownHeads {
  const known = new Map<string, SeenHead>()
  const all = createHeightTally()
  const readAt = new Map<string, UnixMs>()
  /** The longest silent first. */
  const answeredAt = new Map<string, UnixMs>()
  const recent = createHeightTally()

  function put(endpoint: string, seen: SeenHead): void {
    const before = known.get(endpoint)
    if (before !== undefined) all.remove(before.head.height)
    known.set(endpoint, seen)
    all.add(seen.head.height)
  }

  function fallSilent(endpoint: string): void {
    const seen = known.get(endpoint)
    if (answeredAt.delete(endpoint) && seen !== undefined) recent.remove(seen.head.height)
  }

  return {
    all,
    recent,
    endpoints: () => known.keys(),
    answering: () => answeredAt.keys(),
    answers: (endpoint) => answeredAt.has(endpoint),
    seen: (endpoint) => known.get(endpoint),
    readAt: (endpoint) => readAt.get(endpoint) ?? known.get(endpoint)?.advancedAt ?? 0,
    heads: () => known.values(),

    take(endpoint, head, at) {
      const before = known.get(endpoint)
      const fellBack = before !== undefined && head.height < before.highest - jitterBlocks
      const advanced = before === undefined || head.height > before.highest
      fallSilent(endpoint)
      put(endpoint, {
        head,
        highest: fellBack ? head.height : Math.max(head.height, before?.highest ?? head.height),
        advancedAt: advanced ? at : before.advancedAt,
      })
      answeredAt.set(endpoint, at)
      readAt.set(endpoint, at)
      recent.add(head.height)
      return advanced
    },

    silence(before) {
      const silenced: string[] = []
      for (const [endpoint, at] of answeredAt) {
        if (at >= before) break
        fallSilent(endpoint)
        silenced.push(endpoint)
      }
      return silenced
    },

    forget(endpoint) {
      const seen = known.get(endpoint)
      if (seen === undefined) return false
      fallSilent(endpoint)
      all.remove(seen.head.height)
      known.delete(endpoint)
      readAt.delete(endpoint)
      return true
    },

    restore(endpoint, seen, answered) {
      if (known.has(endpoint)) return
      put(endpoint, seen)
      if (answered === undefined) return
      answeredAt.set(endpoint, answered)
      recent.add(seen.head.height)
    },

    shift(ms) {
      for (const [endpoint, seen] of known) known.set(endpoint, { ...seen, advancedAt: seen.advancedAt + ms })
      for (const times of [readAt, answeredAt]) for (const [endpoint, at] of times) times.set(endpoint, at + ms)
    },
  }
}
