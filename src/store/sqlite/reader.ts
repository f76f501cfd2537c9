import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { STORE_JOBS, type Store, type StoreJob } from '../store.ts'
import { IN_MEMORY } from './database.ts'
import { bucketsIn, unknownHistory } from './history.ts'
import type { ReaderCalls } from './reader-worker.ts'
import { type Call, type CallableWorker, type Failed, type OnSpawn, type Reply, spawnWorker } from './worker-calls.ts'
import type { Writer } from './writer.ts'

/** The store's read methods: data that cannot be read is logged, and unknown or missing from the answer. */
export function createReader(deps: ReaderDeps) {
  const { path, clock, log, writer } = deps
  const workers = createReaderWorkers(deps)
  // Only the connection that writes sees a store in memory, so the writer answers all that a reader does.
  const inMemory = path === IN_MEMORY ? (writer.call as Call<ReaderCalls>) : null
  const read = inMemory ?? workers.call
  const readApart = inMemory ?? workers.callApart

  /** Failures logged since the last answer: an open page repeats its query every few seconds. */
  const failing = new Set<string>()

  function valueOf<T>(reply: Reply<T>, otherwise: T, message: string): T {
    if (reply.ok) {
      failing.delete(message)
      return reply.value
    }
    if (!failing.has(message)) log.warn({ trouble: reply.trouble, code: reply.code }, message)
    failing.add(message)
    return otherwise
  }

  const methods = {
    async savedHealth() {
      const saved = valueOf(await writer.call('saved-health'), [], 'the saved health of endpoints cannot be read')
      return saved.flatMap(({ endpoint, at, json }) => {
        const value = parsed(json)
        return value === undefined ? [] : [{ endpoint, at, value }]
      })
    },

    aliases: async () => valueOf(await writer.call('aliases'), [], 'the aliases cannot be read'),

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
      const reply = await writer.call('last-runs')
      const runs = reply.ok ? reply.value : []
      return new Map(runs.filter((run): run is [StoreJob, number] => STORE_JOBS.some((job) => job === run[0])))
    },

    async backup(file) {
      const reply = await readApart('backup', file)
      if (!reply.ok) throw new Error(`no backup was made: ${reply.trouble} (${reply.code})`)
    },
  } satisfies Partial<Store>

  return { methods, end: workers.end }
}

export interface ReaderDeps {
  readonly path: string
  readonly clock: Clock
  readonly log: Log
  readonly writer: Pick<Writer, 'call' | 'threadDied'>
  readonly onSpawn: OnSpawn
}

const ENDED: Failed = { ok: false, trouble: 'other', code: 'closed' }

/** Calls a read-only worker, which is started when it is first needed and again after it died. */
function createReaderWorkers({ path, log, writer, onSpawn }: ReaderDeps) {
  let shared: CallableWorker<ReaderCalls> | null = null
  let ended = false
  const apart = new Set<CallableWorker<ReaderCalls>>()
  /** Whether a reader died and none has answered since. */
  let deathLogged = false

  function spawn(onDeath: () => void): CallableWorker<ReaderCalls> {
    const worker = spawnWorker<ReaderCalls>({
      name: 'reader-worker',
      onSpawn,
      onDeath(code) {
        onDeath()
        writer.threadDied()
        if (!deathLogged) log.error({ code }, 'a reader thread of the store died')
        deathLogged = true
      },
    })
    void worker.call('open', path).then(({ ok }) => {
      if (ok) deathLogged = false
    })
    return worker
  }

  const call: Call<ReaderCalls> = async (kind, ...asked) => {
    if (ended) return ENDED
    shared ??= spawn(() => {
      shared = null
    })
    return shared.call(kind, ...asked)
  }

  /** Calls a worker of its own, for calls that take long. */
  const callApart: Call<ReaderCalls> = async (kind, ...asked) => {
    if (ended) return ENDED
    const worker = spawn(() => undefined)
    apart.add(worker)
    const reply = await worker.call(kind, ...asked)
    apart.delete(worker)
    await worker.end()
    return reply
  }

  return {
    call,
    callApart,
    async end() {
      ended = true
      const workers = shared === null ? [...apart] : [shared, ...apart]
      await Promise.all(workers.map((worker) => worker.end()))
    },
  }
}

/** `null` if the JSON is damaged. */
function recordOf<T extends { readonly json: string }>({
  json,
  ...record
}: T): (Omit<T, 'json'> & { value: unknown }) | null {
  const value = parsed(json)
  return value === undefined ? null : { ...record, value }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
