import type { Histogram } from './histogram.ts'
import { type MetricName, PREFIX } from './registry.ts'

/** The lines of metrics, to which series are added one by one; `labels` is `a="b",c="d"` or empty. */
export function createLines() {
  const lines: Lines = {}
  return {
    lines,
    /** An unknown value has no line. */
    add(name: MetricName, value: number | null | undefined, labels = ''): void {
      if (value === null || value === undefined) return
      lines[name] = `${lines[name] ?? ''}${PREFIX}${name}${labels === '' ? '' : `{${labels}}`} ${value}\n`
    },
    addHistogram(name: MetricName, histogram: Histogram, labels = ''): void {
      lines[name] = (lines[name] ?? '') + histogram.render(PREFIX + name, labels)
    },
  }
}

export type Lines = Partial<Record<MetricName, string>>

/**
 * The lines of an endpoint, put together only when they are sent: with thousands of endpoints they are most of a text that
 * can reach 46 MB. `parts` are ASCII; the labels of the endpoint belong between them.
 */
export type DeferredLines = readonly [parts: readonly string[], labels: string]

export function textOf([parts, labels]: DeferredLines): string {
  return parts.join(labels)
}

/** The length of that text. */
export function bytesOf([parts, labels]: DeferredLines): number {
  const ofLabels = Math.max(0, parts.length - 1) * Buffer.byteLength(labels)
  return parts.reduce((sum, part) => sum + part.length, ofLabels)
}
