import { randomBytes } from 'node:crypto'
import { type EndpointKey, endpointKey } from '../../core/endpoint.ts'
import type { Incident } from '../../core/incident/incident.ts'
import type { State } from '../../core/verdict/condition.ts'
import { shownState } from '../../state/board.ts'
import type { RouteDeps } from '../route.ts'
import type { Changed } from './status-document.ts'

export interface CollectorDeps extends Pick<RouteDeps, 'board' | 'incidents' | 'clock'> {
  /** Called when `take` has something to return. */
  readonly onChange: () => void
}

/** Collects changes of the board and the incidents between `start` and `stop`. */
export function createChangeCollector({ board, incidents, clock, onChange }: CollectorDeps) {
  const states = new Map<EndpointKey, State>()
  let pending = noChanges()
  let configured = board.networks()
  let planned = board.maintenance()
  let unsubscribe: (() => void)[] = []

  /** A state also changes without an event, when a result expires or maintenance begins. */
  function collectStates(): void {
    const now = clock.now()
    if (board.maintenance() !== planned) {
      planned = board.maintenance()
      pending.maintenance = true
    }
    for (const { endpoints } of board.networks()) {
      for (const entry of endpoints) {
        const state = shownState(entry, now)
        const before = states.get(entry.key)
        if (before === state) continue
        states.set(entry.key, state)
        if (before !== undefined) pending.endpoints.add(entry.key)
      }
    }
  }

  function collectBoard(): void {
    if (board.networks() === configured) return
    configured = board.networks()
    pending.all = true
  }

  return {
    start(): void {
      unsubscribe = [
        board.subscribe(({ network, endpoint }) => {
          collectBoard()
          if (endpoint === null) pending.networks.add(network)
          else pending.endpoints.add(endpointKey({ network, name: endpoint }))
          onChange()
        }),
        incidents.subscribe((incident) => {
          const { id, network, endpoint } = incident
          pending.incidents.set(id, incident)
          // The endpoint's status also names the incident.
          if (endpoint !== null) pending.endpoints.add(endpointKey({ network, name: endpoint }))
          onChange()
        }),
      ]
      configured = board.networks()
      planned = board.maintenance()
      collectStates()
      pending = noChanges()
    },

    stop(): void {
      for (const end of unsubscribe) end()
      states.clear()
    },

    /** `null` if nothing changed. */
    take(): Changes | null {
      collectStates()
      const changes = pending
      if (isEmpty(changes)) return null
      pending = noChanges()
      return changes
    },
  }
}

/** Numbers and keeps the changes of a stream, so that a reconnecting client gets only what it missed. */
export function createChangeLog() {
  const origin = randomBytes(6).toString('base64url')
  let sequence = 0
  let kept: { readonly sequence: number; readonly changes: Changes }[] = []

  return {
    latestId: () => `${origin}-${sequence}`,

    add(changes: Changes): void {
      sequence++
      kept.push({ sequence, changes })
      if (kept.length > MOST_KEPT) kept.shift()
    },

    /** The changes after this event; everything if the log does not cover them. */
    since(lastEventId: string | null): Changes {
      const missed = noChanges()
      const [, from, number] = /^([\w-]{8})-(\d{1,15})$/.exec(lastEventId ?? '') ?? []
      const last = from === origin ? Number(number) : -1
      const oldest = kept[0]?.sequence ?? sequence + 1
      if (last < oldest - 1 || last > sequence) missed.all = true
      else for (const one of kept) if (one.sequence > last) merge(missed, one.changes)
      return missed
    },

    forget(): void {
      kept = []
      // Later changes are not kept, so no client may resume from an earlier id.
      sequence++
    },
  }
}

const MOST_KEPT = 240

/** Pending changes of the board, and changed incidents by id in their latest state. */
export interface Changes extends Changed {
  readonly networks: Set<string>
  readonly endpoints: Set<EndpointKey>
  readonly incidents: Map<Incident['id'], Incident>
  maintenance: boolean
  all: boolean
}

export function noChanges(): Changes {
  return { networks: new Set(), endpoints: new Set(), incidents: new Map(), maintenance: false, all: false }
}

export function isEmpty(changes: Changes): boolean {
  return !concernsBoard(changes) && changes.incidents.size === 0
}

export function concernsBoard({ networks, endpoints, maintenance, all }: Changes): boolean {
  return all || maintenance || networks.size > 0 || endpoints.size > 0
}

export function merge(into: Changes, more: Changes): void {
  for (const name of more.networks) into.networks.add(name)
  for (const key of more.endpoints) into.endpoints.add(key)
  for (const [id, incident] of more.incidents) into.incidents.set(id, incident)
  into.maintenance ||= more.maintenance
  into.all ||= more.all
}
