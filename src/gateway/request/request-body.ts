import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'
import { FairShare } from '../../core/fair-share.ts'
import type { Caller, Callers } from './callers.ts'

/**
 * Receives a body. Resolves to `too-large` once it exceeds `limit`, `too-many-chunks` if they are tiny, `overloaded` if
 * the caller's share of memory for bodies is exhausted, `gone` if the caller leaves.
 */
export function receiveBody(
  req: IncomingMessage,
  limit: number,
  memory: BodyMemory,
  caller: Caller | null,
): Promise<Buffer | BodyFailure> {
  const declared = declaredLength(req)
  if (declared > limit) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    let bytes: Buffer = EMPTY
    let size = 0
    let chunks = 0
    let isOver = false
    const end = (outcome: Buffer | BodyFailure) => {
      if (isOver) return
      isOver = true
      memory.release(caller, size)
      resolve(outcome)
    }
    req.on('data', (chunk: Buffer) => {
      if (isOver) return
      const grown = size + chunk.length
      if (grown > limit) return end('too-large')
      if (++chunks > MAX_CHUNKS + grown / FAIR_CHUNK) return end('too-many-chunks')
      if (!memory.mayTake(caller, chunk.length)) return end('overloaded')
      memory.take(caller, chunk.length)
      // Kept one by one, chunks of one byte would take two hundred times their size.
      if (size === 0) bytes = chunk
      else bytes = append(bytes, size, chunk, declared || limit)
      size = grown
    })
    req.on('end', () => end(bytes.subarray(0, size)))
    req.on('close', () => end('gone'))
  })
}

export type BodyFailure = 'too-large' | 'too-many-chunks' | 'overloaded' | 'gone'

/** Appends in place where `memory` has room, else in memory of twice the size. */
function append(memory: Buffer, size: number, chunk: Buffer, limit: number): Buffer {
  const needed = size + chunk.length
  let target = memory
  if (needed > memory.length) {
    target = Buffer.allocUnsafe(Math.max(needed, Math.min(2 * memory.length, limit)))
    memory.copy(target, 0, 0, size)
  }
  chunk.copy(target, size)
  return target
}

const EMPTY = Buffer.alloc(0)
/** A chunk takes about 3 µs however short it is, so a body of 1 MiB in chunks of one byte would take seconds. */
const MAX_CHUNKS = 250
const FAIR_CHUNK = 1024

/** Memory for bodies being received, shared by callers. Requests without a valid endpoint_id have one small share. */
export class BodyMemory {
  readonly #callers: Pick<Callers, 'shareOf'>
  readonly #known = new FairShare(64 * 2 ** 20)
  readonly #unknown = new FairShare(2 ** 20)

  constructor(callers: Pick<Callers, 'shareOf'>) {
    this.#callers = callers
  }

  /** A caller may always hold one whole body. */
  configure(maxBodyBytes: number): void {
    this.#known.maxOfOne = Math.max(8 * 2 ** 20, maxBodyBytes)
  }

  mayTake(caller: Caller | null, bytes: number): boolean {
    return caller === null
      ? this.#unknown.mayTake(null, bytes)
      : this.#known.mayTake(this.#callers.shareOf(caller), bytes)
  }

  take(caller: Caller | null, bytes: number): void {
    if (caller === null) this.#unknown.take(null, bytes)
    else this.#known.take(caller.name, bytes)
  }

  release(caller: Caller | null, bytes: number): void {
    if (caller === null) this.#unknown.release(null, bytes)
    else this.#known.release(caller.name, bytes)
  }
}

/** 0 if the request declares no length. */
export function declaredLength({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** Node decodes no transfer coding except `chunked` (RFC 9112, section 6.1). */
export function isChunked({ headers, httpVersion }: IncomingMessage): boolean {
  return httpVersion === '1.1' && headers['transfer-encoding']?.toLowerCase() === 'chunked'
}

const LINGER_MS = 1000
const LINGER_BYTES = 4 * 2 ** 20
/** Shorter chunks count as much, so that at most 256 of them are read. */
const LINGER_CHUNK = 16_384

/**
 * Closes the connection after an answer that was written before the body arrived. Reads the rest of the body for a
 * while, because closing with unread data resets the connection and loses the answer.
 */
export function closeAfterBody(req: IncomingMessage, res: ServerResponse, clock: Pick<Clock, 'after'>): void {
  let left = LINGER_BYTES
  const end = () => {
    timer.cancel()
    res.end()
  }
  const timer = clock.after(LINGER_MS, end)
  req.on('data', (chunk: Buffer) => {
    left -= Math.max(chunk.length, LINGER_CHUNK)
    if (left < 0) end()
  })
  req.on('end', end)
  req.on('close', end)
  req.resume()
}
