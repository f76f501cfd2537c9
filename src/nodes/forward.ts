import type { LookupFunction } from 'node:net'
import type { Clock, Timer } from '../clock.ts'
import type { Failure } from '../core/failure.ts'
import type { NodeAddress } from './address.ts'
import { decode, isPlain } from './decode.ts'
import type { Stage } from './exchange.ts'
import { headerOf, readHttpDate, readRetryAfter } from './header.ts'
import type { RawAnswer } from './http-client.ts'
import { MAX_FORWARDED_BYTES, MAX_INCOMING_BYTES } from './limits.ts'
import { createTimerQueue, type TimerQueue } from './timer-queue.ts'
import { createTransport, type Limit, type TransportRequest } from './transport.ts'

/** Sends a caller's request as it is, and brings back the node's own bytes. Never throws, follows no redirect. */
export interface NodeForwarder {
  /** Given up `withinMs` from now, or when `leaving` aborts. */
  forward(address: NodeAddress, request: TransportRequest, withinMs: number, leaving: Leaving): Promise<Forwarded>
  /** Closes the connections that none of these addresses uses, when what is under way has ended. */
  retain(addresses: readonly NodeAddress[]): void
  close(): Promise<void>
}

/** An AbortSignal, or anything lighter of its kind. */
export interface Leaving {
  readonly aborted: boolean
  addEventListener(type: 'abort', task: () => void): void
  removeEventListener(type: 'abort', task: () => void): void
}

export type Forwarded =
  | { readonly ok: true; readonly answer: ForwardedAnswer }
  /** `unsent`: the node cannot have read a byte of it. `waited`: most of the time went by in want of a connection. */
  | { readonly ok: false; readonly failure: Failure; readonly stage: Stage; readonly waited: boolean }

/** A whole answer, whatever its status. */
export interface ForwardedAnswer {
  readonly status: number
  readonly body: Buffer
  /** As sent, its first where there are several; `null` when absent. `name` is in lower case. */
  header(name: 'node-id' | 'content-type'): string | null
  /** From Retry-After, seconds or date; `null` when absent. */
  retryAfterMs(): number | null
}

export interface NodeForwarderDeps {
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  /** Connections to one origin, at most; whoever needs one more waits. */
  readonly maxConnections?: number
  /** Of all long answers that come in at once. */
  readonly maxIncomingBytes?: number
  readonly lookup?: LookupFunction | null
}

/** A node 100 ms away then answers 1,280 requests a second, one on this machine ten times what we can send. */
const MAX_CONNECTIONS = 128

/** Alarms of one length share a timer: odd rests of a deadline are made even. */
const GRAIN_MS = 10

export function createNodeForwarder({
  clock,
  maxConnections = MAX_CONNECTIONS,
  maxIncomingBytes = MAX_INCOMING_BYTES,
  lookup = null,
}: NodeForwarderDeps): NodeForwarder {
  const wire = createTransport({ clock, maxConnections, maxAnswerBytes: MAX_FORWARDED_BYTES, maxIncomingBytes, lookup })
  const alarms = createTimerQueue(clock)
  const now = () => clock.now()

  return {
    forward(address, request, withinMs, leaving) {
      return new Promise((resolve) => {
        const limit = new AttemptLimit(alarms, withinMs, leaving)
        wire.exchange(address, request, limit, (exchanged) => {
          limit.end()
          if (exchanged.ok) return resolve(read(exchanged.raw, now))
          const { failure, stage, waitedMs } = exchanged
          const waited = failure.kind === 'timeout' && 2 * waitedMs > failure.afterMs
          resolve({ ok: false, failure, stage, waited })
        })
      })
    },
    retain: (addresses) => wire.retain(addresses, true),
    close() {
      alarms.close()
      wire.close()
      return Promise.resolve()
    },
  }
}

/** The time that one attempt has, and the caller's patience. */
class AttemptLimit implements Limit {
  readonly afterMs: number
  readonly #leaving: Leaving
  readonly #timer: Timer
  readonly #pass = (): void => {
    if (this.passed) return
    this.passed = true
    this.#task?.()
  }
  #task: (() => void) | null = null
  passed: boolean

  constructor(alarms: TimerQueue, withinMs: number, leaving: Leaving) {
    this.afterMs = Math.max(1, withinMs < GRAIN_MS ? withinMs : Math.floor(withinMs / GRAIN_MS) * GRAIN_MS)
    this.#leaving = leaving
    this.passed = leaving.aborted
    this.#timer = alarms.after(this.afterMs, this.#pass)
    leaving.addEventListener('abort', this.#pass)
  }

  watch(task: () => void): void {
    this.#task = task
  }

  unwatch(): void {
    this.#task = null
  }

  end(): void {
    this.#timer.cancel()
    this.#leaving.removeEventListener('abort', this.#pass)
  }
}

function read(raw: RawAnswer, now: () => number): Forwarded | Promise<Forwarded> {
  const encoding = headerOf(raw.headers, 'content-encoding')
  if (encoding === null || isPlain(encoding)) return { ok: true, answer: new Answer(raw, raw.body, now) }
  return decode(raw.body, encoding, MAX_FORWARDED_BYTES).then((plain) =>
    Buffer.isBuffer(plain)
      ? { ok: true, answer: new Answer(raw, plain, now) }
      : { ok: false, failure: plain, stage: 'body', waited: false },
  )
}

/** Its headers are read when somebody asks: most answers are passed on without. */
class Answer implements ForwardedAnswer {
  readonly status: number
  readonly body: Buffer
  readonly #raw: RawAnswer
  readonly #now: () => number

  constructor(raw: RawAnswer, body: Buffer, now: () => number) {
    this.status = raw.status
    this.body = body
    this.#raw = raw
    this.#now = now
  }

  header(name: string): string | null {
    return headerOf(this.#raw.headers, name)
  }

  retryAfterMs(): number | null {
    const text = this.header('retry-after')
    return text === null ? null : readRetryAfter(text, readHttpDate(this.header('date')) ?? this.#now())
  }
}
