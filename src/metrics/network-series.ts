import type { UnixMs } from '../core/time.ts'
import { STATES, type State } from '../core/verdict/condition.ts'
import { type BoardNetwork, knownStanding, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { labelValue, shardPair } from './endpoint-labels.ts'
import type { Lines } from './endpoint-series.ts'
import { type MetricName, PREFIX } from './registry.ts'

/** Renders the state of the networks and their open incidents. What is unknown at `now` has no line. */
export function renderNetworks(
  networks: readonly BoardNetwork[],
  incidents: Pick<IncidentLog, 'open'>,
  now: UnixMs,
): Lines {
  const lines: Lines = {}
  const open = new Map<string, number>()
  for (const { network } of incidents.open()) open.set(network, (open.get(network) ?? 0) + 1)
  function add(name: MetricName, labels: string, value: number): void {
    lines[name] = `${lines[name] ?? ''}${PREFIX}${name}{${labels}} ${value}\n`
  }

  for (const of of networks) {
    const { standing, endpoints } = of
    const { thresholds } = standing.network
    const { heads, halted, forked } = knownStanding(of, now)
    const bare = `network="${labelValue(standing.network.name)}"`
    for (const { shard, height, timestamp, branches, blockTimeMs } of heads) {
      const labels = `${bare},${shardPair(shard)}`
      add('network_block_height', labels, height)
      if (timestamp !== null) add('network_block_timestamp_seconds', labels, timestamp / 1000)
      if (blockTimeMs !== null) add('network_block_time_seconds', labels, blockTimeMs / 1000)
      add('network_branches', labels, branches)
    }
    const counts: Record<State, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
    for (const entry of endpoints) counts[shownState(entry, now)]++
    for (const state of STATES) add('network_endpoints', `${bare},state="${state}"`, counts[state])
    if (halted !== null) add('network_halted', bare, halted ? 1 : 0)
    if (forked !== null) add('network_forked', bare, forked ? 1 : 0)
    add('incidents_open', bare, open.get(standing.network.name) ?? 0)
    add('network_threshold_lag_blocks', bare, thresholds.lagBlocks)
    add('network_threshold_stall_seconds', bare, thresholds.stallMs / 1000)
    add('network_threshold_heartbeat_seconds', bare, thresholds.heartbeatMs / 1000)
    add('network_threshold_contiguous_failures', bare, thresholds.contiguousFailures)
    add('network_threshold_min_peers', bare, thresholds.minPeers)
    add('network_threshold_latency_seconds', bare, thresholds.latencyMs / 1000)
    add('network_threshold_clock_skew_seconds', bare, thresholds.clockSkewMs / 1000)
  }
  return lines
}
