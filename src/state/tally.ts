import type { CheckName } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'

/** What one check of one endpoint has done since the daemon started. */
export interface CheckTally {
  runs: number
  readonly failures: Map<FailureKind, number>
  consecutiveFailures: number
  lastRunAt: UnixMs | null
  lastSuccessAt: UnixMs | null
  lastDurationMs: number | null
  lastOk: boolean | null
}

/** The counters of one endpoint; they go when the endpoint goes, so no series can leak. */
export interface Tally {
  stateChanges: number
  readonly checks: Map<CheckName, CheckTally>
  readonly reorgs: Map<Shard, number>
  readonly regressions: Map<Shard, number>
}

export function newTally(checks: readonly CheckName[], shards: readonly Shard[]): Tally {
  return {
    stateChanges: 0,
    checks: new Map(checks.map((check) => [check, newCheckTally()])),
    reorgs: new Map(shards.map((shard) => [shard, 0])),
    regressions: new Map(shards.map((shard) => [shard, 0])),
  }
}

function newCheckTally(): CheckTally {
  return {
    runs: 0,
    failures: new Map(),
    consecutiveFailures: 0,
    lastRunAt: null,
    lastSuccessAt: null,
    lastDurationMs: null,
    lastOk: null,
  }
}
