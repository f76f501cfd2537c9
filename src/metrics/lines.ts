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
