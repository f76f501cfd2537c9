import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { FairQueue } from '../core/fair-share.ts'

/**
 * Has a Node HTTPS server begin TLS handshakes one at a time, one address after the other, and in at most half of the time. One
 * takes up to a millisecond or two, and Node itself begins all whose first message has arrived, so thousands at once would occupy
 * the event loop for seconds. A handshake that takes longer than `timeoutMs`, waiting included, is ended.
 */
export function paceHandshakes(server: Server, clock: Pick<Clock, 'monotonic' | 'after'>, timeoutMs: number): void {
  // The first listener is Node's own.
  const [begin] = server.listeners('connection') as [(socket: Socket) => void]
  const unfinished = new Map<string, Handshake>()
  const waiting = new FairQueue<Handshake>()
  /** Oldest first. */
  const begun = new Set<Handshake>()
  let restsUntil = 0
  let isPlanned = false

  server.off('connection', begin)
  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    const timer = clock.after(timeoutMs, () => socket.destroy())
    const handshake = { socket, address: socket.remoteAddress ?? '', end }
    unfinished.set(key, handshake)
    socket.on('error', () => {})
    socket.once('end', () => socket.destroy())
    socket.once('close', end)
    readFirstMessage(socket, () => {
      waiting.add(handshake.address, handshake)
      next()
    })

    function end(): void {
      timer.cancel()
      if (!begun.delete(handshake)) waiting.delete(handshake)
      if (unfinished.get(key) === handshake) unfinished.delete(key)
    }
  })
  server.on('secureConnection', (socket: Socket) => unfinished.get(keyOf(socket))?.end())
  // Otherwise the HTTP server would send a response, which cannot be sent, so its end would never come.
  server.on('tlsClientError', (_error, socket) => socket.destroy())

  function next(): void {
    if (isPlanned) return
    const startedAt = clock.monotonic()
    if (startedAt < restsUntil) return plan(restsUntil - startedAt)
    const handshake = waiting.next(() => true)?.item
    if (handshake === undefined) return
    isPlanned = true
    begun.add(handshake)
    begin.call(server, handshake.socket)
    closeOldest()
    // Node has planned to process the first message, and answers it: Node 22 in an earlier tick, Node 24 in an earlier immediate.
    process.nextTick(() => (handshake.socket.bytesWritten > 0 ? rest(startedAt) : setImmediate(rest, startedAt)))
  }

  function rest(startedAt: number): void {
    const endedAt = clock.monotonic()
    restsUntil = endedAt + Math.max(MIN_REST_MS, endedAt - startedAt)
    isPlanned = false
    next()
  }

  function plan(delayMs: number): void {
    isPlanned = true
    clock.after(delayMs, () => {
      isPlanned = false
      next()
    })
  }

  /** The rest of a handshake takes time too, and may arrive for all of them at once. */
  function closeOldest(): void {
    for (const { socket, end } of begun) {
      if (begun.size <= MOST_BEGUN) return
      end()
      socket.destroy()
    }
  }
}

/** Of a connection: it has another socket object after its handshake. */
export function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

interface Handshake {
  readonly socket: Socket
  readonly address: string
  /** It is finished or closed. */
  readonly end: () => void
}

/** Leaves it unread for Node. */
function readFirstMessage(socket: Socket, done: () => void): void {
  let received: Buffer = Buffer.alloc(0)
  const read = (bytes: Buffer) => {
    received = Buffer.concat([received, bytes])
    if (!isWholeRecord(received)) return
    socket.off('data', read)
    socket.pause()
    socket.unshift(received)
    done()
  }
  socket.on('data', read)
}

/** A record with the first message of a handshake, or something else, which TLS rejects without much work. */
function isWholeRecord(bytes: Buffer): boolean {
  if (bytes[0] !== HANDSHAKE) return true
  return bytes.length >= HEADER_BYTES && bytes.length >= HEADER_BYTES + Math.min(bytes.readUInt16BE(3), MAX_RECORD)
}

/** The shortest time of a timer. */
const MIN_REST_MS = 1
const MOST_BEGUN = 512
/** The type of a TLS record. */
const HANDSHAKE = 22
const HEADER_BYTES = 5
const MAX_RECORD = 2 ** 14
