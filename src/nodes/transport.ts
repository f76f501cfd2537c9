import type { LookupFunction } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { type Connections, createConnections, type Lane } from './connections.ts'
import { type Ending, Exchange, type Stage } from './exchange.ts'
import type { RawAnswer } from './http-client.ts'
import { MAX_INCOMING_BYTES } from './limits.ts'
import { MemoryBudget } from './memory-budget.ts'
import { isKeepAliveRace, transportFailure } from './transport-failure.ts'

/** Bytes to nodes and back, over connections that are kept: what checks and forwarded requests have in common. */
export interface Transport {
  /** Waits for a connection, then for the answer; when the limit passes both are given up at once. Calls `done` once. */
  exchange(address: NodeAddress, request: TransportRequest, limit: Limit, done: (exchanged: Exchanged) => void): void
  /** When the certificate last seen there ends. */
  tlsNotAfter(address: NodeAddress): UnixMs | null
  /** Connections to one origin, at most, from now on. */
  limit(maxConnections: number): void
  /** Closes the connections that none of these addresses uses; `gently` when what is under way has ended. */
  retain(addresses: readonly NodeAddress[], gently?: boolean): void
  close(): void
}

export interface TransportRequest {
  readonly method: 'GET' | 'POST'
  /** Appended to the base URL. */
  readonly path: string
  readonly body: string | Buffer | null
  /** Sent at most once, come what may: over a connection of its own where there may be one, as a used one may just be closing. */
  readonly once?: boolean
}

/** How long one exchange may take. */
export interface Limit {
  readonly passed: boolean
  readonly afterMs: number
  /** Calls `task` when it passes. */
  watch(task: () => void): void
  unwatch(task: () => void): void
}

/** `waitedMs`: how long our own limit of connections kept the request back. That is no time of the node's. */
export type Exchanged =
  | { readonly ok: true; readonly raw: RawAnswer; readonly connection: number; readonly waitedMs: number }
  | { readonly ok: false; readonly failure: Failure; readonly stage: Stage; readonly waitedMs: number }

export interface TransportDeps {
  readonly clock: Pick<Clock, 'monotonic'>
  /** Connections to one origin, at most. */
  readonly maxConnections: number
  readonly maxAnswerBytes: number
  /** Of all answers that come in at once, where they are long. */
  readonly maxIncomingBytes?: number
  readonly lookup: LookupFunction | null
}

export function createTransport({
  clock,
  maxConnections: allowed,
  maxAnswerBytes,
  maxIncomingBytes = MAX_INCOMING_BYTES,
  lookup,
}: TransportDeps): Transport {
  const connections = new Map<string, Connections>()
  let maxConnections = allowed
  const room = new MemoryBudget(maxIncomingBytes)
  let opened = 0
  const nextNumber = () => ++opened

  function connectionsTo(address: NodeAddress): Connections {
    let to = connections.get(address.connectionKey)
    if (to === undefined) {
      to = createConnections({ address, clock, lookup, maxConnections, maxAnswerBytes, room, nextNumber })
      connections.set(address.connectionKey, to)
    }
    return to
  }

  /** The first that is short of files must not be the page: connections that are kept for later give theirs back. */
  function giveFilesBack(): void {
    for (const to of connections.values()) to.closeIdle()
  }

  return {
    exchange(address, request, limit, done) {
      const to = connectionsTo(address)
      const { method, body, once = false } = request
      let taken: Lane | null = null
      let under: Exchange | null = null
      let repeated = false
      let waitingSince: number | null = null
      let waitedMs = 0

      const use = (lane: Lane): void => {
        taken = lane
        stopWaiting()
        under = new Exchange(lane, settle)
        lane.client.send({ head: address.headOf(method, request.path), body }, under)
      }
      const stopWaiting = (): void => {
        if (waitingSince === null) return
        waitedMs += clock.monotonic() - waitingSince
        waitingSince = null
      }
      const ask = (): void => {
        if (limit.passed) return giveUp()
        limit.watch(giveUp)
        to.take(use, repeated || once)
        if (taken === null) waitingSince = clock.monotonic()
      }
      const giveUp = (): void => {
        stopWaiting()
        const lane = taken
        const stage = under?.stage ?? 'unsent'
        // First: cutting it ends the exchange, which is of no interest any more.
        taken = null
        if (lane === null) to.leave(use)
        else to.drop(lane)
        done({ ok: false, failure: { kind: 'timeout', afterMs: limit.afterMs }, stage, waitedMs })
      }
      const settle = (ending: Ending, lane: Lane): void => {
        if (lane !== taken) return
        taken = null
        limit.unwatch(giveUp)
        if (ending.ok) {
          const { connection } = lane
          to.free(lane)
          return done({ ok: true, raw: ending.raw, connection, waitedMs })
        }
        to.drop(lane)
        const { error, stage, reused } = ending
        if (error.code === 'EMFILE' || error.code === 'ENFILE') giveFilesBack()
        const failure = transportFailure(error, stage, limit.afterMs, maxAnswerBytes)
        if (once || repeated || !isKeepAliveRace(failure, stage, reused)) {
          return done({ ok: false, failure, stage, waitedMs })
        }
        repeated = true
        ask()
      }

      ask()
    },

    tlsNotAfter: (address) => connections.get(address.connectionKey)?.tlsNotAfter ?? null,
    limit(next) {
      maxConnections = next
      for (const to of connections.values()) to.limit(next)
    },
    retain(addresses, gently = false) {
      const kept = new Set(addresses.map(({ connectionKey }) => connectionKey))
      for (const [key, to] of connections) {
        if (kept.has(key)) continue
        connections.delete(key)
        if (gently) to.retire()
        else to.close()
      }
    },
    close() {
      const all = [...connections.values()]
      connections.clear()
      for (const to of all) to.close()
    },
  }
}
