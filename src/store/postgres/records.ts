import type { Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import type { AdminCall, AliasRecord } from '../../core/routing/alias.ts'
import type { IncidentJson, NotificationJson } from '../batches.ts'
import type { Query } from './sessions.ts'

/**
 * Writes single records in their current state, each of which replaces the stored one; but not one that was written under a
 * later token. Without a token it always does.
 */
export async function saveIncident(query: Query, incident: IncidentJson, token: number | null): Promise<void> {
  const { id, network, endpoint, openedAt, closedAt, absorbed, json } = incident
  await query(
    `INSERT INTO incidents AS stored (id, network, endpoint, opened_ms, closed_ms, absorbed, value, token, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8::bigint, 0), heartline_version())
     ON CONFLICT (id) DO UPDATE SET network = excluded.network, endpoint = excluded.endpoint,
       opened_ms = excluded.opened_ms, closed_ms = excluded.closed_ms, absorbed = excluded.absorbed,
       value = excluded.value, token = greatest(stored.token, excluded.token), version = excluded.version
     WHERE $8::bigint IS NULL OR stored.token <= $8::bigint`,
    texts([id, network, endpoint, openedAt, closedAt, absorbed, json, token]),
  )
}

/** That a notification waits no more is known to its sender alone: this replaces every stored one. */
export async function saveNotification(
  query: Query,
  notification: NotificationJson,
  token: number | null,
): Promise<void> {
  const { id, channel, incident, createdAt, waiting, json } = notification
  await query(
    `INSERT INTO notifications AS stored (id, channel, incident, created_ms, waiting, value, token, version)
     VALUES ($1, $2, $3, $4, $5, $6, coalesce($7::bigint, 0), heartline_version())
     ON CONFLICT (id) DO UPDATE SET waiting = excluded.waiting, value = excluded.value,
       token = greatest(stored.token, excluded.token), version = excluded.version
     WHERE NOT excluded.waiting OR $7::bigint IS NULL OR stored.token <= $7::bigint`,
    texts([id, channel, incident, createdAt, waiting, json, token]),
  )
}

export async function saveSilence(query: Query, { id, network, endpoint, reason, from, until }: Silence) {
  await query(
    `INSERT INTO silences (id, network, endpoint, reason, from_ms, until_ms, version)
     VALUES ($1, $2, $3, $4, $5, $6, heartline_version())
     ON CONFLICT (id) DO UPDATE SET until_ms = excluded.until_ms, version = excluded.version`,
    texts([id, network, endpoint, reason, from, until]),
  )
}

export async function saveNote(query: Query, { id, incident, at, isPublic, text }: Note): Promise<void> {
  await query(
    `INSERT INTO notes (id, incident, at_ms, public, text, version) VALUES ($1, $2, $3, $4, $5, heartline_version())
     ON CONFLICT (id) DO UPDATE SET incident = excluded.incident, at_ms = excluded.at_ms, public = excluded.public,
       text = excluded.text, version = excluded.version`,
    texts([id, incident, at, isPublic, text]),
  )
}

export async function saveAlias(query: Query, alias: AliasRecord): Promise<void> {
  const { network, target, endpoint, nodeId, caller, at, stale } = alias
  await query(
    `INSERT INTO aliases (network, alias, target, endpoint, node_id, caller, at_ms, stale_ms, stale_reason, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, heartline_version())
     ON CONFLICT (network, alias) DO UPDATE SET target = excluded.target, endpoint = excluded.endpoint,
       node_id = excluded.node_id, caller = excluded.caller, at_ms = excluded.at_ms, stale_ms = excluded.stale_ms,
       stale_reason = excluded.stale_reason, version = excluded.version`,
    texts([network, alias.alias, target, endpoint, nodeId, caller, at, stale?.at ?? null, stale?.reason ?? null]),
  )
}

export async function addAdminCall(query: Query, member: string, call: AdminCall): Promise<void> {
  const { at, nth, network, caller, alias, target, endpoint, nodeId, outcome } = call
  await query(
    `INSERT INTO admin_calls (at_ms, nth, member, network, caller, alias, target, endpoint, node_id, outcome)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (at_ms, nth, member) DO NOTHING`,
    texts([at, nth, member, network, caller, alias, target, endpoint, nodeId, outcome]),
  )
}

type Value = string | number | boolean | null

/** A text of PostgreSQL holds every character but NUL, which one hostile name would otherwise fail a whole batch with. */
function texts(values: readonly Value[]): Value[] {
  return values.map((value) => (typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '') : value))
}
