import type { StripsView } from '../src/http/views.ts'
import { cellSentence } from './views/strip-cell.ts'
import type { Settings } from './views/view.ts'

export interface StripCursorDeps {
  readonly strips: () => StripsView | null
  readonly zone: () => Settings['zone']
}

/**
 * Reads strips cell by cell: under the pointer, and with the arrow keys, Home and End; the page keys go an hour. Loaded when
 * one is first touched.
 */
export function watchStrips({ strips, zone }: StripCursorDeps, first: Event): void {
  const tip = document.createElement('div')
  tip.className = 'tipbox'
  tip.hidden = true
  tip.setAttribute('aria-hidden', 'true')
  const cursor = document.createElement('i')
  cursor.className = 'cursor'

  function show(strip: HTMLElement, at: number): void {
    const all = strips()
    const of = all?.strips.find(({ network, endpoint }) => `${network}/${endpoint}` === strip.dataset.strip)
    if (all === null || of === undefined) return hide()
    const cells = of.states.length
    const text = cellSentence(of, at, all, zone())
    strip.setAttribute('aria-valuenow', String(at + 1))
    strip.setAttribute('aria-valuetext', text)
    const box = strip.getBoundingClientRect()
    cursor.style.left = `${((at + 0.5) / cells) * 100}%`
    if (cursor.parentElement !== strip) strip.append(cursor)
    tip.textContent = text
    tip.hidden = false
    if (!tip.isConnected) document.body.append(tip)
    const left = box.left + ((at + 0.5) / cells) * box.width - tip.offsetWidth / 2
    tip.style.left = `${Math.max(4, Math.min(innerWidth - tip.offsetWidth - 4, left))}px`
    const above = box.top - tip.offsetHeight - 6
    tip.style.top = `${above < 4 ? box.bottom + 6 : above}px`
  }

  function hide(): void {
    tip.hidden = true
    cursor.remove()
  }

  function point({ target, clientX }: PointerEvent): void {
    const strip = stripOf(target)
    if (strip === null) return void (stripOf(document.activeElement) ?? hide())
    const { left, width } = strip.getBoundingClientRect()
    const cells = Number(strip.getAttribute('aria-valuemax'))
    show(strip, Math.max(0, Math.min(cells - 1, Math.floor(((clientX - left) / width) * cells))))
  }

  function enter({ target }: Event): void {
    const strip = stripOf(target)
    if (strip?.matches(':focus-visible')) show(strip, Number(strip.getAttribute('aria-valuenow')) - 1)
    else hide()
  }

  document.addEventListener('pointermove', point)
  document.addEventListener('focusin', enter)
  // What had this loaded happened before anybody listened.
  if (first instanceof PointerEvent) point(first)
  else enter(first)
  document.addEventListener('focusout', hide)
  document.addEventListener('scroll', hide, { passive: true })
  document.addEventListener('keydown', (event) => {
    const strip = stripOf(event.target)
    if (strip === null || event.ctrlKey || event.altKey || event.metaKey) return
    if (event.key === 'Escape') return hide()
    const last = Number(strip.getAttribute('aria-valuemax')) - 1
    const next = moved(event.key, Number(strip.getAttribute('aria-valuenow')) - 1, last)
    if (next === null) return
    event.preventDefault()
    show(strip, Math.max(0, Math.min(last, next)))
  })
}

const AN_HOUR = 4

function moved(key: string, at: number, last: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return at - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return at + 1
  if (key === 'PageDown') return at - AN_HOUR
  if (key === 'PageUp') return at + AN_HOUR
  if (key === 'Home') return 0
  return key === 'End' ? last : null
}

function stripOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('[data-strip]') : null
}
