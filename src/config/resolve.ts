import { resolve as resolvePath } from 'node:path'
import type { Endpoint } from '../core/endpoint.ts'
import type { Network, Shard, Thresholds } from '../core/network.ts'
import { parseDuration } from '../core/time.ts'
import { Secret } from '../secret.ts'
import { DERIVED_DEFAULTS, FAMILY_DEFAULTS } from './defaults.ts'
import { notifySettings } from './resolve-notify.ts'
import type { ConfigFile } from './schema.ts'
import { type Files, textOf } from './tls-files.ts'

type NetworkFile = ConfigFile['networks'][number]
type EndpointFile = NetworkFile['endpoints'][number]

interface Source {
  readonly baseDir: string
  readonly files: Files
}

/** Turns a valid file into the daemon's configuration: derived defaults, absolute paths, file contents. */
export function resolve(file: ConfigFile, source: Source) {
  const poll = pollSettings(file.poll, file.poll.timeout !== undefined)
  const names = file.networks.map((network) => network.name)
  const networks = file.networks.map((network) => configuredNetwork(network, file, source))
  return {
    server: {
      listen: file.server.listen,
      token: file.server.token ?? null,
      public: file.server.public,
      hosts: file.server.hosts,
      tls: serverTls(file.server.tls, source),
      /** For links in messages. */
      publicUrl: file.server.public_url ?? null,
      grafanaUrl: file.server.grafana_url ?? null,
      publicPage: {
        title: file.server.public_page.title ?? 'Heartline',
        /** SVG. */
        logo: file.server.public_page.logo === undefined ? null : textOf(file.server.public_page.logo, source),
        /** `null`: all. */
        networks: file.server.public_page.networks ?? null,
      },
    },
    store: {
      ...storePlace(file.store, source.baseDir),
      retention: {
        rawMs: file.store.retention.raw,
        fiveMinutesMs: file.store.retention.five_minutes,
        hourMs: file.store.retention.hour,
      },
      maxSizeBytes: file.store.max_size,
    },
    poll,
    networks,
    /** `null` for a daemon alone. */
    cluster: file.cluster === undefined ? null : clusterSettings(file.cluster, leastLeaseMs(networks)),
    gateway: gatewaySettings(file.gateway, names, source),
    notify: notifySettings(file.notify, (path) => textOf(path, source)),
    metrics: { sparse: file.metrics.sparse },
    maintenance: file.maintenance.map((window) => maintenanceWindow(window, names)),
    announcements: file.announcements.map(({ text, links, from = null, until = null }) => ({
      text,
      links,
      from,
      until,
    })),
    log: file.log,
  }
}

/** A valid configuration: every default filled in, every path absolute, every file read. Frozen. */
export type Config = ReturnType<typeof resolve>
export type ConfiguredNetwork = ReturnType<typeof configuredNetwork>
export type ConfiguredEndpoint = ConfiguredNetwork['endpoints'][number]

function storePlace({ url, path }: ConfigFile['store'], baseDir: string): StorePlace {
  const absolute = (given: string) => (given === IN_MEMORY ? given : resolvePath(baseDir, given))
  if (url === undefined) return { url: null, path: absolute(path ?? DERIVED_DEFAULTS.storePath) }
  return { url, path: path === undefined ? null : absolute(path) }
}

const IN_MEMORY = ':memory:'

/** A file, absolute or `:memory:`; or a database on a server, with a file for the rows that wait while it is away. */
type StorePlace = { readonly url: null; readonly path: string } | { readonly url: Secret; readonly path: string | null }

function clusterSettings({ vantage, quorum, lease }: NonNullable<ConfigFile['cluster']>, leastMs: number) {
  return { vantage, quorum, leaseMs: lease ?? Math.max(ms(DERIVED_DEFAULTS.lease), leastMs) }
}

/** A shorter lease could end between two polls of the slowest endpoint. */
export function leastLeaseMs(networks: readonly ConfiguredNetwork[]): number {
  const intervals = networks.flatMap(({ endpoints }) => endpoints.map(({ endpoint }) => endpoint.intervalMs))
  return DERIVED_DEFAULTS.leaseIntervals * Math.max(0, ...intervals)
}

/**
 * Shortens a default timeout, or one set for a longer interval, to leave room before the next poll, so that a hanging
 * node is still polled in every interval. Reduces the limit per host to the total limit.
 */
function pollSettings(keys: ConfigFile['poll'], timeoutIsChosen: boolean) {
  const { interval, timeout = ms(DERIVED_DEFAULTS.timeout), concurrency } = keys
  return {
    intervalMs: interval,
    livenessIntervalMs: Math.max(interval, keys.liveness_interval ?? ms(DERIVED_DEFAULTS.livenessInterval)),
    /** From a poll that finds something worse to the next poll; an inherited one is at most the interval. */
    retryMs: Math.min(keys.retry_interval ?? DERIVED_DEFAULTS.retryShare * interval, interval),
    /** Deadline of one check. */
    timeoutMs: Math.min(timeout, timeoutIsChosen ? interval : Math.floor(DERIVED_DEFAULTS.timeoutShare * interval)),
    concurrency,
    concurrencyPerHost: Math.min(keys.concurrency_per_host ?? DERIVED_DEFAULTS.concurrencyPerHost, concurrency),
  }
}

function configuredNetwork(
  network: NetworkFile,
  { poll: inherited, metrics }: Pick<ConfigFile, 'poll' | 'metrics'>,
  source: Source,
) {
  const { family } = network
  const own = network.poll
  const settings = {
    interval: own.interval ?? inherited.interval,
    retry_interval: own.retry_interval ?? inherited.retry_interval,
    timeout: own.timeout ?? inherited.timeout,
    liveness_interval: own.liveness_interval ?? inherited.liveness_interval,
    concurrency: own.concurrency ?? inherited.concurrency,
    concurrency_per_host: own.concurrency_per_host ?? inherited.concurrency_per_host,
  }
  // A timeout counts as chosen only for the interval set at the same level.
  const timeoutIsChosen = own.timeout !== undefined || (own.interval === undefined && inherited.timeout !== undefined)
  const poll = pollSettings(settings, timeoutIsChosen)
  const blockTimeMs = network.block_time ?? ms(FAMILY_DEFAULTS[family].blockTime)
  /** `[null]` if the chain is not sharded. */
  const shards: readonly Shard[] = family === 'multiversx' ? (network.shards ?? DERIVED_DEFAULTS.shards) : [null]
  return {
    network: {
      name: network.name,
      title: network.title ?? network.name,
      family,
      blockTimeMs,
      blockTimeGiven: network.block_time !== undefined,
      chainId: network.chain_id ?? null,
      explorerUrl: network.explorer_url,
      thresholds: thresholds(network.thresholds, blockTimeMs),
    } satisfies Network,
    shards,
    /** Gateway requests with this Host header belong to this network. */
    host: network.host ?? null,
    /** Number of newer blocks that make a block final; 0 if every block is final at once. */
    finalDepth: network.final_depth ?? FAMILY_DEFAULTS[family].finalDepth,
    poll,
    endpoints: network.endpoints.map((endpoint) =>
      configuredEndpoint(endpoint, network, { poll, shards, source, labelNames: metrics.labels }),
    ),
  }
}

function thresholds(keys: NetworkFile['thresholds'], blockTimeMs: number): Thresholds {
  const { lag_blocks: lagBlocks } = keys
  return {
    lagBlocks,
    lagRecoverBlocks: keys.lag_recover_blocks ?? Math.min(DERIVED_DEFAULTS.lagRecoverBlocks, lagBlocks - 1),
    lagBlocksDown: keys.lag_blocks_down ?? Math.max(DERIVED_DEFAULTS.lagBlocksDown, 2 * lagBlocks),
    stallMs: keys.stall ?? Math.max(ms(DERIVED_DEFAULTS.stall), DERIVED_DEFAULTS.stallBlocks * blockTimeMs),
    heartbeatMs: keys.heartbeat,
    contiguousFailures: keys.contiguous_failures,
    minPeers: keys.min_peers,
    latencyMs: keys.latency,
    clockSkewMs: keys.clock_skew,
    failAfter: keys.fail_after,
    recoverAfter: keys.recover_after,
  }
}

function configuredEndpoint(
  file: EndpointFile,
  { name: network, family }: NetworkFile,
  {
    poll,
    shards,
    source,
    labelNames,
  }: { poll: ReturnType<typeof pollSettings>; shards: readonly Shard[]; source: Source; labelNames: readonly string[] },
) {
  const kind = file.kind ?? 'proxy'
  const shard: Shard = file.shard ?? null
  const checks = file.checks ?? DERIVED_DEFAULTS.checks
  const livenessIntervalMs = FAMILY_DEFAULTS[family].ownHealth ? poll.intervalMs : poll.livenessIntervalMs
  const headers = Object.entries(file.headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  return {
    endpoint: {
      name: file.name,
      title: file.title ?? file.name,
      network,
      family,
      tier: file.tier,
      provider: file.provider ?? null,
      labels: file.labels,
      metricLabels: Object.fromEntries(
        labelNames.map((name) => [name, Object.hasOwn(file.labels, name) ? (file.labels[name] ?? '') : '']),
      ),
      checks,
      shards: kind === 'observer' ? [shard] : shards,
      // Without a head, there is nothing to poll in between.
      intervalMs: checks.includes('head') ? poll.intervalMs : livenessIntervalMs,
      livenessIntervalMs,
    } satisfies Endpoint,
    connection: {
      /** Without trailing `/`. */
      url: file.url,
      /** Beacon API of the consensus node behind the node; `null` without one. */
      beaconUrl: file.beacon_url ?? null,
      /** Names in lower case. */
      headers: Object.fromEntries(headers),
      rpcPath: file.rpc_path ?? FAMILY_DEFAULTS[family].rpcPath,
      kind,
      /** The shard that an observer serves; `null` for other endpoints. */
      shard,
      tls: { ca: file.tls.ca === undefined ? null : textOf(file.tls.ca, source), insecure: file.tls.insecure },
      timeoutMs: poll.timeoutMs,
    },
  }
}

function gatewaySettings(file: ConfigFile['gateway'], names: readonly string[], source: Source) {
  return {
    enabled: file.enabled,
    listen: file.listen,
    tls: serverTls(file.tls, source),
    admin: file.admin,
    publicUrl: file.public_url ?? null,
    callers: file.callers.map((caller) => ({
      name: caller.name,
      endpointId: caller.endpoint_id,
      networks: caller.networks ?? names,
      admin: caller.admin,
      rateLimit: caller.rate_limit ? { requests: caller.rate_limit.requests, perMs: caller.rate_limit.per } : null,
      methods: caller.methods,
      /** Origins whose pages may send requests from a browser; `*` allows any. */
      cors: caller.cors,
    })),
    cacheMaxBytes: file.cache.max_size,
    timeoutMs: file.timeout,
    bodyLimitBytes: file.body_limit,
    batchLimit: file.batch_limit,
  }
}

function maintenanceWindow(file: ConfigFile['maintenance'][number], names: readonly string[]) {
  const { schedule, duration = 0, timezone = 'UTC', from = 0, until = 0 } = file
  return {
    name: file.name,
    networks: file.networks ?? names,
    /** Endpoint names; `null` means all. */
    endpoints: file.endpoints ?? null,
    when:
      schedule === undefined
        ? ({ kind: 'once', from, until } as const)
        : ({ kind: 'repeated', schedule, durationMs: duration, timeZone: timezone } as const),
  }
}

/** Both in PEM format. */
function serverTls(tls: { cert: string; key: string } | undefined, source: Source) {
  return tls === undefined ? null : { cert: textOf(tls.cert, source), key: new Secret(textOf(tls.key, source)) }
}

function ms(text: string): number {
  const parsed = parseDuration(text)
  if (parsed === undefined) throw new Error('a default is not a duration')
  return parsed
}
