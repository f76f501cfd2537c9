import type { Incident, IncidentCondition, IncidentSample } from '../core/incident/incident.ts'
import type { MaintenancePeriod } from '../core/maintenance.ts'
import { METACHAIN } from '../core/network.ts'
import { humanDuration, type UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import type { HistoryBucket } from '../store/store.ts'
import { sentenceOf } from './incident-views.ts'
import { blocks, milliseconds, number, printable, span, stamp, table, wrap } from './plain-text.ts'
import type { Audience } from './wire-status.ts'

/** What the history says of one endpoint; `null` where there is no such time (yet), or it could not be read. */
export interface EndpointFigures {
  readonly endpoint: string
  /** Each the sum of its whole stretch. */
  readonly before: HistoryBucket | null
  readonly during: HistoryBucket | null
  readonly after: HistoryBucket | null
  /** From before it to after it, in steps; empty where that would be too much to read. */
  readonly course: readonly HistoryBucket[]
  readonly stepMs: number
}

export interface PostMortem {
  readonly incident: Incident
  /** The incident as people call it: its network, and its endpoint if it has one; `null` where it is no longer configured. */
  readonly title: string | null
  /** When it is written. */
  readonly now: UnixMs
  readonly audience: Audience
  /** Of the endpoint, or of those that showed an incident of the whole network. */
  readonly figures: readonly EndpointFigures[]
  /** Planned maintenance that is known and touches it. */
  readonly maintenance: readonly MaintenancePeriod[]
}

/** An incident as a text for people, in 78 columns: what, who, when, how long, why, and what was measured. Times are UTC. */
export function renderPostMortem(of: PostMortem): string {
  const sections = [
    header(of),
    section('Conditions', conditions(of)),
    section('What happened', happened(of)),
    section('Before, during, after', figures(of)),
    section('Course', course(of)),
    section('To know', notes(of)),
  ]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

/** `avalanche/own-1`, or the network alone. */
export function subjectOf({ network, endpoint }: Pick<Incident, 'network' | 'endpoint'>): string {
  return endpoint === null ? network : `${network}/${endpoint}`
}

/** What it is called in a word: `down`, `degraded`, `halted`, `forked`. */
export function kindOf({ cause, state }: Pick<Incident, 'cause' | 'state'>): string {
  return cause === 'endpoint' ? state : cause
}

/** The reason that says the most: of the worst ones the first. */
export function mainCondition({ conditions, state }: Incident): IncidentCondition | null {
  return conditions.find((condition) => condition.state === state) ?? conditions[0] ?? null
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title.toUpperCase(), ...lines]
}

function header({ incident, title, now, audience }: PostMortem): string[] {
  const { openedAt, confirmedAt, closedAt } = incident
  const subject = subjectOf(incident)
  const lasting = span((closedAt ?? now) - openedAt)
  const headline = wrap(`${subject} ${kindOf(incident)} for ${lasting}${closedAt === null ? ' so far' : ''}`)
  const main = mainCondition(incident)
  const facts: [string, string][] = [
    ['What', what(incident)],
    ['Who', title === null ? subject : `${printable(title)} (${subject})`],
    ['Why', main === null ? 'not told' : `${main.code}: ${printable(sentenceOf(incident, main, audience))}`],
    ['Began', `${stamp(openedAt)}, ${incident.endpoint === null ? 'when it was first seen' : 'the first bad poll'}`],
    ['Confirmed', `${stamp(confirmedAt)}, ${humanDuration(Math.max(0, confirmedAt - openedAt))} later`],
    [
      'Ended',
      closedAt === null
        ? 'not yet'
        : `${stamp(closedAt)}, ${incident.endpoint === null ? 'when it was over' : 'the first good poll'}`,
    ],
    ['Lasted', closedAt === null ? `${lasting} until now` : lasting],
    ['Written', `${stamp(now)}; all times are UTC`],
    ['Incident', incident.id],
  ]
  const rule = '='.repeat(Math.max(...headline.map((line) => line.length)))
  return [...headline, rule, ...facts.flatMap(([label, text]) => wrap(text, label.padEnd(11), ' '.repeat(11)))]
}

function what({ cause, state, affected, flapping, flaps, closedAt }: Incident): string {
  const was = closedAt === null ? 'is' : 'was'
  switch (cause) {
    case 'endpoint':
      return `The endpoint ${was} ${state === 'down' ? 'down' : `${state}, not down`}${flapping ? `, well and ill again ${number(flaps)} times` : ''}.`
    case 'halted':
      return `The chain ${was} halted: no endpoint showed a new block. ${shownBy(affected)}`
    case 'forked':
      return `The chain ${was} forked: the endpoints disagreed, and no branch had the majority. ${shownBy(affected)}`
  }
}

function shownBy(affected: readonly string[]): string {
  return `${number(affected.length)} ${affected.length === 1 ? 'endpoint' : 'endpoints'} showed it.`
}

function conditions({ incident, now, audience }: PostMortem): string[] {
  return incident.conditions.flatMap((condition) => {
    const { code, state, since, until } = condition
    const verdict = state === 'up' ? 'no change of state' : state
    const end = until === null ? `on, ${span(now - since)} until now` : `to ${stamp(until)}, ${span(until - since)}`
    return [
      ...wrap(`${code} (${verdict}): ${printable(sentenceOf(incident, condition, audience))}`, '  ', '      '),
      `      from ${stamp(since)} ${end}`,
    ]
  })
}

/** A network-wide change has a sample of every endpoint and shard. */
const MOST_SAMPLES = 20

function happened({ incident, audience }: PostMortem): string[] {
  return incident.changes.flatMap(({ at, state, codes, samples }) => {
    const shown = audience === 'private' ? samples.slice(0, MOST_SAMPLES) : []
    const more = audience === 'private' ? samples.length - shown.length : 0
    const why = codes.length === 0 ? '' : `: ${codes.join(', ')}`
    return [
      ...wrap(`${state}${why}`, `  ${stamp(at)}  `, ' '.repeat(23)),
      ...shown.flatMap((sample) => wrap(sampleText(sample), '      ', '        ')),
      ...(more > 0 ? [`      and ${number(more)} more`] : []),
    ]
  })
}

function sampleText({ endpoint, shard, height, lagBlocks, latencyMs }: IncidentSample): string {
  const where = shard === null ? endpoint : `${endpoint}, ${shard === METACHAIN ? 'metachain' : `shard ${shard}`}`
  const seen = height === null ? 'no height' : `height ${number(height)}`
  const behind = lagBlocks === null ? '' : lagBlocks === 0 ? ', at the head' : `, ${blocks(lagBlocks)} behind`
  // Without an answer the height is the one that it had last, and its lag is nobody's.
  if (latencyMs === null) return `${where}: no answer${height === null ? '' : `, ${seen} was seen last`}`
  return `${where}: ${seen}${behind}, answered in ${milliseconds(latencyMs)}`
}

/** Whether anything at all can be read of an endpoint: where no poll is left, unknown time would say nothing of that time. */
function isRead({ before, during, after }: EndpointFigures): boolean {
  return [before, during, after].some((bucket) => bucket !== null && bucket.polls > 0)
}

function figures({ figures, audience }: PostMortem): string[] {
  if (audience === 'public') return []
  return figures.filter(isRead).flatMap((of) => {
    const rows = (['before', 'during', 'after'] as const).flatMap((when) => {
      const bucket = of[when]
      return bucket === null ? [] : [[when, ...cells(bucket)]]
    })
    const titles = ['', 'last height', 'behind', 'p50', 'p95', 'slowest']
    const stretches = (['before', 'during', 'after'] as const).flatMap((when) => {
      const bucket = of[when]
      return bucket === null ? [] : wrap(`${when} ${statesOf(bucket)}`, '    time: ', '          ')
    })
    return [...wrap(of.endpoint, '  '), ...table([titles, ...rows], '    ', [1, 2, 3, 4, 5]), ...stretches]
  })
}

function cells({ height, lagBlocksMax, latencyP50Ms, latencyP95Ms, latencyMaxMs }: HistoryBucket): string[] {
  return [
    height === null ? '-' : number(height),
    lagBlocksMax === null ? '-' : number(lagBlocksMax),
    ...[latencyP50Ms, latencyP95Ms, latencyMaxMs].map((ms) => (ms === null ? '-' : milliseconds(ms))),
  ]
}

const STRETCHES = [
  ['down', 'downMs'],
  ['degraded', 'degradedMs'],
  ['up', 'upMs'],
  ['maintenance', 'maintenanceMs'],
  ['unknown', 'unknownMs'],
] as const satisfies readonly (readonly [State, keyof HistoryBucket])[]

/** Less than a second of a state is rounding. */
const SHORTEST_MS = 500

function statesOf(bucket: HistoryBucket): string {
  return STRETCHES.filter(([, key]) => bucket[key] >= SHORTEST_MS)
    .map(([state, key]) => `${state} ${span(bucket[key])}`)
    .join(', ')
}

function course({ figures, audience }: PostMortem): string[] {
  if (audience === 'public') return []
  return figures.filter(isRead).flatMap(({ endpoint, course, stepMs }) => {
    if (course.length === 0) return []
    const rows = course.flatMap((bucket, at) => {
      if (isEmpty(bucket)) {
        const previous = course[at - 1]
        if (previous !== undefined && isEmpty(previous)) return []
        const next = course.findIndex((one, later) => later > at && !isEmpty(one))
        const until = course[next]?.start ?? bucket.start + (course.length - at) * stepMs
        return [[stamp(bucket.start).slice(5), '-', '-', '-', '-', `unknown until ${stamp(until).slice(11)}`]]
      }
      // The worst ones: more than two in one step find no room.
      const states = STRETCHES.filter(([, key]) => bucket[key] >= SHORTEST_MS).map(([state]) => state)
      const [height = '', lag = '', p50 = '', , slowest = ''] = cells(bucket)
      return [
        [
          stamp(bucket.start).slice(5),
          height,
          lag,
          p50,
          slowest,
          states.slice(0, 2).join(', ') + (states.length > 2 ? ' …' : ''),
        ],
      ]
    })
    const titles = ['from', 'height', 'behind', 'p50', 'slowest', 'state']
    return [...wrap(`${endpoint}, in steps of ${span(stepMs)}`, '  '), ...table([titles, ...rows], '  ', [1, 2, 3, 4])]
  })
}

/** Nothing was seen in it, and nothing was planned. */
function isEmpty({ polls, upMs, degradedMs, downMs, maintenanceMs }: HistoryBucket): boolean {
  return polls === 0 && upMs + degradedMs + downMs + maintenanceMs < SHORTEST_MS
}

function notes(of: PostMortem): string[] {
  const { incident, audience, figures, maintenance } = of
  const { closedAt, flapping, flaps, absorbedBy, affected } = incident
  const told: string[] = []
  if (closedAt === null) told.push('It is still open: what stands here is what is known so far.')
  if (flapping) {
    told.push(
      `It was flapping: ${number(flaps)} times in a short while it became well and ill again. That is told as one incident, not many, and its time includes the good stretches.`,
    )
  }
  if (absorbedBy !== null) {
    told.push(`It is a part of incident ${absorbedBy}, which is about the whole network; lists show that one alone.`)
  }
  if (incident.cause !== 'endpoint' && affected.length > 0)
    told.push(`Endpoints that showed it: ${affected.join(', ')}.`)
  for (const { name, endpoints, from, until } of maintenance) {
    const about = endpoints === null ? 'the whole network' : endpoints.join(', ')
    told.push(`Maintenance "${printable(name)}" of ${about} was planned from ${stamp(from)} to ${stamp(until)}.`)
  }
  for (const one of figures.filter(isRead)) told.push(...stretchNotes(one))
  if (audience === 'public') {
    told.push('Heights, lags, latencies and what the nodes said are told to holders of the token.')
  } else {
    const unread = figures.filter((one) => !isRead(one)).map(({ endpoint }) => endpoint)
    const untold = figures.length === 0 ? 0 : affected.length - figures.length
    if (figures.length === 0 || unread.length === figures.length) {
      told.push('No history of that time can be read: it is kept no longer, or the store cannot be read now.')
    } else if (unread.length > 0) told.push(`No history of that time can be read of ${unread.join(', ')}.`)
    if (untold > 0) told.push(`Of ${number(untold)} more endpoints that showed it no figures are given here.`)
    if (unread.length < figures.length) {
      told.push(
        'Figures are of that stretch of time: the last height seen, the most blocks behind, and the latency that half of the polls, 95 % of them, and all of them kept to. Of a sharded chain height and lag are those of the worst shard.',
      )
    }
  }
  return told.flatMap((text) => wrap(text, '  - ', '    '))
}

/** Time of which nobody can say how the node was, and time that does not count. */
function stretchNotes({ endpoint, during, course, stepMs }: EndpointFigures): string[] {
  if (during === null) return []
  const within = (key: 'unknownMs' | 'maintenanceMs') => {
    const touched = course.filter(
      (bucket) => bucket[key] >= SHORTEST_MS && bucket.start + stepMs > during.start && bucket.start < endOf(during),
    )
    const [first, last] = [touched[0], touched.at(-1)]
    return first === undefined || last === undefined
      ? ''
      : ` (between ${stamp(Math.max(first.start, during.start))} and ${stamp(Math.min(last.start + stepMs, endOf(during)))})`
  }
  const told: string[] = []
  if (during.unknownMs >= SHORTEST_MS) {
    told.push(
      `Nobody knows how ${endpoint} was for ${span(during.unknownMs)} of it${within('unknownMs')}: Heartline did not watch then, or could not judge. That counts neither as good nor as bad.`,
    )
  }
  if (during.maintenanceMs >= SHORTEST_MS) {
    told.push(
      `${span(during.maintenanceMs)} of it were planned maintenance of ${endpoint}${within('maintenanceMs')}, which counts neither as good nor as bad.`,
    )
  }
  return told
}

function endOf(bucket: HistoryBucket): UnixMs {
  return bucket.start + STRETCHES.reduce((sum, [, key]) => sum + bucket[key], 0)
}
