import { lastedMs } from '../core/incident/bad-time.ts'
import { type IncidentCondition, mainConditions, subjectOf } from '../core/incident/incident.ts'
import { humanDuration, time, type UnixMs } from '../core/time.ts'
import { named } from '../core/verdict/condition.ts'
import { RUNBOOK_OF } from '../core/verdict/runbook.ts'
import { isClosing, type Message, type MessageType, type Report } from './notification.ts'

/** Puts a message into words, once for all channels, which only escape, lay out and cut it. */
export function say(message: Message, publicUrl: string | null): Said {
  const { id, type, subject, sentAt, createdAt, saysBoth } = message
  const items = message.reports.map((report) => itemOf(report, type, saysBoth, publicUrl))
  const [first] = items
  const headline = first === undefined ? plain(message.text) : items.length === 1 ? withOthers(first) : groupLine(items)
  const late =
    sentAt - createdAt >= LATE_MS ? ` (${lateWord(type)} ${clockTime(createdAt)}, sent ${clockTime(sentAt)})` : ''
  const severity = severityOf(type, message.reports)
  return { id, type, isOver: isClosing(type), subject, createdAt, sentAt, severity, text: headline + late, items }
}

/** A message in words, without any markup. */
export interface Said {
  /** The same for every attempt. */
  readonly id: string
  readonly type: MessageType
  /** Whether it says that something ended. */
  readonly isOver: boolean
  /** Id of the first incident. */
  readonly subject: string
  /** When what it says happened, or was found. */
  readonly createdAt: UnixMs
  readonly sentAt: UnixMs
  readonly severity: 'critical' | 'warning' | 'ok' | 'info'
  /** One line that names network and endpoint. */
  readonly text: string
  /** One for each incident; none for messages about Heartline itself. */
  readonly items: readonly SaidItem[]
}

export interface SaidItem {
  readonly report: Report
  /** The first condition that gives the incident its state. */
  readonly code: IncidentCondition['code']
  readonly headline: string
  /** Conditions in their sentences. */
  readonly details: readonly string[]
  /** What the other endpoints see: whether the node is at fault, or the chain. Once it has ended: who of an outage is left. */
  readonly others: string
  /** The incident's page; `null` without a public URL. */
  readonly url: string | null
  readonly runbookUrl: string | null
}

const LATE_MS = 120_000
const MOST_NAMED = 10
const MOST_REASONS = 3

function itemOf(report: Report, type: MessageType, saysBoth: boolean, publicUrl: string | null): SaidItem {
  const { id, cause } = report
  const told = conditionsOf(report)
  const code = told[0]?.code ?? 'unreachable'
  const runbook = cause === 'forked' ? 'HeartlineNetworkForked' : RUNBOOK_OF[code]
  return {
    report,
    code,
    headline: headlineOf(report, type, saysBoth),
    details: [...new Set(told.map(({ code: of, message }) => `${of}: ${plain(message)}`))],
    others: plain(report.others),
    url: publicUrl === null ? null : `${publicUrl}/incidents/${encodeURIComponent(id)}`,
    runbookUrl: publicUrl === null ? null : `${publicUrl}/runbooks/${runbook}`,
  }
}

/** Says in the first line whether it is the node or the chain. */
function withOthers({ report, headline, others }: SaidItem): string {
  return others === '' || isNamed(report) ? headline : `${headline.replace(/\.$/, '')}. ${others}`
}

/** The first line about an outage names its endpoints already. */
function isNamed({ cause, closedAt }: Report): boolean {
  return cause === 'outage' && closedAt === null
}

/** The conditions that hold, or those that an incident had until it closed; first those that give it its state. */
function conditionsOf(report: Report): readonly IncidentCondition[] {
  const { conditions, closedAt, state } = report
  const open = conditions.filter(({ until }) => until === null)
  const told = closedAt === null && open.length > 0 ? open : conditions
  const main = mainConditions({ conditions: told, state })
  return [...main, ...told.filter((condition) => !main.includes(condition))]
}

/** The sentences of the conditions that give the incident its state. */
function reasonOf(report: Report): string {
  const main = mainConditions({ conditions: conditionsOf(report), state: report.state })
  const sentences = main.map(({ message }) => plain(message))
  const distinct = [...new Set(sentences)].filter((sentence) => sentence !== '')
  return distinct.slice(0, MOST_REASONS).join('; ')
}

function headlineOf(report: Report, type: MessageType, saysBoth: boolean): string {
  const { cause, state, previous, openedAt, closedAt, flapping, flaps, recovered } = report
  const name = subjectOf(report)
  const reason = reasonOf(report)
  const because = reason === '' ? '' : `: ${reason}`
  const since = `since ${dateTime(openedAt)}${planned(report)}`
  const unhealthy = `; unhealthy ${since}`
  // It began in another state.
  const soFar = report.reached.length > 1 ? unhealthy : ` ${since}`
  const lasted = humanDuration(lastedMs(report, openedAt))
  const [be, was] = cause === 'outage' ? ['are', 'were'] : ['is', 'was']
  const flappingNow = `${be} flapping (failed ${flaps + 1} times)`
  const is = flapping ? `${flappingNow}, ${state}` : `${be} ${stateWord(report)}`
  switch (type) {
    case 'incident.opened':
      return flapping && recovered && closedAt === null
        ? `${name} ${flappingNow} ${since}, up at the moment (${was} ${state}${because})`
        : `${name} ${is}${soFar}${because}`
    case 'incident.worse':
      return `${name} got worse, ${previous ?? 'up'} to ${state}${unhealthy}${because}`
    case 'incident.better':
      return `${name} improved, ${previous ?? 'down'} to ${state}${unhealthy}${because}`
    case 'incident.repeated':
      return `${name} ${be} still ${stateWord(report)}${soFar}${because}`
    case 'incident.closed':
      return saysBoth
        ? `${name} ${was} ${stateWord(report)} for ${lasted}, from ${dateTime(openedAt)} to ${dateTime(closedAt ?? openedAt)}${planned(report)}, and ${endWords(report)}${because}`
        : `${name} ${endWords(report)} after ${lasted}${afterPlanned(report)} (${was} ${stateWord(report)}${because})`
    case 'heartline.impaired':
    case 'heartline.recovered':
    case 'test':
      return `${name} ${is}`
  }
}

function planned({ plannedUntil = null }: Report): string {
  return plannedUntil === null ? '' : ` (planned maintenance until ${dateTime(plannedUntil)})`
}

function afterPlanned({ plannedUntil = null }: Report): string {
  return plannedUntil === null ? '' : ` since planned maintenance ended at ${dateTime(plannedUntil)}`
}

function endWords({ cause, recovered, absorbedBy, others }: Report): string {
  const [be, have] = cause === 'outage' ? ['are', 'have'] : ['is', 'has']
  if (absorbedBy !== null) return `${be} part of a larger incident`
  if (cause === 'outage' && others !== '') return 'are no longer one outage'
  return recovered ? `${have} recovered` : `${be} no longer monitored`
}

function stateWord({ cause, state }: Report): string {
  switch (cause) {
    case 'endpoint':
    case 'outage':
      return state
    case 'halted':
    case 'forked':
      return cause
  }
}

function groupLine(items: readonly SaidItem[]): string {
  const names = items.map(({ report }) => subjectOf(report))
  return `${items.length} incidents opened: ${named(names, MOST_NAMED)}`
}

function severityOf(type: MessageType, reports: readonly Report[]): Said['severity'] {
  switch (type) {
    case 'incident.closed':
      return reports.every(({ recovered, others }) => recovered && others === '') ? 'ok' : 'info'
    case 'heartline.recovered':
      return 'ok'
    case 'test':
      return 'info'
    case 'heartline.impaired':
      return 'critical'
    case 'incident.opened':
    case 'incident.worse':
    case 'incident.better':
    case 'incident.repeated':
      return reports.some(({ state, endpoint }) => state === 'down' || endpoint === null) ? 'critical' : 'warning'
  }
}

function lateWord(type: MessageType): string {
  return type === 'incident.opened' ? 'opened' : type === 'incident.closed' ? 'closed' : 'from'
}

/**
 * Control characters, line ends, and marks that hide or reorder text: what nodes say is one visible line. Half a surrogate
 * pair is no text either: strict JSON parsers would reject the whole message.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]+/gu

/** One line of visible text, whatever a node sent. */
export function plain(text: string): string {
  return text.replace(UNPRINTABLE, ' ').trim()
}

/** At most `max` UTF-16 units, never half a character. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text
  const end = max - 1
  const code = text.charCodeAt(end - 1)
  return `${text.slice(0, code >= 0xd800 && code < 0xdc00 ? end - 1 : end)}…`
}

/** The lines that fit into `max` characters, and how many items were left out. */
export function cutLines(lines: readonly string[], max: number): string {
  const kept: string[] = []
  let length = 0
  for (const [at, line] of lines.entries()) {
    const rest = `… and ${lines.length - at} more`
    if (length + line.length + 1 + rest.length > max) {
      if (at === 0) return cut(line, max)
      return [...kept, rest].join('\n')
    }
    kept.push(line)
    length += line.length + 1
  }
  return kept.join('\n')
}

/** The links of a message that may have only a few: those of its first incident. */
export function linksOf({ items: [first] }: Said): readonly Link[] {
  return first === undefined ? [] : linksOfItem(first)
}

export function linksOfItem({ url, runbookUrl }: SaidItem): readonly Link[] {
  return [
    ...(url === null ? [] : [{ name: 'Incident', url }]),
    ...(runbookUrl === null ? [] : [{ name: 'Runbook', url: runbookUrl }]),
  ]
}

export interface Link {
  readonly name: string
  readonly url: string
}

/** Where a service has no colours of its own. */
export const ICONS: Readonly<Record<Said['severity'], string>> = { critical: '🔴', warning: '🟠', ok: '🟢', info: '🔵' }

/** All lines of a message below its first one. */
export function linesOf({ items }: Said): readonly string[] {
  const isAlone = items.length === 1
  return items.flatMap(({ report, headline, details, others }) => [
    ...(isAlone ? [] : [headline]),
    ...details,
    ...(others === '' || (isAlone && !isNamed(report)) ? [] : [others]),
  ])
}

export function dateTime(at: UnixMs): string {
  return `${time(at).slice(0, 19).replace('T', ' ')} UTC`
}

function clockTime(at: UnixMs): string {
  return `${time(at).slice(11, 16)} UTC`
}
