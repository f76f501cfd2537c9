import { Webhook } from 'standardwebhooks'
import { ALONE } from '../../core/cluster/vote.ts'
import { lastedMs } from '../../core/incident/bad-time.ts'
import { scopeOf } from '../../core/incident/incident.ts'
import { seconds } from '../../core/time.ts'
import { Secret } from '../../secret.ts'
import type { ChannelType } from '../channel.ts'
import { plain, type Said, type SaidItem } from '../wording.ts'

export interface WebhookSettings {
  readonly url: Secret
  /** `null`: messages are not signed. */
  readonly secret: Secret | null
}

/** JSON, signed after the Standard Webhooks specification. */
export const webhook: ChannelType<WebhookSettings> = {
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
    return [{ kind: 'http', url, headers, body }]
  },
}

/** `timestamp` is that of the event, also in later attempts: https://github.com/standard-webhooks/standard-webhooks */
function bodyOf({ type, createdAt, text, items }: Said): object {
  return { type, timestamp: time(createdAt), data: { incidents: items.map(incidentOf), text } }
}

/** The shape of an incident in the API, with its links. */
function incidentOf({ report, url, runbookUrl }: SaidItem): object {
  const { openedAt, plannedUntil = null, closedAt } = report
  return {
    id: report.id,
    network: report.network,
    endpoint: report.endpoint,
    cause: report.cause,
    scope: scopeOf(report),
    provider: report.provider,
    state: report.state,
    conditions: report.conditions.map(({ code, state, message, since, until }) => ({
      code,
      state,
      message: plain(message),
      since: time(since),
      until: until === null ? null : time(until),
    })),
    opened_at: time(openedAt),
    planned_until: plannedUntil === null ? null : time(plannedUntil),
    confirmed_at: time(report.confirmedAt),
    closed_at: closedAt === null ? null : time(closedAt),
    duration_seconds: closedAt === null ? null : seconds(lastedMs(report, closedAt)),
    flapping: report.flapping,
    flaps: report.flaps,
    affected: report.affected,
    vantages: report.vantages ?? [ALONE],
    absorbed_by: report.absorbedBy,
    url,
    runbook_url: runbookUrl,
  }
}

function time(at: number): string {
  return new Date(at).toISOString()
}
