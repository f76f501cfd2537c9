import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { cpuWaitMs, waitOf } from '../../src/daemon/cpu-wait.ts'

test('the wait for a CPU is read from the kernel’s statistics of the main thread', () => {
  expect([waitOf('629032 1500000 1\n'), waitOf('0 0 0'), waitOf(''), waitOf('1 x 2')]).toEqual([1.5, 0, null, null])

  const before = waitOf(readFileSync(`/proc/${process.pid}/schedstat`, 'utf8'))
  const waited = cpuWaitMs()
  expect(waited).toBeGreaterThanOrEqual(before ?? Number.POSITIVE_INFINITY)
})
