import type { IncidentView } from '../../src/http/views.ts'
import { moment, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import type { Route } from './route.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { incidentSentence, titleOf, WORDS } from './words.ts'

/** One incident, from its first bad poll on. */
export const view = defineView<IncidentView>({
  title: (model) => `${who(model)} · Heartline`,
  load: (sources: Sources, { params }: Route): Promise<Answer<IncidentView>> => sources.incident(params.id ?? ''),
  draw,
  refreshMs: 30_000,
  hasStyle: false,
})

function who({ data: { network, endpoint }, status }: Model<IncidentView>): string {
  return status === null ? network : titleOf(status, network, endpoint === null ? null : [endpoint])
}

function draw(model: Model<IncidentView>): TemplateResult {
  const { data: incident, settings } = model
  const { opened_at: openedAt, closed_at: closedAt } = incident
  return html`
    <header class="subject">
      <h1 tabindex="-1">${mark(incident.state)}${who(model)}</h1>
      <p>${unbroken(incidentSentence(incident))}</p>
    </header>
    <p>
      <time datetime=${openedAt}>${moment(openedAt, settings.zone)}</time>
      ${closedAt === null ? nothing : html` – <time datetime=${closedAt}>${moment(closedAt, settings.zone)}</time>`}
    </p>
    <p><a href="/api/v1/incidents/${encodeURIComponent(incident.id)}.txt">${WORDS.asText}</a></p>
  `
}
