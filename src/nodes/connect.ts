import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { buildConnector } from 'undici'
import type { UnixMs } from '../core/time.ts'
import type { TlsTrust } from './address.ts'

export interface ConnectorDeps {
  readonly trust: TlsTrust
  /** Instead of the system's resolver. */
  readonly lookup: LookupFunction | null
  /** A socket is being opened: whoever is told can end it before it is open. */
  readonly onOpening: (socket: Socket) => void
  readonly onCertificate: (notAfter: UnixMs) => void
}

/** The certificate was read, and is not to be trusted; `code` is OpenSSL's, or Node's for the wrong host. */
export class UntrustedError extends Error {
  readonly code: string

  constructor(code: string) {
    super('untrusted certificate')
    this.code = code
  }
}

/**
 * Opens undici's connections. It has no timer: the deadline of the check ends it. TLS sessions are never resumed, because
 * a resumed one verifies nothing, and a certificate that ran out would go unseen.
 */
export function createConnector({ trust, lookup, onOpening, onCertificate }: ConnectorDeps): buildConnector.connector {
  return function connect({ hostname, protocol, port, servername }, callback) {
    const secure = protocol === 'https:'
    const target = {
      host: hostname,
      port: Number(port) || (secure ? 443 : 80),
      ...(lookup === null ? {} : { lookup }),
    }
    const socket = secure
      ? connectTls({
          ...target,
          servername: servername ?? (isIP(hostname) === 0 ? hostname : ''),
          ...(trust.ca === null ? {} : { ca: trust.ca }),
          ALPNProtocols: ['http/1.1'],
          // Judged below: only so can the end of an untrusted certificate be read.
          rejectUnauthorized: false,
        })
      : connectTcp(target)
    socket.setNoDelay(true)
    onOpening(socket)

    const fail = (error: Error): void => {
      settle()
      socket.on('error', () => {}).destroy()
      callback(error, null)
    }
    const failClosed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    const open = (): void => {
      const problem = secure ? judgeCertificate(socket as TLSSocket, trust, onCertificate) : null
      if (problem !== null) return fail(problem)
      settle()
      // undici would try for ever to connect, were it handed a socket that is gone already.
      if (socket.destroyed) return failClosed()
      callback(null, socket)
    }
    const settle = (): void => {
      socket
        .off('error', fail)
        .off('close', failClosed)
        .off(secure ? 'secureConnect' : 'connect', open)
    }
    socket
      .on('error', fail)
      .on('close', failClosed)
      .on(secure ? 'secureConnect' : 'connect', open)
  }
}

function judgeCertificate(socket: TLSSocket, trust: TlsTrust, onCertificate: (notAfter: UnixMs) => void): Error | null {
  const notAfter = Date.parse(socket.getPeerX509Certificate()?.validTo ?? '')
  if (Number.isFinite(notAfter)) onCertificate(notAfter)
  if (socket.authorized || trust.insecure) return null
  // A code, though its type says Error.
  return new UntrustedError(String(socket.authorizationError))
}
