/**
 * Finds the times in which this process was ready to run, but waited for a CPU. Such waits add up: a poll of several
 * requests exceeds its timeout although no single wait is as long as a stall.
 */
export function createCpuWaits() {
  const samples: Sample[] = []

  return {
    /** Call it several times per second. `totalMs`: all waits since the process started; `at` is monotonic, in ms. */
    sample(at: number, totalMs: number): void {
      samples.push({ at, totalMs })
      if (samples.length > MAX_SAMPLES) samples.shift()
    },

    /** Whether this process waited for a CPU for half of this time, and for half a second. */
    starved(from: number, to: number): boolean {
      if (to - from < MIN_WAIT_MS) return false
      let last = samples.length - 1
      while (last > 0 && (samples[last - 1] as Sample).at >= to) last--
      let first = last
      while (first > 0 && (samples[first] as Sample).at > from) first--
      const [start, end] = [samples[first], samples[last]]
      if (start === undefined || end === undefined || end.at <= start.at) return false
      const share = (end.totalMs - start.totalMs) / (end.at - start.at)
      return share * (to - from) >= MIN_WAIT_MS && share >= 0.5
    },
  }
}

interface Sample {
  readonly at: number
  readonly totalMs: number
}

const MIN_WAIT_MS = 500
/** At most ten come each second. Of a poll that is older than all of them, the known part decides. */
const MAX_SAMPLES = 512
