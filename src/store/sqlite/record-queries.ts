import type Database from 'better-sqlite3'
import { MOST_NOTES, type Note } from '../../core/incident/note.ts'
import type { Silence } from '../../core/incident/silence.ts'
import type { QueryCalls } from '../engine.ts'
import { INCIDENT_COLUMNS, MOST_SILENCES, NOTE_COLUMNS, NOTIFICATION_COLUMNS, SILENCE_COLUMNS } from '../reads.ts'
import type { IncidentQuery, NotificationQuery } from '../store.ts'
import { codeText, type IncidentJson, type NotificationJson } from '../write-events.ts'

/** Finds incidents, notifications, silences and notes, along indexes that hold every column that a query filters by. */
export function createRecordQueries(db: Database.Database) {
  return {
    ...createIncidentQueries(db),
    notifications: createNotificationQuery(db),
    silences: createSilenceQuery(db),
    notes: createNoteQuery(db),
  } satisfies Partial<QueryCalls>
}

/** Newest first. */
function createIncidentQueries(db: Database.Database): Pick<QueryCalls, 'incidents' | 'incident'> {
  const byId = db.prepare(`SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE id = ?`)
  /** By text: one for each combination of filters. */
  const lists = new Map<string, Database.Statement>()

  function listOf(query: IncidentQuery): Database.Statement {
    const text = listText(query)
    const list = lists.get(text) ?? db.prepare(text)
    lists.set(text, list)
    return list
  }

  return {
    incidents(query) {
      const { networks, during, condition, after } = query
      const values = {
        ...query,
        ...during,
        afterMs: after?.openedAt,
        afterId: after?.id,
        networks: JSON.stringify(networks),
        code: condition === undefined ? undefined : codeText(condition),
        limit: Math.max(0, Math.floor(query.limit)),
      }
      return (listOf(query).all(values) as IncidentRow[]).map(incidentOf)
    },

    incident(id) {
      const row = byId.get(id) as IncidentRow | undefined
      return row === undefined ? null : incidentOf(row)
    },
  }
}

type IncidentRow = Omit<IncidentJson, 'absorbed'> & { readonly absorbed: 0 | 1 }

function incidentOf(row: IncidentRow): IncidentJson {
  return { ...row, absorbed: row.absorbed === 1 }
}

/** An endpoint's own incidents are merged with the outages that it was part of, both along an index. */
export function listText(query: IncidentQuery): string {
  const condition = conditionOf(query)
  const conditions =
    query.endpoint === undefined
      ? [condition]
      : [`${condition} AND endpoint = @endpoint`, `${condition} AND endpoint IS NULL AND ${IS_OUTAGE_OF_ENDPOINT}`]
  const selects = conditions.map((one) => `SELECT ${INCIDENT_COLUMNS} FROM incidents WHERE ${one}`)
  return `${selects.join(' UNION ALL ')} ORDER BY openedAt DESC, id DESC LIMIT @limit`
}

/** False for a damaged row. */
const IS_OUTAGE_OF_ENDPOINT = `CASE WHEN json_valid(incidents.value) THEN incidents.value ->> '$.cause' = 'outage' AND EXISTS (
  SELECT 1 FROM json_each(incidents.value, '$.affected') AS name WHERE name.value = @endpoint) ELSE 0 END`

/** Contains fixed text only: values are bound by name. */
function conditionOf({ network, networks, open, during, condition, after, partOf }: IncidentQuery): string {
  // The parts of a network-wide incident have no index: they are read only when a person opens that incident.
  const all = [partOf === undefined ? 'absorbed = 0' : `absorbed = 1 AND value ->> '$.absorbedBy' = @partOf`]
  if (network !== undefined) all.push('network = @network')
  if (networks !== undefined) all.push('network IN (SELECT value FROM json_each(@networks))')
  if (open !== undefined) all.push(`closed_ms IS ${open ? '' : 'NOT '}NULL`)
  if (during !== undefined) all.push('opened_ms < @to AND (closed_ms IS NULL OR closed_ms > @from)')
  if (condition !== undefined) all.push('instr(value, @code) > 0')
  if (after !== undefined) all.push('(opened_ms, id) < (@afterMs, @afterId)')
  return all.join(' AND ')
}

/** Of a row of `notifications`: a superseded one was never sent. False for a damaged row. */
export const IS_HEARD = "CASE WHEN json_valid(value) THEN value ->> '$.state' IS NOT 'superseded' ELSE 0 END"

/** Oldest first, in the order in which they were added; those about incidents are the newest. */
function createNotificationQuery(db: Database.Database): QueryCalls['notifications'] {
  const newest = (condition: string) =>
    db.prepare(`SELECT ${NOTIFICATION_COLUMNS} FROM notifications WHERE ${condition} ORDER BY rowid DESC LIMIT @limit`)
  const unfinished = newest(`waiting = 1 OR rowid IN (SELECT max(rowid) FROM notifications
    WHERE incident IN (SELECT id FROM incidents WHERE closed_ms IS NULL AND absorbed = 0) AND ${IS_HEARD}
    GROUP BY incident, channel)`)
  const ofOne = newest('incident = @incident')
  const latest = newest('true')
  const byIds = newest('id IN (SELECT value FROM json_each(@ids))')
  // Reads the index of incidents alone, however many rows there are.
  const byName = newest(`rowid IN (SELECT rowid FROM notifications
    WHERE EXISTS (SELECT 1 FROM json_each(@naming) AS text WHERE instr(incident, text.value) > 0)
    ORDER BY rowid DESC LIMIT @limit)`)

  function rowsOf({ about, limit }: NotificationQuery): unknown[] {
    if (about === 'unfinished') return unfinished.all({ limit })
    if (about === 'latest') return latest.all({ limit })
    if ('ids' in about) return byIds.all({ ids: JSON.stringify(about.ids), limit })
    if ('naming' in about) return byName.all({ naming: JSON.stringify(about.naming), limit })
    // In the order of the incidents: turned round with the rows of each.
    return about.incidents.toReversed().flatMap((incident) => ofOne.all({ incident, limit }))
  }

  type Row = Omit<NotificationJson, 'waiting'> & { readonly waiting: 0 | 1 }
  return (query) => (rowsOf(query) as Row[]).map((row) => ({ ...row, waiting: row.waiting === 1 })).toReversed()
}

/** Oldest first; of too many the newest. */
function createSilenceQuery(db: Database.Database): QueryCalls['silences'] {
  const between = db.prepare(
    `SELECT ${SILENCE_COLUMNS} FROM silences
     WHERE until_ms > @from AND from_ms < @to AND (@network IS NULL OR network = @network)
     ORDER BY from_ms DESC, rowid DESC LIMIT ${MOST_SILENCES}`,
  )
  return ({ from, to, network = null }) => (between.all({ from, to, network }) as Silence[]).toReversed()
}

/** Oldest first. */
function createNoteQuery(db: Database.Database): QueryCalls['notes'] {
  const ofSome = db.prepare(
    `SELECT ${NOTE_COLUMNS} FROM notes
     WHERE incident IN (SELECT value FROM json_each(@incidents)) ORDER BY at_ms, rowid LIMIT @limit`,
  )
  type Row = Omit<Note, 'isPublic'> & { readonly isPublic: 0 | 1 }
  return (incidents) => {
    const rows = ofSome.all({ incidents: JSON.stringify(incidents), limit: incidents.length * MOST_NOTES }) as Row[]
    return rows.map((row) => ({ ...row, isPublic: row.isPublic === 1 }))
  }
}
