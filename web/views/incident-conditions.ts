import type { IncidentSummaryView } from '../../src/http/views.ts'
import { clockOf } from './calendar.ts'
import { duration, unbroken, type Zone } from './format.ts'
import { html, type TemplateResult } from './lit.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

const WIDTH = 1000
const LEAST = 6

/** Every reason that it had, and when in its time each held. */
export function incidentConditions(
  { conditions, opened_at: openedAt, closed_at: closedAt }: IncidentSummaryView,
  zone: Zone,
  nowMs: number,
): TemplateResult {
  const fromMs = Date.parse(openedAt)
  const toMs = Math.max(fromMs + 1, closedAt === null ? nowMs : Date.parse(closedAt))
  const place = (ms: number) => Math.round(WIDTH * Math.min(1, Math.max(0, (ms - fromMs) / (toMs - fromMs))) * 10) / 10
  return html`
    <ul class="reasons">
      ${conditions.map(({ code, state, message, since, until }) => {
        const [sinceMs, untilMs] = [Date.parse(since), until === null ? toMs : Date.parse(until)]
        const x = Math.min(WIDTH - LEAST, place(sinceMs))
        const held = duration(Math.round(Math.max(0, untilMs - sinceMs) / 1000))
        return html`<li class=${state}>
          <p><span class="code">${code}</span> ${unbroken(message)}</p>
          <svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true" focusable="false">
            <rect class="ground" y="2" width="1000" height="4" />
            <rect class=${state} x=${x} width=${Math.max(LEAST, place(untilMs) - x)} height="8" />
          </svg>
          <p class="quiet">
            ${state === 'up' ? INCIDENT_WORDS.noChange : state}, <time datetime=${since}>${clockOf(sinceMs, zone)}</time> –
            ${until === null ? INCIDENT_WORDS.holds : html`<time datetime=${until}>${clockOf(untilMs, zone)}</time>`}, ${held}
          </p>
        </li>`
      })}
    </ul>
  `
}
