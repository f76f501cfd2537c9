import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import LongestFirst from './scripts/longest-first.mjs'
import { testRooms } from './scripts/test-rooms.mjs'

const cores = availableParallelism()
const { quick, waiting, timed, mocking } = testRooms()

export default defineConfig({
  test: {
    setupFiles: ['test/support/lit.ts'],
    // Only a hang exceeds these: a busy machine takes ten times as long as an idle one.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 60_000 } },
    pool: 'forks',
    reporters: ['default', './scripts/counts.mjs'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'quick', include: quick, isolate: false, maxWorkers: cores, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'waiting', include: waiting, isolate: false, maxWorkers: 3 * cores, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'timed', include: timed, isolate: false, maxWorkers: 3 * cores, sequence: { groupOrder: 2 } },
      },
      {
        extends: true,
        test: { name: 'mocking', include: mocking, maxWorkers: 3 * cores, sequence: { groupOrder: 1 } },
      },
    ],
  },
})
