import { age } from './views/format.ts'

/** Updates the text of all ages and countdowns that changed in the last second, without a redraw. */
export function tick(page: ParentNode, nowMs: number): void {
  for (const one of page.querySelectorAll<HTMLElement>('[data-since], [data-until]')) {
    const { since, until } = one.dataset
    const text = age(Math.max(0, until === undefined ? nowMs - Number(since) : Number(until) - nowMs) / 1000)
    const last = one.lastChild
    if (last instanceof Text && last.data !== text) last.data = text
  }
}
