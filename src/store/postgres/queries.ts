import type { EndpointKey } from '../../core/endpoint.ts'
import type { AvailabilityRow } from '../availability.ts'
import type { QueryCalls, StateCalls } from '../engine.ts'
import { INCIDENT_COLUMNS, recordOf, SILENCE_COLUMNS } from '../reads.ts'
import type { IncidentJson, SavedHealthJson } from '../write-events.ts'
import type { Database } from './database.ts'
import { selectAvailability, selectHistory, selectStoredPolls } from './history-queries.ts'
import { createVantageId } from './ids.ts'
import {
  selectAliases,
  selectIncident,
  selectIncidents,
  selectNotes,
  selectNotifications,
  selectSilences,
} from './record-queries.ts'
import type { Query } from './sessions.ts'
import type { Changes } from './shared-store.ts'
import { areOfOneServer, IS_NEW, NOTHING_SEEN, SEEN_NOW, type Seen } from './versions.ts'

/** Endpoints whose availability is computed at once, which keeps the event loop for some 10 ms. */
const AVAILABILITY_CHUNK = 400

/** The queries of the store, each as of one moment. */
export function createQueries({ query, snapshot }: Database, vantage: string | null) {
  const vantageId = createVantageId(query, vantage)
  return {
    history: (wanted, now) => snapshot((run) => selectHistory(run, wanted, now)),
    polls: (wanted) => snapshot((run) => selectStoredPolls(run, wanted)),
    async availability(endpoints: readonly EndpointKey[], now) {
      const rows: AvailabilityRow[] = []
      for (let at = 0; at < endpoints.length; at += AVAILABILITY_CHUNK) {
        const some = endpoints.slice(at, at + AVAILABILITY_CHUNK)
        rows.push(...(await snapshot((run) => selectAvailability(run, some, now))))
      }
      return rows
    },
    incidents: (wanted) => selectIncidents(query, wanted),
    incident: (id) => selectIncident(query, id),
    notifications: (wanted) => snapshot((run) => selectNotifications(run, wanted)),
    silences: (wanted) => selectSilences(query, wanted),
    notes: (incidents) => selectNotes(query, incidents),
    aliases: () => selectAliases(query),

    'saved-health': async () =>
      query<SavedHealthJson>(
        `SELECT name AS endpoint, at_ms AS at, value AS json FROM saved_health JOIN endpoints USING (endpoint_id)
         WHERE vantage_id = $1 ORDER BY endpoint_id`,
        [await vantageId()],
      ),

    async 'last-runs'() {
      const rows = await query<{ job: string; at: number }>('SELECT job, ended_ms AS at FROM jobs')
      return rows.map(({ job, at }) => [job, at] as const)
    },

    async changesAfter(wanted: Seen | null): Promise<Changes> {
      // Nearly always there is nothing: one statement tells.
      const [look] = wanted === null ? [] : await query<{ position: Seen; isAny: boolean }>(ANY_CHANGE, [wanted])
      if (look !== undefined && !look.isAny && areOfOneServer(look.position, wanted ?? '')) {
        return { position: look.position, incidents: [], silences: [], aliases: [] }
      }
      return snapshot((run) => readChanges(run, wanted))
    },
  } satisfies AsyncCalls<QueryCalls & StateCalls> & { changesAfter(position: Seen | null): Promise<Changes> }
}

type AsyncCalls<H> = {
  readonly [K in keyof H]: H[K] extends (...asked: infer A) => infer R ? (...asked: A) => Promise<R> : never
}

const ANY_CHANGE = `SELECT ${SEEN_NOW} AS position,
  ${['incidents', 'silences', 'aliases'].map((table) => `EXISTS (SELECT 1 FROM ${table} WHERE ${IS_NEW})`).join(' OR ')} AS "isAny"`

async function readChanges(run: Query, wanted: Seen | null): Promise<Changes> {
  const [now] = await run<{ position: Seen }>(`SELECT ${SEEN_NOW} AS position`)
  const position = now?.position ?? NOTHING_SEEN
  if (wanted === null || !areOfOneServer(wanted, position)) {
    const silences = await selectSilences(run, { from: 0, to: Number.MAX_SAFE_INTEGER })
    return { position, incidents: null, silences, aliases: await selectAliases(run) }
  }
  const since = <Row>(columns: string, table: string, order: string) =>
    run<Row>(`SELECT ${columns} FROM ${table} WHERE ${IS_NEW} ORDER BY ${order}`, [wanted])
  const incidents = await since<IncidentJson & { token: number }>(
    `${INCIDENT_COLUMNS}, token`,
    'incidents',
    'opened_ms, id',
  )
  return {
    position,
    incidents: incidents.flatMap((incident) => recordOf(incident) ?? []),
    silences: await since(SILENCE_COLUMNS, 'silences', 'nth'),
    aliases: await selectAliases(run, IS_NEW, wanted),
  }
}
