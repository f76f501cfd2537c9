import { expect, onTestFinished, test } from 'vitest'
import { NotificationsView } from '../../src/http/wire/notifications.ts'
import { type Notification, reportOf } from '../../src/notify/notification.ts'
import { Secret } from '../../src/secret.ts'
import type { NotificationRecord } from '../../src/store/store.ts'
import { opened, temporaryDirectory } from '../store/setting.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'
import { setUp } from './setting.ts'

const TOKEN = 'a-token-of-the-operator'
const AUTHORISED = { authorization: `Bearer ${TOKEN}` }
const DOWN = incident({ id: 'a', openedAt: START })

function notification(id: string, over: Partial<Notification>): Notification {
  return {
    id,
    channel: 'ops',
    subject: 'a',
    type: 'incident.opened',
    messageId: `msg_${id}`,
    createdAt: START + 10_000,
    state: 'sent',
    attempts: 1,
    endedAt: START + 12_000,
    error: null,
    before: null,
    report: reportOf(DOWN, null, ''),
    saysBoth: false,
    text: '',
    ...over,
  }
}

const record = (value: Notification): NotificationRecord => {
  const { id, channel, subject, createdAt, state } = value
  return { id, channel, incident: subject, createdAt, waiting: state === 'waiting', value }
}

const RETRIED = notification('3', { channel: 'hook', state: 'waiting', attempts: 2, endedAt: null, error: 'timed out' })

/** One message each that was sent, rejected, replaced by a later one, and that waits. */
async function told() {
  const { store } = await opened({ path: `${temporaryDirectory()}/heartline.db` })
  const rejected = notification('2', {
    channel: 'mail',
    createdAt: START + 11_000,
    state: 'rejected',
    error: 'answered HTTP 404',
  })
  const replaced = notification('4', { state: 'superseded', createdAt: START + 13_000 })
  store.saveIncident(incidentRecord(DOWN), [notification('1', {}), rejected, RETRIED, replaced].map(record))
  await store.flush()
  const results = { sent: 1, retried: 0, rejected: 0, expired: 0 }
  const channel = {
    type: 'slack',
    groupWaitMs: 0,
    failing: false,
    lastSentAt: START + 12_000,
    lastFailedAt: null,
    lastError: null,
  }
  const status = {
    channels: [{ name: 'ops', ...channel, results }],
    waiting: [{ ...RETRIED, createdAt: START + 12_000 }],
    heartbeat: null,
  }
  const { server, clock } = setUp({ store, notifier: { status: () => status }, options: { token: new Secret(TOKEN) } })
  onTestFinished(() => server.close())
  return { server, now: clock.now() }
}

const at = (ms: number) => new Date(START + ms).toISOString()

test('an incident lists its messages by channel, with exactly these fields, to clients with the token', async () => {
  const { server } = await told()
  const expected = [
    { channel: 'ops', type: 'incident.opened', sent_at: at(12_000), result: 'sent' },
    { channel: 'mail', type: 'incident.opened', sent_at: null, result: 'rejected' },
    { channel: 'hook', type: 'incident.opened', sent_at: null, result: 'retried' },
  ]

  const list = await server.inject({ url: '/api/v1/incidents', headers: AUTHORISED })
  const one = await server.inject({ url: '/api/v1/incidents/a', headers: AUTHORISED })
  const publicOne = await server.inject('/api/v1/incidents/a')

  expect(list.json().incidents[0].notifications).toEqual(expected)
  expect(one.json().notifications).toEqual(expected)
  expect(publicOne.json().notifications).toEqual([])
})

test('/api/v1/notifications has channels, queue and deliveries, newest first, and needs the token', async () => {
  const { server, now } = await told()

  const answer = await server.inject({ url: '/api/v1/notifications', headers: AUTHORISED })
  const { channels, queue, oldest_seconds: oldest, deliveries } = NotificationsView.strict().parse(answer.json())

  expect((await server.inject('/api/v1/notifications')).statusCode).toBe(401)
  expect(channels).toEqual([
    {
      name: 'ops',
      type: 'slack',
      failing: false,
      last_sent_at: at(12_000),
      last_failed_at: null,
      last_error: null,
      waiting: 0,
      results: { sent: 1, retried: 0, rejected: 0, expired: 0 },
    },
  ])
  expect([queue, oldest]).toEqual([1, Math.max(0, now - START - 12_000) / 1000])
  expect(deliveries.map(({ channel, result, error }) => [channel, result, error])).toEqual([
    ['hook', 'retried', 'timed out'],
    ['mail', 'rejected', 'answered HTTP 404'],
    ['ops', 'sent', null],
  ])
  expect(deliveries[0]).toEqual({
    id: '3',
    channel: 'hook',
    type: 'incident.opened',
    incident: 'a',
    network: DOWN.network,
    endpoint: DOWN.endpoint,
    created_at: at(12_000),
    sent_at: null,
    result: 'retried',
    attempts: 2,
    error: 'timed out',
  })
})

test('a member of a cluster says that queue and counters are its own, and whose a message about Heartline is', async () => {
  const own = { report: null, text: 'trouble', type: 'heartline.impaired' } as const
  const values = [
    notification('1', { ...own, subject: 'k1-heartline.fra1.host.9780' }),
    notification('2', { ...own, subject: 'k2-net-gateway.nyc1.host.9780', createdAt: START + 11_000 }),
    notification('3', { createdAt: START + 12_000 }),
  ]
  const channel = {
    type: 'slack',
    groupWaitMs: 0,
    failing: false,
    lastSentAt: null,
    lastFailedAt: null,
    lastError: null,
  }
  const results = { sent: 0, retried: 0, rejected: 0, expired: 0 }
  const status = { channels: [{ name: 'ops', ...channel, results }], waiting: [], heartbeat: null }
  const { server } = setUp({
    store: { notifications: async () => values.map(record) },
    notifier: { status: () => ({ ...status, member: 'fra1.host.9780' }) },
  })
  onTestFinished(() => server.close())

  const { member, deliveries } = NotificationsView.strict().parse((await server.inject('/api/v1/notifications')).json())
  const { body: page } = await server.inject('/notifications')

  expect(member).toBe('fra1.host.9780')
  expect(deliveries.map((one) => [one.member, one.network])).toEqual([
    [undefined, DOWN.network],
    ['nyc1.host.9780', 'net'],
    ['fra1.host.9780', null],
  ])
  expect(page).toContain('those of this member, fra1.host.9780')
  expect(page).toContain('>Heartline of fra1.host.9780<')
  expect(page).toContain('>gateway of nyc1.host.9780 for net<')
})
