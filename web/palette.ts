import type { IncidentSummaryView } from '../src/http/wire/incidents.ts'
import type { StatusView } from '../src/http/wire/status.ts'
import { createDialog } from './dialog.ts'
import { get } from './request.ts'
import { incidentSentence } from './views/incident-sentence.ts'
import { html, nothing, render, type TemplateResult } from './views/lit.ts'
import { endpointPath, incidentPath, networkPath } from './views/route.ts'
import { titleOf, WORDS } from './views/words.ts'
import { NEXT_STEPS } from './views/words-runbooks.ts'

/** The command palette: goes to a view, network, endpoint, open incident or runbook by a few letters of its name. */
export function showPalette({ status, incidents, goTo }: PaletteDeps): void {
  if (dialog?.open === true) return dialog.close()
  const own = (dialog ??= createDialog('palette', WORDS_OF_PALETTE.label))
  const state = { query: '', chosen: 0, targets: targetsOf(status, incidents) }

  const found = () => matching(state.targets, state.query)
  const draw = () => render(template(state, found(), act), own)
  const act = {
    type(query: string): void {
      Object.assign(state, { query, chosen: 0 })
      draw()
    },
    press(event: KeyboardEvent): void {
      const last = found().length - 1
      const next = { ArrowDown: state.chosen + 1, ArrowUp: state.chosen - 1, PageDown: last, PageUp: 0 }[event.key]
      if (event.key === 'Enter') return act.open(found()[state.chosen])
      if (next === undefined) return
      event.preventDefault()
      state.chosen = next < 0 ? last : next > last ? 0 : next
      draw()
      own.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
    },
    open(target: Target | undefined): void {
      if (target === undefined) return
      own.close()
      goTo(target.path)
    },
  }
  draw()
  own.showModal()
  const input = own.querySelector('input')
  if (input !== null) input.value = ''
  void alertRunbooks().then((more) => {
    state.targets = [...state.targets, ...more]
    if (own.open) draw()
  })
}

export interface PaletteDeps {
  readonly status: StatusView | null
  readonly incidents: readonly IncidentSummaryView[]
  readonly goTo: (path: string) => void
}

let dialog: HTMLDialogElement | null = null

interface Target {
  readonly title: string
  readonly kind: string
  readonly path: string
  /** In lower case. */
  readonly text: string
}

const WORDS_OF_PALETTE = {
  label: 'Go to',
  hint: 'View, network, endpoint, incident or runbook',
  none: 'Nothing matches.',
  results: 'Results',
}
const MOST_SHOWN = 50

function target(title: string, kind: string, path: string, more = ''): Target {
  return { title, kind, path, text: `${title} ${kind} ${more}`.toLowerCase() }
}

function targetsOf(status: StatusView | null, incidents: readonly IncidentSummaryView[]): Target[] {
  const networks = status?.networks ?? []
  const views = (Object.keys(WORDS.places) as (keyof typeof WORDS.places)[]).map((place) =>
    target(WORDS.places[place], 'View', place === 'overview' ? '/' : `/${place}`),
  )
  return [
    ...views,
    ...networks.map(({ name, title }) => target(title, 'Network', networkPath(name), name)),
    ...incidents.map((incident) => {
      const { id, network, endpoint } = incident
      const who = status === null ? network : titleOf(status, network, endpoint === null ? null : [endpoint])
      return target(`${who} ${incidentSentence(incident)}`, 'Incident', incidentPath(id), id)
    }),
    ...networks.flatMap((network) =>
      network.endpoints.map(({ name, title, state }) =>
        target(`${network.title}: ${title}`, WORDS.states[state], endpointPath(network.name, name), `endpoint ${name}`),
      ),
    ),
    ...Object.keys(NEXT_STEPS).map((code) => target(code, 'Runbook', `/runbooks/${code}`)),
  ]
}

/** Runbooks of alerts, which conditions do not name. */
async function alertRunbooks(): Promise<readonly Target[]> {
  const answer = await get<{ readonly runbooks: readonly string[] }>('/api/v1/runbooks')
  return answer.ok ? answer.value.runbooks.map((name) => target(name, 'Runbook', `/runbooks/${name}`)) : []
}

/** What contains every word; titles that begin with the query first. */
function matching(targets: readonly Target[], query: string): readonly Target[] {
  const wanted = query.trim().toLowerCase()
  const words = wanted.split(/\s+/)
  const found = targets.filter(({ text }) => words.every((word) => text.includes(word)))
  const begins = ({ title }: Target) => Number(!title.toLowerCase().startsWith(wanted))
  return found.sort((a, b) => begins(a) - begins(b)).slice(0, MOST_SHOWN)
}

interface Actions {
  type(query: string): void
  press(event: KeyboardEvent): void
  open(target: Target): void
}

function template({ chosen }: { readonly chosen: number }, found: readonly Target[], act: Actions): TemplateResult {
  return html`
    <input
      type="text"
      role="combobox"
      autocomplete="off"
      spellcheck="false"
      aria-expanded="true"
      aria-autocomplete="list"
      aria-controls="palette-list"
      aria-activedescendant=${found.length === 0 ? nothing : `palette-${chosen}`}
      aria-label=${WORDS_OF_PALETTE.hint}
      placeholder=${WORDS_OF_PALETTE.hint}
      @input=${({ target }: Event) => act.type((target as HTMLInputElement).value)}
      @keydown=${act.press}
    />
    <ul id="palette-list" role="listbox" aria-label=${WORDS_OF_PALETTE.results}>
      ${found.map(
        (
          one,
          at,
        ) => html`<li role="option" id="palette-${at}" aria-selected=${at === chosen ? 'true' : 'false'} @click=${() => act.open(one)}>
          <span>${one.title}</span> <small>${one.kind}</small>
        </li>`,
      )}
    </ul>
    ${found.length === 0 ? html`<p role="status">${WORDS_OF_PALETTE.none}</p>` : nothing}
  `
}
