import type { FastifyInstance, FastifyRequest } from 'fastify'
import { prefersText } from './accept.ts'
import { addVary } from './compressed.ts'
import type { IncidentPlace, IncidentSource } from './incident-source.ts'
import { incidentSummary, incidentView } from './incident-views.ts'
import type { PostMortemWriter } from './post-mortem-writer.ts'
import { sendProblem } from './problem.ts'
import { type ReadParameter, readCount, readName, readOneOf, readQuery } from './query.ts'
import { sendBadQuery } from './status-routes.ts'
import type { IncidentListView } from './wire-incidents.ts'

export interface IncidentRoutesDeps {
  readonly source: IncidentSource
  readonly postMortems: PostMortemWriter
}

const DEFAULT_LIMIT = 50
const MOST = 200
const TEXT = '.txt'

interface ListQuery {
  readonly network: string
  readonly endpoint: string
  readonly open: 'true' | 'false'
  readonly limit: number
  readonly cursor: IncidentPlace
  readonly part_of: string
}

/**
 * What went wrong: the list, and one incident as JSON or as a text for people. A name that nobody has any more may still
 * have had incidents, so an unknown one makes an empty list and no error.
 */
export function registerIncidents(app: FastifyInstance, { source, postMortems }: IncidentRoutesDeps): void {
  const config = { visibility: 'public' } as const

  app.get('/api/v1/incidents', { config }, async (request, reply) => {
    const read = readQuery<ListQuery>(request.query, {
      network: readName,
      endpoint: readName,
      open: readOneOf('true', 'false'),
      limit: readCount(1, MOST),
      cursor: readCursor,
      part_of: readId,
    })
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const { network, endpoint, open, limit = DEFAULT_LIMIT, cursor, part_of: partOf } = read.values
    const { incidents, next } = await source.list({
      network,
      endpoint,
      open: open === undefined ? undefined : open === 'true',
      after: cursor,
      partOf,
      limit,
    })
    return {
      incidents: incidents.map((incident) => incidentSummary(incident, request.audience)),
      next_cursor: next === null ? null : cursorOf(next),
    } satisfies IncidentListView
  })

  app.get<{ Params: { id: string } }>('/api/v1/incidents/:id', { config }, async (request, reply) => {
    const read = readQuery<object>(request.query, {})
    if (!read.ok) return sendBadQuery(reply, read.errors)
    const { id } = request.params
    // An endpoint may be called `txt`, and ids end in its name.
    const exact = await source.one(id)
    const asText = exact === null && id.endsWith(TEXT)
    const incident = asText ? await source.one(id.slice(0, -TEXT.length)) : exact
    if (!asText) addVary(reply, 'Accept')
    if (incident === null) return sendProblem(reply, { status: 404, detail: 'No such incident is known.' })
    if (!asText && !prefersText(acceptOf(request))) return incidentView(incident, request.audience)
    const text = await postMortems.write(incident, request.audience)
    return reply.type('text/plain; charset=utf-8').send(text)
  })
}

function acceptOf({ headers }: FastifyRequest): string {
  return headers.accept ?? '*/*'
}

/** Nobody has to understand it but us; it stays good however many incidents come after it. */
export function cursorOf({ openedAt, id }: IncidentPlace): string {
  return Buffer.from(`${openedAt} ${id}`).toString('base64url')
}

/** `null` for what is no cursor. */
export function placeOf(cursor: string): IncidentPlace | null {
  const [, openedAt, id] =
    (cursor.length <= 512 &&
      /^(\d{1,16}(?:\.\d{1,6})?) (\S{1,256})$/.exec(Buffer.from(cursor, 'base64url').toString())) ||
    []
  return openedAt === undefined || id === undefined ? null : { openedAt: Number(openedAt), id }
}

const readId: ReadParameter<string> = (text) =>
  /^\S{1,256}$/.test(text) ? { value: text } : { wrong: 'must be the `id` of an incident' }

const readCursor: ReadParameter<IncidentPlace> = (text) => {
  const place = placeOf(text)
  return place === null ? { wrong: 'must be the `next_cursor` of an answer' } : { value: place }
}
