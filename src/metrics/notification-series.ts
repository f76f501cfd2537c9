import type { Notification } from '../notify/notification.ts'
import type { NotifierStatus } from '../notify/notifier.ts'
import { labelValue } from './endpoint-labels.ts'
import { createLines, type Lines } from './lines.ts'

/** Renders what the notifier has sent, and what waits. */
export function notificationLines(
  { channels, waiting }: Pick<NotifierStatus, 'channels' | 'waiting'>,
  silences: number,
  now: number,
): Lines {
  const { lines, add } = createLines()
  if (channels.length === 0) return lines
  for (const { name, results } of channels) {
    for (const [result, count] of Object.entries(results)) {
      add('notifications_total', count, `channel="${labelValue(name)}",result="${result}"`)
    }
  }
  const groupWaitMs = new Map(channels.map((channel) => [channel.name, channel.groupWaitMs]))
  const dueAt = ({ channel, type, createdAt }: Notification) =>
    createdAt + (type === 'incident.opened' ? (groupWaitMs.get(channel) ?? 0) : 0)
  const oldest = waiting.reduce((first, notification) => Math.min(first, dueAt(notification)), now)
  add('silences_active', silences)
  add('notification_queue', waiting.length)
  add('notification_oldest_seconds', Math.max(0, now - oldest) / 1000)
  return lines
}
