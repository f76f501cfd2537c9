import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Secret } from '../secret.ts'
import { sendProblem } from './problem.ts'
import type { Audience } from './wire-status.ts'

/** Who may see a route: anybody, always; the public (in a reduced form where there is a token); or the holder of the token. */
export type Visibility = 'anybody' | 'public' | 'private'

export interface AccessOptions {
  /** `null`: everything is readable by whoever reaches the listener. */
  readonly token: Secret | null
  /** With a token: whether the public routes are readable without it. */
  readonly public: boolean
}

export interface Access {
  /** What the one who asks may see of a route, or `refused`. */
  judge(request: FastifyRequest, visibility: Visibility): Audience | 'refused'
}

export function createAccess({ token, public: isPublic }: AccessOptions): Access {
  const expected = token === null ? null : digest(token.reveal())

  return {
    judge({ headers }, visibility) {
      if (expected === null || visibility === 'anybody') return 'private'
      const given = headers.authorization
      // A wrong token is refused even where none is needed: who sends one wants to see it work.
      if (given !== undefined) return isBearer(given, expected) ? 'private' : 'refused'
      return isPublic && visibility === 'public' ? 'public' : 'refused'
    },
  }
}

export function sendRefusal(reply: FastifyReply): FastifyReply {
  reply.header('www-authenticate', 'Bearer realm="heartline"')
  return sendProblem(reply, { status: 401, detail: 'This needs the token, as `Authorization: Bearer <token>`.' })
}

/** Digests are of one length, so that the comparison takes the same time for every wrong token. */
function isBearer(header: string, expected: Buffer): boolean {
  const given = /^bearer +(\S+) *$/i.exec(header)?.[1]
  return given !== undefined && timingSafeEqual(digest(given), expected)
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
