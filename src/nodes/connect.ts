import { connect as connectTcp, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import type { UnixMs } from '../core/time.ts'
import type { TlsTrust } from './address.ts'
import type { Connect } from './http-client.ts'

export interface ConnectorDeps {
  readonly origin: string
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
 * Opens connections to one origin. It has no timer: the deadline of the check ends it. TLS sessions are never resumed, because a
 * resumed one verifies nothing, and a certificate that ran out would go unseen.
 */
export function createConnector({ origin, trust, lookup, onOpening, onCertificate }: ConnectorDeps): Connect {
  const { protocol, hostname, port } = new URL(origin)
  const secure = protocol === 'https:'
  const host = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
  const target = {
    host,
    port: Number(port) || (secure ? 443 : 80),
    ...(lookup === null ? {} : { lookup }),
  }

  return function connect(take, done) {
    const socket = secure
      ? connectTls({
          ...target,
          servername: isIP(host) === 0 ? host : '',
          ...(trust.ca === null ? {} : { ca: trust.ca }),
          ALPNProtocols: ['http/1.1'],
          // Judged below: only so can the end of an untrusted certificate be read.
          rejectUnauthorized: false,
        })
      : connectTcp({ ...target, onread: { buffer: readBuffer(), callback: takeRead } })
    socket.setNoDelay(true)
    onOpening(socket)

    function takeRead(length: number, buffer: Uint8Array): boolean {
      take((buffer as Buffer).subarray(0, length))
      return true
    }
    const fail = (error: Error): void => {
      settle()
      socket.on('error', () => {}).destroy()
      done(error)
    }
    const failClosed = (): void => fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }))
    const open = (): void => {
      const problem = secure ? judgeCertificate(socket as TLSSocket, trust, onCertificate) : null
      if (problem !== null) return fail(problem)
      settle()
      if (socket.destroyed) return failClosed()
      if (secure) socket.on('data', take)
      done(null)
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
    return socket
  }
}

const READ_BYTES = 65_536
const shared = Buffer.allocUnsafeSlow(READ_BYTES)

/**
 * The kernel is asked for bytes, and what it gives is taken, in one step: all connections can read into the same memory. Not so on
 * Windows, where reading goes on in the background.
 */
function readBuffer(): Buffer {
  return process.platform === 'win32' ? Buffer.allocUnsafeSlow(READ_BYTES) : shared
}

function judgeCertificate(socket: TLSSocket, trust: TlsTrust, onCertificate: (notAfter: UnixMs) => void): Error | null {
  const notAfter = Date.parse(socket.getPeerX509Certificate()?.validTo ?? '')
  if (Number.isFinite(notAfter)) onCertificate(notAfter)
  if (socket.authorized || trust.insecure) return null
  // A code, though its type says Error.
  return new UntrustedError(String(socket.authorizationError))
}
