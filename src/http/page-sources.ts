import type { Answer, Sources } from '../../web/views/view.ts'
import type { Clock } from '../clock.ts'
import { endpointKey } from '../core/endpoint.ts'
import type { Board } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import type { Sightings } from '../state/sightings.ts'
import type { Store } from '../store/store.ts'
import { blocksView } from './blocks-view.ts'
import { type GatewayRouteDeps, gatewayView } from './gateway-route.ts'
import { cursorOf, placeOf } from './incident-routes.ts'
import type { IncidentSource } from './incident-source.ts'
import { incidentSummary, incidentView } from './incident-views.ts'
import { routingView } from './network-routes.ts'
import { type ObserverRouteDeps, ownHealthView } from './observer-route.ts'
import { pollsOf } from './polls-route.ts'
import type { PostMortemWriter } from './post-mortem-writer.ts'
import { time } from './rfc3339.ts'
import { endpointView, historyBucketView, networkView, rulesView } from './status-views.ts'
import type { StripSource } from './strip-source.ts'
import type { Audience } from './wire-status.ts'

export interface PageSourcesDeps extends GatewayRouteDeps, ObserverRouteDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'of'>
  readonly source: IncidentSource
  readonly store: Pick<Store, 'history' | 'polls'>
  readonly strips: StripSource
  readonly sightings: Sightings
  readonly postMortems: PostMortemWriter
  readonly clock: Pick<Clock, 'now'>
  readonly metrics: GatewayRouteDeps['metrics'] & ObserverRouteDeps['metrics']
}

/** What views ask for, told by the daemon to itself: the same as the API tells the browser, for the same audience. */
export function pageSources(deps: PageSourcesDeps, audience: Audience): Sources {
  const { board, incidents, source, store, strips, postMortems, sightings, clock } = deps
  const isPrivate = audience === 'private'

  return {
    async network(name) {
      const network = board.network(name)
      return network === undefined ? MISSING : here(networkView(network, incidents, clock.now(), audience))
    },

    async blocks(name) {
      if (!isPrivate) return LOCKED
      const network = board.network(name)
      return network === undefined ? MISSING : here(blocksView(network, sightings, clock.now()))
    },

    async routing(name) {
      if (!isPrivate) return LOCKED
      const network = board.network(name)
      return network === undefined ? MISSING : here(routingView(network, deps.gateway(), clock.now()))
    },

    async endpoint(network, endpoint) {
      const entry = board.entry(network, endpoint)
      if (entry === undefined) return MISSING
      return here(endpointView(entry, incidents.of(entry.health.endpoint), clock.now(), audience))
    },

    async history({ network, endpoint, fromMs, toMs, stepSeconds }) {
      if (!isPrivate) return LOCKED
      if (board.entry(network, endpoint) === undefined) return MISSING
      const asked = { endpoint: endpointKey({ network, name: endpoint }), from: fromMs, to: toMs }
      try {
        const buckets = await store.history({ ...asked, stepMs: stepSeconds * 1000 })
        return here({
          network,
          endpoint,
          from: time(fromMs),
          to: time(toMs),
          step_seconds: stepSeconds,
          buckets: buckets.map(historyBucketView),
        })
      } catch {
        return AWAY
      }
    },

    async polls(asked) {
      if (!isPrivate) return LOCKED
      const entry = board.entry(asked.network, asked.endpoint)
      if (entry === undefined) return MISSING
      try {
        return here(await pollsOf(store, entry.health.endpoint, asked.fromMs, asked.toMs))
      } catch {
        return AWAY
      }
    },

    async rules(network, endpoint) {
      if (!isPrivate) return LOCKED
      const of = board.network(network)
      const entry = board.entry(network, endpoint)
      return of === undefined || entry === undefined
        ? MISSING
        : here(rulesView(of.standing.network, entry.health.endpoint))
    },

    async incidents({ cursor, limit = 50, part_of: partOf, ...filter }) {
      const after = cursor === undefined ? undefined : placeOf(cursor)
      if (after === null) return MISSING
      const { incidents: list, next } = await source.list({ ...filter, after, partOf, limit })
      return here({
        incidents: list.map((incident) => incidentSummary(incident, audience)),
        next_cursor: next === null ? null : cursorOf(next),
      })
    },

    async incident(id) {
      const incident = await source.one(id)
      return incident === null ? MISSING : here(incidentView(incident, audience))
    },

    async postMortem(id) {
      const incident = await source.one(id)
      return incident === null ? MISSING : here(await postMortems.write(incident, audience))
    },

    gateway: async () => (isPrivate ? here(gatewayView(deps)) : LOCKED),
    observer: async () => (isPrivate ? here(ownHealthView(deps)) : LOCKED),

    // A page does not wait for a day of history: it comes without, and the browser asks again.
    strips: async () => here(strips.latest(audience)),
  }
}

const MISSING = { ok: false, why: 'missing' } as const
const LOCKED = { ok: false, why: 'locked' } as const
const AWAY = { ok: false, why: 'away' } as const

function here<T>(value: T): Answer<T> {
  return { ok: true, value }
}
