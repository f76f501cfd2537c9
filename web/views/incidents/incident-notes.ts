import type { IncidentView, NoteView } from '../../../src/http/wire/incidents.ts'
import type { Zone } from '../format.ts'
import { html, nothing, repeat, type TemplateResult } from '../lit.ts'
import type { Access } from '../view.ts'
import { exactTime } from '../when.ts'
import { INCIDENT_WORDS } from './words-incidents.ts'

/** What people wrote about an incident, and the form to write more; nothing where there is neither. */
export function incidentNotes(
  { id, notes }: Pick<IncidentView, 'id' | 'notes'>,
  access: Access,
  zone: Zone,
): TemplateResult | typeof nothing {
  const canWrite = access === 'open' || access === 'signed-in'
  if (notes.length === 0 && !canWrite) return nothing
  return html`
    <section class="card" aria-labelledby="notes">
      <h2 id="notes">${INCIDENT_WORDS.notes}</h2>
      ${notes.length === 0 ? html`<p class="quiet">${INCIDENT_WORDS.noNotes}</p>` : html`<ul class="plain notes">${notes.map((note) => item(note, canWrite, zone))}</ul>`}
      ${canWrite ? repeat([id], (incident) => incident, form) : nothing}
    </section>
  `
}

function item({ at, public: isPublic, text }: NoteView, canWrite: boolean, zone: Zone): TemplateResult {
  return html`<li>
    <p class="words">${text}</p>
    <small>${exactTime(at, zone)}${canWrite && isPublic ? `, ${INCIDENT_WORDS.publicNote}` : ''}</small>
  </li>`
}

/** A new one for each incident, so that a half-written note never goes to another one. */
function form(incident: string): TemplateResult {
  return html`
    <form class="fields" data-act="write" data-path="/api/v1/incidents/${encodeURIComponent(incident)}/notes" data-done=${INCIDENT_WORDS.noted}>
      <label for="note">${INCIDENT_WORDS.newNote}</label>
      <textarea id="note" name="text" rows="3" maxlength="2000" required></textarea>
      <label class="check"><input id="note-public" name="public" type="checkbox" /> ${INCIDENT_WORDS.forPublic}</label>
      <button type="submit">${INCIDENT_WORDS.addNote}</button>
      <p role="alert"></p>
      <p role="status"></p>
    </form>
    <noscript><p>${INCIDENT_WORDS.notesNeedScript}</p></noscript>
  `
}
