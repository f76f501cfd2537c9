import type uPlot from 'uplot'
import { momentAt, readingAt } from './views/charts/chart.ts'
import type { Chart, ChartGroup, Moment } from './views/charts/chart-group.ts'
import type { Settings } from './views/view.ts'

/**
 * A cursor at one time, shown in every chart and in the timeline above them. It follows the pointer and the keys: arrows,
 * Home, End and page keys move; Enter and + zoom in, - zooms out, Escape hides.
 */
export function createChartCursor({ shown, drawn }: ChartCursorDeps) {
  const line = document.createElement('i')
  line.className = 'cursor'
  let pointed: number | null = null

  function point(atMs: number | null): void {
    pointed = atMs
    const group = shown()?.group
    if (group === undefined) return
    for (const { chart, plot, place } of drawn()) {
      const at = atMs === null ? -1 : momentAt(group.times, atMs)
      const left = at < 0 || atMs === null ? -10 : plot.valToPos(atMs / 1000, 'x')
      if (plot.cursor.left !== left) plot.setCursor({ left, top: at < 0 ? -10 : 10 }, false)
      read(chart.key, place, at, at < 0 ? '' : readingAt(chart, group.times, at, group.zone))
    }
    const states = timeline()
    const at = atMs === null ? -1 : momentAt(group.cells, atMs)
    if (states === null) return
    read('timeline', states, at, at < 0 ? '' : group.cellText(at))
    if (at < 0 || atMs === null) return line.remove()
    line.style.left = `${((atMs - group.fromMs) / (group.toMs - group.fromMs)) * 100}%`
    if (line.parentElement !== states) states.append(line)
  }

  function read(key: string, place: HTMLElement, at: number, text: string): void {
    const output = shown()?.page.querySelector(`[data-read="${key}"]`)
    if (output !== null && output !== undefined && output.textContent !== text) output.textContent = text
    if (at < 0) return
    place.setAttribute('aria-valuenow', String(at + 1))
    if (text !== '') place.setAttribute('aria-valuetext', text)
  }

  function timeline(): HTMLElement | null {
    return shown()?.page.querySelector<HTMLElement>('[data-timeline]') ?? null
  }

  function timeUnder({ clientX }: MouseEvent, states: HTMLElement): number | null {
    const group = shown()?.group
    if (group === undefined) return null
    const { left, width } = states.getBoundingClientRect()
    return group.fromMs + Math.max(0, Math.min(1, (clientX - left) / width)) * (group.toMs - group.fromMs)
  }

  function closer(atMs: number): void {
    const path = shown()?.group.closer(atMs) ?? null
    if (path !== null) shown()?.goTo(path)
  }

  let isOver = false
  document.addEventListener('pointermove', (event) => {
    const states = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-timeline]') : null
    if (states !== null) point(timeUnder(event, states))
    else if (isOver && !isIn(event.target)) point(null)
    isOver = states !== null
  })
  document.addEventListener('click', (event) => {
    const states = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-timeline]') : null
    const atMs = states === null ? null : timeUnder(event, states)
    if (atMs !== null) closer(atMs)
  })
  document.addEventListener('focusout', ({ relatedTarget }) => {
    if (pointed !== null && !isIn(relatedTarget)) point(null)
  })

  document.addEventListener('keydown', (event) => {
    const on = event.target
    const group = shown()?.group
    if (!(on instanceof HTMLElement) || !isIn(on) || group === undefined) return
    if (event.ctrlKey || event.altKey || event.metaKey) return
    const moments = on.dataset.chart === undefined ? group.cells : group.times
    const at = pointed === null ? moments.length : momentAt(moments, pointed)
    const next = moved(event.key, at, moments.length - 1)
    if (next !== null) point(middle(moments[Math.max(0, Math.min(moments.length - 1, next))]))
    else if (event.key === 'Escape') point(null)
    else if (event.key === 'Enter' || event.key === '+') closer(pointed ?? group.toMs)
    else if (event.key === '-' && group.wider !== null) shown()?.goTo(group.wider)
    else return
    event.preventDefault()
  })

  return {
    /** `null` hides the cursor. */
    point,
    /** Shows the cursor again after a redraw. */
    again: (): void => point(pointed),
  }
}

export interface Showing {
  readonly page: HTMLElement
  readonly group: ChartGroup
  readonly theme: Settings['theme']
  readonly goTo: (path: string) => void
}

export interface Drawn {
  readonly chart: Chart
  readonly plot: uPlot
  readonly place: HTMLElement
}

export interface ChartCursorDeps {
  readonly shown: () => Showing | null
  readonly drawn: () => readonly Drawn[]
}

export type ChartCursor = ReturnType<typeof createChartCursor>

const PAGE_STEP = 12

function isIn(target: EventTarget | null): boolean {
  return target instanceof Element && target.matches('[data-timeline], [data-chart]')
}

function middle(moment: Moment | undefined): number | null {
  return moment === undefined ? null : (moment.fromMs + moment.toMs) / 2
}

function moved(key: string, at: number, last: number): number | null {
  if (key === 'ArrowLeft' || key === 'ArrowDown') return at - 1
  if (key === 'ArrowRight' || key === 'ArrowUp') return at + 1
  if (key === 'PageDown') return at - PAGE_STEP
  if (key === 'PageUp') return at + PAGE_STEP
  if (key === 'Home') return 0
  return key === 'End' ? last : null
}
