import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { type EndpointKey, endpointKey } from '../../core/endpoint.ts'
import type { Incident } from '../../core/incident/incident.ts'
import { time, timeOrNull, type UnixMs } from '../../core/time.ts'
import type { State } from '../../core/verdict/condition.ts'
import { type Health, headHolds, stateAt } from '../../core/verdict/health.ts'
import { type BoardEntry, type BoardNetwork, shownState } from '../../state/board.ts'
import type { IncidentLog } from '../../state/incident-log.ts'
import { clusterNotice } from '../cluster-route.ts'
import type { RouteDeps } from '../route.ts'
import type { Scope } from '../scopes.ts'
import { endpointView, maintenanceView, networkSummary, overallState, shownSince } from '../status-views.ts'
import type { Audience } from '../wire/status.ts'

/** Writes the board as JSON for one audience: the whole board, or its changes. */
export function createStatusWriter({ board, incidents, clock, observer, cluster, audience }: StatusWriterDeps) {
  const endpointJson = createEndpointWriter(audience, incidents)
  /** Makes ETags unique to this run of this daemon. */
  const origin = randomBytes(6).toString('base64url')
  let version = 0
  let plan = { periods: board.maintenance(), ahead: 0, text: '[]' }
  let latest: (StatusDocument & { readonly pieces: readonly string[] }) | null = null

  function piecesOf(networks: readonly BoardNetwork[], now: UnixMs, changed: Changed | 'all'): string[] {
    const pieces: string[] = []
    for (const [at, network] of networks.entries()) {
      const summary = JSON.stringify(networkSummary(network, now, audience))
      pieces.push(`${at === 0 ? '' : ']},'}${summary.slice(0, -1)},"endpoints":[`)
      let first = true
      for (const entry of network.endpoints) {
        if (changed !== 'all' && !changed.endpoints.has(entry.key)) continue
        if (!first) pieces.push(',')
        pieces.push(endpointJson(entry, now))
        first = false
      }
    }
    pieces.push(networks.length === 0 ? ']}' : ']}]}')
    return pieces
  }

  function opening(state: State, now: UnixMs, withPlan: boolean): string {
    const own = observer()
    const seen = audience === 'private' ? own : { ...own, reasons: [] }
    const plan = withPlan ? `,"maintenance":${maintenanceJson(now)},"announcements":${announcementsJson(now)}` : ''
    const notice = clusterNotice(cluster(), audience)
    const ofCluster = notice === null ? '' : `,"cluster":${JSON.stringify(notice)}`
    return `"state":"${state}","observer":${JSON.stringify(seen)}${ofCluster}${plan},"networks":[`
  }

  /** Omits past periods, which the board may still hold after a clock step. */
  function maintenanceJson(now: UnixMs): string {
    const periods = board.maintenance()
    const ahead = periods.filter(({ until }) => until > now)
    if (plan.periods !== periods || plan.ahead !== ahead.length) {
      plan = { periods, ahead: ahead.length, text: JSON.stringify(ahead.map(maintenanceView)) }
    }
    return plan.text
  }

  function announcementsJson(now: UnixMs): string {
    const ahead = board.announcements().filter(({ until }) => until === null || until > now)
    return JSON.stringify(
      ahead.map(({ text, links, from, until }) => ({ text, links, from: timeOrNull(from), until: timeOrNull(until) })),
    )
  }

  return {
    /** Prepares `whole` in slices, because writing thousands of endpoints at once would delay polls. */
    async prepare(): Promise<void> {
      let heldSince = clock.monotonic()
      let written = 0
      for (const { endpoints } of board.networks()) {
        for (const entry of endpoints) {
          endpointJson(entry, clock.now())
          if (++written % SLICE !== 0 || clock.monotonic() - heldSince < LONGEST_HOLD_MS) continue
          await setImmediate()
          heldSince = clock.monotonic()
        }
      }
    },

    /** Returns the same text, including `generated_at`, until any other part of it changes. */
    whole(): StatusDocument {
      const now = clock.now()
      const networks = board.networks()
      const state = overallState(networks, now)
      const pieces = [opening(state, now, true), ...piecesOf(networks, now, 'all')]
      if (latest !== null && same(latest.pieces, pieces)) return latest
      version++
      const body = `{"generated_at":"${time(now)}",${pieces.join('')}`
      latest = { body, etag: `"${origin}-${version}"`, state, pieces }
      return latest
    },

    /** Without line breaks, for a server-sent event. */
    event(changed: Changed | 'all'): string {
      const now = clock.now()
      const all = board.networks()
      const networks = changed === 'all' ? all : all.filter((one) => isTouched(one, changed))
      const complete = changed === 'all'
      const start = opening(overallState(all, now), now, complete || changed.maintenance)
      return `{"generated_at":"${time(now)}","complete":${complete},${start}${piecesOf(networks, now, changed).join('')}`
    },
  }
}

export interface StatusDocument {
  readonly body: string
  /** Strong: unique to the body. */
  readonly etag: string
  readonly state: State
}

/** Changed endpoints by key, changed networks by name, and whether the maintenance plan changed. */
export interface Changed {
  readonly maintenance: boolean
  readonly networks: ReadonlySet<string>
  readonly endpoints: ReadonlySet<EndpointKey>
}

export type StatusWriter = ReturnType<typeof createStatusWriter>

interface StatusWriterDeps
  extends Pick<RouteDeps, 'clock' | 'observer' | 'cluster'>,
    Pick<Scope, 'board' | 'incidents'> {
  readonly audience: Audience
}

/** Endpoints between two checks of the clock, and the time after which writing yields to the event loop. */
const SLICE = 32
const LONGEST_HOLD_MS = 4

function isTouched({ standing, endpoints }: BoardNetwork, changed: Changed): boolean {
  return changed.networks.has(standing.network.name) || endpoints.some(({ key }) => changed.endpoints.has(key))
}

/** Cheap, because most pieces are the same string object. */
function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((piece, at) => piece === b[at])
}

/** The text of an endpoint, and everything it depends on. */
interface Written {
  health: Health
  state: State
  /** Set only in maintenance: whether the latest result is still valid, and when maintenance began. */
  holds: boolean
  since: UnixMs | null
  incident: Incident | null
  /** Number of current heads, which expire one by one. */
  currentHeads: number
  availability: BoardEntry['availability']
  places: BoardEntry['places']
  text: string
}

/** Writes endpoints as JSON, and keeps each text until something that it depends on changes. */
function createEndpointWriter(
  audience: Audience,
  incidents: Pick<IncidentLog, 'of' | 'subscribe'>,
): (entry: BoardEntry, now: UnixMs) => string {
  // Keyed by entry: a WeakMap keyed by health, which is new in each poll, costs more than the text.
  const written = new WeakMap<BoardEntry, Written>()
  // Endpoints whose incident changed: looking up every incident would take longer than everything else.
  const touched = new Set<EndpointKey>()
  incidents.subscribe(({ network, endpoint }) => {
    if (endpoint !== null) touched.add(endpointKey({ network, name: endpoint }))
  })

  return (entry, now) => {
    const { health, availability, places } = entry
    const known = written.get(entry)
    const isTouched = known === undefined || (touched.size > 0 && touched.delete(entry.key))
    const incident = isTouched ? incidents.of(health.endpoint) : known.incident
    const state = shownState(entry, now)
    const maintained = state === 'maintenance'
    const holds = maintained && stateAt(health, now) !== 'unknown'
    const since = maintained ? shownSince(entry, now) : null
    let currentHeads = 0
    for (const head of health.heads) if (headHolds(head, health, now)) currentHeads++
    if (
      known?.health === health &&
      known.state === state &&
      known.holds === holds &&
      known.since === since &&
      known.incident === incident &&
      known.currentHeads === currentHeads &&
      known.availability === availability &&
      known.places === places
    ) {
      return known.text
    }
    const text = JSON.stringify(endpointView(entry, incident, now, audience))
    const fresh = { health, state, holds, since, incident, currentHeads, availability, places, text }
    if (known === undefined) written.set(entry, fresh)
    else Object.assign(known, fresh)
    return text
  }
}
