import type { Clock, Timer } from '../clock.ts'

/** A wall clock that went this much further, or less far, than the monotonic one was set by somebody, or the machine slept. */
const JUMP_MS = 1000
const LOOK_EVERY_MS = 250

export interface SelfWatchDeps {
  readonly clock: Clock
  /** The wall clock was set by so much; negative: back. */
  readonly onJump: (byMs: number) => void
  /** Nothing of ours could run between these moments of the monotonic clock: the event loop was blocked, or the process stopped. */
  readonly onBlocked: (from: number, to: number) => void
}

/** Notices what happens to ourselves. A slow drift is no jump. */
export interface SelfWatch {
  /** Looks now: whoever judges by time asks first. */
  check(): void
  stop(): void
}

export function watchSelf({ clock, onJump, onBlocked: onHold }: SelfWatchDeps): SelfWatch {
  let offset = clock.now() - clock.monotonic()
  let lookedAt = clock.monotonic()
  let timer: Timer

  function look(): void {
    const now = clock.monotonic()
    const nextOffset = clock.now() - now
    const jump = nextOffset - offset
    offset = nextOffset
    const dueAt = lookedAt + LOOK_EVERY_MS
    lookedAt = now
    if (now > dueAt) onHold(dueAt, now)
    if (Math.abs(jump) > JUMP_MS) onJump(jump)
  }

  function lookAgain(): void {
    look()
    timer = clock.after(LOOK_EVERY_MS, lookAgain)
  }

  timer = clock.after(LOOK_EVERY_MS, lookAgain)
  return { check: look, stop: () => timer.cancel() }
}
