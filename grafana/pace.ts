/** `times` 60 turns every minute into a second. */
export function paceOf(times: number): Pace {
  return {
    hold: (seconds) =>
      duration(seconds === 0 ? 0 : Math.max(Math.min(seconds, SHORTEST_HOLD_SECONDS), Math.round(seconds / times))),
    window: (seconds) => duration(Math.max(Math.min(seconds, SHORTEST_WINDOW_SECONDS), Math.round(seconds / times))),
  }
}

/** The pace of alerts: real time, or faster for a rehearsal. */
export interface Pace {
  /** How long an expression must hold, such as `2m`. */
  hold(seconds: number): string
  /** The window of a rate, such as `5m`. */
  window(seconds: number): string
}

/** Two scrapes one second apart may see two halves of one change. */
const SHORTEST_HOLD_SECONDS = 2
/** Shorter windows contain too few scrapes, even at one per second. */
const SHORTEST_WINDOW_SECONDS = 10

export const REAL_TIME = paceOf(1)

function duration(seconds: number): string {
  if (seconds > 0 && seconds % 3600 === 0) return `${seconds / 3600}h`
  if (seconds > 0 && seconds % 60 === 0) return `${seconds / 60}m`
  return `${seconds}s`
}
