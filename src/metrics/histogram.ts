/** Counts durations on the hot path, without label lookups or allocations. */
export function createHistogram(bounds: readonly number[] = BOUNDS_SECONDS) {
  const counts = new Array<number>(bounds.length + 1).fill(0)
  let sumMs = 0

  return {
    /** Upper bounds, in seconds. */
    bounds,
    /** Observations per bucket; the last bucket has no upper bound. */
    counts: (): readonly number[] => counts,
    observe(ms: number): void {
      let bucket = 0
      const seconds = ms / 1000
      while (bucket < bounds.length && seconds > (bounds[bucket] as number)) bucket++
      counts[bucket] = (counts[bucket] as number) + 1
      sumMs += ms
    },

    /** The lines of a metric with this full name; `labels` is `a="b",c="d"` or empty. */
    render(name: string, labels: string): string {
      const before = labels === '' ? '' : `${labels},`
      let total = 0
      let text = ''
      for (const [bucket, bound] of bounds.entries()) {
        total += counts[bucket] as number
        text += `${name}_bucket{${before}le="${boundLabel(bound)}"} ${total}\n`
      }
      total += counts[bounds.length] as number
      const braces = labels === '' ? '' : `{${labels}}`
      return `${text}${name}_bucket{${before}le="+Inf"} ${total}\n${name}_sum${braces} ${Math.round(sumMs * 1000) / 1_000_000}\n${name}_count${braces} ${total}\n`
    },
  }
}

/** Upper bounds in seconds: from a node on the same machine to the longest useful deadline. */
const BOUNDS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export type Histogram = ReturnType<typeof createHistogram>

/** OpenMetrics requires `1.0`; the text format uses it too, so that both have the same series. */
export function boundLabel(bound: number): string {
  return Number.isInteger(bound) ? `${bound}.0` : String(bound)
}
