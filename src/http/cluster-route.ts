import { type ClusterLease, type ClusterMember, type ClusterReport, currentLeases } from '../core/cluster/report.ts'
import { ALONE } from '../core/cluster/vote.ts'
import { seconds, time, timeOrNull } from '../core/time.ts'
import type { Board } from '../state/board.ts'
import { type App, json, NoQuery, operation, type RouteDeps } from './route.ts'
import { type ClusterDetailsView, type ClusterNoticeView, ClusterView } from './wire/cluster.ts'
import type { Audience } from './wire/status.ts'

interface ClusterDeps extends Pick<RouteDeps, 'cluster' | 'metrics' | 'board' | 'clock' | 'version'> {
  readonly publicUrl: () => string | null
}

/** `GET /api/v1/cluster`: the daemons that share a database. */
export function registerCluster(app: App, deps: ClusterDeps): void {
  const route = operation({
    visibility: 'private',
    summary:
      'The members of the cluster, who polls what, and the database; a daemon alone is one member without leases',
    query: NoQuery,
    answers: { 200: json(ClusterView, 'As this member knows it') },
  })
  app.get('/api/v1/cluster', route, () => clusterView(deps))
}

function clusterView({ cluster, metrics, board, clock, version, publicUrl }: ClusterDeps): ClusterView {
  const report = cluster()
  if (report !== null) {
    const { reachable, since, spoolRows } = report.store
    return {
      members: report.members.map(memberView),
      leases: leasesOf(report, board)
        .filter(({ kind }) => kind === 'poll')
        .map(leaseView),
      store: { reachable, since: time(since), spool_rows: spoolRows },
    }
  }
  const { startedAt, store } = metrics.daemonStatus()
  const self = { id: ALONE, vantage: ALONE, version, url: publicUrl(), seen_at: time(clock.now()), self: true }
  const { reachable, since, spoolRows } = store.remote ?? { reachable: true, since: startedAt, spoolRows: 0 }
  return { members: [self], leases: [], store: { reachable, since: time(since), spool_rows: spoolRows } }
}

/** For the page; `null` for a daemon alone. */
export function clusterDetails({
  cluster,
  metrics,
  board,
}: Pick<RouteDeps, 'cluster' | 'metrics' | 'board'>): ClusterDetailsView | null {
  const report = cluster()
  if (report === null) return null
  const { reachable, since, spoolRows, lagMs } = report.store
  const leases = leasesOf(report, board)
  return {
    vantage: report.vantage,
    members: report.members.map((member) => ({
      ...memberView(member),
      live: member.isLive,
      differs: member.differs,
    })),
    leases: leases.filter(({ kind }) => kind === 'poll').map(leaseView),
    keepers: leases.flatMap((lease) => {
      if (lease.kind !== 'keep') return []
      const { vantage: _none, ...keeper } = leaseView(lease)
      return [keeper]
    }),
    store: {
      reachable,
      since: time(since),
      spool_rows: spoolRows,
      lag_seconds: seconds(lagMs),
      rows_refused: metrics.daemonStatus().store.remote?.rowsRefused ?? 0,
    },
  }
}

/** What every page says about the cluster; `null` for a daemon alone. */
export function clusterNotice(report: ClusterReport | null, audience: Audience): ClusterNoticeView | null {
  if (report === null) return null
  const { reachable, since } = report.store
  return {
    vantage: report.vantage,
    own_view_since: timeOrNull(reachable ? null : since),
    networks_differ: audience === 'private' && report.members.some(({ isLive, differs }) => isLive === true && differs),
  }
}

function leasesOf(report: ClusterReport, board: Pick<Board, 'network'>): readonly ClusterLease[] {
  return currentLeases(report, (network) => board.network(network) !== undefined)
}

function memberView({ id, vantage, version, url, seenAt, isSelf }: ClusterMember): ClusterView['members'][number] {
  return { id, vantage, version, url, seen_at: time(seenAt), self: isSelf }
}

function leaseView({ vantage, network, member, token, expiresAt }: ClusterLease): ClusterView['leases'][number] {
  return { vantage, network, member, token, expires_at: time(expiresAt) }
}
