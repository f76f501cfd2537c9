import type { Clock } from '../clock.ts'
import { type CheckName, type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { HostLocation } from '../core/host-location.ts'
import type { Network, Shard } from '../core/network.ts'
import type { Observer } from '../core/observer/observer.ts'
import type { UnixMs } from '../core/time.ts'
import { type Health, unpolled } from '../core/verdict/health.ts'
import { createNetworkView, type NetworkView } from '../core/verdict/network-view.ts'
import type { Tally } from '../state/board.ts'
import type { SavedHealth } from '../store/store.ts'
import type { GroupMember } from './outage-groups.ts'
import { createWitnesses } from './pending-polls.ts'
import { forgetLatest, tallyFor } from './poll-counts.ts'
import { type KeptEndpoint, latestOf, readSaved } from './poll-history.ts'

/** The configured endpoints, each with what this daemon's polls have shown so far. */
export function createPolledEndpoints({ observer, clock, owns }: PolledEndpointsDeps) {
  const witnesses = createWitnesses()
  let polled = new Map<EndpointKey, PolledEndpoint>()
  let byNetwork = new Map<string, { readonly network: PolledNetwork; entries: readonly PolledEndpoint[] }>()

  /** Only polls of this daemon can show whether its own network works. */
  function configureObserver(): void {
    const ours = [...polled.values()].filter(({ network }) => owns(network))
    witnesses.configure(ours)
    observer.configure(
      ours.map(({ at }) => at),
      ours.reduce((most, { endpoint }) => Math.max(most, endpoint.intervalMs), 0),
    )
  }

  function continueFrom(
    { endpoint: key, value }: Pick<SavedHealth, 'endpoint' | 'value'>,
    said?: Health,
  ): Health | null {
    const entry = polled.get(key)
    const earlier = latestOf(readSaved(value), said)
    if (entry === undefined || earlier === null) return null
    entry.view.restore(entry.name, earlier, clock.now())
    const health = entry.view.health(entry.name) ?? null
    if (health !== null && health.verdict !== null && health.verdict !== 'down') {
      observer.expect(entry.at, clock.monotonic())
    }
    return health
  }

  return {
    get: (key: EndpointKey) => polled.get(key),
    of: (network: string): readonly PolledEndpoint[] => byNetwork.get(network)?.entries ?? [],
    all: (): readonly PolledEndpoint[] => [...polled.values()],
    keys: (): ReadonlySet<EndpointKey> => new Set(polled.keys()),
    networks: (): ReadonlySet<string> => new Set(byNetwork.keys()),
    witnessFor: witnesses.find,
    isWitnessedSoon: witnesses.isFoundSoon,

    /** Replaces all networks. Known endpoints keep their state, or continue as after a restart if they are not in `kept`. */
    configure(networks: readonly PolledNetwork[], kept: ReadonlySet<EndpointKey>, now: UnixMs) {
      byNetwork = new Map(
        networks.map((network) => [network.network.name, { network, entries: polledOf(network, polled, kept, now) }]),
      )
      const all = [...byNetwork.values()].flatMap(({ entries }) => entries)
      polled = new Map(all.map((entry) => [entry.key, entry]))
      configureObserver()
      return all
    },

    /** Forgets what is known about the endpoints of a network; a poll in flight no longer counts. */
    renew(name: string): void {
      const known = byNetwork.get(name)
      if (known === undefined) return
      known.entries = polledOf(known.network, NOTHING_KNOWN, NONE_KEPT, clock.now()).map((entry) => {
        const { tally, savedAt } = polled.get(entry.key) ?? entry
        forgetLatest(tally)
        return { ...entry, tally, savedAt }
      })
      for (const entry of known.entries) polled.set(entry.key, entry)
      configureObserver()
    },

    /** Continues from an earlier run; `null` if the endpoint is unknown, or what was saved cannot be read. */
    continueFrom,

    /** The chain had halted on these shards. Call it when its heads are restored. */
    restoreHalt(network: string, shards: readonly Shard[]): void {
      byNetwork.get(network)?.entries[0]?.view.restoreHalt(clock.now(), shards)
    },

    /** Continues a network from what another daemon has saved of its endpoints, and has said of them since. */
    continueAll(name: string, saved: readonly SavedHealth[], saidOf: (endpoint: string) => Health | undefined): void {
      const values = new Map(saved.map(({ endpoint, value }) => [endpoint, value]))
      for (const { key, name: endpoint } of byNetwork.get(name)?.entries ?? []) {
        continueFrom({ endpoint: key, value: values.get(key) }, saidOf(endpoint))
      }
    },
  }
}

export interface PolledEndpointsDeps {
  readonly observer: Observer
  readonly clock: Clock
  /** Whether this daemon polls the network. */
  readonly owns: (network: string) => boolean
}

export interface PolledNetwork {
  readonly network: Network
  readonly endpoints: readonly {
    readonly endpoint: Endpoint
    readonly at: HostLocation
    /** The host and port, which endpoints without a provider may share with others. A secret, like the URL. */
    readonly origin?: string
  }[]
}

/** Stays the same object over a reload that does not change the endpoint, so that a poll in progress still counts. */
export interface PolledEndpoint extends KeptEndpoint {
  endpoint: Endpoint
  /** For polls between two liveness checks. */
  headOnly: Endpoint
  /** When liveness was last told, in monotonic time; `null`: the next poll asks. */
  livenessAt: number | null
  at: HostLocation
  /** Identifies the endpoints of its network with the same provider, or else with the same host and port. */
  sharing: string | null
  view: NetworkView
  tally: Tally
  answers: boolean
  isSuspect: boolean
}

/** One for all endpoints. */
const HEAD: readonly CheckName[] = ['head']
const NONE_KEPT: ReadonlySet<EndpointKey> = new Set()
const NOTHING_KNOWN: ReadonlyMap<EndpointKey, PolledEndpoint> = new Map()

/**
 * The endpoints of a network with their own view of it. Those in `kept` keep their earlier state; the others may be other
 * nodes now, so that they continue as after a restart.
 */
function polledOf(
  { network, endpoints }: PolledNetwork,
  before: ReadonlyMap<EndpointKey, PolledEndpoint>,
  kept: ReadonlySet<EndpointKey>,
  now: UnixMs,
): PolledEndpoint[] {
  const configured = endpoints.map(({ endpoint }) => endpoint)
  const known = configured.flatMap((endpoint) => before.get(endpointKey(endpoint)) ?? [])
  const earlierView = known.find(({ view }) => isSameChain(view.network, network))?.view
  const keptChains =
    earlierView === undefined ? null : { chains: earlierView.chains, kept: new Set(known.map(({ name }) => name)) }
  const view = createNetworkView(network, configured, now, keptChains)
  return endpoints.map(({ endpoint, at, origin }) => {
    const key = endpointKey(endpoint)
    const earlier = before.get(key)
    const next: PolledEndpoint = {
      key,
      network: network.name,
      name: endpoint.name,
      endpoint,
      headOnly: { ...endpoint, checks: endpoint.checks.includes('head') ? HEAD : [] },
      livenessAt: kept.has(key) ? (earlier?.livenessAt ?? null) : null,
      at,
      sharing: sharingOf(endpoint, origin),
      view,
      tally: tallyFor(endpoint, earlier),
      savedAt: earlier?.savedAt ?? 0,
      answers: earlier?.answers ?? false,
      isSuspect: false,
    }
    if (earlier === undefined) return next
    if (kept.has(key)) {
      view.takeOver(endpoint.name, earlier.view, now)
      return Object.assign(earlier, next)
    }
    const saved = earlier.view.snapshot(endpoint.name)
    if (saved !== null && saved.lastPolledAt !== null) {
      view.restore(endpoint.name, keptChains === null ? { ...saved, seen: [] } : saved, now)
    }
    return next
  })
}

/** A chain id that was added to the configuration, or removed, does not mean another chain. */
function isSameChain(a: Network, b: Network): boolean {
  return a.family === b.family && (a.chainId === b.chainId || a.chainId === null || b.chainId === null)
}

/** The endpoints of a network with what they share, for the recorder of incidents. */
export function groupMembersOf({ endpoints }: PolledNetwork): GroupMember[] {
  return endpoints.map(({ endpoint, origin }) => ({ endpoint, key: sharingOf(endpoint, origin) }))
}

function sharingOf({ network, provider }: Endpoint, origin: string | undefined): string | null {
  if (provider !== null) return `${network} provider ${provider}`
  return origin === undefined ? null : `${network} host ${origin}`
}

export function freshOf(entries: readonly PolledEndpoint[], now: UnixMs): { health: Health; tally: Tally }[] {
  return entries.map(({ endpoint, view, tally }) => ({
    health: view.health(endpoint.name) ?? unpolled(endpoint, now),
    tally,
  }))
}
