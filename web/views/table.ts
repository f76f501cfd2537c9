import { view as overview } from './overview/overview.ts'
import type { ViewName } from './route.ts'
import type { View } from './view.ts'

/** Every view, loaded on first use but for the overview, which is the first view of most: it does not load the charts. */
export const LOADERS: Readonly<Record<ViewName, () => Promise<{ readonly view: View }>>> = {
  overview: async () => ({ view: overview }),
  network: () => import('./network/network.ts'),
  endpoint: () => import('./endpoint/endpoint.ts'),
  incidents: () => import('./incidents/incidents.ts'),
  incident: () => import('./incidents/incident.ts'),
  observer: () => import('./observer/observer.ts'),
  gateway: () => import('./gateway/gateway.ts'),
  notifications: () => import('./notifications.ts'),
  'sign-in': () => import('./sign-in.ts'),
  runbook: () => import('./runbook.ts'),
}
