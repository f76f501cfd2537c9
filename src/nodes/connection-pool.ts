import type { LookupFunction, Socket } from 'node:net'
// The whole package, with fetch and WebSocket, takes three times as long to load.
import Client from 'undici/lib/dispatcher/client.js'
import type { Clock } from '../clock.ts'
import { FairQueue, FairShare } from '../core/fair-share.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { createConnector } from './connect.ts'
import type { BudgetedPool, ConnectionBudget } from './connection-budget.ts'
import { MAX_HEADER_BYTES } from './limits.ts'

/** Pools the connections to one origin with one TLS trust: undici clients that carry one request at a time each. */
export function createConnectionPool(deps: ConnectionPoolDeps): ConnectionPool {
  const { clock, maxConnections, budget } = deps
  const all = new Set<Connection>()
  const idle: Connection[] = []
  const waiting = new FairQueue<Waiter>()
  const inUse = new FairShare(maxConnections)
  const budgeted: BudgetedPool = { closeOldest, serveWaiting }
  /** Connections in use that count against this origin's part of the budget. */
  let own = 0
  let tlsNotAfter: UnixMs | null = null
  let state: 'open' | 'retired' | 'closed' = 'open'

  function createConnection(): Connection {
    const connection = openConnection(deps, {
      onCertificate: (notAfter) => {
        tlsNotAfter = notAfter
      },
      onDisconnect() {
        const at = idle.indexOf(connection)
        if (at === -1) return
        // Nothing is left of it to close. When a server ends, thousands of connections close in one turn of the event loop.
        idle.splice(at, 1)
        remove(connection)
      },
    })
    all.add(connection)
    budget.opened()
    return connection
  }

  function remove(connection: Connection): void {
    if (all.delete(connection)) budget.closed()
  }

  function destroy(connection: Connection): void {
    remove(connection)
    const { client, socket } = connection
    // undici treats a close without an error as the end of the response, and throws if the request was aborted.
    if (socket?.destroyed === false) socket.destroy(new Error('connection dropped'))
    void client.destroy().catch(() => {})
  }

  function closeIdle(): void {
    for (const connection of idle.splice(0)) destroy(connection)
  }

  /** Keeps the most recently used connections, so that polls with any interval find them. */
  function closeSurplus(now: number): void {
    while (idle.length > KEPT && now - (idle[0] as Connection).idleSince > SURPLUS_MS)
      destroy(idle.shift() as Connection)
  }

  function closeOldest(): boolean {
    const oldest = idle.shift()
    if (oldest !== undefined) destroy(oldest)
    return oldest !== undefined
  }

  function isFull(): boolean {
    return all.size >= inUse.max
  }

  function mayTake(caller: string | null): boolean {
    return inUse.mayTake(caller) && budget.mayTake(own, caller)
  }

  function handOver(connection: Connection, caller: string | null, give: Waiter['give']): void {
    connection.caller = caller
    connection.isOwn = budget.take(own, caller)
    if (connection.isOwn) own++
    inUse.take(caller)
    give(connection)
  }

  function release({ caller, isOwn }: Connection): void {
    inUse.release(caller)
    if (isOwn) own--
    else budget.release(caller)
  }

  function serveWaiting(): boolean {
    while (waiting.size > 0) {
      if (state === 'closed' || (idle.length === 0 && isFull())) break
      const next = waiting.next(mayTake)
      if (next === null) break
      // Its deadline ends it. A connection for each of thousands of late requests would stop the event loop.
      if (next.item.isLate()) continue
      handOver(idle.pop() ?? createConnection(), next.caller, next.item.give)
    }
    return waiting.size > 0
  }

  function drop(connection: Connection): void {
    destroy(connection)
    release(connection)
    serveWaiting()
  }

  function isReusable({ socket, openedAt }: Connection, now: number): boolean {
    if (state === 'closed' || (state === 'retired' && waiting.size === 0)) return false
    // A node that responded before it received the whole request would read the rest as the next request.
    const isClean = socket !== null && !socket.destroyed && socket.writableLength === 0
    return isClean && all.size <= inUse.max && now - openedAt <= MAX_AGE_MS
  }

  return {
    take(waiter, fresh, caller) {
      const { give } = waiter
      if (state === 'closed') return give(null)
      const isNew = idle.length === 0 || (fresh && !isFull())
      if (mayTake(caller) && !(isNew && isFull())) {
        return handOver(isNew ? createConnection() : (idle.pop() as Connection), caller, give)
      }
      waiting.add(caller, waiter)
      budget.addWaiting(budgeted)
    },
    leave: (waiter) => waiting.delete(waiter),
    free(connection) {
      const now = clock.monotonic()
      if (!isReusable(connection, now)) return drop(connection)
      connection.idleSince = now
      idle.push(connection)
      budget.addIdle(budgeted)
      closeSurplus(now)
      release(connection)
      serveWaiting()
    },
    drop,
    closeIdle,
    isQueueing: (caller) => waiting.has(caller),
    limit(next) {
      inUse.max = next
      for (const connection of idle.splice(0, Math.max(0, all.size - next))) destroy(connection)
      serveWaiting()
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
      for (const { give } of waiting.drain()) give(null)
    },
  }
}

function openConnection({ address, clock, lookup }: ConnectionPoolDeps, on: ConnectionEvents): Connection {
  const client = createClient(address, {
    trust: address.tls,
    lookup,
    onOpening(socket) {
      Object.assign(connection, { socket, used: false, openedAt: clock.monotonic() })
    },
    onCertificate: on.onCertificate,
  })
  const connection: Connection = {
    client,
    caller: null,
    isOwn: false,
    socket: null,
    exchange: null,
    used: false,
    openedAt: 0,
    idleSince: 0,
  }
  client.on('connect', () => {
    const socket = connection.socket as Socket
    const read = socket.read.bind(socket)
    // Node.js itself reads with a size, and the parser without one.
    socket.read = (size?: number) => (size === undefined && connection.exchange?.isWaiting === true ? null : read(size))
    socket.on('data', (bytes: Buffer) => connection.exchange?.onBytes(bytes))
  })
  client.on('disconnect', on.onDisconnect)
  return connection
}

function createClient({ origin }: NodeAddress, connector: Parameters<typeof createConnector>[0]): Client {
  return new Client(origin, {
    connect: createConnector(connector),
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: MAX_AGE_MS,
    keepAliveMaxTimeout: MAX_AGE_MS,
    // The deadline of the request is the only timeout.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: MAX_HEADER_BYTES,
  })
}

export interface ConnectionPool {
  /**
   * Gives the most recently used free connection, so that surplus ones stay unused and close, or waits for a free one.
   * `fresh` prefers a new connection if the limit allows one. `give` receives `null` if the pool is closed. Connections
   * are shared fairly between callers.
   */
  take(waiter: Waiter, fresh: boolean, caller: string | null): void
  /** Cancels a pending `take`. */
  leave(waiter: Waiter): void
  free(connection: Connection): void
  /** Closes a connection instead of returning it to the pool. */
  drop(connection: Connection): void
  closeIdle(): void
  limit(maxConnections: number): void
  readonly tlsNotAfter: UnixMs | null
  /** Whether requests of the caller wait for a connection. */
  isQueueing(caller: string | null): boolean
  /** Lets pending requests finish, then closes all connections. */
  retire(): void
  /** Aborts pending requests and closes all connections. */
  close(): void
}

export interface Waiter {
  readonly give: (connection: Connection | null) => void
  /** Whether the deadline is over: no connection is given any more. */
  readonly isLate: () => boolean
}

/** One undici client: it connects for a request, and reconnects if its socket was closed in the meantime. */
export interface Connection {
  readonly client: Client
  /** The caller whose share this connection counts against; `null` for none. */
  caller: string | null
  /** Whether it counts against the origin's part of the budget. */
  isOwn: boolean
  /** `null` before the first connect. */
  socket: Socket | null
  exchange: { readonly isWaiting: boolean; onBytes(bytes: Buffer): void } | null
  /** True once the current socket has carried a response: the node may be about to close it. */
  used: boolean
  /** Milliseconds on the monotonic clock, like `idleSince`. */
  openedAt: number
  idleSince: number
}

interface ConnectionEvents {
  readonly onCertificate: (notAfter: UnixMs | null) => void
  readonly onDisconnect: () => void
}

export interface ConnectionPoolDeps {
  readonly address: NodeAddress
  readonly clock: Pick<Clock, 'monotonic'>
  readonly lookup: LookupFunction | null
  readonly maxConnections: number
  readonly budget: ConnectionBudget
}

/** Only a new connection picks up a changed DNS record or certificate. A node may close an idle connection sooner. */
const MAX_AGE_MS = 600_000

/** A poll of liveness and head uses two if the node takes its time: with only one kept, each would shake hands again. */
const KEPT = 2

/** How long further connections stay open without being used. */
const SURPLUS_MS = 25_000
