import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { withoutFirst } from '../../../web/views/charts/day-bars.ts'
import type { Endpoint, EndpointKey } from '../../core/endpoint.ts'
import { HOUR_MS, MINUTE_MS, time, type UnixMs } from '../../core/time.ts'
import type { HistoryQuery } from '../../store/store.ts'
import { compressible, sendTagged, type TaggedJson } from '../negotiation.ts'
import { countUpTo } from '../parameters.ts'
import { type App, json, NOT_MODIFIED, operation, problem, type RouteDeps } from '../route.ts'
import type { Scope } from '../scopes.ts'
import { StripsView, type StripView } from '../wire/history.ts'
import type { Audience } from '../wire/status.ts'
import { createKeptReading } from './kept-reading.ts'
import { CELL_MS, createKnownHistory, firstOfDay, type Past, STRIP_HOURS } from './known-history.ts'
import { knownSince, stripView } from './strip-views.ts'

/** `GET /api/v1/strips`: the last hours of every endpoint, in one response small enough for an overview. */
export function registerStrips(app: App, strips: StripSource): void {
  const route = operation({
    visibility: 'public',
    summary:
      'The last hours of every endpoint, small enough for an overview; updated once a minute. Cells have 15 minutes, or less while less than 8 hours are known',
    query: z.strictObject({ hours: countUpTo(STRIP_HOURS).optional().describe('How many hours; default 24') }),
    answers: {
      200: json(StripsView, 'One letter per cell, and its contents; the last cell is not over yet. With an `ETag`'),
      304: NOT_MODIFIED,
      503: problem('The history cannot be read now'),
    },
  })
  app.get('/api/v1/strips', route, async (request, reply) => {
    const read = await strips.read(request.audience, request.query.hours ?? STRIP_HOURS)
    return sendTagged(request, reply, read)
  })
}

/**
 * Reads the last day of every endpoint, once for all requests, in cells of 15 minutes. While less is known, strips are as
 * long as that, in shorter cells.
 */
export function createStripSource({ board, scopes, store, clock, log }: StripSourceDeps) {
  const origin = randomBytes(6).toString('base64url')
  const known = createKnownHistory(store)
  let planned = board.maintenance()
  let version = 0

  async function readAll(): Promise<Strips> {
    const to = clock.now()
    // Maintenance that is announced late changes the past.
    if (board.maintenance() !== planned) known.keep(new Map())
    planned = board.maintenance()
    const pasts = new Map<EndpointKey, Past>()
    for (const { endpoints, standing } of board.networks()) {
      const { failAfter, recoverAfter } = standing.network.thresholds
      for (const { key, health } of endpoints) {
        const confirmedMs = Math.max(failAfter, recoverAfter) * health.endpoint.intervalMs
        pasts.set(key, await known.read(key, to, confirmedMs))
      }
    }
    const span = spanOf([...pasts.values()], to)
    const written = new Map<EndpointKey, Written>()
    for (const { endpoints } of board.networks()) {
      for (const { key, health } of endpoints) {
        const past = pasts.get(key)
        if (past !== undefined) written.set(key, await writeOne(key, health.endpoint, past, span))
      }
    }
    known.keep(pasts)
    version++
    return { span, written, version, views: new Map(), documents: new Map() }
  }

  async function writeOne(
    endpoint: EndpointKey,
    { network, name }: Named,
    { cells, knownFrom }: Past,
    { from, to, stepMs }: StripSpan,
  ): Promise<Written> {
    const fine =
      stepMs === CELL_MS
        ? cells
        : new Map(
            (await store.history({ endpoint, from, to, stepMs })).map((bucket) => [bucket.start, bucket] as const),
          )
    const [recent = null] = await store.history({ endpoint, from: to - HOUR_MS, to, stepMs: HOUR_MS })
    const row = Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => {
      const start = from + at * stepMs
      if (knownFrom === null || start + stepMs <= knownFrom) return 'before'
      const cell = fine.get(start) ?? null
      return cell === null ? null : knownSince(cell, knownFrom)
    })
    const write = (audience: Audience) => {
      const view = stripView({ network, endpoint: name, row, recent, audience })
      return { view, text: JSON.stringify(view) }
    }
    return { private: write('private'), public: write('public') }
  }

  /** Strips of the endpoints configured now; a new endpoint has none until the next read. */
  function stripsFor(audience: Audience, { written }: Strips) {
    const all = scopes[audience].board.networks().flatMap(({ endpoints }) => endpoints)
    return all.flatMap(({ key }) => written.get(key)?.[audience] ?? [])
  }

  function viewOf(audience: Audience, of: Strips): StripsView {
    const known = of.views.get(audience)
    if (known !== undefined) return known
    const view = { ...spanView(of.span, STRIP_HOURS), strips: stripsFor(audience, of).map(({ view }) => view) }
    of.views.set(audience, view)
    return view
  }

  function bodyOf(audience: Audience, hours: number, of: Strips): string {
    const span = spanView(of.span, hours)
    const most = (hours * HOUR_MS) / 1000 / span.step_seconds
    const texts = stripsFor(audience, of).map(({ view, text }) =>
      view.states.length <= most ? text : JSON.stringify(withoutFirst(view, view.states.length - most)),
    )
    return `${JSON.stringify(span).slice(0, -1)},"strips":[${texts.join(',')}]}`
  }

  const kept = createKeptReading({ what: 'strips', read: readAll, everyMs: READ_EVERY_MS, clock, log })
  return {
    /** The last strips read; `null` if they are too old. Starts a new read if one is due. */
    latest(audience: Audience): StripsView | null {
      const strips = kept.latest()
      return strips === null ? null : viewOf(audience, strips)
    },

    /** Reads again if due; rejects if that fails and the last strips are too old. */
    async read(audience: Audience, hours: number): Promise<TaggedJson> {
      const strips = await kept.current()
      const name = `${audience}-${hours}`
      const document = strips.documents.get(name) ?? {
        body: compressible(bodyOf(audience, hours, strips)),
        etag: `"${origin}-${strips.version}-${name}"`,
      }
      strips.documents.set(name, document)
      return document
    },
  }
}

export type StripSource = ReturnType<typeof createStripSource>

interface StripSourceDeps extends Pick<RouteDeps, 'board' | 'store' | 'clock' | 'log'> {
  readonly scopes: Readonly<Record<Audience, Pick<Scope, 'board'>>>
}

/** By how much is known; all of them are at most 96 cells. */
const SHORT_CELLS = [
  { knownMs: HOUR_MS, stepMs: MINUTE_MS },
  { knownMs: 8 * HOUR_MS, stepMs: 5 * MINUTE_MS },
]
const SHORTEST_STRIP_MS = 5 * MINUTE_MS
/** Strips show the past; the status shows the present. */
const READ_EVERY_MS = 60_000

/** Written endpoint by endpoint during the read, because writing all at once would block the event loop. */
type Written = Readonly<Record<Audience, { readonly view: StripView; readonly text: string }>>

/** What was read at one time, and what was made of it since. */
interface Strips {
  readonly span: StripSpan
  readonly written: ReadonlyMap<EndpointKey, Written>
  readonly version: number
  readonly views: Map<Audience, StripsView>
  readonly documents: Map<string, TaggedJson>
}

type StripSpan = Omit<HistoryQuery, 'endpoint'>

function spanOf(pasts: readonly Past[], to: UnixMs): StripSpan {
  const start = pasts.reduce((least, { knownFrom }) => Math.min(least, knownFrom ?? to), to - SHORTEST_STRIP_MS)
  const stepMs = SHORT_CELLS.find(({ knownMs }) => to - start <= knownMs)?.stepMs ?? CELL_MS
  return { from: Math.max(firstOfDay(to, stepMs), Math.floor(start / stepMs) * stepMs), to, stepMs }
}

function spanView({ from, to, stepMs }: StripSpan, hours: number): Omit<StripsView, 'strips'> {
  const first = Math.max(from, Math.ceil(to / stepMs) * stepMs - hours * HOUR_MS)
  return { generated_at: time(to), from: time(first), to: time(to), step_seconds: stepMs / 1000 }
}

type Named = Pick<Endpoint, 'network' | 'name'>
