/** Series that are good, then bad from minute 20 on, then good again from minute 60 on. */
export interface RuleCase {
  readonly alert: string
  /** Values in promtool's notation, by series; the labels `job` and `instance` are added. */
  readonly series: Readonly<Record<string, string>>
  /** Labels of the alert, in addition to `job`, `instance`, `severity` and `scope`. */
  readonly labels: Readonly<Record<string, string>>
  readonly summary: string
  readonly description: string
}

const NODE = 'network="avalanche",endpoint="own-1"'
const OTHER = 'network="avalanche",endpoint="own-2"'
const OF_NODE = { network: 'avalanche', endpoint: 'own-1' }
const OF_NETWORK = { network: 'avalanche' }
const always = (value: number) => `${value}x220`
const turns = (good: number, bad: number) => `${good}x19 ${bad}x39 ${good}x160`
/** A timestamp that follows the clock, except while it is bad. */
const TIME = '0+60x19 1140x39 3600+60x160'
const condition = (code: string) => ({ [`heartline_endpoint_condition{${NODE},condition="${code}"}`]: turns(0, 1) })
const threshold = (name: string, value: number) => ({
  [`heartline_network_threshold_${name}{network="avalanche"}`]: always(value),
})
const counted = (state: string, values: string) => ({
  [`heartline_network_endpoints{network="avalanche",state="${state}"}`]: values,
})
const requests = (outcome: string, values: string) => ({
  [`heartline_gateway_requests_total{network="avalanche",operation="eth_chainId",caller="wallet",outcome="${outcome}"}`]:
    values,
})
const bucket = (le: string, values: string) => ({
  [`heartline_gateway_request_duration_seconds_bucket{network="avalanche",operation="eth_chainId",le="${le}"}`]: values,
})

export const RULE_CASES: readonly RuleCase[] = [
  {
    alert: 'HeartlineEndpointDown',
    series: { [`heartline_endpoint_state{${NODE},state="down"}`]: turns(0, 1), ...counted('down', turns(0, 2)) },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is down',
    description: 'avalanche/own-1 is down. Endpoints of avalanche that are down: 2.',
  },
  {
    alert: 'HeartlineEndpointLagging',
    series: {
      ...condition('lagging'),
      [`heartline_endpoint_block_lag{${NODE},shard="1"}`]: turns(2, 12),
      [`heartline_endpoint_block_lag{${NODE},shard="2"}`]: always(2),
      ...threshold('lag_blocks', 3),
    },
    labels: { ...OF_NODE, shard: '1' },
    summary: 'avalanche/own-1 is behind',
    description: 'avalanche/own-1 is at least 12 blocks behind on shard 1.',
  },
  {
    alert: 'HeartlineEndpointLagging',
    series: {
      ...condition('lagging'),
      [`heartline_endpoint_block_lag{${NODE},shard="1"}`]: turns(0, 2),
      [`heartline_endpoint_block_lag{${NODE},shard="2"}`]: always(0),
      ...threshold('lag_blocks', 3),
    },
    labels: { ...OF_NODE, shard: '1' },
    summary: 'avalanche/own-1 is behind',
    description: 'avalanche/own-1 is at least 2 blocks behind on shard 1.',
  },
  {
    alert: 'HeartlineEndpointLagging',
    series: {
      ...condition('lagging'),
      [`heartline_endpoint_block_lag{${NODE},shard=""}`]: always(0),
      ...threshold('lag_blocks', 3),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is behind',
    description: 'avalanche/own-1 is at least 1 blocks behind.',
  },
  {
    alert: 'HeartlineEndpointLagging',
    // By the age of its blocks, which are old on one of its shards.
    series: {
      ...condition('lagging'),
      [`heartline_endpoint_block_lag{${NODE},shard="1"}`]: always(0),
      [`heartline_endpoint_block_lag{${NODE},shard="2"}`]: always(0),
      [`heartline_endpoint_block_timestamp_seconds{${NODE},shard="1"}`]: TIME,
      [`heartline_endpoint_block_timestamp_seconds{${NODE},shard="2"}`]: '0+60x220',
      ...threshold('lag_blocks', 3),
      ...threshold('stall_seconds', 90),
    },
    labels: { ...OF_NODE, shard: '1' },
    summary: 'avalanche/own-1 is behind',
    description: 'avalanche/own-1 is at least 1 blocks behind on shard 1.',
  },
  {
    alert: 'HeartlineEndpointLagging',
    // A pool of nodes, of which one at the head was asked last.
    series: {
      ...condition('lagging'),
      [`heartline_endpoint_block_lag{${NODE},shard=""}`]: always(0),
      [`heartline_endpoint_block_timestamp_seconds{${NODE},shard=""}`]: '0+60x220',
      ...threshold('lag_blocks', 3),
      ...threshold('stall_seconds', 90),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is behind',
    description: 'avalanche/own-1 is at least 1 blocks behind.',
  },
  {
    alert: 'HeartlineEndpointStalled',
    series: {
      ...condition('stalled'),
      [`heartline_endpoint_last_advance_timestamp_seconds{${NODE},shard=""}`]: TIME,
      [`heartline_endpoint_last_advance_timestamp_seconds{${OTHER},shard=""}`]: '0+60x220',
      ...threshold('stall_seconds', 90),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is stalled',
    description:
      'avalanche/own-1 has had no new block for 36m 0s. If it is the only endpoint of avalanche, it is unknown whether the endpoint or the chain has stopped.',
  },
  {
    alert: 'HeartlineEndpointForked',
    series: { ...condition('forked'), [`heartline_endpoint_block_height{${NODE},shard=""}`]: always(108_600_000) },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is on a fork',
    description: 'avalanche/own-1 has different blocks than the majority; its newest is 108600000.',
  },
  {
    alert: 'HeartlineWrongNetwork',
    series: {
      ...condition('wrong-network'),
      [`heartline_check_consecutive_failures{${NODE},check="head"}`]: turns(0, 7),
      [`heartline_check_consecutive_failures{${NODE},check="liveness"}`]: always(0),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 serves another chain',
    description: 'avalanche/own-1 serves another chain than the configured one, for at least 7 polls in a row.',
  },
  {
    alert: 'HeartlineWrongNetwork',
    // From a member of a cluster that does not poll it.
    series: condition('wrong-network'),
    labels: OF_NODE,
    summary: 'avalanche/own-1 serves another chain',
    description: 'avalanche/own-1 serves another chain than the configured one, for at least 1 polls in a row.',
  },
  {
    alert: 'HeartlineNodeUnhealthy',
    series: {
      ...condition('unhealthy'),
      [`heartline_node_healthy{${NODE}}`]: turns(1, 0),
      [`heartline_node_healthy{${OTHER}}`]: always(1),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 reports itself unhealthy',
    description: 'avalanche/own-1 reports itself unhealthy. Nodes of avalanche that do: 1.',
  },
  {
    alert: 'HeartlineNodeCheckFailing',
    series: {
      ...condition('check-failing'),
      [`heartline_node_check_contiguous_failures{${NODE},node_check="router"}`]: turns(2, 5),
      ...threshold('contiguous_failures', 3),
    },
    labels: { ...OF_NODE, node_check: 'router' },
    summary: 'A check of the node avalanche/own-1 on itself fails',
    description: 'The check router of avalanche/own-1 has failed 5 times in a row.',
  },
  {
    alert: 'HeartlineHeartbeatStale',
    series: {
      ...condition('heartbeat-stale'),
      [`heartline_node_heartbeat_timestamp_seconds{${NODE}}`]: TIME,
      ...threshold('heartbeat_seconds', 60),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 receives no messages of its network',
    description: 'avalanche/own-1 has handled no message of its network for 36m 0s.',
  },
  {
    alert: 'HeartlineNodeSyncing',
    series: {
      ...condition('syncing'),
      [`heartline_node_syncing{${NODE}}`]: turns(0, 1),
      [`heartline_node_sync_remaining_blocks{${NODE}}`]: turns(0, 12_000),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is syncing',
    description: 'avalanche/own-1 reports that it is syncing, with at least 12000 blocks to go.',
  },
  {
    alert: 'HeartlineNodeSyncing',
    series: { ...condition('syncing'), [`heartline_node_syncing{${NODE}}`]: turns(0, 1) },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is syncing',
    description: 'avalanche/own-1 reports that it is syncing, with at least 1 blocks to go.',
  },
  {
    alert: 'HeartlineFewPeers',
    series: {
      ...condition('few-peers'),
      [`heartline_node_peers{${NODE}}`]: turns(30, 0),
      ...threshold('min_peers', 3),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 has too few peers',
    description: 'avalanche/own-1, or its consensus node, reports fewer than 3 peers.',
  },
  {
    alert: 'HeartlineConsensusSyncing',
    series: {
      ...condition('consensus-syncing'),
      [`heartline_node_consensus_syncing{${NODE}}`]: turns(0, 1),
      [`heartline_node_consensus_syncing{${OTHER}}`]: always(0),
    },
    labels: OF_NODE,
    summary: 'The consensus node of avalanche/own-1 is syncing',
    description: 'Consensus nodes of avalanche/own-1 that are syncing, optimistic or without their execution node: 1.',
  },
  {
    alert: 'HeartlineConsensusDown',
    series: {
      ...condition('consensus-down'),
      [`heartline_node_consensus_up{${NODE}}`]: turns(1, 0),
      [`heartline_node_consensus_up{${OTHER}}`]: always(1),
    },
    labels: OF_NODE,
    summary: 'The consensus node of avalanche/own-1 does not work',
    description: 'Consensus nodes of avalanche/own-1 that do not work: 1. The endpoint follows no chain without one.',
  },
  {
    alert: 'HeartlineEndpointFlapping',
    series: {
      [`heartline_endpoint_flapping{${NODE}}`]: turns(0, 1),
      [`heartline_endpoint_state_changes_total{${NODE}}`]: '0x19 0+1x39 40x160',
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is flapping',
    description: 'avalanche/own-1 is flapping: about 35 state changes in the last hour.',
  },
  {
    alert: 'HeartlineEndpointSlow',
    series: {
      ...condition('slow'),
      [`heartline_check_last_duration_seconds{${NODE},check="head"}`]: turns(0.1, 2.5),
      [`heartline_check_last_duration_seconds{${NODE},check="liveness"}`]: always(0.1),
      ...threshold('latency_seconds', 2),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is slow',
    description: 'avalanche/own-1 took at least 2.5s to answer a check within the last minutes.',
  },
  {
    alert: 'HeartlineEndpointSlow',
    // From a member of a cluster that does not poll it.
    series: { ...condition('slow'), ...threshold('latency_seconds', 2) },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is slow',
    description: 'avalanche/own-1 took at least 2s to answer a check within the last minutes.',
  },
  {
    alert: 'HeartlineTlsExpiring',
    series: {
      // Ten days from minute 55 on, and 60 before and after.
      [`heartline_endpoint_tls_not_after_timestamp_seconds{${NODE}}`]: '5184000x19 867300x99 5184000x160',
    },
    labels: OF_NODE,
    summary: 'The certificate of avalanche/own-1 expires soon',
    description: 'The TLS certificate of avalanche/own-1 expires in 10.0 days.',
  },
  {
    alert: 'HeartlineClockSkew',
    series: {
      ...condition('clock-skewed'),
      [`heartline_endpoint_clock_skew_seconds{${NODE}}`]: turns(1, -90),
      ...threshold('clock_skew_seconds', 10),
    },
    labels: OF_NODE,
    summary: 'The clock of avalanche/own-1 is wrong',
    description: 'The clock of avalanche/own-1 differs by 1m 30s from that of Heartline.',
  },
  {
    alert: 'HeartlineNetworkDegraded',
    series: {
      ...counted('up', turns(3, 1)),
      ...counted('degraded', always(0)),
      ...counted('down', turns(0, 2)),
      ...counted('maintenance', always(4)),
    },
    labels: OF_NETWORK,
    summary: 'Fewer than half of the endpoints of avalanche are up',
    description: '33.33% of the endpoints of avalanche are up.',
  },
  {
    alert: 'HeartlineNetworkDown',
    series: { ...counted('up', turns(2, 0)), ...counted('degraded', always(0)), ...counted('down', turns(1, 3)) },
    labels: OF_NETWORK,
    summary: 'No endpoint of avalanche is usable',
    description: 'No endpoint of avalanche is up or degraded; 3 are down.',
  },
  {
    alert: 'HeartlineChainHalted',
    series: {
      'heartline_network_halted{network="avalanche"}': turns(0, 1),
      [`heartline_endpoint_last_advance_timestamp_seconds{${NODE},shard=""}`]: TIME,
    },
    labels: OF_NETWORK,
    summary: 'avalanche is halted',
    description: 'No endpoint of avalanche has had a new block for 36m 0s.',
  },
  {
    alert: 'HeartlineNetworkForked',
    series: {
      'heartline_network_forked{network="avalanche"}': turns(0, 1),
      'heartline_network_branches{network="avalanche",shard=""}': turns(1, 2),
    },
    labels: OF_NETWORK,
    summary: 'The endpoints of avalanche disagree on the chain',
    description: 'The endpoints of avalanche have 2 different blocks at the same height, and none has a majority.',
  },
  {
    alert: 'HeartlineGatewayErrors',
    series: {
      ...requests('answered', '0+90x220'),
      ...requests('all-failed', '0x19 0+10x39 400x160'),
      ...requests('unauthorized', '0+900x220'),
    },
    labels: OF_NETWORK,
    summary: 'The gateway fails requests of avalanche',
    description: 'The gateway could not answer 10% of the requests of avalanche.',
  },
  {
    alert: 'HeartlineGatewaySlow',
    series: {
      ...bucket('1', '0+60x19 1200x39 1200+60x160'),
      ...bucket('2', '0+60x19 1200x39 1200+60x160'),
      ...bucket('3', '0+60x19 1200+60x39 3600+60x160'),
      ...bucket('+Inf', '0+60x19 1200+60x39 3600+60x160'),
      ...threshold('latency_seconds', 2),
    },
    labels: { ...OF_NETWORK, operation: 'eth_chainId' },
    summary: 'The gateway is slow for eth_chainId requests of avalanche',
    description: 'The 95th percentile of eth_chainId requests of avalanche is 2.95s.',
  },
  {
    alert: 'HeartlineNoEligibleEndpoint',
    series: {
      [`heartline_gateway_eligible{${NODE}}`]: turns(1, 0),
      [`heartline_gateway_eligible{${OTHER}}`]: always(0),
      ...counted('up', turns(1, 0)),
      ...counted('down', turns(1, 2)),
    },
    labels: OF_NETWORK,
    summary: 'The gateway has no endpoint for avalanche',
    description: 'The gateway excludes all 2 endpoints of avalanche.',
  },
  {
    alert: 'HeartlineAnswerIntegrity',
    series: {
      [`heartline_gateway_attempts_total{${NODE},operation="eth_chainId",outcome="bad-answer"}`]: '0x19 0+1x39 40x160',
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 gives invalid responses',
    description: 'The gateway discarded about 10 responses of avalanche/own-1 that did not match their requests.',
  },
  {
    alert: 'HeartlineAvailabilityBurnFast',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: turns(1, 0),
      // Maintenance is not counted.
      [`heartline_endpoint_up{${OTHER}}`]: always(1),
      [`heartline_endpoint_state{${OTHER},state="maintenance"}`]: always(1),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its availability objective',
    description:
      'avalanche had no endpoint that was up for 58.68% of the last 1 h. The alert bound is 1.44 %, 14.4 times the rate that an objective of 99.9 % allows.',
  },
  {
    alert: 'HeartlineAvailabilityBurnSlow',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: turns(1, 0),
      // Maintenance is not counted.
      [`heartline_endpoint_up{${OTHER}}`]: always(1),
      [`heartline_endpoint_state{${OTHER},state="maintenance"}`]: always(1),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its availability objective',
    description:
      'avalanche had no endpoint that was up for 10% of the last 6 h. The alert bound is 0.6 %, 6 times the rate that an objective of 99.9 % allows.',
  },
  {
    alert: 'HeartlineFreshnessBurnFast',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: always(1),
      [`heartline_endpoint_up{${OTHER}}`]: always(0),
      ...condition('lagging'),
      [`heartline_endpoint_condition{${OTHER},condition="lagging"}`]: always(0),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its freshness objective',
    description:
      'avalanche had no endpoint at the head of its chain for 58.68% of the last 1 h. The alert bound is 1.44 %, 14.4 times the rate that an objective of 99.9 % allows.',
  },
  {
    alert: 'HeartlineFreshnessBurnSlow',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: always(1),
      [`heartline_endpoint_up{${OTHER}}`]: always(0),
      ...condition('lagging'),
      [`heartline_endpoint_condition{${OTHER},condition="lagging"}`]: always(0),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its freshness objective',
    description:
      'avalanche had no endpoint at the head of its chain for 10% of the last 6 h. The alert bound is 0.6 %, 6 times the rate that an objective of 99.9 % allows.',
  },
  {
    alert: 'HeartlineAbsent',
    series: { 'heartline_build_info{version="1.2.3",node_version="20.20.2"}': '1x19 stale _x38 1x160' },
    labels: {},
    summary: 'Heartline does not answer scrapes',
    description: 'Nothing is monitored by heartline:9780: Prometheus receives no metrics of Heartline. Missing: 1.',
  },
  {
    alert: 'HeartlineSchedulerStuck',
    series: { 'heartline_scheduler_last_round_timestamp_seconds{}': TIME },
    labels: {},
    summary: 'The scheduler of heartline:9780 is stuck',
    description: 'The scheduler of heartline:9780 has not run for 36m 0s.',
  },
  {
    alert: 'HeartlineChecksStale',
    series: {
      [`heartline_endpoint_state{${NODE},state="unknown"}`]: turns(0, 1),
      [`heartline_check_last_run_timestamp_seconds{${NODE},check="head"}`]: TIME,
      'heartline_start_timestamp_seconds{}': always(1),
    },
    labels: OF_NODE,
    summary: 'The state of avalanche/own-1 is unknown',
    description: 'Heartline has no current result of avalanche/own-1; the latest check ran 36m 0s ago.',
  },
  {
    alert: 'HeartlineChecksStale',
    // Never polled since the start, one minute after the epoch.
    series: {
      [`heartline_endpoint_state{${NODE},state="unknown"}`]: turns(0, 1),
      'heartline_start_timestamp_seconds{}': always(60),
    },
    labels: { ...OF_NODE },
    summary: 'The state of avalanche/own-1 is unknown',
    description: 'Heartline has no current result of avalanche/own-1; the latest check ran 54m 0s ago.',
  },
  {
    alert: 'HeartlineStoreDegraded',
    series: { 'heartline_store_degraded{}': turns(0, 1), 'heartline_config_endpoints{}': always(9) },
    labels: {},
    summary: 'heartline:9780 cannot write its history',
    description: 'heartline:9780 cannot write the history of 9 endpoints.',
  },
  {
    alert: 'HeartlineDiskFilling',
    series: { 'heartline_store_filesystem_free_bytes{}': turns(5e10, 5e8) },
    labels: {},
    summary: 'The disk of heartline:9780 is filling up',
    description: 'The file system of the store of heartline:9780 has 476.8MiB left, or will be full within a day.',
  },
  {
    alert: 'HeartlineDiskFilling',
    // 100 MB per minute: full in nine hours, although 55 GB are left.
    series: { 'heartline_store_filesystem_free_bytes{}': '60000000000x19 60000000000-100000000x39 90000000000x160' },
    labels: {},
    summary: 'The disk of heartline:9780 is filling up',
    description: 'The file system of the store of heartline:9780 has 52.62GiB left, or will be full within a day.',
  },
  {
    alert: 'HeartlineConfigRejected',
    series: {
      'heartline_config_last_reload_successful{}': turns(1, 0),
      'heartline_config_last_reload_success_timestamp_seconds{}': '0x59 3600x160',
    },
    labels: {},
    summary: 'heartline:9780 rejected its new configuration',
    description: 'heartline:9780 still uses the configuration of 55m 0s ago, because the new one has an error.',
  },
  {
    alert: 'HeartlineObserverImpaired',
    series: { 'heartline_observer_impaired{}': turns(0, 1), 'heartline_config_endpoints{}': always(9) },
    labels: {},
    summary: 'heartline:9780 is impaired',
    description:
      'heartline:9780 cannot judge its 9 endpoints, because its own network, clock or machine has a problem.',
  },
  {
    alert: 'HeartlineNotificationsFailing',
    series: {
      'heartline_notification_oldest_seconds{}': turns(30, 1800),
      'heartline_notification_queue{}': turns(1, 3),
      'heartline_notifications_total{channel="ops",result="retried"}': '0+1x220',
      'heartline_notifications_total{channel="ops",result="rejected"}': always(2),
    },
    labels: {},
    summary: 'heartline:9780 cannot deliver notifications',
    description:
      'heartline:9780 could not deliver 3 notifications: they were rejected, have expired, or have waited too long.',
  },
  {
    alert: 'HeartlineNotificationsFailing',
    series: {
      'heartline_notification_oldest_seconds{}': always(0),
      'heartline_notification_queue{}': always(0),
      'heartline_notifications_total{channel="ops",result="rejected"}': '0x19 1+1x39 40x160',
      'heartline_notifications_total{channel="mail",result="expired"}': '0x19 1+1x39 40x160',
      'heartline_notifications_total{channel="mail",result="sent"}': '0+1x220',
    },
    labels: {},
    summary: 'heartline:9780 cannot deliver notifications',
    description:
      'heartline:9780 could not deliver 30 notifications: they were rejected, have expired, or have waited too long.',
  },
  {
    alert: 'HeartlinePlacesDisagree',
    series: {
      ...condition('partial'),
      [`heartline_vantage_state{${NODE},vantage="fra1",state="down"}`]: turns(0, 1),
      [`heartline_vantage_state{${NODE},vantage="nyc1",state="down"}`]: always(0),
      [`heartline_vantage_state{${OTHER},vantage="fra1",state="down"}`]: always(1),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is down from some places only',
    description: 'avalanche/own-1 is down from fewer places than the quorum: 1.',
  },
  {
    alert: 'HeartlineMemberGone',
    series: { 'heartline_cluster_members{}': turns(3, 2), 'heartline_store_reachable{}': always(1) },
    labels: {},
    summary: 'heartline:9780 misses a member of its cluster',
    description: 'heartline:9780 has heard nothing of 1 members that lived within the last hour.',
  },
  {
    alert: 'HeartlineLeaseNotRenewed',
    series: {
      'heartline_cluster_lease_expiry_timestamp_seconds{vantage="fra1",network="avalanche"}': TIME,
      'heartline_cluster_lease_expiry_timestamp_seconds{vantage="nyc1",network="avalanche"}': '15+60x220',
      'heartline_store_reachable{}': always(1),
    },
    labels: { vantage: 'fra1', network: 'avalanche' },
    summary: 'No member polls avalanche from fra1',
    description: 'No member has held the right to poll avalanche from fra1 for 36m 0s.',
  },
  {
    alert: 'HeartlineSpoolGrowing',
    series: {
      'heartline_store_reachable{}': turns(1, 0),
      'heartline_store_spool_rows{}': '0x19 0+50x39 0x160',
      'heartline_store_queue_rows{}': turns(0, 10),
    },
    labels: {},
    summary: 'heartline:9780 cannot store its history in the database',
    description:
      'heartline:9780 has 1760 rows that wait for the database, and shows only what it sees itself while it is away.',
  },
  {
    alert: 'HeartlineNetworksDiffer',
    series: { 'heartline_cluster_networks_differ{}': turns(0, 1) },
    labels: {},
    summary: 'Members of the cluster of heartline:9780 monitor different networks',
    description: 'The networks, endpoints or checks of 1 members are others than those of heartline:9780.',
  },
]
