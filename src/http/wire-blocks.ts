import { z } from 'zod'
import { Count, Seconds, Shard, shape, Time } from './wire-common.ts'

/** One of the last blocks of a chain, and when it was first seen. */
export const BlockView = shape('Block', {
  height: Count,
  /** The block's own. */
  timestamp: Time.nullable(),
  /** When an answer first held this height or a higher one; null where its arrival was not observed. */
  first_seen_at: Time.nullable(),
  /** The hashes reported for this height, most frequent first; more than one is a disagreement. */
  hashes: z.array(z.string()),
})
export type BlockView = z.infer<typeof BlockView>

/** One endpoint and the last blocks: each list has an element per block. */
export const BlockWitnessView = shape('BlockWitness', {
  name: z.string(),
  interval_seconds: Seconds,
  height: Count,
  /** When its height last grew, and when it was last read. */
  advanced_at: Time,
  answered_at: Time,
  /** Index of its hash in the block's `hashes`; null where it reported none. */
  told: z.array(Count.nullable()),
  /** Delay after the first endpoint; null where its arrival was not observed. */
  later_seconds: z.array(Seconds.nullable()),
  /** Uncertainty of the delay: the time since its previous poll, which saw a lower height. */
  within_seconds: z.array(Seconds.nullable()),
})
export type BlockWitnessView = z.infer<typeof BlockWitnessView>

/** The last blocks of one chain, the oldest first. */
export const ShardBlocksView = shape('ShardBlocks', {
  shard: Shard,
  block_time: z.object({
    expected_seconds: Seconds,
    /** From the timestamps of the last blocks; null until there are enough. */
    measured_seconds: Seconds.nullable(),
  }),
  blocks: z.array(BlockView),
  endpoints: z.array(BlockWitnessView),
  /** Of very many endpoints only the furthest behind are listed. */
  endpoints_left_out: Count,
})
export type ShardBlocksView = z.infer<typeof ShardBlocksView>

/** When each endpoint was first seen at each recent block; precision is limited by the poll interval. */
export const BlocksView = shape('Blocks', {
  network: z.string(),
  generated_at: Time,
  thresholds: z.object({ lag_blocks: Count, stall_seconds: Seconds }),
  shards: z.array(ShardBlocksView),
})
export type BlocksView = z.infer<typeof BlocksView>
