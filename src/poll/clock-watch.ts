import type { Clock, Timer } from '../clock.ts'
import type { JumpDirection } from '../metrics/own-series.ts'

/** A wall clock that went this much further, or less far, than the monotonic one was set by somebody, or slept. */
const JUMP_MS = 1000
const LOOK_EVERY_MS = 1000

export interface ClockWatchDeps {
  readonly clock: Clock
  readonly onJump: (direction: JumpDirection, ms: number) => void
}

/** Tells when the wall clock is stepped. A slow drift is no step. */
export function watchClock({ clock, onJump }: ClockWatchDeps): { stop(): void } {
  let offset = clock.now() - clock.monotonic()
  let timer: Timer

  function look(): void {
    const next = clock.now() - clock.monotonic()
    const jump = next - offset
    offset = next
    if (Math.abs(jump) > JUMP_MS) onJump(jump > 0 ? 'forward' : 'backward', Math.abs(jump))
    timer = clock.after(LOOK_EVERY_MS, look)
  }

  timer = clock.after(LOOK_EVERY_MS, look)
  return { stop: () => timer.cancel() }
}
