import { createHash } from 'node:crypto'
import { lastedMs } from '../../core/incident/bad-time.ts'
import { type Incident, mainConditions, subjectOf } from '../../core/incident/incident.ts'
import type { Note } from '../../core/incident/note.ts'
import { time, type UnixMs } from '../../core/time.ts'
import { sentenceOf } from '../incident-views.ts'
import { sendKnown, tagOf } from '../negotiation.ts'
import { span, stamp } from '../plain-text.ts'
import { type App, NOT_MODIFIED, operation, problem, type RouteDeps, text } from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { escaped } from '../template-text.ts'
import type { Audience } from '../wire/status.ts'
import { notesFor } from './note-routes.ts'
import { kindOf } from './post-mortem.ts'

const ENTRIES = 50

/** `GET /feed.xml`: the newest incidents, for feed readers. */
export function registerFeed(app: App, { scopes, store, clock, publicUrl, title }: FeedDeps): void {
  const startedAt = clock.now()
  const route = operation({
    visibility: 'public',
    summary: 'The newest 50 incidents as an Atom feed',
    answers: {
      200: text('Atom 1.0 (RFC 4287), with an `ETag`', 'application/atom+xml'),
      304: NOT_MODIFIED,
      503: problem('The incidents cannot be read now'),
    },
  })
  app.get('/feed.xml', route, async (request, reply) => {
    const { incidents } = await scopes[request.audience].source.list({ limit: ENTRIES })
    const ids = incidents.map(({ id }) => id)
    const notes = await notesFor(store, ids, request.audience)
    // A reader asks at one address, and takes feeds with the same id for one.
    const base = publicUrl()
    const address = base ?? request.host
    const body = renderFeed(incidents, { address, base, title, notes, audience: request.audience, startedAt })
    return sendKnown(request, reply, tagOf(body)) ?? reply.type('application/atom+xml; charset=utf-8').send(body)
  })
}

/** Renders an Atom 1.0 feed (RFC 4287). Without incidents, `startedAt` is its update time. */
export function renderFeed(
  incidents: readonly Incident[],
  { address, base, title, notes, audience, startedAt }: FeedOptions,
): string {
  // Relative links work behind any proxy, also behind one that changes `Host`.
  const link = (path: string) => xmlText(base === null ? path : new URL(path, `${base}/`).href)
  const updated = incidents.reduce((latest, incident) => Math.max(latest, updatedAt(incident, notes)), 0)
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en">',
    `<id>${permanentId(`feed ${address}`)}</id>`,
    `<title>${xmlText(title)}: incidents</title>`,
    '<subtitle>Incidents of the blockchain nodes monitored here</subtitle>',
    `<updated>${time(incidents.length === 0 ? startedAt : updated)}</updated>`,
    `<author><name>${xmlText(title)}</name></author>`,
    `<link rel="self" type="application/atom+xml" href="${link('feed.xml')}"/>`,
    `<link rel="alternate" type="text/html" href="${link('./')}"/>`,
    ...incidents.map((incident) => entry(incident, notes, audience, link)),
    '</feed>',
    '',
  ].join('\n')
}

interface FeedDeps extends Pick<RouteDeps, 'store' | 'clock'> {
  readonly scopes: Scopes
  readonly publicUrl: () => string | null
  readonly title: string
}

interface FeedOptions {
  readonly address: string
  /** What links begin with; `null`: they are relative. */
  readonly base: string | null
  readonly title: string
  /** Of all these incidents, as the audience may see them. */
  readonly notes: readonly Note[]
  readonly audience: Audience
  readonly startedAt: UnixMs
}

function entry(incident: Incident, notes: readonly Note[], audience: Audience, link: (path: string) => string): string {
  const { id, network, conditions, openedAt, plannedUntil = null } = incident
  const path = `incidents/${encodeURIComponent(id.toWellFormed())}`
  const summary = conditions.map((condition) => {
    const { code, since, until } = condition
    const end = until === null ? `since ${stamp(since)}` : `from ${stamp(since)} to ${stamp(until)}`
    return `${code}: ${sentenceOf(incident, condition, audience)}, ${end} UTC`
  })
  if (plannedUntil !== null) summary.push(`planned maintenance until ${stamp(plannedUntil)} UTC`)
  if (incident.flapping)
    summary.push(`flapping: recovered and failed again ${incident.flaps} times, including earlier related incidents`)
  for (const { at, text } of notesOf(incident, notes)) summary.push(`note of ${stamp(at)} UTC: ${text}`)
  return [
    '<entry>',
    `<id>${permanentId(`incident ${id}`)}</id>`,
    `<title>${xmlText(titleOf(incident, audience))}</title>`,
    `<published>${time(openedAt)}</published>`,
    `<updated>${time(updatedAt(incident, notes))}</updated>`,
    `<link rel="alternate" type="text/html" href="${link(path)}"/>`,
    `<link rel="related" type="text/plain" href="${link(`api/v1/${path}.txt`)}"/>`,
    `<category term="${xmlText(network)}"/>`,
    `<category term="${xmlText(kindOf(incident))}"/>`,
    `<summary>${xmlText(summary.join('\n'))}</summary>`,
    '</entry>',
  ].join('\n')
}

/** `avalanche/own-1 down: 12 blocks behind (closed after 12 min)`. */
function titleOf(incident: Incident, audience: Audience): string {
  const { closedAt } = incident
  const [main] = mainConditions(incident)
  const why = main === undefined ? '' : `: ${sentenceOf(incident, main, audience)}`
  const until = closedAt === null ? 'open' : `closed after ${span(lastedMs(incident, closedAt))}`
  return `${subjectOf(incident)} ${kindOf(incident)}${why} (${until})`
}

function notesOf({ id }: Incident, notes: readonly Note[]): readonly Note[] {
  return notes.filter(({ incident }) => incident === id)
}

function updatedAt(incident: Incident, notes: readonly Note[]): UnixMs {
  const { confirmedAt, closedAt, changes, conditions } = incident
  const told = [...changes, ...notesOf(incident, notes)].map(({ at }) => at)
  const times = [closedAt ?? 0, ...told, ...conditions.map(({ until, since }) => until ?? since)]
  return Math.max(confirmedAt, ...times)
}

/** A UUID (RFC 9562, 5.8) derived from the name alone, because feed readers identify an entry by it forever. */
function permanentId(name: string): string {
  const bytes = createHash('sha256').update(`heartline ${name}`).digest().subarray(0, 16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return `urn:uuid:${[hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')}`
}

/** Escapes text and attribute values, and replaces characters that XML 1.0 (2.2) does not allow. */
function xmlText(text: string): string {
  return escaped(text).replace(/[^\t\n\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '\uFFFD')
}
