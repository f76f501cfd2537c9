/** The uids by which Grafana files refer to each other. */
export const DATA_SOURCE_UID = 'heartline-prometheus'

export const DASHBOARDS = {
  fleet: 'heartline-fleet',
  network: 'heartline-network',
  endpoint: 'heartline-endpoint',
  gateway: 'heartline-gateway',
  heartline: 'heartline-itself',
  cluster: 'heartline-cluster',
} as const
export type DashboardName = keyof typeof DASHBOARDS
