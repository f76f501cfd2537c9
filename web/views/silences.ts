import type { SilenceView } from '../../src/http/wire/silences.ts'
import type { Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { exactTime } from './when.ts'
import { SILENCE_WORDS } from './words-silences.ts'

/** That no messages are sent about what a page shows; nothing if they are. */
export function silenceNotes(
  silences: readonly SilenceView[],
  { network, endpoint = null }: { readonly network: string; readonly endpoint?: string | null },
  zone: Zone,
): readonly TemplateResult[] {
  return silences
    .filter((of) => of.network === network && (endpoint === null || of.endpoint === null || of.endpoint === endpoint))
    .map(
      (of) => html`<p class="announcement" role="note">
        ${endpoint === null && of.endpoint !== null ? `${of.endpoint}: ` : ''}${SILENCE_WORDS.silencedUntil}
        ${exactTime(of.until, zone)}: ${of.reason} <a href="/notifications">${SILENCE_WORDS.all}</a>
      </p>`,
    )
}

/** The silences that held during an incident. */
export function pastSilences(silences: readonly SilenceView[], zone: Zone): TemplateResult | typeof nothing {
  if (silences.length === 0) return nothing
  return html`<ul class="plain">
    ${silences.map(
      ({ endpoint, reason, from, until }) => html`<li>
        ${SILENCE_WORDS.during}, ${endpoint ?? SILENCE_WORDS.wholeNetwork}: ${exactTime(from, zone)} ${SILENCE_WORDS.to}
        ${exactTime(until, zone)}, ${reason}
      </li>`,
    )}
  </ul>`
}
