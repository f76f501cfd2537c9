import { Webhook } from 'standardwebhooks'
import { time } from '../../core/time.ts'
import { Secret } from '../../secret.ts'
import type { ChannelType } from '../channel.ts'
import { incidentShape } from '../incident-shape.ts'
import { plain, type Said, type SaidItem } from '../wording.ts'

/** JSON, signed after the Standard Webhooks specification. */
export const webhook: ChannelType<'webhook'> = {
  groups: true,
  render(said, { url, secret }) {
    const body = JSON.stringify(bodyOf(said))
    const timestamp = new Date(said.sentAt)
    const headers: Record<string, Secret> = {
      'webhook-id': new Secret(said.id),
      'webhook-timestamp': new Secret(String(Math.floor(timestamp.getTime() / 1000))),
    }
    if (secret !== null) {
      headers['webhook-signature'] = new Secret(new Webhook(secret.reveal()).sign(said.id, timestamp, body))
    }
    return [{ url, headers, body }]
  },
}

/** `timestamp` is that of the event, also in later attempts: https://github.com/standard-webhooks/standard-webhooks */
function bodyOf({ type, createdAt, text, items }: Said): object {
  return { type, timestamp: time(createdAt), data: { incidents: items.map(incidentOf), text } }
}

/** An incident as in the API, with its links. */
function incidentOf({ report, url, runbookUrl }: SaidItem): object {
  return { ...incidentShape(report, ({ message }) => plain(message)), url, runbook_url: runbookUrl }
}
