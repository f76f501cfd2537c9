import { DAY } from '../resolution.ts'
import type { Database } from './database.ts'

export type Partitions = ReturnType<typeof createPartitions>

const dayOf = (at: number) => Math.floor(at / DAY.widthMs)
const nameOf = (day: number) => `polls_${day}`.replace('-', 'm')

/** Any number: one session at a time changes the partitions. */
const PARTITIONS_LOCK = 7_241_993

/** The partitions of `polls`, one for each day since the epoch (UTC). */
export function createPartitions(database: Pick<Database, 'query' | 'transaction'>) {
  const known = new Set<number>()

  /** Attaching takes a lock that neither readers nor writers wait for; `CREATE TABLE … PARTITION OF` would block both. */
  async function make(day: number): Promise<void> {
    const name = nameOf(day)
    const [from, to] = [day * DAY.widthMs, (day + 1) * DAY.widthMs]
    await database.transaction(async (query) => {
      await query('SELECT pg_advisory_xact_lock($1)', [PARTITIONS_LOCK])
      const [found] = await query<{ isThere: boolean }>('SELECT to_regclass($1) IS NOT NULL AS "isThere"', [name])
      if (found?.isThere === true) return
      await query(`CREATE TABLE ${name} (LIKE polls INCLUDING DEFAULTS INCLUDING CONSTRAINTS)`)
      await query(`ALTER TABLE polls ATTACH PARTITION ${name} FOR VALUES FROM (${from}) TO (${to})`)
    })
    known.add(day)
  }

  return {
    /** Makes the partition of each of these times that is missing. */
    async ensure(times: Iterable<number>): Promise<void> {
      for (const day of new Set(Array.from(times, dayOf))) if (!known.has(day)) await make(day)
    },

    /** Drops those that end by this time; polls of a day that is kept in part stay. */
    async dropBefore(at: number): Promise<void> {
      const rows = await database.query<{ name: string }>(
        "SELECT c.relname AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = 'polls'::regclass",
      )
      for (const { name } of rows) {
        const day = Number(name.replace('polls_', '').replace('m', '-'))
        if (!Number.isInteger(day) || day >= dayOf(at)) continue
        known.delete(day)
        await database.query(`DROP TABLE IF EXISTS ${nameOf(day)}`)
      }
    },
  }
}
