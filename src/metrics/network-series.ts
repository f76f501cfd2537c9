import { STATES, type State } from '../core/condition.ts'
import { stateAt } from '../core/health.ts'
import type { UnixMs } from '../core/time.ts'
import type { BoardNetwork } from '../state/board.ts'
import { shardLabel } from './endpoint-labels.ts'
import type { Lines } from './endpoint-series.ts'
import { labelValue } from './label.ts'
import { type MetricName, PREFIX } from './registry.ts'

/** Renders what the board says of the networks themselves. */
export function renderNetworks(networks: readonly BoardNetwork[], now: UnixMs): Lines {
  const lines: Lines = {}
  function add(name: MetricName, labels: string, value: number): void {
    lines[name] = `${lines[name] ?? ''}${PREFIX}${name}{${labels}} ${value}\n`
  }

  for (const { standing, endpoints } of networks) {
    const { thresholds } = standing.network
    const bare = `network="${labelValue(standing.network.name)}"`
    for (const { shard, height, timestamp } of standing.heads) {
      const labels = `${bare},${shardLabel(shard)}`
      add('network_block_height', labels, height)
      if (timestamp !== null) add('network_block_timestamp_seconds', labels, timestamp / 1000)
    }
    const counts: Record<State, number> = { up: 0, degraded: 0, down: 0, maintenance: 0, unknown: 0 }
    for (const { health } of endpoints) counts[stateAt(health, now)]++
    for (const state of STATES) add('network_endpoints', `${bare},state="${state}"`, counts[state])
    add('network_halted', bare, standing.halted ? 1 : 0)
    add('network_forked', bare, standing.forked ? 1 : 0)
    add('network_threshold_lag_blocks', bare, thresholds.lagBlocks)
    add('network_threshold_stall_seconds', bare, thresholds.stallMs / 1000)
    add('network_threshold_heartbeat_seconds', bare, thresholds.heartbeatMs / 1000)
  }
  return lines
}
