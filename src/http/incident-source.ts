import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { Log } from '../log.ts'
import { readIncident } from '../state/incident-codec.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { IncidentQuery, IncidentRecord, Store } from '../store/store.ts'

/** Where a page of the list goes on: after this incident. */
export type IncidentPlace = Pick<Incident, 'openedAt' | 'id'>

export interface IncidentFilter {
  readonly network?: string | undefined
  readonly endpoint?: string | undefined
  readonly open?: boolean | undefined
  readonly after?: IncidentPlace | undefined
  /** Those that are part of this one, and no others. */
  readonly partOf?: string | undefined
  readonly limit: number
}

export interface IncidentPage {
  /** Newest first; those that are part of another are left out, unless they are asked for. */
  readonly incidents: readonly Incident[]
  /** `null` where nothing comes after them. */
  readonly next: IncidentPlace | null
}

/** All incidents, as they stand now: what the store keeps, under what has changed since it was written. */
export interface IncidentSource {
  list(filter: IncidentFilter): Promise<IncidentPage>
  one(id: string): Promise<Incident | null>
}

export interface IncidentSourceDeps {
  readonly store: Pick<Store, 'incidents' | 'incident'>
  readonly incidents: Pick<IncidentLog, 'open' | 'recent'>
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

/** Reading what is kept takes a while where incidents are long: the time after which the event loop is given back. */
const LONGEST_HOLD_MS = 4
/** How much more than a page is asked for at once, as some of it may be known better here. */
const SPARE = 16

export function createIncidentSource({ store, incidents, clock, log }: IncidentSourceDeps): IncidentSource {
  /** What the store may not have yet, by id. The log is the one that everybody writes to, so it is always right. */
  function known(): Map<Incident['id'], Incident> {
    return new Map([...incidents.recent(), ...incidents.open()].map((incident) => [incident.id, incident]))
  }

  async function ask(query: IncidentQuery): Promise<readonly IncidentRecord[]> {
    try {
      return await store.incidents(query)
    } catch (error) {
      log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'incidents could not be read')
      return []
    }
  }

  async function read(records: readonly IncidentRecord[]): Promise<Incident[]> {
    const read: Incident[] = []
    let heldSince = clock.monotonic()
    for (const { id, value } of records) {
      const incident = readIncident(value)
      if (incident?.id !== id) log.warn({ incident: id }, 'incident could not be understood')
      else read.push(incident)
      if (clock.monotonic() - heldSince < LONGEST_HOLD_MS) continue
      await setImmediate()
      heldSince = clock.monotonic()
    }
    return read
  }

  return {
    async list(filter) {
      const { limit } = filter
      const kept: Incident[] = []
      let place = filter.after
      for (;;) {
        const records = await ask(queryOf(filter, place, limit + 1 + SPARE))
        kept.push(...(await read(records)))
        // Looked at after every reading: what was written in between is in one of the two.
        const ours = known()
        const theirs = kept.filter(({ id }) => !ours.has(id))
        const last = records.at(-1)
        // Fewer than asked for need not be the last ones: the store leaves out what it cannot read.
        if (last !== undefined && theirs.length <= limit) {
          place = { openedAt: last.openedAt, id: last.id }
          continue
        }
        const all = [...[...ours.values()].filter((incident) => matches(incident, filter)), ...theirs].sort(newestFirst)
        const page = all.slice(0, limit)
        const end = page.at(-1)
        const next = all.length > limit && end !== undefined ? { openedAt: end.openedAt, id: end.id } : null
        return { incidents: page, next }
      }
    },

    async one(id) {
      const here = known().get(id)
      if (here !== undefined) return here
      try {
        const record = await store.incident(id)
        // It may have changed while it was read.
        return known().get(id) ?? (record === null ? null : ((await read([record]))[0] ?? null))
      } catch (error) {
        log.warn({ error: error instanceof Error ? error.name : 'unknown' }, 'incident could not be read')
        return null
      }
    },
  }
}

function queryOf({ network, endpoint, open, partOf }: IncidentFilter, after: IncidentPlace | undefined, limit: number) {
  return {
    limit,
    ...(network === undefined ? {} : { network }),
    ...(endpoint === undefined ? {} : { endpoint }),
    ...(open === undefined ? {} : { open }),
    ...(after === undefined ? {} : { after }),
    ...(partOf === undefined ? {} : { partOf }),
  } satisfies IncidentQuery
}

/** What the store does by its indexes. */
function matches(incident: Incident, { network, endpoint, open, after, partOf }: IncidentFilter): boolean {
  return (
    incident.absorbedBy === (partOf ?? null) &&
    (network === undefined || incident.network === network) &&
    (endpoint === undefined || incident.endpoint === endpoint) &&
    (open === undefined || (incident.closedAt === null) === open) &&
    (after === undefined || newestFirst(after, incident) < 0)
  )
}

/** By `openedAt`, then by `id`, both falling: the order of the store. */
function newestFirst(a: IncidentPlace, b: IncidentPlace): number {
  return b.openedAt - a.openedAt || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)
}
