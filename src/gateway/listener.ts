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
import type { Clock, Timer } from '../clock.ts'
import { type RefusalKind, refusal, rpcError } from './refusal.ts'

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
  readonly silenceMs: number
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

/** All headers must be here by then, and by the second number the body too. Node looks once in `connectionsCheckingInterval`. */
const TIMES: ServerOptions = { headersTimeout: 8000, requestTimeout: 10_000, connectionsCheckingInterval: 1000 }
const LIMITS: ServerOptions = { ...TIMES, keepAliveTimeout: 65_000, maxHeaderSize: 16_384, noDelay: true }
/** How long what has just come in, and not yet been counted, has to become a request. */
const LOOK_EVERY_MS = 250
const MAX_REQUESTS_PER_SOCKET = 100_000
/** Each takes a file descriptor and some 10 KB. */
const MAX_CONNECTIONS = 8192
/** Connections that wait to be taken: a burst of callers must not wait for the network to try again after a second. */
const BACKLOG = 2048
/** A handshake is as slow as an attacker wants it to be. */
const TLS = { minVersion: 'TLSv1.2', handshakeTimeout: 8000 } as const

export function createListener({ options, clock, onRequest }: ListenerDeps): Listener {
  const take: RequestListener = (req, res) => onRequest(req, res, false)
  const server: Server | SecureServer =
    options.tls === null
      ? createServer(LIMITS, take)
      : createSecureServer({ ...LIMITS, ...TLS, cert: options.tls.cert, key: options.tls.key }, take)
  server.maxRequestsPerSocket = MAX_REQUESTS_PER_SOCKET
  server.maxConnections = MAX_CONNECTIONS
  // Whoever does not read its answer holds the memory that the answer takes.
  server.setTimeout(options.silenceMs, (socket: Socket) => socket.destroy())
  server.on('checkContinue', (req: IncomingMessage, res: ServerResponse) => onRequest(req, res, true))
  server.on('clientError', answerNoHttp)
  let closing = false

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

/** What is not HTTP at all, or too slow or too large for it. Node has already decided; the socket may be half dead. */
function answerNoHttp(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return void socket.destroy()
  const [status, kind]: [string, RefusalKind] =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? ['408 Request Timeout', 'deadline']
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'too-large']
        : ['400 Bad Request', 'no-request']
  const message = kind === 'deadline' ? 'the request did not arrive in time' : 'the request cannot be read as HTTP'
  const body = `{"jsonrpc":"2.0","id":null,"error":${rpcError(refusal(kind, message))}}`
  const head = `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n`
  socket.end(head + body, () => socket.destroy())
}
