export type HeightTally = ReturnType<typeof createHeightTally>

/**
 * Counts endpoints by height, sorted, so that the majority's height is found without visiting every endpoint: a network
 * may have ten thousand endpoints, but only few different heights.
 */
export function createHeightTally() {
  /** Ascending and distinct; `counts` has the same indices. */
  const heights: number[] = []
  const counts: number[] = []
  let size = 0

  /** The index of `height`, or where to insert it. */
  function indexOf(height: number): number {
    let low = 0
    let high = heights.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((heights[middle] as number) < height) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    get size(): number {
      return size
    },

    add(height: number): void {
      const at = indexOf(height)
      if (heights[at] === height) (counts[at] as number)++
      else {
        heights.splice(at, 0, height)
        counts.splice(at, 0, 1)
      }
      size++
    },

    remove(height: number): void {
      const at = indexOf(height)
      if (heights[at] !== height) return
      ;(counts[at] as number)--
      if (counts[at] === 0) {
        heights.splice(at, 1)
        counts.splice(at, 1)
      }
      size--
    },

    /** Number of endpoints at this height or above. */
    reached(height: number): number {
      let count = 0
      for (let at = heights.length - 1; at >= 0 && (heights[at] as number) >= height; at--)
        count += counts[at] as number
      return count
    },

    /** The highest height that at least `count` endpoints have reached; `null` if there are fewer endpoints. */
    reachedBy(count: number): number | null {
      let left = count
      for (let at = heights.length - 1; at >= 0; at--) {
        left -= counts[at] as number
        if (left <= 0) return heights[at] as number
      }
      return null
    },

    /** The highest height that more than half have reached or are at most `slack` blocks below; `null` if empty. */
    ofMajority(slack: number): number | null {
      const needed = Math.floor(size / 2) + 1
      let reached = 0
      let low = heights.length
      for (let at = heights.length - 1; at >= 0; at--) {
        const height = heights[at] as number
        while (low > 0 && (heights[low - 1] as number) >= height - slack) reached += counts[--low] as number
        if (reached >= needed) return height
      }
      return null
    },
  }
}
