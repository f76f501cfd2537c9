import type { Clock } from '../clock.ts'
import type { UnixMs } from '../core/time.ts'

/**
 * The database's clock, which all members share, so that a member whose own clock is wrong polls and votes at the same
 * time as the others. Between two round trips it follows the monotonic clock.
 */
export function createDatabaseClock(clock: Clock): DatabaseClock {
  /** The database's time at 0 of the monotonic clock; `null` before the first round trip. */
  let origin: number | null = null
  return {
    ...clock,
    now: () => (origin === null ? clock.now() : Math.floor(origin + clock.monotonic())),
    moment: () => ({ monotonic: clock.monotonic(), wall: clock.now() }),
    since: ({ monotonic, wall }) => Math.max(clock.monotonic() - monotonic, clock.now() - wall),

    synchronize(databaseNow, sentAt, receivedAt) {
      const measured = databaseNow - (sentAt + receivedAt) / 2
      // A slow round trip measures badly, and a clock that is corrected all the time is no clock.
      const tolerance = TOLERATED_MS + (receivedAt - sentAt) / 2
      if (origin === null || Math.abs(measured - origin) > tolerance) origin = measured
    },
  }
}

export interface DatabaseClock extends Clock {
  moment(): Moment
  /** Milliseconds, with those for which the machine was suspended: the monotonic clock does not count them. */
  since(moment: Moment): number
  /** Call it with each answer of the database; when it was asked and answered is monotonic time. */
  synchronize(databaseNow: UnixMs, sentAt: number, receivedAt: number): void
}

/** By both clocks of this machine. */
export interface Moment {
  readonly monotonic: number
  readonly wall: UnixMs
}

const TOLERATED_MS = 500
