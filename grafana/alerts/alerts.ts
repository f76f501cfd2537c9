import { type Pace, REAL_TIME } from '../pace.ts'
import type { Alert } from './alert.ts'
import { burnAlerts } from './burn-alerts.ts'
import { clusterAlerts } from './cluster-alerts.ts'
import { endpointAlerts } from './endpoint-alerts.ts'
import { gatewayAlerts } from './gateway-alerts.ts'
import { heartlineAlerts } from './heartline-alerts.ts'
import { networkAlerts } from './network-alerts.ts'

/** Every alert. */
export function alertGroups(pace: Pace = REAL_TIME): readonly AlertGroup[] {
  const keepFiringFor = pace.hold(RESTART_SECONDS)
  return [
    { name: 'heartline-endpoints', alerts: endpointAlerts(pace), keepFiringFor },
    { name: 'heartline-networks', alerts: networkAlerts(pace), keepFiringFor },
    { name: 'heartline-gateway', alerts: gatewayAlerts(pace), keepFiringFor },
    { name: 'heartline-objectives', alerts: burnAlerts(pace), keepFiringFor },
    { name: 'heartline-itself', alerts: heartlineAlerts(pace), keepFiringFor: null },
    { name: 'heartline-cluster', alerts: clusterAlerts(pace), keepFiringFor },
  ]
}

/** Alerts that are evaluated together. */
export interface AlertGroup {
  readonly name: string
  readonly alerts: readonly Alert[]
  /** How long an alert outlasts its series, such as `2m`; `null` if a restart of Heartline should resolve it. */
  readonly keepFiringFor: string | null
}

/** A restart, and the first poll of every endpoint after it: until then states are unknown. Longer than a short impairment. */
const RESTART_SECONDS = 120
