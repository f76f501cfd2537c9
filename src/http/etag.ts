import type { FastifyRequest } from 'fastify'

/**
 * Whether the one who asks has this very body. RFC 9110, 13.1.2: the weak comparison, as a cache in between may have made
 * our ETag weak.
 */
export function isKnown({ headers }: Pick<FastifyRequest, 'headers'>, etag: string): boolean {
  const given = headers['if-none-match']
  if (given === undefined) return false
  return given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag || one.trim() === '*')
}
