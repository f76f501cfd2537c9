import type { EndpointView, IncidentSummaryView, NetworkView, StateView, StatusView } from '../src/http/views.ts'
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
  incidents: 'Open incidents',
  maintenance: 'Planned maintenance',
  flapping: 'flapping',
  forSoLong: (age: string) => `for ${age}`,
  until: (age: string) => `${age} left`,
  ahead: (age: string) => `in ${age}`,
  more: (count: number) => `and ${count} more`,
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
    const { up, maintenance, unknown } = tally(networks.flatMap(({ endpoints }) => endpoints))
    if (up === total) return `All ${total} endpoints are up.`
    const planned = maintenance === 0 ? '' : `; ${maintenance} ${maintenance === 1 ? 'is' : 'are'} in maintenance`
    return `${up} of ${total} endpoints are up${planned}${unknown > 0 ? '; the others are not known' : ''}.`
  }
  const about = networkSentence(first)
  const more = troubled.length - 1
  const others = second === undefined ? '' : `; trouble in ${more === 1 ? second.title : `${more} more`} too`
  if (fine === 0) return `${about}${others}.`
  return `${about}${others}; ${fine === 1 ? 'the other network is' : `the other ${fine} networks are`} well.`
}

/** An incident in words: `is down: connection refused`. Of the worst reasons that hold, the first; none may hold just now. */
export function incidentSentence({ cause, state, flapping, conditions }: IncidentSummaryView): string {
  const holding = conditions.filter(({ until }) => until === null)
  const main = holding.find((condition) => condition.state === state) ?? holding[0] ?? conditions.at(-1)
  const why = main === undefined ? '' : `: ${main.message}`
  if (cause !== 'endpoint') return `${cause === 'halted' ? 'is halted' : 'is forked'}${why}`
  return `is ${state}${flapping ? ' on and off' : ''}${why}`
}

/** As people call them: `Avalanche: Own node 1`, or the network alone; by name what is no longer configured. */
export function titleOf({ networks }: StatusView, network: string, endpoints: readonly string[] | null): string {
  const of = networks.find(({ name }) => name === network)
  const title = of?.title ?? network
  if (endpoints === null) return title
  const titles = endpoints.map((one) => of?.endpoints.find(({ name }) => name === one)?.title ?? one)
  return `${title}: ${titles.join(', ')}`
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
