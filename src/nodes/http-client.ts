import type { Socket } from 'node:net'
import { HttpAnswerReader, type Problem } from './http-answer.ts'
import { MAX_HEADER_BYTES } from './limits.ts'
import type { MemoryBudget } from './memory-budget.ts'

/**
 * One connection of HTTP/1.1, opened when a request needs it, for one request at a time. It does what a request to a node takes and no
 * more, for half of what a general client costs: the request is one write, and the answer is read where the kernel put it.
 */
export class HttpClient {
  readonly #connect: Connect
  readonly #maxAnswerBytes: number
  readonly #room: MemoryBudget
  readonly #onIdleClosed: () => void
  #socket: Socket | null = null
  #isOpen = false
  #taker: AnswerTaker | null = null
  #request: Outgoing | null = null
  #reader: HttpAnswerReader | null = null
  #keptForMs = KEEP_ALIVE_MS

  constructor({ connect, maxAnswerBytes, room, onIdleClosed }: HttpClientDeps) {
    this.#connect = connect
    this.#room = room
    this.#maxAnswerBytes = maxAnswerBytes
    this.#onIdleClosed = onIdleClosed
  }

  /** Whoever takes the answer hears of it exactly once, or of the error instead. */
  send(request: Outgoing, taker: AnswerTaker): void {
    this.#taker = taker
    this.#request = request
    if (this.#isOpen) return this.#write()
    const socket = this.#connect(
      (bytes) => this.#take(socket, bytes),
      (error) => {
        if (socket !== this.#socket) return
        if (error !== null) return this.#fail(error)
        this.#open(socket)
      },
    )
    this.#socket = socket
  }

  /** Ends what is under way. */
  destroy(): void {
    this.#fail(closedError())
  }

  #open(socket: Socket): void {
    let problem: Error | null = null
    socket
      .on('error', (error) => {
        problem = error
      })
      .on('end', () => this.#ended(socket))
      .on('close', () => {
        if (socket === this.#socket) this.#fail(problem ?? closedError())
      })
      .on('timeout', () => {
        if (this.#taker === null && socket === this.#socket) this.#fail(closedError())
      })
    this.#keptForMs = KEEP_ALIVE_MS
    socket.setTimeout(KEEP_ALIVE_MS)
    this.#isOpen = true
    this.#write()
  }

  #write(): void {
    const socket = this.#socket
    const request = this.#request
    if (socket === null || request === null) return
    this.#request = null
    this.#taker?.onAsked()
    const { head, body } = request
    if (body === null) socket.write(`${head}\r\n`, 'latin1')
    else {
      const length = Buffer.byteLength(body)
      const whole = `${head}content-length: ${length}\r\n\r\n`
      // What is ASCII alone goes out in one piece.
      if (typeof body === 'string' && length === body.length) socket.write(whole + body, 'latin1')
      else socket.write(Buffer.concat([Buffer.from(whole, 'latin1'), Buffer.from(body)]))
    }
  }

  #take(socket: Socket, bytes: Buffer): void {
    if (socket !== this.#socket) return
    const taker = this.#taker
    // Nobody has asked for anything, or not yet.
    if (taker === null || this.#request !== null) return this.#fail(closedError())
    let reader = this.#reader
    if (reader === null) {
      reader = new HttpAnswerReader(this.#maxAnswerBytes, MAX_HEADER_BYTES, this.#room)
      this.#reader = reader
      taker.onStarted()
    }
    const taken = reader.take(bytes)
    if (reader.inBody) taker.onHead()
    if (taken === 'more') return
    if (taken === 'whole') this.#finish(socket, reader, taker)
    else this.#fail(new AnswerProblem(taken))
  }

  #ended(socket: Socket): void {
    if (socket !== this.#socket) return
    const reader = this.#reader
    const taker = this.#taker
    if (reader !== null && taker !== null && reader.end()) this.#finish(socket, reader, taker)
    else this.#fail(closedError())
  }

  #finish(socket: Socket, reader: HttpAnswerReader, taker: AnswerTaker): void {
    this.#taker = null
    this.#reader = null
    reader.leaveRoom()
    const keptForMs = reader.keptForMs === null ? KEEP_ALIVE_MS : Math.min(KEEP_ALIVE_MS, reader.keptForMs - SOONER_MS)
    // A request that was answered before all of it was sent would be taken for the beginning of the next.
    if (!reader.keepsAlive || reader.hasExcess || keptForMs <= 0 || socket.writableLength > 0) this.#close()
    else if (keptForMs !== this.#keptForMs) {
      this.#keptForMs = keptForMs
      socket.setTimeout(keptForMs)
    }
    taker.onAnswer({ status: reader.status, headers: reader.headers, body: reader.body })
  }

  #close(): void {
    const socket = this.#socket
    this.#socket = null
    this.#isOpen = false
    socket?.on('error', () => {}).destroy()
  }

  #fail(error: Error): void {
    const taker = this.#taker
    const wasIdle = taker === null && this.#isOpen
    this.#taker = null
    this.#reader?.leaveRoom()
    this.#reader = null
    this.#request = null
    this.#close()
    taker?.onError(error)
    if (wasIdle) this.#onIdleClosed()
  }

  /** A request can be sent without opening a connection first. */
  get isOpen(): boolean {
    return this.#isOpen
  }
}

/** What came over the wire, whole. */
export interface RawAnswer {
  readonly status: number
  /** Names in lower case and values in turn. */
  readonly headers: readonly string[]
  readonly body: Buffer
}

export interface AnswerTaker {
  /** The connection is open, and the request is being sent. */
  onAsked(): void
  /** The first byte of the answer has come. */
  onStarted(): void
  /** Its head has; may be told several times. */
  onHead(): void
  onAnswer(answer: RawAnswer): void
  onError(error: Error): void
}

/** `head` is the request line and all headers but `content-length`, each with its end of line. */
export interface Outgoing {
  readonly head: string
  readonly body: string | Buffer | null
}

/** Opens a socket, and says once whether it is open; never before it has returned. `take` is given what comes in afterwards. */
export type Connect = (take: (bytes: Buffer) => void, done: (error: Error | null) => void) => Socket

export interface HttpClientDeps {
  readonly connect: Connect
  readonly maxAnswerBytes: number
  readonly room: MemoryBudget
  /** The connection was closed while no request was under way. */
  readonly onIdleClosed: () => void
}

/** The answer breaks a rule; there is no more of it. */
export class AnswerProblem extends Error {
  readonly problem: Problem

  constructor(problem: Problem) {
    super(problem)
    this.problem = problem
  }
}

/** Common servers close an idle connection after 60 s or more, load balancers sometimes sooner: ours go first. */
const KEEP_ALIVE_MS = 25_000
/** Where a server says when it will close, so much earlier than that. */
const SOONER_MS = 2000

function closedError(): Error {
  return Object.assign(new Error('closed'), { code: 'ECONNRESET' })
}
