import type { LookupFunction } from 'node:net'
import type { NodeAnswer, NodeRequest } from '../chains/chain.ts'
import type { Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAddress } from './address.ts'
import type { Deadline } from './deadline.ts'
import { decode, isPlain } from './decode.ts'
import type { RawResponse } from './exchange.ts'
import { headerOf, readHttpDate, readRetryAfter } from './header.ts'
import { MAX_DEPTH, nestsDeeper } from './json-depth.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'
import { createTransport } from './transport.ts'

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

export function createNodeClient({ clock, maxConnections, lookup }: NodeClientDeps): NodeClient {
  const transport = createTransport({ clock, maxConnections, maxAnswerBytes: MAX_ANSWER_BYTES, lookup })

  function readAnswer(raw: RawResponse, connection: number, waitedMs: number): Sent | Promise<Sent> {
    const receivedAt = clock.now()
    const encoding = headerOf(raw.headers, 'content-encoding')
    return encoding === null || isPlain(encoding)
      ? readPlain(raw, raw.body, connection, receivedAt, waitedMs)
      : decode(raw.body, encoding, MAX_ANSWER_BYTES).then((plain) =>
          Buffer.isBuffer(plain)
            ? readPlain(raw, plain, connection, receivedAt, waitedMs)
            : { ok: false, failure: plain, waitedMs },
        )
  }

  return {
    send(address, request, deadline) {
      return new Promise((resolve) => {
        transport.exchange(address, request, deadline, (exchanged) => {
          if (exchanged.ok) return resolve(readAnswer(exchanged.raw, exchanged.connection, exchanged.waitedMs))
          resolve({ ok: false, failure: exchanged.failure, waitedMs: exchanged.waitedMs })
        })
      })
    },
    tlsNotAfter: transport.tlsNotAfter,
    limit: transport.limit,
    retain: (addresses) => transport.retain(addresses),
    close() {
      transport.close()
      return Promise.resolve()
    },
  }
}

function readPlain(
  { status, headers }: RawResponse,
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
