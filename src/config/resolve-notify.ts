import { Secret } from '../secret.ts'
import { SERVICES } from './notify-schema.ts'
import type { ConfigFile } from './schema.ts'

/** What the notifier needs of the file; every key of a route that is not `null` must match. */
export function notifySettings(
  { channels, routes, group_wait: groupWait, rate, heartbeat }: ConfigFile['notify'],
  textOf: (file: string) => string,
) {
  return {
    channels: channels.map((channel) => ({
      name: channel.name,
      minState: channel.min_state,
      /** `null`: an open incident is not repeated. */
      repeatMs: channel.repeat ?? null,
      groupWaitMs: channel.group_wait ?? groupWait,
      /** PEM; `null` for the system's certificate authorities. */
      ca: channel.tls.ca === undefined ? null : textOf(channel.tls.ca),
      target: channelTarget(channel),
    })),
    /** `null`: every channel gets everything. */
    routes:
      routes?.map((route) => ({
        networks: route.networks ?? null,
        endpoints: route.endpoints ?? null,
        providers: route.providers ?? null,
        conditions: route.conditions ?? null,
        states: route.states ?? null,
        /** It is about requests that the gateway rejects, instead of incidents. */
        gateway: route.gateway,
        channels: route.channels,
        continues: route.continue,
        quiet: route.quiet ?? null,
        quietPasses: route.quiet_passes,
      })) ?? null,
    ratePerMinute: rate,
    heartbeat: heartbeat === undefined ? null : { url: heartbeat.url, everyMs: heartbeat.every },
  }
}

export type NotifySettings = ReturnType<typeof notifySettings>
export type ChannelSettings = NotifySettings['channels'][number]
export type ChannelTarget = ChannelSettings['target']
export type NotifyRoute = NonNullable<NotifySettings['routes']>[number]

/** The rules have checked that a channel has the keys of its type. */
function channelTarget(channel: ConfigFile['notify']['channels'][number]) {
  const { type } = channel
  switch (type) {
    case 'webhook':
      // Without a secret, messages are not signed.
      return { type, url: present(channel.url), secret: channel.secret ?? null }
    case 'alertmanager':
      return { type, urls: present(channel.urls) }
    case 'slack':
    case 'discord':
    case 'teams':
      return { type, webhookUrl: present(channel.webhook_url) }
    case 'telegram':
      return {
        type,
        apiUrl: apiUrl(channel, type),
        botToken: present(channel.bot_token),
        chatId: present(channel.chat_id),
      }
    case 'pagerduty':
      return { type, apiUrl: apiUrl(channel, type), routingKey: present(channel.routing_key) }
    case 'opsgenie':
      return { type, apiUrl: apiUrl(channel, type), apiKey: present(channel.api_key) }
    case 'ntfy':
      // Without a token, everybody may write to the topic.
      return { type, url: present(channel.url), topic: present(channel.topic), token: channel.token ?? null }
    case 'email':
      return { type, smtp: present(channel.smtp), from: present(channel.from), to: present(channel.to) }
  }
}

function apiUrl({ api_url: given }: { api_url?: Secret | undefined }, type: keyof typeof SERVICES): Secret {
  return given ?? new Secret(SERVICES[type])
}

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a key that the rules require is missing')
  return value
}
