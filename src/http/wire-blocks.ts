import { z } from 'zod'
import { Count, Seconds, Shard, Time } from './wire-common.ts'

/** One of the last blocks of a chain, and when the first of its endpoints was seen to be there. */
export const BlockView = z
  .object({
    height: Count,
    /** As the block itself says. */
    timestamp: Time.nullable(),
    /** When the first answer that told this height, or a higher one, had come; null where nobody was seen to come by. */
    first_seen_at: Time.nullable(),
    /** What its endpoints call the block of this height, the most told first; more than one is a disagreement. */
    hashes: z.array(z.string()),
  })
  .meta({ id: 'Block' })
export type BlockView = z.infer<typeof BlockView>

/** One endpoint beside the last blocks: each list has a place for each block. */
export const BlockWitnessView = z
  .object({
    name: z.string(),
    interval_seconds: Seconds,
    height: Count,
    /** When its height was last seen to grow, and when it last told it. */
    advanced_at: Time,
    answered_at: Time,
    /** Which of the block's hashes it told; null where it told none. */
    told: z.array(Count.nullable()),
    /** How much later than the first one it was seen there; null where it was not seen to come by. */
    later_seconds: z.array(Seconds.nullable()),
    /** It was there at most so much sooner: the time since its last poll that told less. */
    within_seconds: z.array(Seconds.nullable()),
  })
  .meta({ id: 'BlockWitness' })
export type BlockWitnessView = z.infer<typeof BlockWitnessView>

/** The last blocks of one chain, the oldest first. */
export const ShardBlocksView = z
  .object({
    shard: Shard,
    block_time: z.object({
      expected_seconds: Seconds,
      /** By the timestamps of the last blocks; null until enough were seen. */
      measured_seconds: Seconds.nullable(),
    }),
    blocks: z.array(BlockView),
    endpoints: z.array(BlockWitnessView),
    /** So many more have no place here: where there are very many, those that are behind are told. */
    endpoints_left_out: Count,
  })
  .meta({ id: 'ShardBlocks' })
export type ShardBlocksView = z.infer<typeof ShardBlocksView>

/** Who saw which of the last blocks when: as sharp as its endpoints are polled often. */
export const BlocksView = z
  .object({
    network: z.string(),
    generated_at: Time,
    thresholds: z.object({ lag_blocks: Count, stall_seconds: Seconds }),
    shards: z.array(ShardBlocksView),
  })
  .meta({ id: 'Blocks' })
export type BlocksView = z.infer<typeof BlocksView>
