import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  besidePaths,
  closerPath,
  nowPath,
  partsOf,
  problemOf,
  RANGE_NAMES,
  RANGES,
  type Span,
  spanOf,
  ticksOf,
  widerPath,
} from '../../web/views/time-range.ts'

const NOW = Date.UTC(2026, 10, 21, 19, 3, 4)
const HOUR = 3_600_000
const OF = { network: 'one', endpoint: 'a' }

function spanAt(path: string): Span {
  return spanOf({ query: Object.fromEntries(new URL(path, 'http://page').searchParams) }, NOW)
}

describe('the time range', () => {
  test('is the last day by default', () => {
    expect(spanOf({ query: {} }, NOW)).toMatchObject({ range: '24h', toMs: NOW, stepMs: 300_000, isClose: false })
    expect(spanOf({ query: { range: '90d' } }, NOW)).toMatchObject({ range: '90d', stepMs: 6 * HOUR })
    const from = NOW / 1000 - 3600
    const hour = spanOf({ query: { from: String(from), to: String(NOW / 1000) } }, NOW)
    expect(hour).toEqual({ fromMs: from * 1000, toMs: NOW, stepMs: 10_000, range: null, isClose: true })
  })

  test.each([
    ['a range that there is not', { range: '5y' }],
    ['an end before its beginning', { from: '20', to: '10' }],
    ['no numbers', { from: 'x', to: '1e9' }],
    ['half of it', { from: '1763751784' }],
    ['a second', { from: '1763751784', to: '1763751785' }],
    ['what is yet to come', { from: String(NOW / 1000 + 10), to: String(NOW / 1000 + 7210) }],
    ['a lifetime', { from: '0', to: String(NOW / 1000) }],
  ])('is the last day if the address has %s', (_, query) => {
    expect(spanOf({ query }, NOW).range).toBe('24h')
  })

  test.each([
    ['The range ends before it begins.', 20, 10],
    ['The range ends before it begins.', Number.NaN, 10],
    ['The range begins in the future.', NOW / 1000 + 10, NOW / 1000 + 7210],
    ['A range is at least a minute and at most a year long.', 10, 69],
    ['A range is at least a minute and at most a year long.', 0, NOW / 1000],
  ])('that cannot be shown has a problem: %s', (problem, from, to) => {
    expect(spanOf({ query: { from: String(from), to: String(to) } }, NOW).range).not.toBeNull()
    expect(problemOf(from, to, NOW)).toBe(problem)
  })

  test('has at most 401 steps, which begin at round times', () => {
    const minutes = fc.integer({ min: 1, max: 366 * 1440 })
    fc.assert(
      fc.property(minutes, (width) => {
        const { fromMs, toMs, stepMs } = spanAt(`/?from=${NOW / 1000 - width * 60}&to=${NOW / 1000}`)

        expect(Math.ceil((toMs - fromMs) / stepMs)).toBeLessThanOrEqual(401)
      }),
    )
    for (const range of RANGE_NAMES) {
      const { fromMs, stepMs } = spanOf({ query: { range } }, NOW)
      expect(fromMs % stepMs).toBe(0)
      expect(NOW - fromMs - RANGES[range]).toBeLessThan(stepMs)
    }
  })

  test('zooms in around a moment down to single polls, to one minute at most', () => {
    const at = NOW - 5 * HOUR
    let span = spanOf({ query: {} }, NOW)
    let steps = 0
    for (let path = closerPath(OF, span, at); path !== null; path = closerPath(OF, span, at)) {
      const next = spanAt(path)
      expect(next.fromMs).toBeLessThanOrEqual(at)
      expect(next.toMs).toBeGreaterThanOrEqual(at)
      expect(next.toMs - next.fromMs).toBeLessThan((span.toMs - span.fromMs) / 3)
      span = next
      steps++
    }
    expect(steps).toBeGreaterThanOrEqual(3)
    expect(span.isClose).toBe(true)
    expect(span.toMs - span.fromMs).toBeGreaterThanOrEqual(60_000)
  })

  test('of the last hour shows single polls, and a past one leads back to now', () => {
    expect(spanOf({ query: { range: '1h' } }, NOW)).toMatchObject({ range: '1h', isClose: true })
    expect(nowPath(OF, spanOf({ query: { range: '6h' } }, NOW), NOW)).toBeNull()

    const past = nowPath(OF, spanAt(`/?from=${NOW / 1000 - 90_600}&to=${NOW / 1000 - 90_000}`), NOW)

    expect(spanAt(past ?? '')).toMatchObject({ fromMs: NOW - 600_000, toMs: NOW })
  })

  test('zooms out to the longest range, and moves to both sides', () => {
    let span = spanAt(`/?from=${NOW / 1000 - 90_600}&to=${NOW / 1000 - 90_000}`)
    const { earlier, later } = besidePaths(OF, span, NOW)
    expect(spanAt(earlier).toMs).toBe(span.fromMs)
    expect(spanAt(later ?? '').fromMs).toBe(span.toMs)

    const widths: number[] = []
    for (let path = widerPath(OF, span, NOW); path !== null; path = widerPath(OF, span, NOW)) {
      span = spanAt(path)
      widths.push(span.toMs - span.fromMs)
    }

    expect(widths).toEqual([...widths].sort((a, b) => a - b))
    expect(span.range).toBe('90d')
    expect(besidePaths(OF, spanOf({ query: {} }, NOW), NOW).later).toBeNull()
  })

  test('consists of parts without gaps, and has few round ticks', () => {
    for (const width of [0.5, 2, 5, 24, 60, 168, 720, 2160, 8000]) {
      const span = spanAt(`/?from=${Math.floor(NOW / 1000 - width * 3600)}&to=${NOW / 1000}`)
      const parts = partsOf(span, 'utc')
      const ticks = ticksOf(span, 'utc')

      for (const [at, { fromMs }] of parts.entries()) if (at > 0) expect(fromMs).toBe(parts[at - 1]?.toMs)
      expect(parts.length).toBeLessThanOrEqual(62)
      expect(ticks.at.length, String(width)).toBeGreaterThan(2)
      expect(ticks.at.length).toBeLessThan(14)
      for (const tick of ticks.at) expect(tick % Math.min(ticks.apartMs, 86_400_000)).toBe(0)
    }
  })
})
