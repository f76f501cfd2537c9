import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import type { UnixMs } from '../core/time.ts'
import type { TlsTrust } from './address.ts'

/**
 * Opens undici's connections, without a timer: the request's deadline ends an attempt. TLS sessions are never resumed,
 * because a resumed session verifies no certificate, and an expired one would go unnoticed.
 */
export function createConnector({ trust, lookup, onOpening, onCertificate }: ConnectorDeps): buildConnector.connector {
  return function connect({ hostname, protocol, port }, callback) {
    const isSecure = protocol === 'https:'
    const target = {
      host: hostname,
      port: Number(port) || (isSecure ? 443 : 80),
      ...(lookup === null ? {} : { lookup }),
    }
    const socket = isSecure
      ? connectTls({
          ...target,
          servername: isIP(hostname) === 0 ? hostname : '',
          ...(trust.ca === null ? {} : { ca: trust.ca }),
          ALPNProtocols: ['http/1.1'],
          // Verified below, so that the expiry of an untrusted certificate can be read.
          rejectUnauthorized: false,
        })
      : connectTcp(target)
    // Without traffic, firewalls and address translators forget a connection, often after a minute.
    socket.setNoDelay(true).setKeepAlive(true, TCP_KEEP_ALIVE_MS)
    onOpening(socket)

    const fail = (error: Error): void => {
      settle()
      socket.on('error', () => {}).destroy()
      callback(error, null)
    }
    const failClosed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    const open = (): void => {
      const problem = isSecure ? checkCertificate(socket as TLSSocket, trust, onCertificate) : null
      if (problem !== null) return fail(problem)
      settle()
      // undici would reconnect forever if it received a closed socket.
      if (socket.destroyed) return failClosed()
      callback(null, socket)
    }
    const openEvent = isSecure ? 'secureConnect' : 'connect'
    const settle = (): void => {
      socket.off('error', fail).off('close', failClosed).off(openEvent, open)
    }
    socket.on('error', fail).on('close', failClosed).on(openEvent, open)
  }
}

export interface ConnectorDeps {
  readonly trust: TlsTrust
  /** `null` for the system's resolver. */
  readonly lookup: LookupFunction | null
  /** Destroying the socket cancels the connection attempt. */
  readonly onOpening: (socket: Socket) => void
  readonly onCertificate: (notAfter: UnixMs) => void
}

/** The certificate is not trusted; `code` is OpenSSL's, or Node.js's if the host does not match. */
export class UntrustedError extends Error {
  readonly code: string

  constructor(code: string) {
    super('untrusted certificate')
    this.code = code
  }
}

const TCP_KEEP_ALIVE_MS = 15_000

function checkCertificate(socket: TLSSocket, trust: TlsTrust, onCertificate: (notAfter: UnixMs) => void): Error | null {
  const notAfter = Date.parse(socket.getPeerX509Certificate()?.validTo ?? '')
  if (Number.isFinite(notAfter)) onCertificate(notAfter)
  // `authorizationError` is a string, although its type is Error.
  return socket.authorized || trust.insecure ? null : new UntrustedError(String(socket.authorizationError))
}
