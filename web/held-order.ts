/** Lists whose order holds. */
const LISTS = '.networks, .events, .days, .sheet'
/** A pointer that was left on a wall screen must not hold the order for ever. */
const HOLD_MS = 60_000

/**
 * Whether endpoints and open incidents stay where they are: while the reader points at one or has the focus on one,
 * because what moves then is clicked by mistake.
 */
export function holdsOrder(page: HTMLElement): boolean {
  if (performance.now() - activeAt > HOLD_MS) return false
  return [...page.querySelectorAll(LISTS)].some(
    (list) => list.matches(':hover') || list.querySelector(':focus-visible') !== null,
  )
}

let activeAt = performance.now()
for (const type of ['pointermove', 'keydown']) {
  document.addEventListener(type, () => {
    activeAt = performance.now()
  })
}
