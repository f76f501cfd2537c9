import * as z from 'zod'
import { MESSAGE_TYPES, RESULTS } from '../../notify/notification.ts'
import { Count, Seconds, shape, Time } from './common.ts'

const MessageType = z.enum(MESSAGE_TYPES)
const Result = z.enum(RESULTS)

/** What one channel received about an incident. */
export const IncidentNotificationView = shape('IncidentNotification', {
  channel: z.string(),
  type: MessageType,
  /** Null while it waits, and if it was never sent. */
  sent_at: Time.nullable(),
  /** Null before the first attempt. */
  result: Result.nullable(),
})
export type IncidentNotificationView = z.infer<typeof IncidentNotificationView>

export const DeliveryView = shape('NotificationDelivery', {
  id: z.string(),
  channel: z.string(),
  type: MessageType,
  /** Null for messages about Heartline itself. */
  incident: z.string().nullable(),
  /** The member of a cluster that a message about Heartline itself is about. */
  member: z.string().optional(),
  /** Of the incident, or for which the gateway has no endpoint. */
  network: z.string().nullable(),
  endpoint: z.string().nullable(),
  created_at: Time,
  sent_at: Time.nullable(),
  result: Result.nullable(),
  attempts: Count,
  /** Why the latest attempt failed. */
  error: z.string().nullable(),
})
export type DeliveryView = z.infer<typeof DeliveryView>

export const ChannelView = shape('NotificationChannel', {
  name: z.string(),
  type: z.string(),
  /** Whether the latest attempt failed. */
  failing: z.boolean(),
  last_sent_at: Time.nullable(),
  last_failed_at: Time.nullable(),
  last_error: z.string().nullable(),
  waiting: Count,
  /** Since the daemon started. */
  results: z.object({ sent: Count, retried: Count, rejected: Count, expired: Count }),
})
export type ChannelView = z.infer<typeof ChannelView>

export const NotificationsView = shape('Notifications', {
  generated_at: Time,
  /** The member of a cluster that answers, and that has sent or is to send what `channels` and `queue` count. */
  member: z.string().optional(),
  channels: z.array(ChannelView),
  queue: Count,
  /** Age of the oldest one that waits; 0 if none does. */
  oldest_seconds: Seconds,
  /** Null without `notify.heartbeat`. */
  heartbeat: z.object({ last_sent_at: Time.nullable(), last_error: z.string().nullable() }).nullable(),
  /** The latest ones, newest first; those of all members. */
  deliveries: z.array(DeliveryView),
})
export type NotificationsView = z.infer<typeof NotificationsView>
