import { CONDITION_CODES } from '../core/verdict/condition.ts'
import * as address from './addresses.ts'
import * as s from './scalars.ts'
import { atLeastOne, endpointNames, list, mapping, networkNames, section } from './schema-parts.ts'

/** The keys of each type of channel, besides those of all types. */
export const CHANNEL_KEYS = {
  webhook: { required: ['url'], optional: ['secret'] },
  alertmanager: { required: ['urls'], optional: [] },
  slack: { required: ['webhook_url'], optional: [] },
  discord: { required: ['webhook_url'], optional: [] },
  teams: { required: ['webhook_url'], optional: [] },
  telegram: { required: ['bot_token', 'chat_id'], optional: ['api_url'] },
  pagerduty: { required: ['routing_key'], optional: ['api_url'] },
  opsgenie: { required: ['api_key'], optional: ['api_url'] },
  ntfy: { required: ['url', 'topic'], optional: ['token'] },
  email: { required: ['smtp', 'from', 'to'], optional: [] },
} as const
export type ChannelTypeName = keyof typeof CHANNEL_KEYS
const CHANNEL_TYPES = Object.keys(CHANNEL_KEYS) as readonly ChannelTypeName[]

/** Addresses of services that can be changed with `api_url`. */
export const SERVICES = {
  telegram: 'https://api.telegram.org',
  pagerduty: 'https://events.pagerduty.com',
  opsgenie: 'https://api.opsgenie.com',
} as const

const channel = mapping('Where messages go.', {
  name: s.name({ description: 'Unique; shown on the page, in logs and metrics.' }),
  type: s.choice(CHANNEL_TYPES, { description: 'The service; each type has its own keys.' }),
  min_state: s
    .choice(['degraded', 'down'] as const, { description: 'An incident is sent once it has this state.' })
    .prefault('degraded'),
  repeat: s
    .duration(
      { description: 'An open incident is sent again after this time; at least 1s.', defaultText: 'never' },
      { min: '1s' },
    )
    .optional(),
  group_wait: s
    .duration(
      { description: 'As `notify.group_wait`.', defaultText: 'value of `notify.group_wait`' },
      { min: '0s', max: '1h' },
    )
    .optional(),
  url: address.nodeUrl({ description: 'webhook, ntfy: where to send.', defaultText: 'none' }).optional(),
  secret: s
    .webhookSecret({
      description: 'webhook: signs messages after the Standard Webhooks specification.',
      defaultText: 'unsigned',
    })
    .optional(),
  urls: atLeastOne('URL', address.nodeUrl({ description: 'An instance.' }), {
    description: 'alertmanager: every instance; each gets every alert.',
    defaultText: 'none',
  }).optional(),
  webhook_url: address
    .nodeUrl({ description: 'slack, discord, teams: the URL of the incoming webhook.', defaultText: 'none' })
    .optional(),
  bot_token: s.token({ description: "telegram: the bot's token.", defaultText: 'none' }).optional(),
  chat_id: s.chatId({ description: 'telegram: the chat.', defaultText: 'none' }).optional(),
  routing_key: s.token({ description: 'pagerduty: the integration key.', defaultText: 'none' }).optional(),
  api_key: s.token({ description: 'opsgenie: the key of an API integration.', defaultText: 'none' }).optional(),
  api_url: address
    .nodeUrl({
      description: 'telegram, pagerduty, opsgenie: another address of the service.',
      defaultText: 'the service',
    })
    .optional(),
  topic: s.topic({ description: 'ntfy: the topic.', defaultText: 'none' }).optional(),
  token: s.token({ description: 'ntfy: an access token.', defaultText: 'none' }).optional(),
  smtp: address
    .smtpUrl({
      description: 'email: `smtp://USER:PASSWORD@HOST:587` (STARTTLS where offered) or `smtps://…:465`.',
      defaultText: 'none',
    })
    .optional(),
  from: address.mailAddress({ description: 'email: the sender.', defaultText: 'none' }).optional(),
  to: atLeastOne('address', address.mailAddress({ description: 'An address.' }), {
    description: 'email: the recipients.',
    defaultText: 'none',
  }).optional(),
  tls: section('Trust in the certificate of the service, or of the mail server.', { ca: s.authorities().optional() }),
})

const route = mapping('Which incidents go to which channels. All given keys must match.', {
  networks: networkNames('Of these networks.'),
  endpoints: endpointNames('Of these endpoints; never a network-wide incident.'),
  providers: atLeastOne('provider', s.name({ description: 'A provider.' }), {
    description: 'Of endpoints with one of these as `provider`; never a network-wide incident.',
    defaultText: 'all',
  }).optional(),
  conditions: atLeastOne('condition', s.choice([...CONDITION_CODES, 'halted'], { description: 'A condition.' }), {
    description: 'With one of these conditions.',
    defaultText: 'all',
  }).optional(),
  states: atLeastOne('state', s.choice(['degraded', 'down'] as const, { description: 'A state.' }), {
    description: 'In one of these states.',
    defaultText: 'all',
  }).optional(),
  gateway: s
    .flag({
      description:
        'Instead of incidents, that the gateway rejects requests because no endpoint of a network is usable; goes with `networks`, `channels`, `continue` and `quiet`.',
    })
    .prefault(false),
  channels: list(s.name({ description: 'A channel.' }), { description: 'The channels; an empty list sends nothing.' }),
  continue: s.flag({ description: 'Whether the routes after this one are tried as well.' }).prefault(false),
  quiet: s
    .quietHours({
      description:
        'Hours such as `22:00-07:00 Europe/Bucharest` in which only ends are sent: nothing opens, changes or repeats; what still holds at their end is sent then.',
      defaultText: 'none',
    })
    .optional(),
  quiet_passes: s
    .choice(['none', 'down'] as const, { description: 'Incidents that are sent in quiet hours too.' })
    .prefault('none'),
})

/** `notify`: channels, routes and the heartbeat. */
export const notify = section('Messages about incidents.', {
  channels: list(channel, { description: 'Where messages go.', defaultText: 'none' }).default([]),
  routes: list(route, {
    description: 'The first one that matches an incident names its channels.',
    defaultText: 'every channel gets everything',
  }).optional(),
  group_wait: s
    .duration(
      {
        description:
          'What opens within this time is one message, `0s`: each by itself; not for pagerduty, opsgenie, alertmanager and email.',
      },
      { min: '0s', max: '1h' },
    )
    .prefault('10s'),
  rate: s.ratePerMinute({ description: 'Maximum number of requests of a channel in a minute.' }).prefault(30),
  heartbeat: mapping('A URL that is requested while polls are on time and reach the store.', {
    url: address.nodeUrl({ description: 'The URL.' }),
    every: s
      .duration({ description: 'Time between two requests; at least 1s.' }, { min: '1s', max: '1d' })
      .prefault('1m'),
  }).optional(),
})
