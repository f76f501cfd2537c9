import type { NotifierStatus } from '../notify/notifier.ts'
import { labelValue } from './endpoint-labels.ts'
import { type MetricName, PREFIX } from './registry.ts'

/** Renders what the notifier has sent, and what waits. */
export function notificationLines(
  { channels, waiting }: Pick<NotifierStatus, 'channels' | 'waiting'>,
  silences: number,
  now: number,
): Partial<Record<MetricName, string>> {
  if (channels.length === 0) return {}
  const totals = channels.flatMap(({ name, results }) =>
    Object.entries(results).map(
      ([result, count]) => `${PREFIX}notifications_total{channel="${labelValue(name)}",result="${result}"} ${count}\n`,
    ),
  )
  const oldest = waiting.reduce((first, { createdAt }) => Math.min(first, createdAt), now)
  return {
    notifications_total: totals.join(''),
    silences_active: `${PREFIX}silences_active ${silences}\n`,
    notification_queue: `${PREFIX}notification_queue ${waiting.length}\n`,
    notification_oldest_seconds: `${PREFIX}notification_oldest_seconds ${Math.max(0, now - oldest) / 1000}\n`,
  }
}
