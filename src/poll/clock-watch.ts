import { type Clock, repeat } from '../clock.ts'

/** Detects jumps of the wall clock and a blocked event loop; ignores slow drift. */
export function watchClock({ clock, onJump, onBlocked }: ClockWatchDeps) {
  let offset = clock.now() - clock.monotonic()
  let lookedAt = clock.monotonic()

  /** Call it before a judgement that depends on time. */
  function check(): void {
    const now = clock.monotonic()
    const nextOffset = clock.now() - now
    const jump = nextOffset - offset
    offset = nextOffset
    const dueAt = lookedAt + LOOK_EVERY_MS
    lookedAt = now
    if (now > dueAt) onBlocked(dueAt, now)
    if (Math.abs(jump) > JUMP_MS) onJump(jump)
  }

  const timer = repeat(clock, LOOK_EVERY_MS, check)
  return { check, stop: () => timer.cancel() }
}

/** If the wall clock moved this much more or less than the monotonic one, it was set, or the machine was suspended. */
const JUMP_MS = 1000
const LOOK_EVERY_MS = 250

export interface ClockWatchDeps {
  readonly clock: Clock
  /** `byMs` is negative if the wall clock was set back. */
  readonly onJump: (byMs: number) => void
  /** Between these moments of the monotonic clock, the event loop was blocked or the process stopped. */
  readonly onBlocked: (from: number, to: number) => void
}

export type ClockWatch = ReturnType<typeof watchClock>
