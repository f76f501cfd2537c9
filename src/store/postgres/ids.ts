import type { EndpointKey } from '../../core/endpoint.ts'
import type { Registration } from '../write-events.ts'
import { bigints } from './arrays.ts'
import { ALONE } from './polls.ts'
import type { Query } from './sessions.ts'

/** The ids of endpoints, which never change once they are given. */
export function createEndpointIds(query: Query) {
  const known = new Map<EndpointKey, number>()

  return {
    /** Gives an id to each that has none, in a transaction of its own. */
    async ensure(names: Iterable<EndpointKey>): Promise<void> {
      const missing = [...new Set(names)].filter((name) => !known.has(name)).sort()
      if (missing.length === 0) return
      await query('INSERT INTO endpoints (name) SELECT unnest($1::text[]) ON CONFLICT (name) DO NOTHING', [missing])
      const rows = await query<{ name: string; id: number }>(
        'SELECT name, endpoint_id AS id FROM endpoints WHERE name = ANY ($1::text[])',
        [missing],
      )
      for (const { name, id } of rows) known.set(name, id)
    },

    /** After `ensure`. */
    idOf(name: EndpointKey): number {
      const id = known.get(name)
      if (id === undefined) throw new Error('an endpoint without an id')
      return id
    },
  }
}

export type EndpointIds = ReturnType<typeof createEndpointIds>

/** The number of this place, which it keeps for ever. */
export function createVantageId(query: Query, name: string | null): () => Promise<number> {
  let known: number | null = name === null ? ALONE : null

  async function find(): Promise<number | null> {
    const [row] = await query<{ id: number }>('SELECT vantage_id AS id FROM vantages WHERE name = $1', [name])
    return row?.id ?? null
  }

  return async () => {
    known ??= await find()
    if (known !== null) return known
    await query('INSERT INTO vantages (name) VALUES ($1) ON CONFLICT (name) DO NOTHING', [name])
    known = await find()
    return known ?? ALONE
  }
}

/** How long the results of these endpoints hold from now on. */
export async function registerHolds(query: Query, ids: EndpointIds, registrations: readonly Registration[]) {
  const latest = new Map(registrations.map((registration) => [ids.idOf(registration.endpoint), registration]))
  const rows = [...latest].sort(([a], [b]) => a - b)
  const values = [
    bigints(rows.map(([id]) => id)),
    bigints(rows.map(([, { at }]) => at)),
    bigints(rows.map(([, { holdMs }]) => holdMs)),
  ]
  // Rows in the future were written while a clock was ahead.
  await query(
    `DELETE FROM holds USING unnest($1::bigint[], $2::bigint[]) AS fresh (id, at)
     WHERE endpoint_id = fresh.id AND from_ms > greatest(0, fresh.at)`,
    values.slice(0, 2),
  )
  // The first one also applies to polls from before the registration.
  await query(
    `INSERT INTO holds (endpoint_id, from_ms, hold_ms)
     SELECT fresh.id, CASE WHEN latest.hold_ms IS NULL THEN 0 ELSE fresh.at END, fresh.hold
     FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS fresh (id, at, hold)
     LEFT JOIN LATERAL (SELECT hold_ms FROM holds WHERE endpoint_id = fresh.id ORDER BY from_ms DESC LIMIT 1) AS latest ON true
     WHERE latest.hold_ms IS DISTINCT FROM fresh.hold
     ON CONFLICT (endpoint_id, from_ms) DO UPDATE SET hold_ms = excluded.hold_ms`,
    values,
  )
}
