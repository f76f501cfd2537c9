import { blocks, count } from '../../../web/views/format.ts'
import { lastedMs, worstMs } from '../../core/incident/bad-time.ts'
import { countedFrom } from '../../core/incident/endpoint-incident.ts'
import {
  type Incident,
  type IncidentSample,
  mainConditions,
  sharedBy,
  subjectOf,
} from '../../core/incident/incident.ts'
import type { Note } from '../../core/incident/note.ts'
import type { MaintenancePeriod } from '../../core/maintenance.ts'
import { METACHAIN } from '../../core/network.ts'
import { humanDuration, type UnixMs } from '../../core/time.ts'
import { named } from '../../core/verdict/condition.ts'
import { sentenceOf } from '../incident-views.ts'
import { milliseconds, printable, type Stamp, span, stampIn, stamp as stampUtc, wrap } from '../plain-text.ts'
import type { RouteDeps } from '../route.ts'
import type { Audience } from '../wire/status.ts'
import { notesFor } from './note-routes.ts'
import {
  createFiguresReader,
  type EndpointFigures,
  figureLines,
  hasHistory,
  periodNotes,
  timelineLines,
} from './post-mortem-figures.ts'

/** Writes post-mortems of incidents, with figures from the store for readers with the token. */
export function createPostMortemWriter({ board, store, clock, log }: PostMortemWriterDeps) {
  const figuresOf = createFiguresReader({ board, store, log })

  function titleOf({ network, endpoint }: Incident): string | null {
    const known = board.network(network)?.standing.network
    if (known === undefined || endpoint === null) return known?.title ?? null
    const one = board.entry(network, endpoint)?.health.endpoint
    return one === undefined ? null : `${one.title} of ${known.title}`
  }

  return {
    async write(incident: Incident, audience: Audience, timeZone = 'UTC'): Promise<string> {
      const now = clock.now()
      const names = incident.endpoint === null ? incident.affected.slice(0, MOST_ENDPOINTS) : [incident.endpoint]
      const figures: EndpointFigures[] = []
      if (audience === 'private') for (const name of names) figures.push(await figuresOf(incident, name, now))
      const maintenance = board.maintenance().filter((period) => touches(period, incident, now))
      const notes = await notesFor(store, [incident.id], audience)
      const title = titleOf(incident)
      return renderPostMortem({ incident, notes, title, now, audience, figures, maintenance, timeZone })
    },
  }
}

export type PostMortemWriter = ReturnType<typeof createPostMortemWriter>

type PostMortemWriterDeps = Pick<RouteDeps, 'board' | 'store' | 'clock' | 'log'>

/** Each endpoint of a network-wide incident costs three queries. */
const MOST_ENDPOINTS = 100

function touches(period: MaintenancePeriod, incident: Incident, now: UnixMs): boolean {
  const { network, endpoint, affected, openedAt, closedAt } = incident
  const names = endpoint === null ? affected : [endpoint]
  const about = period.endpoints === null || period.endpoints.some((name) => names.includes(name))
  return period.network === network && about && period.from < (closedAt ?? now) && openedAt < period.until
}

/** Renders an incident as plain text in 78 columns, with its conditions, changes and measurements. Times are those of its time zone. */
export function renderPostMortem(written: PostMortem): string {
  const own = stampIn(written.timeZone)
  const of = { ...written, ...(own === null ? { stamp: stampUtc, timeZone: 'UTC' } : { stamp: own }) }
  const sections = [
    header(of),
    section('Conditions', conditions(of)),
    section('What happened', happened(of)),
    section('Before, during, after', ofAudience(of, figureLines)),
    section('Timeline', ofAudience(of, timelineLines)),
    section('Notes by people', writtenNotes(of)),
    section('Notes', notes(of)),
  ]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

export interface PostMortem {
  readonly incident: Incident
  /** Title of the network, and of the endpoint if there is one; `null` if it is no longer configured. */
  readonly title: string | null
  readonly now: UnixMs
  /** What people wrote, as the audience may see it. */
  readonly notes: readonly Note[]
  readonly audience: Audience
  /** One for the incident's endpoint, or for each endpoint affected by a network-wide incident. */
  readonly figures: readonly EndpointFigures[]
  /** Planned maintenance that overlaps the incident. */
  readonly maintenance: readonly MaintenancePeriod[]
  /** `UTC` or, for example, `Europe/Berlin`. */
  readonly timeZone: string
}

type Stamped = PostMortem & { readonly stamp: Stamp }

/** In one word: `down`, `degraded`, `halted` or `forked`. */
export function kindOf({ cause, state }: Pick<Incident, 'cause' | 'state'>): string {
  return cause === 'endpoint' || cause === 'outage' ? state : cause
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title.toUpperCase(), ...lines]
}

/** Figures are not for the public. */
function ofAudience(
  { audience, figures, stamp }: Stamped,
  lines: (all: readonly EndpointFigures[], stamp: Stamp) => string[],
) {
  return audience === 'public' ? [] : lines(figures, stamp)
}

function header({ incident, title, now, audience, timeZone, stamp }: Stamped): string[] {
  const { openedAt, plannedUntil = null, confirmedAt, closedAt, vantages = [] } = incident
  const subject = subjectOf(incident)
  const lasting = span(lastedMs(incident, now))
  const headline = wrap(`${subject} ${stateFor(incident, now, lasting)}${closedAt === null ? ' so far' : ''}`)
  const [main] = mainConditions(incident)
  const facts: [string, string][] = [
    ['What', what(incident)],
    ['Where', title === null ? subject : `${printable(title)} (${subject})`],
    ...(vantages.length === 0 ? [] : [['Seen from', vantages.join(', ')] as [string, string]]),
    ['Why', main === undefined ? 'unknown' : `${main.code}: ${printable(sentenceOf(incident, main, audience))}`],
    ['Began', `${stamp(openedAt)}, ${incident.endpoint === null ? 'first detected' : 'the first bad poll'}`],
    ...(plannedUntil === null ? [] : [['Planned', `maintenance until ${stamp(plannedUntil)}`] as [string, string]]),
    ['Confirmed', `${stamp(confirmedAt)}, ${humanDuration(Math.max(0, confirmedAt - countedFrom(incident)))} later`],
    ['Ended', closedAt === null ? 'not yet' : `${stamp(closedAt)}, ${ending(incident)}`],
    ['Lasted', closedAt === null ? `${lasting} until now` : lasting],
    ['Written', `${stamp(now)}; all times are ${timeZone}`],
    ['Incident', incident.id],
  ]
  const rule = '='.repeat(Math.max(...headline.map((line) => line.length)))
  return [...headline, rule, ...facts.flatMap(([label, text]) => wrap(text, label.padEnd(11), ' '.repeat(11)))]
}

function ending({ endpoint, changes, absorbedBy }: Incident): string {
  if (absorbedBy !== null) return 'part of a larger incident'
  if (changes.at(-1)?.state !== 'up') return 'no longer monitored'
  return endpoint === null ? 'resolved' : 'the first good poll'
}

/** `down for 2 min`, or `down for 2 min of 10 min` if not all of the incident was down. */
function stateFor(incident: Incident, now: UnixMs, lasting: string): string {
  const kind = kindOf(incident)
  const inState = span(worstMs(incident, now))
  return inState === lasting ? `${kind} for ${lasting}` : `${kind} for ${inState} of ${lasting}`
}

function what({ cause, state, affected, flapping, closedAt, provider, conditions: found }: Incident): string {
  const was = closedAt === null ? 'is' : 'was'
  switch (cause) {
    case 'endpoint':
      if (closedAt === null && !found.some((one) => one.until === null && one.state === state))
        return `The endpoint was ${state}${flapping ? ', and flapping' : ''}. It has not recovered yet.`
      return `The endpoint ${was} ${state === 'down' ? 'down' : `${state}, not down`}${flapping ? ', and flapping' : ''}.`
    case 'outage':
      return `Endpoints ${sharedBy(provider)} ${closedAt === null ? 'are' : 'were'} ${state} together. ${affectedCount(affected)}`
    case 'halted':
      return `The chain ${was} halted: no endpoint reported a new block. ${affectedCount(affected)}`
    case 'forked':
      return `The chain ${was} forked: the endpoints disagreed, and no branch had a majority. ${affectedCount(affected)}`
  }
}

function affectedCount(affected: readonly string[]): string {
  return `${count(affected.length)} ${affected.length === 1 ? 'endpoint was' : 'endpoints were'} affected.`
}

function conditions({ incident, now, audience, stamp }: Stamped): string[] {
  return incident.conditions.flatMap((condition) => {
    const { code, state, since, until } = condition
    const verdict = state === 'up' ? 'no change of state' : state
    const end = until === null ? `until now, ${span(now - since)}` : `to ${stamp(until)}, ${span(until - since)}`
    return [
      ...wrap(`${code} (${verdict}): ${printable(sentenceOf(incident, condition, audience))}`, '  ', '      '),
      `      from ${stamp(since)} ${end}`,
    ]
  })
}

/** Limits the output: a network-wide change has one sample per endpoint and shard. */
const MOST_SAMPLES = 20

function happened({ incident, audience, stamp }: Stamped): string[] {
  return incident.changes.flatMap(({ at, state, codes, samples }) => {
    const shown = audience === 'private' ? samples.slice(0, MOST_SAMPLES) : []
    const more = audience === 'private' ? samples.length - shown.length : 0
    const why = codes.length === 0 ? '' : `: ${codes.join(', ')}`
    return [
      ...wrap(`${state}${why}`, `  ${stamp(at)}  `, ' '.repeat(23)),
      ...shown.flatMap((sample) => wrap(sampleText(sample, incident.cause === 'halted'), '      ', '        ')),
      ...(more > 0 ? [`      and ${count(more)} more`] : []),
    ]
  })
}

function sampleText({ endpoint, shard, height, lagBlocks, latencyMs }: IncidentSample, isHalted: boolean): string {
  const where = shard === null ? endpoint : `${endpoint}, ${shard === METACHAIN ? 'metachain' : `shard ${shard}`}`
  const seen = height === null ? 'no height' : `height ${count(height)}`
  const at = isHalted ? ', at the last block' : ', at the head'
  const behind = lagBlocks === null ? '' : lagBlocks === 0 ? at : `, ${blocks(lagBlocks)} behind`
  // Without an answer, the height is the last known one and has no lag.
  if (latencyMs === null) return `${where}: no answer${height === null ? '' : `, last ${seen}`}`
  return `${where}: ${seen}${behind}, answered in ${milliseconds(latencyMs)}`
}

function writtenNotes({ notes, audience, stamp }: Stamped): string[] {
  return notes.flatMap(({ at, isPublic, text }) => {
    const label = audience === 'private' && isPublic ? '(public) ' : ''
    const [first = '', ...more] = text.split('\n').map(printable)
    const indent = ' '.repeat(23)
    return [...wrap(label + first, `  ${stamp(at)}  `, indent), ...more.flatMap((line) => wrap(line, indent))]
  })
}

function notes({ incident, audience, figures, maintenance, stamp }: Stamped): string[] {
  const { closedAt, flapping, flaps, absorbedBy, affected } = incident
  const notes: string[] = []
  if (closedAt === null) notes.push('The incident is still open; this is what is known so far.')
  if (flapping) {
    notes.push(
      `The endpoint was flapping: it recovered and failed again ${count(flaps)} times in a short time, including earlier related incidents. This counts as one incident, whose duration includes the good periods.`,
    )
  }
  if (absorbedBy !== null) {
    notes.push(`This is part of the network-wide incident ${absorbedBy}; lists show only that one.`)
  }
  if (incident.cause !== 'endpoint' && affected.length > 0)
    notes.push(`Affected endpoints: ${named(affected, MOST_ENDPOINTS)}.`)
  for (const { name, endpoints, from, until } of maintenance) {
    const about = endpoints === null ? 'the whole network' : endpoints.join(', ')
    notes.push(`Maintenance "${printable(name)}" of ${about} was planned from ${stamp(from)} to ${stamp(until)}.`)
  }
  for (const one of figures.filter(hasHistory)) notes.push(...periodNotes(one, stamp))
  if (audience === 'public') {
    notes.push('Sign in to see heights, lag, latency and error messages of the nodes.')
  } else {
    const unread = figures.filter((one) => !hasHistory(one)).map(({ endpoint }) => endpoint)
    const omitted = figures.length === 0 ? 0 : affected.length - figures.length
    if (figures.length === 0 || unread.length === figures.length) {
      notes.push('There is no history of that time: it is past its retention, or the store cannot be read now.')
    } else if (unread.length > 0) notes.push(`There is no history of that time for ${unread.join(', ')}.`)
    if (omitted > 0) notes.push(`Figures of ${count(omitted)} more affected endpoints are omitted.`)
    if (unread.length < figures.length) {
      notes.push(
        'Each row shows the last height, the largest lag in blocks, and the 50th percentile, 95th percentile and maximum of latency in that period. On a sharded chain, height and lag are those of the worst shard.',
      )
    }
    if (figures.some((one) => one.isSpread && hasHistory(one))) {
      notes.push(
        'Single polls of that time are no longer kept: its figures are those of whole steps of five minutes or an hour, and the times of a step are spread evenly over it.',
      )
    }
  }
  return notes.flatMap((text) => wrap(text, '  - ', '    '))
}
