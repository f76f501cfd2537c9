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

/** The HTTP or HTTPS listener of the gateway, with the limits that a public listener needs. */
export interface Listener {
  /** Rejects if the address cannot be bound. */
  listen(): Promise<{ readonly host: string; readonly port: number }>
  /** For new connections; open ones keep theirs. */
  useCertificate(certificate: Certificate): void
  /** Accepts no more connections, lets requests in flight finish for up to `graceMs`, and resolves when no connection is left. */
  close(graceMs: number, isIdle: () => boolean): Promise<void>
  readonly closing: boolean
}

export interface ListenerDeps {
  readonly options: ListenerOptions
  readonly clock: Pick<Clock, 'after'>
  /** `awaitsContinue`: the caller sends its body only after 100 Continue. */
  readonly onRequest: (req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean) => void
}

export interface ListenerOptions {
  readonly host: string
  /** 0 for any free one. */
  readonly port: number
  readonly tls: Certificate | null
  /** A connection without traffic is closed after this time; must leave room for the slowest answer. */
  readonly idleTimeoutMs: number
  readonly timeouts?: ArrivalTimeouts
  readonly maxConnections?: number
}

/** Until when the headers and the whole request must have arrived, and how often that is checked. */
export interface ArrivalTimeouts {
  readonly headersMs: number
  readonly requestMs: number
  readonly checkEveryMs: number
}

/** PEM texts. */
export interface Certificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

const TIMEOUTS: ArrivalTimeouts = { headersMs: 8000, requestMs: 10_000, checkEveryMs: 1000 }
/** Admission rejects a request without Host: Node would do so without a body. */
const LIMITS: ServerOptions = {
  keepAliveTimeout: 65_000,
  maxHeaderSize: 16_384,
  noDelay: true,
  requireHostHeader: false,
}
const CLOSING_CHECK_MS = 250
const MAX_REQUESTS_PER_SOCKET = 100_000
/** Each takes a file descriptor and some 10 KB. */
const MAX_CONNECTIONS = 8192
/** Connections to be accepted. Beyond it, a burst of callers waits a second for TCP to try again. */
const BACKLOG = 2048
const TLS = { minVersion: 'TLSv1.2', handshakeTimeout: 8000 } as const

export function createListener({ options, clock, onRequest }: ListenerDeps): Listener {
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
      : createSecureServer({ ...limits, ...TLS, cert: tls.cert, key: tls.key }, onPlainRequest)
  // Beyond a limit, Node 20 drops headers silently and Node 24 rejects the request in its own words: admission counts instead.
  server.maxHeadersCount = 0
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  server.maxConnections = maxConnections
  // Idle connections must not keep new callers out.
  server.on('drop', () => server.closeIdleConnections())
  // A caller that does not read its answer holds its memory.
  server.setTimeout(options.idleTimeoutMs, (socket: Socket) => socket.destroy())
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => begin(req, res, true))
  // Other expectations are ignored (RFC 9110, section 10.1.1); Node would answer 417 without a body.
  server.on('checkExpectation', onPlainRequest)
  server.on('connect', (_req: IncomingMessage, socket: CallerSocket) => rejectInTurn(socket, NO_TUNNEL))
  server.on('clientError', rejectUnparsable)
  let closing = false

  function begin(req: IncomingMessage, res: ServerResponse, awaitsContinue: boolean): void {
    trackResponse(req.socket, res)
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
        // A closing Node server times no connection out, and takes one that has sent nothing for busy.
        const check = () => {
          left -= CLOSING_CHECK_MS
          if (left <= 0 || isIdle()) server.closeAllConnections()
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

/** The response to the last request of a connection; responses to earlier requests are sent before it. */
const LAST_RESPONSE = Symbol('last response')
const IS_REJECTED = Symbol('is rejected')
/** The response that must be sent first. */
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

/** When a caller leaves, Node 20 closes only the response whose turn it is: the others would count as in flight for ever. */
function closeResponses(socket: CallerSocket): void {
  for (let response = socket[LAST_RESPONSE] ?? null; response !== null && !response.closed; ) {
    const previous: QueuedResponse | null = response[PREVIOUS] ?? null
    if (response.socket === null && !response.destroyed) response.destroy().emit('close')
    response = previous
  }
}

/** A request that is no HTTP, too slow or too large. The socket may be half closed. */
function rejectUnparsable(error: Error & { code?: string }, socket: CallerSocket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  rejectInTurn(socket, unparsableResponse(error.code))
}

/** After the pending responses, since a caller that pipelines matches responses to requests by their order. */
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

/** A whole response that ends its connection. */
function rawResponse(status: string, kind: RejectionReason, message: string, headers = ''): string {
  const body = rpcErrorWithoutId(gatewayError(kind, message))
  return `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${headers}content-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`
}

function endWith(socket: Socket, response: string): void {
  if (socket.writable) socket.end(response, () => socket.destroy())
  else socket.destroy()
}
