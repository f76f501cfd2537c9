import type { Incident } from '../core/incident/incident.ts'
import { incidentView } from './incident-views.ts'
import { notesFor, noteView } from './note-routes.ts'
import { withNotifications } from './notification-routes.ts'
import type { RouteDeps } from './route.ts'
import { silencesView } from './silence-routes.ts'
import type { IncidentView } from './wire-incidents.ts'
import type { Audience } from './wire-status.ts'

export type IncidentDetailsDeps = Pick<RouteDeps, 'notifier' | 'store' | 'silences'>

/** One incident with all that is known about it: its changes, what channels received, its silences and its notes. */
export async function incidentDetails(
  incident: Incident,
  deps: IncidentDetailsDeps,
  audience: Audience,
): Promise<IncidentView> {
  const view = incidentView(incident, audience)
  const [told, silences, notes] = await Promise.all([
    withNotifications([view], deps, audience),
    audience === 'public' ? [] : deps.silences.during(incident),
    notesFor(deps.store, [incident.id], audience),
  ])
  return { ...view, notifications: told[0]?.notifications ?? [], ...silencesView(silences), notes: notes.map(noteView) }
}
