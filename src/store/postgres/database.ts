import type { PoolClient, QueryConfig } from 'pg'
import type { Clock, Timer } from '../../clock.ts'
import type { UnixMs } from '../../core/time.ts'
import type { Secret } from '../../secret.ts'
import { ANSWER_WITHIN_MS, createConnections } from './connections.ts'
import { DatabaseError, databaseErrorOf } from './database-error.ts'
import { createListener } from './listener.ts'
import { createSessionLock } from './session-lock.ts'

/** The connections to PostgreSQL: whether it can be reached, and what time it has. Rejects with a DatabaseError. */
export interface Database {
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
  /** Holds this lock until the end, on a connection of its own; whether no other session holds it. */
  holdLock(lock: number): Promise<boolean>
  /** Whether the last statement reached PostgreSQL. While it did not, this is tried again every second. */
  readonly reachable: boolean
  /** Since when, on the local clock. */
  readonly since: UnixMs
  onChange(listener: (reachable: boolean) => void): void
  /** Calls the listener at each NOTIFY of this channel: a hint that can be lost. */
  listen(channel: string, listener: (payload: string) => void): void
  /** The time at the server, by the last round trip; the local time before the first one. */
  serverNow(): UnixMs
  /** How long the last round trip took; `null` before the first one. */
  readonly lagMs: number | null
  close(): Promise<void>
}

export type Query = Database['query']

export interface QueryOptions {
  /** Gives up the connection if the answer takes longer; 12 s by default. */
  readonly withinMs?: number
  /** Rows as arrays of values, which cost half as much as objects. */
  readonly asArrays?: boolean
}

export interface DatabaseDeps {
  readonly url: Secret
  /** The machine's own clock. */
  readonly clock: Clock
}

const PROBE_EVERY_MS = 1000
const PROBE_WITHIN_MS = 3000
/** While statements succeed, the server's clock and the way to it are measured this often. */
const MEASURE_EVERY_MS = 10_000
/** Rounded to milliseconds, like every time of ours. */
const SERVER_NOW = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now'

/** Loads the client. The first statement opens the first connection. */
export async function createDatabase({ url, clock }: DatabaseDeps): Promise<Database> {
  const connections = await createConnections(url)
  let reachable = true
  let since = clock.now()
  /** The server's time at 0 of the monotonic clock: the wall clock here may be set. */
  let originMs: number | null = null
  let lagMs: number | null = null
  let timer: Timer | null = null
  let closed = false
  const listeners: ((reachable: boolean) => void)[] = []
  const names = new Map<string, string>()
  const listener = createListener(connections.newClient)
  const sessionLock = createSessionLock(connections.newClient)

  function reached(is: boolean): void {
    if (is === reachable || closed) return
    reachable = is
    since = clock.now()
    schedule(is ? 0 : PROBE_EVERY_MS)
    for (const hears of listeners) hears(is)
  }

  /** Runs `work` on one connection, which is closed afterwards if its state is in doubt. */
  async function using<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    let client: PoolClient | null = null
    let isBroken = false
    const end = () => {
      isBroken = true
    }
    try {
      client = await connections.connect()
      client.on('error', end)
      const value = await work(client)
      reached(true)
      return value
    } catch (error) {
      const cause = databaseErrorOf(error)
      const isPoolBusy = client === null && connections.isFull() && cause.message.endsWith('timeout')
      const trouble = cause instanceof DatabaseError && !isPoolBusy ? cause.trouble : null
      // A server that only reads was demoted, and its successor may have the same name.
      if (trouble === 'unreachable' || trouble === 'read-only') isBroken = true
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
        await client.query('ROLLBACK').catch(() => undefined)
        throw error
      }
    })
  }

  function nameOf(text: string): string {
    const known = names.get(text) ?? `heartline_${names.size}`
    names.set(text, known)
    return known
  }

  async function measure(): Promise<void> {
    const from = clock.monotonic()
    const [row] = await using((client) =>
      queryOn(client)<{ now: number }>(SERVER_NOW, [], { withinMs: PROBE_WITHIN_MS }),
    )
    lagMs = clock.monotonic() - from
    if (row !== undefined) originMs = row.now - (from + lagMs / 2)
    await Promise.all([listener.keep(), sessionLock.keep()])
  }

  function schedule(delayMs: number): void {
    timer?.cancel()
    timer = closed ? null : clock.after(delayMs, () => void keepMeasuring())
  }

  async function keepMeasuring(): Promise<void> {
    await measure().catch(() => undefined)
    schedule(reachable ? MEASURE_EVERY_MS : PROBE_EVERY_MS)
  }

  schedule(0)

  return {
    query: (text, values, options) => using((client) => queryOn(client)(text, values, options)),

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

    get reachable() {
      return reachable
    },
    get since() {
      return since
    },
    get lagMs() {
      return lagMs
    },
    async holdLock(lock) {
      try {
        return await sessionLock.hold(lock)
      } catch (error) {
        throw databaseErrorOf(error)
      }
    },
    onChange: (hears) => void listeners.push(hears),
    listen(channel, hears) {
      listener.listen(channel, hears)
      schedule(0)
    },
    serverNow: () => (originMs === null ? clock.now() : Math.round(originMs + clock.monotonic())),

    async close() {
      closed = true
      timer?.cancel()
      await Promise.all([listener.close(), sessionLock.close(), connections.end()])
    },
  }
}
