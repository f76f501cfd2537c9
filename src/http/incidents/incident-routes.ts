import type { FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Incident } from '../../core/incident/incident.ts'
import { CONDITION_CODES } from '../../core/verdict/condition.ts'
import type { IncidentQuery } from '../../store/store.ts'
import { duringOf, readCursor, writeCursor } from '../incident-source.ts'
import { incidentSummary, incidentView } from '../incident-views.ts'
import { addVary, prefersText } from '../negotiation.ts'
import { countUpTo, NameParameter, oneOf, parameter, TimeParameter, TimeZoneParameter } from '../parameters.ts'
import { sendProblem } from '../problem.ts'
import { type App, json, NoQuery, operation, problem, type RouteDeps, text } from '../route.ts'
import type { Scope, Scopes } from '../scopes.ts'
import { IncidentListView, IncidentView } from '../wire/incidents.ts'
import type { Audience } from '../wire/status.ts'
import { notesFor, noteView } from './note-routes.ts'
import { withNotifications } from './notification-routes.ts'
import type { PostMortemWriter } from './post-mortem.ts'
import { silencesView } from './silence-routes.ts'

export interface IncidentRouteDeps extends IncidentDetailsDeps {
  readonly scopes: Scopes
  readonly postMortems: PostMortemWriter
}

const DEFAULT_LIMIT = 50
const MOST = 200

const ListQuery = z.strictObject({
  network: NameParameter.optional().describe(
    'Only of this network, which may have been removed from the configuration',
  ),
  endpoint: NameParameter.optional().describe(
    'Only of endpoints of this name, likewise with the token; includes outages of their host or provider',
  ),
  open: oneOf('true', 'false').optional().describe('Only open incidents, or only closed ones'),
  from: TimeParameter.optional().describe('RFC 3339 or Unix seconds: only incidents that were open after this time'),
  to: TimeParameter.optional().describe('RFC 3339 or Unix seconds: only incidents that were open before this time'),
  condition: oneOf(...CONDITION_CODES, 'halted')
    .optional()
    .describe('Only incidents that had this condition at some time'),
  limit: countUpTo(MOST).optional().describe('Maximum number of incidents; default 50'),
  cursor: parameter('the `next_cursor` of an answer', readCursor)
    .optional()
    .describe('The `next_cursor` of the previous page'),
  part_of: z
    .string()
    .regex(/^[^\s\0]{1,256}$/, { error: 'must be the `id` of an incident' })
    .optional()
    .describe('Only incidents that are part of this network-wide one; they are not listed otherwise'),
})

/** Routes for the list of incidents, and for one incident as JSON or plain text. */
export function registerIncidents(app: App, { scopes, postMortems, ...deps }: IncidentRouteDeps): void {
  const listRoute = operation({
    visibility: 'public',
    summary:
      'Incidents, newest first; endpoint incidents that are part of a network-wide one are not listed separately',
    query: ListQuery,
    answers: {
      200: json(IncidentListView, 'One page; `next_cursor` leads to the next, with the same other parameters'),
      503: problem('The incidents cannot be read now, and none of them is in memory'),
    },
  })
  app.get('/api/v1/incidents', listRoute, async (request, _reply) => {
    const { open, from, to, limit = DEFAULT_LIMIT, cursor, part_of: partOf, ...filter } = request.query
    const page = await incidentPage(scopes[request.audience], request.audience, {
      ...filter,
      open: open === undefined ? undefined : open === 'true',
      during: duringOf(from, to),
      after: cursor,
      partOf,
      limit,
    })
    const incidents = await withNotifications(page.incidents, deps, request.audience)
    return { ...page, incidents } satisfies IncidentListView
  })

  const oneRoute = operation({
    visibility: 'public',
    summary: 'One incident, with its changes, notifications and silences',
    params: z.object({ id: z.string() }),
    query: NoQuery,
    answers: {
      200: {
        description: 'The incident; as a post-mortem in plain text where `Accept` prefers `text/plain`',
        content: { 'application/json': { schema: IncidentView }, 'text/plain': { schema: z.string() } },
      },
      404: problem('There is no such incident'),
      503: problem('The incident cannot be read now'),
    },
  })
  app.get('/api/v1/incidents/:id', oneRoute, async (request, reply) => {
    const incident = await scopes[request.audience].source.one(request.params.id)
    return incident === null ? sendNone(reply) : send(request, reply, incident)
  })

  const textRoute = operation({
    visibility: 'public',
    summary: 'One incident as a post-mortem in plain text',
    params: z.object({ id: z.string() }),
    query: z.strictObject({ zone: TimeZoneParameter.optional().describe('The time zone of its times; default UTC') }),
    answers: {
      200: text('What happened, when and why, and what was measured before, during and after'),
      404: problem('There is no such incident'),
      503: problem('The incident cannot be read now'),
    },
  })
  app.get('/api/v1/incidents/:id.txt', textRoute, async (request, reply) => {
    const { id } = request.params
    const { source } = scopes[request.audience]
    // An id ends in the name of an endpoint, which may be `txt`.
    const exact = await source.one(`${id}.txt`)
    if (exact !== null) return send(request, reply, exact)
    const incident = await source.one(id)
    return incident === null ? sendNone(reply) : sendText(request, reply, incident, request.query.zone)
  })

  async function send(request: FastifyRequest, reply: FastifyReply, incident: Incident) {
    addVary(reply, 'Accept')
    if (prefersText(request)) return sendText(request, reply, incident)
    return reply.send(await incidentDetails(incident, deps, request.audience))
  }

  async function sendText(request: FastifyRequest, reply: FastifyReply, incident: Incident, zone?: string) {
    const body = await postMortems.write(incident, request.audience, zone)
    return reply.type('text/plain; charset=utf-8').send(body)
  }
}

/** One page of incidents, newest first, without what channels received. */
export async function incidentPage(
  { board, source }: Pick<Scope, 'board' | 'source'>,
  audience: Audience,
  filter: IncidentQuery,
): Promise<IncidentListView> {
  const { endpoint } = filter
  // To find the outages of an endpoint, the store reads all outages: not for invented names.
  const isKnown =
    audience === 'private' ||
    endpoint === undefined ||
    board.networks().some(({ standing }) => board.entry(standing.network.name, endpoint) !== undefined)
  if (!isKnown) return { incidents: [], next_cursor: null }
  const { incidents, next } = await source.list(filter)
  return {
    incidents: incidents.map((incident) => incidentSummary(incident, audience)),
    next_cursor: next === null ? null : writeCursor(next),
  }
}

function sendNone(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, { status: 404, detail: 'There is no such incident.' })
}

type IncidentDetailsDeps = Pick<RouteDeps, 'notifier' | 'store' | 'silences'>

/** One incident with all that is known about it: its changes, what channels received, its silences and its notes. */
export async function incidentDetails(
  incident: Incident,
  deps: IncidentDetailsDeps,
  audience: Audience,
): Promise<IncidentView> {
  const view = incidentView(incident, audience)
  const [told, silences, notes] = await Promise.all([
    withNotifications([view], deps, audience),
    audience === 'public' ? [] : deps.silences.during(incident),
    notesFor(deps.store, [incident.id], audience),
  ])
  return { ...view, notifications: told[0]?.notifications ?? [], ...silencesView(silences), notes: notes.map(noteView) }
}
