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
import { gatewayError, rpcErrorWithoutId } from '../errors.ts'
import { keyOf, paceHandshakes } from '../paced-handshakes.ts'
import { PacedReads } from '../paced-reads.ts'
import { CLOSES } from './respond.ts'

export interface ListenerDeps {
  readonly options: ListenerOptions
  readonly clock: Pick<Clock, 'monotonic' | 'after'>
  /** `awaitsContinue`: the caller sends its body only after 100 Continue. */
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean) => void
}

export interface ListenerOptions {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
  readonly tls: Certificate | null
  /** Connections without traffic are closed after this time; must exceed the time of the slowest answer. */
  readonly idleTimeoutMs: number
  readonly timeouts?: ArrivalTimeouts
  readonly maxConnections?: number
}

/** Timeouts for a TLS handshake or the headers and for the whole request, and the interval at which they are checked. */
export interface ArrivalTimeouts {
  readonly headersMs: number
  readonly requestMs: number
  readonly checkEveryMs: number
}

/** In PEM format. */
export interface Certificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

const TIMEOUTS: ArrivalTimeouts = { headersMs: 8000, requestMs: 10_000, checkEveryMs: 1000 }
/** `requireHostHeader` is off because Node would reject without a body; admission rejects instead. */
const LIMITS: ServerOptions = {
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  noDelay: true,
  requireHostHeader: false,
}
const CLOSING_CHECK_MS = 250
/** Each connection takes a file descriptor and about 10 KB. */
const MAX_CONNECTIONS = 8192
/** Connections that wait to be accepted. Beyond this, callers wait a second until TCP retries. */
const BACKLOG = 2048
const MIN_TLS_VERSION = 'TLSv1.2'

/** The HTTP or HTTPS listener of the gateway, with the limits that a public listener needs. */
export function createListener({ options, clock, onRequest }: ListenerDeps) {
  const { tls, timeouts = TIMEOUTS, maxConnections = MAX_CONNECTIONS } = options
  const onPlainRequest: RequestListener = (req, res) => begin(req, res, false)
  const limits: ServerOptions = {
    ...LIMITS,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
  }
  const server: Server | SecureServer =
    tls === null
      ? createServer(limits, onPlainRequest)
      : createSecureServer({ ...limits, ...tls, minVersion: MIN_TLS_VERSION }, onPlainRequest)
  if ('setSecureContext' in server) paceHandshakes(server, clock, timeouts.headersMs)
  // No limit here: Node 20 drops excess headers silently and Node 24 sends its own error, so admission counts them.
  server.maxHeadersCount = 0
  server.maxRequestsPerSocket = 100_000
  server.maxConnections = maxConnections
  // A caller that does not read its answer would keep the memory occupied.
  server.setTimeout(options.idleTimeoutMs, (socket: Socket) => socket.destroy())
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => begin(req, res, true))
  // Other expectations are ignored (RFC 9110, section 10.1.1); Node would answer 417 without a body.
  server.on('checkExpectation', onPlainRequest)
  const reads = new PacedReads(server, tls !== null)
  server.on('connect', (_req: IncomingMessage, socket: CallerSocket) => rejectInTurn(socket, NO_TUNNEL))
  server.on('clientError', rejectUnparsable)
  const connections = new OpenConnections(maxConnections)
  server.on('connection', (socket: Socket) => connections.add(socket))
  server.on('secureConnection', (socket: Socket) => connections.secured(socket))
  let closing = false

  function begin(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    reads.begin(req.socket, res)
    // Data after the last request of a connection is ignored (RFC 9112, section 9.6).
    if (endsConnection(req.socket)) return reads.stop(req.socket)
    trackResponse(req.socket, res)
    res.once('close', () => connections.used(req.socket))
    onRequest(req, res, awaitsContinue)
  }

  return {
    /** Rejects if the address cannot be bound. */
    listen(): Promise<{ readonly host: string; readonly port: number }> {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port: options.port, host: options.host, backlog: BACKLOG }, () => {
          server.off('error', reject)
          const { address, port } = server.address() as AddressInfo
          resolve({ host: address, port })
        })
      })
    },

    /** Applies to new connections; open ones keep their certificate. */
    useCertificate({ cert, key }: Certificate): void {
      if ('setSecureContext' in server) server.setSecureContext({ cert, key, minVersion: MIN_TLS_VERSION })
    },

    /** Applies to new connections, and to open ones from their next request on. */
    useIdleTimeout(idleTimeoutMs: number): void {
      server.timeout = idleTimeoutMs
    },

    get closing(): boolean {
      return closing
    },

    /** Stops accepting, waits up to `graceMs` for requests in flight, and resolves when no connection is left. */
    close(graceMs: number, isIdle: () => boolean): Promise<void> {
      closing = true
      return new Promise((resolve) => {
        let left = graceMs
        let timer: Timer
        // A closing Node server times out no connections and treats one that has sent nothing as busy.
        const check = () => {
          left -= CLOSING_CHECK_MS
          if (left <= 0 || isIdle()) connections.closeAll()
          else timer = clock.after(CLOSING_CHECK_MS, check)
        }
        timer = clock.after(CLOSING_CHECK_MS, check)
        server.close(() => {
          timer.cancel()
          resolve()
        })
        server.closeIdleConnections()
      })
    },
  }
}

/**
 * All connections, also those within their TLS handshake, which Node's own list lacks. Where places run short, closes the
 * one that has waited the longest for a whole request, so that a flood of silent or slow ones keeps no new caller out.
 */
class OpenConnections {
  readonly #sockets = new Map<string, CallerSocket>()
  readonly #mostKept: number

  constructor(maxConnections: number) {
    // Node still counts a closed connection for a while, so some places stay free for new ones.
    this.#mostKept = maxConnections - Math.ceil(maxConnections / 8)
  }

  add(socket: CallerSocket): void {
    const key = keyOf(socket)
    this.#sockets.set(key, socket)
    socket.once('close', () => {
      if (this.#sockets.get(key) === socket) this.#sockets.delete(key)
    })
    if (this.#sockets.size <= this.#mostKept) return
    for (const [oldest, one] of this.#sockets) {
      const last = one[LAST_RESPONSE]
      if (last?.closed === false && last.req.complete) continue
      one.destroy()
      return void this.#sockets.delete(oldest)
    }
  }

  secured(socket: CallerSocket): void {
    if (this.#sockets.has(keyOf(socket))) this.add(socket)
    else socket.destroy()
  }

  /** A request has been answered. */
  used(socket: CallerSocket): void {
    const key = keyOf(socket)
    if (this.#sockets.delete(key)) this.#sockets.set(key, socket)
  }

  closeAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }
}

/** The response to the last request of a connection; responses to earlier requests are sent before it. */
const LAST_RESPONSE = Symbol('last response')
const IS_REJECTED = Symbol('is rejected')
/** The response that must be sent before this one. */
const PREVIOUS = Symbol('previous')

interface CallerSocket extends Socket {
  [LAST_RESPONSE]?: QueuedResponse
  [IS_REJECTED]?: boolean
}

interface QueuedResponse extends ServerResponse {
  [PREVIOUS]?: QueuedResponse | null
}

function trackResponse(socket: CallerSocket, response: QueuedResponse): void {
  const last = socket[LAST_RESPONSE]
  socket[LAST_RESPONSE] = response
  if (last === undefined) socket.once('close', () => closeResponses(socket))
  else if (!last.closed) {
    response[PREVIOUS] = last
    response.once('close', () => {
      response[PREVIOUS] = null
    })
  }
}

function endsConnection(socket: CallerSocket): boolean {
  const last = socket[LAST_RESPONSE]
  return last !== undefined && CLOSES in last
}

/** Closes all pending responses of a caller that left. Node 20 closes only the first, so the others would never end. */
function closeResponses(socket: CallerSocket): void {
  for (let response = socket[LAST_RESPONSE] ?? null; response !== null && !response.closed; ) {
    const previous: QueuedResponse | null = response[PREVIOUS] ?? null
    if (response.socket === null && !response.destroyed) response.destroy().emit('close')
    response = previous
  }
}

/** Rejects a request that is not HTTP, too slow or too large. The socket may be half closed. */
function rejectUnparsable(error: Error & { code?: string }, socket: CallerSocket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  rejectInTurn(socket, unparsableResponse(error.code))
}

/** Sends `response` after the pending ones, because pipelining callers match responses to requests by order. */
function rejectInTurn(socket: CallerSocket, response: string): void {
  if (socket[IS_REJECTED]) return
  socket[IS_REJECTED] = true
  const last = socket[LAST_RESPONSE]
  const reject = () => endWith(socket, response)
  if (last === undefined || last.closed) return reject()
  // Data after the last request is malformed.
  if (last.req.complete) return void last.once('close', reject)
  // The last request itself is malformed. If it was answered already, that answer ends the connection.
  if (last.headersSent) return
  if (last.socket === null) last.once('socket', reject)
  else reject()
}

function unparsableResponse(code: string | undefined): string {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return rawResponse('408 Request Timeout', 'deadline', 'the request did not arrive in time')
  }
  return code === 'HPE_HEADER_OVERFLOW'
    ? rawResponse('431 Request Header Fields Too Large', 'too-large', NOT_HTTP)
    : rawResponse('400 Bad Request', 'no-request', NOT_HTTP)
}

const NOT_HTTP = 'not a valid HTTP request'
const NO_TUNNEL = rawResponse(
  '405 Method Not Allowed',
  'http-method',
  'this is not a proxy',
  'allow: POST, GET, HEAD\r\n',
)

/** A complete HTTP response that closes its connection. */
function rawResponse(status: string, kind: RejectionReason, message: string, headers = ''): string {
  const body = rpcErrorWithoutId(gatewayError(kind, message))
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

function endWith(socket: Socket, response: string): void {
  if (socket.writable) socket.end(response, () => socket.destroy())
  else socket.destroy()
}
