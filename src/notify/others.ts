import { type Incident, named, sharedBy } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { State } from '../core/verdict/condition.ts'
import { type BoardNetwork, shownState } from '../state/board.ts'

/** What the other endpoints of the network see: whether the node is at fault, or the chain. */
export function othersOf(
  { cause, endpoint, network: name, affected, provider }: Incident,
  network: BoardNetwork | undefined,
  now: UnixMs,
): string {
  if (network === undefined) return ''
  const { halted, forked } = network.standing
  if (cause === 'outage')
    return `${count(affected.length, 'endpoint')} ${sharedBy(provider)} failed together: ${named(affected, MOST_NAMED)}.`
  if (endpoint === null)
    return `Seen by ${count(affected.length, 'endpoint')} of ${name}: this is the chain, not one node.`
  if (halted || forked) return `The network ${name} is ${halted ? 'halted' : 'forked'}: the chain may be the cause.`
  const others = network.endpoints.filter(({ health }) => health.endpoint.name !== endpoint)
  if (others.length === 0) return `${name} has no other endpoint to compare with.`
  const states = others.map((entry) => shownState(entry, now))
  const up = states.filter((state) => state === 'up').length
  if (up === others.length) {
    const all = others.length === 1 ? 'The other endpoint' : `All ${others.length} other endpoints`
    return `${all} of ${name} ${others.length === 1 ? 'is' : 'are'} up: the fault is this endpoint's.`
  }
  const parts = ORDER.flatMap((state) => {
    const number = states.filter((one) => one === state).length
    return number === 0 ? [] : [`${number} ${state}`]
  })
  return `The other endpoints of ${name}: ${parts.join(', ')}.`
}

const MOST_NAMED = 20
const ORDER: readonly State[] = ['up', 'degraded', 'down', 'maintenance', 'unknown']

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}
