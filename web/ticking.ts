import { age } from './views/format.ts'

/** Updates the text of all ages and countdowns that changed in the last second, without a redraw. */
export function tick(page: ParentNode, nowMs: number): void {
  for (const one of page.querySelectorAll<HTMLTimeElement>('[data-since], [data-until]')) {
    const passedMs = nowMs - Date.parse(one.dateTime)
    const text = age((one.dataset.until === undefined ? passedMs : -passedMs) / 1000)
    const last = one.lastChild
    if (last instanceof Text && last.data !== text) last.data = text
  }
}
