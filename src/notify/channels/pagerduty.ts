import { time } from '../../core/time.ts'
import { type ChannelType, jsonPost } from '../channel.ts'
import { cut, linesOf, linksOf, type Said } from '../wording.ts'

/** Limits of the Events API v2. */
const MAX_SUMMARY = 1024
const MAX_KEY = 255
const MAX_DETAIL = 10_000
const EVENTS_PATH = '/v2/enqueue'

/** Events API v2: one alert for each incident, told apart by `dedup_key`. */
export const pagerduty: ChannelType<'pagerduty'> = {
  groups: false,
  render(said, { apiUrl, routingKey }) {
    const [item] = said.items
    const { network = 'heartline', endpoint = null, cause = null } = item?.report ?? {}
    const links = linksOf(said).map(({ name, url }) => ({ href: url, text: name }))
    const payload = {
      summary: cut(said.text, MAX_SUMMARY),
      source: endpoint === null ? network : `${network}/${endpoint}`,
      severity: SEVERITIES[said.severity],
      timestamp: time(item?.report.openedAt ?? said.sentAt),
      ...(endpoint === null ? {} : { component: endpoint }),
      group: network,
      ...(cause === null ? {} : { class: item?.code ?? cause }),
      custom_details: { details: cut(linesOf(said).join('\n'), MAX_DETAIL) },
    }
    const event = {
      routing_key: routingKey.reveal(),
      event_action: said.isOver ? 'resolve' : 'trigger',
      dedup_key: cut(said.subject, MAX_KEY),
      ...(said.isOver ? {} : { payload, client: 'Heartline', links }),
    }
    // Alertmanager's setting for the same service is the whole address.
    const path = apiUrl.reveal().endsWith(EVENTS_PATH) ? '/' : EVENTS_PATH
    return [jsonPost(apiUrl, event, { path, secrets: [routingKey] })]
  },
}

const SEVERITIES: Readonly<Record<Said['severity'], string>> = {
  critical: 'critical',
  warning: 'warning',
  ok: 'info',
  info: 'info',
}
