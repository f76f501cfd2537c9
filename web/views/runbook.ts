import { html } from './lit.ts'
import { markdown } from './markdown.ts'
import { defineView } from './view.ts'

/** A runbook: what an alert or a condition means, how to check, and what to do. */
export const view = defineView<string>({
  title: ({ data, brand }) => `${/^# (.*)$/m.exec(data)?.[1] ?? 'Runbook'} · ${brand.title}`,
  load: (sources, { params }) => sources.runbook(params.name ?? ''),
  draw: ({ data, route }) => html`
    <p class="within"><a href="/runbooks/README" aria-current=${route.params.name === 'README' ? 'page' : 'false'}>Runbooks</a></p>
    <article class="card runbook">${markdown(data)}</article>
  `,
  refreshMs: null,
  hasStyle: true,
})
