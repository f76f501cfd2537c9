import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Secret } from '../secret.ts'
import { sendProblem } from './problem.ts'
import type { Audience } from './wire-status.ts'

/** `always`: without a token; `public`: in reduced form where there is a token; `private`: only with the token. */
export type Visibility = 'always' | 'public' | 'private'

export interface AccessOptions {
  /** `null`: everything is readable on this listener. */
  readonly token: Secret | null
  /** Whether public routes are readable without the token. */
  readonly public: boolean
}

export interface Access {
  /** What this client may see of a route. */
  judge(request: FastifyRequest, visibility: Visibility): Audience | 'refused'
}

export function createAccess({ token, public: isPublic }: AccessOptions): Access {
  const expected = token === null ? null : digest(token.reveal())

  return {
    judge({ headers }, visibility) {
      if (expected === null || visibility === 'always') return 'private'
      const given = headers.authorization
      // A wrong token is refused even where no token is needed, so that a client notices.
      if (given !== undefined) return isBearer(given, expected) ? 'private' : 'refused'
      return isPublic && visibility === 'public' ? 'public' : 'refused'
    },
  }
}

export function sendRefusal(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer realm="heartline"')
  return sendProblem(reply, { status: 401, detail: 'This needs the token: send `Authorization: Bearer <token>`.' })
}

/** Digests have one length, so that the comparison takes the same time for every wrong token. */
function isBearer(header: string, expected: Buffer): boolean {
  const given = /^bearer +(\S+) *$/i.exec(header)?.[1]
  return given !== undefined && timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
