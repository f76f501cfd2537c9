import fc from 'fast-check'
import { createTransport } from 'nodemailer'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test, vi } from 'vitest'
import type { ChannelTarget } from '../../src/config/resolve-notify.ts'
import type { Verdict } from '../../src/core/verdict/condition.ts'
import { incidentSummary } from '../../src/http/incident-views.ts'
import { type HttpRequest, isMail } from '../../src/notify/channel.ts'
import { channelOf } from '../../src/notify/channel-table.ts'
import { type Message, type Report, reportOf } from '../../src/notify/notification.ts'
import { say } from '../../src/notify/wording.ts'
import { Secret } from '../../src/secret.ts'
import { change, condition, incident, START } from '../support/incident.ts'
import { gatewayMessage, HOSTILE, messageOf, OTHERS, reportWith } from './support.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const URL = new Secret('https://service.example.org/key')

const TARGETS: readonly ChannelTarget[] = [
  { type: 'webhook', url: URL, secret: new Secret(SECRET) },
  { type: 'alertmanager', urls: [URL, new Secret('https://second.example.org')] },
  { type: 'slack', webhookUrl: URL },
  { type: 'discord', webhookUrl: URL },
  { type: 'teams', webhookUrl: URL },
  { type: 'telegram', apiUrl: URL, botToken: new Secret('1:token'), chatId: new Secret('-100') },
  { type: 'pagerduty', apiUrl: URL, routingKey: new Secret('routing') },
  { type: 'opsgenie', apiUrl: URL, apiKey: new Secret('genie') },
  { type: 'ntfy', url: URL, topic: new Secret('topic'), token: null },
  { type: 'email', smtp: new Secret('smtp://mail.example.org'), from: 'h@example.org', to: ['ops@example.org'] },
]

function rendered(target: ChannelTarget, message: Message) {
  const channel = channelOf({ name: 'c', minState: 'degraded', repeatMs: null, groupWaitMs: 0, ca: null, target })
  return channel.render(say(message, 'https://status.example.org'))
}

function requestsOf(target: ChannelTarget, message: Message): readonly HttpRequest[] {
  const out = rendered(target, message)
  if (isMail(out)) throw new Error('a mail')
  return out
}

const bodyOf = (type: ChannelTarget['type'], message: Message): any => {
  const target = TARGETS.find((one) => one.type === type)
  return JSON.parse((target === undefined ? [] : requestsOf(target, message))[0]?.body ?? '')
}

const OUTAGE = { endpoint: null, cause: 'outage', provider: 'acme', affected: ['a', 'b', 'c'] } as const
const opened = messageOf([reportWith('connection refused')])
const OVER = { closedAt: START + 90_000, recovered: true }
const closed = messageOf([reportWith('connection refused', OVER)], { type: 'incident.closed' })

describe('every channel', () => {
  test.each(TARGETS)('names network and endpoint, and links to incident and runbook: $type', (target) => {
    const out = rendered(target, opened)
    const text = isMail(out) ? `${out.text}${out.html}` : out.map(({ body }) => body).join()

    expect(text).toContain('avalanche/own-1')
    expect(text).toContain('https://status.example.org/incidents/incident-1')
    if (target.type !== 'webhook') expect(text).toContain('https://status.example.org/runbooks/HeartlineEndpointDown')
  })

  test.each(
    TARGETS.flatMap((target) => [
      { type: target.type, of: 'a node', target, message: messageOf([reportWith(HOSTILE)]) },
      { type: target.type, of: 'a message about the gateway', target, message: gatewayMessage(HOSTILE) },
    ]),
  )('turns hostile text of $of into one harmless line: $type', ({ target, message }) => {
    const out = rendered(target, message)
    const text = isMail(out) ? `${out.subject}\n${out.text}\n${out.html}` : out.map(({ body }) => body).join()

    for (const mark of ['\u202a', '\u202e', '\u200b', '\u0000', '\u001b', '\\u202e', '\\u0000', '\\u001b']) {
      expect(text).not.toContain(mark)
    }
    expect(text).not.toContain('\\r')
    if (isMail(out)) {
      expect(out.subject).not.toMatch(/[\r\n]/)
      expect(out.html).not.toContain('<script>')
    }
  })

  test.each(TARGETS)('stays within the limits of its service, whatever a node sends: $type', (target) => {
    const reports = Array.from({ length: 900 }, (_, at) => reportWith('\\😀"<&'.repeat(400), { id: `i-${at}` }))
    const groups = channelOf({ name: 'c', minState: 'down', repeatMs: null, groupWaitMs: 0, ca: null, target }).groups
    const message = messageOf(groups ? reports : reports.slice(0, 1))
    const out = rendered(target, message)
    if (isMail(out)) {
      expect(out.subject.length).toBeLessThanOrEqual(200)
      return
    }
    const body = JSON.parse(out[0]?.body ?? '')
    switch (target.type) {
      case 'slack':
        for (const { text } of body.blocks) expect(text.text.length).toBeLessThanOrEqual(3000)
        expect(body.blocks.length).toBeLessThanOrEqual(50)
        break
      case 'discord':
        expect(body.content.length).toBeLessThanOrEqual(2000)
        expect(body.embeds[0].description.length).toBeLessThanOrEqual(4096)
        break
      case 'teams':
        expect(Buffer.byteLength(out[0]?.body ?? '')).toBeLessThanOrEqual(28 * 1024)
        break
      case 'telegram':
        expect(body.text.length).toBeLessThanOrEqual(4096)
        break
      case 'pagerduty':
        expect(body.payload.summary.length).toBeLessThanOrEqual(1024)
        expect(Buffer.byteLength(out[0]?.body ?? '')).toBeLessThanOrEqual(512 * 1024)
        break
      case 'opsgenie':
        expect(body.message.length).toBeLessThanOrEqual(130)
        expect(body.description.length).toBeLessThanOrEqual(15_000)
        break
      case 'ntfy':
        expect(Buffer.byteLength(body.message)).toBeLessThanOrEqual(4096)
        break
      case 'webhook':
      case 'alertmanager':
      case 'email':
        break
    }
  })
})

test('a Slack message about many incidents has as many whole links as fit', () => {
  const reports = Array.from({ length: 20 }, (_, at) => reportWith('refused', { id: `${at}`.padStart(36, '0') }))

  const [, , section] = bodyOf('slack', messageOf(reports)).blocks
  const links: string[] = section.text.text.split(' · ')

  expect(section.text.text.length).toBeLessThanOrEqual(3000)
  expect(section.text.text.length).toBeGreaterThan(2800)
  for (const link of links) expect(link).toMatch(/^<https:\/\/status\.example\.org\/[\w/-]+\|(Incident|Runbook)>$/)
})

test('a Slack message has no links where not even one fits', () => {
  const { blocks } = bodyOf('slack', messageOf([reportWith('refused', { id: 'i'.repeat(3000) })]))

  expect(blocks.map(({ text }: any) => text.type)).toEqual(['plain_text', 'plain_text'])
})

test('a webhook is signed so that the library of Standard Webhooks accepts it, and any change breaks it', () => {
  vi.useFakeTimers({ now: opened.sentAt })
  const [request] = requestsOf(TARGETS[0] as ChannelTarget, opened)
  const headers = Object.fromEntries(
    Object.entries(request?.headers ?? {}).map(([name, value]) => [name, value.reveal()]),
  )
  const verify = (body: string) => new Webhook(SECRET).verify(body, headers)

  expect(verify(request?.body ?? '')).toMatchObject({
    type: 'incident.opened',
    timestamp: new Date(opened.createdAt).toISOString(),
    data: {
      incidents: [{ id: 'incident-1', network: 'avalanche', endpoint: 'own-1', state: 'down', closed_at: null }],
    },
  })
  expect(() => verify(`${request?.body} `)).toThrow()
  vi.useRealTimers()
})

function incidentOfWebhook(message: Message): object {
  const channel = channelOf({
    name: 'c',
    minState: 'down',
    repeatMs: null,
    groupWaitMs: 0,
    ca: null,
    target: TARGETS[0] as ChannelTarget,
  })
  const out = channel.render(say(message, null))
  return isMail(out) ? {} : JSON.parse(out[0]?.body ?? '').data.incidents[0]
}

test('without a public URL the links of a webhook are null', () => {
  expect(incidentOfWebhook(opened)).toMatchObject({ url: null, runbook_url: null })
})

test('an incident of a webhook has the members of the API, and two links', () => {
  const places = { vantages: ['fra1', 'nyc1'] }
  const links = { url: null, runbook_url: null }

  const alone = incidentOfWebhook(messageOf([reportOf(incident(), null, '')]))
  const ofCluster = incidentOfWebhook(messageOf([reportOf(incident(places), null, '')]))

  expect(alone).toEqual({ ...incidentSummary(incident(), 'private'), ...links })
  expect(ofCluster).toMatchObject(places)
})

/** What the text of a hostile node must not become in each service. */
const HARMLESS: { readonly [T in ChannelTarget['type']]: (out: any) => void } = {
  webhook: ({ data }) => expect(data.text).not.toContain('\n'),
  alertmanager: ([{ labels, generatorURL }]) => {
    expect(labels).toEqual({
      alertname: 'HeartlineEndpointDown',
      network: 'avalanche',
      endpoint: 'own-1',
      severity: 'critical',
    })
    expect(generatorURL).toBe('https://status.example.org/incidents/incident-1')
  },
  slack: ({ text, blocks }) => {
    expect(text).toContain('&lt;!channel&gt;')
    expect(text).not.toMatch(/[<>]/)
    expect(blocks.map((block: any) => block.text.type)).toEqual(['plain_text', 'plain_text', 'mrkdwn'])
    expect(blocks[2].text.text).not.toContain('evil.example')
  },
  discord: ({ content, embeds, allowed_mentions: mentions }) => {
    expect(mentions).toEqual({ parse: [] })
    const [ours] = embeds[0].description.split('\n').slice(-1)
    for (const text of [content, embeds[0].description.replace(ours, '')]) {
      expect(text).not.toMatch(/(?<!\\)[*_~`|[\]<@]/)
      expect(text).not.toMatch(/(?<!\\):\/\//)
    }
  },
  teams: ({ attachments: [{ content }] }) => {
    expect(new Set(content.body.map(({ type }: any) => type))).toEqual(new Set(['RichTextBlock']))
    expect(new Set(content.body.flatMap(({ inlines }: any) => inlines.map(({ type }: any) => type)))).toEqual(
      new Set(['TextRun']),
    )
    expect(JSON.stringify(content.actions)).not.toContain('evil.example')
  },
  telegram: (body) => {
    expect(Object.keys(body)).toEqual(['chat_id', 'text', 'link_preview_options'])
    expect(body.text.split('\nhttps://')[0]).not.toMatch(/@\w|:\/\/|(?:^|\s)\/\w/m)
  },
  pagerduty: ({ payload, links }) => {
    expect(JSON.stringify(links)).not.toContain('evil.example')
    expect([payload.source, payload.component, payload.group, payload.class]).toEqual([
      'avalanche/own-1',
      'own-1',
      'avalanche',
      'unreachable',
    ])
  },
  opsgenie: ({ description, message }) => {
    expect(description).not.toMatch(/<[a-z/!?]/i)
    expect(message).not.toContain('\n')
  },
  ntfy: ({ markdown, click, actions, title }) => {
    expect(markdown).toBeUndefined()
    expect(title).not.toContain('\n')
    expect(JSON.stringify([click, actions])).not.toContain('evil.example')
  },
  email: ({ subject, html }) => {
    expect(subject).not.toMatch(/[\r\n]/)
    const tags = html.match(/<[^>]*>/g).map((tag: string) => tag.replace(/ href="https:\/\/status[^"]*"/, ''))
    expect([...new Set<string>(tags)].toSorted((a, b) => (a < b ? -1 : 1))).toEqual(
      [
        '</a>',
        '</b>',
        '</li>',
        '</p>',
        '</ul>',
        '<!doctype html>',
        '<a>',
        '<b>',
        '<li>',
        '<meta charset="utf-8">',
        '<p>',
        '<ul>',
      ].sort(),
    )
  },
}

test.each(TARGETS)('the text of a node has no meaning for the service: $type', (target) => {
  const out = rendered(target, messageOf([reportWith(HOSTILE)]))

  HARMLESS[target.type](isMail(out) ? out : JSON.parse(out[0]?.body ?? ''))
})

/** What the text of a message about Heartline itself must not become. */
const HARMLESS_ITSELF: { readonly [T in ChannelTarget['type']]: (out: any) => void } = {
  webhook: ({ data }) => expect(data).toEqual({ incidents: [], text: expect.not.stringContaining('\n') }),
  alertmanager: ([{ labels, annotations }]) => {
    expect(Object.keys(labels)).toEqual(['alertname', 'network', 'member', 'severity'])
    expect(annotations.summary).not.toContain('\n')
  },
  slack: ({ text, blocks }) => {
    expect(text).not.toMatch(/[<>]/)
    expect(blocks.map((block: any) => block.text.type)).toEqual(['plain_text'])
  },
  discord: ({ content, embeds, allowed_mentions: mentions }) => {
    expect([mentions, embeds]).toEqual([{ parse: [] }, []])
    expect(content).not.toMatch(/(?<!\\)[*_~`|[\]<@]|(?<!\\):\/\//)
  },
  teams: ({ attachments: [{ content }] }) => {
    expect(content.actions).toBeUndefined()
    expect(content.body.flatMap(({ inlines }: any) => inlines.map(({ type }: any) => type))).toEqual(['TextRun'])
  },
  telegram: HARMLESS.telegram,
  pagerduty: ({ payload, links }) => {
    expect(links).toEqual([])
    expect(payload.summary).not.toContain('\n')
  },
  opsgenie: HARMLESS.opsgenie,
  ntfy: HARMLESS.ntfy,
  email: ({ subject, html }) => {
    expect(subject).not.toMatch(/[\r\n]/)
    expect(html).not.toMatch(/<(?:a|script)\b/)
  },
}

test.each(TARGETS)('hostile text in a message about the gateway has no meaning for the service: $type', (target) => {
  const out = rendered(target, gatewayMessage(HOSTILE))

  HARMLESS_ITSELF[target.type](isMail(out) ? out : JSON.parse(out[0]?.body ?? ''))
})

/** What has a meaning for some service or format, between any UTF-16 units, halves of characters among them. */
const PIECES = [
  '<',
  '>',
  '&',
  '@',
  '\\',
  '"',
  '*',
  '`',
  '[',
  '](',
  '://',
  '\r\n',
  '\r\nBcc: ',
  '</',
  '<!',
  '=?utf-8?q?',
  '😀',
]
const anyText = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...PIECES),
    fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    fc.integer({ min: 0, max: 0x7f }).map((unit) => String.fromCharCode(unit)),
  ),
  maxLength: 200,
})

const stringsIn = (json: unknown): string[] =>
  typeof json === 'string'
    ? [json]
    : typeof json === 'object' && json !== null
      ? Object.values(json).flatMap(stringsIn)
      : []

const shapeOf = (json: unknown): unknown =>
  Array.isArray(json)
    ? json.map(shapeOf)
    : typeof json === 'object' && json !== null
      ? Object.fromEntries(Object.entries(json).map(([key, value]) => [key, shapeOf(value)]))
      : typeof json

test.each(TARGETS.filter((target) => target.type !== 'email'))(
  'whatever text a node sends, the request is valid JSON of the same shape, and the text is harmless: $type',
  (target) => {
    const told = (text: string) => requestsOf(target, messageOf([reportWith(text)]))
    const usual = shapeOf(JSON.parse(told('connection refused')[0]?.body ?? ''))

    fc.assert(
      fc.property(anyText, (text) => {
        for (const { body, headers, path = '' } of told(HOSTILE + text)) {
          const json = JSON.parse(body)
          expect(shapeOf(json)).toEqual(usual)
          // Strict parsers reject half a character, and with it the whole message.
          for (const string of stringsIn(json)) expect(string).not.toMatch(/\p{Cs}/u)
          for (const value of Object.values(headers)) expect(value.reveal()).not.toMatch(/[\r\n]/)
          expect(path).not.toMatch(/\s/)
          HARMLESS[target.type](json)
        }
      }),
    )
  },
)

test('whatever text a node sends, a mail has the headers and the markup of any other', async () => {
  const [target] = TARGETS.filter((one) => one.type === 'email') as [ChannelTarget]
  const transport = createTransport({ streamTransport: true, buffer: true })
  async function written(text: string) {
    const out = rendered(target, messageOf([reportWith(text)]))
    if (!isMail(out)) throw new Error('not a mail')
    HARMLESS.email(out)
    const { message } = await transport.sendMail({ ...out, to: [...out.to], references: out.references ?? [] })
    const [head = ''] = (message as Buffer).toString().split('\r\n\r\n')
    return head.split('\r\n').flatMap((line) => /^[^\s:]+(?=:)/.exec(line) ?? [])
  }
  const usual = await written('connection refused')

  await fc.assert(
    fc.asyncProperty(anyText, async (text) => {
      expect(await written(HOSTILE + text)).toEqual(usual)
    }),
  )
  expect(usual).toContain('Subject')
})

test('PagerDuty and Opsgenie know one alert for each incident, and resolve it', () => {
  expect(bodyOf('pagerduty', opened)).toMatchObject({ event_action: 'trigger', dedup_key: 'incident-1' })
  expect(bodyOf('pagerduty', closed)).toEqual({
    routing_key: 'routing',
    event_action: 'resolve',
    dedup_key: 'incident-1',
  })
  expect(bodyOf('opsgenie', opened)).toMatchObject({ alias: 'incident-1', priority: 'P1' })
  expect(requestsOf(TARGETS[7] as ChannelTarget, closed)[0]?.path).toBe(
    '/v2/alerts/incident-1/close?identifierType=alias',
  )
})

test('Opsgenie learns the message and the priority of an alert that is open when its incident gets worse or better', () => {
  const steps = (type: 'incident.worse' | 'incident.better', state: Verdict) => {
    const [create] = requestsOf(TARGETS[7] as ChannelTarget, messageOf([reportWith('refused', { state })], { type }))
    const requests: unknown[] = []
    for (let next = create; next !== undefined; next = next.next) {
      requests.push([next.method ?? 'POST', next.path, JSON.parse(next.body)])
    }
    return requests
  }

  expect(steps('incident.worse', 'down')).toEqual([
    ['POST', '/v2/alerts', expect.objectContaining({ alias: 'incident-1', priority: 'P1' })],
    [
      'PUT',
      '/v2/alerts/incident-1/message?identifierType=alias',
      { message: expect.stringContaining('avalanche/own-1 got worse') },
    ],
    ['PUT', '/v2/alerts/incident-1/priority?identifierType=alias', { priority: 'P1' }],
  ])
  expect(steps('incident.better', 'degraded').at(-1)).toEqual([
    'PUT',
    '/v2/alerts/incident-1/priority?identifierType=alias',
    { priority: 'P3' },
  ])
  expect(requestsOf(TARGETS[7] as ChannelTarget, opened)[0]?.next).toBeUndefined()
})

test('every Alertmanager gets the alert of the state, and the end of the alert of the state before', () => {
  const worse = messageOf([reportWith('500 blocks behind', { reached: ['degraded', 'down'], previous: 'degraded' })], {
    type: 'incident.worse',
  })
  const requests = requestsOf(TARGETS[1] as ChannelTarget, worse)
  const alerts = JSON.parse(requests[0]?.body ?? '')

  expect(requests).toHaveLength(2)
  expect(
    alerts.map(({ labels, startsAt, endsAt }: { labels: object; startsAt: string; endsAt: string }) => ({
      ...labels,
      startsAt,
      isOver: Date.parse(endsAt) <= worse.sentAt,
    })),
  ).toEqual(
    [
      { alertname: 'HeartlineEndpointDegraded', severity: 'warning', isOver: true },
      { alertname: 'HeartlineEndpointDown', severity: 'critical', isOver: false },
    ].map((alert) => ({ ...alert, network: 'avalanche', endpoint: 'own-1', startsAt: new Date(START).toISOString() })),
  )
})

test('Alertmanager learns for which network whose gateway has no endpoint, since when, and that it is over', () => {
  const said = gatewayMessage('no endpoint for network avalanche')
  const [begun] = bodyOf('alertmanager', said)
  const [over] = bodyOf('alertmanager', { ...said, type: 'heartline.recovered' })
  const [alone] = bodyOf('alertmanager', { ...said, subject: `${START.toString(36)}-avalanche-gateway` })
  const labels = { alertname: 'HeartlineImpaired', network: 'avalanche', severity: 'critical' }

  expect(begun).toMatchObject({
    labels: { ...labels, member: 'fra.host-1.8080' },
    annotations: { summary: 'no endpoint for network avalanche' },
    startsAt: new Date(START).toISOString(),
  })
  expect(Date.parse(begun.endsAt)).toBeGreaterThan(said.sentAt)
  expect(over).toMatchObject({
    labels: begun.labels,
    startsAt: begun.startsAt,
    endsAt: new Date(said.sentAt).toISOString(),
  })
  expect(alone.labels).toEqual(labels)
})

test('two outages of one network are two alerts', () => {
  const alertOf = (id: string) =>
    bodyOf('alertmanager', messageOf([reportWith('connection refused', { ...OUTAGE, id })]))[0].labels

  expect(['one', 'two'].map(alertOf)).toEqual(
    ['one', 'two'].map((incident) => ({
      alertname: 'HeartlineEndpointDown',
      network: 'avalanche',
      incident,
      severity: 'critical',
    })),
  )
})

test('mails about one incident are one thread, each with an id of its own', () => {
  const mail = (message: Message) => {
    const out = rendered(TARGETS[9] as ChannelTarget, message)
    return isMail(out) ? { id: out.messageId, references: out.references } : null
  }

  expect(mail(opened)).toEqual({ id: '<msg_1@example.org>', references: '<incident-1@example.org>' })
  expect(mail({ ...closed, id: 'msg_2' })).toEqual({
    id: '<msg_2@example.org>',
    references: '<incident-1@example.org>',
  })
})

test('a mail that tests the channel is part of no thread', () => {
  const out = rendered(TARGETS[9] as ChannelTarget, { ...opened, type: 'test', subject: opened.id, reports: [] })

  expect(out).toMatchObject({ messageId: '<msg_1@example.org>', references: null })
})

test('an incident has recovered only if its endpoint was up in the end', () => {
  const down = incident({ closedAt: START + 90_000 })
  const up = { ...down, changes: [...down.changes, change({ at: START + 90_000, state: 'up', codes: [] })] }

  expect([down, up].map((one) => reportOf(one, null, '').recovered)).toEqual([false, true])
})

describe('the line of text', () => {
  const lineOf = (message: Message) => say(message, null).text

  test('names the end of the planned maintenance in which the incident began', () => {
    const report = { ...reportWith(''), others: '', plannedUntil: START + 60_000 }

    expect(lineOf(messageOf([report]))).toContain(
      'since 2026-01-01 00:00:00 UTC (planned maintenance until 2026-01-01 00:01:00 UTC)',
    )
  })

  test('of an incident that outlasted planned maintenance counts from its end', () => {
    const closed = { closedAt: START + 90_000, recovered: true, plannedUntil: START + 60_000 }
    const message = messageOf([{ ...reportWith('refused'), others: '', ...closed }], { type: 'incident.closed' })

    expect(lineOf(message)).toMatch(
      /has recovered after 30 s since planned maintenance ended at 2026-01-01 00:01:00 UTC \(was down/,
    )
    expect(lineOf({ ...message, saysBoth: true })).toContain(
      'was down for 30 s, from 2026-01-01 00:00:00 UTC to 2026-01-01 00:01:30 UTC (planned maintenance until 2026-01-01 00:01:00 UTC)',
    )
  })

  test('names the conditions that made the incident as bad as it is, not the first or the milder ones', () => {
    const slow = condition({ code: 'slow', state: 'degraded', message: '2.3 s, over the limit of 2 s' })
    const lagging = condition({ code: 'lagging', state: 'down', message: '120 blocks behind' })
    const wrong = condition({ code: 'bad-answer', state: 'down', message: 'no JSON' })
    const open = (of: Partial<Report>) => ({ ...reportWith(''), others: '', ...of })
    const opened = messageOf([open({ conditions: [slow, lagging, wrong] })])
    const better = open({ state: 'degraded', previous: 'down', conditions: [{ ...lagging, until: START }, slow] })
    const ended = [slow, lagging].map((one) => ({ ...one, until: START + 90_000 }))
    const closed = open({ closedAt: START + 90_000, recovered: true, conditions: ended })

    expect(lineOf(opened)).toBe('avalanche/own-1 is down since 2026-01-01 00:00:00 UTC: 120 blocks behind; no JSON')
    expect(say(opened, 'https://heartline.example.org').items[0]).toMatchObject({
      details: ['lagging: 120 blocks behind', 'bad-answer: no JSON', 'slow: 2.3 s, over the limit of 2 s'],
      runbookUrl: 'https://heartline.example.org/runbooks/HeartlineEndpointLagging',
    })
    expect(lineOf(messageOf([better], { type: 'incident.better' }))).toBe(
      'avalanche/own-1 improved, down to degraded; unhealthy since 2026-01-01 00:00:00 UTC: 2.3 s, over the limit of 2 s',
    )
    expect(lineOf(messageOf([closed], { type: 'incident.closed' }))).toBe(
      'avalanche/own-1 has recovered after 90 s (was down: 120 blocks behind)',
    )
  })

  test('has one line for a condition that came twice with the same sentence', () => {
    const first = condition({ code: 'lagging', state: 'degraded', message: '4 blocks behind', until: START + 10_000 })
    const again = { ...first, since: START + 20_000, until: START + 30_000 }
    const conditions = [first, condition({ until: START + 20_000 }), again]
    const closed = { ...reportWith(''), others: '', closedAt: START + 30_000, recovered: true, conditions }

    expect(say(messageOf([closed], { type: 'incident.closed' }), null).items[0]?.details).toEqual([
      'unreachable: connection refused',
      'lagging: 4 blocks behind',
    ])
  })

  test.each([
    ['opened', opened, `avalanche/own-1 is down since 2026-01-01 00:00:00 UTC: connection refused. ${OTHERS}`],
    ['closed', closed, 'avalanche/own-1 has recovered after 90 s (was down: connection refused)'],
    [
      'both',
      { ...closed, saysBoth: true },
      'avalanche/own-1 was down for 90 s, from 2026-01-01 00:00:00 UTC to 2026-01-01 00:01:30 UTC, and has recovered: connection refused',
    ],
    [
      'late',
      { ...opened, sentAt: opened.createdAt + 3_600_000 },
      `avalanche/own-1 is down since 2026-01-01 00:00:00 UTC: connection refused. ${OTHERS} (opened 00:00 UTC, sent 01:00 UTC)`,
    ],
    [
      'a halted network',
      messageOf([
        reportWith('', {
          endpoint: null,
          cause: 'halted',
          state: 'degraded',
          conditions: [condition({ code: 'halted', state: 'degraded', message: 'no new block on any of 3 endpoints' })],
        }),
      ]),
      `avalanche is halted since 2026-01-01 00:00:00 UTC: no new block on any of 3 endpoints. ${OTHERS}`,
    ],
    [
      'an outage of a provider',
      messageOf([reportWith('connection refused', OUTAGE)]),
      'avalanche: 3 endpoints of provider acme (a, b, c) are down since 2026-01-01 00:00:00 UTC: connection refused',
    ],
    [
      'an outage of a host, which is over',
      messageOf([reportWith('connection refused', { ...OUTAGE, ...OVER, provider: null })], {
        type: 'incident.closed',
      }),
      'avalanche: 3 endpoints on one host (a, b, c) have recovered after 90 s (were down: connection refused)',
    ],
    [
      'an outage that ended while one of its endpoints is still down',
      messageOf([reportWith('connection refused', { ...OUTAGE, ...OVER, others: 'Still unhealthy: c.' })], {
        type: 'incident.closed',
      }),
      'avalanche: 3 endpoints of provider acme (a, b, c) are no longer one outage after 90 s (were down: connection refused). Still unhealthy: c.',
    ],
    [
      'part of an outage from now on',
      messageOf([reportWith('connection refused', { ...OVER, recovered: false, absorbedBy: 'outage-1' })], {
        type: 'incident.closed',
      }),
      'avalanche/own-1 is part of a larger incident after 90 s (was down: connection refused)',
    ],
    [
      'removed from the configuration',
      messageOf([reportWith('connection refused', { ...OVER, recovered: false })], { type: 'incident.closed' }),
      'avalanche/own-1 is no longer monitored after 90 s (was down: connection refused)',
    ],
    [
      'removed before the message about its beginning was sent',
      messageOf([reportWith('connection refused', { ...OVER, recovered: false })], {
        type: 'incident.closed',
        saysBoth: true,
      }),
      'avalanche/own-1 was down for 90 s, from 2026-01-01 00:00:00 UTC to 2026-01-01 00:01:30 UTC, and is no longer monitored: connection refused',
    ],
    [
      'flapping',
      messageOf([reportWith('connection refused', { flapping: true, flaps: 2 })]),
      `avalanche/own-1 is flapping (failed 3 times), down since 2026-01-01 00:00:00 UTC: connection refused. ${OTHERS}`,
    ],
    [
      'flapping, and up again before the message was sent',
      messageOf([reportWith('connection refused', { flapping: true, flaps: 2, recovered: true })]),
      `avalanche/own-1 is flapping (failed 3 times) since 2026-01-01 00:00:00 UTC, up at the moment (was down: connection refused). ${OTHERS}`,
    ],
    [
      'a group',
      messageOf([reportWith('x'), reportWith('x', { id: 'b', endpoint: 'own-2' })]),
      '2 incidents opened: avalanche/own-1, avalanche/own-2',
    ],
  ])('%s', (_name, message, line) => {
    expect(lineOf(message)).toBe(line)
  })
})
