import type { Dispatcher } from 'undici'
import type { FairShare } from '../core/fair-share.ts'
import type { Connection } from './connection-pool.ts'
import { headerOf } from './header.ts'
import { SMALL_BODY_BYTES } from './limits.ts'

/**
 * One request and its response on one connection. Implements undici's low-level dispatch handler, because only this
 * interface reports the first byte of a response, which decides whether a request may be sent again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection
  readonly #body: ResponseBody
  readonly #settle: (ending: Ending) => void
  readonly #nextTurn: NextTurn
  #status = 0
  #headers: readonly Buffer[] = []
  #version = ''
  #receivedBytes = 0
  #sizeAtNextTurn = SMALL_BODY_BYTES
  #reused = false
  #ended = false
  stage: Stage = 'unsent'
  /** The parser gets no bytes. To pause the parser of undici 7 ends the process if the node closes the connection meanwhile. */
  isWaiting = false

  /** `null` before the whole head was received. */
  get head(): ResponseHead | null {
    return this.#status === 0 ? null : { status: this.#status, headers: this.#headers }
  }

  constructor(connection: Connection, body: ResponseBody, nextTurn: NextTurn, settle: (ending: Ending) => void) {
    this.#connection = connection
    this.#body = body
    this.#nextTurn = nextTurn
    this.#settle = settle
    connection.exchange = this
  }

  /** Receives all bytes before the parser, which reports neither the HTTP version nor the bytes between chunks. */
  onBytes(bytes: Buffer): void {
    if (this.#version.length < HTTP_1_1.length) {
      this.#version += bytes.toString('latin1', 0, HTTP_1_1.length - this.#version.length)
    }
    this.#receivedBytes += bytes.length
    if (this.#receivedBytes <= 2 * this.#body.size + MAX_OVERHEAD_BYTES) return
    this.#connection.socket?.destroy(new ResponseError('overhead'))
  }

  onConnect(abort: (error?: Error) => void): void {
    // undici sends a request again in some races, but only the transport may decide that.
    if (this.#ended || this.stage !== 'unsent') return abort()
    this.#reused = this.#connection.used
    this.stage = 'asked'
  }

  onResponseStarted(): void {
    this.stage = 'answering'
  }

  /** undici reports errors thrown here and in `onData` to `onError`, and closes the connection. */
  onHeaders(status: number, headers: Buffer[]): boolean {
    // An informational response precedes the final one.
    if (status < 200) return true
    this.stage = 'body'
    const coding = headerOf(headers, 'transfer-encoding')
    if (coding !== null && coding.toLowerCase() !== 'chunked') throw new ResponseError('transfer-encoding')
    this.#status = status
    this.#headers = headers
    const length = headerOf(headers, 'content-length')
    if (length !== null) this.#body.expect(Number(length))
    return true
  }

  onData(chunk: Buffer): boolean {
    this.#body.append(chunk)
    if (this.isWaiting || this.#body.size <= this.#sizeAtNextTurn) return true
    this.#sizeAtNextTurn = this.#body.size + TURN_BYTES
    const turn = this.#nextTurn()
    if (turn === null) return true
    this.isWaiting = true
    void turn.then(() => {
      this.isWaiting = false
      if (!this.#ended) this.#connection.socket?.emit('readable')
    })
    return true
  }

  onComplete(): void {
    this.isWaiting = false
    // Deferred, because the parser reads on and closes the connection if bytes follow the response.
    queueMicrotask(() => {
      this.#connection.used = true
      // HTTP/1.0 closes by default, and a server that does not close may not support chunks (RFC 9112, section 6.1).
      if (this.#version !== HTTP_1_1) this.#connection.socket?.destroy(new Error('not HTTP/1.1'))
      this.#end({ ok: true, raw: { status: this.#status, headers: this.#headers, body: this.#body.bytes } })
    })
  }

  onError(error: NodeJS.ErrnoException): void {
    this.#end({ ok: false, error, stage: this.stage, reused: this.#reused })
  }

  #end(ending: Ending): void {
    if (this.#ended) return
    this.#ended = true
    this.#connection.exchange = null
    this.#body.release()
    this.#settle(ending)
  }
}

/** `null` if the exchange may go on with a large body at once. */
export type NextTurn = () => Promise<void> | null

/** How far an exchange got. */
export type Stage =
  /** Not connected: the node cannot have read any byte of the request. */
  | 'unsent'
  /** Request sent, no byte of the response received. */
  | 'asked'
  /** Part of the response head received. */
  | 'answering'
  | 'body'

export type Ending =
  | { readonly ok: true; readonly raw: RawResponse }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException; readonly stage: Stage; readonly reused: boolean }

export interface ResponseHead {
  readonly status: number
  /** Alternating names and values, as sent. */
  readonly headers: readonly Buffer[]
}

export interface RawResponse extends ResponseHead {
  readonly body: Buffer
}

/** Collects a body within the limits; a body that arrives in one chunk is not copied. */
export class ResponseBody {
  readonly #maxBytes: number
  readonly #budget: FairShare
  readonly #caller: string | null
  #memory: Buffer = EMPTY
  size = 0
  /** 0 if unknown. */
  #expectedBytes = 0
  #chunks = 0
  #reservedBytes = 0

  constructor(maxBytes: number, budget: FairShare, caller: string | null) {
    this.#maxBytes = maxBytes
    this.#budget = budget
    this.#caller = caller
  }

  /** Throws a `ResponseError`. */
  expect(size: number): void {
    if (size > this.#maxBytes) throw new ResponseError('too-large')
    this.#expectedBytes = size
  }

  /** Throws a `ResponseError`. */
  append(chunk: Buffer): void {
    const size = this.size + chunk.length
    if (size > this.#maxBytes) throw new ResponseError('too-large')
    if (++this.#chunks > MAX_CHUNKS + size / FAIR_CHUNK) throw new ResponseError('overhead')
    if (size > SMALL_BODY_BYTES) this.#reserve(size)
    if (this.size === 0) this.#memory = chunk
    else {
      if (size + ZERO_BYTES > this.#memory.length) this.#grow(size)
      chunk.copy(this.#memory, this.size)
    }
    this.size = size
  }

  /** Zero bytes follow it if it was copied. */
  get bytes(): Buffer {
    const { size } = this
    if (size === this.#memory.length) return this.#memory
    return this.#memory.fill(0, size, size + ZERO_BYTES).subarray(0, size)
  }

  release(): void {
    this.#budget.release(this.#caller, this.#reservedBytes)
    this.#reservedBytes = 0
  }

  #reserve(size: number): void {
    const more = size - this.#reservedBytes
    if (!this.#budget.mayTake(this.#caller, more)) throw new ResponseError('no-memory')
    this.#budget.take(this.#caller, more)
    this.#reservedBytes = size
  }

  /** Each step copies the whole body. Memory that nothing was written to takes only addresses. */
  #grow(size: number): void {
    const factor = size > SMALL_BODY_BYTES ? 8 : 2
    const length = size <= this.#expectedBytes ? this.#expectedBytes : Math.min(factor * size, this.#maxBytes)
    const grown = Buffer.allocUnsafe(length + ZERO_BYTES)
    this.#memory.copy(grown, 0, 0, this.size)
    this.#memory = grown
  }
}

export class ResponseError extends Error {
  readonly problem: ResponseProblem

  constructor(problem: ResponseProblem) {
    super(problem)
    this.problem = problem
  }
}

export type ResponseProblem =
  | 'too-large'
  /** Other long responses have used up the memory budget. */
  | 'no-memory'
  /** Too many tiny chunks, or too many bytes outside the body: informational responses, chunk headers, trailers. */
  | 'overhead'
  /** Only `chunked` is supported. */
  | 'transfer-encoding'

const HTTP_1_1 = 'HTTP/1.1'

/** Twice the size of one socket read, and more than any response head. */
const MAX_OVERHEAD_BYTES = 131_072

/** A chunk takes about a microsecond however short it is, so a mebibyte in chunks of one byte would take a second. */
const MAX_CHUNKS = 1000
const FAIR_CHUNK = 64

/** A body takes a turn each time when this much of it was received. */
const TURN_BYTES = 65_536

/** A scan of the body needs no copy if it can run into them. */
const ZERO_BYTES = 4

const EMPTY = Buffer.alloc(0)
