import type { Zone } from '../format.ts'

/** Lines over time, drawn by `web/charts.ts`. Views add a text and a table of the same data. */
export interface Chart {
  readonly key: string
  readonly title: string
  readonly unit: 'count' | 'latency' | 'duration'
  readonly series: readonly Series[]
  /** Values from which a condition applies. */
  readonly thresholds: readonly Threshold[]
  /** `free` does not start at zero; `wide` turns logarithmic for values of very different size. */
  readonly scale: 'zero' | 'free' | 'wide'
}

export interface Series {
  readonly label: string
  readonly look: 'main' | 'second' | 'faint' | 'stepped' | 'points'
  readonly values: readonly (number | null)[]
}

export interface Threshold {
  readonly value: number
  readonly state: 'degraded' | 'down'
}

/** Charts of the same time range. */
export interface ChartGroup {
  readonly fromMs: number
  readonly toMs: number
  /** The times of the values of every series, ascending. */
  readonly times: readonly Moment[]
  readonly charts: readonly Chart[]
  /** Titles of charts that would only show zeros. */
  readonly calm: readonly string[]
  /** Bands behind the lines. */
  readonly bands: readonly Band[]
  /** The cells of the timeline above the charts. */
  readonly cells: readonly Moment[]
  cellText(at: number): string
  /** The address that shows only this part; `null` if it is too short. */
  zoomTo(fromMs: number, toMs: number): string | null
  closer(atMs: number): string | null
  readonly wider: string | null
  /** Axis labels at round times. */
  readonly ticks: readonly Tick[]
  readonly zone: Zone
  /** The same time on a dashboard; `null` without one. */
  readonly grafana: string | null
}

export interface Tick {
  readonly ms: number
  readonly text: string
}

export interface Moment {
  readonly fromMs: number
  readonly toMs: number
}

export interface Band extends Moment {
  readonly kind: 'degraded' | 'down' | 'maintenance' | 'unknown'
  /** A small part of the time only. */
  readonly isBrief: boolean
}
