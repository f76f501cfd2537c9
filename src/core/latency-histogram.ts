/**
 * Latency counts by bucket number. Buckets grow by a tenth, so histograms of several hours can be added. The error of a
 * quantile is at most 4.8 % ((1.1 - 1) / (1.1 + 1)).
 */
export type LatencyHistogram = Map<number, number>

const GROWTH = 1.1
const LOG_GROWTH = Math.log(GROWTH)
/** A bucket number is one byte: 1 µs to ten hours. */
const LAST_BUCKET = 255

export function addLatency(histogram: LatencyHistogram, latencyUs: number): void {
  const bucket = bucketOf(latencyUs)
  histogram.set(bucket, (histogram.get(bucket) ?? 0) + 1)
}

export function mergeHistogram(into: LatencyHistogram, from: LatencyHistogram): void {
  for (const [bucket, count] of from) into.set(bucket, (into.get(bucket) ?? 0) + count)
}

/** The latency in microseconds at quantile `q`, by nearest rank; `null` if empty. */
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

/** Gaps of at least `NEAR` and counts above `SMALL` take extra bytes. */
const NEAR = 15
const SMALL = 15

/**
 * One byte per bucket, ascending. High four bits: number of empty buckets before it; 15 means that the bucket number
 * follows as a byte. Low four bits: its count; 0 means that the count follows as a varint.
 */
export function encodeHistogram(histogram: LatencyHistogram): Uint8Array | null {
  if (histogram.size === 0) return null
  const bytes: number[] = []
  let next = 0
  for (const bucket of [...histogram.keys()].sort((a, b) => a - b)) {
    let count = histogram.get(bucket) ?? 0
    const gap = Math.min(NEAR, bucket - next)
    bytes.push(gap * 16 + (count <= SMALL ? count : 0))
    if (gap === NEAR) bytes.push(bucket)
    if (count > SMALL) {
      while (count > 127) {
        bytes.push((count % 128) | 128)
        count = Math.floor(count / 128)
      }
      bytes.push(count)
    }
    next = bucket + 1
  }
  return Uint8Array.from(bytes)
}

/** Adds what `encodeHistogram` wrote. Stops at invalid bytes. */
export function decodeHistogram(into: LatencyHistogram, bytes: Uint8Array | null): void {
  if (bytes === null) return
  let at = 0
  let next = 0
  while (at < bytes.length) {
    const head = bytes[at++] ?? 0
    const gap = head >> 4
    const bucket = gap === NEAR ? bytes[at++] : next + gap
    if (bucket === undefined || bucket < next || bucket > LAST_BUCKET) return
    let count = head & SMALL
    if (count === 0) {
      let scale = 1
      for (;;) {
        const byte = bytes[at++]
        if (byte === undefined) return
        count += (byte & 127) * scale
        if (byte < 128) break
        scale *= 128
      }
    }
    into.set(bucket, (into.get(bucket) ?? 0) + count)
    next = bucket + 1
  }
}

function bucketOf(latencyUs: number): number {
  if (!(latencyUs > 1)) return 0
  return Math.min(LAST_BUCKET, Math.ceil(Math.log(latencyUs) / LOG_GROWTH))
}

/** The value with the same relative distance to both bounds of the bucket. */
function middleOf(bucket: number): number {
  return bucket === 0 ? 1 : (2 * GROWTH ** bucket) / (GROWTH + 1)
}
