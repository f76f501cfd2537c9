import { type Clock, repeat } from '../clock.ts'

/** Detects jumps of the wall clock, a blocked event loop and a lack of CPU; ignores slow drift. */
export function watchClock({ clock, onJump, onBlocked, cpuWaitMs, onCpuWait }: ClockWatchDeps) {
  let offset = clock.now() - clock.monotonic()
  let lookedAt = clock.monotonic()
  let sampledAt = -Infinity

  /** How far the wall clock moved since the last look: 0 if a process that waits for the CPU cannot tell. */
  function readJump(): number {
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const now = clock.monotonic()
      const jump = clock.now() - now - offset
      if (clock.monotonic() - now >= BETWEEN_READS_MS) continue
      offset += jump
      return jump
    }
    return 0
  }

  /** Call it before a judgement that depends on time. */
  function check(): void {
    const jump = readJump()
    const now = clock.monotonic()
    const dueAt = lookedAt + LOOK_EVERY_MS
    lookedAt = now
    if (now > dueAt) onBlocked(dueAt, now)
    if (now - sampledAt >= SAMPLE_EVERY_MS) {
      sampledAt = now
      const waited = cpuWaitMs()
      if (waited !== null) onCpuWait(now, waited)
    }
    if (Math.abs(jump) > JUMP_MS) onJump(jump)
  }

  const timer = repeat(clock, LOOK_EVERY_MS, check)
  return { check, stop: () => timer.cancel() }
}

/** If the wall clock moved this much more or less than the monotonic one, it was set, or the machine was suspended. */
const JUMP_MS = 1000
/** A process that waited for the CPU between its reads of the two clocks does not know how they compare. */
const BETWEEN_READS_MS = 100
const MOST_TRIES = 5
const LOOK_EVERY_MS = 250
/** Polls are judged more often than this. */
const SAMPLE_EVERY_MS = 100

export interface ClockWatchDeps {
  readonly clock: Clock
  /** `byMs` is negative if the wall clock was set back. */
  readonly onJump: (byMs: number) => void
  /** Between these moments of the monotonic clock, the event loop was blocked or the process stopped. */
  readonly onBlocked: (from: number, to: number) => void
  /** How long this process has waited for a CPU since its start, in ms; `null` if that is unknown. */
  readonly cpuWaitMs: () => number | null
  readonly onCpuWait: (at: number, totalMs: number) => void
}

export type ClockWatch = ReturnType<typeof watchClock>
