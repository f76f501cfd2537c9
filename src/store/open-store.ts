import type { Worker } from 'node:worker_threads'
import type { Clock } from '../clock.ts'
import type { EndpointKey } from '../core/endpoint.ts'
import { type AliasRecord, STALE_REASONS } from '../core/routing/alias.ts'
import type { Log } from '../log.ts'
import { checkApart, type Soundness } from './check-apart.ts'
import { IN_MEMORY } from './database.ts'
import { type FileSystemType, fileSystemType } from './file-system.ts'
import { bucketsIn, unseen } from './history.ts'
import type { AliasRow, IncidentRow, Registration, Retention } from './messages.ts'
import { outcomeOf } from './poll-row.ts'
import { createReader, type Reader } from './reader.ts'
import { type IncidentRecord, type PollRecord, STORE_JOBS, type Store, type StoreJob } from './store.ts'
import { createWriteQueue } from './write-queue.ts'
import { createWriter } from './writer.ts'

export interface StoreOptions {
  /** A file, whose directory is made when it is missing, or `:memory:`. */
  readonly path: string
  readonly retention: Retention
  readonly maxSizeBytes: number
  readonly clock: Clock
  readonly log: Log
  /** Called for every batch that is on disk. */
  readonly onCommit?: (commit: { readonly rows: number; readonly durationMs: number }) => void
  /** How many polls may wait for a disk that does not take them. */
  readonly maxQueueRows?: number
  /** For tests, which have no network disk. */
  readonly fileSystemType?: FileSystemType
  /** For tests, which let threads die. */
  readonly onSpawn?: (worker: Worker) => void
}

/** 45 minutes of a thousand endpoints polled every 15 s, in 12 MB. */
const MAX_QUEUE_ROWS = 180_000

/**
 * Opens the history. Rejects with a StoreError where a person has to decide: the store is in use, from a newer version, or
 * where nothing can be written. Any other trouble is no reason not to start: it shows in `status()`, and opening is tried again until it works.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, retention, maxSizeBytes, clock, log } = options
  const queue = createWriteQueue({ maxRows: options.maxQueueRows ?? MAX_QUEUE_ROWS })
  const registered = new Map<EndpointKey, Registration>()
  let unregistered = 0
  const closing = new AbortController()
  const reader = createReader({
    path,
    onSpawn: options.onSpawn,
    onDeath(code) {
      writer.threadDied()
      log.error({ code }, 'a reading thread of the store died')
    },
  })
  const writer = createWriter({
    path,
    retention,
    maxSizeBytes,
    clock,
    log,
    queue,
    fileSystemType: options.fileSystemType ?? fileSystemType,
    registrations: () => [...registered.values()],
    onCommit: options.onCommit ?? (() => undefined),
    onWantsCheck: () => void check(closing.signal),
    onSpawn: options.onSpawn,
  })
  const readings: Pick<Reader, 'call' | 'callApart'> =
    path === IN_MEMORY ? { call: writer.call, callApart: writer.call } : reader
  await writer.open()

  async function soundness(signal: AbortSignal): Promise<Soundness> {
    if (path !== IN_MEMORY) return checkApart(path, signal)
    const reply = await writer.call('check', null)
    return reply.ok ? (reply.value ? 'sound' : 'damaged') : 'unreadable'
  }

  async function check(signal: AbortSignal): Promise<boolean> {
    const found = await soundness(signal)
    if (found === 'damaged') {
      writer.damaged()
      log.error({}, 'the store is damaged: what can be read of it goes on being used')
    }
    return found === 'sound'
  }

  /** A poll of an endpoint that nobody registered has no time that it holds for. */
  function indexOf(endpoint: EndpointKey): number | null {
    const found = registered.get(endpoint)
    if (found !== undefined) return found.index
    if (unregistered++ === 0) log.error({ endpoint }, 'a poll of an unregistered endpoint is not stored')
    return null
  }

  return {
    register(endpoints, at) {
      const registrations = endpoints.map(({ endpoint, holdMs }) => {
        const index = registered.get(endpoint)?.index ?? registered.size
        const registration = { index, endpoint, holdMs: Math.round(holdMs), at: Math.floor(at) }
        registered.set(endpoint, registration)
        return registration
      })
      queue.pushEvent({ kind: 'register', registrations })
      writer.wake()
    },

    poll(record) {
      const index = indexOf(record.endpoint)
      if (index === null || !Number.isFinite(record.at)) return
      queue.pushPoll(numbersOf(index, record))
      writer.wake()
    },

    amend(endpoint, from, to, state, fresh) {
      const index = indexOf(endpoint)
      if (index === null || !(to > from)) return
      const verdict = outcomeOf(state, fresh, null)
      queue.pushEvent({ kind: 'amend', index, from: Math.floor(from), to: Math.ceil(to), verdict })
      writer.wake()
    },

    hashChange({ endpoint, at, shard, height, hash, previousHash }) {
      const index = indexOf(endpoint)
      if (index === null) return
      const event = { index, at: Math.floor(at), shard: shard ?? -1, height, hash, previousHash }
      queue.pushEvent({ kind: 'hash-change', ...event })
      writer.wake()
    },

    saveHealth({ endpoint, at, value }) {
      queue.pushEvent({ kind: 'save-health', endpoint, at: Math.floor(at), json: JSON.stringify(value) ?? 'null' })
      writer.wake()
    },

    saveIncident({ id, network, endpoint, openedAt, closedAt, absorbed, value }) {
      const closed = closedAt === null ? null : Math.floor(closedAt)
      const json = JSON.stringify(value) ?? 'null'
      const row = [id, network, endpoint, Math.floor(openedAt), closed, absorbed ? 1 : 0, json] as const
      queue.pushEvent({ kind: 'save-incident', id, row })
      writer.wake()
    },

    saveAlias({ network, alias, target, endpoint, nodeId, caller, at, stale }) {
      const staleAt = stale === null ? null : Math.floor(stale.at)
      const row = [
        network,
        alias,
        target,
        endpoint,
        nodeId,
        caller,
        Math.floor(at),
        staleAt,
        stale?.reason ?? null,
      ] as const
      queue.pushEvent({ kind: 'save-alias', row })
      writer.wake()
    },

    adminCall({ at, nth, network, caller, alias, target, endpoint, nodeId, outcome }) {
      const row = [Math.floor(at), nth, network, caller, alias, target, endpoint, nodeId, outcome] as const
      queue.pushEvent({ kind: 'admin-call', row })
      writer.wake()
    },

    maintain(periods, at) {
      const told = periods.map(({ endpoint, from, until }) => [endpoint, Math.floor(from), Math.floor(until)] as const)
      queue.pushEvent({ kind: 'maintain', at: Math.floor(at), periods: told })
      writer.wake()
    },

    flush: writer.flush,

    async savedHealth() {
      const reply = await writer.call('saved-health', null)
      if (!reply.ok) {
        log.warn({ trouble: reply.trouble, code: reply.code }, 'what was saved of the endpoints cannot be read')
        return []
      }
      return reply.value.flatMap(([endpoint, at, json]) => {
        const value = parsed(json)
        return value === undefined ? [] : [{ endpoint, at, value }]
      })
    },

    async aliases() {
      const reply = await writer.call('aliases', null)
      if (reply.ok) return reply.value.map(aliasOf)
      log.warn({ trouble: reply.trouble, code: reply.code }, 'the aliases cannot be read')
      return []
    },

    async incidents(query) {
      const reply = await readings.call('incidents', { query })
      if (reply.ok) return reply.value.flatMap(incidentOf)
      log.warn({ trouble: reply.trouble, code: reply.code }, 'the incidents cannot be read')
      return []
    },

    async incident(id) {
      const reply = await readings.call('incident', { id })
      if (reply.ok) return reply.value === null ? null : (incidentOf(reply.value)[0] ?? null)
      log.warn({ trouble: reply.trouble, code: reply.code }, 'an incident cannot be read')
      return null
    },

    async history(query) {
      // A question that no store can answer is the caller's mistake, not the disk's.
      bucketsIn(query)
      const ask = { query, now: clock.now() }
      const reply = await readings.call('history', ask)
      if (reply.ok) return reply.value
      log.warn({ trouble: reply.trouble, code: reply.code }, 'the history cannot be read')
      return unseen(query)
    },

    async polls(query) {
      const reply = await readings.call('polls', { query })
      if (reply.ok) return reply.value
      log.warn({ trouble: reply.trouble, code: reply.code }, 'single polls cannot be read')
      return []
    },

    async availability(endpoints, now) {
      const reply = await readings.call('availability', { endpoints, now })
      if (reply.ok) return new Map(reply.value)
      log.warn({ trouble: reply.trouble, code: reply.code }, 'availability cannot be read')
      return new Map()
    },

    async lastRuns() {
      const reply = await writer.call('last-runs', null)
      const runs = reply.ok ? reply.value : []
      return new Map(runs.filter((run): run is [StoreJob, number] => STORE_JOBS.some((job) => job === run[0])))
    },

    async run(job, now, signal) {
      const ended = signal === undefined ? closing.signal : AbortSignal.any([signal, closing.signal])
      if (ended.aborted || (job === 'integrity' && !(await check(ended)))) return false
      const end = () => void writer.call('end-jobs', null)
      ended.addEventListener('abort', end, { once: true })
      const reply = await writer.call('job', { job, now })
      ended.removeEventListener('abort', end)
      if (!reply.ok) log.warn({ job, trouble: reply.trouble, code: reply.code }, 'a job of the store failed')
      return reply.ok && reply.value
    },

    async backup(file) {
      const reply = await readings.callApart('backup', { file })
      if (!reply.ok) throw new Error(`no backup was made: ${reply.trouble} (${reply.code})`)
    },

    status() {
      const status = writer.status()
      return { ...status, rowsDropped: status.rowsDropped + unregistered }
    },

    async close() {
      closing.abort()
      // The last connection to close is the one that can take the WAL away.
      await reader.end()
      await writer.close()
    },
  }
}

/** In the order that `messages.ts` gives: see POLL_NUMBERS. */
function numbersOf(index: number, record: PollRecord): number[] {
  return [
    index,
    Math.floor(record.at),
    outcomeOf(record.state, record.fresh, record.failure),
    record.latencyMs === null ? Number.NaN : whole(record.latencyMs * 1000),
    whole(record.height),
    whole(record.lagBlocks),
    whole(record.heartbeatLagMs),
    whole(record.contiguousFailures),
  ]
}

/** The columns are integers, and one that is not would keep its whole batch from being written. */
function whole(value: number | null): number {
  return value === null || !Number.isSafeInteger(Math.round(value)) ? Number.NaN : Math.round(value)
}

/** None where what is kept of it is damaged. */
function incidentOf([id, network, endpoint, openedAt, closedAt, absorbed, json]: IncidentRow): IncidentRecord[] {
  const value = parsed(json)
  return value === undefined ? [] : [{ id, network, endpoint, openedAt, closedAt, absorbed: absorbed !== 0, value }]
}

function aliasOf([network, alias, target, endpoint, nodeId, caller, at, staleAt, reason]: AliasRow): AliasRecord {
  // Of a reason that is not known here only that there is one matters.
  const known = STALE_REASONS.find((candidate) => candidate === reason) ?? 'lost'
  const stale = staleAt === null ? null : { at: staleAt, reason: known }
  return { network, alias, target, endpoint, nodeId, caller, at, stale }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
