import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  addLatency,
  decodeHistogram,
  encodeHistogram,
  type LatencyHistogram,
  mergeHistogram,
  quantile,
} from '../../src/core/latency-histogram.ts'

const latencies = fc.array(fc.integer({ min: 1, max: 600_000_000 }), { minLength: 1, maxLength: 200 })

function histogramOf(list: readonly number[]): LatencyHistogram {
  const histogram = new Map()
  for (const latencyUs of list) addLatency(histogram, latencyUs)
  return histogram
}

test('a quantile is within 4.8 % of the latency of that rank, from a microsecond to ten minutes', () => {
  fc.assert(
    fc.property(latencies, fc.constantFrom(0.5, 0.95, 1), (list, q) => {
      const exact = [...list].sort((a, b) => a - b)[Math.ceil(q * list.length) - 1] ?? 0

      const told = quantile(histogramOf(list), q) ?? 0

      expect(Math.abs(told - exact) / exact).toBeLessThan(0.048)
    }),
  )
})

test('adding two histograms up is the same as counting everything in one', () => {
  fc.assert(
    fc.property(latencies, latencies, (first, second) => {
      const merged = histogramOf(first)
      mergeHistogram(merged, histogramOf(second))

      expect(merged).toEqual(histogramOf([...first, ...second]))
    }),
  )
})

test('bytes hold the same counts, large ones too', () => {
  const counts = fc.array(fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 1_000_000_000 })), { maxLength: 50 })
  fc.assert(
    fc.property(counts, (entries) => {
      const histogram: LatencyHistogram = new Map(entries)

      const back = new Map()
      decodeHistogram(back, encodeHistogram(histogram))

      expect(back).toEqual(histogram)
    }),
  )
})

test('truncated and random bytes are read safely', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const histogram = new Map()
      decodeHistogram(histogram, bytes)

      expect(histogram.size).toBeLessThanOrEqual(bytes.length)
    }),
  )
})

test('twenty similar polls take less than a byte each, and an empty histogram none', () => {
  const list = Array.from({ length: 20 }, (_, at) => 40_000 + at * 1500)

  expect(encodeHistogram(histogramOf(list))?.length).toBeLessThan(12)
  expect(encodeHistogram(new Map())).toBeNull()
  expect(quantile(new Map(), 0.5)).toBeNull()
})
