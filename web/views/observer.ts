import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { defineView, type Model, nothingMore } from './view.ts'
import { WORDS } from './words.ts'

/** Heartline's own health, so that a gap explains itself. */
export const view = defineView<null>({
  title: () => `${WORDS.places.observer} · Heartline`,
  load: nothingMore,
  draw,
  refreshMs: null,
  hasStyle: false,
})

function draw({ status }: Model<null>): TemplateResult {
  if (status === null) return html`<h1 tabindex="-1">${WORDS.places.observer}</h1>`
  const { impaired, reasons } = status.observer
  return html`
    <header class="subject">
      <h1 tabindex="-1">${mark(impaired ? 'degraded' : 'up')}${WORDS.places.observer}</h1>
      <p>${impaired ? WORDS.impaired : reasons.length > 0 ? WORDS.ownTrouble : WORDS.observerWell}</p>
    </header>
    ${reasons.length === 0 ? nothing : html`<ul class="plain">${reasons.map((reason) => html`<li>${reason}</li>`)}</ul>`}
  `
}
