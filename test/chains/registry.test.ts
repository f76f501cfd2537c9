import { expect, test } from 'vitest'
import { chains } from '../../src/chains/registry.ts'

test('every family is found by its own name', () => {
  for (const [name, chain] of Object.entries(chains)) expect(chain.family).toBe(name)
})

test('only families whose nodes tell of themselves have liveness among their checks', () => {
  for (const chain of Object.values(chains)) {
    expect(chain.defaultChecks.includes('liveness')).toBe(chain.liveness !== null)
  }
})
