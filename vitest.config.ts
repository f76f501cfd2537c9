import { defineConfig } from 'vitest/config'

/**
 * Tests over real processes, browsers and disks: what a busy machine does to them is no fault of ours, so that where
 * nobody watches (CI) one that fails is tried once more, and named at the end. A rule that fails once has failed.
 */
const OVER_REAL_PARTS = [
  'test/{daemon,gateway,grafana,house,proof,simulator,web}/**/*.test.ts',
  'test/scenarios/sockets/**/*.test.ts',
]

export default defineConfig({
  test: {
    setupFiles: ['test/support/lit.ts'],
    testTimeout: 20_000,
    hookTimeout: 30_000,
    pool: 'forks',
    maxWorkers: 2,
    reporters: ['default', './scripts/counts.mjs'],
    projects: [
      {
        extends: true,
        test: { name: 'rules', include: ['test/**/*.test.ts'], exclude: OVER_REAL_PARTS },
      },
      {
        extends: true,
        test: {
          name: 'real parts',
          include: OVER_REAL_PARTS,
          retry: process.env.CI ? 1 : 0,
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
