import type { Secret } from '../../secret.ts'
import type { CommonOptions } from '../options.ts'

export interface PostgresOptions extends CommonOptions {
  readonly url: Secret
  /** Where rows wait while PostgreSQL is away; `null` for memory. */
  readonly path: string | null
  /** `null` for a daemon alone. */
  readonly cluster: ClusterRights | null
}

/** This daemon among those that share the database. */
export interface ClusterRights {
  readonly member: string
  readonly vantage: string
  /** The token of the right to poll the network from here; `null` without it. */
  pollToken(network: string): number | null
  /** The token of the right to write the network's incidents; `null` without it. */
  keeperToken(network: string): number | null
}
