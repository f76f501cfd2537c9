import type { State } from '../core/condition.ts'
import { type Health, stateAt } from '../core/health.ts'
import { headHolds } from '../core/known.ts'
import type { UnixMs } from '../core/time.ts'
import type { BoardEntry } from '../state/board.ts'
import { type Audience, endpointView } from './views.ts'

/** The text of an endpoint, and all that it depends on. */
interface Written {
  health: Health
  state: State
  /** How many of its heads are current: they run out one by one. */
  currentHeads: number
  availability: BoardEntry['availability']
  text: string
}

/** Writes endpoints as JSON; between two polls of an endpoint its text is written once, however many ask for it. */
export function createEndpointWriter(audience: Audience): (entry: BoardEntry, now: UnixMs) => string {
  // By entry and not by health: a health lives for one poll, and filling a weak map with them costs more than the text.
  const written = new WeakMap<BoardEntry, Written>()

  return (entry, now) => {
    const { health, availability } = entry
    const state = stateAt(health, now)
    const currentHeads = health.heads.reduce((count, head) => count + Number(headHolds(head, health, now)), 0)
    const known = written.get(entry)
    if (
      known?.health === health &&
      known.state === state &&
      known.currentHeads === currentHeads &&
      known.availability === availability
    ) {
      return known.text
    }
    const text = JSON.stringify(endpointView(entry, now, audience))
    const fresh = { health, state, currentHeads, availability, text }
    if (known === undefined) written.set(entry, fresh)
    else Object.assign(known, fresh)
    return text
  }
}
