import type { IncidentListView } from '../../src/http/views.ts'
import { moment, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { incidentPath, type Route } from './route.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { incidentSentence, titleOf, WORDS } from './words.ts'

/** What went wrong, the newest first. */
export const view = defineView<IncidentListView>({
  title: () => `${WORDS.places.incidents} · Heartline`,
  load,
  draw,
  refreshMs: 30_000,
  hasStyle: false,
})

function load(sources: Sources, { query }: Route): Promise<Answer<IncidentListView>> {
  return sources.incidents(query.cursor === undefined ? {} : { cursor: query.cursor })
}

function draw({ data, status, settings }: Model<IncidentListView>): TemplateResult {
  return html`
    <header class="subject"><h1 tabindex="-1">${WORDS.places.incidents}</h1></header>
    <ul class="plain">
      ${data.incidents.map((incident) => {
        const { id, network, endpoint, state, opened_at: openedAt } = incident
        const who = status === null ? network : titleOf(status, network, endpoint === null ? null : [endpoint])
        return html`<li>
          ${mark(state)} <a href=${incidentPath(id)}>${who}</a> ${unbroken(incidentSentence(incident))}
          <time datetime=${openedAt}>${moment(openedAt, settings.zone)}</time>
        </li>`
      })}
    </ul>
    ${data.next_cursor === null ? nothing : html`<p><a href="/incidents?cursor=${data.next_cursor}">${WORDS.older}</a></p>`}
  `
}
