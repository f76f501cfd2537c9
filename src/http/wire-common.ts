import { z } from 'zod'

/**
 * The parts of the shapes on the wire: times are RFC 3339 UTC, durations in seconds, ratios 0 to 1, names snake_case; unknown
 * values are `null`. The page imports types alone from the `wire-` files.
 */
export const Time = z.iso.datetime()
export const Count = z.int().min(0)
export const Seconds = z.number().min(0)
export const Shard = z.int().min(0).nullable()

/** An object with a name in `/openapi.json`. */
export function shape<const T extends z.core.$ZodLooseShape>(id: string, fields: T) {
  return z.object(fields).meta({ id })
}

/** Durations, counted in buckets and as exact as these. Null where nothing was counted. */
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

/** Every shape by its name, as JSON Schema. */
export function componentSchemas(): Record<string, object> {
  const { schemas } = z.toJSONSchema(z.globalRegistry, { uri: (id) => `#/components/schemas/${id}` })
  return Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _schema, $id: _id, id: _name, ...schema }]) => [name, schema]),
  )
}
