import type { Answer, Sources } from '../../../web/views/view.ts'
import type { Incident } from '../../core/incident/incident.ts'
import { Unreadable } from '../../store/reads.ts'
import { gatewayView, routingView } from '../gateway-routes.ts'
import { blocksView } from '../history/blocks.ts'
import type { DaySource } from '../history/days.ts'
import { historyOf, pollsOf } from '../history/endpoint-routes.ts'
import { rulesView } from '../history/history-views.ts'
import type { StripSource } from '../history/strips.ts'
import { duringOf, readCursor } from '../incident-source.ts'
import { incidentDetails, incidentPage } from '../incidents/incident-routes.ts'
import { notificationsView } from '../incidents/notification-routes.ts'
import type { PostMortemWriter } from '../incidents/post-mortem.ts'
import type { Runbooks } from '../incidents/runbooks.ts'
import { silencesView } from '../incidents/silence-routes.ts'
import { ownHealthView } from '../observer-route.ts'
import type { GrafanaLink, RouteDeps } from '../route.ts'
import type { Scopes } from '../scopes.ts'
import { endpointView, networkView } from '../status-views.ts'
import type { Audience } from '../wire/status.ts'

export interface PageSourcesDeps extends RouteDeps, GrafanaLink {
  readonly scopes: Scopes
  readonly strips: StripSource
  readonly days: DaySource
  readonly postMortems: PostMortemWriter
  readonly runbooks: Runbooks
}

/** Data for views rendered by the daemon, identical to the API's responses for the same audience. */
export function pageSources(deps: PageSourcesDeps, audience: Audience): Sources {
  const { board, incidents, source } = deps.scopes[audience]
  const { store, strips, days, postMortems, runbooks, sightings, clock } = deps
  const isPrivate = audience === 'private'

  /** Private data of a configured endpoint, from the store. */
  async function stored<T>(network: string, endpoint: string, read: () => Promise<T>): Promise<Answer<T>> {
    if (!isPrivate) return LOCKED
    if (board.entry(network, endpoint) === undefined) return MISSING
    return unlessAway(async () => here(await read()))
  }

  function ofIncident<T>(id: string, show: (incident: Incident) => Promise<T>): Promise<Answer<T>> {
    return unlessAway(async () => {
      const incident = await source.one(id)
      return incident === null ? MISSING : here(await show(incident))
    })
  }

  return {
    network: async (name) =>
      found(board.network(name), (network) => networkView(network, incidents, clock.now(), audience)),

    blocks: async (name) =>
      isPrivate ? found(board.network(name), (network) => blocksView(network, sightings, clock.now())) : LOCKED,

    routing: async (name) =>
      isPrivate ? found(board.network(name), (network) => routingView(network, deps.gateway(), clock.now())) : LOCKED,

    endpoint: async (network, endpoint) =>
      found(board.entry(network, endpoint), (entry) =>
        endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), audience),
      ),

    history: ({ network, endpoint, fromMs, toMs, stepSeconds }) =>
      stored(network, endpoint, () => historyOf(store, { network, name: endpoint }, fromMs, toMs, stepSeconds * 1000)),

    polls: ({ network, endpoint, fromMs, toMs }) =>
      stored(network, endpoint, () => pollsOf(store, { network, name: endpoint }, fromMs, toMs)),

    async rules(network, endpoint) {
      if (!isPrivate) return LOCKED
      const of = board.network(network)
      return of === undefined
        ? MISSING
        : found(board.entry(network, endpoint), ({ health }) =>
            rulesView(of.standing.network, health.endpoint, deps.grafanaUrl),
          )
    },

    async incidents({ cursor, from, to, limit = 50, part_of: partOf, ...filter }) {
      const after = cursor === undefined ? undefined : readCursor(cursor)
      if (after === null) return MISSING
      const during = duringOf(msOf(from), msOf(to))
      return unlessAway(async () =>
        here(await incidentPage(deps.scopes[audience], audience, { ...filter, during, after, partOf, limit })),
      )
    },

    incident: (id) => ofIncident(id, (incident) => incidentDetails(incident, deps, audience)),
    postMortem: (id) => ofIncident(id, (incident) => postMortems.write(incident, audience)),

    async runbook(name) {
      const text = runbooks.text(name)
      return text === null ? MISSING : here(text)
    },

    gateway: async () => (isPrivate ? here(gatewayView(deps)) : LOCKED),
    observer: async () => (isPrivate ? here(ownHealthView(deps)) : LOCKED),
    silences: async () => (isPrivate ? here(silencesView(deps.silences.active())) : LOCKED),
    notifications: async () => (isPrivate ? here(await notificationsView(deps)) : LOCKED),

    // A page does not wait for a day of history: the browser requests it later unless it is ready.
    strips: async () => here(strips.latest(audience)),
    days: async () => here(days.latest(audience)),
    publicDays: async () => here(isPrivate ? null : days.latest(audience)),
  }
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000
}

const MISSING = { ok: false, why: 'missing' } as const
const LOCKED = { ok: false, why: 'locked' } as const
const AWAY = { ok: false, why: 'away' } as const

function here<T>(value: T): Answer<T> {
  return { ok: true, value }
}

async function unlessAway<T>(read: () => Promise<Answer<T>>): Promise<Answer<T>> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof Unreadable) return AWAY
    throw error
  }
}

function found<S, T>(known: S | null | undefined, show: (known: S) => T): Answer<T> {
  return known === null || known === undefined ? MISSING : here(show(known))
}
