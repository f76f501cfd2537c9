import type { Config, ConfiguredNetwork } from './config/resolve.ts'
import { type Endpoint, endpointKey } from './core/endpoint.ts'
import { locationOf } from './core/host-location.ts'
import type { NodeTarget } from './nodes/probe.ts'

/** The configured endpoints in the form that the prober needs. */
export function targetsOf(networks: readonly ConfiguredNetwork[]): NodeTarget[] {
  return networks.flatMap(({ network, endpoints }) =>
    endpoints.map(({ endpoint, connection }) => ({ endpoint, ...connection, chainId: network.chainId })),
  )
}

/** Connections per origin: enough for every check and shard of all polls that the limits allow at once. */
export function connectionsOf({ networks }: Config): number {
  const concurrentRequests = networks.flatMap(({ poll, endpoints }) =>
    endpoints.map(({ endpoint: { checks, shards } }) => poll.concurrencyPerHost * checks.length * shards.length),
  )
  return concurrentRequests.reduce((most, count) => Math.max(most, count), 1)
}

/**
 * Items for the scheduler. Endpoints with the same host and port share one limit, those of a network another. `polls`:
 * whether this daemon polls the network, and not only on demand.
 */
export function itemsOf({ networks }: Config, polls: (network: string) => boolean = () => true) {
  return networks.flatMap(({ network, poll, endpoints }) => {
    const ofNetwork = { name: `network ${network.name}`, concurrency: poll.concurrency }
    // One list for all endpoints of a host: there can be thousands.
    const limitsOf = new Map<string, (typeof ofNetwork)[]>()
    return endpoints.map(({ endpoint, connection }) => {
      const { host } = new URL(connection.url.reveal())
      const limits = limitsOf.get(host) ?? [{ name: `host ${host}`, concurrency: poll.concurrencyPerHost }, ofNetwork]
      limitsOf.set(host, limits)
      return {
        key: endpointKey(endpoint),
        intervalMs: endpoint.intervalMs,
        retryMs: poll.retryMs,
        onDemandOnly: !polls(network.name),
        limits,
      }
    })
  })
}

/** Networks and endpoints for the poller. */
export function polledNetworksOf({ networks }: Pick<Config, 'networks'>) {
  return networks.map(({ network, endpoints }) => ({
    network,
    endpoints: endpoints.map(({ endpoint, connection }) => {
      const { host, hostname } = new URL(connection.url.reveal())
      return { endpoint, at: locationOf(hostname), origin: host }
    }),
  }))
}

export function gatewaySetupOf({ gateway, networks }: Config) {
  return {
    rules: {
      ...gateway,
      networks: networks.map(({ network, shards, host, endpoints }) => ({
        network,
        shards,
        host,
        endpoints: endpoints.map(({ endpoint }) => endpoint.name),
      })),
    },
    targets: targetsOf(networks),
    cacheMaxBytes: gateway.cacheMaxBytes,
    finalDepths: new Map(networks.map(({ network, finalDepth }) => [network.name, finalDepth])),
  }
}

/** The shards of every endpoint, for the block sightings. */
export function shardsOf({ networks }: Config) {
  return endpointsOf(networks).map((endpoint) => ({ key: endpointKey(endpoint), shards: endpoint.shards }))
}

/** How long a poll result of each endpoint stays valid, for the store. */
export function holdTimesOf({ networks }: Config) {
  return endpointsOf(networks).map((endpoint) => ({ endpoint: endpointKey(endpoint), holdMs: 2 * endpoint.intervalMs }))
}

function endpointsOf(networks: readonly ConfiguredNetwork[]): Endpoint[] {
  return networks.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint))
}
