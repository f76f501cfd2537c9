import type { Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import type { AdminCall, AliasRecord } from '../../core/routing/alias.ts'
import type { IncidentJson, NotificationJson } from '../write-events.ts'
import { bigints } from './arrays.ts'
import type { Query } from './sessions.ts'

/** A record and the token under which it was written; `null` without one. */
export interface Fenced<R> {
  readonly record: R
  readonly token: number | null
}

/**
 * Writes records in their current state, each of which replaces the stored one; but not one that was written under a later
 * token. Without a token it always does.
 */
export async function saveIncidents(query: Query, incidents: readonly Fenced<IncidentJson>[]): Promise<void> {
  await inParts(incidents, async (records, tokens, isFenced) => {
    await query(SAVE_INCIDENTS, [
      texts(records.map(({ id }) => id)),
      texts(records.map(({ network }) => network)),
      texts(records.map(({ endpoint }) => endpoint)),
      bigints(records.map(({ openedAt }) => openedAt)),
      bigints(records.map(({ closedAt }) => closedAt)),
      records.map(({ absorbed }) => absorbed),
      jsonTexts(records),
      bigints(tokens),
      isFenced,
    ])
  })
}

const SAVE_INCIDENTS = `
  INSERT INTO incidents AS stored (id, network, endpoint, opened_ms, closed_ms, absorbed, value, token, version)
  SELECT *, heartline_version() FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[],
    $6::boolean[], $7::text[], $8::bigint[])
  ON CONFLICT (id) DO UPDATE SET network = excluded.network, endpoint = excluded.endpoint,
    opened_ms = excluded.opened_ms, closed_ms = excluded.closed_ms, absorbed = excluded.absorbed,
    value = excluded.value, token = greatest(stored.token, excluded.token), version = excluded.version
  WHERE NOT $9::boolean OR stored.token <= excluded.token`

/**
 * That a notification waits no more is known to its sender alone: this replaces every stored one. One that waits is not
 * added once a later keeper has written its incident, since that keeper sends its own.
 */
export async function saveNotifications(query: Query, notifications: readonly Fenced<NotificationJson>[]) {
  await inParts(notifications, async (records, tokens, isFenced) => {
    await query(SAVE_NOTIFICATIONS, [
      texts(records.map(({ id }) => id)),
      texts(records.map(({ channel }) => channel)),
      texts(records.map(({ incident }) => incident)),
      bigints(records.map(({ createdAt }) => createdAt)),
      records.map(({ waiting }) => waiting),
      jsonTexts(records),
      bigints(tokens),
      isFenced,
    ])
  })
}

const SAVE_NOTIFICATIONS = `
  INSERT INTO notifications AS stored (id, channel, incident, created_ms, waiting, value, token, version)
  SELECT *, heartline_version() FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::boolean[],
    $6::text[], $7::bigint[]) AS fresh (id, channel, incident, created_ms, waiting, value, token)
  WHERE NOT fresh.waiting OR NOT $8::boolean OR NOT EXISTS (
    SELECT 1 FROM incidents WHERE incidents.id = fresh.incident AND incidents.token > fresh.token)
  ON CONFLICT (id) DO UPDATE SET waiting = excluded.waiting, value = excluded.value,
    token = greatest(stored.token, excluded.token), version = excluded.version
  WHERE NOT excluded.waiting OR NOT $8::boolean OR stored.token <= excluded.token`

/** Of one statement, which cannot write a row twice: of records with one id the last counts, in the place of the first. */
async function inParts<R extends { readonly id: string }>(
  all: readonly Fenced<R>[],
  write: (records: readonly R[], tokens: readonly number[], isFenced: boolean) => Promise<void>,
): Promise<void> {
  const last = [...new Map(all.map((one) => [one.record.id.replaceAll('\0', ''), one])).values()]
  for (const isFenced of [true, false]) {
    const part = last.filter(({ token }) => (token !== null) === isFenced)
    if (part.length === 0) continue
    await write(
      part.map(({ record }) => record),
      part.map(({ token }) => token ?? 0),
      isFenced,
    )
  }
}

/** What another member has ended stays so, also if its beginning is written again. */
export async function saveSilence(query: Query, { id, network, endpoint, reason, from, until }: Silence) {
  await query(
    `INSERT INTO silences (id, network, endpoint, reason, from_ms, until_ms, version)
     VALUES ($1, $2, $3, $4, $5, $6, heartline_version())
     ON CONFLICT (id) DO UPDATE SET until_ms = least(silences.until_ms, excluded.until_ms), version = excluded.version`,
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

/** A record of a member that was cut off replaces none of an alias that was created again since. */
export async function saveAlias(query: Query, alias: AliasRecord): Promise<void> {
  const { network, target, endpoint, nodeId, caller, at, stale } = alias
  await query(
    `INSERT INTO aliases (network, alias, target, endpoint, node_id, caller, at_ms, stale_ms, stale_reason, version)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, heartline_version())
     ON CONFLICT (network, alias) DO UPDATE SET target = excluded.target, endpoint = excluded.endpoint,
       node_id = excluded.node_id, caller = excluded.caller, at_ms = excluded.at_ms, stale_ms = excluded.stale_ms,
       stale_reason = excluded.stale_reason, version = excluded.version
     WHERE aliases.at_ms <= excluded.at_ms`,
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

/** Queries read them as JSON, in which PostgreSQL allows neither NUL nor halves of characters. */
function jsonTexts(records: readonly { readonly json: string }[]): string[] {
  return records.map(({ json }) => wellFormedJson(json))
}

/** `JSON.stringify` writes NUL and halves of characters as escapes, and no other character above U+001F. */
export function wellFormedJson(json: string): string {
  return json.includes('\\u') ? json.replaceAll(/\\u(?:0000|d[89a-f][0-9a-f]{2})/g, '\\ufffd') : json
}
