import { parseJson } from '../core/json.ts'
import { type AliasRecord, STALE_REASONS } from '../core/routing/alias.ts'
import type { Call, CommonOptions, QueryCalls, Reply, StateCalls } from './engine.ts'
import { bucketsIn } from './history.ts'
import { STORE_JOBS, type Store, type StoreJob } from './store.ts'

/** The store's read methods. The first of several failures is logged. */
export function createReads({ read, readState, clock, log }: ReadsDeps) {
  /** Failures logged since the last answer: an open page repeats its query every few seconds. */
  const failing = new Set<string>()

  function valueOf<T>(reply: Reply<T>, what: string): T {
    if (reply.ok) {
      failing.delete(what)
      return reply.value
    }
    if (!failing.has(what)) log.warn({ trouble: reply.trouble, code: reply.code }, `${what} cannot be read`)
    failing.add(what)
    throw new Unreadable(what, reply.code)
  }

  const certain: Store['certain'] = {
    async savedHealth() {
      const saved = valueOf(await readState('saved-health'), 'the saved health of endpoints')
      return saved.flatMap(({ endpoint, at, json }) => {
        const value = parseJson(json)
        return value === undefined ? [] : [{ endpoint, at, value }]
      })
    },

    aliases: async () => valueOf(await readState('aliases'), 'the aliases'),

    async incidents(query) {
      const found = valueOf(await read('incidents', query), 'the incidents')
      return found.flatMap((incident) => recordOf(incident) ?? [])
    },

    async notifications(query) {
      const found = valueOf(await read('notifications', query), 'the notifications')
      return found.flatMap((notification) => recordOf(notification) ?? [])
    },

    silences: async (query) => valueOf(await read('silences', query), 'the silences'),
  }

  return {
    certain,
    savedHealth: () => whatIsRead(certain.savedHealth()),
    aliases: () => whatIsRead(certain.aliases()),
    incidents: (query) => whatIsRead(certain.incidents(query)),
    notifications: (query) => whatIsRead(certain.notifications(query)),
    silences: (query) => whatIsRead(certain.silences(query)),

    async incident(id) {
      const found = valueOf(await read('incident', id), 'the incident')
      return found === null ? null : recordOf(found)
    },

    notes: (incidents) => whatIsRead(read('notes', incidents).then((reply) => valueOf(reply, 'the notes'))),

    async history(query) {
      // Throws a RangeError: a query that no store could answer is the caller's mistake.
      bucketsIn(query)
      return valueOf(await read('history', query, clock.now()), 'the history')
    },

    polls: async (query) => valueOf(await read('polls', query), 'single polls'),

    async availability(endpoints, now) {
      const known = read('availability', endpoints, now).then((reply) => valueOf(reply, 'availability'))
      return new Map(await whatIsRead(known))
    },

    async lastRuns() {
      const reply = await readState('last-runs')
      const runs = reply.ok ? reply.value : []
      return new Map(runs.filter((run): run is [StoreJob, number] => STORE_JOBS.some((job) => job === run[0])))
    },
  } satisfies Partial<Store>
}

/** `what` cannot be read now, like `the history`. */
export class Unreadable extends Error {
  readonly what: string

  constructor(what: string, code: string) {
    super(`${what} cannot be read: ${code}`)
    this.name = 'Unreadable'
    this.what = what
  }
}

/** Nothing, if it cannot be read. */
async function whatIsRead<T>(reading: Promise<readonly T[]>): Promise<readonly T[]> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Unreadable) return []
    throw error
  }
}

export interface ReadsDeps extends Pick<CommonOptions, 'clock' | 'log'> {
  readonly read: Call<QueryCalls>
  readonly readState: Call<StateCalls>
}

/** `null` if the JSON is damaged. */
export function recordOf<T extends { readonly json: string }>({
  json,
  ...record
}: T): (Omit<T, 'json'> & { value: unknown }) | null {
  const value = parseJson(json)
  return value === undefined ? null : { ...record, value }
}

export const INCIDENT_COLUMNS =
  'id, network, endpoint, opened_ms AS "openedAt", closed_ms AS "closedAt", absorbed, value AS json'
export const NOTIFICATION_COLUMNS = 'id, channel, incident, created_ms AS "createdAt", waiting, value AS json'
export const SILENCE_COLUMNS = 'id, network, endpoint, reason, from_ms AS "from", until_ms AS until'
export const NOTE_COLUMNS = 'id, incident, at_ms AS at, public AS "isPublic", text'
export const ALIAS_COLUMNS = `network, alias, target, endpoint, node_id AS "nodeId", caller, at_ms AS at, stale_ms AS "staleAt",
  stale_reason AS "staleReason"`
export const MOST_SILENCES = 2000

export type AliasRow = Omit<AliasRecord, 'stale'> & {
  readonly staleAt: number | null
  readonly staleReason: string | null
}

export function aliasOf({ staleAt, staleReason, ...alias }: AliasRow): AliasRecord {
  // A newer version may have written another reason; it only matters that there is one.
  const reason = STALE_REASONS.find((known) => known === staleReason) ?? 'lost'
  return { ...alias, stale: staleAt === null ? null : { at: staleAt, reason } }
}
