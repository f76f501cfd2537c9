import type { MaintenanceSpan } from '../maintenance.ts'
import type { UnixMs } from '../time.ts'
import type { Beginning } from './endpoint-incident.ts'

/** Remembers the latest planned maintenance by endpoint and network event: no incident opens before its end. */
export function createMaintenanceMemory() {
  const spans = new Map<string, MaintenanceSpan>()

  function note(key: string, { from, until }: MaintenanceSpan): void {
    const before = spans.get(key)
    // Windows that follow each other without a gap are one.
    const isLonger = before !== undefined && before.from < from && from <= before.until
    spans.set(key, { from: isLonger ? before.from : from, until })
  }

  return {
    note,

    /** A failure in maintenance without an incident: it counts as planned even if it began shortly before. */
    noteFailure: (key: string, { from, until }: MaintenanceSpan, badSince: UnixMs): void =>
      note(key, { from: Math.min(from, badSince), until }),

    /** Whether no incident may open after this poll. `maintained`: the present maintenance, if any. */
    excuses(key: string, maintained: MaintenanceSpan | null, at: UnixMs, now: UnixMs): boolean {
      if (maintained !== null) note(key, maintained)
      const until = spans.get(key)?.until
      // The poll began during maintenance and ended after it.
      return maintained !== null || (until !== undefined && at < until && until <= now)
    },

    /** An incident that begins during planned maintenance is opened at its end, dated back to the first bad poll. */
    beginningOf(key: string, since: UnixMs, now: UnixMs, badSince = since): Beginning {
      const { from, until: end } = spans.get(key) ?? NEVER
      const until = Math.min(end, now)
      const isPlanned = from <= badSince && badSince < until
      return isPlanned ? { openedAt: badSince, plannedUntil: until } : { openedAt: since, plannedUntil: null }
    },

    retain(isKept: (key: string) => boolean, at: UnixMs): void {
      for (const [key, { from, until }] of spans) {
        // The configuration may have shortened the maintenance. If not, the next poll notes its end again.
        if (isKept(key)) spans.set(key, { from, until: Math.min(until, at) })
        else spans.delete(key)
      }
    },
  }
}

const NEVER: MaintenanceSpan = { from: Number.POSITIVE_INFINITY, until: Number.NEGATIVE_INFINITY }
