import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock, Timer } from '../clock.ts'
import { keyOf } from '../gateway/paced-handshakes.ts'

/**
 * Limits the connections to the page's listener and their unread responses. When connections run short, it closes the
 * one that has been idle the longest, so a flood of silent connections displaces only itself.
 */
export function limitConnections(server: Server, maxConnections: number, clock: Pick<Clock, 'monotonic' | 'after'>) {
  /** By client address and port. Idle connections are sorted, longest idle first; busy ones may be anywhere. */
  const connections = new Map<string, Connection>()
  /** Those with requests in flight: only they can have unread responses. */
  const busy = new Set<Connection>()
  // Node still counts a closed connection for a while, so some places stay free for new ones.
  const mostKept = maxConnections - Math.ceil(maxConnections / 8)
  let sweepTimer: Timer | null = null
  server.maxConnections = maxConnections

  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket)
    const connection = { socket, inFlight: 0, since: clock.monotonic(), isStream: false }
    connections.set(key, connection)
    socket.once('close', () => forget(key, connection))
    if (connections.size > mostKept) closeOldest(({ inFlight }) => inFlight === 0)
    sweepTimer ??= clock.after(SWEEP_EVERY_MS, sweep)
  })
  // After the TLS handshake, the same client has a new socket object.
  server.on('secureConnection', (socket: Socket) => {
    const key = keyOf(socket)
    const connection = connections.get(key)
    if (connection === undefined) return void socket.destroy()
    connection.socket = socket
    socket.once('close', () => forget(key, connection))
  })
  server.prependListener('request', (request, response) => {
    const key = keyOf(request.socket)
    const connection = connections.get(key)
    if (connection === undefined) return
    // Node discards any data after a request with an Upgrade header.
    if (request.headers.upgrade !== undefined) response.setHeader('connection', 'close')
    connection.inFlight++
    busy.add(connection)
    connection.since = clock.monotonic()
    response.once('close', () => {
      connection.inFlight--
      connection.since = clock.monotonic()
      if (connections.get(key) !== connection) return
      if (connection.inFlight === 0) busy.delete(connection)
      connections.delete(key)
      connections.set(key, connection)
    })
  })

  function forget(key: string, connection: Connection): void {
    busy.delete(connection)
    if (connections.get(key) === connection) connections.delete(key)
  }

  function closeOldest(isEligible: (connection: Connection) => boolean): boolean {
    for (const [key, connection] of connections) {
      if (!isEligible(connection)) continue
      forget(key, connection)
      connection.socket.destroy()
      return true
    }
    return false
  }

  /** Closes slow readers: no timeout of Node ends a client that reads a little now and then. */
  function sweep(): void {
    sweepTimer = connections.size === 0 ? null : clock.after(SWEEP_EVERY_MS, sweep)
    const latest = clock.monotonic() - LONGEST_ANSWER_MS
    while (closeOldest(({ inFlight, since, isStream }) => inFlight > 0 && !isStream && since < latest));
  }

  return {
    /** Closes the slowest readers until `bytes` more fit into the limit on unread bytes. */
    makeRoom(bytes: number): void {
      let unread = bytes
      for (const { socket } of busy) unread += socket.writableLength
      while (unread > MOST_UNREAD_BYTES) {
        const slowest = [...busy].filter(({ socket }) => socket.writableLength > 0).sort((a, b) => a.since - b.since)[0]
        if (slowest === undefined) return
        unread -= slowest.socket.writableLength
        forget(keyOf(slowest.socket), slowest)
        slowest.socket.destroy()
      }
    },

    /** Exempts an event stream from the time limit, because it has no end and limits of its own. */
    markStream(socket: Socket): void {
      const connection = connections.get(keyOf(socket))
      if (connection !== undefined) connection.isStream = true
    },

    /** Includes those that have not finished their TLS handshake, which Node's own list lacks. */
    closeAll(): void {
      for (const { socket } of connections.values()) socket.destroy()
    },

    stop(): void {
      sweepTimer?.cancel()
    },
  }
}

export type Connections = ReturnType<typeof limitConnections>

interface Connection {
  socket: Socket
  inFlight: number
  /** Monotonic time at which the connection became busy or idle. */
  since: number
  isStream: boolean
}

const SWEEP_EVERY_MS = 5000
/** `/probe` may take one minute. A response of 13 MB takes two minutes at 110 kB/s. */
const LONGEST_ANSWER_MS = 120_000
const MOST_UNREAD_BYTES = 64 * 2 ** 20
