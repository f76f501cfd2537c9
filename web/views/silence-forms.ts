import type { SilenceView } from '../../src/http/wire/silences.ts'
import type { NetworkView } from '../../src/http/wire/status.ts'
import type { Zone } from './format.ts'
import { html, repeat, type TemplateResult } from './lit.ts'
import { endpointPath, networkPath } from './route.ts'
import { exactTime } from './when.ts'
import { SILENCE_WORDS } from './words-silences.ts'

/** All silences that hold, each with a button that ends it, and the form for a new one. */
export function silencesSection(
  silences: readonly SilenceView[],
  networks: readonly NetworkView[],
  { chosen, zone }: { readonly chosen: string | undefined; readonly zone: Zone },
): TemplateResult {
  return html`
    <section class="card wide" aria-labelledby="silences">
      <h2 id="silences" tabindex="-1">${SILENCE_WORDS.title}</h2>
      ${
        silences.length === 0
          ? html`<p class="quiet">${SILENCE_WORDS.none}</p>`
          : html`<ul class="plain">
              ${repeat(
                silences,
                ({ id }) => id,
                (silence) => html`<li class="silence">${sentence(silence, networks, zone)} ${endForm(silence)}</li>`,
              )}
            </ul>`
      }
      ${beginForm(networks, chosen)}
    </section>
  `
}

function sentence(of: SilenceView, networks: readonly NetworkView[], zone: Zone): TemplateResult {
  const { network, endpoint, reason, until } = of
  const known = networks.find(({ name }) => name === network)
  const title = known?.title ?? network
  const node = known?.endpoints.find(({ name }) => name === endpoint)?.title ?? endpoint
  const subject =
    endpoint === null
      ? html`<a href=${networkPath(network)}>${title}</a>, ${SILENCE_WORDS.wholeNetwork}`
      : html`<a href=${endpointPath(network, endpoint)}>${title}: ${node}</a>`
  return html`<span>${subject}. ${SILENCE_WORDS.silencedUntil} ${exactTime(until, zone)}: ${reason}</span>`
}

function endForm({ id, network, endpoint }: SilenceView): TemplateResult {
  const label = `${SILENCE_WORDS.end}: ${endpoint === null ? network : `${network}/${endpoint}`}`
  return html`
    <form data-act="write" data-method="DELETE" data-path="/api/v1/silences/${encodeURIComponent(id)}">
      <button type="submit" aria-label=${label}>${SILENCE_WORDS.end}</button>
      <p role="alert"></p>
    </form>
  `
}

/** A reload must not put another endpoint in the place of the chosen one: one that was removed has to be chosen again. */
function beginForm(networks: readonly NetworkView[], chosen: string | undefined): TemplateResult {
  const option = (network: string, endpoint: string | null, title: string) =>
    html`<option value=${JSON.stringify({ network, endpoint })} ?selected=${chosen === (endpoint === null ? network : `${network}/${endpoint}`)}>${title}</option>`
  return html`
    <h3 id="begin">${SILENCE_WORDS.begin}</h3>
    <p class="quiet">${SILENCE_WORDS.meaning}</p>
    <noscript><p>${SILENCE_WORDS.needsScript}</p></noscript>
    <form class="fields" data-act="write" data-path="/api/v1/silences" data-done=${SILENCE_WORDS.done} aria-labelledby="begin">
      <label for="silence-about">${SILENCE_WORDS.about}</label>
      <select id="silence-about" name="about" data-kind="json" required>
        <option value="" hidden>${SILENCE_WORDS.choose}</option>
        ${repeat(
          networks,
          ({ name }) => name,
          ({ name, title, endpoints }) => html`<optgroup label=${title}>
            ${option(name, null, `${title}, ${SILENCE_WORDS.wholeNetwork}`)}
            ${repeat(
              endpoints,
              (endpoint) => endpoint.name,
              (endpoint) => option(name, endpoint.name, `${title}: ${endpoint.title}`),
            )}
          </optgroup>`,
        )}
      </select>
      <label for="silence-length">${SILENCE_WORDS.length}</label>
      <select id="silence-length" name="length" data-kind="json" required>
        ${SILENCE_WORDS.lengths.map(
          ([title, seconds]) =>
            html`<option value=${JSON.stringify({ duration_seconds: seconds })} ?selected=${seconds === 7200}>${title}</option>`,
        )}
      </select>
      <label for="silence-reason">${SILENCE_WORDS.reason}</label>
      <input id="silence-reason" name="reason" maxlength="200" autocomplete="off" required />
      <button type="submit">${SILENCE_WORDS.begin}</button>
      <p role="alert"></p>
      <p role="status"></p>
    </form>
  `
}
