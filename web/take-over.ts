import { render, type TemplateResult } from './views/lit.ts'

/**
 * Replaces what the daemon drew with the browser's drawing in one step, so that nothing flashes and the scroll position
 * stays. Focus and typed text are carried over. Open incidents, maintenance and strips stay as the daemon drew them until their
 * code is loaded: the page is live one round trip earlier.
 */
export function takeOver(page: HTMLElement, drawing: TemplateResult): HTMLElement {
  const own = page.cloneNode(false) as HTMLElement
  render(drawing, own)
  for (const { id, value } of page.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('input, textarea')) {
    const field = document.getElementById(id) === null ? null : own.querySelector(`#${CSS.escape(id)}`)
    const takesText = field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement
    if (takesText && value !== '') field.value = value
  }
  if (own.querySelector('.events') === null)
    own.querySelector('.verdict')?.after(...[...page.querySelectorAll('.verdict ~ .events')].map(kept))
  for (const strip of page.querySelectorAll('td .strip')) {
    const cell = own.querySelector(`#${CSS.escape(strip.closest('tr')?.id ?? '')} .day`)
    // What comes first in an element is none of lit's.
    if (cell?.childElementCount === 0) cell.prepend(kept(strip))
  }
  const focused = page.contains(document.activeElement) ? pathTo(document.activeElement, page) : null
  page.replaceWith(own)
  if (focused !== null) elementAt(focused, own)?.focus({ preventScroll: true })
  return own
}

function kept(section: Element): Node {
  section.setAttribute('data-kept', '')
  return section.cloneNode(true)
}

/** Once their code has drawn them, or there are none any more. What had the focus gives it to its like. */
export function dropKept(page: HTMLElement, isAllLoaded: boolean): void {
  for (const section of page.querySelectorAll('[data-kept]')) {
    const own = section.parentElement?.querySelector<HTMLElement>(':scope > :is(.events, .strip):not([data-kept])')
    if (own === null && !isAllLoaded) continue
    const focused = document.activeElement
    const hadFocus = section.contains(focused)
    section.remove()
    if (!hadFocus) continue
    const href = CSS.escape(focused?.getAttribute('href') ?? '')
    const same = focused === section ? own : page.querySelector<HTMLElement>(`.events a[href="${href}"]`)
    ;(same ?? page.querySelector<HTMLElement>('h1'))?.focus({ preventScroll: true })
  }
}

interface Path {
  /** The id of the nearest ancestor that has one; `null` is the page itself. */
  readonly from: string | null
  /** Child indexes from there on. */
  readonly steps: readonly number[]
}

function pathTo(element: Element | null, page: Element): Path {
  const steps: number[] = []
  let at = element
  while (at !== null && at !== page && at.id === '') {
    steps.unshift([...(at.parentElement?.children ?? [])].indexOf(at))
    at = at.parentElement
  }
  return { from: at === page ? null : (at?.id ?? null), steps }
}

function elementAt({ from, steps }: Path, page: Element): HTMLElement | null {
  let at: Element | null = from === null ? page : page.querySelector(`#${CSS.escape(from)}`)
  for (const step of steps) at = at?.children[step] ?? null
  return at instanceof HTMLElement ? at : null
}
