import type { LookupFunction, Socket } from 'node:net'
import { Client } from 'undici'
import type { Clock } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { createConnector } from './connect.ts'
import { MAX_HEADER_BYTES } from './limits.ts'

/** Keeps the connections to one origin with one trust, each an undici client, and gives them to one request at a time. */
export function createConnectionPool({
  address,
  clock,
  lookup,
  maxConnections,
  nextNumber,
}: ConnectionPoolDeps): ConnectionPool {
  let limit = maxConnections
  const all = new Set<Connection>()
  const idle: Connection[] = []
  const waiting = new Set<GiveConnection>()
  let tlsNotAfter: UnixMs | null = null
  let state: 'open' | 'retired' | 'closed' = 'open'

  function createConnection(): Connection {
    const connect = createConnector({
      trust: address.tls,
      lookup,
      onOpening(socket) {
        Object.assign(connection, { socket, number: nextNumber(), used: false, openedAt: clock.monotonic() })
      },
      onCertificate: (notAfter) => {
        tlsNotAfter = notAfter
      },
    })
    const client = new Client(address.origin, {
      connect,
      pipelining: 1,
      allowH2: false,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      // The deadline of the request is the only timeout.
      headersTimeout: 0,
      bodyTimeout: 0,
      maxHeaderSize: MAX_HEADER_BYTES,
    })
    const connection: Connection = { client, socket: null, exchange: null, number: 0, used: false, openedAt: 0 }
    client.on('connect', () => connection.socket?.on('data', (bytes: Buffer) => connection.exchange?.onBytes(bytes)))
    client.on('disconnect', () => {
      const at = idle.indexOf(connection)
      if (at === -1) return
      idle.splice(at, 1)
      destroy(connection)
    })
    all.add(connection)
    return connection
  }

  function destroy(connection: Connection): void {
    all.delete(connection)
    // Not without an error: undici would take that for the end of the response, and throw if its request was aborted.
    connection.socket?.destroy(new Error('connection dropped'))
    void connection.client.destroy().catch(() => {})
  }

  function closeIdle(): void {
    for (const connection of idle.splice(0)) destroy(connection)
  }

  function handOver(connection: Connection): void {
    for (const give of waiting) {
      waiting.delete(give)
      return give(connection)
    }
    idle.push(connection)
  }

  function openForWaiting(): void {
    if (state === 'closed') return
    while (waiting.size > 0 && all.size < limit) handOver(createConnection())
  }

  function drop(connection: Connection): void {
    destroy(connection)
    openForWaiting()
  }

  function isReusable({ socket, openedAt }: Connection): boolean {
    if (state === 'closed' || (state === 'retired' && waiting.size === 0)) return false
    // A node that responded before it had the whole request would take the rest of it for the next one.
    const isClean = socket !== null && !socket.destroyed && socket.writableLength === 0
    return isClean && all.size <= limit && clock.monotonic() - openedAt <= MAX_AGE_MS
  }

  return {
    take(give, fresh) {
      if (state === 'closed') return give(null)
      const connection = fresh && all.size < limit ? undefined : idle.pop()
      if (connection !== undefined) give(connection)
      else if (all.size < limit) give(createConnection())
      else waiting.add(give)
    },
    leave: (give) => void waiting.delete(give),
    free(connection) {
      if (isReusable(connection)) handOver(connection)
      else drop(connection)
    },
    drop,
    closeIdle,
    limit(next) {
      limit = next
      for (const connection of idle.splice(0, Math.max(0, all.size - limit))) destroy(connection)
      openForWaiting()
    },
    get tlsNotAfter() {
      return tlsNotAfter
    },
    retire() {
      state = 'retired'
      closeIdle()
    },
    close() {
      state = 'closed'
      idle.length = 0
      for (const connection of all) destroy(connection)
      for (const give of waiting) give(null)
      waiting.clear()
    },
  }
}

export interface ConnectionPool {
  /**
   * Gives a free connection, or the next one to become free: the last used first, so that those in excess grow old and close. `fresh`: a
   * new connection, if the limit allows one. `null`: the pool was closed.
   */
  take(give: GiveConnection, fresh: boolean): void
  /** Stops waiting for a connection. */
  leave(give: GiveConnection): void
  free(connection: Connection): void
  /** Closes a connection on which something went wrong. */
  drop(connection: Connection): void
  closeIdle(): void
  limit(maxConnections: number): void
  readonly tlsNotAfter: UnixMs | null
  /** Lets pending requests finish, then closes all connections. */
  retire(): void
  /** Ends pending requests. */
  close(): void
}

export type GiveConnection = (connection: Connection | null) => void

/** One connection. undici opens it for a request, and again if it was closed in the meantime. */
export interface Connection {
  readonly client: Client
  /** `null` before it is first opened. */
  socket: Socket | null
  /** The request that it carries now. */
  exchange: { onBytes(bytes: Buffer): void } | null
  /** A new number each time it is opened: perhaps another node. */
  number: number
  /** It has carried a response since it was opened: the node may be about to close it. */
  used: boolean
  /** On the monotonic clock. */
  openedAt: number
}

export interface ConnectionPoolDeps {
  readonly address: NodeAddress
  readonly clock: Pick<Clock, 'monotonic'>
  readonly lookup: LookupFunction | null
  readonly maxConnections: number
  readonly nextNumber: () => number
}

/** Common servers close an idle connection after 60 s or more, load balancers sometimes sooner. */
const KEEP_ALIVE_MS = 25_000

/** Only a new connection notices a name that moved or a certificate that changed. */
const MAX_AGE_MS = 600_000
