/** Shows the text of the cell under the pointer; sliders also follow the arrow keys, page keys, Home and End. */
export function moveCursor(readables: readonly Readable[], first: Event, goTo: (path: string) => void) {
  let told: { readonly one: HTMLElement; readonly at: number } | null = null
  const tip = document.createElement('div')
  tip.className = 'tipbox'
  tip.hidden = true
  tip.setAttribute('aria-hidden', 'true')
  const cursor = document.createElement('i')
  cursor.className = 'cursor'

  function find(target: EventTarget | null): Found | null {
    if (!(target instanceof Element)) return null
    for (const by of readables) {
      const one = target.closest<HTMLElement>(by.selector)
      if (one !== null) return { one, by, cells: by.cellsOf(one) }
    }
    return null
  }

  function show({ one, by, cells }: Found, wanted: number): void {
    const at = Math.max(0, Math.min(cells - 1, wanted))
    const text = by.tell(one, at)
    if (text === '') return hide()
    told = { one, at }
    if (one.role === 'slider') {
      one.setAttribute('aria-valuenow', String(at + 1))
      one.setAttribute('aria-valuetext', text)
    }
    const box = one.getBoundingClientRect()
    const place = (at + 0.5) / cells
    cursor.style.left = `${place * 100}%`
    if (cells === 1) cursor.remove()
    else if (cursor.parentElement !== one) one.append(cursor)
    tip.textContent = text
    tip.hidden = false
    if (!tip.isConnected) document.body.append(tip)
    const left = box.left + place * box.width - tip.offsetWidth / 2
    tip.style.left = `${Math.max(4, Math.min(innerWidth - tip.offsetWidth - 4, left))}px`
    const above = box.top - tip.offsetHeight - 6
    tip.style.top = `${above < 4 ? box.bottom + 6 : above}px`
  }

  function hide(): void {
    told = null
    tip.hidden = true
    cursor.remove()
  }

  function point({ target, clientX }: PointerEvent): void {
    const found = find(target)
    if (found === null) return void (find(document.activeElement) ?? hide())
    show(found, cellAt(found, clientX))
  }

  function open({ one, by }: Found, at: number): void {
    const path = by.pathOf?.(one, at) ?? null
    if (path === null) return
    hide()
    goTo(path)
  }

  function enter({ target }: Event): void {
    const found = find(target)
    if (found?.one.matches(':focus-visible')) show(found, placeOf(found.one))
    else hide()
  }

  document.addEventListener('pointermove', point)
  document.addEventListener('click', ({ target, clientX }) => {
    const found = find(target)
    if (found !== null) open(found, cellAt(found, clientX))
  })
  document.addEventListener('pointerdown', ({ target }) => {
    if (find(target) === null) hide()
  })
  document.addEventListener('focusin', enter)
  document.addEventListener('focusout', hide)
  document.addEventListener('scroll', hide, { passive: true })
  document.addEventListener('keydown', (event) => {
    const found = find(event.target)
    if (found === null || event.ctrlKey || event.altKey || event.metaKey) return
    if (event.key === 'Escape') return hide()
    if (event.key === 'Enter') return open(found, placeOf(found.one))
    const next = moved(event.key, placeOf(found.one), found)
    if (next === null) return
    event.preventDefault()
    show(found, next)
  })
  // A drawing may have changed the text, or removed the element.
  setInterval(() => {
    if (told === null) return
    const found = told.one.isConnected ? find(told.one) : null
    if (found === null) hide()
    else show(found, told.at)
  }, AGAIN_MS)
  // The event that loaded this file happened before the listeners were added.
  if (first instanceof PointerEvent) point(first)
  else enter(first)

  return {
    /** Whether the text of this element is shown. */
    tells: (one: HTMLElement): boolean => told?.one === one,
    tell(one: HTMLElement): void {
      const found = find(one)
      if (found !== null) show(found, 0)
    },
  }
}

export type Cursor = ReturnType<typeof moveCursor>

const AGAIN_MS = 1000

/** Elements that consist of cells with a text each. */
export interface Readable {
  readonly selector: string
  /** Cells per press of a page key. */
  readonly far: number
  cellsOf(one: HTMLElement): number
  /** Empty if the cell has no data. */
  tell(one: HTMLElement, at: number): string
  /** What a click or Enter opens. */
  pathOf?(one: HTMLElement, at: number): string | null
}

interface Found {
  readonly one: HTMLElement
  readonly by: Readable
  readonly cells: number
}

function cellAt({ one, cells }: Found, clientX: number): number {
  const { left, width } = one.getBoundingClientRect()
  return Math.max(0, Math.min(cells - 1, Math.floor(((clientX - left) / width) * cells)))
}

function placeOf(one: HTMLElement): number {
  return Number(one.getAttribute('aria-valuenow')) - 1
}

function moved(key: string, at: number, { by, cells }: Found): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return at - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return at + 1
  if (key === 'PageDown') return at - by.far
  if (key === 'PageUp') return at + by.far
  if (key === 'Home') return 0
  return key === 'End' ? cells - 1 : null
}
