import type { Block } from '../core/chain/block-reports.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import type { Head, PollResult } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'

/** When each endpoint was first seen at which of the last blocks: kept in memory alone, and bounded whatever is configured. */
export interface Sightings {
  /** `undefined` until it has told a head. */
  of(key: EndpointKey, shard: Shard): Sighted | undefined
}

export interface Sighted {
  /** Where its head became another, the oldest first. */
  readonly heads: readonly Sighting[]
  /** Blocks that it was asked for besides, the oldest answer first. */
  readonly compared: readonly Block[]
}

/** An endpoint's head became this one after `after`, when its last other answer began, and by `at`, when this one had come. */
export interface Sighting {
  readonly head: Head
  readonly at: UnixMs
  /** `null` of the first: nobody knows since when it had been there. */
  readonly after: UnixMs | null
  /** The height that it told before. */
  readonly before: number | null
}

export interface WritableSightings extends Sightings {
  /** Those that are configured from now on; whoever is not among them is forgotten. */
  retain(endpoints: readonly { readonly key: EndpointKey; readonly shards: readonly Shard[] }[]): void
  /** A poll that says something of the node. */
  take(result: PollResult): void
  /** The wall clock was set by so much. */
  shift(ms: number): void
}

/** What is told, and a few more: blocks that are skipped are no sighting of their own. */
const MOST_KEPT = 64
const FEWEST_KEPT = 8
/** Of all endpoints together, some 10 MB; with very many of them each keeps fewer. */
const ROOM = 100_000

interface Row {
  heads: Sighting[]
  compared: Block[]
  /** When the latest answer began. */
  askedAt: UnixMs
}

export function createSightings(): WritableSightings {
  let rows = new Map<EndpointKey, Map<Shard, Row>>()
  let kept = MOST_KEPT

  function seen(of: Map<Shard, Row>, shard: Shard, head: Head, { startedAt, finishedAt }: PollResult): void {
    const row = of.get(shard)
    if (row === undefined) {
      of.set(shard, {
        heads: [{ head, at: finishedAt, after: null, before: null }],
        compared: [],
        askedAt: startedAt,
      })
      return
    }
    const last = row.heads[row.heads.length - 1] as Sighting
    if (last.head.hash !== head.hash || last.head.height !== head.height) {
      row.heads.push({ head, at: finishedAt, after: row.askedAt, before: last.head.height })
      while (row.heads.length > kept) row.heads.shift()
    }
    row.askedAt = startedAt
  }

  return {
    of: (key, shard) => rows.get(key)?.get(shard),

    retain(endpoints) {
      rows = new Map(
        endpoints.map(({ key, shards }) => {
          const before = rows.get(key)
          return [key, new Map([...(before ?? [])].filter(([shard]) => shards.includes(shard)))]
        }),
      )
      const chains = endpoints.reduce((sum, { shards }) => sum + shards.length, 0)
      kept = Math.min(MOST_KEPT, Math.max(FEWEST_KEPT, Math.floor(ROOM / Math.max(1, chains))))
    },

    take(result) {
      const of = rows.get(endpointKey(result.endpoint))
      if (of === undefined) return
      for (const { shard, outcome } of result.heads) if (outcome.ok) seen(of, shard, outcome.value, result)
      for (const { shard, height, hash } of result.compared) {
        const row = of.get(shard)
        if (row === undefined) continue
        row.compared.push({ height, hash })
        while (row.compared.length > kept) row.compared.shift()
      }
    },

    shift(ms) {
      for (const of of rows.values()) {
        for (const row of of.values()) {
          row.askedAt += ms
          row.heads = row.heads.map((one) => ({
            ...one,
            at: one.at + ms,
            after: one.after === null ? null : one.after + ms,
          }))
        }
      }
    },
  }
}
