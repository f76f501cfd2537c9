import type { NotifyRoute } from '../../src/config/resolve-notify.ts'
import { type Message, type Report, reportOf } from '../../src/notify/notification.ts'
import { condition, incident, START } from '../support/incident.ts'

/** What hostile nodes put into their messages. */
export const HOSTILE =
  '<!channel> <@U1|x> @everyone @here [link](https://evil.example/?a=1) **bold** _it_ `code` ~no~ ||spoiler|| # head\r\nBcc: victim@example.org\r\n\r\n<script>alert(1)</script> & "q" \u202egnp.exe\u202c \u200b\u0000\u001b[31m /start'

export const OTHERS = 'All 2 other endpoints of avalanche are up.'

export function reportWith(message: string, over: Partial<Report> = {}): Report {
  const open = incident({ conditions: [condition({ message })] })
  const others = over.closedAt == null ? OTHERS : ''
  return { ...reportOf(open, null, others), ...over }
}

export function messageOf(reports: readonly Report[], over: Partial<Message> = {}): Message {
  return {
    id: 'msg_1',
    type: 'incident.opened',
    subject: reports[0]?.id ?? 'self',
    createdAt: START + 10_000,
    sentAt: START + 12_000,
    attempts: 0,
    saysBoth: false,
    text: '',
    reports,
    ...over,
  }
}

/** A message of a daemon with the id `fra.host-1.8080` whose gateway has no endpoint for `avalanche`. */
export function gatewayMessage(text: string, over: Partial<Message> = {}): Message {
  const subject = `${START.toString(36)}-avalanche-gateway.fra.host-1.8080`
  return messageOf([], { type: 'heartline.impaired', subject, text, ...over })
}

export const route = (over: Partial<NotifyRoute>): NotifyRoute => ({
  networks: null,
  endpoints: null,
  providers: null,
  conditions: null,
  states: null,
  gateway: false,
  channels: [],
  continues: false,
  quiet: null,
  quietPasses: 'none',
  ...over,
})
