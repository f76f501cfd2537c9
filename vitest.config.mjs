import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongestFirst from './scripts/longest-first.mjs'
import { testRooms } from './scripts/test-rooms.mjs'

const cores = availableParallelism()
const { quick, waiting, timed, mocking } = testRooms()
/** Nearly all tests but the quick ones wait most of the time. */
const workers = (perCore, groupOrder) => ({ maxWorkers: perCore * cores, sequence: { groupOrder } })

/** Leaves the timed tests the processor time that they need. */
const inSpareTime = { setupFiles: ['test/support/spare-time.ts'] }

/**
 * Tests allocate much that is short-lived, and few functions run long enough to earn back their optimization; helper threads take
 * processor time that others wait for. Together a fifth of the time of a worker. Node 22 has a faster compiler, and no such budget.
 */
const forShortRuns = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--single-threaded-gc',
  ...(Number.parseInt(process.versions.node, 10) < 22 ? ['--interrupt-budget=500000'] : []),
]

export default defineConfig({
  test: {
    setupFiles: ['test/support/lit.ts'],
    // Only a hang exceeds these: a busy machine takes ten times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    execArgv: forShortRuns,
    reporters: ['default', './scripts/counts.mjs'],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'timed', include: timed, isolate: false, ...workers(3, 0) } },
      { extends: true, test: { name: 'waiting', include: waiting, isolate: false, ...inSpareTime, ...workers(3, 0) } },
      { extends: true, test: { name: 'mocking', include: mocking, ...inSpareTime, ...workers(3, 0) } },
      { extends: true, test: { name: 'quick', include: quick, isolate: false, ...workers(1, 1) } },
    ],
  },
})
