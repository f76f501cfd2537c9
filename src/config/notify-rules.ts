import { locationOf } from '../core/host-location.ts'
import { CHANNEL_KEYS } from './notify-schema.ts'
import type { Path } from './problem.ts'
import { type Report, uniqueBy, unknownNames } from './rule-report.ts'
import type { Draft } from './salvage.ts'
import type { ConfigFile } from './schema.ts'

type NotifyDraft = NonNullable<Draft<ConfigFile>['notify']>
type ChannelDraft = NonNullable<NonNullable<NotifyDraft['channels']>[number]>
type RouteDraft = NonNullable<NonNullable<NotifyDraft['routes']>[number]>

/** Checks that each channel has the keys of its type, and that routes name what exists. */
export function notifyRules({ notify, networks = [], gateway }: Draft<ConfigFile>, report: Report): void {
  const { channels = [], routes = [], heartbeat } = notify ?? {}
  uniqueBy('name', channels, ['notify', 'channels'], report)
  channels.forEach((channel, at) => {
    if (channel !== undefined) channelRules(channel, ['notify', 'channels', at], report)
  })
  const names = new Set(channels.map((channel) => channel?.name))
  routes.forEach((route, at) => {
    if (route === undefined) return
    routeRules(route, { networks, names }, ['notify', 'routes', at], report)
    if (route.gateway === true) gatewayRules(route, gateway?.enabled, ['notify', 'routes', at], report)
  })
  warnOfPlainText(heartbeat?.url, ['notify', 'heartbeat', 'url'], report)
}

/** Every key that belongs to some types of channels only. */
const OWN_KEYS = [
  ...new Set(Object.values(CHANNEL_KEYS).flatMap(({ required, optional }) => [...required, ...optional])),
]

function channelRules(channel: ChannelDraft, path: Path, report: Report): void {
  const { type } = channel
  if (type === undefined) return
  const required: readonly string[] = CHANNEL_KEYS[type].required
  const optional: readonly string[] = CHANNEL_KEYS[type].optional
  for (const key of OWN_KEYS) {
    const isGiven = channel[key] !== undefined || report.isWrong([...path, key])
    if (required.includes(key) && !isGiven) report.complain([...path, key], `required for ${type}`)
    if (!required.includes(key) && !optional.includes(key) && isGiven) {
      report.complain([...path, key], `${type} has no such key`)
    }
  }
  for (const key of ['url', 'webhook_url', 'api_url'] as const) warnOfPlainText(channel[key], [...path, key], report)
  channel.urls?.forEach((url, at) => warnOfPlainText(url, [...path, 'urls', at], report))
  if (type === 'webhook' && channel.secret === undefined && !report.isWrong([...path, 'secret'])) {
    report.warn(
      [...path, 'secret'],
      'is missing: messages are not signed, so that a receiver cannot tell who sent them',
    )
  }
}

function routeRules(
  route: RouteDraft,
  { networks, names }: { networks: NonNullable<Draft<ConfigFile>['networks']>; names: ReadonlySet<string | undefined> },
  path: Path,
  report: Report,
): void {
  route.channels?.forEach((name, at) => {
    if (name !== undefined && !names.has(name)) report.complain([...path, 'channels', at], 'no channel has this name')
  })
  unknownNames(route, networks, path, report)
  const providers = new Set(networks.flatMap((network) => network?.endpoints?.map((one) => one?.provider) ?? []))
  route.providers?.forEach((name, at) => {
    if (name !== undefined && !providers.has(name)) {
      report.complain([...path, 'providers', at], 'no endpoint has this provider')
    }
  })
}

/** Only incidents have endpoints and conditions. */
function gatewayRules(route: RouteDraft, isEnabled: boolean | undefined, path: Path, report: Report): void {
  if (isEnabled === false) report.warn([...path, 'gateway'], 'has no effect until gateway.enabled is true')
  for (const key of ['endpoints', 'providers', 'conditions', 'states'] as const) {
    if (route[key] !== undefined) report.complain([...path, key], 'is not possible together with `gateway: true`')
  }
}

function warnOfPlainText(url: { reveal(): string } | undefined, path: Path, { warn }: Report): void {
  if (url === undefined) return
  const { protocol, hostname } = new URL(url.reveal())
  if (protocol !== 'http:' || locationOf(hostname).zone === 'loopback') return
  warn(path, 'is not https: messages and keys cross the network unencrypted')
}
