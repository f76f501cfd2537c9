import type { CancelSignal, Clock } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { NodeAddress } from './address.ts'
import { ConnectionBudget } from './connection-budget.ts'
import { Deadline } from './deadline.ts'
import { isPlain } from './decode.ts'
import type { RawResponse, Stage } from './exchange.ts'
import { headerOf, readHttpDate, readRetryAfter } from './header.ts'
import { MAX_FORWARDED_BYTES } from './limits.ts'
import { createTransport, type TransportDeps, type TransportRequest } from './transport.ts'

/** Forwards callers' requests to nodes over pooled connections, and returns responses unchanged. Follows no redirects. */
export function createNodeForwarder({
  clock,
  maxConnections = MAX_CONNECTIONS,
  maxTotalConnections = Number.POSITIVE_INFINITY,
  maxIncomingBytes,
  nextTurn,
}: NodeForwarderDeps) {
  const connections = new ConnectionBudget(maxTotalConnections)
  const transport = createTransport({
    clock,
    maxConnections,
    connections,
    maxAnswerBytes: MAX_FORWARDED_BYTES,
    maxIncomingBytes,
    lookup: null,
    nextTurn,
  })

  return {
    /** Never throws. Gives up after `withinMs`, or when `cancel` aborts. */
    forward(
      address: NodeAddress,
      request: TransportRequest,
      withinMs: number,
      cancel: CancelSignal,
    ): Promise<Forwarded> {
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
    /** Whether requests of the caller wait for a connection to this address. */
    isQueueing: transport.isQueueing,
    /** Closes all connections except those to these addresses, once their pending requests have ended, and divides the limits. */
    retain(addresses: readonly NodeAddress[]): void {
      connections.divide(new Set(addresses.map(({ connectionKey }) => connectionKey)).size)
      transport.retain(addresses, true)
    },
    close: transport.close,
  }
}

export type NodeForwarder = ReturnType<typeof createNodeForwarder>

export type Forwarded =
  | { readonly ok: true; readonly answer: ForwardedAnswer }
  /** `waited`: most of the time was spent waiting for a connection, memory or a turn. */
  | { readonly ok: false; readonly failure: Failure; readonly stage: Stage; readonly waited: boolean }

/** A complete response with any status. */
export interface ForwardedAnswer {
  readonly status: number
  readonly body: Buffer
  /** The first value, as sent; `null` if absent. `name` is in lower case. */
  header(name: 'node-id' | 'content-type'): string | null
  /** From Retry-After (seconds or date); `null` if absent. */
  retryAfterMs(): number | null
}

export interface NodeForwarderDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** Per origin; further requests wait. */
  readonly maxConnections?: number
  /** To all retained addresses together. */
  readonly maxTotalConnections?: number | undefined
  readonly maxIncomingBytes?: number | undefined
  readonly nextTurn?: TransportDeps['nextTurn']
}

/** Allows 1,280 requests a second to a node 100 ms away, and to a local node ten times what we can send. */
const MAX_CONNECTIONS = 128

/** Rejects compressed responses: none was requested, and decompression would use memory outside all limits. */
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
