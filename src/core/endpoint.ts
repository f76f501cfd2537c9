import type { Family, Shard } from './network.ts'

/** `liveness`: the node reports its own health; `head`: it reports its newest block. */
export type CheckName = 'liveness' | 'head'
export type Tier = 'primary' | 'fallback'

/** One polled URL of a network. The URL itself is a secret and is kept in `nodes/`. */
export interface Endpoint {
  readonly name: string
  readonly title: string
  readonly network: string
  readonly family: Family
  readonly tier: Tier
  /** Who runs it: endpoints of one provider may fail together. `null` if not configured. */
  readonly provider: string | null
  /** By which people tell endpoints apart, such as `region`; names have no colon. */
  readonly labels: Readonly<Record<string, string>>
  /** Labels that its metrics have too, by name; empty if the endpoint has no such label. */
  readonly metricLabels: Readonly<Record<string, string>>
  readonly checks: readonly CheckName[]
  /** Shards whose heads are polled; `[null]` if the chain is not sharded. */
  readonly shards: readonly Shard[]
  readonly intervalMs: number
  /** Time between two liveness checks: at least `intervalMs`. */
  readonly livenessIntervalMs: number
}

/** `network/endpoint`: unique in one configuration, without secrets. */
export type EndpointKey = string

export function endpointKey(endpoint: { readonly network: string; readonly name: string }): EndpointKey {
  return `${endpoint.network}/${endpoint.name}`
}

export function networkOf(endpoint: EndpointKey): string {
  return endpoint.slice(0, endpoint.indexOf('/'))
}
