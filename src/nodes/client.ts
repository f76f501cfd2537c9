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

export type Sent =
  | { readonly ok: true; readonly answer: NodeAnswer }
  | { readonly ok: false; readonly failure: Failure }

/** Sends to nodes, and takes whatever comes back. Never throws. */
export interface NodeClient {
  send(address: NodeAddress, request: NodeRequest, deadline: Deadline): Promise<Sent>
  /** When the certificate last seen there ends. */
  tlsNotAfter(address: NodeAddress): UnixMs | null
  /** Closes the connections that none of these addresses uses. */
  retain(addresses: readonly NodeAddress[]): void
  close(): Promise<void>
}

export interface NodeClientDeps {
  readonly clock: Pick<Clock, 'now'>
  /** Connections to one origin, at most. */
  readonly maxConnections: number
  readonly lookup: LookupFunction | null
}

export function createNodeClient({ clock, maxConnections, lookup }: NodeClientDeps): NodeClient {
  const connections = new Map<string, Connections>()
  let opened = 0

  function connectionsTo(address: NodeAddress): Connections {
    let to = connections.get(address.connectionKey)
    if (to === undefined) {
      to = createConnections({ address, lookup, maxConnections, nextNumber: () => ++opened })
      connections.set(address.connectionKey, to)
    }
    return to
  }

  async function send(address: NodeAddress, request: NodeRequest, deadline: Deadline): Promise<Sent> {
    const to = connectionsTo(address)
    for (let mayRepeat = true; ; mayRepeat = false) {
      const { ending, connection } = await exchange(to, address, request, deadline, !mayRepeat)
      if (ending === null) return { ok: false, failure: { kind: 'timeout', afterMs: deadline.afterMs } }
      if (ending.ok) return read(ending.raw, connection)
      const failure = transportFailure(ending.error, ending.stage, deadline.afterMs)
      if (mayRepeat && isKeepAliveRace(failure, ending.stage, ending.reused)) continue
      return { ok: false, failure }
    }
  }

  function read(raw: RawAnswer, connection: number): Sent | Promise<Sent> {
    const receivedAt = clock.now()
    const encoding = headerOf(raw.headers, 'content-encoding')
    return encoding === null || isPlain(encoding)
      ? readPlain(raw, raw.body, connection, receivedAt)
      : decode(raw.body, encoding).then((plain) =>
          Buffer.isBuffer(plain) ? readPlain(raw, plain, connection, receivedAt) : { ok: false, failure: plain },
        )
  }

  function readPlain({ status, headers }: RawAnswer, plain: Buffer, connection: number, receivedAt: UnixMs): Sent {
    const text = plain.toString()
    if (looksLikeJson(text) && nestsDeeper(text, MAX_DEPTH)) {
      return { ok: false, failure: { kind: 'too-deep', limit: MAX_DEPTH } }
    }
    const date = readHttpDate(headerOf(headers, 'date'))
    const retryAfterMs = readRetryAfter(headerOf(headers, 'retry-after'), date ?? receivedAt)
    return { ok: true, answer: { status, body: text, receivedAt, date, retryAfterMs, connection } }
  }

  return {
    send,
    tlsNotAfter: (address) => connections.get(address.connectionKey)?.tlsNotAfter ?? null,
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

interface Exchanged {
  /** `null` when the deadline passed. */
  readonly ending: Ending | null
  readonly connection: number
}

/** Waits for a lane, then for the answer; when the deadline passes both are given up at once. */
function exchange(
  to: Connections,
  address: NodeAddress,
  request: NodeRequest,
  deadline: Deadline,
  fresh: boolean,
): Promise<Exchanged> {
  return new Promise((resolve) => {
    let taken: Lane | null = null
    let settled = false

    const settle = (ending: Ending | null): void => {
      if (settled) return
      settled = true
      deadline.unwatch(giveUp)
      if (taken === null) to.leave(use)
      else if (ending?.ok) to.free(taken)
      else to.drop(taken)
      resolve({ ending, connection: taken?.connection ?? 0 })
    }
    const giveUp = (): void => settle(null)
    const use = (lane: Lane): void => {
      taken = lane
      const { method, body } = request
      const headers = method === 'GET' ? address.getHeaders : address.postHeaders
      lane.client.dispatch({ path: address.pathOf(request.path), method, headers, body }, new Exchange(lane, settle))
    }

    if (deadline.passed) return settle(null)
    deadline.watch(giveUp)
    to.take(use, fresh)
  })
}

/** Of other texts (an HTML page) it is of no interest how deep they nest. */
function looksLikeJson(text: string): boolean {
  return /^\s*[[{]/.test(text)
}
