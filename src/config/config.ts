import type { Endpoint } from '../core/endpoint.ts'
import type { Network, Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import type { Secret } from '../secret.ts'
import type { Listen } from './scalars.ts'

/** A valid configuration: every default filled in, every path absolute, every file read. */
export interface Config {
  readonly server: {
    readonly listen: Listen
    readonly token: Secret | null
    readonly public: boolean
    readonly hosts: readonly string[]
    readonly tls: ServerTls | null
  }
  readonly store: {
    /** Absolute, or `:memory:`. */
    readonly path: string
    readonly retention: { readonly rawMs: number; readonly fiveMinutesMs: number; readonly hourMs: number }
    readonly maxSizeBytes: number
  }
  readonly poll: PollSettings
  readonly networks: readonly ConfiguredNetwork[]
  readonly gateway: GatewaySettings
  readonly maintenance: readonly MaintenanceWindow[]
  readonly log: { readonly level: 'debug' | 'info' | 'warn' | 'error'; readonly format: 'json' | 'pretty' }
}

/** Both in PEM format. */
export interface ServerTls {
  readonly cert: string
  readonly key: Secret
}

export interface PollSettings {
  readonly intervalMs: number
  /** Deadline of one check. */
  readonly timeoutMs: number
  readonly concurrency: number
  readonly concurrencyPerHost: number
}

export interface ConfiguredNetwork {
  readonly network: Network
  /** `[null]` if the chain is not sharded. */
  readonly shards: readonly Shard[]
  /** Gateway requests with this Host header belong to this network. */
  readonly host: string | null
  /** Number of newer blocks that make a block final; 0 if every block is final at once. */
  readonly finalDepth: number
  readonly poll: PollSettings
  readonly endpoints: readonly ConfiguredEndpoint[]
}

export interface ConfiguredEndpoint {
  readonly endpoint: Endpoint
  readonly connection: Connection
}

export interface Connection {
  /** Without trailing `/`. */
  readonly url: Secret
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, Secret>>
  readonly rpcPath: string
  readonly kind: 'proxy' | 'observer'
  /** The shard that an observer serves; `null` for other endpoints. */
  readonly shard: Shard
  readonly tls: { readonly ca: string | null; readonly insecure: boolean }
  readonly timeoutMs: number
}

export interface GatewaySettings {
  readonly enabled: boolean
  readonly listen: Listen
  readonly tls: ServerTls | null
  readonly admin: boolean
  readonly publicUrl: string | null
  readonly callers: readonly Caller[]
  readonly cacheMaxBytes: number
  readonly timeoutMs: number
  readonly bodyLimitBytes: number
  readonly batchLimit: number
}

export interface Caller {
  readonly name: string
  readonly endpointId: Secret
  readonly networks: readonly string[]
  readonly admin: boolean
  readonly rateLimit: { readonly requests: number; readonly perMs: number } | null
  readonly methods: readonly string[]
  /** Origins whose pages may send requests from a browser; `*` allows any. */
  readonly cors: readonly string[]
}

export interface MaintenanceWindow {
  readonly name: string
  readonly networks: readonly string[]
  /** Endpoint names; `null` means all. */
  readonly endpoints: readonly string[] | null
  readonly when:
    | { readonly kind: 'repeated'; readonly schedule: string; readonly durationMs: number; readonly timeZone: string }
    | { readonly kind: 'once'; readonly from: UnixMs; readonly until: UnixMs }
}
