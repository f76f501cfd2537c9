import type { IncidentNotificationView } from '../../src/http/wire-notifications.ts'
import { moment, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { NOTIFICATION_WORDS } from './words-notifications.ts'

/** Which channel received what about an incident; nothing where the page may not know it, or no channel received any. */
export function incidentNotifications(
  told: readonly IncidentNotificationView[],
  zone: Zone,
): TemplateResult | typeof nothing {
  if (told.length === 0) return nothing
  return html`
    <section class="card" aria-labelledby="told">
      <h2 id="told">${NOTIFICATION_WORDS.told}</h2>
      <ul class="plain">
        ${told.map(
          ({ channel, type, sent_at: at, result }) => html`<li>
            ${channel}: ${NOTIFICATION_WORDS.types[type]},
            ${result === null ? NOTIFICATION_WORDS.pending : NOTIFICATION_WORDS.results[result]}
            ${at === null ? nothing : html`<time datetime=${at}>${moment(at, zone)}</time>`}
          </li>`,
        )}
      </ul>
    </section>
  `
}
