import uPlot from 'uplot'
import { isWide, momentAt, topOf, UNITS } from './views/charts/chart.ts'
import type { Band, Chart, ChartGroup, Series } from './views/charts/chart-group.ts'

/** The uPlot options of a chart: shared time axis, with bad states and unknown time as bands behind the lines. */
export function optionsOf({ chart, group, place, zoom, point }: ChartOptions): uPlot.Options {
  const colours = readColours(place)
  const { height, fontSize, fontFamily } = getComputedStyle(place)
  const gutter = Number.parseFloat(getComputedStyle(place).getPropertyValue('--gutter'))
  const font = `${Number.parseFloat(fontSize)}px ${fontFamily}`
  const text = UNITS[chart.unit]
  const axis = { stroke: colours.soft, font, ticks: { show: false } } as const
  return {
    width: place.clientWidth,
    height: Number.parseFloat(height),
    padding: [6, 0, 4, 0],
    legend: { show: false },
    cursor: {
      y: false,
      dataIdx: (_plot, _series, _closest, atSeconds) => Math.max(0, momentAt(group.times, atSeconds * 1000)),
      drag: { x: true, y: false, setScale: false, dist: 6 },
      points: { size: 6, fill: (_, at) => strokeOf(chart.series[at - 1], colours) },
    },
    scales: {
      x: { time: false, range: () => [group.fromMs / 1000, group.toMs / 1000] },
      y: rangeOf(chart),
    },
    axes: [
      {
        ...axis,
        size: 0,
        splits: () => group.ticks.map(({ ms }) => ms / 1000),
        values: (_, splits) => splits.map(() => ''),
        grid: { stroke: colours.line, width: 1 },
      },
      {
        ...axis,
        size: gutter,
        gap: 6,
        space: 26,
        // uPlot's own loop never ends for a minimum just below a power of ten, such as 0.00097.
        ...(isWide(chart) ? { splits: (_, _axis, low, high) => powersOfTen(low, high) } : {}),
        grid: {
          stroke: colours.line,
          width: 1,
          filter: (_, splits) => splits.filter((value) => isShown(value, chart)),
        },
        values: (_, splits) => splits.map((value) => (isShown(value, chart) ? text(value) : '')),
      },
    ],
    series: [{}, ...chart.series.map((series) => seriesOf(series, colours))],
    bands: bandsOf(chart, colours),
    hooks: {
      drawClear: [(plot) => drawBands(plot, group, colours)],
      draw: [(plot) => drawThresholds(plot, chart, colours)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width === 0) return
          const [from, to] = [plot.posToVal(left, 'x'), plot.posToVal(left + width, 'x')]
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
          zoom(from * 1000, to * 1000)
        },
      ],
      setCursor: [
        (plot) => {
          // Only pointer events; the cursors of the other charts are moved by script.
          if (plot.cursor.event === undefined || plot.cursor.event === null) return
          const { left } = plot.cursor
          point(left === undefined || left === null || left < 0 ? null : plot.posToVal(left, 'x') * 1000)
        },
      ],
    },
  }
}

export interface ChartOptions {
  readonly chart: Chart
  readonly group: ChartGroup
  readonly place: HTMLElement
  readonly zoom: (fromMs: number, toMs: number) => void
  readonly point: (atMs: number | null) => void
}

type Colours = Readonly<Record<(typeof COLOURS)[number], string>>
const COLOURS = [
  'ink',
  'soft',
  'line',
  'lane',
  'hatch',
  'degraded',
  'down',
  'maintenance',
  'degraded-wash',
  'down-wash',
  'maintenance-wash',
] as const

/** uPlot declares its scale distributions as a const enum, which does not exist at run time. */
const LOGARITHMIC: object = { distr: 3, log: 10 }

function rangeOf(chart: Chart): uPlot.Scale {
  if (isWide(chart)) return { ...LOGARITHMIC, range: (_, low, high) => [(low ?? 1) * 0.8, topOf(chart, high ?? 1)] }
  if (chart.scale === 'free') {
    return { range: (_, low, high) => uPlot.rangeNum(low ?? 0, Math.max(high ?? 1, (low ?? 0) + 1), 0.08, false) }
  }
  return { range: (_, _low, high) => [0, topOf(chart, high ?? 0)] }
}

/** Those from `low` to `high`, both above 0. */
export function powersOfTen(low: number, high: number): number[] {
  const first = Math.ceil(Math.log10(low))
  return Array.from({ length: Math.floor(Math.log10(high)) - first + 1 }, (_, at) => 10 ** (first + at))
}

/** Shows only powers of ten on a logarithmic scale, and only whole numbers for counts. */
function isShown(value: number | null, chart: Chart): value is number {
  if (value === null) return false
  if (isWide(chart)) return Number.isInteger(Math.round(Math.log10(value) * 1e6) / 1e6)
  return chart.unit !== 'count' || Number.isInteger(value)
}

/** Shades what is between the main line and the second one below it: p95 and p50. */
function bandsOf({ series }: Chart, { soft }: Colours): uPlot.Band[] {
  const [main, second] = (['main', 'second'] as const).map((look) => 1 + series.findIndex((one) => one.look === look))
  if (!main || !second) return []
  return [{ series: [main, second], fill: `color-mix(in srgb, ${soft} 18%, transparent)` }]
}

function strokeOf(series: Series | undefined, colours: Colours): string {
  return series?.look === 'second' || series?.look === 'faint' ? colours.soft : colours.ink
}

function seriesOf(series: Series, colours: Colours): uPlot.Series {
  const stroke = strokeOf(series, colours)
  const hidden = { show: false } as const
  const { stepped } = uPlot.paths
  switch (series.look) {
    case 'main':
      return { stroke, width: 1.6, points: alone }
    case 'second':
      return { stroke, width: 1.2, points: alone }
    case 'faint':
      return { stroke, width: 1, dash: [1, 3], points: hidden }
    case 'stepped':
      return {
        stroke,
        width: 1.4,
        fill: `color-mix(in srgb, ${colours.soft} 18%, transparent)`,
        ...(stepped === undefined ? {} : { paths: stepped({ align: 1 }) }),
        points: alone,
      }
    case 'points':
      return { stroke, width: 1, points: { show: true, size: 4, fill: stroke, width: 0 } }
  }
}

/** A value between two unknown ones has no line, so it needs a point to be visible. */
const alone: uPlot.Series.Points = {
  size: 4,
  width: 0,
  filter: (plot, series) => {
    const values = plot.data[series]
    return [...(values ?? [])].flatMap((value, at) =>
      value !== null && (values?.[at - 1] ?? null) === null && (values?.[at + 1] ?? null) === null ? [at] : [],
    )
  },
  show: true,
}

function drawBands({ ctx, bbox, valToPos }: uPlot, { bands }: ChartGroup, colours: Colours): void {
  ctx.save()
  ctx.beginPath()
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height)
  ctx.clip()
  for (const { fromMs, toMs, kind, isBrief } of bands) {
    const from = valToPos(fromMs / 1000, 'x', true)
    const width = Math.max(devicePixelRatio, valToPos(toMs / 1000, 'x', true) - from)
    if (!isBrief) {
      ctx.fillStyle = fillOf(kind, ctx, colours)
      ctx.fillRect(from, bbox.top, width, bbox.height)
    }
    if (kind !== 'down' && kind !== 'degraded') continue
    ctx.fillStyle = colours[kind]
    ctx.fillRect(from, bbox.top, width, (kind === 'down' ? 3 : 1.5) * devicePixelRatio)
  }
  ctx.restore()
}

function fillOf(kind: Band['kind'], ctx: CanvasRenderingContext2D, colours: Colours): string | CanvasPattern {
  if (kind !== 'unknown') return colours[`${kind}-wash`]
  const tile = document.createElement('canvas')
  const size = 6 * devicePixelRatio
  Object.assign(tile, { width: size, height: size })
  const brush = tile.getContext('2d')
  if (brush === null) return colours.lane
  brush.strokeStyle = colours.hatch
  brush.lineWidth = devicePixelRatio
  for (const shift of [-size, 0, size]) {
    brush.moveTo(shift, size)
    brush.lineTo(shift + size, 0)
  }
  brush.stroke()
  return ctx.createPattern(tile, 'repeat') ?? colours.lane
}

function drawThresholds({ ctx, bbox, valToPos }: uPlot, { thresholds }: Chart, colours: Colours): void {
  ctx.save()
  ctx.lineWidth = devicePixelRatio
  for (const { value, state } of thresholds) {
    const y = Math.round(valToPos(value, 'y', true)) + 0.5
    if (y < bbox.top || y > bbox.top + bbox.height) continue
    ctx.strokeStyle = colours[state]
    ctx.setLineDash(state === 'down' ? [] : [5 * devicePixelRatio, 4 * devicePixelRatio])
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
  }
  ctx.restore()
}

/** Reads computed colours: a custom property holds `light-dark(…)`, which is only resolved where it is used. */
function readColours(place: HTMLElement): Colours {
  const probe = document.createElement('i')
  place.append(probe)
  const read = COLOURS.map((name) => {
    probe.style.color = `var(--${name})`
    return [name, getComputedStyle(probe).color]
  })
  probe.remove()
  return Object.fromEntries(read) as Colours
}
