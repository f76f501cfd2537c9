import { z } from 'zod'
import type { Incident } from '../core/incident/incident.ts'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'

const Name = z.string().min(1).max(128)
/** What `Date` can hold, from 1970 on. */
const Time = z.number().min(0).max(8.64e15)
const Count = z.int().min(0)
const Code = z.enum([...CONDITION_CODES, 'halted'])
const State = z.enum(VERDICTS)

const StoredIncident = z.object({
  id: z.string().min(1).max(256),
  network: Name,
  endpoint: Name.nullable(),
  cause: z.enum(['endpoint', 'halted', 'forked']),
  state: State,
  openedAt: Time,
  confirmedAt: Time,
  closedAt: Time.nullable(),
  conditions: z.array(z.object({ code: Code, state: State, message: z.string(), since: Time, until: Time.nullable() })),
  changes: z.array(
    z.object({
      at: Time,
      state: State,
      codes: z.array(Code),
      samples: z.array(
        z.object({
          endpoint: Name,
          shard: Count.nullable(),
          height: Count.nullable(),
          lagBlocks: Count.nullable(),
          latencyMs: z.number().min(0).nullable(),
        }),
      ),
    }),
  ),
  flaps: Count,
  flapping: z.boolean(),
  absorbedBy: z.string().min(1).max(256).nullable(),
  affected: z.array(Name),
}) satisfies z.ZodType<Incident>

/** An incident as the store kept it; `null` where it is none: a file can be edited, damaged, or of another version. */
export function readIncident(value: unknown): Incident | null {
  const read = StoredIncident.safeParse(value)
  return read.success ? read.data : null
}
