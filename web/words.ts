import type { EndpointView, NetworkView, StateView, StatusView } from '../src/http/views.ts'
import { duration } from './format.ts'
import { networksWorstFirst, tally, worstFirst } from './model.ts'

/** Every sentence and label of the page. */
export const WORDS = {
  states: {
    up: 'Up',
    degraded: 'Degraded',
    down: 'Down',
    maintenance: 'Maintenance',
    unknown: 'Unknown',
  } satisfies Record<StateView, string>,
  columns: {
    state: 'State',
    endpoint: 'Endpoint',
    why: 'Why',
    height: 'Height',
    lag: 'Lag',
    heartbeat: 'Heartbeat',
    latency: 'Latency',
    since: 'Since',
  },
  atHead: 'at head',
  lastSeen: 'last seen',
  none: '–',
  notTold: 'not known',
  halted: 'Chain halted',
  forked: 'Chain forked',
  blockAge: 'old',
  live: 'Live',
  polling: 'Live, every 5 s',
  stale: (seconds: number) => `Stale for ${duration(seconds)}`,
  connecting: 'Connecting',
  staleVerdict: 'No contact with Heartline. What follows is what it said last.',
  ownTrouble: 'Heartline has trouble of its own, its verdicts still count',
  impaired: 'Heartline itself is impaired, so its verdicts wait',
  metachain: 'metachain',
  shard: (shard: number) => `shard ${shard}`,
}

/** The whole in one sentence. */
export function verdictSentence({ networks, state }: StatusView): string {
  if (networks.length === 0) return 'Nothing is configured to be watched.'
  const troubled = networksWorstFirst(networks.filter((network) => isTroubled(network)))
  const [first, second] = troubled
  const fine = networks.length - troubled.length
  if (first === undefined) {
    if (state === 'unknown') return 'Nothing is known yet: the first polls are under way.'
    if (state === 'maintenance') return 'Everything is in maintenance.'
    const total = networks.reduce((sum, network) => sum + network.endpoints.length, 0)
    const unknown = networks.reduce((sum, network) => sum + tally(network.endpoints).unknown, 0)
    const known = `${total - unknown} of ${total} endpoints are up`
    return unknown > 0 ? `${known}; the others are not known.` : `All ${total} endpoints are up.`
  }
  const about = networkSentence(first)
  const more = troubled.length - 1
  const others = second === undefined ? '' : `; trouble in ${more === 1 ? second.title : `${more} more`} too`
  if (fine === 0) return `${about}${others}.`
  return `${about}${others}; ${fine === 1 ? 'the other network is' : `the other ${fine} networks are`} well.`
}

function isTroubled({ state, halted, forked }: NetworkView): boolean {
  return state === 'down' || state === 'degraded' || halted || forked
}

function networkSentence({ title, endpoints, halted, forked }: NetworkView): string {
  if (halted) return `${title}: the chain is halted, no endpoint advances`
  if (forked) return `${title}: the endpoints disagree on the chain`
  const bad = worstFirst(endpoints).filter(({ state }) => state === 'down' || state === 'degraded')
  const [worst] = bad
  if (worst === undefined) return title
  const of = endpoints.length
  if (bad.length === 1) return `${title}: ${of === 1 ? worst.title : `1 of ${of} endpoints`} ${complaint(worst)}`
  const down = bad.filter(({ state }) => state === 'down').length
  const degraded = bad.length - down
  if (down === 0) return `${title}: ${degraded} of ${of} endpoints are degraded`
  if (degraded === 0) return `${title}: ${down === of ? `all ${of}` : `${down} of ${of}`} endpoints are down`
  return `${title}: ${down} of ${of} endpoints ${down === 1 ? 'is' : 'are'} down, ${degraded} degraded`
}

function complaint({ state, conditions }: EndpointView): string {
  const [worst] = conditions
  return worst === undefined ? `is ${state}` : `is ${state}, ${worst.message}`
}
