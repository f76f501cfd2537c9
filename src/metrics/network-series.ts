import type { UnixMs } from '../core/time.ts'
import { STATES, type State } from '../core/verdict/condition.ts'
import { type BoardNetwork, knownStanding, shownState } from '../state/board.ts'
import type { IncidentLog } from '../state/incident-log.ts'
import { labelValue, shardPair } from './endpoint-labels.ts'
import { createLines, type Lines } from './lines.ts'

/** Renders the state of the networks and their open incidents. What is unknown at `now` has no line. */
export function renderNetworks(
  networks: readonly BoardNetwork[],
  incidents: Pick<IncidentLog, 'open'>,
  now: UnixMs,
): Lines {
  const { lines, add } = createLines()
  const open = new Map<string, number>()
  for (const { network } of incidents.open()) open.set(network, (open.get(network) ?? 0) + 1)
  for (const of of networks) {
    const { standing, endpoints } = of
    const { thresholds } = standing.network
    const { heads, halted, forked } = knownStanding(of, now)
    const bare = `network="${labelValue(standing.network.name)}"`
    for (const { shard, height, timestamp, branches, blockTimeMs } of heads) {
      const labels = `${bare},${shardPair(shard)}`
      add('network_block_height', height, labels)
      if (timestamp !== null) add('network_block_timestamp_seconds', timestamp / 1000, labels)
      if (blockTimeMs !== null) add('network_block_time_seconds', blockTimeMs / 1000, labels)
      add('network_branches', branches, labels)
    }
    const counts: Record<State, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
    for (const entry of endpoints) counts[shownState(entry, now)]++
    for (const state of STATES) add('network_endpoints', counts[state], `${bare},state="${state}"`)
    if (halted !== null) add('network_halted', halted ? 1 : 0, bare)
    if (forked !== null) add('network_forked', forked ? 1 : 0, bare)
    add('incidents_open', open.get(standing.network.name) ?? 0, bare)
    add('network_threshold_lag_blocks', thresholds.lagBlocks, bare)
    add('network_threshold_stall_seconds', thresholds.stallMs / 1000, bare)
    add('network_threshold_heartbeat_seconds', thresholds.heartbeatMs / 1000, bare)
    add('network_threshold_contiguous_failures', thresholds.contiguousFailures, bare)
    add('network_threshold_min_peers', thresholds.minPeers, bare)
    add('network_threshold_latency_seconds', thresholds.latencyMs / 1000, bare)
    add('network_threshold_clock_skew_seconds', thresholds.clockSkewMs / 1000, bare)
  }
  return lines
}
