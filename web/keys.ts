import type { LiveConnection } from './live.ts'

/** What pressed keys do, loaded with the first of them: `j` and `k` go through the rows, `g` and a letter to a view. */
export function press(key: string, page: PageKeys): void {
  // A dialog has the keys for itself, but for those that open and close one.
  if (key !== '?' && key !== 'Ctrl+K' && document.querySelector('dialog[open]') !== null) return
  const place = page.atMs < goesUntilMs ? PLACES[key] : undefined
  goesUntilMs = key === 'g' && place === undefined ? page.atMs + GOES_FOR_MS : 0
  if (place !== undefined) return page.goTo(place)
  switch (key) {
    case 'Ctrl+K':
      return openPalette(page)
    case '?':
      return void import('./help.ts').then(({ showHelp }) => showHelp()).catch(ignored)
    case 'j':
    case 'k':
      return focusRow(key === 'j' ? 1 : -1)
  }
}

export interface PageKeys {
  /** When the key was pressed (`performance.now`), perhaps before this was loaded. */
  readonly atMs: number
  readonly goTo: (path: string) => void
  /** The live data; `null` without any. */
  readonly known: () => ReturnType<LiveConnection['current']> | null
}

function openPalette({ goTo, known }: PageKeys): void {
  const { status = null, incidents = [] } = known() ?? {}
  void import('./palette.ts').then(({ showPalette }) => showPalette({ status, incidents, goTo })).catch(ignored)
}

/** A file that cannot be loaded: the page says elsewhere that the daemon does not respond. */
function ignored(): void {}

/** How long a letter after `g` names a view. */
const GOES_FOR_MS = 2000
let goesUntilMs = 0

const PLACES: Readonly<Record<string, string>> = {
  o: '/',
  i: '/incidents',
  g: '/gateway',
  n: '/notifications',
  h: '/observer',
}

/** What Enter opens of a row: the first link of each incident, endpoint or tile. */
const ROWS = '#main :is(.events li, tbody tr, .tiles li, .plain li)'

function focusRow(step: 1 | -1): void {
  const links = [...document.querySelectorAll(ROWS)].flatMap((row) => row.querySelector('a') ?? [])
  const current = links.findIndex((link) => link.closest(ROWS)?.contains(document.activeElement))
  const next = current === -1 ? (step === 1 ? 0 : links.length - 1) : current + step
  const link = links[Math.min(links.length - 1, Math.max(0, next))]
  link?.focus()
  link?.scrollIntoView({ block: 'nearest' })
}
