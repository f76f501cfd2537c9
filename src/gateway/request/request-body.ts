import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../clock.ts'

/** The bytes of all bodies that are being received. */
export interface BodyBacklog {
  bytes: number
}

/**
 * Collects a body; `too-large` as soon as it is known to exceed `limit`, `gone` if the caller leaves before its end.
 */
export function receiveBody(
  req: IncomingMessage,
  limit: number,
  backlog: BodyBacklog,
): Promise<Buffer | 'too-large' | 'gone'> {
  if (declaredLength(req) > limit) return Promise.resolve('too-large')
  return new Promise((resolve) => {
    const chunks: Buffer[] = []
    let size = 0
    let isOver = false
    const end = (outcome: Buffer | 'too-large' | 'gone') => {
      if (isOver) return
      isOver = true
      backlog.bytes -= size
      resolve(outcome)
    }
    req.on('data', (chunk: Buffer) => {
      if (isOver) return
      size += chunk.length
      backlog.bytes += chunk.length
      if (size > limit) end('too-large')
      else chunks.push(chunk)
    })
    req.on('end', () => end(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks, size)))
    req.on('close', () => end('gone'))
  })
}

/** 0 if the request declares no length. */
export function declaredLength({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0)
}

export function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

const LINGER_MS = 1000
const LINGER_BYTES = 4 * 2 ** 20

/**
 * Ends the connection after an answer that was written before the whole body arrived. The rest of the body is read for a while: closing
 * a connection with unread data resets it, and the answer would be lost.
 */
export function closeAfterBody(req: IncomingMessage, res: ServerResponse, clock: Pick<Clock, 'after'>): void {
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
