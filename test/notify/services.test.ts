import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ChannelTarget } from '../../src/config/resolve-notify.ts'
import { isMail } from '../../src/notify/channel.ts'
import { channelOf } from '../../src/notify/channel-table.ts'
import type { Message, MessageType } from '../../src/notify/notification.ts'
import { say } from '../../src/notify/wording.ts'
import { Secret } from '../../src/secret.ts'
import { START } from '../support/incident.ts'
import { gatewayMessage, HOSTILE, messageOf, reportWith } from './support.ts'

const FOLDER = join(import.meta.dirname, '../answers/services')
const URL = new Secret('https://service.example.org/key')

const TARGETS: readonly Exclude<ChannelTarget, { type: 'email' }>[] = [
  { type: 'webhook', url: URL, secret: null },
  { type: 'alertmanager', urls: [URL] },
  { type: 'slack', webhookUrl: URL },
  { type: 'discord', webhookUrl: URL },
  { type: 'teams', webhookUrl: URL },
  { type: 'telegram', apiUrl: URL, botToken: new Secret('1:token'), chatId: new Secret('-100') },
  { type: 'pagerduty', apiUrl: URL, routingKey: new Secret('0123456789abcdef0123456789abcdef') },
  { type: 'opsgenie', apiUrl: URL, apiKey: new Secret('genie') },
  { type: 'ntfy', url: URL, topic: new Secret('topic'), token: null },
]

const Service = z.strictObject({
  source: z.string().startsWith('https://'),
  examples: z.array(z.unknown()).min(1),
  schema: z.record(z.string(), z.unknown()),
})

const serviceOf = (type: string) => Service.parse(JSON.parse(readFileSync(join(FOLDER, `${type}.json`), 'utf8')))

const closedAt = START + 90_000
const LONG = '\\😀"<&*_'.repeat(500)
const MESSAGES: readonly (readonly [string, Message])[] = [
  ...(['incident.opened', 'incident.worse', 'incident.better', 'incident.repeated'] as const).map(
    (type) =>
      [type, messageOf([reportWith('connection refused', { reached: ['degraded', 'down'] })], { type })] as const,
  ),
  ['incident.closed', messageOf([reportWith('refused', { closedAt, recovered: true })], { type: 'incident.closed' })],
  ['a degraded one', messageOf([reportWith('12 blocks behind', { state: 'degraded' })])],
  [
    'a halted network',
    messageOf([reportWith('no new block', { endpoint: null, cause: 'halted', affected: ['a', 'b'] })]),
  ],
  [
    'an outage',
    messageOf([reportWith('refused', { endpoint: null, cause: 'outage', provider: 'acme', affected: ['a'] })]),
  ],
  ...(['heartline.impaired', 'heartline.recovered', 'test'] as const).map(
    (type: MessageType) =>
      [type, messageOf([], { type, subject: 'mjvs2o0-heartline', text: 'Heartline itself' })] as const,
  ),
  ...(['heartline.impaired', 'heartline.recovered'] as const).map(
    (type) => [`${type} about the gateway`, gatewayMessage('no endpoint for network avalanche', { type })] as const,
  ),
  ['hostile text about the gateway', gatewayMessage(HOSTILE)],
  ['long text about the gateway', gatewayMessage(LONG)],
  [
    'the longest names',
    messageOf([reportWith('x', { id: 'i'.repeat(256), network: 'n'.repeat(64), endpoint: 'e'.repeat(64) })]),
  ],
  ['hostile text', messageOf([reportWith(HOSTILE)])],
  ['long text', messageOf([reportWith(LONG, { others: LONG })])],
]
const GROUP = messageOf(
  Array.from({ length: 900 }, (_, at) => reportWith(LONG, { id: `i-${at}`, endpoint: `own-${at}` })),
)

function bodiesOf(target: ChannelTarget, message: Message, publicUrl: string | null): unknown[] {
  const channel = channelOf({ name: 'c', minState: 'degraded', repeatMs: null, groupWaitMs: 0, ca: null, target })
  const out = channel.render(say(message, publicUrl))
  return isMail(out) ? [] : out.map(({ body }) => JSON.parse(body))
}

/** Bodies of what follows a request. */
function laterBodiesOf(target: ChannelTarget, message: Message): unknown[] {
  const channel = channelOf({ name: 'c', minState: 'degraded', repeatMs: null, groupWaitMs: 0, ca: null, target })
  const out = channel.render(say(message, null))
  const bodies: unknown[] = []
  for (let next = isMail(out) ? undefined : out[0]?.next; next !== undefined; next = next.next) {
    bodies.push(JSON.parse(next.body))
  }
  return bodies
}

describe.each(TARGETS)('$type', (target) => {
  const { examples, schema } = serviceOf(target.type)
  const request = z.fromJSONSchema(schema)

  test('accepts its documented examples, and no unknown member', () => {
    for (const example of examples) {
      expect(request.safeParse(example).error).toBeUndefined()
      const [first] = Array.isArray(example) ? example : [example]
      const unknown = { ...(first as object), unknown_member: 1 }
      expect(request.safeParse(Array.isArray(example) ? [unknown] : unknown).success).toBe(false)
    }
  })

  test.each(MESSAGES)('accepts %s', (_what, message) => {
    for (const publicUrl of [null, 'https://status.example.org']) {
      const bodies = bodiesOf(target, message, publicUrl)
      expect(bodies).toHaveLength(1)
      for (const body of bodies) expect(request.safeParse(body).error).toBeUndefined()
    }
    for (const body of laterBodiesOf(target, message)) expect(request.safeParse(body).error).toBeUndefined()
  })
})

const GROUPING = TARGETS.filter(
  (target) => channelOf({ name: 'c', minState: 'down', repeatMs: null, groupWaitMs: 0, ca: null, target }).groups,
)
test.each(GROUPING)('$type accepts a group of 900 incidents', (target) => {
  const [body] = bodiesOf(target, GROUP, 'https://status.example.org')

  expect(z.fromJSONSchema(serviceOf(target.type).schema).safeParse(body).error).toBeUndefined()
})
