import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'

const EMPTY = Buffer.alloc(0)

/** Counts the bytes of bodies that are being received, of all callers together. */
export interface Backlog {
  bytes: number
}

/**
 * Collects the body, and gives `null` as soon as it is known to be longer than `limit`. Nothing is given when the caller goes away
 * before its end.
 */
export function receive(
  req: IncomingMessage,
  limit: number,
  backlog: Backlog,
  done: (body: Buffer | null) => void,
): void {
  if (declaredLength(req) > limit) return done(null)
  let first: Buffer | null = null
  let others: Buffer[] | null = null
  let size = 0
  let isOver = false
  const end = (body: Buffer | null) => {
    if (isOver) return
    isOver = true
    backlog.bytes -= size
    if (body !== null) done(body)
  }
  req.on('data', (chunk: Buffer) => {
    if (isOver) return
    size += chunk.length
    backlog.bytes += chunk.length
    if (size > limit) {
      end(null)
      return done(null)
    }
    if (first === null) first = chunk
    else if (others === null) others = [first, chunk]
    else others.push(chunk)
  })
  req.on('end', () => end(others === null ? (first ?? EMPTY) : Buffer.concat(others, size)))
  req.on('close', () => end(null))
}

/** What the caller says that its body is long; 0 where it does not say. */
export function declaredLength({ headers }: IncomingMessage): number {
  const given = headers['content-length']
  return given === undefined ? 0 : Number(given)
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** What is sent on is read and forgotten for so long, and so much of it. */
const LINGER_MS = 1000
const LINGER_BYTES = 4 * 2 ** 20

/**
 * Answers before the body is here, and ends the connection: `answer` writes it whole but does not end it. The rest of the body is
 * read for a while, for a connection closed with something unread in it is reset, and the answer is lost with it.
 */
export function answerAndLinger(
  req: IncomingMessage,
  res: ServerResponse,
  clock: Pick<Clock, 'after'>,
  answer: () => void,
): void {
  answer()
  let left = LINGER_BYTES
  const end = () => {
    timer.cancel()
    res.end()
  }
  const timer = clock.after(LINGER_MS, end)
  req.on('data', (chunk: Buffer) => {
    left -= chunk.length
    if (left < 0) end()
  })
  req.on('end', end)
  req.on('close', end)
  req.resume()
}
