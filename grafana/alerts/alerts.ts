import { type Pace, REAL_TIME } from '../pace.ts'
import type { Alert } from './alert.ts'
import { burnAlerts } from './burn-alerts.ts'
import { endpointAlerts } from './endpoint-alerts.ts'
import { gatewayAlerts } from './gateway-alerts.ts'
import { heartlineAlerts } from './heartline-alerts.ts'
import { networkAlerts } from './network-alerts.ts'

/** Every alert. */
export function alertGroups(pace: Pace = REAL_TIME): readonly AlertGroup[] {
  return [
    { name: 'heartline-endpoints', alerts: endpointAlerts(pace) },
    { name: 'heartline-networks', alerts: networkAlerts(pace) },
    { name: 'heartline-gateway', alerts: gatewayAlerts(pace) },
    { name: 'heartline-objectives', alerts: burnAlerts(pace) },
    { name: 'heartline-itself', alerts: heartlineAlerts(pace) },
  ]
}

/** Alerts that are evaluated together. */
export interface AlertGroup {
  readonly name: string
  readonly alerts: readonly Alert[]
}
