import type { Dashboard } from '@grafana/grafana-foundation-sdk/dashboard'
import { dashboardOf } from './board.ts'
import { CLUSTER } from './cluster.ts'
import { ENDPOINT } from './endpoint.ts'
import { FLEET } from './fleet.ts'
import { GATEWAY } from './gateway.ts'
import { HEARTLINE } from './heartline.ts'
import { NETWORK } from './network.ts'

/** Every dashboard, by file name. */
export function dashboards(): Readonly<Record<string, Dashboard>> {
  return Object.fromEntries(
    [FLEET, NETWORK, ENDPOINT, GATEWAY, HEARTLINE, CLUSTER].map((board) => [board.name, dashboardOf(board)]),
  )
}
