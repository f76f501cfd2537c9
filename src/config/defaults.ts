import type { CheckName } from '../core/endpoint.ts'
import { type Family, METACHAIN } from '../core/network.ts'

/** Defaults that depend on the family. */
export const FAMILY_DEFAULTS = {
  ethereum: { blockTime: '12s', finalDepth: 1024, rpcPath: '/', ownHealth: false },
  avalanche: { blockTime: '2s', finalDepth: 0, rpcPath: '/ext/bc/C/rpc', ownHealth: true },
  multiversx: { blockTime: '6s', finalDepth: 32, rpcPath: '/', ownHealth: false },
} as const satisfies Record<
  Family,
  {
    blockTime: string
    finalDepth: number
    rpcPath: string
    /** Whether its nodes report their own health in one answer, so that liveness is polled with every head. */
    ownHealth: boolean
  }
>

/** Defaults of `thresholds` whose keys have no effect in some families. */
export const THRESHOLDS = { heartbeat: '60s', minPeers: 1 } as const

/** Defaults that depend on other keys; `resolve.ts` applies them. */
export const DERIVED_DEFAULTS = {
  checks: ['liveness', 'head'],
  livenessInterval: '60s',
  stall: '60s',
  stallBlocks: 5,
  timeout: '5s',
  /** Share of `interval`, used if it is shorter than `timeout`. */
  timeoutShare: 0.8,
  /** Share of `interval`: a suspect is polled three more times before its next regular poll. */
  retryShare: 0.25,
  concurrencyPerHost: 8,
  storePath: 'heartline.db',
  lease: '15s',
  /** A result holds for two intervals: what a lost daemon said is over before another one takes over. */
  leaseIntervals: 3,
  lagBlocks: 3,
  lagRecoverBlocks: 1,
  lagBlocksDown: 100,
  shards: [0, 1, 2, METACHAIN],
} as const satisfies Readonly<Record<string, unknown>> & { readonly checks: readonly CheckName[] }
