import { expect, test } from 'vitest'
import { watchClock } from '../../src/poll/clock-watch.ts'
import { createFakeClock } from '../support/fake-clock.ts'

function watched() {
  const clock = createFakeClock()
  const jumps: [direction: string, ms: number][] = []
  const watch = watchClock({ clock, onJump: (direction, ms) => jumps.push([direction, ms]) })
  return { clock, jumps, watch }
}

test('a wall clock set an hour forward or back is told once', async () => {
  const { clock, jumps } = watched()
  await clock.advance(10_000)

  clock.stepWall(3_600_000)
  await clock.advance(10_000)
  clock.stepWall(-3_600_000)
  await clock.advance(10_000)

  expect(jumps).toEqual([
    ['forward', 3_600_000],
    ['backward', 3_600_000],
  ])
})

test('a blocked loop and a slow drift are no steps', async () => {
  const { clock, jumps } = watched()

  clock.blockLoop(60_000)
  await clock.advance(5000)
  for (let second = 0; second < 600; second++) {
    clock.stepWall(0.5)
    await clock.advance(1000)
  }

  expect(jumps).toEqual([])
})

test('once stopped it tells nothing', async () => {
  const { clock, jumps, watch } = watched()

  watch.stop()
  clock.stepWall(3_600_000)
  await clock.advance(10_000)

  expect(jumps).toEqual([])
})
