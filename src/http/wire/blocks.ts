import * as z from 'zod'
import { Count, Seconds, Shard, shape, Time } from './common.ts'

export const BlockView = shape('Block', {
  height: Count,
  /** As stated in the block. */
  timestamp: Time.nullable(),
  /** When a response first contained this height or a higher one; null if its arrival was not observed. */
  first_seen_at: Time.nullable(),
  /** The hashes reported for this height, most frequent first; more than one is a disagreement. */
  hashes: z.array(z.string()),
})
export type BlockView = z.infer<typeof BlockView>

/** One endpoint and the last blocks; each list has one element per block. */
export const BlockWitnessView = shape('BlockWitness', {
  name: z.string(),
  interval_seconds: Seconds,
  height: Count,
  /** When its height last grew, and when it was last read. */
  advanced_at: Time,
  answered_at: Time,
  /** Index of its hash in the block's `hashes`; null if it reported none. */
  told: z.array(Count.nullable()),
  /** Delay after the first endpoint; null if its arrival was not observed. */
  later_seconds: z.array(Seconds.nullable()),
  /** Uncertainty of the delay: the time since its previous poll, which saw a lower height. */
  within_seconds: z.array(Seconds.nullable()),
})
export type BlockWitnessView = z.infer<typeof BlockWitnessView>

/** The last blocks of one chain, oldest first. */
export const ShardBlocksView = shape('ShardBlocks', {
  shard: Shard,
  block_time: z.object({
    expected_seconds: Seconds,
    /** From the timestamps of the last blocks; null until there are enough. */
    measured_seconds: Seconds.nullable(),
  }),
  blocks: z.array(BlockView),
  endpoints: z.array(BlockWitnessView),
  /** With very many endpoints, only those furthest behind are listed. */
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
