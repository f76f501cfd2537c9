import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecureServer, type Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import type { Clock, Timer } from '../../clock.ts'
import type { RejectionReason } from '../../core/routing/request-outcome.ts'
import { gatewayError, rpcError } from '../errors.ts'

/** PEM texts. */
export interface Certificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

export interface ListenerOptions {
  readonly host: string
  /** 0 takes any free one. */
  readonly port: number
  readonly tls: Certificate | null
  /** A connection on which nothing moves for longer is closed; must leave room for the slowest answer. */
  readonly idleTimeoutMs: number
  /** How long a request may take to arrive. */
  readonly timeouts?: ArrivalTimeouts
  readonly maxConnections?: number
}

/** All headers must be here by `headersMs`, and by `wholeMs` the body too; looked at once in `lookEveryMs`. */
export interface ArrivalTimeouts {
  readonly headersMs: number
  readonly requestMs: number
  readonly checkEveryMs: number
}

export interface ListenerDeps {
  readonly options: ListenerOptions
  readonly clock: Pick<Clock, 'after'>
  /** `awaitsContinue`: the caller sends its body only when told to. */
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean) => void
}

/** The gateway's own door: HTTP or HTTPS, with the limits that a door to the world needs. */
export interface Listener {
  /** Rejects when the address cannot be had. */
  listen(): Promise<{ readonly host: string; readonly port: number }>
  /** For new connections from now on; those that are open go on. */
  useCertificate(certificate: Certificate): void
  /** Takes no more connections, lets requests in flight finish for `graceMs` at most, and resolves when nothing is left open. */
  close(graceMs: number, isIdle: () => boolean): Promise<void>
  readonly closing: boolean
}

const ARRIVAL: ArrivalTimeouts = { headersMs: 8000, requestMs: 10_000, checkEveryMs: 1000 }
/** A request without Host is for us to refuse: Node does so with no body at all. */
const LIMITS: ServerOptions = {
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  noDelay: true,
  requireHostHeader: false,
}
/** How long what has just come in, and not yet been counted, has to become a request. */
const LOOK_EVERY_MS = 250
const MAX_REQUESTS_PER_SOCKET = 100_000
/** Each takes a file descriptor and some 10 KB. */
const MOST_CONNECTIONS = 8192
/** Connections that wait to be taken: a burst of callers must not wait for the network to try again after a second. */
const BACKLOG = 2048
/** A handshake is as slow as an attacker wants it to be. */
const TLS = { minVersion: 'TLSv1.2', handshakeTimeout: 8000 } as const

export function createListener({ options, clock, onRequest }: ListenerDeps): Listener {
  const take: RequestListener = (req, res) => begin(req, res, false)
  const { tls, timeouts: arrival = ARRIVAL, maxConnections: mostConnections = MOST_CONNECTIONS } = options
  const limits: ServerOptions = {
    ...LIMITS,
    headersTimeout: arrival.headersMs,
    requestTimeout: arrival.requestMs,
    connectionsCheckingInterval: arrival.checkEveryMs,
  }
  const server: Server | SecureServer =
    tls === null
      ? createServer(limits, take)
      : createSecureServer({ ...limits, ...TLS, cert: tls.cert, key: tls.key }, take)
  // Versions of Node that count drop those beyond without a word, or refuse them in words of their own; admission counts.
  server.maxHeadersCount = 0
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  server.maxConnections = mostConnections
  // Whoever keeps thousands open, and asks for nothing, must not keep everybody else out.
  server.on('drop', () => server.closeIdleConnections())
  // Whoever does not read its answer holds the memory that the answer takes.
  server.setTimeout(options.idleTimeoutMs, (socket: Socket) => socket.destroy())
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => begin(req, res, true))
  // What we do not understand of it need not be met (RFC 9110, section 10.1.1); Node says no with no body at all.
  server.on('checkExpectation', take)
  server.on('connect', (_req: IncomingMessage, socket: Door) => refuseInTurn(socket, NO_TUNNEL))
  server.on('clientError', refuseUnreadable)
  let closing = false

  function begin(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    queue(req.socket, res)
    onRequest(req, res, awaitsContinue)
  }

  return {
    listen() {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port: options.port, host: options.host, backlog: BACKLOG }, () => {
          server.off('error', reject)
          const { address, port } = server.address() as AddressInfo
          resolve({ host: address, port })
        })
      })
    },

    useCertificate({ cert, key }) {
      if ('setSecureContext' in server) server.setSecureContext({ cert, key, minVersion: TLS.minVersion })
    },

    get closing() {
      return closing
    },

    close(graceMs, isIdle) {
      closing = true
      return new Promise((resolve) => {
        let left = graceMs
        let timer: Timer
        // Node no longer times connections out once it is closing, and one that has sent nothing counts as busy.
        const look = () => {
          left -= LOOK_EVERY_MS
          if (left <= 0 || isIdle()) server.closeAllConnections()
          else timer = clock.after(LOOK_EVERY_MS, look)
        }
        timer = clock.after(LOOK_EVERY_MS, look)
        server.close(() => {
          timer.cancel()
          resolve()
        })
        server.closeIdleConnections()
      })
    },
  }
}

/** The answer to the request that came last on a connection; those to the requests before it go out before it. */
const LATEST = Symbol('latest')
const IS_REFUSED = Symbol('is refused')
/** The answer before it, where that was still due when it was asked for. */
const BEFORE = Symbol('before')
interface Door extends Socket {
  [LATEST]?: Due
  [IS_REFUSED]?: boolean
}
interface Due extends ServerResponse {
  [BEFORE]?: Due | null
}

function queue(door: Door, due: Due): void {
  const latest = door[LATEST]
  door[LATEST] = due
  if (latest === undefined) door.once('close', () => takeAlong(door))
  else if (!latest.closed) {
    due[BEFORE] = latest
    due.once('close', () => {
      due[BEFORE] = null
    })
  }
}

/**
 * Node 20 tells only the answer whose turn it is that its caller has left: those behind it would count as at work for ever.
 * Later ones destroy them all, and are about to tell.
 */
function takeAlong(door: Door): void {
  for (let due = door[LATEST] ?? null; due !== null && !due.closed; ) {
    const before: Due | null = due[BEFORE] ?? null
    if (due.socket === null && !due.destroyed) due.destroy().emit('close')
    due = before
  }
}

/**
 * What is not HTTP at all, or too slow or too large for it; the socket may be half dead. Answers that are still due go first:
 * whoever sends many requests in one piece tells answers by their order.
 */
function refuseUnreadable(error: Error & { code?: string }, socket: Door): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  refuseInTurn(socket, unreadable(error.code))
}

function refuseInTurn(socket: Door, answer: string): void {
  if (socket[IS_REFUSED]) return
  socket[IS_REFUSED] = true
  const latest = socket[LATEST]
  const refuse = () => end(socket, answer)
  if (latest === undefined || latest.closed) return refuse()
  // Something behind it cannot be read.
  if (latest.req.complete) return void latest.once('close', refuse)
  // It is itself what cannot be read. Where it is answered already, that answer ends the connection.
  if (latest.headersSent) return
  if (latest.socket === null) latest.once('socket', refuse)
  else refuse()
}

function unreadable(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return whole('408 Request Timeout', 'deadline', 'the request did not arrive in time')
  }
  return code === 'HPE_HEADER_OVERFLOW'
    ? whole('431 Request Header Fields Too Large', 'too-large', NO_HTTP)
    : whole('400 Bad Request', 'no-request', NO_HTTP)
}

const NO_HTTP = 'the request cannot be read as HTTP'
const NO_TUNNEL = whole('405 Method Not Allowed', 'http-method', 'this is no proxy', 'allow: POST, GET, HEAD\r\n')

/** A whole answer that ends its connection, as it goes over the wire. */
function whole(status: string, kind: RejectionReason, message: string, headers = ''): string {
  const body = `{"jsonrpc":"2.0","id":null,"error":${rpcError(gatewayError(kind, message))}}`
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

function end(socket: Socket, answer: string): void {
  if (socket.writable) socket.end(answer, () => socket.destroy())
  else socket.destroy()
}
