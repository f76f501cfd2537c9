import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyTimeline, play, type Timeline } from '../support/timelines.ts'

/**
 * The ground truth is in `timelines.ts` with each fault: from which poll on it can be seen, and which verdict is right.
 * `npm run reliability` plays thousands of these.
 */
/** Timelines that were once judged wrongly. */
const KNOWN: Readonly<Record<string, Timeline>> = {
  'a fork beside a node that stands still, whose old height all others report': {
    networks: [
      { endpoints: 5, blockTimeMs: 2000, intervalsMs: [15_000], oneHost: true, failAfter: 3, recoverAfter: 2 },
      { endpoints: 1, blockTimeMs: 400, intervalsMs: [10_000], oneHost: true, failAfter: 1, recoverAfter: 4 },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [
          { kind: 'stalled', of: 0, begin: 6, polls: 13, size: 112 },
          { kind: 'forked', of: 4, begin: 8, polls: 29, size: 57 },
        ],
      },
    ],
    seed: 1_083_997_753,
  },
}

test.each(Object.entries(KNOWN))('%s', async (_, timeline) => {
  expect((await play(timeline)).wrongs).toEqual([])
})

test('every fault is found and over in time, no healthy endpoint is blamed, and no endpoint is down by a fault of this machine', {
  timeout: 60_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(anyTimeline, async (timeline) => {
      expect((await play(timeline)).wrongs).toEqual([])
    }),
    { seed: 20_261_121, numRuns: 25, endOnFailure: true },
  )
})
