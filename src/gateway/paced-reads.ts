import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * Has a Node HTTP server parse pipelined requests in turns. Node itself parses all bytes that have arrived, up to 64 KiB of
 * each connection at once, so a few connections could occupy the event loop for seconds.
 */
export class PacedReads {
  readonly #connections = new WeakMap<Socket, PacedConnection>()
  /** Connections that wait for a turn, in their order. */
  readonly #waiting = new Set<PacedConnection>()
  #left = REQUESTS_PER_TURN
  #isTurnPlanned = false

  /** Before the server listens. */
  constructor(server: Server, isSecure: boolean) {
    // The HTTP server attaches its parser in the same event.
    server.on(isSecure ? 'secureConnection' : 'connection', (socket: Socket) => this.#attach(socket))
    server.on('connect', (_request, socket: Socket) => {
      this.stop(socket)
      // As Node does for a server without this listener.
      if (server.listenerCount('connect') === 1) socket.destroy()
    })
    server.on('clientError', (_error, socket) => this.stop(socket as Socket))
  }

  /** Must be called for every request, before it is handled. */
  begin(socket: Socket, response: ServerResponse): void {
    this.#left--
    // Planning a turn for each request would cost 1 % of it.
    if (this.#left < REQUESTS_PER_TURN / 2) this.#planTurn()
    const connection = this.#connections.get(socket)
    if (connection === undefined) return
    connection.begun++
    connection.unanswered++
    response.once('close', connection.answered)
  }

  /** Further bytes of this connection are not requests. */
  stop(socket: Socket): void {
    const connection = this.#connections.get(socket)
    if (connection !== undefined) connection.isStopped = true
  }

  #attach(socket: Socket): void {
    const [parse] = socket.listeners('data') as ((bytes: Buffer) => void)[]
    if (parse === undefined) return
    const connection: PacedConnection = {
      socket,
      parse,
      answered: () => this.#answered(connection),
      begun: 0,
      unanswered: 0,
      isFull: false,
      isStopped: false,
    }
    this.#connections.set(socket, connection)
    socket.off('data', parse)
    socket.on('data', (bytes: Buffer) => this.#read(connection, bytes))
  }

  #answered(connection: PacedConnection): void {
    connection.unanswered--
    if (!connection.isFull || connection.unanswered > MAX_UNANSWERED / 2) return
    connection.isFull = false
    this.#enqueue(connection)
  }

  #read(connection: PacedConnection, bytes: Buffer): void {
    const { socket, parse } = connection
    if (connection.isStopped) return
    // Node resumes the socket when it wants more of a body.
    if (connection.isFull || this.#waiting.has(connection)) return hold(connection, bytes)
    // A usual request waits for none of those that others send in numbers.
    const isShort = bytes.length <= SLICE_BYTES
    const first = connection.begun
    for (let at = 0, size = SLICE_BYTES; at < bytes.length; ) {
      connection.isFull = connection.unanswered >= MAX_UNANSWERED
      const isLong = at >= BYTES_PER_READ || connection.begun - first >= REQUESTS_PER_READ
      if (connection.isFull || isLong || (this.#left <= 0 && !isShort)) {
        hold(connection, bytes.subarray(at))
        if (!connection.isFull) this.#enqueue(connection)
        return
      }
      const { begun } = connection
      parse(at === 0 && bytes.length <= size ? bytes : bytes.subarray(at, at + size))
      if (connection.isStopped || socket.destroyed) return
      at += size
      // A long body needs no slices.
      size = connection.begun === begun ? 2 * size : SLICE_BYTES
      // Node has paused it, accepts no bytes now, and resumes it when responses are sent or a body is read.
      if (at < bytes.length && socket.isPaused()) {
        socket.unshift(bytes.subarray(at))
        return
      }
    }
  }

  #enqueue(connection: PacedConnection): void {
    this.#waiting.add(connection)
    this.#planTurn()
  }

  #planTurn(): void {
    if (this.#isTurnPlanned) return
    this.#isTurnPlanned = true
    setImmediate(this.#nextTurn)
  }

  readonly #nextTurn = (): void => {
    this.#isTurnPlanned = false
    this.#left = REQUESTS_PER_TURN
    let connections = REQUESTS_PER_TURN / REQUESTS_PER_READ
    for (const connection of this.#waiting) {
      if (connections-- === 0) break
      this.#waiting.delete(connection)
      connection.socket.resume()
    }
    if (this.#waiting.size > 0) this.#planTurn()
  }
}

function hold({ socket }: PacedConnection, bytes: Buffer): void {
  socket.pause()
  socket.unshift(bytes)
}

interface PacedConnection {
  readonly socket: Socket
  /** The HTTP server's own listener. */
  readonly parse: (bytes: Buffer) => void
  /** The listener of all its responses, none of which must be kept: an idle connection would keep its last one. */
  readonly answered: () => void
  /** Requests so far. */
  begun: number
  unanswered: number
  /** Waits until requests are answered. */
  isFull: boolean
  isStopped: boolean
}

/** In one iteration of the event loop. Rejecting them takes about two milliseconds. */
const REQUESTS_PER_TURN = 64
/** Of one connection in one iteration. */
const REQUESTS_PER_READ = 8
/** As many bytes may be a thousand chunks of one byte, each of which takes some microseconds. */
const BYTES_PER_READ = 4096
/** Of one connection. Responses are sent in order, so further requests would only wait. */
const MAX_UNANSWERED = 64
/** Holds a usual request, and at most a hundred short ones. */
const SLICE_BYTES = 2048
