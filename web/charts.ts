import uPlot from 'uplot'
import { type ChartCursor, createChartCursor, type Drawn, type Showing } from './chart-cursor.ts'
import { optionsOf } from './chart-options.ts'

let drawn: readonly Drawn[] = []
let shown: Showing | null = null
let cursor: ChartCursor | null = null

/** Draws the charts of a view into their elements, with one cursor for all. */
export function showCharts(showing: Showing): void {
  const isSame =
    shown?.group === showing.group && shown.theme === showing.theme && drawn.every(({ place }) => place.isConnected)
  shown = showing
  cursor ??= createChartCursor({ shown: () => shown, drawn: () => drawn })
  if (!isSame) drawAll()
}

function drawAll(): void {
  if (shown === null) return
  for (const { plot, place } of drawn) {
    sizes.unobserve(place)
    plot.destroy()
  }
  const { group, page } = shown
  const data = [group.times.map(({ fromMs }) => fromMs / 1000)]
  drawn = group.charts.flatMap((chart) => {
    const place = page.querySelector<HTMLElement>(`[data-chart="${chart.key}"]`)
    if (place === null) return []
    const options = optionsOf({ chart, group, place, zoom, point: (atMs) => cursor?.point(atMs) })
    const values = chart.series.map((series) => [...series.values])
    const plot = new uPlot(options, [...data, ...values] as uPlot.AlignedData, place)
    sizes.observe(place)
    return [{ chart, plot, place }]
  })
  cursor?.again()
}

function zoom(fromMs: number, toMs: number): void {
  const path = shown?.group.zoomTo(fromMs, toMs) ?? null
  if (path !== null) shown?.goTo(path)
}

const sizes = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) {
    const of = drawn.find(({ place }) => place === target)
    const width = Math.floor(contentRect.width)
    if (of !== undefined && width > 0 && of.plot.width !== width) {
      of.plot.setSize({ width, height: of.plot.height })
      cursor?.again()
    }
  }
})

// A canvas does not repaint when the colour scheme changes.
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll)
