import type { UnixMs } from '../time.ts'

/** An alias that admin.alias created on one node: a path below `/ext/`. */
export interface AliasRecord {
  readonly network: string
  readonly alias: string
  /** The path that the alias points to, such as `bc/C`. */
  readonly target: string
  /** The only endpoint whose node has the alias. */
  readonly endpoint: string
  /** The node's id when the alias was created; `null` if the node did not send it. */
  readonly nodeId: string | null
  readonly caller: string
  readonly at: UnixMs
  /** `null` while the alias is valid. */
  readonly stale: { readonly at: UnixMs; readonly reason: StaleReason } | null
}

/**
 * A node keeps aliases in memory. `lost`: the node no longer has the path; `other-node`: another node answers at the
 * endpoint; `unconfirmed`: the call was sent, but its outcome is unknown.
 */
export const STALE_REASONS = ['lost', 'other-node', 'unconfirmed'] as const
export type StaleReason = (typeof STALE_REASONS)[number]

/** How an admin API call ended. `known`: nothing was sent, because the alias already existed. */
export type AdminOutcome = 'accepted' | 'known' | 'node-error' | 'outcome-unknown' | 'refused'

/** One admin API call, for the audit log. */
export interface AdminCall {
  readonly at: UnixMs
  /** Distinguishes calls within one millisecond. */
  readonly nth: number
  readonly network: string
  readonly caller: string
  readonly alias: string
  readonly target: string
  /** `null` if no endpoint was called. */
  readonly endpoint: string | null
  readonly nodeId: string | null
  readonly outcome: AdminOutcome
}
