import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyTimeline, play } from '../support/timelines.ts'

/**
 * The ground truth is in `timelines.ts` with each fault: from which poll on it can be seen, and which verdict is right.
 * `npm run reliability` plays thousands of these.
 */
test('every fault is found and over in time, no healthy endpoint is blamed, and no endpoint is down by a fault of this machine', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(anyTimeline, async (timeline) => {
      expect((await play(timeline)).wrongs).toEqual([])
    }),
    { seed: 20_261_121, numRuns: 80, endOnFailure: true },
  )
})
