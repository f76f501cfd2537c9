import { expect, test } from 'vitest'
import { chains } from '../../src/chains/registry.ts'
import { FAMILY_DEFAULTS } from '../../src/config/schema.ts'

test('every family is found by its own name', () => {
  for (const [name, chain] of Object.entries(chains)) expect(chain.family).toBe(name)
})

test('liveness is a default check only of families whose nodes report their own health', () => {
  for (const chain of Object.values(chains)) {
    const checks: readonly string[] = FAMILY_DEFAULTS[chain.family].checks
    expect(checks.includes('liveness')).toBe(chain.liveness !== null)
  }
})
