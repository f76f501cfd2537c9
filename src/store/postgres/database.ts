import type { Clock, Timer } from '../../clock.ts'
import type { UnixMs } from '../../core/time.ts'
import type { Secret } from '../../secret.ts'
import { createConnections } from './connections.ts'
import { databaseErrorOf } from './database-error.ts'
import { createSessions, type Sessions } from './sessions.ts'
import { createStandingConnection } from './standing-connection.ts'

/** The connections to PostgreSQL: whether it can be reached, and what time it has. Rejects with a DatabaseError. */
export interface Database extends Sessions {
  /**
   * Uses the database until the end, with a lock on a connection of its own; whether no daemon excludes this one: any number
   * of members use it, or one daemon without `cluster`. `onLost`: that connection has ended. The lock is taken again if it
   * is free; only the next call says whether it is held.
   */
  join(onLost: () => void): Promise<boolean>
  /** Whether the last statement reached PostgreSQL. While it did not, this is tried again every second. */
  readonly reachable: boolean
  /** Since when, on the local clock. */
  readonly since: UnixMs
  onChange(listener: (reachable: boolean) => void): void
  /** Calls the listener at each NOTIFY of this channel: a hint that can be lost. */
  listen(channel: string, listener: (payload: string) => void): void
  /** The time at the server, by the last round trip; the local time before the first one. */
  serverNow(): UnixMs
  /** How long the last round trip took; `null` before the first one, and while PostgreSQL cannot be reached. */
  readonly lagMs: number | null
  close(): Promise<void>
  /** Ends all connections without the server: statements under way fail, and `close` resolves. */
  abandon(): void
}

export interface DatabaseDeps {
  readonly url: Secret
  /** The machine's own clock. */
  readonly clock: Clock
  /** Whether it has no leases: their connection is then used for all else. */
  readonly isAlone?: boolean
}

/** Any number. */
const USED = 7_241_995
const PROBE_EVERY_MS = 1000
const PROBE_WITHIN_MS = 3000
/** While statements succeed, the server's clock and the way to it are measured: one that hangs is known before a write is slow. */
const MEASURE_EVERY_MS = 2000
/** Rounded to milliseconds, like every time of ours. */
const SERVER_NOW = `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
  current_setting('transaction_read_only') = 'on' AS "onlyReads"`

/** Loads the client. The first statement opens the first connection. */
export async function createDatabase({ url, clock, isAlone = false }: DatabaseDeps): Promise<Database> {
  const connections = await createConnections(url, isAlone, moved)
  let reachable = true
  let since = clock.now()
  /** The server's time at 0 of the monotonic clock: the wall clock here may be set. */
  let originMs: number | null = null
  let lagMs: number | null = null
  let timer: Timer | null = null
  let closed = false
  const listeners: ((reachable: boolean) => void)[] = []
  const sessions = createSessions(connections, reached)
  const standing = createStandingConnection(connections.newClient, { id: USED, isShared: !isAlone })

  function reached(is: boolean): void {
    if (is === reachable || closed) return
    reachable = is
    since = clock.now()
    schedule(is ? 0 : PROBE_EVERY_MS)
    for (const hears of listeners) hears(is)
  }

  /** Others may have used the new server meanwhile. */
  function moved(): void {
    standing.moved()
    reached(false)
  }

  async function measure(): Promise<void> {
    const from = clock.monotonic()
    const asked = { withinMs: PROBE_WITHIN_MS }
    const [row] = await sessions.query<{ now: number; onlyReads: boolean }>(SERVER_NOW, [], asked)
    lagMs = clock.monotonic() - from
    if (row?.onlyReads === true) return connections.leave()
    if (row !== undefined) originMs = row.now - (from + lagMs / 2)
    await standing.keep()
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
    ...sessions,

    get reachable() {
      return reachable
    },
    get since() {
      return since
    },
    get lagMs() {
      return reachable ? lagMs : null
    },
    async join(onLost) {
      try {
        return await standing.hold(onLost)
      } catch (error) {
        throw databaseErrorOf(error)
      }
    },
    onChange: (hears) => void listeners.push(hears),
    listen(channel, hears) {
      standing.listen(channel, hears)
      schedule(0)
    },
    serverNow: () => (originMs === null ? clock.now() : Math.round(originMs + clock.monotonic())),

    async close() {
      closed = true
      timer?.cancel()
      await Promise.all([standing.close(), connections.end()])
    },

    abandon() {
      closed = true
      timer?.cancel()
      void standing.close()
      connections.abandon()
    },
  }
}
