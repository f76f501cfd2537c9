import { seconds, time, timeOrNull } from '../../core/time.ts'
import { type Notification, ownSubjectOf, type Result } from '../../notify/notification.ts'
import { type Delivery, readDelivery, readNotification } from '../../notify/stored-notification.ts'
import { type App, json, NoQuery, operation, type RouteDeps } from '../route.ts'
import { type DeliveryView, type IncidentNotificationView, NotificationsView } from '../wire/notifications.ts'
import type { Audience } from '../wire/status.ts'

type NotificationDeps = Pick<RouteDeps, 'notifier' | 'store' | 'clock'>

const LATEST = 200
/** The newest ones; `repeat` may add one every second. */
const MOST_PER_INCIDENT = 200

/** `GET /api/v1/notifications`: the channels, what waits, and the latest deliveries. */
export function registerNotifications(app: App, deps: NotificationDeps): void {
  const route = operation({
    visibility: 'private',
    summary: 'The channels of notifications with their health, the queue, and the latest deliveries',
    query: NoQuery,
    answers: { 200: json(NotificationsView, 'Channels, queue and deliveries') },
  })
  app.get('/api/v1/notifications', route, () => notificationsView(deps))
}

export async function notificationsView({ notifier, store, clock }: NotificationDeps): Promise<NotificationsView> {
  const now = clock.now()
  const stored = await store.notifications({ about: 'latest', limit: LATEST })
  const { member, channels, waiting, heartbeat } = notifier.status()
  const latest = newest(
    stored.flatMap(({ value }) => readNotification(value) ?? []),
    waiting,
  )
  const oldest = waiting.reduce((first, { createdAt }) => Math.min(first, createdAt), now)
  return {
    generated_at: time(now),
    ...(member === undefined ? {} : { member }),
    channels: channels.map(({ name, type, failing, lastSentAt, lastFailedAt, lastError, results }) => ({
      name,
      type,
      failing,
      last_sent_at: timeOrNull(lastSentAt),
      last_failed_at: timeOrNull(lastFailedAt),
      last_error: lastError,
      waiting: waiting.filter(({ channel }) => channel === name).length,
      results,
    })),
    queue: waiting.length,
    oldest_seconds: seconds(Math.max(0, now - oldest)),
    heartbeat:
      heartbeat === null ? null : { last_sent_at: timeOrNull(heartbeat.lastSentAt), last_error: heartbeat.lastError },
    deliveries: latest.toReversed().slice(0, LATEST).map(deliveryView),
  }
}

/** Adds to incidents the notifications about them, in order. The public does not learn the names of channels. */
export async function withNotifications<View extends { readonly id: string }>(
  views: readonly View[],
  { notifier, store }: Pick<NotificationDeps, 'notifier' | 'store'>,
  audience: Audience,
): Promise<(View & { notifications: IncidentNotificationView[] })[]> {
  if (audience === 'public' || views.length === 0) return views.map((view) => ({ ...view, notifications: [] }))
  const incidents = views.map(({ id }) => id)
  const stored = await store.notifications({ about: { incidents }, limit: MOST_PER_INCIDENT })
  const { waiting } = notifier.status()
  const all = newest(
    stored.flatMap(({ value }) => readDelivery(value) ?? []),
    waiting,
  )
  const byIncident = new Map(incidents.map((id): [string, IncidentNotificationView[]] => [id, []]))
  for (const notification of all) {
    const { subject, channel, type } = notification
    byIncident.get(subject)?.push({ channel, type, sent_at: sentAt(notification), result: resultOf(notification) })
  }
  return views.map((view) => ({ ...view, notifications: byIncident.get(view.id) ?? [] }))
}

/** Stored and waiting notifications in the order in which they were added; what waits is newer than its row. */
function newest<N extends Delivery>(stored: readonly N[], waiting: readonly N[]): readonly N[] {
  const all = new Map([...stored, ...waiting].map((notification) => [notification.id, notification]))
  return [...all.values()].filter(({ state }) => state !== 'superseded').sort((a, b) => a.createdAt - b.createdAt)
}

function deliveryView(notification: Notification): DeliveryView {
  const { id, channel, type, subject, report, createdAt, attempts, error } = notification
  const own = report === null ? ownSubjectOf(subject) : null
  const member = own?.member ?? null
  return {
    id,
    channel,
    type,
    incident: report === null ? null : subject,
    ...(member === null ? {} : { member }),
    network: report === null ? (own?.network ?? null) : report.network,
    endpoint: report?.endpoint ?? null,
    created_at: time(createdAt),
    sent_at: sentAt(notification),
    result: resultOf(notification),
    attempts,
    error,
  }
}

function sentAt({ state, endedAt }: Delivery): string | null {
  return state === 'sent' ? timeOrNull(endedAt) : null
}

function resultOf({ state, attempts }: Delivery): Result | null {
  switch (state) {
    case 'waiting':
      return attempts > 0 ? 'retried' : null
    case 'sent':
    case 'rejected':
    case 'expired':
      return state
    case 'superseded':
      return null
  }
}
