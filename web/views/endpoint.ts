import type { EndpointView, HistoryView } from '../../src/http/views.ts'
import { shardName, ticking } from './endpoint-row.ts'
import { count, unbroken } from './format.ts'
import { html, nothing, type TemplateResult } from './lit.ts'
import { mark } from './mark.ts'
import { networkPath, type Route } from './route.ts'
import { type Answer, defineView, type Model, type Sources } from './view.ts'
import { WORDS } from './words.ts'

interface Data {
  readonly endpoint: EndpointView
  /** `null` for whoever may not see it, and where it cannot be read. */
  readonly history: HistoryView | null
}

const DAY_MS = 86_400_000
const STEP_S = 300

/** One endpoint: what it is now, and how it came to that. */
export const view = defineView<Data>({
  title: (model) => `${current(model).title} · Heartline`,
  load,
  draw,
  refreshMs: 60_000,
  hasStyle: false,
})

async function load(sources: Sources, { params }: Route, nowMs: number): Promise<Answer<Data>> {
  const { network = '', endpoint = '' } = params
  // Buckets begin where the clock strikes, so that those of now and of in a minute are the same ones.
  const fromMs = Math.floor((nowMs - DAY_MS) / (STEP_S * 1000)) * STEP_S * 1000
  const [answer, history] = await Promise.all([
    sources.endpoint(network, endpoint),
    sources.history({ network, endpoint, fromMs, toMs: nowMs, stepSeconds: STEP_S }),
  ])
  return answer.ok
    ? { ok: true, value: { endpoint: answer.value, history: history.ok ? history.value : null } }
    : answer
}

/** As the latest event has it. */
function current({ status, route, data }: Model<Data>): EndpointView {
  const network = status?.networks.find(({ name }) => name === route.params.network)
  return network?.endpoints.find(({ name }) => name === route.params.endpoint) ?? data.endpoint
}

function draw(model: Model<Data>): TemplateResult {
  const endpoint = current(model)
  const { route, settings, nowMs } = model
  const network = route.params.network ?? ''
  return html`
    <header class="subject">
      <p><a href=${networkPath(network)}>${network}</a></p>
      <h1 tabindex="-1">${mark(endpoint.state)}${endpoint.title}</h1>
      <p>${WORDS.states[endpoint.state]} ${WORDS.since} ${ticking(endpoint.since, settings.zone, nowMs)}</p>
    </header>
    ${endpoint.conditions.map(
      ({ code, message }) => html`<p class="why"><span class="code">${code}</span> ${unbroken(message)}</p>`,
    )}
    <ul class="plain">
      ${endpoint.heads.map(
        ({ shard, height, lag_blocks: lag }) => html`<li>
          ${shard === null ? nothing : shardName(shard)} <b>${count(height)}</b>
          ${lag === null ? WORDS.lastSeen : lag === 0 ? WORDS.atHead : WORDS.behind(lag)}
        </li>`,
      )}
    </ul>
  `
}
