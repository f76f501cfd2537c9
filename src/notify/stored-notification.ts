import { z } from 'zod'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'
import { MESSAGE_TYPES, type Notification } from './notification.ts'

/** Reads a stored notification; `null` if it is invalid: a file can be edited, damaged, or written by another version. */
export function readNotification(value: unknown): Notification | null {
  const read = StoredNotification.safeParse(value)
  return read.success ? read.data : null
}

const Text = z.string().max(10_000)
const Name = z.string().min(1).max(256)
const Time = z.number().min(0).max(8.64e15)
const Count = z.int().min(0)
const State = z.enum(VERDICTS)

const StoredNotification = z.object({
  id: Name,
  channel: Name,
  subject: Name,
  type: z.enum(MESSAGE_TYPES),
  messageId: Name,
  createdAt: Time,
  state: z.enum(['waiting', 'sent', 'rejected', 'expired', 'superseded']),
  attempts: Count,
  endedAt: Time.nullable(),
  error: Text.nullable(),
  before: z.object({ open: z.boolean(), state: State }).nullable(),
  report: z
    .object({
      id: Name,
      network: Name,
      endpoint: Name.nullable(),
      cause: z.enum(['endpoint', 'halted', 'forked', 'outage']),
      provider: Name.nullable().default(null),
      state: State,
      previous: State.nullable(),
      reached: z.array(State),
      conditions: z.array(
        z.object({
          code: z.enum([...CONDITION_CODES, 'halted']),
          state: State,
          message: z.string(),
          since: Time,
          until: Time.nullable(),
        }),
      ),
      openedAt: Time,
      confirmedAt: Time,
      closedAt: Time.nullable(),
      flapping: z.boolean(),
      flaps: Count,
      affected: z.array(Name),
      absorbedBy: Name.nullable(),
      others: Text,
    })
    .nullable(),
  saysBoth: z.boolean(),
  text: Text,
}) satisfies z.ZodType<Notification>
