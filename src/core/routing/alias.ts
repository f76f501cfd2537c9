import type { UnixMs } from '../time.ts'

/** A path below `/ext/` on one node, made by admin.alias through the gateway. */
export interface AliasRecord {
  readonly network: string
  readonly alias: string
  /** The path that it stands for, such as `bc/C`. */
  readonly target: string
  /** The one endpoint whose node has it. */
  readonly endpoint: string
  /** The node's id when the alias was made; `null` where the node did not send it. */
  readonly nodeId: string | null
  /** The caller's name. */
  readonly caller: string
  readonly at: UnixMs
  /** `null` while it is in force. */
  readonly stale: { readonly at: UnixMs; readonly reason: StaleReason } | null
}

/**
 * Aliases live in a node's memory. `lost`: the node no longer has the path; `other-node`: another node answers at the endpoint;
 * `unconfirmed`: the call was sent, and its outcome is unknown.
 */
export const STALE_REASONS = ['lost', 'other-node', 'unconfirmed'] as const
export type StaleReason = (typeof STALE_REASONS)[number]

/** How a call of the admin API ended. `known`: the alias was in force already, and nothing was sent. */
export type AdminOutcome = 'accepted' | 'known' | 'node-error' | 'outcome-unknown' | 'refused'

/** One call of the admin API, for the audit. */
export interface AdminCall {
  readonly at: UnixMs
  /** Distinguishes calls within one millisecond. */
  readonly nth: number
  readonly network: string
  readonly caller: string
  readonly alias: string
  readonly target: string
  /** `null` where no endpoint was called. */
  readonly endpoint: string | null
  readonly nodeId: string | null
  readonly outcome: AdminOutcome
}
