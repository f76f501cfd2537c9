import type { NotifyRoute } from '../config/resolve-notify.ts'
import { endpointsOf, type Incident } from '../core/incident/incident.ts'
import type { UnixMs } from '../core/time.ts'
import type { Verdict } from '../core/verdict/condition.ts'
import { currentState } from './notification.ts'

/** The channels that are to hear of an incident now: those of the first route that matches, unless it continues. */
export function channelsFor(incident: Incident, { routes, channels, now, providerOf }: Routing): ReadonlySet<string> {
  // Routes of the gateway alone take no incident from any channel.
  if (routes === null || (routes.length > 0 && routes.every(({ gateway }) => gateway))) return new Set(channels)
  const state = currentState(incident)
  return chosenOf(routes, now, state, (route) => !route.gateway && matches(route, incident, providerOf))
}

/** The channels that are to hear that the gateway has no endpoint for a network: only where a route asks for it. */
export function gatewayChannelsFor(
  network: string,
  { routes, now }: Pick<Routing, 'routes' | 'now'>,
): ReadonlySet<string> {
  const isAsked = ({ gateway, networks }: NotifyRoute) => gateway && (networks === null || networks.includes(network))
  return chosenOf(routes ?? [], now, 'down', isAsked)
}

function chosenOf(
  routes: readonly NotifyRoute[],
  now: UnixMs,
  state: Verdict,
  isMatch: (route: NotifyRoute) => boolean,
): ReadonlySet<string> {
  const chosen = new Set<string>()
  for (const route of routes) {
    if (!isMatch(route)) continue
    if (!isHushed(route, state, now)) for (const name of route.channels) chosen.add(name)
    if (!route.continues) break
  }
  return chosen
}

export interface Routing {
  /** `null`: every channel hears of everything. */
  readonly routes: readonly NotifyRoute[] | null
  readonly channels: readonly string[]
  readonly now: UnixMs
  /** The configured provider of an endpoint, if any. */
  readonly providerOf: (network: string, endpoint: string) => string | null
}

function matches(
  { networks, endpoints, providers, conditions, states }: NotifyRoute,
  incident: Incident,
  providerOf: Routing['providerOf'],
): boolean {
  const codes = incident.conditions.filter(({ until }) => until === null).map(({ code }) => code)
  return (
    (networks === null || networks.includes(incident.network)) &&
    (endpoints === null || endpointsOf(incident).some((name) => endpoints.includes(name))) &&
    (providers === null ||
      endpointsOf(incident).some((name) => providers.includes(providerOf(incident.network, name) ?? ''))) &&
    (conditions === null || codes.some((code) => conditions.includes(code))) &&
    (states === null || states.some((state) => state === currentState(incident)))
  )
}

function isHushed({ quiet, quietPasses }: NotifyRoute, state: Verdict, now: UnixMs): boolean {
  if (quiet === null || (quietPasses === 'down' && state === 'down')) return false
  const { fromMinute, untilMinute, timeZone } = quiet
  const minute = minuteOfDay(now, timeZone)
  return fromMinute < untilMinute
    ? minute >= fromMinute && minute < untilMinute
    : minute >= fromMinute || minute < untilMinute
}

/** By time zone: making one takes longer than all else here. */
const formats = new Map<string, Intl.DateTimeFormat>()

function minuteOfDay(at: UnixMs, timeZone: string): number {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
    formats.set(timeZone, format)
  }
  const [hours = '0', minutes = '0'] = format.format(at).split(':')
  return 60 * Number(hours) + Number(minutes)
}
