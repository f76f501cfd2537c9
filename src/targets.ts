import type { ConfiguredNetwork } from './config/config.ts'
import type { NodeTarget } from './nodes/probe.ts'

/** What the prober needs of the configured endpoints. */
export function targetsOf(networks: readonly ConfiguredNetwork[]): NodeTarget[] {
  return networks.flatMap(({ network, endpoints }) =>
    endpoints.map(({ endpoint, connection }) => ({ endpoint, ...connection, chainId: network.chainId })),
  )
}
