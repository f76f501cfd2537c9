import * as z from 'zod'

/**
 * Building blocks of API responses: times are RFC 3339 UTC, durations are in seconds, ratios from 0 to 1, names in
 * snake_case; unknown values are `null`. The page imports only types from this folder.
 */
export const Time = z.iso.datetime()
export const Count = z.int().min(0)
export const Seconds = z.number().min(0)
export const Shard = z.int().min(0).nullable()

/** An object schema with a name in `/openapi.json`. */
export function shape<const T extends z.core.$ZodLooseShape>(id: string, fields: T) {
  return z.object(fields).meta({ id })
}

/** Count and percentiles of durations, as exact as the histogram's buckets; null without observations. */
export const SpreadView = shape('Spread', {
  count: Count,
  p50_seconds: Seconds.nullable(),
  p99_seconds: Seconds.nullable(),
})
export type SpreadView = z.infer<typeof SpreadView>

/** RFC 9457. `errors` names every bad parameter. */
export const ProblemView = shape('Problem', {
  type: z.string(),
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  errors: z.array(z.object({ parameter: z.string(), detail: z.string() })).optional(),
})
export type ProblemView = z.infer<typeof ProblemView>

export function componentSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _schema, $id: _id, id: _name, ...schema }]) => [name, schema]),
  )
}
