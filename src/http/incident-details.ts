import type { Incident } from '../core/incident/incident.ts'
import { incidentView } from './incident-views.ts'
import { withNotifications } from './notification-routes.ts'
import type { RouteDeps } from './route.ts'
import { silencesView } from './silence-routes.ts'
import type { IncidentView } from './wire-incidents.ts'
import type { Audience } from './wire-status.ts'

export type IncidentDetailsDeps = Pick<RouteDeps, 'notifier' | 'store' | 'silences'>

/** One incident with all that is known about it: its changes, what channels received, and its silences. */
export async function incidentDetails(
  incident: Incident,
  deps: IncidentDetailsDeps,
  audience: Audience,
): Promise<IncidentView> {
  const view = incidentView(incident, audience)
  const [told, silences] = await Promise.all([
    withNotifications([view], deps, audience),
    audience === 'public' ? [] : deps.silences.during(incident),
  ])
  return { ...view, notifications: told[0]?.notifications ?? [], ...silencesView(silences) }
}
