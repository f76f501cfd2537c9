import type Database from 'better-sqlite3'
import type { IncidentRow } from './messages.ts'
import type { IncidentQuery } from './store.ts'

/** Finds incidents. The list is read along an index that has all it is asked for, from the newest on. */
export interface IncidentReader {
  incidents(query: IncidentQuery): IncidentRow[]
  incident(id: string): IncidentRow | null
}

const COLUMNS = 'id, network, endpoint, opened_ms, closed_ms, absorbed, value'

export function createIncidentReader(db: Database.Database): IncidentReader {
  const byId = db.prepare(`SELECT ${COLUMNS} FROM incidents WHERE id = ?`).raw()
  /** One for each combination of what may be asked. */
  const lists = new Map<string, Database.Statement>()

  function listOf(where: string): Database.Statement {
    const known = lists.get(where)
    if (known !== undefined) return known
    const list = db
      .prepare(`SELECT ${COLUMNS} FROM incidents WHERE ${where} ORDER BY opened_ms DESC, id DESC LIMIT @limit`)
      .raw()
    lists.set(where, list)
    return list
  }

  return {
    incidents(query) {
      const { network, endpoint, during, after, partOf } = query
      const where = whereOf(query)
      const limit = Math.max(0, Math.floor(query.limit))
      const values = {
        ...(network === undefined ? {} : { network }),
        ...(endpoint === undefined ? {} : { endpoint }),
        ...(during === undefined ? {} : { from: during.from, to: during.to }),
        ...(after === undefined ? {} : { afterMs: after.openedAt, afterId: after.id }),
        ...(partOf === undefined ? {} : { partOf }),
        limit,
      }
      return listOf(where).all(values) as IncidentRow[]
    },
    incident: (id) => (byId.get(id) as IncidentRow | undefined) ?? null,
  }
}

/** In words that are ours alone: values come in by name. */
function whereOf({ network, endpoint, open, during, after, partOf }: IncidentQuery): string {
  // No index has them: they are asked for by whoever looks at one incident of a whole network.
  const where = [partOf === undefined ? 'absorbed = 0' : `absorbed = 1 AND value ->> '$.absorbedBy' = @partOf`]
  if (network !== undefined) where.push('network = @network')
  if (endpoint !== undefined) where.push('endpoint = @endpoint')
  if (open !== undefined) where.push(`closed_ms IS ${open ? '' : 'NOT '}NULL`)
  if (during !== undefined) where.push('opened_ms < @to AND (closed_ms IS NULL OR closed_ms > @from)')
  if (after !== undefined) where.push('(opened_ms, id) < (@afterMs, @afterId)')
  return where.join(' AND ')
}
