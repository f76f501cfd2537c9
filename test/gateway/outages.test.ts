import { expect, test } from 'vitest'
import { runOutages } from './outages.ts'

test('a node rolled back, stopped and killed behind the whole daemon costs no caller an error or a height that goes down', async () => {
  const report = await runOutages({ perSecond: 100, outageMs: 3000 })

  expect(report.errors).toEqual([])
  expect(report.lower).toEqual([])
  expect(report.missing).toEqual([])
  expect(report.advanced).toBeGreaterThan(12)
  expect(report.requests).toBeGreaterThan(1000)
  // No caller waits longer for a hanging node than a first and a second attempt.
  expect(Math.max(...report.latenciesMs)).toBeLessThan(8000)
}, 120_000)
