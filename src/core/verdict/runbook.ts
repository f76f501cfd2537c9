import type { ConditionCode } from './condition.ts'

/** The page of `docs/runbooks/` for each condition. */
export const RUNBOOK_OF: Readonly<Record<ConditionCode | 'halted', string>> = {
  unreachable: 'HeartlineEndpointDown',
  'bad-answer': 'HeartlineEndpointDown',
  'wrong-network': 'HeartlineWrongNetwork',
  unhealthy: 'HeartlineNodeUnhealthy',
  lagging: 'HeartlineEndpointLagging',
  stalled: 'HeartlineEndpointStalled',
  forked: 'HeartlineEndpointForked',
  'check-failing': 'HeartlineNodeCheckFailing',
  'heartbeat-stale': 'HeartlineHeartbeatStale',
  syncing: 'HeartlineNodeSyncing',
  'few-peers': 'HeartlineFewPeers',
  'consensus-syncing': 'HeartlineConsensusSyncing',
  'consensus-down': 'HeartlineConsensusDown',
  slow: 'HeartlineEndpointSlow',
  'rate-limited': 'HeartlineChecksStale',
  partial: 'HeartlinePlacesDisagree',
  'clock-skewed': 'HeartlineClockSkew',
  'no-evidence': 'HeartlineNodeUnhealthy',
  halted: 'HeartlineChainHalted',
}
