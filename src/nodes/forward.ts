import type { LookupFunction } from 'node:net'
import type { Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { NodeAddress } from './address.ts'
import { type CancelSignal, Deadline } from './deadline.ts'
import { isPlain } from './decode.ts'
import type { RawResponse, Stage } from './exchange.ts'
import { headerOf, readHttpDate, readRetryAfter } from './header.ts'
import { MAX_FORWARDED_BYTES } from './limits.ts'
import { createTransport, type TransportRequest } from './transport.ts'

/** Forwards requests of callers to nodes. */
export function createNodeForwarder({
  clock,
  maxConnections = MAX_CONNECTIONS,
  maxIncomingBytes,
  lookup = null,
}: NodeForwarderDeps): NodeForwarder {
  const transport = createTransport({
    clock,
    maxConnections,
    maxAnswerBytes: MAX_FORWARDED_BYTES,
    maxIncomingBytes,
    lookup,
  })

  return {
    forward(address, request, withinMs, cancel) {
      return new Promise((resolve) => {
        const deadline = new Deadline(clock, Math.max(1, withinMs), cancel)
        transport.exchange(address, request, deadline, (exchanged) => {
          deadline.end()
          if (exchanged.ok) return resolve(read(exchanged.raw, clock))
          const { failure, stage, waitedMs } = exchanged
          const waited = failure.kind === 'timeout' && 2 * waitedMs > failure.afterMs
          resolve({ ok: false, failure, stage, waited })
        })
      })
    },
    retain: (addresses) => transport.retain(addresses, true),
    close() {
      transport.close()
      return Promise.resolve()
    },
  }
}

/** Forwards a caller's request to a node and returns the node's own bytes. Never throws, follows no redirect. */
export interface NodeForwarder {
  /** Gives up after `withinMs`, or when `cancel` aborts. */
  forward(address: NodeAddress, request: TransportRequest, withinMs: number, cancel: CancelSignal): Promise<Forwarded>
  /** Closes the connections that none of these addresses uses, once their pending requests have ended. */
  retain(addresses: readonly NodeAddress[]): void
  close(): Promise<void>
}

export type Forwarded =
  | { readonly ok: true; readonly answer: ForwardedAnswer }
  /** `waited`: most of the time was spent waiting for a connection. */
  | { readonly ok: false; readonly failure: Failure; readonly stage: Stage; readonly waited: boolean }

/** A whole response, whatever its status. */
export interface ForwardedAnswer {
  readonly status: number
  readonly body: Buffer
  /** The first value as sent; `null` when absent. `name` is in lower case. */
  header(name: 'node-id' | 'content-type'): string | null
  /** From Retry-After, seconds or date; `null` when absent. */
  retryAfterMs(): number | null
}

export interface NodeForwarderDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** To one origin; further requests wait. */
  readonly maxConnections?: number
  readonly maxIncomingBytes?: number
  readonly lookup?: LookupFunction | null
}

/** A node 100 ms away then serves 1,280 requests a second, one on this machine ten times what we can send. */
const MAX_CONNECTIONS = 128

/** Only identity is requested: decompressing what a node sends unasked would cost memory outside of all limits. */
function read(raw: RawResponse, clock: Pick<Clock, 'now'>): Forwarded {
  const header = (name: string) => headerOf(raw.headers, name)
  if (!isPlain(header('content-encoding') ?? '')) {
    return { ok: false, failure: { kind: 'bad-encoding' }, stage: 'body', waited: false }
  }
  const { status, body } = raw
  const retryAfterMs = (): number | null => {
    const text = header('retry-after')
    return text === null ? null : readRetryAfter(text, readHttpDate(header('date')) ?? clock.now())
  }
  return { ok: true, answer: { status, body, header, retryAfterMs } }
}
