import { type EndpointKey, endpointKey } from '../core/endpoint.ts'
import { sameValues } from '../secret.ts'
import type { ConfigResult } from './load.ts'
import type { Config, ConfiguredEndpoint, ConfiguredNetwork } from './resolve.ts'

/** How a new configuration affects polled endpoints. */
export interface ConfigChange {
  readonly added: readonly EndpointKey[]
  readonly removed: readonly EndpointKey[]
  /** Endpoints whose requests, their pace or verdict rules differ: URL, headers, checks, interval, thresholds … */
  readonly changed: readonly EndpointKey[]
  /** Titles, tiers, providers and labels may differ. */
  readonly unchanged: readonly EndpointKey[]
  /** Endpoints that keep their state: those whose requests are the same, at whatever pace. */
  readonly kept: readonly EndpointKey[]
}

export function compareConfigs(before: Config, after: Config): ConfigChange {
  const old = asPolled(before)
  const now = asPolled(after)
  const both = [...now.keys()].filter((key) => old.has(key))
  const isAskedTheSame = (key: EndpointKey) => sameValues(old.get(key)?.requests, now.get(key)?.requests)
  const isSame = (key: EndpointKey) => sameValues(old.get(key), now.get(key))
  return {
    added: [...now.keys()].filter((key) => !old.has(key)),
    removed: [...old.keys()].filter((key) => !now.has(key)),
    changed: both.filter((key) => !isSame(key)),
    unchanged: both.filter(isSame),
    kept: both.filter(isAskedTheSame),
  }
}

/** Key paths whose new values take effect after a restart. */
export function keysForRestart(running: Config, next: Config): readonly string[] {
  return RESTART_KEYS.filter(([, valueOf]) => !sameValues(valueOf(running), valueOf(next))).map(([path]) => path)
}

/** Keys that are read only at start. A certificate can change at run time, but TLS cannot be turned on or off. */
const RESTART_KEYS: readonly (readonly [path: string, valueOf: (config: Config) => unknown])[] = [
  ['server.listen', ({ server }) => server.listen],
  ['server.tls', ({ server }) => server.tls !== null],
  ['server.token', ({ server }) => server.token],
  ['server.public', ({ server }) => server.public],
  ['server.hosts', ({ server }) => server.hosts],
  // Other members learn the URL when this one joins them.
  ['server.public_url', ({ server, cluster }) => (cluster === null ? null : server.publicUrl)],
  ['server.grafana_url', ({ server }) => server.grafanaUrl],
  ['server.public_page', ({ server }) => server.publicPage],
  ['store.path', ({ store }) => store.path],
  ['store.url', ({ store }) => store.url],
  ['store.retention', ({ store }) => store.retention],
  ['store.max_size', ({ store }) => store.maxSizeBytes],
  ['cluster', ({ cluster }) => cluster],
  ['gateway.enabled', ({ gateway }) => gateway.enabled],
  ['gateway.listen', ({ gateway }) => gateway.listen],
  ['gateway.tls', ({ gateway }) => gateway.tls !== null],
  ['metrics.sparse', ({ metrics }) => metrics.sparse],
  ['log.format', ({ log }) => log.format],
]

function asPolled({ networks }: Config): ReadonlyMap<EndpointKey, Polled> {
  return new Map(
    networks.flatMap((network) =>
      network.endpoints.map((configured) => [endpointKey(configured.endpoint), polled(configured, network)] as const),
    ),
  )
}

interface Polled {
  /** Everything that decides which node gets which requests, and how its answers are read. */
  readonly requests: unknown
  /** The pace and the limits of requests, and how answers are judged. */
  readonly rules: unknown
}

function polled({ endpoint, connection }: ConfiguredEndpoint, { network, poll }: ConfiguredNetwork): Polled {
  const { family, chainId, thresholds, blockTimeMs, blockTimeGiven } = network
  const { checks, shards, intervalMs, livenessIntervalMs } = endpoint
  const { timeoutMs, ...node } = connection
  const { concurrencyPerHost } = poll
  return {
    requests: { family, chainId, checks, shards, node },
    rules: { thresholds, blockTimeMs, blockTimeGiven, intervalMs, livenessIntervalMs, timeoutMs, concurrencyPerHost },
  }
}

export function createReloader({ initial, load }: { readonly initial: Config; readonly load: () => ConfigResult }) {
  let current = initial
  return {
    current: () => current,
    /** Loads the file again. A valid configuration becomes current; an invalid one changes nothing. */
    reload() {
      const loaded = load()
      if (!loaded.ok) return loaded
      const change = compareConfigs(current, loaded.config)
      current = loaded.config
      // Those keys are as they were at the start, whatever has been loaded since.
      return { ...loaded, change, needsRestart: keysForRestart(initial, loaded.config) }
    },
  }
}
