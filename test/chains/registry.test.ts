import { expect, test } from 'vitest'
import { chains } from '../../src/chains/registry.ts'

test('every family is found by its own name', () => {
  for (const [name, chain] of Object.entries(chains)) expect(chain.family).toBe(name)
})
