import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import { type Health, headHolds, stateAt } from '../core/verdict/health.ts'
import { type BoardEntry, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { endpointView, shownSince } from './status-views.ts'
import type { Audience } from './wire-status.ts'

/** The text of an endpoint, and all that it depends on. */
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
export function createEndpointWriter(
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
