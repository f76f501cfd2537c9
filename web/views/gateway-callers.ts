import type { GatewayView } from '../../src/http/wire/gateway.ts'
import { count, type Zone } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { exactTime } from './when.ts'
import { GATEWAY_WORDS } from './words-gateway.ts'

/** Callers by name with their permissions, and aliases. */
export function gatewayCallers({ callers, aliases }: GatewayView, zone: Zone): TemplateResult {
  return html`
    <section class="card wide" aria-labelledby="callers">
      <h2 id="callers">${GATEWAY_WORDS.callers}</h2>
      <div class="scroll" tabindex="0" role="region" aria-label=${GATEWAY_WORDS.callersTable}>
        <table class="data">
          <thead>
            <tr>
              <th scope="col">${GATEWAY_WORDS.caller}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.figures.requests}</th>
              <th scope="col" class="n">${GATEWAY_WORDS.notAnswered}</th>
              <th scope="col">${GATEWAY_WORDS.limit}</th>
              <th scope="col">${GATEWAY_WORDS.networks}</th>
              <th scope="col">${GATEWAY_WORDS.permissions}</th>
            </tr>
          </thead>
          <tbody>
            ${callers.map(({ name, networks, admin, methods, rate_limit: limit, requests, refused }) => {
              const allowed = [...(admin ? [GATEWAY_WORDS.admin] : []), ...methods]
              return html`<tr>
                <th scope="row">${name}</th>
                <td class="n" data-label=${GATEWAY_WORDS.figures.requests}>${count(requests)}</td>
                <td class="n" data-label=${GATEWAY_WORDS.notAnswered}>${count(refused)}</td>
                <td data-label=${GATEWAY_WORDS.limit}>${limit === null ? html`<span class="quiet">${GATEWAY_WORDS.noLimit}</span>` : GATEWAY_WORDS.perLimit(limit.requests, limit.per_seconds)}</td>
                <td data-label=${GATEWAY_WORDS.networks}>${networks.join(', ')}</td>
                <td data-label=${GATEWAY_WORDS.permissions}>${allowed.length === 0 ? html`<span class="quiet">–</span>` : allowed.join(', ')}</td>
              </tr>`
            })}
          </tbody>
        </table>
      </div>
      ${aliases.length === 0 ? nothing : aliasTable(aliases, zone)}
    </section>
  `
}

function aliasTable(aliases: GatewayView['aliases'], zone: Zone): TemplateResult {
  return html`
    <h2 id="aliases">${GATEWAY_WORDS.aliases}</h2>
    <div class="scroll" tabindex="0" role="region" aria-label=${GATEWAY_WORDS.aliases}>
      <table class="data">
        <thead>
          <tr>
            <th scope="col">${GATEWAY_WORDS.alias}</th>
            <th scope="col">${GATEWAY_WORDS.target}</th>
            <th scope="col">${GATEWAY_WORDS.endpoint}</th>
            <th scope="col">${GATEWAY_WORDS.createdBy}</th>
            <th scope="col">${GATEWAY_WORDS.status}</th>
          </tr>
        </thead>
        <tbody>
          ${aliases.map(
            ({ network, alias, target, endpoint, caller, created_at: at, stale }) => html`<tr>
              <th scope="row">${alias}</th>
              <td data-label=${GATEWAY_WORDS.target}>${target}</td>
              <td data-label=${GATEWAY_WORDS.endpoint}>${network}/${endpoint}</td>
              <td data-label=${GATEWAY_WORDS.createdBy}>${caller}, ${exactTime(at, zone)}</td>
              <td data-label=${GATEWAY_WORDS.status}>${stale === null ? GATEWAY_WORDS.active : `${GATEWAY_WORDS.inactive}: ${stale.reason}`}</td>
            </tr>`,
          )}
        </tbody>
      </table>
    </div>
  `
}
