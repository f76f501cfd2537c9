import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Endpoint, EndpointKey } from '../core/endpoint.ts'
import { seconds, type UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { HistoryBucket, Store } from '../store/store.ts'
import { type CompressibleText, compressible, isKnown, sendCompressed } from './negotiation.ts'
import { wholeNumber } from './parameters.ts'
import { sendProblem } from './problem.ts'
import { time } from './rfc3339.ts'
import { type App, json, NOT_MODIFIED, operation, problem } from './route.ts'
import { StripsView, type StripView } from './wire-history.ts'
import type { Audience } from './wire-status.ts'

/** `GET /api/v1/strips`: the last hours of every endpoint, in one response small enough for an overview. */
export function registerStrips(app: App, strips: StripSource): void {
  const route = operation({
    visibility: 'public',
    summary:
      'The last hours of every endpoint in quarters of an hour, small enough for an overview; updated once a minute',
    query: z.strictObject({ hours: wholeNumber(1, STRIP_HOURS).optional().describe('How many hours; default 24') }),
    answers: {
      200: json(StripsView, 'One letter per cell, and its contents; the last cell is not over yet. With an `ETag`'),
      304: NOT_MODIFIED,
      503: problem('The history cannot be read now'),
    },
  })
  app.get('/api/v1/strips', route, async (request, reply) => {
    try {
      const { body, etag } = await strips.read(request.audience, request.query.hours ?? STRIP_HOURS)
      reply.header('etag', etag)
      if (isKnown(request, etag)) return reply.code(304).send()
      return await sendCompressed(request, reply.type('application/json; charset=utf-8'), body)
    } catch {
      return sendProblem(reply, { status: 503, detail: 'The history cannot be read now.' })
    }
  })
}

/** Reads the last day of every endpoint in cells of 15 minutes, once for all requests. */
export function createStripSource({ board, store, clock, log }: StripSourceDeps) {
  const origin = randomBytes(6).toString('base64url')
  let known = new Map<EndpointKey, Strip>()
  let reading: Promise<void> | null = null
  let readAt: { readonly monotonic: number; readonly to: UnixMs } | null = null
  let version = 0
  let views = new Map<Audience, StripsView>()
  let documents = new Map<string, { readonly body: CompressibleText; readonly etag: string }>()

  async function readAll(): Promise<void> {
    const to = clock.now()
    const first = Math.ceil(to / CELL_MS) * CELL_MS - CELLS * CELL_MS
    const next = new Map<EndpointKey, Strip>()
    for (const { endpoints } of board.networks()) {
      for (const { key, health } of endpoints) next.set(key, await readOne(key, health.endpoint, first, to))
    }
    known = next
    readAt = { monotonic: clock.monotonic(), to }
    version++
    views = new Map()
    documents = new Map()
  }

  /** Reads one endpoint at a time, so that other reads of the store do not wait for hundreds of them. */
  async function readOne(endpoint: EndpointKey, { network, name }: Named, first: UnixMs, to: UnixMs): Promise<Strip> {
    const before = known.get(endpoint)
    const again = before === undefined ? first : Math.floor((before.readTo - READ_AGAIN_MS) / CELL_MS) * CELL_MS
    const from = Math.max(first, again)
    const cells = new Map([...(before?.cells ?? [])].filter(([start]) => start >= first && start < from))
    for (const bucket of await store.history({ endpoint, from, to, stepMs: CELL_MS })) cells.set(bucket.start, bucket)
    const [recent = null] = await store.history({ endpoint, from: to - HOUR_MS, to, stepMs: HOUR_MS })
    const row = Array.from({ length: CELLS }, (_, at) => cells.get(first + at * CELL_MS) ?? null)
    const write = (audience: Audience) => {
      const view = stripView({ network, endpoint: name, row, recent, audience })
      return { view, text: JSON.stringify(view) }
    }
    return { cells, readTo: to, written: { private: write('private'), public: write('public') } }
  }

  async function refresh(): Promise<void> {
    if (readAt !== null && clock.monotonic() - readAt.monotonic < READ_EVERY_MS) return
    reading ??= readAll().finally(() => {
      reading = null
    })
    try {
      await reading
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'strips could not be read')
      if (!isRecent()) throw error
    }
  }

  function isRecent(): boolean {
    return readAt !== null && clock.monotonic() - readAt.monotonic < LONGEST_KEPT_MS
  }

  /** Strips of the endpoints configured now; a new endpoint has none until the next read. */
  function stripsFor(audience: Audience) {
    const all = board.networks().flatMap(({ endpoints }) => endpoints)
    return all.flatMap(({ key }) => known.get(key)?.written[audience] ?? [])
  }

  function spanOf(hours: number): Omit<StripsView, 'strips'> {
    const to = readAt?.to ?? clock.now()
    const first = Math.ceil(to / CELL_MS) * CELL_MS - hours * HOUR_MS
    return { generated_at: time(to), from: time(first), to: time(to), step_seconds: CELL_MS / 1000 }
  }

  function viewOf(audience: Audience): StripsView {
    const kept = views.get(audience)
    if (kept !== undefined) return kept
    const view = { ...spanOf(STRIP_HOURS), strips: stripsFor(audience).map(({ view }) => view) }
    views.set(audience, view)
    return view
  }

  function bodyOf(audience: Audience, hours: number): string {
    const strips = stripsFor(audience)
    const texts = strips.map(({ view, text }) =>
      hours === STRIP_HOURS ? text : JSON.stringify(lastHours(view, hours)),
    )
    return `${JSON.stringify(spanOf(hours)).slice(0, -1)},"strips":[${texts.join(',')}]}`
  }

  return {
    /** The last strips read; `null` if they are too old. Starts a new read if one is due. */
    latest(audience: Audience): StripsView | null {
      const hasRecent = isRecent()
      // `refresh` logs failures, and `read` reports them to its callers.
      refresh().catch(() => {})
      return hasRecent ? viewOf(audience) : null
    },

    /** Reads again if due; rejects if that fails and the last strips are too old. */
    async read(audience: Audience, hours: number) {
      await refresh()
      const name = `${audience}-${hours}`
      const written = documents.get(name) ?? {
        body: compressible(bodyOf(audience, hours)),
        etag: `"${origin}-${version}-${name}"`,
      }
      documents.set(name, written)
      return written
    },
  }
}

export type StripSource = ReturnType<typeof createStripSource>

interface StripSourceDeps {
  readonly board: Board
  readonly store: Pick<Store, 'history'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Log
}

const STRIP_HOURS = 24
const HOUR_MS = 3_600_000
const CELL_MS = 900_000
const CELLS = (STRIP_HOURS * HOUR_MS) / CELL_MS
const CELLS_AN_HOUR = HOUR_MS / CELL_MS
/** Strips show the past; the status shows the present. */
const READ_EVERY_MS = 60_000
/** Older strips would be drawn as if they ended now. */
const LONGEST_KEPT_MS = 300_000
/** The latest cells are read again, because a confirmation changes the states of earlier polls. */
const READ_AGAIN_MS = HOUR_MS

interface Strip {
  /** By start. */
  readonly cells: ReadonlyMap<UnixMs, HistoryBucket>
  readonly readTo: UnixMs
  /** Written endpoint by endpoint during the read, because writing all at once would block the event loop. */
  readonly written: Readonly<Record<Audience, { readonly view: StripView; readonly text: string }>>
}

type Named = Pick<Endpoint, 'network' | 'name'>

interface StripParts {
  readonly network: string
  readonly endpoint: string
  readonly row: readonly (HistoryBucket | null)[]
  readonly recent: HistoryBucket | null
  readonly audience: Audience
}

function stripView({ network, endpoint, row, recent, audience }: StripParts): StripView {
  const open = audience === 'private'
  return {
    network,
    endpoint,
    states: row.map((cell) => (cell === null ? '-' : letterOf(cell))).join(''),
    mixed: row.flatMap((cell, at) => (cell === null || isOneState(cell) ? [] : [mixedOf(cell, at)])),
    lag_blocks_max: open ? row.map((cell) => cell?.lagBlocksMax ?? null) : [],
    latency_p95_seconds: open ? row.map((cell) => milliseconds(cell?.latencyP95Ms ?? null)) : [],
    recent_latency_p95_seconds: open ? milliseconds(recent?.latencyP95Ms ?? null) : null,
  }
}

/** Rounded, because percentiles are only exact to 4.8 %. */
function milliseconds(ms: number | null): number | null {
  return ms === null ? null : seconds(ms < 10 ? Math.round(ms * 10) / 10 : Math.round(ms))
}

/** The cell's worst state; unknown if more time is unknown than up or in maintenance. */
function letterOf({ upMs, degradedMs, downMs, maintenanceMs, unknownMs }: HistoryBucket): string {
  if (downMs > 0) return 'd'
  if (degradedMs > 0) return 'g'
  if (unknownMs > upMs + maintenanceMs) return '-'
  return maintenanceMs > upMs ? 'm' : 'u'
}

function isOneState({ upMs, degradedMs, downMs, maintenanceMs, unknownMs }: HistoryBucket): boolean {
  return [upMs, degradedMs, downMs, maintenanceMs, unknownMs].filter((ms) => ms > 0).length <= 1
}

function mixedOf(cell: HistoryBucket, at: number): StripView['mixed'][number] {
  return [at, cell.degradedMs / 1000, cell.downMs / 1000, cell.maintenanceMs / 1000, cell.unknownMs / 1000]
}

function lastHours(strip: StripView, hours: number): StripView {
  const left = CELLS - hours * CELLS_AN_HOUR
  return {
    ...strip,
    states: strip.states.slice(left),
    mixed: strip.mixed.filter(([at]) => at >= left).map(([at, ...rest]) => [at - left, ...rest]),
    lag_blocks_max: strip.lag_blocks_max.slice(left),
    latency_p95_seconds: strip.latency_p95_seconds.slice(left),
  }
}
