import type { Cursor } from './tooltip.ts'
import type { ReadablesDeps } from './tooltip-texts.ts'

/** Loads what tells a reader about strips, charts and tiles when the pointer or focus first comes to one. */
export function followReader(deps: ReadablesDeps): Reading {
  let cursor: Cursor | null = null
  let holds: Reading['holdsOrder'] | null = null
  let loading: Promise<void> | null = null
  /** What the reader came to last, perhaps while the code was loading. */
  let latest: Event

  function load(event: Event): Promise<void> | null {
    latest = event
    const { target } = event
    if (
      loading === null &&
      target instanceof Element &&
      target.closest('.networks, .events, .days, .sheet, [data-strip], [data-chart-table]') !== null
    )
      loading = import('./tooltip-texts.ts').then((loaded) => {
        cursor = loaded.readAll(deps, latest)
        holds = loaded.holdsOrder
      })
    return loading
  }
  document.addEventListener('pointerover', (event) => void load(event))
  document.addEventListener('focusin', (event) => void load(event))

  return {
    holdsOrder: (page) => holds?.(page) === true,
    tellFirst(one, event) {
      if (cursor?.tells(one) === true) return false
      void load(event)
        ?.then(() => cursor?.tell(one))
        .catch(() => deps.goTo((one as HTMLAnchorElement).href))
      return true
    },
  }
}

export interface Reading {
  /** Whether the reader is among the endpoints, so that they must stay where they are. */
  holdsOrder(page: HTMLElement): boolean
  /** Tells what the first tap on this element asks for; `false` if that is shown already. */
  tellFirst(one: HTMLElement, event: Event): boolean
}
