import type { ChannelSettings, ChannelTarget } from '../config/resolve-notify.ts'
import type { ChannelType, HttpRequest, Mail } from './channel.ts'
import { alertmanager } from './channels/alertmanager.ts'
import { discord } from './channels/discord.ts'
import { email } from './channels/email.ts'
import { ntfy } from './channels/ntfy.ts'
import { opsgenie } from './channels/opsgenie.ts'
import { pagerduty } from './channels/pagerduty.ts'
import { slack } from './channels/slack.ts'
import { teams } from './channels/teams.ts'
import { telegram } from './channels/telegram.ts'
import { webhook } from './channels/webhook.ts'
import type { Said } from './wording.ts'

/** Every type of channel. */
const CHANNEL_TYPES: { readonly [Name in ChannelTarget['type']]: ChannelType<Name> } = {
  alertmanager,
  discord,
  email,
  ntfy,
  opsgenie,
  pagerduty,
  slack,
  teams,
  telegram,
  webhook,
}

/** A configured channel, ready to render. */
export interface Channel {
  readonly settings: ChannelSettings
  readonly groups: boolean
  render(said: Said): readonly HttpRequest[] | Mail
  /** `null` for receivers that do not forget. */
  readonly keepAlive: { readonly everyMs: number; render(open: readonly Said[]): readonly HttpRequest[] } | null
}

export function channelOf(settings: ChannelSettings): Channel {
  const { target } = settings
  // The table's rows and the union of targets have the same keys, which the compiler cannot follow here.
  const type = CHANNEL_TYPES[target.type] as ChannelType
  const { keepAlive } = type
  return {
    settings,
    groups: type.groups,
    render: (said) => type.render(said, target),
    keepAlive:
      keepAlive === undefined ? null : { everyMs: keepAlive.everyMs, render: (open) => keepAlive.render(open, target) },
  }
}
