/**
 * Reads charts step by step: under the pointer, and with the arrow keys, Home and End; the page keys go ten steps. What is
 * told of a step is its row of the table behind. Loaded when a chart is first touched.
 */
export function watchCourses(first: Event): void {
  const tip = document.createElement('div')
  tip.className = 'tipbox'
  tip.hidden = true
  tip.setAttribute('aria-hidden', 'true')
  const cursor = document.createElement('i')
  cursor.className = 'cursor'

  function show(plot: HTMLElement, at: number): void {
    const rows = tableOf(plot)?.tBodies[0]?.rows
    const text = rows === undefined ? '' : sentence(rows[at], tableOf(plot)?.tHead?.rows[0])
    if (rows === undefined || text === '') return hide()
    if (plot.role === 'slider') {
      plot.setAttribute('aria-valuenow', String(at + 1))
      plot.setAttribute('aria-valuetext', text)
    }
    const box = plot.getBoundingClientRect()
    const place = (at + 0.5) / rows.length
    cursor.style.left = `${place * 100}%`
    if (cursor.parentElement !== plot) plot.append(cursor)
    tip.textContent = text
    tip.hidden = false
    if (!tip.isConnected) document.body.append(tip)
    const left = box.left + place * box.width - tip.offsetWidth / 2
    tip.style.left = `${Math.max(4, Math.min(innerWidth - tip.offsetWidth - 4, left))}px`
    const above = box.top - tip.offsetHeight - 6
    tip.style.top = `${above < 4 ? box.bottom + 6 : above}px`
  }

  function hide(): void {
    tip.hidden = true
    cursor.remove()
  }

  function point({ target, clientX }: PointerEvent): void {
    const plot = plotOf(target)
    if (plot === null) return void (plotOf(document.activeElement) ?? hide())
    const { left, width } = plot.getBoundingClientRect()
    const cells = tableOf(plot)?.tBodies[0]?.rows.length ?? 0
    show(plot, Math.max(0, Math.min(cells - 1, Math.floor(((clientX - left) / width) * cells))))
  }

  function enter(plot: HTMLElement | null): void {
    if (plot?.matches(':focus-visible')) show(plot, Number(plot.getAttribute('aria-valuenow')) - 1)
    else hide()
  }

  document.addEventListener('pointermove', point)
  document.addEventListener('focusin', ({ target }) => enter(plotOf(target)))
  document.addEventListener('focusout', hide)
  document.addEventListener('scroll', hide, { passive: true })
  document.addEventListener('keydown', (event) => {
    const plot = plotOf(event.target)
    if (plot === null || event.ctrlKey || event.altKey || event.metaKey) return
    if (event.key === 'Escape') return hide()
    const last = Number(plot.getAttribute('aria-valuemax')) - 1
    const next = moved(event.key, Number(plot.getAttribute('aria-valuenow')) - 1, last)
    if (next === null) return
    event.preventDefault()
    show(plot, Math.max(0, Math.min(last, next)))
  })
  if (first instanceof PointerEvent) point(first)
  else enter(plotOf(first.target))
}

const FAR = 10

function moved(key: string, at: number, last: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return at - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return at + 1
  if (key === 'PageDown') return at - FAR
  if (key === 'PageUp') return at + FAR
  if (key === 'Home') return 0
  return key === 'End' ? last : null
}

function plotOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>('[data-course]') : null
}

function tableOf(plot: HTMLElement): HTMLTableElement | null {
  return document.querySelector<HTMLTableElement>(`#${CSS.escape(plot.dataset.course ?? '')}`)
}

/** `19:03: State up, Lag 0 blocks`. */
function sentence(row: HTMLTableRowElement | undefined, titles: HTMLTableRowElement | undefined): string {
  const [time, ...cells] = [...(row?.cells ?? [])].map((cell) => cell.textContent.trim())
  if (time === undefined) return ''
  const names = [...(titles?.cells ?? [])].slice(1).map((cell) => cell.textContent.trim())
  return `${time}: ${cells.map((cell, at) => `${names[at] ?? ''} ${cell}`).join(', ')}`
}
