import type { Dispatcher } from 'undici'
import type { Connection } from './connection-pool.ts'
import { type MemoryBudget, UNBUDGETED_BYTES } from './limits.ts'

/**
 * One request and its response on one connection, as undici's bare dispatch handler. Only this form of handler reports the first byte of
 * a response, which decides whether a request may be sent again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection
  readonly #body: ResponseBody
  readonly #settle: (ending: Ending) => void
  #status = 0
  #headers: readonly Buffer[] = []
  #reused = false
  #ended = false
  stage: Stage = 'unsent'

  constructor(connection: Connection, body: ResponseBody, settle: (ending: Ending) => void) {
    this.#connection = connection
    this.#body = body
    this.#settle = settle
  }

  onConnect(abort: (error?: Error) => void): void {
    // undici sends a request again in some races; here only the transport decides that.
    if (this.#ended || this.stage !== 'unsent') return abort()
    this.#reused = this.#connection.used
    this.stage = 'asked'
  }

  onResponseStarted(): void {
    this.stage = 'answering'
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    // Informational responses come before the final one.
    if (status < 200) return true
    this.stage = 'body'
    this.#status = status
    this.#headers = headers
    return true
  }

  /** undici turns what this throws into `onError`, and closes the connection. */
  onData(chunk: Buffer): boolean {
    this.#body.append(chunk)
    return true
  }

  onComplete(): void {
    // Bytes behind the response are still in the parser, and close the connection: it is not reused before they are read.
    queueMicrotask(() => {
      this.#connection.used = true
      this.#end({ ok: true, raw: { status: this.#status, headers: this.#headers, body: this.#body.bytes } })
    })
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#end({ ok: false, error, stage: this.stage, reused: this.#reused })
  }

  #end(ending: Ending): void {
    if (this.#ended) return
    this.#ended = true
    this.#body.release()
    this.#settle(ending)
  }
}

/** How far an exchange got. */
export type Stage =
  /** The connection was not open yet: the node cannot have read a byte of the request. */
  | 'unsent'
  /** Sent, without one byte of a response. */
  | 'asked'
  /** Within the head of the response. */
  | 'answering'
  | 'body'

export type Ending =
  | { readonly ok: true; readonly raw: RawResponse }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException; readonly stage: Stage; readonly reused: boolean }

export interface RawResponse {
  readonly status: number
  /** Names and values in turn, as sent. */
  readonly headers: readonly Buffer[]
  readonly body: Buffer
}

/** Collects a body within the limits. A body that arrives in one piece is not copied. */
export class ResponseBody {
  readonly #maxBytes: number
  readonly #budget: MemoryBudget
  #memory: Buffer = EMPTY
  #size = 0
  #reservedBytes = 0

  constructor(maxBytes: number, budget: MemoryBudget) {
    this.#maxBytes = maxBytes
    this.#budget = budget
  }

  /** Throws a `ResponseLimitError`. */
  append(chunk: Buffer): void {
    const size = this.#size + chunk.length
    if (size > this.#maxBytes) throw new ResponseLimitError('too-large')
    if (this.#size === 0) this.#memory = chunk
    else {
      // Doubling: a body of one-byte chunks costs no more than one of long chunks.
      if (size > this.#memory.length) this.#grow(Math.max(size, Math.min(2 * this.#memory.length, this.#maxBytes)))
      chunk.copy(this.#memory, this.#size)
    }
    this.#size = size
  }

  get bytes(): Buffer {
    return this.#size === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#size)
  }

  release(): void {
    this.#budget.release(this.#reservedBytes)
    this.#reservedBytes = 0
  }

  #grow(length: number): void {
    if (length > UNBUDGETED_BYTES) {
      if (!this.#budget.reserve(length - this.#reservedBytes)) throw new ResponseLimitError('no-memory')
      this.#reservedBytes = length
    }
    const grown = Buffer.allocUnsafe(length)
    this.#memory.copy(grown, 0, 0, this.#size)
    this.#memory = grown
  }
}

export class ResponseLimitError extends Error {
  readonly problem: 'too-large' | 'no-memory'

  constructor(problem: ResponseLimitError['problem']) {
    super(problem)
    this.problem = problem
  }
}

const EMPTY = Buffer.alloc(0)
