import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import { type Health, headHolds, stateAt } from '../core/verdict/health.ts'
import { type Board, type BoardEntry, type BoardNetwork, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { time } from './rfc3339.ts'
import { endpointView, maintenanceView, networkSummary, overallState, shownSince } from './status-views.ts'
import type { Audience, ObserverView } from './wire-status.ts'

/** Writes the board as JSON for one audience: all of it, or what changed. */
export function createStatusWriter({ board, incidents, clock, observer, audience }: StatusWriterDeps): StatusWriter {
  const endpointJson = createEndpointWriter(audience, incidents)
  /** Another daemon, or another start of it, never gives out an ETag of ours. */
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

  function opening(state: State, now: UnixMs, withMaintenance: boolean): string {
    const { impaired, reasons } = observer()
    const seen = audience === 'private' ? { impaired, reasons } : { impaired, reasons: [] }
    const maintenance = withMaintenance ? `,"maintenance":${maintenanceJson(now)}` : ''
    return `"state":"${state}","observer":${JSON.stringify(seen)}${maintenance},"networks":[`
  }

  /** The board drops a period when its end is told; a clock that was stepped may be past it already. */
  function maintenanceJson(now: UnixMs): string {
    const periods = board.maintenance()
    const ahead = periods.filter(({ until }) => until > now)
    if (plan.periods !== periods || plan.ahead !== ahead.length) {
      plan = { periods, ahead: ahead.length, text: JSON.stringify(ahead.map(maintenanceView)) }
    }
    return plan.text
  }

  return {
    async prepare() {
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

    whole() {
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

    event(changed) {
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
  /** Strong: every body has its own. */
  readonly etag: string
  readonly state: State
}

/** A set of changes: endpoints by key, networks by name, and whether the plan of maintenance is another. */
export interface Changed {
  readonly maintenance: boolean
  readonly networks: ReadonlySet<string>
  readonly endpoints: ReadonlySet<EndpointKey>
}

export interface StatusWriter {
  /** Writes what `whole` will need, a little at a time: with thousands of endpoints that takes longer than a poll may wait. */
  prepare(): Promise<void>
  /** The same text as before, `generated_at` included, as long as nothing else in it changed. */
  whole(): StatusDocument
  /** As one line, for an event. */
  event(changed: Changed | 'all'): string
}

export interface StatusWriterDeps {
  readonly board: Board
  readonly incidents: Pick<IncidentLog, 'of' | 'subscribe'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly observer: () => ObserverView
  readonly audience: Audience
}

/** Endpoints between two looks at the clock, and the time after which the event loop is given back. */
const SLICE = 32
const LONGEST_HOLD_MS = 4

function isTouched({ standing, endpoints }: BoardNetwork, changed: Changed): boolean {
  return changed.networks.has(standing.network.name) || endpoints.some(({ key }) => changed.endpoints.has(key))
}

/** Most pieces are the very strings of last time, so that this costs next to nothing. */
function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((piece, at) => piece === b[at])
}

/** The text of an endpoint, and everything it depends on. */
interface Written {
  health: Health
  state: State
  /** In maintenance: whether the latest result holds all the same, and since when. */
  holds: boolean
  since: UnixMs | null
  incident: Incident | null
  /** How many of its heads are current: they run out one by one. */
  currentHeads: number
  availability: BoardEntry['availability']
  text: string
}

/** Writes endpoints as JSON; between two polls of an endpoint its text is written once, however many ask for it. */
function createEndpointWriter(
  audience: Audience,
  incidents: Pick<IncidentLog, 'of' | 'subscribe'>,
): (entry: BoardEntry, now: UnixMs) => string {
  // By entry and not by health: a health lives for one poll, and filling a weak map with them costs more than the text.
  const written = new WeakMap<BoardEntry, Written>()
  // Looking up the incident of every endpoint would take longer than all the rest where nothing changed.
  const touched = new Set<EndpointKey>()
  incidents.subscribe(({ network, endpoint }) => {
    if (endpoint !== null) touched.add(endpointKey({ network, name: endpoint }))
  })

  return (entry, now) => {
    const { health, availability } = entry
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
      known.availability === availability
    ) {
      return known.text
    }
    const text = JSON.stringify(endpointView(entry, incident, now, audience))
    const fresh = { health, state, holds, since, incident, currentHeads, availability, text }
    if (known === undefined) written.set(entry, fresh)
    else Object.assign(known, fresh)
    return text
  }
}
