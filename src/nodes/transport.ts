import type { LookupFunction } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { ConnectionBudget } from './connection-budget.ts'
import { type Connection, type ConnectionPool, createConnectionPool, type Waiter } from './connection-pool.ts'
import type { Deadline } from './deadline.ts'
import { type Ending, Exchange, type RawResponse, ResponseBody, type ResponseHead, type Stage } from './exchange.ts'
import { IncomingMemory } from './incoming-memory.ts'
import { LARGE_BODY_BYTES, MAX_INCOMING_BYTES, TURN_BYTES } from './limits.ts'
import { isKeepAliveRace, transportFailure } from './transport-failure.ts'

/** Sends requests to nodes over pooled connections, both for checks and for forwarded requests. */
export function createTransport({
  clock,
  maxConnections,
  connections = new ConnectionBudget(Number.POSITIVE_INFINITY),
  maxAnswerBytes,
  maxIncomingBytes = MAX_INCOMING_BYTES,
  lookup,
  nextTurn = () => null,
}: TransportDeps): Transport {
  const pools = new Map<string, ConnectionPool>()
  const incoming = new IncomingMemory(maxIncomingBytes)
  let limit = maxConnections
  let closed = false

  function poolOf(address: NodeAddress): ConnectionPool {
    let pool = pools.get(address.connectionKey)
    if (pool === undefined) {
      pool = createConnectionPool({ address, clock, lookup, maxConnections: limit, budget: connections })
      pools.set(address.connectionKey, pool)
    }
    return pool
  }

  return {
    exchange(address, request, deadline, done) {
      const pool = poolOf(address)
      const { method, path, body, once = false, caller = null } = request
      const headers = address.headers[method === 'GET' ? 'GET' : 'POST']
      const options = { method, path: address.pathOf(path), headers, body }
      let exchange: Exchange | null = null
      let current: Connection | null = null
      let repeated = false
      let waitingSince: number | null = null
      let waitedMs = 0
      let requests = 0
      let sizeAtNextTurn = LARGE_BODY_BYTES

      function start(): void {
        if (closed) return fail({ kind: 'reset' })
        if (deadline.passed) return giveUp()
        deadline.watch(giveUp)
        pool.take(waiter, repeated || once, caller)
        if (current === null) waitingSince = clock.monotonic()
      }
      const waiter: Waiter = { give: use, isLate: () => deadline.isOver }
      function use(connection: Connection | null): void {
        stopWaiting()
        if (connection === null) return fail({ kind: 'reset' })
        current = connection
        const response = new ResponseBody(maxAnswerBytes, incoming, caller)
        exchange = new Exchange(connection, response, mayReadOn, (ending) => {
          if (connection === current) settle(ending, connection)
        })
        connection.client.dispatch(options, exchange)
      }
      function nextTurnOf(size: number): Promise<void> | null {
        if (size <= sizeAtNextTurn) return null
        sizeAtNextTurn = size + TURN_BYTES
        return nextTurn(caller)
      }
      function mayReadOn(body: ResponseBody): Promise<void> | null {
        const turn = body.waitForMemory() ?? nextTurnOf(body.size)
        if (turn === null) return null
        waitingSince = clock.monotonic()
        return turn.then(stopWaiting)
      }
      function stopWaiting(): void {
        if (waitingSince !== null) waitedMs += clock.monotonic() - waitingSince
        waitingSince = null
      }
      function giveUp(): void {
        stopWaiting()
        const connection = current
        // Must precede closing the connection, which ends the exchange with an error.
        current = null
        if (connection === null) pool.leave(waiter)
        else {
          // A firewall may have dropped all connections silently: the next request needs a new one.
          if (connection.used && exchange?.stage === 'asked') pool.closeIdle()
          countSent()
          pool.drop(connection)
        }
        fail({ kind: 'timeout', afterMs: deadline.afterMs })
      }
      function settle(ending: Ending, connection: Connection): void {
        current = null
        countSent()
        deadline.unwatch(giveUp)
        if (ending.ok) {
          pool.free(connection)
          return done({ ok: true, raw: ending.raw, waitedMs, requests })
        }
        pool.drop(connection)
        const { error, stage, reused } = ending
        // Frees file descriptors, so that the web interface is not the first to run out of them.
        if (error.code === 'EMFILE' || error.code === 'ENFILE') for (const each of pools.values()) each.closeIdle()
        const failure = transportFailure(error, stage, deadline.afterMs, maxAnswerBytes)
        if (once || repeated || !isKeepAliveRace(failure, stage, reused)) return fail(failure)
        repeated = true
        start()
      }
      function fail(failure: Failure): void {
        deadline.unwatch(giveUp)
        done({
          ok: false,
          failure,
          stage: exchange?.stage ?? 'unsent',
          head: exchange?.head ?? null,
          waitedMs,
          requests,
        })
      }
      function countSent(): void {
        if (exchange?.stage !== 'unsent') requests++
      }

      start()
    },

    tlsNotAfter: (address) => pools.get(address.connectionKey)?.tlsNotAfter ?? null,
    isQueueing: (address, caller) => pools.get(address.connectionKey)?.isQueueing(caller) === true,
    limit(next) {
      limit = next
      for (const pool of pools.values()) pool.limit(next)
    },
    retain(addresses, gently = false) {
      const kept = new Set(addresses.map(({ connectionKey }) => connectionKey))
      for (const [key, pool] of pools) {
        if (kept.has(key)) continue
        pools.delete(key)
        if (gently) pool.retire()
        else pool.close()
      }
    },
    close() {
      closed = true
      for (const pool of pools.values()) pool.close()
      pools.clear()
    },
  }
}

export interface Transport {
  /** Waits for a connection and for the response until the deadline. Calls `done` exactly once. */
  exchange(address: NodeAddress, request: TransportRequest, deadline: Deadline, done: (result: Exchanged) => void): void
  /** Expiry of the last certificate seen at this address. */
  tlsNotAfter(address: NodeAddress): UnixMs | null
  /** Whether requests of the caller wait for a connection to this address. */
  isQueueing(address: NodeAddress, caller: string | null): boolean
  /** Sets the maximum number of connections per origin. */
  limit(maxConnections: number): void
  /** Closes all connections except those to these addresses; `gently` lets pending requests finish first. */
  retain(addresses: readonly NodeAddress[], gently?: boolean): void
  close(): void
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST' | 'PUT'
  /** Appended to the base URL. */
  readonly path: string
  readonly body: string | Buffer | null
  /** Never sent twice. Prefers a new connection, because the node may be about to close a used one. */
  readonly once?: boolean
  /** Connections are shared fairly between callers; `null` if there is only one. */
  readonly caller?: string | null
}

export type Exchanged = Effort &
  (
    | { readonly ok: true; readonly raw: RawResponse }
    | { readonly ok: false; readonly failure: Failure; readonly stage: Stage; readonly head: ResponseHead | null }
  )

export interface Effort {
  /** Time spent waiting for a connection, memory or a turn, which does not count as the node's latency. */
  readonly waitedMs: number
  /** Requests sent to the node: 0 if no connection was made, 2 if a connection was closed and another one was used. */
  readonly requests: number
}

export interface TransportDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Per origin. */
  readonly maxConnections: number
  /** Shared by all origins; unlimited by default. */
  readonly connections?: ConnectionBudget
  readonly maxAnswerBytes: number
  /** Budget shared by all long bodies that are being received. */
  readonly maxIncomingBytes?: number | undefined
  readonly lookup: LookupFunction | null
  /** Shares the event loop between callers' large bodies. Returns `null` if the caller's body may be read on at once. */
  readonly nextTurn?: ((caller: string | null) => Promise<void> | null) | undefined
}
