import type { EndpointView, NetworkView, StatusView } from '../../src/http/wire-status.ts'
import { isTroubled, isUnhealthy, isUnstable, networksWorstFirst, tally } from './model.ts'

/** The state of all networks in one sentence: counts first, then the one endpoint, or at most two networks, that are unhealthy. */
export function verdictSentence(status: StatusView): string {
  const { networks } = status
  if (networks.length === 0) return 'No endpoints are configured.'
  const troubled = networksWorstFirst(networks.filter((network) => isTroubled(network)))
  if (troubled.length === 0) return calmSentence(status)
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

function calmSentence({ networks, state, observer }: StatusView): string {
  const endpoints = networks.flatMap(({ endpoints }) => endpoints)
  if (state === 'unknown') {
    const isPolled = !observer.impaired && endpoints.every(({ last_polled_at: at }) => at !== null)
    return `No data yet: the first ${isPolled ? 'answers are being confirmed' : 'polls are under way'}.`
  }
  if (state === 'maintenance') return 'Everything is in maintenance.'
  const total = endpoints.length
  const { up, maintenance, unknown } = tally(endpoints)
  if (up === total) return total === 1 ? 'The endpoint is up.' : `All ${total} endpoints are up.`
  const planned = maintenance === 0 ? '' : `; ${maintenance} ${maintenance === 1 ? 'is' : 'are'} in maintenance`
  return `${up} of ${total} endpoints are up${planned}${unknown > 0 ? '; the state of the others is unknown' : ''}.`
}
