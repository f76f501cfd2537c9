import type { LiveConnection } from './live.ts'
import { type SettingsStore, THEMES } from './settings.ts'
import { routeOf } from './views/route.ts'
import type { Settings } from './views/view.ts'

/** Follows clicks, keys and fields on every view. */
export function followActions({ settings, signOut, ask, goTo, tellFirst, known }: Actions): void {
  function press(key: string): void {
    const atMs = performance.now()
    void import('./keys.ts').then((keys) => keys.press(key, { atMs, goTo, known })).catch(ignored)
  }

  document.addEventListener('click', (event) => {
    if (!(event.target instanceof Element)) return
    const button = event.target.closest<HTMLElement>('[data-set], [data-fold], [data-save], [data-act]')
    const { set, fold, save, act } = button?.dataset ?? {}
    if (set === 'theme' || set === 'zone' || set === 'density') return settings.change(nextOf(settings.current(), set))
    const { folded, saved } = settings.current()
    if (fold !== undefined) return settings.change({ folded: toggled(folded, fold) })
    if (save !== undefined) return settings.change({ saved: toggled(saved, save) })
    if (act === 'sign-out') return signOut()
    if (act === 'palette') return press('Ctrl+K')
    if (act === 'help') return press('?')
    if (act === 'copy' && button !== null) return copyBeside(button)
    const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
    const link = event.target.closest('a')
    if (!isPlain || event.defaultPrevented || link === null || link.target !== '' || link.hasAttribute('download'))
      return
    // A touch has no hover: the first tap tells, the second one opens.
    if (link.matches('.tile') && event.pointerType === 'touch' && tellFirst(link, event)) return event.preventDefault()
    const to = new URL(link.href)
    // Fragments, other sites and addresses that are not views are left to the browser.
    if (to.origin !== location.origin || (to.hash !== '' && to.pathname === location.pathname)) return
    if (routeOf(to.pathname) === null) return
    event.preventDefault()
    goTo(to.href)
  })

  document.addEventListener('input', ({ target }) => {
    if (target instanceof HTMLInputElement && target.id === 'search') ask('q', target.value)
    if (target instanceof HTMLSelectElement && target.dataset.ask !== undefined) ask(target.dataset.ask, target.value)
  })

  document.addEventListener('keydown', (event) => {
    const isPalette = event.key === 'k' && (event.ctrlKey || event.metaKey)
    if (!isPalette) {
      if (event.ctrlKey || event.metaKey || event.altKey || !/^[?/a-z]$/.test(event.key)) return
      if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return
    }
    // Browsers have uses of their own for these two.
    const search = event.key === '/' ? document.getElementById('search') : null
    if (isPalette || search !== null) event.preventDefault()
    // At once: what is typed next belongs into the field.
    if (search !== null) return search.focus()
    press(isPalette ? 'Ctrl+K' : event.key)
  })
}

interface Actions {
  readonly settings: SettingsStore
  readonly signOut: () => void
  /** Changes the query of the address. */
  readonly ask: (name: string, value: string) => void
  /** Opens another view. */
  readonly goTo: (path: string) => void
  /** Tells what the first tap on an element asks for; `false` if that is shown already. */
  readonly tellFirst: (one: HTMLElement, event: Event) => boolean
  /** The live data; `null` without any. */
  readonly known: () => ReturnType<LiveConnection['current']> | null
}

function nextOf({ theme, zone, density }: Settings, what: 'theme' | 'zone' | 'density'): Partial<Settings> {
  switch (what) {
    case 'theme':
      return { theme: THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'auto' }
    case 'zone':
      return { zone: zone === 'local' ? 'utc' : 'local' }
    case 'density':
      return { density: density === 'roomy' ? 'dense' : 'roomy' }
  }
}

function toggled(list: readonly string[], one: string): readonly string[] {
  return list.includes(one) ? list.filter((other) => other !== one) : [...list, one]
}

function copyBeside(button: HTMLElement): void {
  void import('./copy.ts').then(({ copy }) => copy(button)).catch(ignored)
}

/** A file that cannot be loaded: the page says elsewhere that the daemon does not respond. */
function ignored(): void {}
