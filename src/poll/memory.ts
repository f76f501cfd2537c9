import { z } from 'zod'
import type { UnixMs } from '../core/time.ts'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'
import type { SavedEndpoint } from '../core/verdict/network-view.ts'

const Time = z.number().int()
const Head = z.object({ height: z.number().int(), hash: z.string(), parentHash: z.string(), timestamp: Time })
const Finding = z.object({ code: z.enum(CONDITION_CODES), verdict: z.enum(VERDICTS), message: z.string() })

const Memory = z.object({
  streaks: z.object({
    verdict: z.enum(VERDICTS).nullable(),
    since: Time,
    recent: z.array(z.object({ at: Time, verdict: z.enum(VERDICTS) })),
    traces: z.array(
      z.object({
        finding: Finding,
        since: Time,
        seen: z.number().int(),
        missed: z.number().int(),
        confirmed: z.boolean(),
      }),
    ),
  }),
  lastPolledAt: Time.nullable(),
  seen: z.array(
    z.object({
      shard: z.number().int().nullable(),
      seen: z.object({ head: Head, highest: z.number().int(), advancedAt: Time }),
    }),
  ),
})

const Planned = z.object({ maintainedUntil: Time.nullable() })

/** Reads what an earlier run, perhaps of another version, has saved of an endpoint; `null` when it cannot be understood. */
export function readMemory(value: unknown): SavedEndpoint | null {
  const parsed = Memory.safeParse(value)
  return parsed.success ? parsed.data : null
}

/** Until when it was in planned maintenance as it was saved; `null` when it was not. */
export function readMaintainedUntil(value: unknown): UnixMs | null {
  const parsed = Planned.safeParse(value)
  return parsed.success ? parsed.data.maintainedUntil : null
}

/** Two memories of which a restart would make the same: heights and times go on, the streaks are alike. */
export function sameStreaks(a: SavedEndpoint['streaks'], b: SavedEndpoint['streaks']): boolean {
  if (a === b) return true
  if (a.verdict !== b.verdict || a.traces.length !== b.traces.length || a.recent.length !== b.recent.length)
    return false
  if (!a.recent.every((poll, at) => poll.verdict === b.recent[at]?.verdict)) return false
  return a.traces.every((trace, at) => {
    const other = b.traces[at]
    return (
      trace.finding.code === other?.finding.code &&
      trace.finding.verdict === other.finding.verdict &&
      trace.seen === other.seen &&
      trace.missed === other.missed &&
      trace.confirmed === other.confirmed
    )
  })
}
