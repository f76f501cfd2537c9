import type { Config, ConfiguredNetwork } from './config/config.ts'
import { type Endpoint, endpointKey } from './core/endpoint.ts'
import { locationOf } from './core/observer/own-network.ts'
import type { NodeTarget } from './nodes/probe.ts'

/** What the prober needs of the configured endpoints. */
export function targetsOf(networks: readonly ConfiguredNetwork[]): NodeTarget[] {
  return networks.flatMap(({ network, endpoints }) =>
    endpoints.map(({ endpoint, connection }) => ({ endpoint, ...connection, chainId: network.chainId })),
  )
}

/** Connections to one origin: enough that no poll within its limits, nor any of its checks or shards, waits for one. */
export function connectionsOf({ networks }: Config): number {
  const concurrentRequests = networks.flatMap(({ poll, endpoints }) =>
    endpoints.map(({ endpoint: { checks, shards } }) => poll.concurrencyPerHost * checks.length * shards.length),
  )
  return concurrentRequests.reduce((most, count) => Math.max(most, count), 1)
}

/** What the scheduler needs. Endpoints of one host and port share a limit, whatever their paths; those of a network another. */
export function itemsOf({ networks }: Config) {
  return networks.flatMap(({ network, poll, endpoints }) =>
    endpoints.map(({ endpoint, connection }) => ({
      key: endpointKey(endpoint),
      intervalMs: endpoint.intervalMs,
      limits: [
        { name: `host ${new URL(connection.url.reveal()).host}`, concurrency: poll.concurrencyPerHost },
        { name: `network ${network.name}`, concurrency: poll.concurrency },
      ],
    })),
  )
}

/** What the poller needs. */
export function polledNetworksOf({ networks }: Config) {
  return networks.map(({ network, endpoints }) => ({
    network,
    endpoints: endpoints.map(({ endpoint, connection }) => ({
      endpoint,
      at: locationOf(new URL(connection.url.reveal()).hostname),
    })),
  }))
}

/** What the gateway needs. */
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

/** For sightings of blocks: the shards of every endpoint. */
export function shardsOf({ networks }: Config) {
  return endpointsOf(networks).map((endpoint) => ({ key: endpointKey(endpoint), shards: endpoint.shards }))
}

/** For the store: how long a poll of an endpoint says how it is. */
export function holdTimesOf({ networks }: Config) {
  return endpointsOf(networks).map((endpoint) => ({ endpoint: endpointKey(endpoint), holdMs: 2 * endpoint.intervalMs }))
}

function endpointsOf(networks: readonly ConfiguredNetwork[]): Endpoint[] {
  return networks.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint))
}
