import { MOST_NOTES, type Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import {
  ALIAS_COLUMNS,
  type AliasRow,
  aliasOf,
  INCIDENT_COLUMNS,
  MOST_SILENCES,
  NOTE_COLUMNS,
  NOTIFICATION_COLUMNS,
  SILENCE_COLUMNS,
} from '../reads.ts'
import type { IncidentQuery, NotificationQuery, SilenceQuery } from '../store.ts'
import { codeText, type IncidentJson, type NotificationJson } from '../write-events.ts'
import type { Query } from './sessions.ts'

/** Newest first. */
export async function selectIncidents(query: Query, wanted: IncidentQuery): Promise<readonly IncidentJson[]> {
  const { network, networks, endpoint, open, during, condition, after, partOf } = wanted
  const values: unknown[] = []
  const value = (one: unknown) => `$${values.push(one)}`
  // The parts of a network-wide incident have no index: they are read only when a person opens that incident.
  const all = [partOf === undefined ? 'NOT absorbed' : `absorbed AND value::json ->> 'absorbedBy' = ${value(partOf)}`]
  if (network !== undefined) all.push(`network = ${value(network)}`)
  if (networks !== undefined) all.push(`network = ANY (${value(networks)}::text[])`)
  if (open !== undefined) all.push(`closed_ms IS ${open ? '' : 'NOT '}NULL`)
  if (during !== undefined) {
    all.push(`opened_ms < ${value(during.to)} AND (closed_ms IS NULL OR closed_ms > ${value(during.from)})`)
  }
  if (condition !== undefined) all.push(`strpos(value, ${value(codeText(condition))}) > 0`)
  if (after !== undefined) all.push(`(opened_ms, id) < (${value(after.openedAt)}, ${value(after.id)})`)
  if (endpoint !== undefined) {
    const name = value(endpoint)
    all.push(`(endpoint = ${name} OR (endpoint IS NULL AND value::json ->> 'cause' = 'outage' AND EXISTS (
      SELECT 1 FROM json_array_elements_text(value::json -> 'affected') AS affected (name) WHERE affected.name = ${name})))`)
  }
  const limit = value(Math.max(0, Math.floor(wanted.limit)))
  return query<IncidentJson>(
    `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE ${all.join(' AND ')} ORDER BY opened_ms DESC, id DESC LIMIT ${limit}`,
    values,
  )
}

export async function selectIncident(query: Query, id: string): Promise<IncidentJson | null> {
  // PostgreSQL rejects a query with such a text, and has no row with one.
  if (id.includes('\0')) return null
  const [row] = await query<IncidentJson>(`SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = $1`, [id])
  return row ?? null
}

const UNFINISHED = `waiting OR nth IN (
  SELECT max(nth) FROM notifications
  WHERE incident IN (SELECT id FROM incidents WHERE closed_ms IS NULL AND NOT absorbed)
    AND value::json ->> 'state' IS DISTINCT FROM 'superseded'
  GROUP BY incident, channel)`

/** In the order in which they were added; those about incidents are the newest. */
export async function selectNotifications(query: Query, { about, limit }: NotificationQuery) {
  const newest = (condition: string, ...values: unknown[]) =>
    query<NotificationJson>(
      `SELECT ${NOTIFICATION_COLUMNS} FROM notifications WHERE ${condition} ORDER BY nth DESC LIMIT $1`,
      [limit, ...values],
    )
  if (typeof about !== 'object') return (await newest(about === 'unfinished' ? UNFINISHED : 'true')).toReversed()
  if ('ids' in about) return (await newest('id = ANY ($2::text[])', about.ids)).toReversed()
  if ('naming' in about) return (await newest(NAMING, about.naming)).toReversed()
  return query<NotificationJson>(OF_INCIDENTS, [limit, about.incidents])
}

const NAMING = 'EXISTS (SELECT 1 FROM unnest($2::text[]) AS text WHERE strpos(incident, text) > 0)'

const OF_INCIDENTS = `
  SELECT id, channel, newest.incident, "createdAt", waiting, json FROM unnest($2::text[]) WITH ORDINALITY AS wanted (incident, place)
  CROSS JOIN LATERAL (
    SELECT ${NOTIFICATION_COLUMNS}, nth FROM notifications
    WHERE notifications.incident = wanted.incident ORDER BY nth DESC LIMIT $1
  ) AS newest
  ORDER BY wanted.place, newest.nth`

/** Oldest first; of too many the newest. */
export async function selectSilences(query: Query, { from, to, network }: SilenceQuery) {
  const rows = await query<Silence>(
    `SELECT ${SILENCE_COLUMNS} FROM silences
     WHERE until_ms > $1 AND from_ms < $2 AND ($3::text IS NULL OR network = $3)
     ORDER BY from_ms DESC, nth DESC LIMIT ${MOST_SILENCES}`,
    [from, to, network ?? null],
  )
  return rows.toReversed()
}

/** Oldest first. */
export function selectNotes(query: Query, incidents: readonly string[]): Promise<readonly Note[]> {
  return query<Note>(
    `SELECT ${NOTE_COLUMNS} FROM notes
     WHERE incident = ANY ($1::text[]) ORDER BY at_ms, nth LIMIT $2`,
    [incidents, incidents.length * MOST_NOTES],
  )
}

export async function selectAliases(query: Query, condition = 'true', ...values: unknown[]) {
  const rows = await query<AliasRow>(
    `SELECT ${ALIAS_COLUMNS} FROM aliases WHERE ${condition} ORDER BY network, alias`,
    values,
  )
  return rows.map(aliasOf)
}
