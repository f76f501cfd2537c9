import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import type { HistoryBucket } from '../store/store.ts'
import { milliseconds, number, type Stamp, span, table, wrap } from './plain-text.ts'

/** The history of one endpoint; a bucket is `null` if its period does not exist yet or could not be read. */
export interface EndpointFigures {
  readonly endpoint: string
  readonly before: HistoryBucket | null
  readonly during: HistoryBucket | null
  readonly after: HistoryBucket | null
  /** Empty for network-wide incidents. */
  readonly timeline: readonly HistoryBucket[]
  readonly stepMs: number
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
    height === null ? '-' : number(height),
    lagBlocksMax === null ? '-' : number(lagBlocksMax),
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
        const next = buckets.findIndex((one, later) => later > at && !isEmpty(one))
        const until = buckets[next]?.start ?? bucket.start + (buckets.length - at) * stepMs
        return [[stamp(bucket.start).slice(5), '-', '-', '-', '-', `unknown until ${stamp(until).slice(11)}`]]
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
