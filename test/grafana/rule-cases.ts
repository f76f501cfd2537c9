/** Series that are well, then ill from minute 20 on, and well again from minute 60 on. */
export interface RuleCase {
  readonly alert: string
  /** Values in promtool's notation, by series; the labels `job` and `instance` are added. */
  readonly series: Readonly<Record<string, string>>
  /** Of the alert, besides `job`, `instance`, `severity` and `scope`. */
  readonly labels: Readonly<Record<string, string>>
  readonly summary: string
  readonly description: string
}

const NODE = 'network="avalanche",endpoint="own-1"'
const OTHER = 'network="avalanche",endpoint="own-2"'
const OF_NODE = { network: 'avalanche', endpoint: 'own-1' }
const OF_NETWORK = { network: 'avalanche' }
const always = (value: number) => `${value}x220`
const turns = (well: number, ill: number) => `${well}x19 ${ill}x39 ${well}x160`
/** A time that keeps up with the clock, but for when it is ill. */
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
    description: 'avalanche/own-1 is 12 blocks behind on shard 1.',
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
    summary: 'avalanche/own-1 stands still',
    description: 'avalanche/own-1 has had no new block for 36m 0s.',
  },
  {
    alert: 'HeartlineEndpointForked',
    series: { ...condition('forked'), [`heartline_endpoint_block_height{${NODE},shard=""}`]: always(108_600_000) },
    labels: OF_NODE,
    summary: 'avalanche/own-1 is on a fork',
    description: 'avalanche/own-1 has other blocks than the majority; its newest is 108600000.',
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
    description: 'avalanche/own-1 serves another chain than the configured one, 7 polls in a row.',
  },
  {
    alert: 'HeartlineNodeUnhealthy',
    series: {
      ...condition('unhealthy'),
      [`heartline_node_healthy{${NODE}}`]: turns(1, 0),
      [`heartline_node_healthy{${OTHER}}`]: always(1),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 says that it is unhealthy',
    description: 'avalanche/own-1 says that it is unhealthy. Nodes of avalanche that say so: 1.',
  },
  {
    alert: 'HeartlineNodeCheckFailing',
    series: {
      [`heartline_node_check_contiguous_failures{${NODE},node_check="router"}`]: turns(2, 5),
      ...threshold('contiguous_failures', 3),
    },
    labels: { ...OF_NODE, node_check: 'router' },
    summary: 'A check of avalanche/own-1 on itself fails',
    description: 'The check router of avalanche/own-1 failed 5 times in a row.',
  },
  {
    alert: 'HeartlineHeartbeatStale',
    series: {
      ...condition('heartbeat-stale'),
      [`heartline_node_heartbeat_timestamp_seconds{${NODE}}`]: TIME,
      ...threshold('heartbeat_seconds', 60),
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 hears nothing of its network',
    description: 'avalanche/own-1 has handled no message of its network for 36m 0s.',
  },
  {
    alert: 'HeartlineEndpointFlapping',
    series: {
      [`heartline_endpoint_flapping{${NODE}}`]: turns(0, 1),
      [`heartline_endpoint_state_changes_total{${NODE}}`]: '0x19 0+1x39 40x160',
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 comes and goes',
    description: 'avalanche/own-1 gets well and ill again and again: some 35 changes within the hour.',
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
    description: 'avalanche/own-1 took 2.5s to answer its latest check.',
  },
  {
    alert: 'HeartlineTlsExpiring',
    series: {
      // Ten days from minute 55 on, and 60 before and after.
      [`heartline_endpoint_tls_not_after_timestamp_seconds{${NODE}}`]: '5184000x19 867300x99 5184000x160',
    },
    labels: OF_NODE,
    summary: 'The certificate of avalanche/own-1 ends soon',
    description: 'The TLS certificate of avalanche/own-1 ends in 10.0 days.',
  },
  {
    alert: 'HeartlineClockSkew',
    series: {
      ...condition('clock-skewed'),
      [`heartline_endpoint_clock_skew_seconds{${NODE}}`]: turns(1, -90),
      ...threshold('clock_skew_seconds', 10),
    },
    labels: OF_NODE,
    summary: 'The clock of avalanche/own-1 is off',
    description: 'The clock of avalanche/own-1 is 1m 30s away from ours.',
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
    summary: 'No endpoint of avalanche can be used',
    description: 'No endpoint of avalanche is up or degraded; 3 are down.',
  },
  {
    alert: 'HeartlineChainHalted',
    series: {
      'heartline_network_halted{network="avalanche"}': turns(0, 1),
      [`heartline_endpoint_last_advance_timestamp_seconds{${NODE},shard=""}`]: TIME,
    },
    labels: OF_NETWORK,
    summary: 'avalanche makes no blocks',
    description: 'No endpoint of avalanche has had a new block for 36m 0s.',
  },
  {
    alert: 'HeartlineNetworkForked',
    series: {
      'heartline_network_forked{network="avalanche"}': turns(0, 1),
      'heartline_network_branches{network="avalanche",shard=""}': turns(1, 2),
    },
    labels: OF_NETWORK,
    summary: 'The endpoints of avalanche disagree',
    description: 'The endpoints of avalanche have 2 different blocks at one height, and no majority settles it.',
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
    summary: 'The gateway answers eth_chainId of avalanche slowly',
    description: 'One in twenty requests of eth_chainId of avalanche takes 2.95s or longer.',
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
    description: 'The gateway leaves out all 2 endpoints of avalanche.',
  },
  {
    alert: 'HeartlineAnswerIntegrity',
    series: {
      [`heartline_gateway_attempts_total{${NODE},operation="eth_chainId",outcome="bad-answer"}`]: '0x19 0+1x39 40x160',
    },
    labels: OF_NODE,
    summary: 'avalanche/own-1 gives answers that are none',
    description: 'The gateway threw away some 10 answers of avalanche/own-1 that were no answer to what was asked.',
  },
  {
    alert: 'HeartlineAvailabilityBurnFast',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: turns(1, 0),
      // What is maintained is not counted, neither for nor against.
      [`heartline_endpoint_up{${OTHER}}`]: always(1),
      [`heartline_endpoint_state{${OTHER},state="maintenance"}`]: always(1),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its objective of availability',
    description:
      'avalanche had no endpoint that was up for 58.68% of the last 1 h: 14.4 times as much as 99.9 % allows is 1.44 %.',
  },
  {
    alert: 'HeartlineAvailabilityBurnSlow',
    series: {
      [`heartline_endpoint_up{${NODE}}`]: turns(1, 0),
      // What is maintained is not counted, neither for nor against.
      [`heartline_endpoint_up{${OTHER}}`]: always(1),
      [`heartline_endpoint_state{${OTHER},state="maintenance"}`]: always(1),
    },
    labels: OF_NETWORK,
    summary: 'avalanche misses its objective of availability',
    description:
      'avalanche had no endpoint that was up for 10% of the last 6 h: 6 times as much as 99.9 % allows is 0.6 %.',
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
    summary: 'avalanche misses its objective of freshness',
    description:
      'avalanche had no endpoint at the head of its chain for 58.68% of the last 1 h: 14.4 times as much as 99.9 % allows is 1.44 %.',
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
    summary: 'avalanche misses its objective of freshness',
    description:
      'avalanche had no endpoint at the head of its chain for 10% of the last 6 h: 6 times as much as 99.9 % allows is 0.6 %.',
  },
  {
    alert: 'HeartlineAbsent',
    series: { 'heartline_build_info{version="1.2.3",node_version="20.20.2"}': '1x19 stale _x38 1x160' },
    labels: {},
    summary: 'Heartline does not answer its scrapes',
    description: 'Nothing is watched by heartline:9780: Prometheus gets no metrics of Heartline. Missing: 1.',
  },
  {
    alert: 'HeartlineSchedulerStuck',
    series: { 'heartline_scheduler_last_round_timestamp_seconds{}': TIME },
    labels: {},
    summary: 'The scheduler of heartline:9780 stands still',
    description: 'heartline:9780 has not looked for polls that are due for 36m 0s.',
  },
  {
    alert: 'HeartlineChecksStale',
    series: {
      [`heartline_endpoint_state{${NODE},state="unknown"}`]: turns(0, 1),
      [`heartline_check_last_run_timestamp_seconds{${NODE},check="head"}`]: TIME,
      'heartline_start_timestamp_seconds{}': always(1),
    },
    labels: OF_NODE,
    summary: 'Nothing is known of avalanche/own-1',
    description: 'Heartline has no result of avalanche/own-1 that still counts; the latest check ran 36m 0s ago.',
  },
  {
    alert: 'HeartlineChecksStale',
    // Never polled since the start, a minute after the epoch.
    series: {
      [`heartline_endpoint_state{${NODE},state="unknown"}`]: turns(0, 1),
      'heartline_start_timestamp_seconds{}': always(60),
    },
    labels: { ...OF_NODE },
    summary: 'Nothing is known of avalanche/own-1',
    description: 'Heartline has no result of avalanche/own-1 that still counts; the latest check ran 54m 0s ago.',
  },
  {
    alert: 'HeartlineStoreDegraded',
    series: { 'heartline_store_degraded{}': turns(0, 1), 'heartline_config_endpoints{}': always(9) },
    labels: {},
    summary: 'heartline:9780 cannot write its history',
    description: 'The history of 9 endpoints is not being written by heartline:9780.',
  },
  {
    alert: 'HeartlineDiskFilling',
    series: { 'heartline_store_filesystem_free_bytes{}': turns(5e10, 5e8) },
    labels: {},
    summary: 'The disk of heartline:9780 fills up',
    description: 'The file system of the store of heartline:9780 has 476.8MiB left, or will be full within a day.',
  },
  {
    alert: 'HeartlineDiskFilling',
    // 100 MB a minute: full in nine hours, though 55 GB are left.
    series: { 'heartline_store_filesystem_free_bytes{}': '60000000000x19 60000000000-100000000x39 90000000000x160' },
    labels: {},
    summary: 'The disk of heartline:9780 fills up',
    description: 'The file system of the store of heartline:9780 has 52.62GiB left, or will be full within a day.',
  },
  {
    alert: 'HeartlineConfigRejected',
    series: {
      'heartline_config_last_reload_successful{}': turns(1, 0),
      'heartline_config_last_reload_success_timestamp_seconds{}': '0x59 3600x160',
    },
    labels: {},
    summary: 'heartline:9780 refused its new configuration',
    description: 'heartline:9780 runs with the configuration of 55m 0s ago: the new one has a mistake.',
  },
  {
    alert: 'HeartlineObserverImpaired',
    series: { 'heartline_observer_impaired{}': turns(0, 1), 'heartline_config_endpoints{}': always(9) },
    labels: {},
    summary: 'heartline:9780 cannot judge nodes',
    description:
      'heartline:9780 is itself not fit to judge its 9 endpoints: its own network, clock or machine is in trouble.',
  },
]
