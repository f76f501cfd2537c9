import { z } from 'zod'

/**
 * What the shapes on the wire are made of: times RFC 3339 UTC, durations in seconds, ratios 0 to 1, snake_case. `null` where
 * a thing is not known. The page takes its types from the files beside this one.
 */
export const Time = z.iso.datetime()
export const Count = z.int().min(0)
export const Seconds = z.number().min(0)
export const Shard = z.int().min(0).nullable()

/** How long things took; from buckets, so that it is as exact as they are. Null where nothing was counted. */
export const SpreadView = z.object({ count: Count, p50_seconds: Seconds.nullable(), p99_seconds: Seconds.nullable() })
export type SpreadView = z.infer<typeof SpreadView>

/** RFC 9457. `errors` names every bad parameter. */
export const ProblemView = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ parameter: z.string(), detail: z.string() })).optional(),
})
export type ProblemView = z.infer<typeof ProblemView>
