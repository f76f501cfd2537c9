import { type Incident, named, sharedBy } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import { type BoardNetwork, shownState } from '../state/board.ts'

/** What the other endpoints of the network see: whether the node is at fault, or the chain. */
export function othersOf(
  { cause, endpoint, network: name, affected, provider, closedAt }: Incident,
  network: BoardNetwork | undefined,
  now: UnixMs,
): string {
  if (network === undefined || closedAt !== null) return ''
  const { halted, forked } = network.standing
  if (cause === 'outage')
    return `${count(affected.length, 'endpoint')} ${sharedBy(provider)} failed together: ${named(affected, MOST_NAMED)}.`
  if (endpoint === null)
    return `Seen by ${count(affected.length, 'endpoint')} of ${name}: this is the chain, not one node.`
  if (halted || forked) return `The network ${name} is ${halted ? 'halted' : 'forked'}: the chain may be the cause.`
  const tally: Record<State, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
  let others = 0
  for (const entry of network.endpoints) {
    if (entry.health.endpoint.name === endpoint) continue
    others++
    tally[shownState(entry, now)]++
  }
  if (others === 0) return `${name} has no other endpoint to compare with.`
  if (tally.up === others) {
    const all = others === 1 ? 'The other endpoint' : `All ${others} other endpoints`
    return `${all} of ${name} ${others === 1 ? 'is' : 'are'} up: the fault is this endpoint's.`
  }
  const parts = Object.entries(tally).flatMap(([state, number]) => (number === 0 ? [] : [`${number} ${state}`]))
  return `The other endpoints of ${name}: ${parts.join(', ')}.`
}

const MOST_NAMED = 20

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
