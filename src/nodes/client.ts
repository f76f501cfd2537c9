import type { LookupFunction } from 'node:net'
import type { NodeAnswer, NodeRequest } from '../chains/chain.ts'
import type { Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import { type Connections, createConnections, type Lane } from './connections.ts'
import type { Deadline } from './deadline.ts'
import { decode, isPlain } from './decode.ts'
import { type Ending, Exchange, type RawAnswer } from './exchange.ts'
import { headerOf, readHttpDate, readRetryAfter } from './header.ts'
import { MAX_DEPTH, nestsDeeper } from './json-depth.ts'
import { isKeepAliveRace, transportFailure } from './transport-failure.ts'

/** `waitedMs`: how long our own limit of connections kept the request back. That is no time of the node's. */
export type Sent =
  | { readonly ok: true; readonly answer: NodeAnswer; readonly waitedMs: number }
  | { readonly ok: false; readonly failure: Failure; readonly waitedMs: number }

/** Sends to nodes, and takes whatever comes back. Never throws. */
export interface NodeClient {
  send(address: NodeAddress, request: NodeRequest, deadline: Deadline): Promise<Sent>
  /** When the certificate last seen there ends. */
  tlsNotAfter(address: NodeAddress): UnixMs | null
  /** Connections to one origin, at most, from now on. */
  limit(maxConnections: number): void
  /** Closes the connections that none of these addresses uses. */
  retain(addresses: readonly NodeAddress[]): void
  close(): Promise<void>
}

export interface NodeClientDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Connections to one origin, at most. */
  readonly maxConnections: number
  readonly lookup: LookupFunction | null
}

export function createNodeClient({ clock, maxConnections: allowed, lookup }: NodeClientDeps): NodeClient {
  const connections = new Map<string, Connections>()
  let maxConnections = allowed
  let opened = 0

  function connectionsTo(address: NodeAddress): Connections {
    let to = connections.get(address.connectionKey)
    if (to === undefined) {
      to = createConnections({ address, clock, lookup, maxConnections, nextNumber: () => ++opened })
      connections.set(address.connectionKey, to)
    }
    return to
  }

  /** Waits for a lane, then for the answer; when the deadline passes both are given up at once. */
  function send(address: NodeAddress, request: NodeRequest, deadline: Deadline): Promise<Sent> {
    const to = connectionsTo(address)
    return new Promise((resolve) => {
      let taken: Lane | null = null
      let repeated = false
      let waitingSince: number | null = null
      let waitedMs = 0

      const use = (lane: Lane): void => {
        taken = lane
        stopWaiting()
        const { method, body } = request
        const headers = method === 'GET' ? address.getHeaders : address.postHeaders
        lane.client.dispatch({ path: address.pathOf(request.path), method, headers, body }, new Exchange(lane, settle))
      }
      const stopWaiting = (): void => {
        if (waitingSince === null) return
        waitedMs += clock.monotonic() - waitingSince
        waitingSince = null
      }
      const ask = (): void => {
        if (deadline.passed) return giveUp()
        deadline.watch(giveUp)
        to.take(use, repeated)
        if (taken === null) waitingSince = clock.monotonic()
      }
      const giveUp = (): void => {
        stopWaiting()
        const lane = taken
        // First: cutting it ends the exchange, which is of no interest any more.
        taken = null
        if (lane === null) to.leave(use)
        else to.drop(lane)
        resolve({ ok: false, failure: { kind: 'timeout', afterMs: deadline.afterMs }, waitedMs })
      }
      const settle = (ending: Ending, lane: Lane): void => {
        if (lane !== taken) return
        taken = null
        deadline.unwatch(giveUp)
        if (ending.ok) {
          const sent = readAnswer(ending.raw, lane.connection, waitedMs)
          to.free(lane)
          return resolve(sent)
        }
        to.drop(lane)
        const failure = transportFailure(ending.error, ending.stage, deadline.afterMs)
        if (repeated || !isKeepAliveRace(failure, ending.stage, ending.reused)) {
          return resolve({ ok: false, failure, waitedMs })
        }
        repeated = true
        ask()
      }

      ask()
    })
  }

  function readAnswer(raw: RawAnswer, connection: number, waitedMs: number): Sent | Promise<Sent> {
    const receivedAt = clock.now()
    const encoding = headerOf(raw.headers, 'content-encoding')
    return encoding === null || isPlain(encoding)
      ? readPlain(raw, raw.body, connection, receivedAt, waitedMs)
      : decode(raw.body, encoding).then((plain) =>
          Buffer.isBuffer(plain)
            ? readPlain(raw, plain, connection, receivedAt, waitedMs)
            : { ok: false, failure: plain, waitedMs },
        )
  }

  return {
    send,
    tlsNotAfter: (address) => connections.get(address.connectionKey)?.tlsNotAfter ?? null,
    limit(next) {
      maxConnections = next
      for (const to of connections.values()) to.limit(next)
    },
    retain(addresses) {
      const kept = new Set(addresses.map(({ connectionKey }) => connectionKey))
      for (const [key, to] of connections) {
        if (kept.has(key)) continue
        connections.delete(key)
        void to.close()
      }
    },
    async close() {
      const all = [...connections.values()]
      connections.clear()
      await Promise.all(all.map((to) => to.close()))
    },
  }
}

function readPlain(
  { status, headers }: RawAnswer,
  plain: Buffer,
  connection: number,
  receivedAt: UnixMs,
  waitedMs: number,
): Sent {
  const text = plain.toString()
  if (looksLikeJson(text) && nestsDeeper(text, MAX_DEPTH)) {
    return { ok: false, failure: { kind: 'too-deep', limit: MAX_DEPTH }, waitedMs }
  }
  const date = readHttpDate(headerOf(headers, 'date'))
  const retryAfterMs = readRetryAfter(headerOf(headers, 'retry-after'), date ?? receivedAt)
  return { ok: true, answer: { status, body: text, receivedAt, date, retryAfterMs, connection }, waitedMs }
}

/** Of other texts (an HTML page) it is of no interest how deep they nest. */
function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text)
}
