import type { EndpointKey } from '../../core/endpoint.ts'
import { worstMs } from '../../core/incident/bad-time.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, time, timeOrNull, type UnixMs } from '../../core/time.ts'
import type { HistoryBucket } from '../../store/store.ts'
import type { IncidentSource } from '../incident-source.ts'
import { compressible, sendTagged, type TaggedJson, tagOf } from '../negotiation.ts'
import { type App, json, NOT_MODIFIED, NoQuery, operation, problem, type RouteDeps } from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { DaysView } from '../wire/history.ts'
import type { Audience } from '../wire/status.ts'
import { createKeptReading } from './kept-reading.ts'
import { knownSince, type StripParts, stripView } from './strip-views.ts'

/** `GET /api/v1/days`: the last 90 days of every endpoint, for bars as status pages have them. */
export function registerDays(app: App, days: DaySource): void {
  const route = operation({
    visibility: 'public',
    summary: 'The last 90 days of every endpoint, with the latest incidents; states only, updated every five minutes',
    query: NoQuery,
    answers: {
      200: json(DaysView, 'Strips with a cell for each day of UTC; the last one is not over yet. With an `ETag`'),
      304: NOT_MODIFIED,
      503: problem('The history cannot be read now'),
    },
  })
  app.get('/api/v1/days', route, async (request, reply) => {
    return sendTagged(request, reply, (await days.read())[request.audience])
  })
}

/** Reads the days of all endpoints, one after the other, and keeps them for all readers. */
export function createDaySource({ board, scopes, store, clock, log }: DaySourceDeps) {
  async function readAll(): Promise<Readonly<Record<Audience, Written>>> {
    const to = clock.now()
    const from = Math.floor(to / DAY_MS) * DAY_MS - (DAYS - 1) * DAY_MS
    const strips: DaysView['strips'] = []
    for (const { key, health } of board.networks().flatMap(({ endpoints }) => endpoints)) {
      const { network, name } = health.endpoint
      const row = await rowOf(key, Math.max(0, from), to)
      strips.push(stripView({ network, endpoint: name, row, recent: null, audience: 'public' }))
    }
    const span = { generated_at: time(to), from: time(from), to: time(to), step_seconds: DAY_MS / 1000 }
    const write = async (audience: Audience): Promise<Written> => {
      const { shows, source } = scopes[audience]
      const incidents = await incidentsSince(from, to, source)
      const view = { ...span, strips: strips.filter(({ network }) => shows(network)), incidents }
      const body = JSON.stringify(view)
      return { view, body: compressible(body), etag: tagOf(body) }
    }
    return { private: await write('private'), public: await write('public') }
  }

  async function rowOf(endpoint: EndpointKey, from: UnixMs, to: UnixMs): Promise<StripParts['row']> {
    const buckets = await store.history({ endpoint, from, to, stepMs: DAY_MS })
    const first = buckets.findIndex(isKnown)
    // On the oldest day shown, unknown time is a gap: what was before is not known.
    const knownFrom = first < 1 ? 0 : await firstKnownOf(endpoint, buckets[first], to)
    return buckets.map((bucket, at) => (first === -1 || at < first ? 'before' : knownSince(bucket, knownFrom)))
  }

  /** When the first known day begins: at its first poll, rather than at midnight. */
  async function firstKnownOf(endpoint: EndpointKey, day: HistoryBucket | undefined, to: UnixMs): Promise<UnixMs> {
    if (day === undefined || day.unknownMs === 0) return 0
    const end = Math.min(to, day.start + DAY_MS)
    const hours = await store.history({ endpoint, from: day.start, to: end, stepMs: HOUR_MS })
    const hour = hours.find(isKnown)
    if (hour === undefined) return 0
    const until = Math.min(to, hour.start + HOUR_MS)
    const parts = await store.history({ endpoint, from: hour.start, to: until, stepMs: PART_MS })
    const part = parts.find(isKnown)
    // Of old days only hours are kept, whose times are spread evenly over their parts.
    const { start, unknownMs } = part === undefined || isSpread(parts) ? hour : part
    return start + unknownMs
  }

  async function incidentsSince(from: UnixMs, to: UnixMs, source: IncidentSource): Promise<DaysView['incidents']> {
    const { incidents } = await source.list({ limit: MOST_INCIDENTS })
    return incidents
      .filter(({ closedAt }) => closedAt === null || closedAt > from)
      .map((incident) => {
        const { id, network, endpoint, cause, affected, state, openedAt, closedAt } = incident
        return {
          id,
          network,
          endpoint,
          cause,
          state,
          state_seconds: Math.round(worstMs(incident, to) / 1000),
          affected: [...affected],
          opened_at: time(openedAt),
          closed_at: timeOrNull(closedAt),
        }
      })
  }

  const kept = createKeptReading({ what: 'days', read: readAll, everyMs: READ_EVERY_MS, clock, log })
  return {
    read: kept.current,
    /** The last days read; `null` if they are too old. Starts a new read if one is due. */
    latest: (audience: Audience): DaysView | null => kept.latest()?.[audience].view ?? null,
  }
}

export type DaySource = ReturnType<typeof createDaySource>

interface DaySourceDeps extends Pick<RouteDeps, 'board' | 'store' | 'clock' | 'log'> {
  readonly scopes: Scopes
}

const isKnown = ({ upMs, degradedMs, downMs }: HistoryBucket) => upMs + degradedMs + downMs > 0

function isSpread(parts: readonly HistoryBucket[]): boolean {
  const least = Math.min(...parts.map(({ unknownMs }) => unknownMs))
  return parts.every(({ unknownMs }) => unknownMs - least <= 1)
}

interface Written extends TaggedJson {
  readonly view: DaysView
}

const DAYS = 90
const PART_MS = 5 * MINUTE_MS
const READ_EVERY_MS = 300_000
const MOST_INCIDENTS = 300
