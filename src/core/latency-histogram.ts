/**
 * Latencies counted in buckets that grow by a tenth, so that quantiles survive adding hours up: whatever a quantile says,
 * the latency of that rank was within 4.8 % of it ((1.1 - 1) / (1.1 + 1)). Keys are bucket numbers, values are counts.
 */
export type LatencyHistogram = Map<number, number>

const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)
/** One byte numbers a bucket: 1 µs to ten hours. */
const LAST_BUCKET = 255

export function newHistogram(): LatencyHistogram {
  return new Map()
}

export function addLatency(histogram: LatencyHistogram, latencyUs: number): void {
  const bucket = bucketOf(latencyUs)
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1)
}

export function mergeHistogram(into: LatencyHistogram, from: LatencyHistogram): void {
  for (const [bucket, count] of from) into.set(bucket, (into.get(bucket) ?? 0) + count)
}

/** The latency in microseconds that a share `q` of all were at or below, by nearest rank; `null` when there is none. */
export function quantile(histogram: LatencyHistogram, q: number): number | null {
  let total = 0
  for (const count of histogram.values()) total += count
  if (total === 0) return null
  let rank = Math.max(1, Math.ceil(q * total))
  for (const bucket of [...histogram.keys()].sort((a, b) => a - b)) {
    rank -= histogram.get(bucket) ?? 0
    if (rank <= 0) return middleOf(bucket)
  }
  return null
}

/** Bucket number and count as a varint, ascending: two bytes for each bucket that holds anything, as a rule. */
export function encodeHistogram(histogram: LatencyHistogram): Uint8Array | null {
  if (histogram.size === 0) return null
  const bytes: number[] = []
  for (const bucket of [...histogram.keys()].sort((a, b) => a - b)) {
    bytes.push(bucket)
    let count = histogram.get(bucket) ?? 0
    while (count > 127) {
      bytes.push((count % 128) | 128)
      count = Math.floor(count / 128)
    }
    bytes.push(count)
  }
  return Uint8Array.from(bytes)
}

/** Adds what `encodeHistogram` wrote; bytes that it cannot have written add nothing. */
export function decodeHistogram(into: LatencyHistogram, bytes: Uint8Array | null): void {
  if (bytes === null) return
  let at = 0
  while (at < bytes.length) {
    const bucket = bytes[at++] ?? 0
    let count = 0
    let scale = 1
    for (;;) {
      const byte = bytes[at++]
      if (byte === undefined) return
      count += (byte & 127) * scale
      if (byte < 128) break
      scale *= 128
    }
    into.set(bucket, (into.get(bucket) ?? 0) + count)
  }
}

function bucketOf(latencyUs: number): number {
  if (!(latencyUs > 1)) return 0
  return Math.min(LAST_BUCKET, Math.ceil(Math.log(latencyUs) / LOG_GROWTH))
}

/** The value whose relative distance to both borders of the bucket is the same. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : (2 * GROWTH ** bucket) / (GROWTH + 1)
}
