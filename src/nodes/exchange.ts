import type { Dispatcher } from 'undici'
import type { Connection } from './connection-pool.ts'
import { headerOf } from './header.ts'
import type { IncomingBody, IncomingMemory } from './incoming-memory.ts'
import { LARGE_BODY_BYTES, SMALL_BODY_BYTES } from './limits.ts'

/**
 * One request and its response on one connection. Implements undici's low-level dispatch handler, because only this
 * interface reports the first byte of a response, which decides whether a request may be sent again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #connection: Connection
  readonly #body: ResponseBody
  readonly #settle: (ending: Ending) => void
  readonly #mayReadOn: MayReadOn
  #status = 0
  #headers: readonly Buffer[] = []
  #version = ''
  #receivedBytes = 0
  #reused = false
  #ended = false
  stage: Stage = 'unsent'
  /** The parser gets no bytes. To pause the parser of undici 7 ends the process if the node closes the connection meanwhile. */
  isWaiting = false

  /** `null` before the whole head was received. */
  get head(): ResponseHead | null {
    return this.#status === 0 ? null : { status: this.#status, headers: this.#headers }
  }

  constructor(connection: Connection, body: ResponseBody, mayReadOn: MayReadOn, settle: (ending: Ending) => void) {
    this.#connection = connection
    this.#body = body
    this.#mayReadOn = mayReadOn
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
    if (this.#ended) return true
    this.#body.append(chunk)
    if (this.isWaiting) return true
    const turn = this.#mayReadOn(this.#body)
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

/** Returns `null` if a body may be received on at once. */
export type MayReadOn = (body: ResponseBody) => Promise<void> | null

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
export class ResponseBody implements IncomingBody {
  readonly #maxBytes: number
  readonly #incoming: IncomingMemory
  readonly caller: string | null
  heldBytes = 0
  wanted: IncomingBody['wanted'] = null
  #memory: Buffer = EMPTY
  size = 0
  /** 0 if unknown. */
  #expectedBytes = 0
  #chunks = 0

  constructor(maxBytes: number, incoming: IncomingMemory, caller: string | null) {
    this.#maxBytes = maxBytes
    this.#incoming = incoming
    this.caller = caller
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
    this.#incoming.release(this)
  }

  /** Asks for memory in time, before another read might need it; returns `null` if there is enough. */
  waitForMemory(): Promise<void> | null {
    const size = Math.min(this.size + MAX_READ_BYTES, this.#mostBytes)
    if (this.size <= SMALL_BODY_BYTES || size === this.size || size + ZERO_BYTES <= this.#memory.length) return null
    const more = this.#lengthFor(size) - this.heldBytes
    return more > 0 ? this.#incoming.ask(this, more) : null
  }

  get #mostBytes(): number {
    return this.#expectedBytes || this.#maxBytes
  }

  /** Each step copies the whole body. The announced length is believed once part of a large body has come. */
  #lengthFor(size: number): number {
    const isLarge = size > LARGE_BODY_BYTES
    const length = isLarge ? this.#expectedBytes || 8 * size : 2 * size
    return Math.max(size, Math.min(length, this.#mostBytes))
  }

  #grow(size: number): void {
    const length = size <= this.heldBytes ? this.heldBytes : this.#lengthFor(size)
    if (length > SMALL_BODY_BYTES && length > this.heldBytes) this.#incoming.take(this, length - this.heldBytes)
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
  /** Too many tiny chunks, or too many bytes outside the body: informational responses, chunk headers, trailers. */
  | 'overhead'
  /** Only `chunked` is supported. */
  | 'transfer-encoding'

const HTTP_1_1 = 'HTTP/1.1'

/** Node.js 22 reads 64 KiB from a socket while it has buffered less than 64 KiB. */
const MAX_READ_BYTES = 131_072

/** As much as one read, and more than any response head. */
const MAX_OVERHEAD_BYTES = MAX_READ_BYTES

/** A chunk takes about a microsecond however short it is, so a mebibyte in chunks of one byte would take a second. */
const MAX_CHUNKS = 1000
const FAIR_CHUNK = 64

/** A scan of the body needs no copy if it can run into them. */
const ZERO_BYTES = 4

const EMPTY = Buffer.alloc(0)
