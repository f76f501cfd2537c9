import type { EndpointView, StateView } from '../../src/http/wire/status.ts'
import { html, svg, type TemplateResult } from './lit.ts'
import { isUnstable, lookOf } from './model.ts'
import { WORDS } from './words.ts'

/** The icon of a state. Each state has its own shape, so that colour is not needed. */
export function mark(state: StateView, label: string = WORDS.states[state]): TemplateResult {
  return html`<svg class="mark ${state}" viewBox="0 0 16 16" role="img" aria-label=${label}>${shape(state)}</svg>`
}

/** The icon of an endpoint, which tells an unstable one from one that is up. */
export function endpointMark(endpoint: EndpointView): TemplateResult {
  return mark(lookOf(endpoint), isUnstable(endpoint) ? WORDS.unstable : WORDS.states[endpoint.state])
}

function shape(state: StateView): TemplateResult {
  switch (state) {
    case 'up':
      return svg`<circle cx="8" cy="8" r="6.5" /><path d="M5 8.3l2.1 2.1L11 6.2" />`
    case 'degraded':
      return svg`<path class="fill" d="M8 1.2L15.2 14H.8z" /><path d="M8 6v3.6M8 11.6v.4" />`
    case 'down':
      return svg`<rect class="fill" x="1.5" y="1.5" width="13" height="13" rx="2" /><path d="M5.3 5.3l5.4 5.4M10.7 5.3l-5.4 5.4" />`
    case 'maintenance':
      return svg`<path class="fill" d="M8 .8L15.2 8 8 15.2.8 8z" /><path d="M5 8h6" />`
    case 'unknown':
      return svg`<circle class="dashed" cx="8" cy="8" r="6.3" /><path d="M6.2 6.3a1.9 1.9 0 1 1 2.5 2c-.5.2-.7.5-.7 1M8 11.4v.3" />`
  }
}
