import { isObject, type JsonObject } from '../core/json.ts'
import { type Liveness, MAX_CHECKS, type NodeCheck } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { NodeAnswer, Reading } from './chain.ts'
import { malformed } from './json-rpc.ts'
import { parseGoDuration, printable, readTimestamp, safeCount } from './parse.ts'

/** Reads avalanchego's `APIReply` of all generations: go-sundheit's (to v1.7.3) and its own. */
export function readHealthReply(reply: unknown, answer: NodeAnswer): Reading<Liveness> {
  if (!isObject(reply)) return malformed('the health reply is not an object')
  const { healthy, checks } = reply
  if (typeof healthy !== 'boolean') return malformed('healthy is neither true nor false')
  // Go marshals a nil map as null.
  const named = checks ?? {}
  if (!isObject(named)) return malformed('checks is not a map')
  const read = readChecks(named, answer.receivedAt)
  if (read === null) return malformed('a check is not an object')
  return { ok: true, value: { healthy, checks: read, heartbeatAt: readHeartbeat(named, answer) } }
}

/** `null` if an entry is not a check. If there are too many checks, failing ones come first. */
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
  const isFailing = (result: unknown) =>
    isObject(result) && (readError(result.error) !== null || (safeCount(result.contiguousFailures) ?? 0) > 0)
  return entries.toSorted(([, a], [, b]) => Number(isFailing(b)) - Number(isFailing(a)))
}

function readCheck(name: string, result: JsonObject, now: UnixMs): NodeCheck {
  const error = readError(result.error)
  // Both generations marshal `time.Duration` as nanoseconds; documentation has called them milliseconds.
  const nanoseconds = safeCount(result.duration)
  return {
    name: printable(name),
    healthy: error === null,
    error,
    // Omitted when 0.
    contiguousFailures: safeCount(result.contiguousFailures) ?? 0,
    failingSince: readTimestamp(result.timeOfFirstFailure, now),
    checkedAt: readTimestamp(result.timestamp, now),
    durationMs: nanoseconds === null ? null : nanoseconds / 1e6,
  }
}

/** A string in current versions, an object `{ message, cause }` in go-sundheit; absent or null if the check passed. */
function readError(error: unknown): string | null {
  if (error === undefined || error === null || error === '') return null
  if (typeof error === 'string') return printable(error)
  if (isObject(error) && typeof error.message === 'string') return printable(error.message)
  return 'unknown'
}

/** To v1.2.0: `{ "heartbeat": <Unix seconds> }`. */
const OLD_HEARTBEAT_CHECK = 'network.validators.heartbeat'
/** After v1.2.0: `{ "timeSinceLastMsgReceived": "293.098ms" }`, relative to the time of the check. */
const HEARTBEAT_CHECK = 'network'

/**
 * When the node last handled a network message, on our clock; `null` if unknown. The age is computed with the node's
 * own clock (Date header), so clock skew does not matter. A future time means that the node's times contradict each
 * other.
 */
function readHeartbeat(checks: JsonObject, answer: NodeAnswer): UnixMs | null {
  const nodeNow = nodeClock(answer)
  const agoMs = heartbeatAgo(checks[HEARTBEAT_CHECK], nodeNow) ?? oldHeartbeatAgo(checks[OLD_HEARTBEAT_CHECK], nodeNow)
  return agoMs === null ? null : answer.receivedAt - agoMs
}

/** Our time if the Date header agrees with it, because that header has no fractions; otherwise the header's time. */
function nodeClock({ date, receivedAt }: NodeAnswer): UnixMs {
  return date === null || Math.abs(date + 500 - receivedAt) <= 1500 ? receivedAt : date + 500
}

function heartbeatAgo(check: unknown, nodeNow: UnixMs): number | null {
  if (!isObject(check) || !isObject(check.message)) return null
  const { timeSinceLastMsgReceived: since } = check.message
  const sinceMs = typeof since === 'string' ? parseGoDuration(since) : null
  if (sinceMs === null) return null
  const checkedAt = readTimestamp(check.timestamp, nodeNow)
  return sinceMs + Math.max(0, checkedAt === null ? 0 : nodeNow - checkedAt)
}

function oldHeartbeatAgo(check: unknown, nodeNow: UnixMs): number | null {
  if (!isObject(check) || !isObject(check.message)) return null
  const seconds = safeCount(check.message.heartbeat)
  // 0 is Go's zero value: no message yet.
  return seconds === null || seconds === 0 ? null : nodeNow - seconds * 1000
}
