import type { EndpointKey } from '../../core/endpoint.ts'
import type { AvailabilityRow } from '../availability.ts'
import type { IncidentJson, NotificationJson } from '../batches.ts'
import { type QueryCalls, recordOf, type SavedHealthJson, type StateCalls } from '../reads.ts'
import type { Database } from './database.ts'
import { selectAvailability, selectHistory, selectStoredPolls } from './history-queries.ts'
import {
  INCIDENT_COLUMNS,
  NOTE_COLUMNS,
  NOTIFICATION_COLUMNS,
  SILENCE_COLUMNS,
  selectAliases,
  selectIncident,
  selectIncidents,
  selectNotes,
  selectNotifications,
  selectSilences,
} from './record-queries.ts'
import type { Changes } from './shared-store.ts'
import { createVantageId } from './vantages.ts'

/** Endpoints whose availability is computed at once, which keeps the event loop for some 10 ms. */
const AVAILABILITY_CHUNK = 100

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

    /** Everything that was written at this position or later. */
    changesAfter: (wanted: number | null): Promise<Changes> =>
      snapshot(async (run) => {
        const [done] = await run<{ position: number }>('SELECT heartline_versions_done() AS position')
        const position = wanted ?? Number.MAX_SAFE_INTEGER
        const since = <Row>(columns: string, table: string, order: string) =>
          run<Row>(`SELECT ${columns} FROM ${table} WHERE version >= $1 ORDER BY ${order}`, [position])
        const incidents = await since<IncidentJson>(INCIDENT_COLUMNS, 'incidents', 'opened_ms, id')
        const notifications = await since<NotificationJson>(NOTIFICATION_COLUMNS, 'notifications', 'nth')
        return {
          position: done?.position ?? position,
          incidents: incidents.flatMap((incident) => recordOf(incident) ?? []),
          notifications: notifications.flatMap((notification) => recordOf(notification) ?? []),
          silences: await since(SILENCE_COLUMNS, 'silences', 'nth'),
          notes: await since(NOTE_COLUMNS, 'notes', 'nth'),
          aliases: await selectAliases(run, 'version >= $1', position),
        }
      }),
  } satisfies AsyncCalls<QueryCalls & StateCalls> & { changesAfter(position: number | null): Promise<Changes> }
}

type AsyncCalls<H> = {
  readonly [K in keyof H]: H[K] extends (...asked: infer A) => infer R ? (...asked: A) => Promise<R> : never
}
