import { view as overview } from './overview.ts'
import type { ViewName } from './route.ts'
import type { View } from './view.ts'

/** Every view, loaded on first use but for the overview, which is the first view of most: it does not load the charts. */
export const LOADERS: Readonly<Record<ViewName, () => Promise<{ readonly view: View }>>> = {
  overview: async () => ({ view: overview }),
  network: () => import('./network.ts'),
  endpoint: () => import('./endpoint.ts'),
  incidents: () => import('./incidents.ts'),
  incident: () => import('./incident.ts'),
  observer: () => import('./observer.ts'),
  gateway: () => import('./gateway.ts'),
  notifications: () => import('./notifications.ts'),
  'sign-in': () => import('./sign-in.ts'),
  runbook: () => import('./runbook.ts'),
}
