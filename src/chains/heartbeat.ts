import type { UnixMs } from '../core/time.ts'
import type { NodeAnswer } from './chain.ts'
import { parseGoDuration } from './go-duration.ts'
import { isObject, type JsonObject } from './json.ts'
import { safeCount } from './quantity.ts'
import { readTimestamp } from './timestamp.ts'

/** To v1.2.0: `{ "heartbeat": <Unix seconds> }`. */
const OLD_CHECK = 'network.validators.heartbeat'
/** Since: `{ "timeSinceLastMsgReceived": "293.098ms" }`, as of when the check ran. */
const NEW_CHECK = 'network'

/**
 * When the node last handled a network message, on our clock; `null` where it does not say. In the future only where the
 * node's own times contradict each other.
 * The node's own times are only compared with its own clock, the Date header: what lies between them holds on ours too.
 */
export function readHeartbeat(checks: JsonObject, answer: NodeAnswer): UnixMs | null {
  const nodeNow = nodeClock(answer)
  const agoMs = newHeartbeatAgo(checks[NEW_CHECK], nodeNow) ?? oldHeartbeatAgo(checks[OLD_CHECK], nodeNow)
  return agoMs === null ? null : answer.receivedAt - agoMs
}

/** A Date header has no fractions: while it agrees with our clock, ours is the finer one. */
function nodeClock({ date, receivedAt }: NodeAnswer): UnixMs {
  if (date === null || Math.abs(date + 500 - receivedAt) <= 1500) return receivedAt
  return date + 500
}

function newHeartbeatAgo(check: unknown, nodeNow: UnixMs): number | null {
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
  // 0 is Go's zero for "none yet".
  return seconds === null || seconds === 0 ? null : nodeNow - seconds * 1000
}
