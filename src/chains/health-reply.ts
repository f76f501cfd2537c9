import type { Liveness, NodeCheck } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAnswer, Reading } from './chain.ts'
import { readHeartbeat } from './heartbeat.ts'
import { isObject, type JsonObject, printable } from './json.ts'
import { malformed } from './json-rpc.ts'
import { safeCount } from './quantity.ts'
import { readTimestamp } from './timestamp.ts'

/** A node has a few dozen checks; a map of ten thousand names must not cost a poll its time, nor a page its memory. */
const MAX_CHECKS = 1000

/** avalanchego's `APIReply`, in the shapes of all its generations: go-sundheit's (to v1.7.3) and its own. */
export function readHealthReply(reply: unknown, answer: NodeAnswer): Reading<Liveness> {
  if (!isObject(reply)) return malformed('the health reply is no object')
  const { healthy, checks } = reply
  if (typeof healthy !== 'boolean') return malformed('healthy is neither true nor false')
  // Go writes a map that was never made as null.
  const named = checks ?? {}
  if (!isObject(named)) return malformed('checks is no map')
  const read = readChecks(named, answer.receivedAt)
  if (read === null) return malformed('a check is no object')
  return { ok: true, value: { healthy, checks: read, heartbeatAt: readHeartbeat(named, answer) } }
}

/** `null` if one of them is no check. Where there are too many, those that fail are read first. */
function readChecks(named: JsonObject, now: UnixMs): readonly NodeCheck[] | null {
  const entries = Object.entries(named)
  const chosen = entries.length > MAX_CHECKS ? failingFirst(entries).slice(0, MAX_CHECKS) : entries
  const checks: NodeCheck[] = []
  for (const [name, result] of chosen) {
    if (!isObject(result)) return null
    checks.push(readCheck(name, result, now))
  }
  return checks
}

function failingFirst(entries: [string, unknown][]): [string, unknown][] {
  const failing = (result: unknown) =>
    isObject(result) && (readError(result.error) !== null || (safeCount(result.contiguousFailures) ?? 0) > 0)
  return [...entries.filter(([, result]) => failing(result)), ...entries.filter(([, result]) => !failing(result))]
}

function readCheck(name: string, result: JsonObject, now: UnixMs): NodeCheck {
  const error = readError(result.error)
  return {
    name: printable(name),
    healthy: error === null,
    error,
    // Absent when 0.
    contiguousFailures: safeCount(result.contiguousFailures) ?? 0,
    failingSince: readTimestamp(result.timeOfFirstFailure, now),
    checkedAt: readTimestamp(result.timestamp, now),
    durationMs: readDuration(result.duration),
  }
}

/** A text now, an object `{ message, cause }` in go-sundheit; absent or null where the check passed. */
function readError(error: unknown): string | null {
  if (error === undefined || error === null || error === '') return null
  if (typeof error === 'string') return printable(error)
  if (isObject(error) && typeof error.message === 'string') return printable(error.message)
  return 'unknown'
}

/** Both generations marshal a Go `time.Duration`: whole nanoseconds, though documents have called them milliseconds. */
function readDuration(nanoseconds: unknown): number | null {
  const count = safeCount(nanoseconds)
  return count === null ? null : count / 1e6
}
