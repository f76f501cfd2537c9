import type { IncidentView } from '../../../src/http/wire/incidents.ts'
import type { Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { pastSilences } from '../silences.ts'
import { exactTime } from '../when.ts'
import { NOTIFICATION_WORDS } from '../words-notifications.ts'
import { SILENCE_WORDS } from '../words-silences.ts'

/** Which channel received what about an incident, and its silences; nothing where the page may not know it, or there is none. */
export function incidentNotifications(
  { notifications: told = [], silences, network, endpoint, closed_at: closedAt }: IncidentView,
  zone: Zone,
): TemplateResult | typeof nothing {
  if (told.length === 0 && silences.length === 0) return nothing
  return html`
    <section class="card" aria-labelledby="told">
      <h2 id="told">${NOTIFICATION_WORDS.told}</h2>
      <ul class="plain">
        ${told.map(
          ({ channel, type, sent_at: at, result }) => html`<li>
            ${channel}: ${NOTIFICATION_WORDS.types[type]},
            ${result === null ? NOTIFICATION_WORDS.pending : NOTIFICATION_WORDS.results[result]}
            ${at === null ? nothing : exactTime(at, zone)}
          </li>`,
        )}
      </ul>
      ${pastSilences(silences, zone)}
      ${closedAt === null ? html`<p><a href="/notifications?silence=${endpoint === null ? network : `${network}/${endpoint}`}">${SILENCE_WORDS.begin}</a></p>` : nothing}
    </section>
  `
}
