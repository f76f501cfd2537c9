import type { UnixMs } from '../time.ts'

/** A name that a node answers to below `/ext/`, made by admin.alias through the gateway. */
export interface AliasRecord {
  readonly network: string
  readonly alias: string
  /** What it stands for there: `bc/C`. */
  readonly target: string
  /** The one endpoint whose node knows it. */
  readonly endpoint: string
  /** What that node called itself then; `null` where it did not say. */
  readonly nodeId: string | null
  /** Who asked for it, by name. */
  readonly caller: string
  readonly at: UnixMs
  /** `null` while it holds. */
  readonly stale: { readonly at: UnixMs; readonly reason: StaleReason } | null
}

/**
 * Aliases live in a node's memory. `lost`: it no longer knows the path; `other-node`: another node answers there; `unconfirmed`: the
 * call was sent, and nobody knows what came of it.
 */
export const STALE_REASONS = ['lost', 'other-node', 'unconfirmed'] as const
export type StaleReason = (typeof STALE_REASONS)[number]

/** What came of a call of the admin API. `known`: it was in force already, and nothing was sent. */
export type AdminOutcome = 'accepted' | 'known' | 'node-error' | 'outcome-unknown' | 'refused'

/** One call of the admin API, for the audit. */
export interface AdminCall {
  readonly at: UnixMs
  /** Tells calls of one millisecond apart. */
  readonly nth: number
  readonly network: string
  readonly caller: string
  readonly alias: string
  readonly target: string
  /** `null` where nobody was asked. */
  readonly endpoint: string | null
  readonly nodeId: string | null
  readonly outcome: AdminOutcome
}
