import { render, type TemplateResult } from './views/lit.ts'

/**
 * Puts the browser's own drawing in the place of the daemon's: in one step, so that nothing flashes and the scroll stays
 * where it is, and with the focus and what was typed carried over.
 */
export function takeOver(page: HTMLElement, drawing: TemplateResult): HTMLElement {
  const own = page.cloneNode(false) as HTMLElement
  render(drawing, own)
  for (const { id, value } of page.querySelectorAll('input')) {
    const field = document.getElementById(id) === null ? null : own.querySelector(`#${CSS.escape(id)}`)
    if (field instanceof HTMLInputElement && value !== '') field.value = value
  }
  const focused = page.contains(document.activeElement) ? pathTo(document.activeElement, page) : null
  page.replaceWith(own)
  if (focused !== null) elementAt(focused, own)?.focus({ preventScroll: true })
  return own
}

interface Path {
  /** The nearest element with an id; `null` for the page itself. */
  readonly from: string | null
  /** From there on, which child of each. */
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
