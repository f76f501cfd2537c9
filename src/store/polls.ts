import type Database from 'better-sqlite3'
import { createReachReader } from './cursors.ts'
import { createRawPolls } from './raw-polls.ts'
import type { KeptPoll, PollsQuery } from './store.ts'
import { slotOf } from './tiers.ts'

/** Answers with single polls of one endpoint. */
export type PollReader = (query: PollsQuery) => KeptPoll[]

export function createPollReader(db: Database.Database): PollReader {
  const endpointIdOf = db.prepare('SELECT endpoint_id FROM endpoints WHERE name = ?').pluck()
  const reachOf = createReachReader(db)
  const raw = createRawPolls(db)

  return ({ endpoint, from, to, limit }) => {
    const endpointId = endpointIdOf.get(endpoint)
    if (typeof endpointId !== 'number') return []
    const holds = raw.holds(endpointId)
    const found: KeptPoll[] = []
    // What is below is being deleted: some of it may be gone already.
    const first = Math.max(slotOf(from), reachOf().rawFrom)
    for (let slot = raw.nextSlot(first); slot !== null && slot <= slotOf(to - 1); slot = raw.nextSlot(slot + 1)) {
      for (const { latencyUs, holdMs: _, ...poll } of raw.inSlot(slot, endpointId, holds)) {
        if (poll.at < from || poll.at >= to) continue
        if (found.length >= limit) return found
        found.push({ ...poll, latencyMs: latencyUs === null ? null : latencyUs / 1000 })
      }
    }
    return found
  }
}
