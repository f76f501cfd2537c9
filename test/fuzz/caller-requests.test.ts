import { expect, test } from 'vitest'
import { fuzzCallerRequests } from './caller-requests.ts'

test('no damaged request throws, hangs, reaches what it may not, or is read in two ways', async () => {
  const seed = Date.now() % 2 ** 31
  console.log(`seed ${seed}`)

  const { problems, cases, forwarded } = await fuzzCallerRequests({ forMs: 60_000, seed, maxCases: 1500 })

  expect(problems).toEqual([])
  expect(Math.min(cases, forwarded)).toBeGreaterThan(0)
}, 120_000)

/** Cases that stay: seeds that found something belong here. */
test.each([1])(
  'seed %i',
  async (seed) => {
    expect((await fuzzCallerRequests({ forMs: 60_000, seed, maxCases: 200 })).problems).toEqual([])
  },
  90_000,
)
