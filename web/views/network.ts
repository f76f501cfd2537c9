import type { NetworkView } from '../../src/http/views.ts'
import { shardName, ticking } from './endpoint-row.ts'
import { count, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { atHead, worstFirst, worstHead } from './model.ts'
import { endpointPath, type Route } from './route.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { WORDS } from './words.ts'

interface Data {
  readonly network: NetworkView
}

/** One network: where its chain is, and who of its endpoints is where. */
export const view = defineView<Data>({
  title: (model) => `${current(model).title} · Heartline`,
  load,
  draw,
  refreshMs: null,
  hasStyle: false,
})

async function load(sources: Sources, { params }: Route): Promise<Answer<Data>> {
  const answer = await sources.network(params.network ?? '')
  return answer.ok ? { ok: true, value: { network: answer.value } } : answer
}

/** As the latest event has it. */
function current({ status, data }: Model<Data>): NetworkView {
  return status?.networks.find(({ name }) => name === data.network.name) ?? data.network
}

function draw(model: Model<Data>): TemplateResult {
  const network = current(model)
  const { settings, nowMs } = model
  return html`
    <header class="subject">
      <h1 tabindex="-1">${mark(network.state)}${network.title}</h1>
      <p>${WORDS.atHeadOf(atHead(network.endpoints), network.endpoints.length)}</p>
      ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
      ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}
    </header>
    <ul class="plain">
      ${network.heads.map(
        ({ shard, height, timestamp }) => html`<li>
          ${shard === null ? nothing : shardName(shard)} <b>${count(height)}</b>
          ${timestamp === null ? nothing : html`<small>${ticking(timestamp, settings.zone, nowMs)} ${WORDS.blockAge}</small>`}
        </li>`,
      )}
    </ul>
    <ul class="plain">
      ${worstFirst(network.endpoints).map((endpoint) => {
        const lag = worstHead(endpoint)?.lag_blocks ?? null
        return html`<li>
          ${mark(endpoint.state)} <a href=${endpointPath(network.name, endpoint.name)}>${endpoint.title}</a>
          ${endpoint.conditions.map(({ message }) => unbroken(message)).join(', ')}
          ${lag === null ? nothing : html`<small>${lag === 0 ? WORDS.atHead : WORDS.behind(lag)}</small>`}
        </li>`
      })}
    </ul>
  `
}
