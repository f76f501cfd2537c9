import type { GatewayView } from '../../../src/http/wire/gateway.ts'
import { dataTable } from '../data-table.ts'
import { count, type Zone } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { exactTime } from '../when.ts'
import { GATEWAY_WORDS } from './words-gateway.ts'

/** Callers by name with their permissions, and aliases. */
export function gatewayCallers({ callers, aliases }: GatewayView, zone: Zone): TemplateResult {
  return html`
    <section class="card wide" aria-labelledby="callers">
      <h2 id="callers">${GATEWAY_WORDS.callers}</h2>
      ${dataTable(GATEWAY_WORDS.callersTable, callers, [
        [GATEWAY_WORDS.caller, ({ name }) => name, 'head'],
        [GATEWAY_WORDS.figures.requests, ({ requests }) => count(requests), 'n'],
        [GATEWAY_WORDS.notAnswered, ({ refused }) => count(refused), 'n'],
        [GATEWAY_WORDS.limit, limitOf],
        [GATEWAY_WORDS.networks, ({ networks }) => networks.join(', ')],
        [GATEWAY_WORDS.permissions, permissionsOf],
      ])}
      ${aliases.length === 0 ? nothing : aliasTable(aliases, zone)}
    </section>
  `
}

type Caller = GatewayView['callers'][number]

function limitOf({ rate_limit: limit }: Caller): TemplateResult | string {
  return limit === null
    ? html`<span class="quiet">${GATEWAY_WORDS.noLimit}</span>`
    : GATEWAY_WORDS.perLimit(limit.requests, limit.per_seconds)
}

function permissionsOf({ admin, methods }: Caller): TemplateResult | string {
  const allowed = [...(admin ? [GATEWAY_WORDS.admin] : []), ...methods]
  return allowed.length === 0 ? html`<span class="quiet">–</span>` : allowed.join(', ')
}

function aliasTable(aliases: GatewayView['aliases'], zone: Zone): TemplateResult {
  return html`
    <h2 id="aliases">${GATEWAY_WORDS.aliases}</h2>
    ${dataTable(GATEWAY_WORDS.aliases, aliases, [
      [GATEWAY_WORDS.alias, ({ alias }) => alias, 'head'],
      [GATEWAY_WORDS.target, ({ target }) => target],
      [GATEWAY_WORDS.endpoint, ({ network, endpoint }) => `${network}/${endpoint}`],
      [GATEWAY_WORDS.createdBy, ({ caller, created_at: at }) => html`${caller}, ${exactTime(at, zone)}`],
      [
        GATEWAY_WORDS.status,
        ({ stale }) => (stale === null ? GATEWAY_WORDS.active : `${GATEWAY_WORDS.inactive}: ${stale.reason}`),
      ],
    ])}
  `
}
