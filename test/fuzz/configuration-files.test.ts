import { expect, test } from 'vitest'
import { fuzzConfigurationFiles } from './configuration-files.ts'

test('no damaged configuration throws, takes long or repeats a secret, and what is accepted is usable', () => {
  const seed = Date.now() % 2 ** 31
  console.log(`seed ${seed}`)

  const { problems } = fuzzConfigurationFiles({ forMs: 60_000, seed, maxCases: 150 })

  expect(problems).toEqual([])
}, 90_000)

/** Cases that stay: seeds that found something belong here. */
test.each([1])(
  'seed %i',
  (seed) => {
    expect(fuzzConfigurationFiles({ forMs: 60_000, seed, maxCases: 50 }).problems).toEqual([])
  },
  90_000,
)
