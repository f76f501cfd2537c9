import type { NotifyRoute } from '../config/resolve-notify.ts'
import { endpointsOf, type Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import { currentState } from './notification.ts'

/** The channels that are to hear of an incident now: those of the first route that matches, unless it continues. */
export function channelsFor(
  incident: Incident,
  { routes, channels, now }: { routes: readonly NotifyRoute[] | null; channels: readonly string[]; now: UnixMs },
): ReadonlySet<string> {
  if (routes === null) return new Set(channels)
  const chosen = new Set<string>()
  for (const route of routes) {
    if (!matches(route, incident)) continue
    if (!isHushed(route, incident, now)) for (const name of route.channels) chosen.add(name)
    if (!route.continues) break
  }
  return chosen
}

function matches({ networks, endpoints, conditions, states }: NotifyRoute, incident: Incident): boolean {
  const codes = incident.conditions.filter(({ until }) => until === null).map(({ code }) => code)
  return (
    (networks === null || networks.includes(incident.network)) &&
    (endpoints === null || endpointsOf(incident).some((name) => endpoints.includes(name))) &&
    (conditions === null || codes.some((code) => conditions.includes(code))) &&
    (states === null || states.some((state) => state === currentState(incident)))
  )
}

function isHushed({ quiet, quietPasses }: NotifyRoute, incident: Incident, now: UnixMs): boolean {
  if (quiet === null || (quietPasses === 'down' && currentState(incident) === 'down')) return false
  const { fromMinute, untilMinute, timeZone } = quiet
  const minute = minuteOfDay(now, timeZone)
  return fromMinute < untilMinute
    ? minute >= fromMinute && minute < untilMinute
    : minute >= fromMinute || minute < untilMinute
}

function minuteOfDay(at: UnixMs, timeZone: string): number {
  const format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
  const [hours = '0', minutes = '0'] = format.format(at).split(':')
  return 60 * Number(hours) + Number(minutes)
}
