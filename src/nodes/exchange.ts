import type { Dispatcher } from 'undici'
import type { Lane } from './connections.ts'

/** What came over the wire, whole. */
export interface RawAnswer {
  readonly status: number
  /** Names and values in turn, as sent. */
  readonly headers: readonly Buffer[]
  readonly body: Buffer
}

/** How far an exchange came before it broke. */
export type Stage =
  /** The connection was not open yet: the node cannot have read a byte of it. */
  | 'unsent'
  /** Not one byte of an answer had come. */
  | 'asked'
  /** Within the head of the answer. */
  | 'answering'
  /** Within its body. */
  | 'body'

export type Ending =
  | { readonly ok: true; readonly raw: RawAnswer }
  | { readonly ok: false; readonly error: NodeJS.ErrnoException; readonly stage: Stage; readonly reused: boolean }

const NOTHING = Buffer.alloc(0)

/**
 * One request on one lane, as undici's bare dispatch handler: no stream, no header object. Its raw form (`onHeaders` …) is the
 * only one that tells of the first byte of an answer, which decides whether a request may be sent again.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  readonly #lane: Lane
  readonly #settle: (ending: Ending, lane: Lane) => void
  readonly #chunks: Buffer[] = []
  #status = 0
  #headers: readonly Buffer[] = []
  #stage: Stage = 'unsent'
  #reused = false
  #settled = false

  constructor(lane: Lane, settle: (ending: Ending, lane: Lane) => void) {
    this.#lane = lane
    this.#settle = settle
  }

  get stage(): Stage {
    return this.#stage
  }

  onConnect(abort: (error?: Error) => void): void {
    if (this.#settled) return abort()
    this.#reused = this.#lane.used
    this.#stage = 'asked'
  }

  onResponseStarted(): void {
    this.#stage = 'answering'
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    // Informational ones (103) come before.
    if (status < 200) return true
    this.#stage = 'body'
    this.#status = status
    this.#headers = headers
    return true
  }

  /** undici itself counts the bytes, and ends it where they are too many. */
  onData(chunk: Buffer): boolean {
    this.#chunks.push(chunk)
    return true
  }

  onComplete(): void {
    if (this.#settled) return
    this.#settled = true
    this.#lane.used = true
    const [first = NOTHING] = this.#chunks
    const body = this.#chunks.length < 2 ? first : Buffer.concat(this.#chunks)
    this.#settle({ ok: true, raw: { status: this.#status, headers: this.#headers, body } }, this.#lane)
  }

  onError(error: Error): void {
    if (this.#settled) return
    this.#settled = true
    this.#settle({ ok: false, error, stage: this.#stage, reused: this.#reused }, this.#lane)
  }
}
