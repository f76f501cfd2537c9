import type { DaysView } from '../../../src/http/wire/history.ts'
import type { NetworkView } from '../../../src/http/wire/status.ts'
import { dayBars, knownDays } from '../charts/day-bars.ts'
import { moment } from '../format.ts'
import { html, nothing, type TemplateResult } from '../lit.ts'
import { endpointMark, mark } from '../mark.ts'
import { toneOf, worstFirst } from '../model.ts'
import { stateCounts, whereTheyAre } from '../network-facts.ts'
import { networkPath } from '../route.ts'
import { WORDS } from '../words.ts'
import { EVENT_WORDS } from '../words-events.ts'

/** A network for other pages: its state, and the last 90 days of its endpoints, worst first. It has no script. */
export function embed(network: NetworkView, all: DaysView | null, nowMs: number): TemplateResult {
  const days = all === null ? null : knownDays(all, network.name)
  const shown = worstFirst(network.endpoints).slice(0, MOST_SHOWN)
  const more = network.endpoints.length - shown.length
  return html`
    <main class="embed">
      <header><h1>${mark(toneOf(network.state, [network]))}<a href=${networkPath(network.name)} target="_blank" rel="noopener">${network.title}</a></h1>
      ${network.halted ? html`<p class="alarm">${WORDS.halted}</p>` : nothing}
      ${network.forked ? html`<p class="alarm">${WORDS.forked}</p>` : nothing}</header>
      <p class="facts">${whereTheyAre(network)} ${stateCounts(network)}</p>
      <ul>
        ${shown.map((endpoint) => {
          const of = days?.strips.find((one) => one.network === network.name && one.endpoint === endpoint.name)
          return html`<li>
            <span>${endpointMark(endpoint)} ${endpoint.title}</span>
            ${days === null ? nothing : dayBars(of, `${network.name}/${endpoint.name}`, endpoint.title, days, 'picture')}
          </li>`
        })}
      </ul>
      ${more > 0 ? html`<p class="more">${EVENT_WORDS.more(more)}</p>` : nothing}
      <p><small>${WORDS.asOf(moment(nowMs, 'utc'))}</small></p>
    </main>
  `
}

const MOST_SHOWN = 20

/** The height of a frame that cuts nothing off, in CSS pixels: every line has a fixed height. */
export function embedHeight(endpoints: number): number {
  return 106 + 26 * Math.min(endpoints, MOST_SHOWN) + (endpoints > MOST_SHOWN ? 22 : 0)
}
