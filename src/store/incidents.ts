import type Database from 'better-sqlite3'
import type { IncidentJson } from './batches.ts'
import type { IncidentQuery } from './store.ts'

/** Finds incidents, newest first, along indexes that hold every column that a query filters by. */
export interface IncidentReader {
  incidents(query: IncidentQuery): IncidentJson[]
  incident(id: string): IncidentJson | null
}

const COLUMNS = 'id, network, endpoint, opened_ms AS openedAt, closed_ms AS closedAt, absorbed, value AS json'

export function createIncidentReader(db: Database.Database): IncidentReader {
  const byId = db.prepare(`SELECT ${COLUMNS} FROM incidents WHERE id = ?`)
  /** By condition: one for each combination of filters. */
  const lists = new Map<string, Database.Statement>()

  function listOf(condition: string): Database.Statement {
    const known = lists.get(condition)
    if (known !== undefined) return known
    const list = db.prepare(
      `SELECT ${COLUMNS} FROM incidents WHERE ${condition} ORDER BY opened_ms DESC, id DESC LIMIT @limit`,
    )
    lists.set(condition, list)
    return list
  }

  return {
    incidents(query) {
      const { network, endpoint, during, after, partOf } = query
      const limit = Math.max(0, Math.floor(query.limit))
      const values = {
        ...(network === undefined ? {} : { network }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(during === undefined ? {} : { from: during.from, to: during.to }),
        ...(after === undefined ? {} : { afterMs: after.openedAt, afterId: after.id }),
        ...(partOf === undefined ? {} : { partOf }),
        limit,
      }
      return (listOf(conditionOf(query)).all(values) as Row[]).map(incidentOf)
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

/** Contains fixed text only: values are bound by name. */
function conditionOf({ network, endpoint, open, during, after, partOf }: IncidentQuery): string {
  // The parts of a network-wide incident have no index: they are read only when a person opens that incident.
  const all = [partOf === undefined ? 'absorbed = 0' : `absorbed = 1 AND value ->> '$.absorbedBy' = @partOf`]
  if (network !== undefined) all.push('network = @network')
  if (endpoint !== undefined) all.push('endpoint = @endpoint')
  if (open !== undefined) all.push(`closed_ms IS ${open ? '' : 'NOT '}NULL`)
  if (during !== undefined) all.push('opened_ms < @to AND (closed_ms IS NULL OR closed_ms > @from)')
  if (after !== undefined) all.push('(opened_ms, id) < (@afterMs, @afterId)')
  return all.join(' AND ')
}
