import { dashboards } from './boards/boards.ts'
import { DASHBOARDS, type DashboardName } from './uids.ts'

/** Grafana requires both values or neither. */
export function panelOf(alert: string): { readonly dashboardUid: string; readonly panelId: number } {
  const shown = ALERT_PANELS[alert]
  if (shown === undefined) throw new Error(`grafana/alert-panels.ts does not say which panel shows ${alert}`)
  const [dashboard, title] = shown
  const panel = dashboards()[dashboard]?.panels?.find((candidate) => candidate.title === title)
  if (panel?.id === undefined || panel.id === null) throw new Error(`${dashboard} has no panel ${title}`)
  return { dashboardUid: DASHBOARDS[dashboard], panelId: panel.id }
}

/** The panel that shows the number of each alert. Grafana links it, and marks the alert in it. */
const ALERT_PANELS: Readonly<Record<string, readonly [DashboardName, string]>> = {
  HeartlineEndpointDown: ['endpoint', 'State'],
  HeartlineEndpointLagging: ['endpoint', 'Blocks behind'],
  HeartlineEndpointStalled: ['endpoint', 'Time without a new block'],
  HeartlineEndpointForked: ['endpoint', 'Conditions'],
  HeartlineWrongNetwork: ['endpoint', 'Conditions'],
  HeartlineNodeUnhealthy: ['endpoint', 'Conditions'],
  HeartlineNodeCheckFailing: ['endpoint', 'Consecutive failures of a liveness check'],
  HeartlineHeartbeatStale: ['endpoint', 'Heartbeat lag'],
  HeartlineNodeSyncing: ['endpoint', 'Blocks to sync'],
  HeartlineFewPeers: ['endpoint', 'Peers'],
  HeartlineConsensusSyncing: ['endpoint', 'Conditions'],
  HeartlineConsensusDown: ['endpoint', 'Conditions'],
  HeartlineEndpointFlapping: ['endpoint', 'State'],
  HeartlineEndpointSlow: ['endpoint', 'Check duration'],
  HeartlineTlsExpiring: ['endpoint', 'Days until the certificate expires'],
  HeartlineClockSkew: ['endpoint', 'Clock skew'],
  HeartlineNetworkDegraded: ['fleet', 'Endpoints that are up'],
  HeartlineNetworkDown: ['fleet', 'State'],
  HeartlineChainHalted: ['network', 'Time without a new block'],
  HeartlineNetworkForked: ['network', 'Branches'],
  HeartlineGatewayErrors: ['gateway', 'Rate by outcome'],
  HeartlineGatewaySlow: ['gateway', 'Duration'],
  HeartlineNoEligibleEndpoint: ['gateway', 'Eligible endpoints'],
  HeartlineAnswerIntegrity: ['gateway', 'Failed attempts'],
  HeartlineAvailabilityBurnFast: ['network', 'Time without a usable endpoint'],
  HeartlineAvailabilityBurnSlow: ['network', 'Time without a usable endpoint'],
  HeartlineFreshnessBurnFast: ['network', 'Time without a usable endpoint'],
  HeartlineFreshnessBurnSlow: ['network', 'Time without a usable endpoint'],
  HeartlineAbsent: ['heartline', 'Uptime'],
  HeartlineSchedulerStuck: ['heartline', 'Last scheduler round'],
  HeartlineChecksStale: ['fleet', 'State'],
  HeartlineStoreDegraded: ['heartline', 'Problems'],
  HeartlineDiskFilling: ['heartline', 'Disk'],
  HeartlineConfigRejected: ['heartline', 'Problems'],
  HeartlineObserverImpaired: ['heartline', 'Problems'],
  HeartlineNotificationsFailing: ['heartline', 'Undelivered notifications'],
  HeartlinePlacesDisagree: ['cluster', 'State by place'],
  HeartlineMemberGone: ['cluster', 'Live members'],
  HeartlineLeaseNotRenewed: ['cluster', 'Time left of each lease'],
  HeartlineSpoolGrowing: ['cluster', 'Rows that wait'],
  HeartlineNetworksDiffer: ['cluster', 'Problems'],
}
