import { dashboards } from './boards/boards.ts'
import { DASHBOARDS, type DashboardName } from './uids.ts'

/** On which panel the number of each alert can be watched: Grafana links them, and marks the alert there. */
const SHOWN_ON: Readonly<Record<string, readonly [DashboardName, string]>> = {
  HeartlineEndpointDown: ['endpoint', 'State'],
  HeartlineEndpointLagging: ['endpoint', 'Blocks behind'],
  HeartlineEndpointStalled: ['endpoint', 'Time without a new block'],
  HeartlineEndpointForked: ['endpoint', 'Conditions'],
  HeartlineWrongNetwork: ['endpoint', 'Conditions'],
  HeartlineNodeUnhealthy: ['endpoint', 'Conditions'],
  HeartlineNodeCheckFailing: ['endpoint', 'Contiguous failures of its own checks'],
  HeartlineHeartbeatStale: ['endpoint', 'Time without a network message'],
  HeartlineEndpointFlapping: ['endpoint', 'State'],
  HeartlineEndpointSlow: ['endpoint', 'Time of its checks'],
  HeartlineTlsExpiring: ['endpoint', 'Days left of the certificate'],
  HeartlineClockSkew: ['endpoint', 'Clock of the node against ours'],
  HeartlineNetworkDegraded: ['fleet', 'Endpoints that are up'],
  HeartlineNetworkDown: ['fleet', 'State'],
  HeartlineChainHalted: ['network', 'Time without a new block'],
  HeartlineNetworkForked: ['network', 'Branches'],
  HeartlineGatewayErrors: ['gateway', 'Rate by outcome'],
  HeartlineGatewaySlow: ['gateway', 'Duration'],
  HeartlineNoEligibleEndpoint: ['gateway', 'May be chosen'],
  HeartlineAnswerIntegrity: ['gateway', 'Attempts that were no answer'],
  HeartlineAvailabilityBurnFast: ['network', 'Time without a good endpoint'],
  HeartlineAvailabilityBurnSlow: ['network', 'Time without a good endpoint'],
  HeartlineFreshnessBurnFast: ['network', 'Time without a good endpoint'],
  HeartlineFreshnessBurnSlow: ['network', 'Time without a good endpoint'],
  HeartlineAbsent: ['heartline', 'Running for'],
  HeartlineSchedulerStuck: ['heartline', 'The scheduler last looked'],
  HeartlineChecksStale: ['fleet', 'State'],
  HeartlineStoreDegraded: ['heartline', 'Trouble'],
  HeartlineDiskFilling: ['heartline', 'Disk'],
  HeartlineConfigRejected: ['heartline', 'Trouble'],
  HeartlineObserverImpaired: ['heartline', 'Trouble'],
}

/** Grafana wants both or neither. */
export function placeOf(alert: string): { readonly dashboardUid: string; readonly panelId: number } {
  const shown = SHOWN_ON[alert]
  if (shown === undefined) throw new Error(`grafana/shown-on.ts does not say which panel shows ${alert}`)
  const [dashboard, title] = shown
  const panel = dashboards()[dashboard]?.panels?.find((candidate) => candidate.title === title)
  if (panel?.id === undefined || panel.id === null) throw new Error(`${dashboard} has no panel ${title}`)
  return { dashboardUid: DASHBOARDS[dashboard], panelId: panel.id }
}
