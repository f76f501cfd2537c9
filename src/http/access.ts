import { createHash, timingSafeEqual } from 'node:crypto'
import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LoopTurns } from '../gateway/loop-turns.ts'
import type { Secret } from '../secret.ts'
import { sendProblem } from './problem.ts'
import type { Audience } from './wire/status.ts'

/** Decides what each client may see of a route. */
export function createAccess({ token, public: isPublic, host, hosts }: AccessOptions) {
  const expected = token === null ? null : digest(token.reveal())
  const known = new Set([...hosts, host].map(nameOf))
  // On another address, the port forwarder of a container makes every client look local.
  const isLocal = isLoopback(nameOf(host))
  const turns = new LoopTurns()

  return {
    /** Resolves when the request may begin, so that no client takes the event loop for itself. */
    turn: (request: FastifyRequest): Promise<void> | null => turns.next(clientAddress(request)),

    judge(request: FastifyRequest, visibility: Visibility): Audience | 'refused' | 'misdirected' {
      const { authorization } = request.headers
      if (expected === null) {
        const name = hostOf(request)
        const isOurs = isLoopback(name) || known.has(name) || name === addressOf(request.socket.localAddress)
        return isOurs ? 'private' : 'misdirected'
      }
      if (visibility === 'always') return 'private'
      // A wrong token is rejected even on public routes, so that its client notices.
      if (authorization !== undefined) return isBearer(authorization, expected) ? 'private' : 'refused'
      return isPublic && visibility === 'public' ? 'public' : 'refused'
    },

    /** Why a request that changes something is refused although its client may read everything; `null` if it is not. */
    refusedWrite(request: FastifyRequest): string | null {
      if (!isSameOrigin(request)) return 'Pages of other sites cannot change anything here.'
      if (expected === null && !(isLocal && isFromHere(request))) return TOKEN_NEEDED
      return null
    },
  }
}

/** `always`: readable by everybody; `public`: in reduced form without the token; `private`: only with the token. */
export type Visibility = 'always' | 'public' | 'private'

export interface AccessOptions {
  /** `null`: everything is readable; requests for unknown hosts are rejected, to prevent DNS rebinding. */
  readonly token: Secret | null
  /** Whether public routes are readable without the token. */
  readonly public: boolean
  /** Address that the listener is bound to. */
  readonly host: string
  /** Hosts accepted without a token, besides loopback and the listener's own addresses. */
  readonly hosts: readonly string[]
}

export function sendRefusal(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer realm="heartline"')
  return sendProblem(reply, { status: 401, detail: 'This needs the token: send `Authorization: Bearer <token>`.' })
}

export function sendMisdirected(reply: FastifyReply): FastifyReply {
  const detail = 'Without a token, Heartline answers only for loopback names and its own addresses: see `server.hosts`.'
  return sendProblem(reply, { status: 421, detail })
}

/** The client's address. For a proxy on this machine: the last address in `X-Forwarded-For`. */
export function clientAddress({ headers, socket }: FastifyRequest): string {
  const peer = addressOf(socket.remoteAddress)
  const forwarded = String(headers['x-forwarded-for'] ?? '')
  return isLoopback(peer) && forwarded !== '' ? forwarded.slice(forwarded.lastIndexOf(',') + 1).trim() : peer
}

/**
 * Whether no page of another site sent the request. Browsers send `Origin` with everything that can change something, and
 * `Sec-Fetch-Site` to secure origins, also where a proxy changes `Host`.
 */
export function isSameOrigin({ headers }: FastifyRequest): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  const { origin, host } = headers
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
}

const TOKEN_NEEDED =
  'Without `server.token`, only this machine can change anything, at a `server.listen` of loopback: set a token.'

/** Whether the client is on this machine, also behind proxies on it: each proxy adds the address of its client. */
function isFromHere({ headers, socket }: FastifyRequest): boolean {
  const forwarded = entriesOf(headers.forwarded)
    .flatMap((entry) => entry.split(';'))
    .flatMap((pair) => /^\s*for\s*=\s*"?([^"]*)/i.exec(pair)?.[1] ?? [])
  const named = [...forwarded, ...entriesOf(headers['x-forwarded-for']), ...entriesOf(headers['x-real-ip'])]
  return isLoopback(addressOf(socket.remoteAddress)) && named.every((one) => isLoopback(nameOf(one.trim())))
}

/** The entries of a header's list; a header that is absent or empty has none. */
function entriesOf(header: string | readonly string[] | undefined): string[] {
  const text = String(header ?? '')
  return text === '' ? [] : text.split(',')
}

/** The name that a request is for; empty if its request line may name another one (RFC 9112, section 3.2.2). */
function hostOf({ raw, headers }: FastifyRequest): string {
  if (raw.url?.startsWith('/') !== true) return ''
  // A request without `Host` cannot come from a browser.
  return nameOf(headers.host ?? 'localhost')
}

/** A host without port, brackets and final dot, in lower case; the whole text if it is no host. */
function nameOf(host: string): string {
  if (isIP(host) === 6) return host.toLowerCase()
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host) ?? []
  const name = (bracketed ?? plain ?? host).toLowerCase()
  return name.endsWith('.') ? name.slice(0, -1) : name
}

function isLoopback(name: string): boolean {
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === '::1' ||
    (isIP(name) === 4 && name.startsWith('127.'))
  )
}

/** An IPv4 client of an IPv6 socket has an address like `::ffff:10.0.0.1`. */
function addressOf(address: string | undefined): string {
  return (address ?? '').replace(/^::ffff:/, '')
}

/** Compares digests, which have equal lengths, so that every wrong token takes the same time. */
function isBearer(header: string, expected: Buffer): boolean {
  const given = /^bearer +(\S+) *$/i.exec(header)?.[1]
  return given !== undefined && timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
