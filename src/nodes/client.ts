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
import { beginsWithBracket, MAX_DEPTH, nestsDeeper } from './json-depth.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'
import { createTransport, type Effort, type Transport } from './transport.ts'

/** Sends the requests of checks, and reads the responses as text. */
export function createNodeClient({ clock, maxConnections, lookup }: NodeClientDeps): NodeClient {
  const transport = createTransport({ clock, maxConnections, maxAnswerBytes: MAX_ANSWER_BYTES, lookup })
  return {
    ...transport,
    send(address, request, deadline) {
      return new Promise((resolve) => {
        transport.exchange(address, request, deadline, (exchanged) => {
          const { waitedMs, requests } = exchanged
          if (!exchanged.ok) return resolve({ ok: false, failure: exchanged.failure, waitedMs, requests })
          const { raw } = exchanged
          const receivedAt = clock.now()
          const finish = (body: Buffer | Failure): void => {
            if (Buffer.isBuffer(body)) resolve(readAnswer(raw, body, receivedAt, waitedMs, requests))
            else resolve({ ok: false, failure: body, waitedMs, requests })
          }
          const encoding = headerOf(raw.headers, 'content-encoding')
          if (encoding === null || isPlain(encoding)) finish(raw.body)
          else void decode(raw.body, encoding, MAX_ANSWER_BYTES, deadline).then(finish)
        })
      })
    },
  }
}

export interface NodeClient extends Pick<Transport, 'tlsNotAfter' | 'limit' | 'retain' | 'close'> {
  /** Never rejects. */
  send(address: NodeAddress, request: NodeRequest, deadline: Deadline): Promise<Sent>
}

export type Sent = Effort &
  ({ readonly ok: true; readonly answer: NodeAnswer } | { readonly ok: false; readonly failure: Failure })

export interface NodeClientDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  /** Per origin. */
  readonly maxConnections: number
  readonly lookup: LookupFunction | null
}

function readAnswer(
  { status, headers }: RawResponse,
  body: Buffer,
  receivedAt: UnixMs,
  waitedMs: number,
  requests: number,
): Sent {
  if (beginsWithBracket(body) && nestsDeeper(body, MAX_DEPTH)) {
    return { ok: false, failure: { kind: 'too-deep', limit: MAX_DEPTH }, waitedMs, requests }
  }
  const date = readHttpDate(headerOf(headers, 'date'))
  const retryAfterMs = readRetryAfter(headerOf(headers, 'retry-after'), date ?? receivedAt)
  return { ok: true, answer: { status, body, receivedAt, date, retryAfterMs }, waitedMs, requests }
}
