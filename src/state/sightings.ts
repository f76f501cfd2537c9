import type { Block } from '../core/chain/block-reports.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import type { Head, PollResult } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { Health } from '../core/verdict/health.ts'

/** Records when each endpoint was first seen at each recent block, in bounded memory only. */
export interface Sightings {
  /** `undefined` until the endpoint has reported a head. */
  of(key: EndpointKey, shard: Shard): Sighted | undefined
}

export interface Sighted {
  /** Its head changes, oldest first. */
  readonly heads: readonly Sighting[]
  /** Blocks requested from it to compare hashes, oldest answer first. */
  readonly compared: readonly Block[]
}

/** The head changed to this one between the request of the previous answer and the arrival of this one. */
export interface Sighting {
  readonly head: Head
  readonly at: UnixMs
  /** `null` for the first sighting: the head may have been there for any length of time. */
  readonly after: UnixMs | null
  readonly before: number | null
}

export interface WritableSightings extends Sightings {
  /** Replaces the configured endpoints, and drops the sightings of all others. */
  retain(endpoints: readonly { readonly key: EndpointKey; readonly shards: readonly Shard[] }[]): void
  /** Adds a poll whose result is valid. */
  take(result: PollResult): void
  /** Adds what the latest poll of another member of a cluster has read. */
  takeVote(health: Health): void
  /** Call it when the wall clock was set by `ms`. */
  shift(ms: number): void
}

/** More than the page shows, because skipped blocks have no sighting of their own. */
const MAX_KEPT = 64
const MIN_KEPT = 8
/** About 10 MB for all endpoints together; with very many endpoints, each keeps fewer. */
const MAX_TOTAL = 100_000

type PollTimes = Pick<PollResult, 'startedAt' | 'finishedAt'>

interface Row {
  heads: Sighting[]
  compared: Block[]
  requestedAt: UnixMs
}

export function createSightings(): WritableSightings {
  let rows = new Map<EndpointKey, Map<Shard, Row>>()
  let kept = MAX_KEPT

  function addHead(of: Map<Shard, Row>, shard: Shard, head: Head, { startedAt, finishedAt }: PollTimes): void {
    const row = of.get(shard)
    if (row === undefined) {
      of.set(shard, {
        heads: [{ head, at: finishedAt, after: null, before: null }],
        compared: [],
        requestedAt: startedAt,
      })
      return
    }
    const last = row.heads[row.heads.length - 1] as Sighting
    if (last.head.hash !== head.hash || last.head.height !== head.height) {
      row.heads.push({ head, at: finishedAt, after: row.requestedAt, before: last.head.height })
      while (row.heads.length > kept) row.heads.shift()
    }
    row.requestedAt = startedAt
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
      kept = Math.min(MAX_KEPT, Math.max(MIN_KEPT, Math.floor(MAX_TOTAL / Math.max(1, chains))))
    },

    take(result) {
      const of = rows.get(endpointKey(result.endpoint))
      if (of === undefined) return
      for (const { shard, outcome } of result.heads) if (outcome.ok) addHead(of, shard, outcome.value, result)
      for (const { shard, height, hash } of result.compared) {
        const row = of.get(shard)
        if (row === undefined) continue
        row.compared.push({ height, hash })
        while (row.compared.length > kept) row.compared.shift()
      }
    },

    takeVote({ endpoint, heads, lastPolledAt, latencyMs }) {
      const of = rows.get(endpointKey(endpoint))
      for (const { shard, height, hash, parentHash, timestamp, readAt } of heads) {
        if (of === undefined || readAt !== lastPolledAt) continue
        const times = { startedAt: readAt, finishedAt: readAt + (latencyMs ?? 0) }
        addHead(of, shard, { height, hash, parentHash, timestamp }, times)
      }
    },

    shift(ms) {
      for (const of of rows.values()) {
        for (const row of of.values()) {
          row.requestedAt += ms
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
