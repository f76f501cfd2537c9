import { type Alert, type Alerts, EXPLAINED, OF_ENDPOINT, OF_HEARTLINE, under } from './alert.ts'

/** Faults that only several daemons over one database can have. A daemon alone has none of these series. */
export const clusterAlerts: Alerts = ({ hold, window }) => [
  {
    name: 'HeartlinePlacesDisagree',
    scope: 'endpoint',
    severity: 'warning',
    number: `sum by (${OF_ENDPOINT}) (heartline_vantage_state{state="down"})\nand ${under('partial')}`,
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    silencedBy: EXPLAINED,
    summary: '{{ $labels.network }}/{{ $labels.endpoint }} is down from some places only',
    description:
      '{{ $labels.network }}/{{ $labels.endpoint }} is down from fewer places than the quorum: {{ $value | printf "%.0f" }}.',
  },
  of({
    name: 'HeartlineMemberGone',
    severity: 'warning',
    number: [
      'max_over_time(',
      // A member that died and started again counts twice for one lease: only a number that lasted counts.
      `  (min_over_time(${MEMBERS}[${window(5 * MINUTE)}]) and ${MEMBERS} offset ${window(5 * MINUTE)})[${window(HOUR)}:${window(MINUTE)}]`,
      `) - ${MEMBERS}`,
      AWAY,
    ].join('\n'),
    fires: { above: 0 },
    // Longer than a member takes to restart.
    hold: hold(2 * MINUTE),
    summary: '{{ $labels.instance }} misses a member of its cluster',
    description:
      '{{ $labels.instance }} has heard nothing of {{ $value | printf "%.0f" }} members that lived within the last hour.',
  }),
  of({
    name: 'HeartlineLeaseNotRenewed',
    severity: 'critical',
    number: ['time() - heartline_cluster_lease_expiry_timestamp_seconds', AWAY].join('\n'),
    fires: { above: 0 },
    hold: hold(MINUTE),
    summary: 'No member polls {{ $labels.network }} from {{ $labels.vantage }}',
    description:
      'No member has held the right to poll {{ $labels.network }} from {{ $labels.vantage }} for {{ $value | humanizeDuration }}.',
  }),
  of({
    name: 'HeartlineSpoolGrowing',
    severity: 'critical',
    number: [
      `(heartline_store_spool_rows + on (${OF_HEARTLINE}) heartline_store_queue_rows)`,
      `and on (${OF_HEARTLINE}) (heartline_store_reachable == 0 or delta(heartline_store_spool_rows[${window(10 * MINUTE)}]) > 0)`,
    ].join('\n'),
    fires: { above: 0 },
    hold: hold(2 * MINUTE),
    summary: '{{ $labels.instance }} cannot store its history in the database',
    description:
      '{{ $labels.instance }} has {{ $value | printf "%.0f" }} rows that wait for the database, and shows only what it sees itself while it is away.',
  }),
  of({
    name: 'HeartlineNetworksDiffer',
    severity: 'warning',
    number: 'heartline_cluster_networks_differ',
    fires: { above: 0 },
    hold: hold(5 * MINUTE),
    summary: 'Members of the cluster of {{ $labels.instance }} monitor different networks',
    description:
      'The networks, endpoints or checks of {{ $value | printf "%.0f" }} members are others than those of {{ $labels.instance }}.',
  }),
]

/** While the database is away, nothing is known of other members. */
const AWAY = `unless on (${OF_HEARTLINE}) heartline_store_reachable == 0`
const MEMBERS = 'heartline_cluster_members'
const MINUTE = 60
const HOUR = 60 * MINUTE

function of(alert: Omit<Alert, 'scope' | 'silencedBy'>): Alert {
  return { ...alert, scope: 'heartline', silencedBy: [] }
}
