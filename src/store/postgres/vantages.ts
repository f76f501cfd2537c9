import { ALONE } from './polls.ts'
import type { Query } from './sessions.ts'

/** The number of this place, which it keeps for ever. */
export function createVantageId(query: Query, name: string | null): () => Promise<number> {
  let known: number | null = name === null ? ALONE : null

  async function find(): Promise<number | null> {
    const [row] = await query<{ id: number }>('SELECT vantage_id AS id FROM vantages WHERE name = $1', [name])
    return row?.id ?? null
  }

  return async () => {
    if (known !== null) return known
    known = await find()
    if (known !== null) return known
    await query('INSERT INTO vantages (name) VALUES ($1) ON CONFLICT (name) DO NOTHING', [name])
    known = await find()
    return known ?? ALONE
  }
}
