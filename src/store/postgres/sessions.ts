import type { PoolClient, QueryConfig } from 'pg'
import type { StoreTrouble } from '../store.ts'
import { ANSWER_WITHIN_MS, type Connections, type Use } from './connections.ts'
import { DatabaseError, databaseErrorOf, ONLY_READS } from './database-error.ts'

/** Runs statements, each on a connection of the pool. */
export interface Sessions {
  /** One statement. With values it is prepared under its text, which therefore must not contain any. */
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    options?: QueryOptions,
  ): Promise<readonly Row[]>
  /** All or nothing; rolled back when `work` rejects. */
  transaction<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Only reads, all as of one moment. */
  snapshot<T>(work: (query: Query) => Promise<T>): Promise<T>
  /** Runs `work` while no other session holds this lock; `null` if one does. */
  exclusively<T>(lock: number, work: () => Promise<T>): Promise<T | null>
}

export type Query = Sessions['query']

export interface QueryOptions {
  /** Gives up the connection if the answer takes longer; 12 s by default. */
  readonly withinMs?: number
  /** Rows as arrays of values, which cost half as much as objects. */
  readonly asArrays?: boolean
  readonly use?: Use
}

export function createSessions(connections: Connections, reached: (is: boolean) => void): Sessions {
  const names = new Map<string, string>()

  /** Runs `work` on one connection, which is closed afterwards if its state is in doubt. */
  async function using<T>(work: (client: PoolClient) => Promise<T>, use: Use = 'all else'): Promise<T> {
    let client: PoolClient | null = null
    let isBroken = false
    const end = () => {
      isBroken = true
    }
    try {
      client = await connections.connect(use)
      client.on('error', end)
      const value = await work(client)
      reached(true)
      return value
    } catch (error) {
      const cause = databaseErrorOf(error)
      const isPoolBusy = client === null && connections.isFull(use) && cause.message.endsWith('timeout')
      const trouble = isPoolBusy ? null : troubleOf(cause)
      if (trouble === 'unreachable' || trouble === 'read-only') isBroken = true
      if (client !== null && cause instanceof DatabaseError && cause.code === ONLY_READS) connections.leave()
      else if (client !== null && trouble === 'unreachable') connections.distrust(client)
      if (trouble === 'unreachable') reached(false)
      else if (client !== null) reached(true)
      throw cause
    } finally {
      client?.off('error', end)
      client?.release(isBroken)
    }
  }

  const queryOn =
    (client: PoolClient): Query =>
    async <Row>(
      text: string,
      values: readonly unknown[] = [],
      { withinMs = ANSWER_WITHIN_MS, asArrays = false }: QueryOptions = {},
    ) => {
      const prepared = values.length === 0 ? null : { values: [...values], name: nameOf(text) }
      const mode = asArrays ? { rowMode: 'array' } : null
      const { rows } = await client.query({ text, query_timeout: withinMs, ...mode, ...prepared } as QueryConfig)
      return rows as Row[]
    }

  function inTransaction<T>(begin: string, work: (query: Query) => Promise<T>): Promise<T> {
    return using(async (client) => {
      await client.query(begin)
      try {
        const value = await work(queryOn(client))
        await client.query('COMMIT')
        return value
      } catch (error) {
        // A connection that does not answer is closed: it would not answer this either.
        if (troubleOf(error) !== 'unreachable') await client.query('ROLLBACK').catch(() => undefined)
        throw error
      }
    })
  }

  function nameOf(text: string): string {
    const known = names.get(text) ?? `heartline_${names.size}`
    names.set(text, known)
    return known
  }

  return {
    query: (text, values, options) => using((client) => queryOn(client)(text, values, options), options?.use),

    transaction: (work) => inTransaction('BEGIN', work),
    snapshot: (work) => inTransaction('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', work),

    exclusively: (lock, work) =>
      using(async (client) => {
        const query = queryOn(client)
        const [row] = await query<{ isMine: boolean }>('SELECT pg_try_advisory_lock($1) AS "isMine"', [lock])
        if (row?.isMine !== true) return null
        try {
          return await work()
        } finally {
          await query('SELECT pg_advisory_unlock($1)', [lock])
        }
      }),
  }
}

function troubleOf(error: unknown): StoreTrouble | null {
  const cause = databaseErrorOf(error)
  return cause instanceof DatabaseError ? cause.trouble : null
}
