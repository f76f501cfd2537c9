import * as z from 'zod'
import { VERDICTS } from '../core/verdict/condition.ts'
import { StoredIncident } from '../state/incident-log.ts'
import { MESSAGE_TYPES, type Notification } from './notification.ts'

/** Reads a stored notification; `null` if it is invalid: a file can be edited, damaged, or written by another version. */
export function readNotification(value: unknown): Notification | null {
  return StoredNotification.safeParse(value).data ?? null
}

/** Reads only how it was delivered, which takes a fraction of the time. */
export function readDelivery(value: unknown): Delivery | null {
  return StoredDelivery.safeParse(value).data ?? null
}

export type Delivery = Pick<
  Notification,
  'id' | 'channel' | 'subject' | 'type' | 'createdAt' | 'state' | 'attempts' | 'endedAt'
>

const Text = z.string().max(10_000)
const Name = z.string().min(1).max(256)
const Time = z.number().min(0).max(8.64e15)
const Count = z.int().min(0)
const State = z.enum(VERDICTS)

const StoredDelivery = z.object({
  id: Name,
  channel: Name,
  subject: Name,
  type: z.enum(MESSAGE_TYPES),
  createdAt: Time,
  state: z.enum(['waiting', 'sent', 'rejected', 'expired', 'superseded']),
  attempts: Count,
  endedAt: Time.nullable(),
}) satisfies z.ZodType<Delivery>

const StoredNotification = StoredDelivery.extend({
  messageId: Name,
  error: Text.nullable(),
  before: z.object({ open: z.boolean(), state: State }).nullable(),
  report: StoredIncident.omit({ changes: true })
    .extend({
      previous: State.nullable(),
      reached: z.array(State),
      recovered: z.boolean().default(true),
      others: Text,
    })
    .nullable(),
  saysBoth: z.boolean(),
  text: Text,
}) satisfies z.ZodType<Notification>
