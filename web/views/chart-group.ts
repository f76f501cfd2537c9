import type { Zone } from './format.ts'

/** Lines over time. The browser draws it (`web/charts.ts`); what it shows is told here in words, and as a table. */
export interface Chart {
  readonly key: string
  readonly title: string
  readonly unit: 'count' | 'latency' | 'duration'
  readonly series: readonly Series[]
  /** From where on something is wrong. */
  readonly thresholds: readonly Threshold[]
  /** `free` does not begin at zero; `wide` shows small and very large ones alike. */
  readonly scale: 'zero' | 'free' | 'wide'
}

export interface Series {
  readonly label: string
  readonly look: 'main' | 'second' | 'faint' | 'steps' | 'points'
  readonly values: readonly (number | null)[]
}

export interface Threshold {
  readonly value: number
  readonly state: 'degraded' | 'down'
}

/** Charts of one time. */
export interface ChartGroup {
  readonly fromMs: number
  readonly toMs: number
  /** Of every value of every series; ascending. */
  readonly times: readonly Moment[]
  readonly charts: readonly Chart[]
  /** What lies behind the lines. */
  readonly bands: readonly Band[]
  /** What the timeline above them tells, cell by cell. */
  readonly cells: readonly Moment[]
  cellText(at: number): string
  /** Where to go to see this part alone; `null` where that would be too little. */
  zoomTo(fromMs: number, toMs: number): string | null
  closer(atMs: number): string | null
  readonly wider: string | null
  /** Round times, and how they are written. */
  readonly ticks: readonly Tick[]
  readonly zone: Zone
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
}
