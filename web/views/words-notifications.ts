import type { DeliveryView, IncidentNotificationView } from '../../src/http/wire/notifications.ts'
import { count, duration } from './format.ts'

/** Labels and sentences of the notifications page, and of what an incident's page says of them. */
export const NOTIFICATION_WORDS = {
  title: 'Notifications',
  off: 'No channel is configured.',
  offMeaning:
    'Heartline can tell people and programs about incidents. Add a channel to the configuration and reload it:',
  offExample: `notify:
  channels:
    - name: ops
      type: slack
      webhook_url: \${SLACK_URL}`,
  offAfter: '`heartline notify test` then sends a test message.',
  queue: (many: number, oldestSeconds: number) =>
    many === 0 ? 'Nothing waits.' : `${count(many)} waiting, the oldest for ${duration(Math.round(oldestSeconds))}.`,
  heartbeat: 'Heartbeat',
  heartbeatAt: 'last requested',
  heartbeatNever: 'not requested yet',
  channels: 'Channels',
  channelTable: 'Table of channels',
  deliveryTable: 'Table of messages',
  channel: 'Channel',
  type: 'Type',
  health: 'Health',
  lastSent: 'Last sent',
  sent: 'Sent',
  retried: 'Retried',
  rejected: 'Rejected',
  expired: 'Expired',
  waiting: 'Waiting',
  failing: 'failing',
  working: 'working',
  deliveries: 'Latest messages',
  none: 'No messages yet.',
  time: 'Time',
  message: 'Message',
  about: 'About',
  result: 'Result',
  itself(network: string | null, member: string | undefined): string {
    const of = member === undefined ? '' : ` of ${member}`
    return network === null ? `Heartline${of}` : `gateway${of} for ${network}`
  },
  ofMember: (member: string) =>
    `Queue, heartbeat and channels are those of this member, ${member}. The latest messages are those of all members.`,
  told: 'Notifications',
  types: {
    'incident.opened': 'opened',
    'incident.worse': 'worse',
    'incident.better': 'better',
    'incident.repeated': 'repeated',
    'incident.closed': 'closed',
    'heartline.impaired': 'impaired',
    'heartline.recovered': 'recovered',
    test: 'test',
  } satisfies Record<IncidentNotificationView['type'], string>,
  results: {
    sent: 'sent',
    retried: 'will be retried',
    rejected: 'rejected',
    expired: 'expired unsent',
  } satisfies Record<NonNullable<DeliveryView['result']>, string>,
  pending: 'waiting',
}
