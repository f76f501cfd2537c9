import { iconOf, markedTitle, toneOfAll } from './views/frame.ts'
import type { Model, View } from './views/view.ts'
import { WORDS } from './views/words.ts'

/** Shows the state in the tab's title and icon. */
export function showState(view: View, now: Model): void {
  document.title = markedTitle(view.title(now), now)
  const icon = document.querySelector<HTMLLinkElement>('link[rel=icon]')
  const path = new URL(iconOf(toneOfAll(now)), import.meta.url).pathname
  if (icon !== null && icon.getAttribute('href') !== path) icon.href = path
}

/** Marks the page that the daemon drew as stale, if no data has arrived since. */
export function markSnapshot(page: HTMLElement, { contact }: Model): void {
  if (contact.kind !== 'stale') return
  page.querySelector('main')?.classList.add('stale')
  page.querySelector('.verdict')?.setAttribute('class', 'verdict unknown')
  page.querySelector('.verdict > .mark')?.remove()
  const verdict = page.querySelector('.verdict h1')
  const drawnAt = page.querySelector('.printed')?.textContent?.replace(WORDS.asOf(''), '') ?? ''
  const note = WORDS.staleVerdict(drawnAt)
  if (verdict !== null) verdict.textContent = note
  else if (page.querySelector('.lost') === null) page.querySelector('main')?.prepend(lostNote(note))
  document.title = `? ${document.title.replace(/^[^\p{L}\p{N}]+/u, '')}`
  const lamp = page.querySelector('.lamp')
  if (lamp === null) return
  lamp.className = 'lamp off'
  lamp.replaceChildren(document.createElement('i'), WORDS.stale(contact.forSeconds))
}

/** `null` if the style sheet that only this model needs is there, or there is none. */
export function styleFor(view: View, now: Model): Promise<void> | null {
  const style = view.styleOf?.(now) ?? null
  return style === null ? null : loadStyle(style)
}

function lostNote(text: string): HTMLElement {
  const note = document.createElement('p')
  note.className = 'lost'
  note.textContent = text
  return note
}

/** The page must not look live while it waits. */
const STYLE_WITHIN_MS = 5000
const styles = new Map<string, Promise<void> | null>()

/** Resolves when the style sheet of a view is there, or cannot be loaded in time; `null` if that is so already. */
export function loadStyle(name: string): Promise<void> | null {
  const known = styles.get(name)
  if (known !== undefined) return known
  const href = new URL(`./views/${name}.css`, import.meta.url).pathname
  // The daemon's links hold up the scripts.
  if (document.querySelector(`link[href="${href}"]`) !== null) return null
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.href = href
  const loading = new Promise<void>((resolve) => {
    const end = () => {
      styles.set(name, null)
      resolve()
    }
    // A view is readable without its style sheet.
    for (const type of ['load', 'error']) link.addEventListener(type, end)
    setTimeout(end, STYLE_WITHIN_MS)
  })
  styles.set(name, loading)
  document.head.append(link)
  return loading
}
