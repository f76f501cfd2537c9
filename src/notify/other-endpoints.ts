import type { Clock } from '../clock.ts'
import { isBack } from '../core/incident/endpoint-incident.ts'
import { type Incident, sharedBy } from '../core/incident/incident.ts'
import { named, type State } from '../core/verdict/condition.ts'
import { type Board, type BoardNetwork, shownState } from '../state/board.ts'

/**
 * What the other endpoints of the network see: whether the node is at fault, or the chain. Of an outage that ended: which
 * of its endpoints are unhealthy for themselves from then on, or were removed.
 */
export function othersOf(
  { cause, endpoint, network: name, affected, provider, closedAt, conditions }: Incident,
  network: Pick<BoardNetwork, 'standing' | 'endpoints'> | undefined,
  statesOf: (network: string) => StateCounts,
): string {
  if (network === undefined) return ''
  if (closedAt !== null) return cause === 'outage' ? notRecovered(affected, network.endpoints) : ''
  const { haltedShards, forked } = network.standing
  const halted = haltedShards.length > 0
  if (cause === 'outage')
    return `${count(affected.length, 'endpoint')} ${sharedBy(provider)} failed together: ${named(affected, MOST_NAMED)}.`
  if (endpoint === null)
    return `Seen by ${count(affected.length, 'endpoint')} of ${name}: this is the chain, not one node.`
  if (halted || forked) return `The network ${name} is ${halted ? 'halted' : 'forked'}: the chain may be the cause.`
  if (conditions.some(({ code, until }) => code === 'partial' && until === null))
    return 'Other places reach it: the path from the places that see it down may be the cause.'
  const { counts, states } = statesOf(name)
  const own = states.get(endpoint)
  const others = states.size - (own === undefined ? 0 : 1)
  const tally = Object.entries(counts).map(([state, number]) => [state, number - (own === state ? 1 : 0)] as const)
  if (others === 0) return `${name} has no other endpoint to compare with.`
  if (tally.every(([state, number]) => state === 'up' || number === 0)) {
    const all = others === 1 ? 'The other endpoint' : `All ${others} other endpoints`
    return `${all} of ${name} ${others === 1 ? 'is' : 'are'} up: the fault is this endpoint's.`
  }
  const parts = tally.flatMap(([state, number]) => (number === 0 ? [] : [`${number} ${state}`]))
  return `The other endpoints of ${name}: ${parts.join(', ')}.`
}

/** Without those that are back, but not confirmed yet: they get no incident that says so later. */
function notRecovered(affected: Incident['affected'], endpoints: BoardNetwork['endpoints']): string {
  const unhealthy = new Set<string>()
  const known = new Set<string>()
  for (const { health } of endpoints) {
    const isUnhealthy = health.verdict !== null && health.verdict !== 'up' && !isBack(health)
    if (isUnhealthy) unhealthy.add(health.endpoint.name)
    known.add(health.endpoint.name)
  }
  const left = affected.filter((name) => unhealthy.has(name))
  const removed = affected.filter((name) => !known.has(name))
  const sentences = left.length === 0 ? [] : [`Still unhealthy: ${named(left, MOST_NAMED)}.`]
  // If all were removed, the message says so itself.
  if (removed.length > 0 && removed.length < affected.length)
    sentences.push(`No longer monitored: ${named(removed, MOST_NAMED)}.`)
  return sentences.join(' ')
}

/** The states of a network's endpoints. */
export interface StateCounts {
  readonly counts: Readonly<Record<State, number>>
  readonly states: ReadonlyMap<string, State>
}

/** Counts states without looking at all of thousands of endpoints for each of thousands of incidents. */
export function createStateCounter({ board, clock }: StateCounterDeps): (network: string) => StateCounts {
  const counted = new Map<string, Counted>()
  board.subscribe(({ network, endpoint, verdictChanged }) => {
    if (endpoint !== null) counted.get(network)?.changed.add(endpoint)
    else if (verdictChanged) counted.delete(network)
  })

  function recount(name: string): Counted {
    const entries = board.network(name)?.endpoints ?? []
    const states = new Map(entries.map((entry) => [entry.health.endpoint.name, shownState(entry, clock.now())]))
    const counts: Counted['counts'] = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
    for (const state of states.values()) counts[state]++
    const fresh = { counts, states, changed: new Set<string>(), at: clock.monotonic() }
    counted.set(name, fresh)
    return fresh
  }

  return (name) => {
    const known = counted.get(name)
    if (known === undefined || clock.monotonic() - known.at >= RECOUNTED_AFTER_MS) return recount(name)
    for (const endpoint of known.changed) {
      const entry = board.entry(name, endpoint)
      const before = known.states.get(endpoint)
      if (entry === undefined || before === undefined) continue
      const state = shownState(entry, clock.now())
      known.counts[before]--
      known.counts[state]++
      known.states.set(endpoint, state)
    }
    known.changed.clear()
    return known
  }
}

export interface StateCounterDeps {
  readonly board: Pick<Board, 'network' | 'entry' | 'subscribe'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
}

interface Counted {
  readonly counts: Record<State, number>
  readonly states: Map<string, State>
  /** Polled since they were counted. */
  readonly changed: Set<string>
  readonly at: number
}

/** A result that becomes too old, or maintenance that begins, changes a state without a poll. */
const RECOUNTED_AFTER_MS = 1000
const MOST_NAMED = 20

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
