import type { Clock } from '../clock.ts'
import { endpointKey } from '../core/endpoint.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { MaintenancePeriod } from '../core/maintenance.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Board } from '../state/board.ts'
import type { HistoryBucket, Store } from '../store/store.ts'
import { notesFor } from './note-routes.ts'
import { renderPostMortem } from './post-mortem.ts'
import type { EndpointFigures } from './post-mortem-figures.ts'
import type { Audience } from './wire-status.ts'

export type PostMortemWriter = ReturnType<typeof createPostMortemWriter>

interface PostMortemWriterDeps {
  readonly board: Board
  readonly store: Pick<Store, 'history' | 'notes'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
/** The figures cover as much time before and after as the incident lasted, within these limits. */
const SHORTEST_MARGIN_MS = 10 * MINUTE_MS
const LONGEST_MARGIN_MS = HOUR_MS
/** Each endpoint of a network-wide incident costs three queries. */
const MOST_ENDPOINTS = 100
/** More lines are hard to read. */
const MOST_STEPS = 30
const STEPS_MS = [
  10_000,
  30_000,
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE_MS),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR_MS),
]

/** Writes post-mortems of incidents, with figures from the store for readers with the token. */
export function createPostMortemWriter({ board, store, clock, log }: PostMortemWriterDeps) {
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

  async function figuresOf(incident: Incident, name: string, now: UnixMs): Promise<EndpointFigures> {
    const { network, openedAt, closedAt } = incident
    const endpoint = endpointKey({ network, name })
    const end = closedAt ?? now
    const marginMs = Math.min(LONGEST_MARGIN_MS, Math.max(SHORTEST_MARGIN_MS, end - openedAt))
    const [from, to] = [Math.max(0, openedAt - marginMs), closedAt === null ? now : Math.min(now, closedAt + marginMs)]
    // Steps shorter than two poll intervals would show false gaps.
    const intervalMs = board.entry(network, name)?.health.endpoint.intervalMs ?? 0
    const stepMs = stepFor(to - from, 2 * intervalMs)
    const [before, during, after, timeline] = await Promise.all([
      sumOf(endpoint, from, openedAt),
      sumOf(endpoint, openedAt, end),
      sumOf(endpoint, end, to),
      incident.endpoint === null ? [] : historyOf(endpoint, Math.floor(from / stepMs) * stepMs, to, stepMs),
    ])
    return { endpoint: name, before, during, after, timeline, stepMs }
  }

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

function stepFor(rangeMs: number, atLeastMs: number): number {
  const step = STEPS_MS.find((ms) => ms >= atLeastMs && rangeMs / ms <= MOST_STEPS)
  return step ?? Math.ceil(Math.max(rangeMs / MOST_STEPS, atLeastMs) / DAY_MS) * DAY_MS
}

function touches(period: MaintenancePeriod, incident: Incident, now: UnixMs): boolean {
  const { network, endpoint, affected, openedAt, closedAt } = incident
  const names = endpoint === null ? affected : [endpoint]
  const about = period.endpoints === null || period.endpoints.some((name) => names.includes(name))
  return period.network === network && about && period.from < (closedAt ?? now) && openedAt < period.until
}
