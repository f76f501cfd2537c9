import type { StateView } from '../src/http/wire/status.ts'
import { createDialog } from './dialog.ts'
import { html, render } from './views/lit.ts'
import { mark } from './views/mark.ts'
import { WORDS } from './views/words.ts'
import { COLUMNS } from './views/words-columns.ts'

/** The help: keyboard shortcuts, and what states, columns and strips mean. */
export function showHelp(): void {
  if (dialog?.open === true) return dialog.close()
  dialog ??= createDialog('help', HELP.title)
  render(
    html`
      <form method="dialog"><h2>${HELP.title}</h2><button>${HELP.close}</button></form>
      <div class="scroll" tabindex="0" role="region" aria-label=${HELP.title}>
        <h3>${HELP.keys}</h3>
        <dl>${KEYS.map(([keys, text]) => html`<dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd>`)}</dl>
        <h3>${HELP.states}</h3>
        <dl>${Object.entries(STATES).map(([state, text]) => html`<dt>${mark(state as StateView)} ${WORDS.states[state as StateView]}</dt><dd>${text}</dd>`)}</dl>
        <h3>${HELP.columns}</h3>
        <dl>${Object.entries(COLUMNS).map(([column, text]) => html`<dt>${WORDS.columns[column as keyof typeof COLUMNS]}</dt><dd>${text}</dd>`)}</dl>
        <p>${HELP.more} <a href="/runbooks/README">${WORDS.runbooks}</a></p>
      </div>
    `,
    dialog,
  )
  dialog.querySelector('a')?.addEventListener('click', () => dialog?.close())
  dialog.showModal()
}

let dialog: HTMLDialogElement | null = null

const HELP = {
  title: 'Help',
  close: 'Close',
  keys: 'Keyboard',
  states: 'States',
  columns: 'Columns',
  more: 'What each condition means, and what to do about it:',
}

const KEYS: readonly (readonly [readonly string[], string])[] = [
  [['?'], 'This help'],
  [['/'], 'Search the endpoints of the overview'],
  [['Ctrl+K'], 'Go to a view, network, endpoint, incident or runbook'],
  [['j', 'k'], 'Next and previous row; Enter opens it'],
  [['g o', 'g i', 'g g', 'g n', 'g h'], 'Go to overview, incidents, gateway, notifications or Observer'],
  [['←', '→'], 'Read a strip or a chart step by step'],
  [['Home', 'End'], 'Its first and last step'],
  [['Enter'], 'Open the time of a strip’s step, or zoom into a chart'],
  [['−'], 'Zoom out of a chart'],
  [['Esc'], 'Close a dialog'],
]

const STATES = {
  up: 'Answers, follows the chain and has no confirmed condition. Flapping or with an open incident, it counts as unstable.',
  degraded: 'Works, but not as it should: lagging, slow, syncing, or another condition.',
  down: 'Cannot be used: no valid answer, another chain, or too far behind.',
  maintenance: 'Planned in the configuration. Nothing is reported, and availability does not count it.',
  unknown: 'Not polled yet, or Heartline itself could not tell.',
} satisfies Record<StateView, string>
