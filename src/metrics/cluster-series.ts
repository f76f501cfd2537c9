import { type ClusterReport, currentLeases } from '../core/cluster/report.ts'
import { seconds } from '../core/time.ts'
import type { RemoteStatus } from '../store/store.ts'
import { labelValue } from './endpoint-labels.ts'
import { createLines, type Lines } from './lines.ts'

/** Renders the members and leases of a cluster, and its database; a daemon alone has no such lines. */
export function clusterLines(
  report: ClusterReport | null,
  remote: RemoteStatus | null,
  networks: readonly string[],
): Lines {
  const { lines, add } = createLines()

  if (remote !== null) {
    add('store_reachable', remote.reachable ? 1 : 0)
    add('store_spool_rows', remote.spoolRows)
    add('store_rows_refused_total', remote.rowsRefused)
  }
  if (report === null) return lines
  if (report.members.every(({ isLive }) => isLive !== null)) {
    const live = report.members.filter(({ isLive }) => isLive)
    add('cluster_members', live.length)
    add('cluster_networks_differ', live.filter(({ differs }) => differs).length)
  }
  for (const { kind, vantage, network, expiresAt } of currentLeases(report, (name) => networks.includes(name))) {
    if (kind !== 'poll') continue
    const labels = `vantage="${labelValue(vantage)}",network="${labelValue(network)}"`
    add('cluster_lease_expiry_timestamp_seconds', expiresAt / 1000, labels)
  }
  const { lagMs } = report.store
  if (lagMs !== null) add('cluster_lag_seconds', seconds(lagMs))
  return lines
}
