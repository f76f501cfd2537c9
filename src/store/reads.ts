import type { Clock } from '../clock.ts'
import { type AliasRecord, STALE_REASONS } from '../core/routing/alias.ts'
import type { Log } from '../log.ts'
import type { Call, QueryCalls, Reply, StateCalls } from './engine.ts'
import { bucketsIn, unknownHistory } from './history.ts'
import { STORE_JOBS, type Store, type StoreJob } from './store.ts'

/** The store's read methods: data that cannot be read is logged, and unknown or missing from the answer. */
export function createReads({ read, readState, clock, log, rejects = false }: ReadsDeps) {
  /** Failures logged since the last answer: an open page repeats its query every few seconds. */
  const failing = new Set<string>()

  function valueOf<T>(reply: Reply<T>, otherwise: T, message: string): T {
    if (reply.ok) {
      failing.delete(message)
      return reply.value
    }
    if (!failing.has(message)) log.warn({ trouble: reply.trouble, code: reply.code }, message)
    failing.add(message)
    if (rejects) throw new Error(`${message}: ${reply.code}`)
    return otherwise
  }

  return {
    async savedHealth() {
      const saved = valueOf(await readState('saved-health'), [], 'the saved health of endpoints cannot be read')
      return saved.flatMap(({ endpoint, at, json }) => {
        const value = parsed(json)
        return value === undefined ? [] : [{ endpoint, at, value }]
      })
    },

    aliases: async () => valueOf(await readState('aliases'), [], 'the aliases cannot be read'),

    async incidents(query) {
      const found = valueOf(await read('incidents', query), [], 'the incidents cannot be read')
      return found.flatMap((incident) => recordOf(incident) ?? [])
    },

    async incident(id) {
      const found = valueOf(await read('incident', id), null, 'an incident cannot be read')
      return found === null ? null : recordOf(found)
    },

    async notifications(query) {
      const found = valueOf(await read('notifications', query), [], 'the notifications cannot be read')
      return found.flatMap((notification) => recordOf(notification) ?? [])
    },

    silences: async (query) => valueOf(await read('silences', query), [], 'the silences cannot be read'),

    notes: async (incidents) => valueOf(await read('notes', incidents), [], 'the notes cannot be read'),

    async history(query) {
      // Throws a RangeError: a query that no store could answer is the caller's mistake.
      bucketsIn(query)
      const reply = await read('history', query, clock.now())
      return valueOf(reply, unknownHistory(query), 'the history cannot be read')
    },

    polls: async (query) => valueOf(await read('polls', query), [], 'single polls cannot be read'),

    async availability(endpoints, now) {
      return new Map(valueOf(await read('availability', endpoints, now), [], 'availability cannot be read'))
    },

    async lastRuns() {
      const reply = await readState('last-runs')
      const runs = reply.ok ? reply.value : []
      return new Map(runs.filter((run): run is [StoreJob, number] => STORE_JOBS.some((job) => job === run[0])))
    },
  } satisfies Partial<Store>
}

export interface ReadsDeps {
  readonly read: Call<QueryCalls>
  readonly readState: Call<StateCalls>
  readonly clock: Clock
  readonly log: Log
  /** Whether they reject instead, if data cannot be read. */
  readonly rejects?: boolean
}

/** `null` if the JSON is damaged. */
export function recordOf<T extends { readonly json: string }>({
  json,
  ...record
}: T): (Omit<T, 'json'> & { value: unknown }) | null {
  const value = parsed(json)
  return value === undefined ? null : { ...record, value }
}

export type AliasRow = Omit<AliasRecord, 'stale'> & {
  readonly staleAt: number | null
  readonly staleReason: string | null
}

export function aliasOf({ staleAt, staleReason, ...alias }: AliasRow): AliasRecord {
  // A newer version may have written another reason; it only matters that there is one.
  const reason = STALE_REASONS.find((known) => known === staleReason) ?? 'lost'
  return { ...alias, stale: staleAt === null ? null : { at: staleAt, reason } }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
