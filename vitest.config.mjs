import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongestFirst, { workersPerCore } from './scripts/longest-first.mjs'
import { testRooms } from './scripts/test-rooms.mjs'

const cores = availableParallelism()
const { quick, waiting, timed, mocking } = testRooms()
const BESIDE_EACH_OTHER = { maxWorkers: workersPerCore * cores, sequence: { groupOrder: 0 } }

export default defineConfig({
  test: {
    setupFiles: ['test/support/lit.ts'],
    // Only a hang exceeds these: a busy machine takes ten times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    // Tests allocate much that is short-lived.
    execArgv: ['--max-semi-space-size=32'],
    reporters: ['default', './scripts/counts.mjs'],
    sequence: { sequencer: LongestFirst },
    projects: [
      { extends: true, test: { name: 'quick', include: quick, isolate: false, ...BESIDE_EACH_OTHER } },
      { extends: true, test: { name: 'waiting', include: waiting, isolate: false, ...BESIDE_EACH_OTHER } },
      { extends: true, test: { name: 'mocking', include: mocking, ...BESIDE_EACH_OTHER } },
      {
        extends: true,
        test: { name: 'timed', include: timed, isolate: false, maxWorkers: 3 * cores, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
