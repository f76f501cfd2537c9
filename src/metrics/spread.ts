import type { Histogram } from './histogram.ts'

/** How long things took, all of them together, as far as the buckets tell. */
export interface Spread {
  readonly count: number
  /** `null` where nothing was counted. */
  readonly p50Seconds: number | null
  readonly p99Seconds: number | null
}

export function spreadOf(histograms: readonly Histogram[]): Spread {
  const [first] = histograms
  if (first === undefined) return { count: 0, p50Seconds: null, p99Seconds: null }
  const counts = first
    .counts()
    .map((_, bucket) => histograms.reduce((sum, one) => sum + (one.counts()[bucket] ?? 0), 0))
  return {
    count: counts.reduce((sum, count) => sum + count, 0),
    p50Seconds: quantile(first.bounds, counts, 0.5),
    p99Seconds: quantile(first.bounds, counts, 0.99),
  }
}

/** As `histogram_quantile` of Prometheus has it: evenly within a bucket, and never beyond the last bound. */
function quantile(bounds: readonly number[], counts: readonly number[], q: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0)
  if (total === 0) return null
  let rank = q * total
  for (const [bucket, bound] of bounds.entries()) {
    const within = counts[bucket] ?? 0
    if (rank > within) {
      rank -= within
      continue
    }
    const from = bounds[bucket - 1] ?? 0
    return within === 0 ? from : from + (bound - from) * (rank / within)
  }
  return bounds.at(-1) ?? null
}
