import { count } from '../../../web/views/format.ts'
import { endpointKey } from '../../core/endpoint.ts'
import type { Incident } from '../../core/incident/incident.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, type UnixMs } from '../../core/time.ts'
import type { State } from '../../core/verdict/condition.ts'
import type { HistoryBucket } from '../../store/store.ts'
import { milliseconds, type Stamp, span, table, wrap } from '../plain-text.ts'
import type { RouteDeps } from '../route.ts'

/** Reads the history of an endpoint before, during and after an incident. */
export function createFiguresReader({ board, store, log }: Pick<RouteDeps, 'board' | 'store' | 'log'>) {
  async function historyOf(
    endpoint: string,
    from: UnixMs,
    to: UnixMs,
    stepMs: number,
  ): Promise<readonly HistoryBucket[]> {
    try {
      return await store.history({ endpoint, from, to, stepMs })
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'history could not be read')
      return []
    }
  }

  /** The whole range as one bucket; `null` if it is shorter than a second or cannot be read. */
  async function sumOf(endpoint: string, from: UnixMs, to: UnixMs): Promise<HistoryBucket | null> {
    return to - from < 1000 ? null : ((await historyOf(endpoint, from, to, to - from))[0] ?? null)
  }

  /** `Infinity` if no poll of the range is kept; its beginning if they cannot be read. */
  async function firstPollAt(endpoint: string, from: UnixMs, to: UnixMs): Promise<UnixMs> {
    try {
      const [first] = await store.polls({ endpoint, from, to, limit: 1 })
      return first?.at ?? Number.POSITIVE_INFINITY
    } catch {
      return from
    }
  }

  return async function figuresOf(incident: Incident, name: string, now: UnixMs): Promise<EndpointFigures> {
    const { network, openedAt, closedAt } = incident
    const endpoint = endpointKey({ network, name })
    const end = closedAt ?? now
    const marginMs = Math.min(LONGEST_MARGIN_MS, Math.max(SHORTEST_MARGIN_MS, end - openedAt))
    const [from, to] = [Math.max(0, openedAt - marginMs), closedAt === null ? now : Math.min(now, closedAt + marginMs)]
    // Steps shorter than two poll intervals would show false gaps.
    const intervalMs = board.entry(network, name)?.health.endpoint.intervalMs ?? 0
    const stepMs = stepFor(to - from, 2 * intervalMs)
    const [before, during, after, timeline, firstAt] = await Promise.all([
      sumOf(endpoint, from, openedAt),
      sumOf(endpoint, openedAt, end),
      sumOf(endpoint, end, to),
      incident.endpoint === null ? [] : historyOf(endpoint, Math.floor(from / stepMs) * stepMs, to, stepMs),
      firstPollAt(endpoint, from, to),
    ])
    // The endpoint may be newer than the range, but not than what is known from before the incident.
    const isSpread = firstAt === Number.POSITIVE_INFINITY || (firstAt > openedAt && (before?.polls ?? 0) > 0)
    return { endpoint: name, before, during, after, timeline, stepMs, isSpread }
  }
}

/** The figures cover as much time before and after as the incident lasted, within these limits. */
const SHORTEST_MARGIN_MS = 10 * MINUTE_MS
const LONGEST_MARGIN_MS = HOUR_MS
/** More lines are hard to read. */
const MOST_STEPS = 30
const STEPS_MS = [
  10_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR_MS),
]

function stepFor(rangeMs: number, atLeastMs: number): number {
  const step = STEPS_MS.find((ms) => ms >= atLeastMs && rangeMs / ms <= MOST_STEPS)
  return step ?? Math.ceil(Math.max(rangeMs / MOST_STEPS, atLeastMs) / DAY_MS) * DAY_MS
}

/** The history of one endpoint; a bucket is `null` if its period does not exist yet or could not be read. */
export interface EndpointFigures {
  readonly endpoint: string
  readonly before: HistoryBucket | null
  readonly during: HistoryBucket | null
  readonly after: HistoryBucket | null
  /** Empty for network-wide incidents. */
  readonly timeline: readonly HistoryBucket[]
  readonly stepMs: number
  /** Whether times within a bucket of the store are spread evenly, because its polls are gone. */
  readonly isSpread: boolean
}

/** Without stored polls, the time in state `unknown` says nothing about the endpoint. */
export function hasHistory({ before, during, after }: EndpointFigures): boolean {
  return [before, during, after].some((bucket) => bucket !== null && bucket.polls > 0)
}

/** Of each endpoint before, during and after the incident. */
export function figureLines(all: readonly EndpointFigures[]): string[] {
  return all.filter(hasHistory).flatMap((of) => {
    const rows = (['before', 'during', 'after'] as const).flatMap((when) => {
      const bucket = of[when]
      return bucket === null ? [] : [[when, ...cells(bucket)]]
    })
    const titles = ['', 'last height', 'behind', 'p50', 'p95', 'slowest']
    const durations = (['before', 'during', 'after'] as const).flatMap((when) => {
      const bucket = of[when]
      return bucket === null ? [] : wrap(`${when} ${statesOf(bucket)}`, '    time: ', '          ')
    })
    return [...wrap(of.endpoint, '  '), ...table([titles, ...rows], '    ', [1, 2, 3, 4, 5]), ...durations]
  })
}

function cells({ height, lagBlocksMax, latencyP50Ms, latencyP95Ms, latencyMaxMs }: HistoryBucket): string[] {
  return [
    height === null ? '-' : count(height),
    lagBlocksMax === null ? '-' : count(lagBlocksMax),
    ...[latencyP50Ms, latencyP95Ms, latencyMaxMs].map((ms) => (ms === null ? '-' : milliseconds(ms))),
  ]
}

const STATE_TIMES = [
  ['down', 'downMs'],
  ['degraded', 'degradedMs'],
  ['up', 'upMs'],
  ['maintenance', 'maintenanceMs'],
  ['unknown', 'unknownMs'],
] as const satisfies readonly (readonly [State, keyof HistoryBucket])[]

/** Less time in a state is a rounding error. */
const SHORTEST_MS = 500

function statesOf(bucket: HistoryBucket): string {
  return STATE_TIMES.filter(([, key]) => bucket[key] >= SHORTEST_MS)
    .map(([state, key]) => `${state} ${span(bucket[key])}`)
    .join(', ')
}

/** Step by step. */
export function timelineLines(all: readonly EndpointFigures[], stamp: Stamp): string[] {
  return all.filter(hasHistory).flatMap(({ endpoint, timeline: buckets, stepMs }) => {
    if (buckets.length === 0) return []
    const rows = buckets.flatMap((bucket, at) => {
      if (isEmpty(bucket)) {
        const previous = buckets[at - 1]
        if (previous !== undefined && isEmpty(previous)) return []
        const next = buckets.find((one, later) => later > at && !isEmpty(one))
        const until = next?.start ?? endOf(buckets.at(-1) ?? bucket)
        const isWithinDay = until - bucket.start < DAY_MS
        const end = isWithinDay ? `until ${stamp(until).slice(11)}` : `to ${stamp(until).slice(5, 16)}`
        return [[stamp(bucket.start).slice(5), '-', '-', '-', '-', `unknown ${end}`]]
      }
      const states = STATE_TIMES.filter(([, key]) => bucket[key] >= SHORTEST_MS).map(([state]) => state)
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

function isEmpty({ polls, upMs, degradedMs, downMs, maintenanceMs }: HistoryBucket): boolean {
  return polls === 0 && upMs + degradedMs + downMs + maintenanceMs < SHORTEST_MS
}

/** What the figures do not show. */
export function periodNotes({ endpoint, during, timeline, stepMs }: EndpointFigures, stamp: Stamp): string[] {
  if (during === null) return []
  const within = (key: 'unknownMs' | 'maintenanceMs') => {
    const touched = timeline.filter(
      (bucket) => bucket[key] >= SHORTEST_MS && bucket.start + stepMs > during.start && bucket.start < endOf(during),
    )
    const [first, last] = [touched[0], touched.at(-1)]
    return first === undefined || last === undefined
      ? ''
      : ` (between ${stamp(Math.max(first.start, during.start))} and ${stamp(Math.min(last.start + stepMs, endOf(during)))})`
  }
  const notes: string[] = []
  if (during.unknownMs >= SHORTEST_MS) {
    notes.push(
      `The state of ${endpoint} is unknown for ${span(during.unknownMs)} of it${within('unknownMs')}: Heartline was not running or could not judge. That time counts neither as good nor as bad.`,
    )
  }
  if (during.maintenanceMs >= SHORTEST_MS) {
    notes.push(
      `${span(during.maintenanceMs)} of it were planned maintenance of ${endpoint}${within('maintenanceMs')}, which counts neither as good nor as bad.`,
    )
  }
  return notes
}

function endOf(bucket: HistoryBucket): UnixMs {
  return bucket.start + STATE_TIMES.reduce((sum, [, key]) => sum + bucket[key], 0)
}
