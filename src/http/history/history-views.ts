import type { Endpoint } from '../../core/endpoint.ts'
import type { Network } from '../../core/network.ts'
import { seconds, time } from '../../core/time.ts'
import type { HistoryBucket, StoredPoll } from '../../store/store.ts'
import type { HistoryBucketView, PollView, RulesView } from '../wire/history.ts'

/** The history of an endpoint, and the rules by which it is judged, as the API shows them. */
export function historyBucketView(bucket: HistoryBucket): HistoryBucketView {
  return {
    start: time(bucket.start),
    up_seconds: bucket.upMs / 1000,
    degraded_seconds: bucket.degradedMs / 1000,
    down_seconds: bucket.downMs / 1000,
    maintenance_seconds: bucket.maintenanceMs / 1000,
    unknown_seconds: bucket.unknownMs / 1000,
    polls: bucket.polls,
    latency_p50_seconds: seconds(bucket.latencyP50Ms),
    latency_p95_seconds: seconds(bucket.latencyP95Ms),
    latency_max_seconds: seconds(bucket.latencyMaxMs),
    height: bucket.height,
    lag_blocks_max: bucket.lagBlocksMax,
    heartbeat_lag_seconds_max: seconds(bucket.heartbeatLagMaxMs),
    contiguous_failures_max: bucket.contiguousFailuresMax,
  }
}

export function pollView(poll: StoredPoll): PollView {
  return {
    at: time(poll.at),
    vantage: poll.vantage ?? null,
    state: poll.state,
    latency_seconds: seconds(poll.latencyMs),
    height: poll.height,
    lag_blocks: poll.lagBlocks,
    heartbeat_lag_seconds: seconds(poll.heartbeatLagMs),
    contiguous_failures: poll.contiguousFailures,
    failure: poll.failure,
  }
}

export function rulesView(
  { name, blockTimeMs, thresholds }: Network,
  endpoint: Endpoint,
  grafanaUrl: string | null,
): RulesView {
  return {
    network: name,
    endpoint: endpoint.name,
    ...(grafanaUrl === null ? {} : { grafana_url: grafanaUrl }),
    tier: endpoint.tier,
    checks: [...endpoint.checks],
    interval_seconds: seconds(endpoint.intervalMs),
    liveness_interval_seconds: seconds(endpoint.livenessIntervalMs),
    block_time_seconds: seconds(blockTimeMs),
    thresholds: {
      lag_blocks: thresholds.lagBlocks,
      lag_recover_blocks: thresholds.lagRecoverBlocks,
      lag_blocks_down: thresholds.lagBlocksDown,
      stall_seconds: seconds(thresholds.stallMs),
      heartbeat_seconds: seconds(thresholds.heartbeatMs),
      contiguous_failures: thresholds.contiguousFailures,
      min_peers: thresholds.minPeers,
      latency_seconds: seconds(thresholds.latencyMs),
      clock_skew_seconds: seconds(thresholds.clockSkewMs),
      fail_after: thresholds.failAfter,
      recover_after: thresholds.recoverAfter,
    },
  }
}
