import type { Clock } from '../clock.ts'
import { describeFailure } from '../core/failure.ts'
import { createAddress } from '../nodes/address.ts'
import { Deadline } from '../nodes/deadline.ts'
import { headerOf, readHttpDate, readRetryAfter } from '../nodes/header.ts'
import { createRedact } from '../nodes/redact.ts'
import { createTransport } from '../nodes/transport.ts'
import type { HttpRequest } from './channel.ts'
import { plain } from './wording.ts'

/** How a receiver answered. `error` is in words, without secrets. */
export type Delivered =
  /** `missed`: why not all of several receivers have accepted it. */
  | { readonly result: 'sent'; readonly missed?: string }
  | { readonly result: 'rejected'; readonly error: string }
  | { readonly result: 'retried'; readonly error: string; readonly retryAfterMs: number | null }

/** `null` if every receiver has accepted it. */
export function errorOf(delivered: Delivered): string | null {
  return delivered.result === 'sent' ? (delivered.missed ?? null) : delivered.error
}

export type HttpDelivery = ReturnType<typeof createHttpDelivery>

const TIMEOUT_MS = 10_000
const MAX_ANSWER_BYTES = 65_536
const MAX_WORDS = 300

/** Sends one HTTP request; never rejects. */
export function createHttpDelivery({ clock }: { readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'> }) {
  const transport = createTransport({ clock, maxConnections: 4, maxAnswerBytes: MAX_ANSWER_BYTES, lookup: null })
  return {
    /** `ca`: certificate authorities to trust instead of the system's, as PEM. */
    send(
      { url, path = '/', method = 'POST', headers, body, secrets = [] }: HttpRequest,
      signal: AbortSignal,
      ca: string | null = null,
    ): Promise<Delivered> {
      const tls = { ca, insecure: false }
      const address = createAddress({ url, headers, tls })
      const hidden = { ...headers, ...Object.fromEntries(secrets.entries()) }
      const redact = createRedact({ url, headers: hidden, tls, rpcPath: '' })
      const deadline = new Deadline(clock, TIMEOUT_MS, signal)
      return new Promise((resolve) => {
        const request = { method, path, body: method === 'GET' ? null : body }
        transport.exchange(address, request, deadline, (exchanged) => {
          deadline.end()
          // The status is the answer, however long the words after it are.
          const head = exchanged.ok ? exchanged.raw : exchanged.head
          const failure = exchanged.ok ? '' : describeFailure(exchanged.failure)
          if (head === null) return resolve({ result: 'retried', error: failure, retryAfterMs: null })
          const { status, headers: answered } = head
          if (status >= 200 && status < 300) return resolve({ result: 'sent' })
          const said = exchanged.ok ? redact(plain(exchanged.raw.body.toString('utf8')), MAX_WORDS) : failure
          const error = `answered HTTP ${status}${said === '' ? '' : `: ${said}`}`
          if (isFinal(status)) return resolve({ result: 'rejected', error })
          const date = readHttpDate(headerOf(answered, 'date'))
          const retryAfterMs = readRetryAfter(headerOf(answered, 'retry-after'), date ?? clock.now())
          return resolve({ result: 'retried', error, retryAfterMs })
        })
      })
    },
    close: transport.close,
  }
}

/** The receiver understood the request and refuses it: the same request would be refused again. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408 && status !== 429
}
