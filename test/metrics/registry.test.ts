import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { metricsReference } from '../../scripts/reference.ts'
import { METRIC_NAMES, METRICS } from '../../src/metrics/registry.ts'

test('docs/metrics.md matches the registry; `npm run docs` writes it', () => {
  const page = readFileSync(new URL('../../docs/metrics.md', import.meta.url), 'utf8')

  expect(page).toBe(metricsReference())
})

test.each(METRIC_NAMES)('%s is named by the rules of Prometheus', (name) => {
  const { type, labels, help } = METRICS[name]

  expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/)
  expect(name.endsWith('_total')).toBe(type === 'counter')
  expect(name).not.toMatch(/_(ms|milliseconds|minutes|age)$/)
  expect(help).toMatch(/^[A-Z0-9].*\.$/)
  for (const label of labels) expect(['type', 'region', 'zone', 'env', 'service', 'owner']).not.toContain(label)
})
