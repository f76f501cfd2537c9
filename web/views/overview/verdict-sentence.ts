import type { EndpointView, NetworkView, StatusView } from '../../../src/http/wire/status.ts'
import { moment, type Zone } from '../format.ts'
import { isTroubled, isUnhealthy, isUnstable, networksWorstFirst, tally } from '../model.ts'

/** The state of all networks in one sentence: counts first, then the one endpoint, or at most two networks, that are unhealthy. */
export function verdictSentence(status: StatusView, zone: Zone): string {
  const { networks } = status
  if (networks.length === 0) return 'No endpoints are configured.'
  const troubled = networksWorstFirst(networks.filter((network) => isTroubled(network)))
  if (troubled.length === 0) return calmSentence(status, zone)
  const all = networks.flatMap(({ endpoints }) => endpoints)
  const bad = all.filter((endpoint) => isUnhealthy(endpoint))
  const [one] = bad
  const [network] = troubled
  if (network === undefined || one === undefined) return chainSentence(troubled)
  if (bad.length === 1 && troubled.length === 1 && !network.halted && !network.forked) {
    return `${all.length === 1 ? 'The endpoint' : `1 of ${all.length} endpoints`} is ${complaint(one, network)}`
  }
  const names = troubled.slice(0, MOST_NAMED).map((of) => `${of.title} (${troubleOf(of)})`)
  const more = troubled.length - names.length
  const others = more === 0 ? '' : ` and ${more} more ${more === 1 ? 'network' : 'networks'}`
  const partly = partlyDown(bad)
  const first = partly === undefined ? countsOf(all) : `${bad.length} of ${all.length} endpoints are ${partly}`
  return `${first}: ${names.join(more === 0 ? ' and ' : ', ')}${others}.`
}

const MOST_NAMED = 2

/** `down from fra1 only`, if that is true of all of them: the fault is at that place. */
function partlyDown(endpoints: readonly EndpointView[]): string | undefined {
  const said = new Set(
    endpoints.map(({ conditions }) => conditions.find(({ code }) => code === 'partial')?.message.split(':', 1)[0]),
  )
  return said.size === 1 ? [...said][0] : undefined
}

/** `1 down, 2 degraded, 6 up`. */
function countsOf(endpoints: readonly EndpointView[]): string {
  const unstable = endpoints.filter(isUnstable).length
  const { down, degraded, unknown, maintenance, up } = tally(endpoints)
  const parts = [
    [down, 'down'],
    [degraded, 'degraded'],
    [unstable, 'unstable'],
    [unknown, 'unknown'],
    [maintenance, 'in maintenance'],
    [up - unstable, 'up'],
  ] as const
  return parts.flatMap(([many, word]) => (many === 0 ? [] : [`${many} ${word}`])).join(', ')
}

function troubleOf({ endpoints, halted, forked }: NetworkView): string {
  if (halted) return 'chain halted'
  if (forked) return 'chain forked'
  const bad = endpoints.filter((endpoint) => isUnhealthy(endpoint))
  return countsOf(bad)
}

/** Halted or forked chains, with healthy endpoints. */
function chainSentence(networks: readonly NetworkView[]): string {
  const named = networks.map((network) => `${network.title}: ${troubleOf(network)}`)
  const shown = named.length > MOST_NAMED ? [...named.slice(0, MOST_NAMED), `${named.length - MOST_NAMED} more`] : named
  return `${shown.join('; ')}; no endpoint is at fault.`
}

/** `down: Own node 1 (Ethereum), connection refused`. */
function complaint({ state, title, flapping, conditions }: EndpointView, network: NetworkView): string {
  const why = state === 'up' ? (flapping ? 'flapping, up now' : 'up now, incident open') : conditions[0]?.message
  return `${state === 'up' ? 'unstable' : state}: ${title} (${network.title})${why === undefined ? '' : `, ${why}`}.`
}

function calmSentence({ networks, state, observer }: StatusView, zone: Zone): string {
  const endpoints = networks.flatMap(({ endpoints }) => endpoints)
  if (state === 'unknown') return unknownSentence(endpoints, observer.judging, zone)
  if (state === 'maintenance') return 'Everything is in maintenance.'
  const total = endpoints.length
  const { up, maintenance, unknown } = tally(endpoints)
  if (up === total) return total === 1 ? 'The endpoint is up.' : `All ${total} endpoints are up.`
  const planned = maintenance === 0 ? '' : `; ${maintenance} ${maintenance === 1 ? 'is' : 'are'} in maintenance`
  return `${up} of ${total} endpoints are up${planned}${unknown > 0 ? '; the state of the others is unknown' : ''}.`
}

function unknownSentence(endpoints: readonly EndpointView[], isJudging: boolean, zone: Zone): string {
  const unknown = endpoints.filter(({ state }) => state === 'unknown')
  const polls = unknown.flatMap(({ last_polled_at: at }) => (at === null ? [] : [Date.parse(at)]))
  // A result expires some time after its poll.
  const isAnyExpired = unknown.some(
    ({ since, last_polled_at: at }) => at !== null && Date.parse(since) > Date.parse(at),
  )
  const isAnyUnpolled = polls.length < unknown.length
  if (!isAnyExpired && (isAnyUnpolled || isJudging)) {
    return `No data yet: the first ${isAnyUnpolled ? 'polls are under way' : 'answers are being confirmed'}.`
  }
  const all = endpoints.length === 1 ? 'the endpoint' : `all ${endpoints.length} endpoints`
  const which = unknown.length < endpoints.length ? `${unknown.length} of ${endpoints.length} endpoints` : all
  // Polls that do not count go on: a reader of the screen would hear of each.
  const lastPoll = isJudging ? `; the last poll was on ${moment(Math.max(...polls), zone)}` : ''
  return `The state of ${which} is unknown${lastPoll}.`
}
