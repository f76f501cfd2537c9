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
  'a liar that climbs, one poll after a restart, while the third endpoint was not polled yet': {
    networks: [
      {
        endpoints: 3,
        blockTimeMs: 2000,
        intervalsMs: [2000, 4000, 1000],
        oneHost: false,
        failAfter: 2,
        recoverAfter: 1,
      },
      { endpoints: 2, blockTimeMs: 2000, intervalsMs: [1500], oneHost: false, failAfter: 3, recoverAfter: 2 },
      { endpoints: 1, blockTimeMs: 400, intervalsMs: [1000], oneHost: false, failAfter: 3, recoverAfter: 4 },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [{ kind: 'creeping-liar', of: 2, begin: 5, polls: 33, size: 58 }],
        stops: [
          { at: 12, polls: 30, kills: true },
          { at: 8, polls: 0, kills: true },
        ],
      },
    ],
    seed: 1934332569,
  },
  'blocks that are replaced at each of five nodes at another moment, where one poll decides': {
    networks: [
      {
        endpoints: 5,
        blockTimeMs: 60000,
        intervalsMs: [2000, 2000, 2000],
        oneHost: true,
        failAfter: 1,
        recoverAfter: 2,
      },
      { endpoints: 1, blockTimeMs: 400, intervalsMs: [1500], oneHost: true, failAfter: 3, recoverAfter: 1 },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [],
        stops: [{ at: 18, polls: 0, kills: false }],
        replacement: { network: 2, at: 6, depth: 2 },
      },
    ],
    seed: 302776486,
  },
  'replaced blocks at one of two nodes, of which the other one fails before it has them': {
    networks: [{ endpoints: 2, blockTimeMs: 400, intervalsMs: [1000], oneHost: false, failAfter: 4, recoverAfter: 4 }],
    episodes: [
      {
        kind: 'faults',
        faults: [],
        halt: { network: 0, at: 8, polls: 27 },
        replacement: { network: 2, at: 34, depth: 0 },
      },
      {
        kind: 'faults',
        faults: [{ kind: 'timeout', of: 0, begin: 5, polls: 6, size: 115 }],
        replacement: { network: 2, at: 4, depth: 4 },
      },
    ],
    seed: 557327406,
  },
  'a restart on a halted chain, where a node reports a block less twice in a row': {
    networks: [
      {
        endpoints: 5,
        blockTimeMs: 12000,
        intervalsMs: [60000, 22500, 30000],
        oneHost: false,
        failAfter: 2,
        recoverAfter: 2,
      },
      {
        endpoints: 1,
        blockTimeMs: 400,
        intervalsMs: [60000, 22500, 22500],
        oneHost: true,
        failAfter: 1,
        recoverAfter: 3,
      },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [],
        stops: [{ at: 4, polls: 4, kills: true }],
        halt: { network: 2, at: 1, polls: 23 },
      },
    ],
    seed: 2136735499,
  },
  'a reload that halves the intervals beside a liar that climbs, before the third endpoint is polled again': {
    networks: [
      {
        endpoints: 3,
        blockTimeMs: 2000,
        intervalsMs: [22500, 15000],
        oneHost: true,
        failAfter: 1,
        recoverAfter: 4,
      },
      {
        endpoints: 3,
        blockTimeMs: 12000,
        intervalsMs: [15000, 22500, 30000, 60000],
        oneHost: false,
        irregular: true,
        sharded: true,
        failAfter: 2,
        recoverAfter: 2,
      },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [{ kind: 'creeping-liar', of: 0, begin: 6, polls: 26, size: 41 }],
        halving: { network: 0, at: 12, polls: 19 },
      },
    ],
    seed: 832203382,
  },
  'an outage of a host that ends while one of its endpoints is well, but not for long enough': {
    networks: [
      {
        endpoints: 3,
        blockTimeMs: 400,
        intervalsMs: [15000, 40000, 15000, 40000],
        oneHost: true,
        irregular: true,
        sharded: true,
        rareLiveness: true,
        failAfter: 1,
        recoverAfter: 4,
      },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [
          { kind: 'stalled', of: 3, begin: 2, polls: 30, size: 43 },
          { kind: 'wrong-network', of: 4, begin: 4, polls: 27, size: 191 },
        ],
        halving: { network: 2, at: 13, polls: 11 },
      },
    ],
    seed: 182383825,
  },
  'an outage of a host of which the last two endpoints recover one soon after the other': {
    networks: [
      {
        endpoints: 3,
        blockTimeMs: 60000,
        intervalsMs: [60000, 60000, 60000],
        oneHost: false,
        irregular: true,
        failAfter: 3,
        recoverAfter: 3,
      },
      {
        endpoints: 3,
        blockTimeMs: 2000,
        intervalsMs: [240000, 240000],
        oneHost: true,
        sharded: true,
        failAfter: 2,
        recoverAfter: 4,
      },
    ],
    episodes: [
      {
        kind: 'faults',
        faults: [
          { kind: 'slow', of: 1, begin: 8, polls: 8, size: 53 },
          { kind: 'bad-answer', of: 3, begin: 4, polls: 10, size: 67 },
          { kind: 'refused', of: 4, begin: 10, polls: 26, size: 74 },
        ],
        replacement: { network: 2, at: 38, depth: 2 },
      },
      { kind: 'outage', failure: { kind: 'timeout', afterMs: 5000 }, polls: 14 },
      {
        kind: 'faults',
        faults: [
          { kind: 'stalled', of: 4, begin: 8, polls: 33, size: 93 },
          { kind: 'slow', of: 5, begin: 9, polls: 31, size: 200 },
        ],
        halving: { network: 0, at: 5, polls: 8 },
      },
      {
        kind: 'faults',
        faults: [{ kind: 'timeout', of: 0, begin: 9, polls: 11, size: 135 }],
        stops: [
          { at: 11, polls: 0, kills: true },
          { at: 7, polls: 0, kills: false },
        ],
      },
    ],
    seed: 923964850,
  },
}

test.each(Object.entries(KNOWN))('%s', async (_, timeline) => {
  expect((await play(timeline)).wrongs).toEqual([])
})

test('every fault is found and over in time, no healthy endpoint is blamed, and no endpoint is down by a fault of this machine', async () => {
  await fc.assert(
    fc.asyncProperty(anyTimeline, async (timeline) => {
      expect((await play(timeline)).wrongs).toEqual([])
    }),
    { seed: 20_261_121, numRuns: 25, endOnFailure: true },
  )
})
