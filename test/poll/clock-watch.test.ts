import { expect, test } from 'vitest'
import { watchClock } from '../../src/poll/clock-watch.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const LONG_MS = 500

function watched() {
  const clock = createFakeClock()
  const jumps: number[] = []
  const holds: number[] = []
  const waits: [at: number, totalMs: number][] = []
  const watch = watchClock({
    clock,
    onJump: (byMs) => jumps.push(byMs),
    onBlocked: (from, to) => {
      if (to - from > LONG_MS) holds.push(Math.round((to - from) / 1000))
    },
    cpuWaitMs: () => (waits.length === 3 ? null : 7),
    onCpuWait: (at, totalMs) => waits.push([Math.round(at), totalMs]),
  })
  return { clock, jumps, holds, waits, watch }
}

test('a wall clock set an hour forward or back is reported once', async () => {
  const { clock, jumps, holds } = watched()
  await clock.advance(10_000)

  clock.stepWall(3_600_000)
  await clock.advance(10_000)
  clock.stepWall(-3_600_000)
  await clock.advance(10_000)

  expect(jumps).toEqual([3_600_000, -3_600_000])
  expect(holds).toEqual([])
})

test('a wait for the CPU between the reads of the two clocks is no step, and hides none', async () => {
  const { clock, jumps, watch } = watched()
  const { now } = clock
  clock.now = () => {
    clock.blockLoop(3000)
    return now()
  }
  watch.check()
  watch.check()
  clock.now = now
  watch.check()
  expect(jumps).toEqual([])

  clock.stepWall(5000)
  watch.check()

  expect(jumps).toEqual([5000])
})

test('a blocked loop is reported once, at the next check; neither it nor a slow drift is a step', async () => {
  const { clock, jumps, holds, watch } = watched()

  clock.blockLoop(60_000)
  watch.check()
  expect(holds).toEqual([60])
  await clock.advance(5000)
  for (let second = 0; second < 600; second++) {
    clock.stepWall(0.5)
    await clock.advance(1000)
  }

  expect(holds).toEqual([60])
  expect(jumps).toEqual([])
})

test('waits for a CPU are read at most ten times per second, until they are unknown', async () => {
  const { clock, waits, watch } = watched()
  const start = Math.round(clock.monotonic())

  await clock.advance(250)
  watch.check()
  await clock.advance(99)
  watch.check()
  await clock.advance(1)
  for (let poll = 0; poll < 100; poll++) watch.check()
  await clock.advance(5000)

  expect(waits).toEqual([
    [start + 250, 7],
    [start + 350, 7],
    [start + 500, 7],
  ])
})

test('after stopping it reports nothing', async () => {
  const { clock, jumps, holds, watch } = watched()

  watch.stop()
  clock.stepWall(3_600_000)
  await clock.advance(10_000)

  expect([...jumps, ...holds]).toEqual([])
})
