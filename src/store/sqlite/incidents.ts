import type Database from 'better-sqlite3'
import { codeText, type IncidentJson } from '../batches.ts'
import type { IncidentQuery } from '../store.ts'

/** Finds incidents, newest first, along indexes that hold every column that a query filters by. */
export interface IncidentReader {
  incidents(query: IncidentQuery): IncidentJson[]
  incident(id: string): IncidentJson | null
}

const COLUMNS = 'id, network, endpoint, opened_ms AS openedAt, closed_ms AS closedAt, absorbed, value AS json'

export function createIncidentReader(db: Database.Database): IncidentReader {
  const byId = db.prepare(`SELECT ${COLUMNS} FROM incidents WHERE id = ?`)
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
      const { network, networks, endpoint, during, condition, after, partOf } = query
      const limit = Math.max(0, Math.floor(query.limit))
      const values = {
        ...(network === undefined ? {} : { network }),
        ...(networks === undefined ? {} : { networks: JSON.stringify(networks) }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(during === undefined ? {} : { from: during.from, to: during.to }),
        ...(condition === undefined ? {} : { code: codeText(condition) }),
        ...(after === undefined ? {} : { afterMs: after.openedAt, afterId: after.id }),
        ...(partOf === undefined ? {} : { partOf }),
        limit,
      }
      return (listOf(query).all(values) as Row[]).map(incidentOf)
    },

    incident(id) {
      const row = byId.get(id) as Row | undefined
      return row === undefined ? null : incidentOf(row)
    },
  }
}

type Row = Omit<IncidentJson, 'absorbed'> & { readonly absorbed: 0 | 1 }

function incidentOf(row: Row): IncidentJson {
  return { ...row, absorbed: row.absorbed === 1 }
}

/** An endpoint's own incidents are merged with the outages that it was part of, both along an index. */
export function listText(query: IncidentQuery): string {
  const condition = conditionOf(query)
  const conditions =
    query.endpoint === undefined
      ? [condition]
      : [`${condition} AND endpoint = @endpoint`, `${condition} AND endpoint IS NULL AND ${IS_OUTAGE_OF_ENDPOINT}`]
  const selects = conditions.map((one) => `SELECT ${COLUMNS} FROM incidents WHERE ${one}`)
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
