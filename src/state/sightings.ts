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
  retain(endpoints: readonly SightedEndpoint[]): void
  /** Adds a poll whose result is valid. */
  take(result: PollResult): void
  /** Adds what the latest poll of another member of a cluster has read. */
  takeVote(health: Health): void
  /** Call it when the wall clock was set by `ms`. */
  shift(ms: number): void
}

interface SightedEndpoint {
  readonly key: EndpointKey
  readonly shards: readonly Shard[]
}

/** More than the page shows, because skipped blocks have no sighting of their own. */
const MAX_KEPT = 64
const MIN_KEPT = 8
/** About 10 MB for all endpoints together; with very many endpoints, each keeps fewer. */
const MAX_TOTAL = 100_000

type PollTimes = Pick<PollResult, 'startedAt' | 'finishedAt'>

interface Row extends Sighted {
  readonly shard: Shard
  heads: readonly Sighting[]
  compared: readonly Block[]
  /** When the latest answer was requested; `null` until there is one. */
  requestedAt: UnixMs | null
}

export function createSightings(): WritableSightings {
  let rows = new Map<EndpointKey, readonly Row[]>()
  let kept = MAX_KEPT

  function addHead(row: Row, head: Head, { startedAt, finishedAt }: PollTimes): void {
    const last = row.heads.at(-1)?.head
    if (last?.hash !== head.hash || last.height !== head.height) {
      const sighting = { head, at: finishedAt, after: row.requestedAt, before: last?.height ?? null }
      row.heads = appended(row.heads, sighting)
    }
    row.requestedAt = startedAt
  }

  /** A copy, because an array that grows has room for 16 more. */
  function appended<T>(list: readonly T[], added: T): readonly T[] {
    return list.slice(-(kept - 1)).concat([added])
  }

  function rowOf(key: EndpointKey, shard: Shard): Row | undefined {
    return rows.get(key)?.find((row) => row.shard === shard)
  }

  return {
    of(key, shard) {
      const row = rowOf(key, shard)
      return row === undefined || row.heads.length === 0 ? undefined : row
    },

    retain(endpoints) {
      const newRow = (shard: Shard): Row => ({ shard, heads: [], compared: [], requestedAt: null })
      const rowsOf = ({ key, shards }: SightedEndpoint) => shards.map((shard) => rowOf(key, shard) ?? newRow(shard))
      rows = new Map(endpoints.map((endpoint) => [endpoint.key, rowsOf(endpoint)]))
      const chains = endpoints.reduce((sum, { shards }) => sum + shards.length, 0)
      kept = Math.min(MAX_KEPT, Math.max(MIN_KEPT, Math.floor(MAX_TOTAL / Math.max(1, chains))))
    },

    take(result) {
      const key = endpointKey(result.endpoint)
      for (const { shard, outcome } of result.heads) {
        const row = rowOf(key, shard)
        if (row !== undefined && outcome.ok) addHead(row, outcome.value, result)
      }
      for (const { shard, height, hash } of result.compared) {
        const row = rowOf(key, shard)
        if (row !== undefined) row.compared = appended(row.compared, { height, hash })
      }
    },

    takeVote({ endpoint, heads, lastPolledAt, latencyMs }) {
      const key = endpointKey(endpoint)
      for (const { shard, height, hash, parentHash, timestamp, readAt } of heads) {
        const row = rowOf(key, shard)
        if (row === undefined || readAt !== lastPolledAt) continue
        const times = { startedAt: readAt, finishedAt: readAt + (latencyMs ?? 0) }
        addHead(row, { height, hash, parentHash, timestamp }, times)
      }
    },

    shift(ms) {
      for (const of of rows.values()) {
        for (const row of of) {
          if (row.requestedAt !== null) row.requestedAt += ms
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
