import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { endpointsOf, type Incident } from '../core/incident/incident.ts'
import { DAY_MS, type UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import { type IncidentLog, readIncident } from '../state/incident-log.ts'
import { Unreadable } from '../store/reads.ts'
import type { IncidentQuery, IncidentRecord, Store, StoreStatus } from '../store/store.ts'

/** Reads incidents from the store, overridden by their newer states in memory. */
export function createIncidentSource({ store, storeStatus, incidents, clock, log }: IncidentSourceDeps) {
  /** All incidents in memory, by id. Every change reaches this log first, so it is up to date. */
  function known(): Map<Incident['id'], Incident> {
    return new Map([...incidents.recent(), ...incidents.open()].map((incident) => [incident.id, incident]))
  }

  /** Those that the store may not have yet: it may have deleted the others since. */
  function unstored(): Map<Incident['id'], Incident> {
    const { trouble, remote } = storeStatus()
    if (trouble !== null || (remote?.spoolRows ?? 0) > 0) return known()
    const before = clock.now() - STORED_AFTER_MS
    return new Map([...known()].filter(([, { closedAt }]) => closedAt === null || closedAt > before))
  }

  /** Of a first page, those in memory are better than none. */
  async function query(of: IncidentQuery): Promise<readonly IncidentRecord[] | null> {
    try {
      return await store.incidents(of)
    } catch (error) {
      const isKnown = of.after === undefined && [...known().values()].some((incident) => matches(incident, of))
      if (error instanceof Unreadable && isKnown) return null
      throw error
    }
  }

  async function read(records: readonly IncidentRecord[]): Promise<Incident[]> {
    const read: Incident[] = []
    let heldSince = clock.monotonic()
    for (const { id, value } of records) {
      const incident = readIncident(value)
      if (incident?.id !== id) log.warn({ incident: id }, 'stored incident is invalid')
      else read.push(incident)
      if (clock.monotonic() - heldSince < LONGEST_HOLD_MS) continue
      await setImmediate()
      heldSince = clock.monotonic()
    }
    return read
  }

  return {
    /** One page, newest first, and the position of the next page: `null` on the last one. Rejects with `Unreadable`. */
    async list(filter: IncidentQuery): Promise<{ incidents: readonly Incident[]; next: IncidentCursor | null }> {
      const { limit } = filter
      const kept: Incident[] = []
      let cursor = filter.after
      for (;;) {
        const records = await query({ ...filter, after: cursor, limit: limit + 1 + SPARE })
        kept.push(...(await read(records ?? [])))
        // Called after each read, so that an incident written in the meantime is in one of the two.
        const ours = records === null ? known() : unstored()
        const theirs = kept.filter(({ id }) => !ours.has(id))
        const last = records?.at(-1)
        // A short page may not be the last one, because the store skips rows that it cannot read.
        if (last !== undefined && theirs.length <= limit) {
          cursor = { openedAt: last.openedAt, id: last.id }
          continue
        }
        const all = [...[...ours.values()].filter((incident) => matches(incident, filter)), ...theirs].sort(newestFirst)
        const page = all.slice(0, limit)
        const end = page.at(-1)
        const next = all.length > limit && end !== undefined ? { openedAt: end.openedAt, id: end.id } : null
        return { incidents: page, next }
      }
    },

    /** Rejects with `Unreadable`. */
    async one(id: string): Promise<Incident | null> {
      const here = unstored().get(id)
      if (here !== undefined) return here
      try {
        const record = await store.incident(id)
        // The incident may have changed during the read.
        return unstored().get(id) ?? (record === null ? null : ((await read([record]))[0] ?? null))
      } catch (error) {
        const last = error instanceof Unreadable ? known().get(id) : undefined
        if (last !== undefined) return last
        throw error
      }
    },
  }
}

/** Applies the same filter as the store's query. */
function matches(incident: Incident, filter: IncidentQuery): boolean {
  const { network, networks, endpoint, open, during, condition, after, partOf } = filter
  const { openedAt, closedAt } = incident
  return (
    incident.absorbedBy === (partOf ?? null) &&
    (network === undefined || incident.network === network) &&
    (networks === undefined || networks.includes(incident.network)) &&
    (endpoint === undefined || endpointsOf(incident).includes(endpoint)) &&
    (open === undefined || (closedAt === null) === open) &&
    (during === undefined || (openedAt < during.to && (closedAt === null || closedAt > during.from))) &&
    (condition === undefined || incident.conditions.some(({ code }) => code === condition)) &&
    (after === undefined || newestFirst(after, incident) < 0)
  )
}

/** By `openedAt`, then by `id`, both descending: the order of the store. */
function newestFirst(a: IncidentCursor, b: IncidentCursor): number {
  return b.openedAt - a.openedAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}

/** From one time to another, either of which may be open. */
export function duringOf(from: UnixMs | undefined, to: UnixMs | undefined): IncidentQuery['during'] {
  return from === undefined && to === undefined ? undefined : { from: from ?? 0, to: to ?? Number.MAX_SAFE_INTEGER }
}

/** Encodes a cursor, which is opaque to clients and stays valid when new incidents open. */
export function writeCursor({ openedAt, id }: IncidentCursor): string {
  return Buffer.from(`${openedAt} ${id}`).toString('base64url')
}

/** `null` for an invalid cursor. */
export function readCursor(cursor: string): IncidentCursor | null {
  if (cursor.length > 512) return null
  const [, openedAt, id] = /^(\d{1,16}) ([^\s\0]{1,256})$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? []
  return openedAt === undefined || id === undefined ? null : { openedAt: Number(openedAt), id }
}

/** Position of the last incident of a page. */
export type IncidentCursor = Pick<Incident, 'openedAt' | 'id'>

export type IncidentSource = ReturnType<typeof createIncidentSource>

interface IncidentSourceDeps {
  readonly store: Pick<Store, 'incidents' | 'incident'>
  readonly storeStatus: () => Pick<StoreStatus, 'trouble' | 'remote'>
  readonly incidents: Pick<IncidentLog, 'open' | 'recent'>
  readonly clock: Pick<Clock, 'monotonic' | 'now'>
  readonly log: Log
}

/** Parsing long incidents yields to the event loop after this time. */
const LONGEST_HOLD_MS = 4
/** After their end, while writing works: far more than a batch takes. */
const STORED_AFTER_MS = DAY_MS
/** Extra rows per page, because newer states in memory may replace some rows. */
const SPARE = 16
