import { randomBytes } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import type { Board, BoardNetwork } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { createEndpointWriter } from './endpoint-json.ts'
import { time } from './rfc3339.ts'
import { maintenanceView, networkSummary, overallState } from './status-views.ts'
import type { Audience, ObserverView } from './wire-status.ts'

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

/** Writes the board as JSON for one audience: the whole, or what changed. */
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

function isTouched({ standing, endpoints }: BoardNetwork, changed: Changed): boolean {
  return changed.networks.has(standing.network.name) || endpoints.some(({ key }) => changed.endpoints.has(key))
}

/** Most pieces are the very strings of last time, so that this costs next to nothing. */
function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((piece, at) => piece === b[at])
}
