import { time } from '../../core/time.ts'
import type { Verdict } from '../../core/verdict/condition.ts'
import type { Secret } from '../../secret.ts'
import type { ChannelType, HttpRequest } from '../channel.ts'
import { type MessageType, ownSubjectOf, type Report } from '../notification.ts'
import { cut, plain, type Said } from '../wording.ts'

/** While an alert is open it is sent every minute, and ends by itself if Heartline no longer sends it. */
const KEEP_ALIVE_MS = 60_000
const ENDS_AFTER_MS = 5 * KEEP_ALIVE_MS

/** Alerts for Prometheus' Alertmanager (API v2), every one to every instance. */
export const alertmanager: ChannelType<'alertmanager'> = {
  groups: false,
  render: (said, { urls }) => toEach(urls, alertsOf(said)),
  keepAlive: {
    everyMs: KEEP_ALIVE_MS,
    render: (open, { urls }) => toEach(urls, open.flatMap(alertsOf)),
  },
}

function toEach(urls: readonly Secret[], alerts: readonly Alert[]): readonly HttpRequest[] {
  const body = JSON.stringify(alerts)
  return urls.map((url) => ({ url, path: '/api/v2/alerts', headers: {}, body }))
}

interface Alert {
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
  readonly startsAt: string
  readonly endsAt: string
  readonly generatorURL?: string
}

function alertsOf(said: Said): Alert[] {
  const { type, items, sentAt, text, subject } = said
  if (items.length === 0) return ownAlerts(type, subject, text, sentAt)
  return items.flatMap(({ report, headline, details, others, url, runbookUrl }): Alert[] => {
    const annotations = {
      summary: cut(headline, MAX_TEXT),
      description: cut([...details, others].filter(Boolean).join('\n'), MAX_TEXT),
      ...(runbookUrl === null ? {} : { runbook_url: runbookUrl }),
    }
    const alert = (state: Verdict, endsAt: number): Alert => ({
      labels: labelsOf(report, state),
      annotations,
      startsAt: time(report.openedAt),
      endsAt: time(Math.max(endsAt, report.openedAt)),
      ...(url === null ? {} : { generatorURL: url }),
    })
    if (type === 'incident.closed') return report.reached.map((state) => alert(state, report.closedAt ?? sentAt))
    const hasChanged = type === 'incident.worse' || type === 'incident.better'
    // The alert of the other state ends, because only one of both can be true.
    const ended = hasChanged ? report.reached.filter((state) => state !== report.state) : []
    return [...ended.map((state) => alert(state, sentAt)), alert(report.state, sentAt + ENDS_AFTER_MS)]
  })
}

/** Alertmanager refuses a request of more than some megabytes; a sentence is far shorter. */
const MAX_TEXT = 2000

function labelsOf(report: Report, state: Verdict): Record<string, string> {
  const { id, network, endpoint, cause } = report
  const alertname = alertName(report, state)
  const severity = endpoint === null || state === 'down' ? 'critical' : 'warning'
  // Several hosts or providers of a network may fail at the same time: without the id they would be one alert.
  const place = cause === 'outage' ? { incident: id } : endpoint === null ? {} : { endpoint }
  return { alertname, network, ...place, severity }
}

function alertName({ cause }: Report, state: Verdict): string {
  switch (cause) {
    case 'endpoint':
    case 'outage':
      return state === 'down' ? 'HeartlineEndpointDown' : 'HeartlineEndpointDegraded'
    case 'halted':
      return 'HeartlineNetworkHalted'
    case 'forked':
      return 'HeartlineNetworkForked'
  }
}

function ownAlerts(type: MessageType, subject: string, text: string, sentAt: number): Alert[] {
  if (type === 'test') {
    const labels = { alertname: 'HeartlineTest', severity: 'info' }
    const at = time(sentAt)
    return [{ labels, annotations: { summary: plain(text) }, startsAt: at, endsAt: at }]
  }
  const { at, network, member } = ownSubjectOf(subject) ?? { at: sentAt, network: null, member: null }
  const endsAt = type === 'heartline.recovered' ? sentAt : sentAt + ENDS_AFTER_MS
  return [
    {
      labels: {
        alertname: 'HeartlineImpaired',
        ...(network === null ? {} : { network }),
        // Without it, the end of one daemon's trouble would resolve that of another one.
        ...(member === null ? {} : { member }),
        severity: 'critical',
      },
      annotations: { summary: plain(text) },
      startsAt: time(Math.min(at, sentAt)),
      endsAt: time(endsAt),
    },
  ]
}
