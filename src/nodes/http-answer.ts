import { giveBack, shortLived } from './buffer-pool.ts'
import type { MemoryBudget } from './memory-budget.ts'

/** Reads one answer of HTTP/1 as its bytes come in; what is not by the grammar of RFC 9112 is refused, never guessed at. */
export class HttpAnswerReader {
  status = 0
  /** Names in lower case and values in turn. */
  headers: readonly string[] = NONE
  /** Another request may follow over the same connection. */
  keepsAlive = false
  /** How long the other side says that it keeps the connection open; `null` where it does not say. */
  keptForMs: number | null = null
  /** Bytes came behind the answer, which nobody has asked for. */
  hasExcess = false
  /** Its head is read. */
  get inBody(): boolean {
    return this.#state !== 'head'
  }

  readonly #maxBodyBytes: number
  readonly #maxHeadBytes: number
  #state: 'head' | 'length' | 'until-close' | 'size' | 'chunk' | 'chunk-end' | 'trailer' | 'whole' = 'head'
  /** What is not understood yet: part of a head, or of a line between chunks. */
  #pending: Buffer | null = null
  /** All heads so far, those of informational answers too, and what stands between chunks. */
  #headBytes = 0
  #left = 0
  /** Grows by doubling: a node may send its answer byte by byte. */
  #memory: Buffer = NOTHING
  #size = 0
  readonly #room: MemoryBudget | null
  #roomTaken = 0

  constructor(maxBodyBytes: number, maxHeadBytes: number, room: MemoryBudget | null = null) {
    this.#maxBodyBytes = maxBodyBytes
    this.#maxHeadBytes = maxHeadBytes
    this.#room = room
  }

  /** Nothing more comes in. */
  leaveRoom(): void {
    if (this.#roomTaken > 0) this.#room?.giveBack(this.#roomTaken)
    this.#roomTaken = 0
  }

  /** The next bytes. Whoever hands them over may use their memory again afterwards. */
  take(bytes: Buffer): Taken {
    let rest: Buffer = this.#pending === null ? bytes : Buffer.concat([this.#pending, bytes])
    this.#pending = null
    for (;;) {
      const before = this.#state
      const used = this.#step(rest)
      if (typeof used !== 'number') return used
      if (this.#state === 'whole') {
        this.hasExcess = used < rest.length
        return 'whole'
      }
      if (used > 0) rest = rest.subarray(used)
      if (rest.length === 0) return 'more'
      if (used === 0 && this.#state === before) {
        this.#pending = Buffer.from(rest)
        return 'more'
      }
    }
  }

  /** The other side sends nothing more: whether that was the end of the answer. */
  end(): boolean {
    if (this.#state === 'until-close') this.#state = 'whole'
    return this.#state === 'whole'
  }

  get body(): Buffer {
    return this.#size === this.#memory.length ? this.#memory : this.#memory.subarray(0, this.#size)
  }

  /** How many bytes it has used up. */
  #step(bytes: Buffer): number | Problem {
    switch (this.#state) {
      case 'head':
        return this.#readHead(bytes)
      case 'length':
      case 'chunk':
      case 'until-close':
        return this.#readBody(bytes)
      case 'size':
      case 'chunk-end':
      case 'trailer':
        return this.#readLine(bytes)
      case 'whole':
        return 0
    }
  }

  #readBody(bytes: Buffer): number | Problem {
    const isOpen = this.#state === 'until-close'
    const length = isOpen ? bytes.length : Math.min(bytes.length, this.#left)
    const size = this.#size + length
    if (size > this.#maxBodyBytes) return 'too-large'
    if (size > this.#memory.length && !this.#grow(size, this.#state === 'length' ? this.#size + this.#left : 0)) {
      return 'no-room'
    }
    bytes.copy(this.#memory, this.#size, 0, length)
    this.#size = size
    if (isOpen) return length
    this.#left -= length
    if (this.#left === 0) this.#state = this.#state === 'length' ? 'whole' : 'chunk-end'
    return length
  }

  /** What is declared is believed up to a mebibyte. */
  #grow(needed: number, declared: number): boolean {
    const doubled = Math.min(2 * this.#memory.length, this.#maxBodyBytes)
    const length = Math.max(needed, Math.min(declared, BELIEVED_BYTES), doubled)
    if (length > BELIEVED_BYTES && this.#room !== null) {
      if (!this.#room.take(length - this.#roomTaken)) return false
      this.#roomTaken = length
    }
    const grown = shortLived(length)
    if (this.#size > 0) {
      this.#memory.copy(grown, 0, 0, this.#size)
      giveBack(this.#memory)
    }
    this.#memory = grown
    return true
  }

  #readHead(bytes: Buffer): number | Problem {
    const end = headEnd(bytes)
    const length = end === -1 ? bytes.length : end + 4
    if (!beginsAsHttp(bytes)) return 'not-http'
    if (this.#headBytes + length > this.#maxHeadBytes) return 'headers-too-large'
    if (end === -1) return 0
    this.#headBytes += length
    const text = bytes.toString('latin1', 0, end)
    if (!HEAD.test(text)) return 'not-http'
    const status = Number(text.slice(9, 12))
    // Informational ones come before; nobody has asked for another protocol.
    if (status < 200) return status === 101 ? 'not-http' : length
    this.status = status
    return this.#frame(text) ? length : 'not-http'
  }

  /** How long the body is, and what becomes of the connection (RFC 9112, sections 6.3 and 9.3). */
  #frame(text: string): boolean {
    const headers: string[] = []
    let declared: string | null = null
    let coding: string | null = null
    let connection = ''
    for (let at = text.indexOf('\r\n'); at !== -1; ) {
      const next = text.indexOf('\r\n', at + 2)
      const colon = text.indexOf(':', at + 2)
      const name = text.slice(at + 2, colon).toLowerCase()
      const value = trimmed(text, colon + 1, next === -1 ? text.length : next)
      headers.push(name, value)
      at = next
      switch (name) {
        case 'content-length':
          // Two lengths are two answers: whoever is between us and the node may have taken the other.
          if (declared !== null || !LENGTH.test(value)) return false
          declared = value
          break
        case 'transfer-encoding':
          coding = coding === null ? value.toLowerCase() : `${coding}, ${value.toLowerCase()}`
          break
        case 'connection':
          connection += `,${value.toLowerCase()}`
          break
        case 'keep-alive':
          this.keptForMs = secondsIn(value)
      }
    }
    this.headers = headers
    if (declared !== null && coding !== null) return false
    this.keepsAlive = text.charCodeAt(7) === ONE ? !CLOSE.test(connection) : KEEP.test(connection)
    if (this.status === 204 || this.status === 304) this.#state = 'whole'
    else if (coding !== null) {
      if (coding !== 'chunked' && CHUNKED.test(coding)) return false
      this.#state = coding === 'chunked' ? 'size' : 'until-close'
    } else if (declared === null) this.#state = 'until-close'
    else {
      this.#left = Number(declared)
      this.#state = this.#left === 0 ? 'whole' : 'length'
    }
    if (this.#state === 'until-close') this.keepsAlive = false
    return true
  }

  /** Between chunks: a size, the end of a chunk, or trailers, which nobody reads. */
  #readLine(bytes: Buffer): number | Problem {
    const end = bytes.indexOf(LINE_END)
    if (this.#state === 'chunk-end') {
      if (bytes[0] !== CR || (bytes.length > 1 && end !== 0)) return 'not-http'
      if (bytes.length < 2) return 0
      this.#state = 'size'
      return 2
    }
    const length = end === -1 ? bytes.length : end + 2
    const text = bytes.toString('latin1', 0, Math.min(end === -1 ? bytes.length : end, this.#maxHeadBytes))
    if (this.#state === 'size' && !(end === -1 ? SIZE_BEGUN : SIZE).test(text)) return 'not-http'
    if (this.#headBytes + length > this.#maxHeadBytes + CHUNK_LINES_BYTES) return 'headers-too-large'
    if (end === -1) return 0
    if (this.#state === 'trailer') {
      this.#headBytes += length
      if (text === '') this.#state = 'whole'
      else if (!TRAILER.test(text)) return 'not-http'
      return length
    }
    // Extensions count: a node could send nothing else for ever.
    this.#headBytes += text.includes(';') ? length : 0
    this.#left = Number.parseInt(text, 16)
    this.#state = this.#left === 0 ? 'trailer' : 'chunk'
    return length
  }
}

export type Problem =
  | 'not-http'
  | 'headers-too-large'
  | 'too-large'
  /** Others take up all the memory that there is for long answers. */
  | 'no-room'
export type Taken = 'more' | 'whole' | Problem

const NONE: readonly string[] = []
const NOTHING = Buffer.alloc(0)
const BELIEVED_BYTES = 1_048_576
const CR = 13
const LF = 10
const ONE = 49
const LINE_END = Buffer.from('\r\n')
/** Beyond the heads. */
const CHUNK_LINES_BYTES = 4096

const VALUE = '[\\t\\x20-\\x7e\\x80-\\xff]*'
const FIELD = `[!#$%&'*+\\-.^_\`|~0-9A-Za-z]+:${VALUE}`
const HEAD = new RegExp(`^HTTP/1\\.[01] [1-5]\\d\\d(?: ${VALUE})?(?:\\r\\n${FIELD})*$`)
const TRAILER = new RegExp(`^${FIELD}$`)
const LENGTH = /^\d{1,15}$/
const SIZE = /^[0-9a-fA-F]{1,10}[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/
const SIZE_BEGUN = /^(?:[0-9a-fA-F]{1,10}[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?)?\r?$/
const CLOSE = /,[ \t]*close[ \t]*(?:,|$)/
const KEEP = /,[ \t]*keep-alive[ \t]*(?:,|$)/
const CHUNKED = /\bchunked\b/
const BEGINNING = Buffer.from('HTTP/1.')

function beginsAsHttp(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, BEGINNING.length)
  for (let at = 0; at < length; at++) if (bytes[at] !== BEGINNING[at]) return false
  return true
}

/** Where its last line ends: four bytes are passed at a time, for one of the last four must be seen. */
function headEnd(bytes: Buffer): number {
  for (let at = 3; at < bytes.length; ) {
    const byte = bytes[at]
    if (byte === LF) {
      if (bytes[at - 1] === CR && bytes[at - 2] === LF && bytes[at - 3] === CR) return at - 3
      at += 2
    } else if (byte === CR) at++
    else at += 4
  }
  return -1
}

function trimmed(text: string, from: number, to: number): string {
  let start = from
  let end = to
  while (start < end && isBlank(text.charCodeAt(start))) start++
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--
  return text.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9
}

function secondsIn(keepAlive: string): number | null {
  const seconds = /\btimeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? null : Number(seconds) * 1000
}
