import * as z from 'zod'
import type { EndpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import type { MaintainedEndpoint } from '../core/incident/incident-book.ts'
import { spanAt } from '../core/maintenance.ts'
import { checkOutcome, type PollResult } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { CONDITION_CODES, isFresh, VERDICTS } from '../core/verdict/condition.ts'
import type { HeadStanding, Health } from '../core/verdict/health.ts'
import type { ChainEvent, NetworkView, SavedEndpoint } from '../core/verdict/network-view.ts'
import type { Board } from '../state/board.ts'
import type { PollRecord, SavedHealth, Store } from '../store/store.ts'

/** Queues poll rows, replaced blocks and the state that a restart needs for the store; nothing here waits or fails. */
export function createPollHistory({ store, board }: PollHistoryDeps) {
  function save(kept: KeptEndpoint, at: UnixMs): void {
    const { key, network, name, view } = kept
    const saved = view.snapshot(name)
    if (saved === null || saved.lastPolledAt === null) return
    kept.savedAt = at
    const span = spanAt(board.entry(network, name)?.maintenance ?? [], at)
    const maintained = { maintainedFrom: span?.from ?? null, maintainedUntil: span?.until ?? null }
    store.saveHealth({ endpoint: key, at, value: { ...saved, ...maintained } })
  }

  return {
    save,

    /** Of an endpoint that is no longer configured: its incident has ended, so it must not go on if the endpoint returns. */
    forget(key: EndpointKey, at: UnixMs): void {
      store.saveHealth({ endpoint: key, at, value: null })
    },

    judged(
      kept: KeptEndpoint,
      previous: Health,
      health: Health,
      events: readonly ChainEvent[],
      result: PollResult,
    ): void {
      const { key } = kept
      const at = result.startedAt
      const fresh = isFresh(health.verdict, health.conditions)
      store.poll(judgedRecord(key, health, fresh, result))
      const from = changedSince(previous, health, kept.view.network.thresholds.recoverAfter)
      if (health.verdict !== null && from < at) store.amend(key, from, at, health.verdict, fresh)
      for (const event of events) {
        if (event.kind !== 'reorged') continue
        const { shard, height, hash, previousHash } = event
        store.hashChange({ endpoint: key, at, shard, height, hash, previousHash })
      }
      if (!confirmsTheSame(previous.confirmation, health.confirmation) || at - kept.savedAt >= SAVE_EVERY_MS)
        save(kept, at)
    },

    /** Stores a poll that says nothing about the node, whose state is unknown from here on. */
    discarded(key: EndpointKey, result: PollResult): void {
      store.poll({ ...UNKNOWN, endpoint: key, at: result.startedAt, failure: firstFailure(result) })
    },
  }
}

export interface PollHistoryDeps {
  readonly store: Pick<Store, 'poll' | 'amend' | 'hashChange' | 'saveHealth'>
  readonly board: Pick<Board, 'entry'>
}

export interface KeptEndpoint {
  readonly key: EndpointKey
  readonly network: string
  readonly name: string
  readonly view: NetworkView
  savedAt: UnixMs
}

/** How often a healthy endpoint's position on the chain is saved; a confirmed change is saved at once. */
const SAVE_EVERY_MS = 300_000

const UNKNOWN = {
  state: 'unknown',
  fresh: false,
  latencyMs: null,
  height: null,
  lagBlocks: null,
  heartbeatLagMs: null,
  contiguousFailures: null,
} as const

/** Since when the stored polls are not what is now known of them: `Infinity` if they are. */
function changedSince(
  previous: Health,
  { verdict, since, conditions, confirmation }: Health,
  recoverAfter: number,
): UnixMs {
  if (verdict !== previous.verdict) return since
  const isFreshNow = isFresh(verdict, conditions)
  if (isFreshNow === isFresh(previous.verdict, previous.conditions)) return Number.POSITIVE_INFINITY
  if (isFreshNow) return Math.max(since, confirmation.recent.at(-recoverAfter)?.at ?? Number.POSITIVE_INFINITY)
  const stale = conditions.filter((condition) => !isFresh(verdict, [condition]))
  return Math.max(since, Math.min(...stale.map((condition) => condition.since)))
}

/** For a sharded endpoint, records the shard that lags most, of those whose head this poll read. */
function judgedRecord(endpoint: EndpointKey, health: Health, fresh: boolean, result: PollResult): PollRecord {
  const at = result.startedAt
  let furthest: HeadStanding | null = null
  for (const head of health.heads) {
    if (head.readAt !== at) continue
    if (furthest === null || (head.lagBlocks ?? 0) > (furthest.lagBlocks ?? 0)) furthest = head
  }
  const heartbeatAt = health.liveness?.heartbeatAt ?? null
  return {
    endpoint,
    at,
    state: health.verdict ?? 'unknown',
    fresh,
    latencyMs: health.latencyMs,
    height: furthest?.height ?? null,
    lagBlocks: furthest?.lagBlocks ?? null,
    heartbeatLagMs: heartbeatAt === null ? null : Math.max(0, at - heartbeatAt),
    contiguousFailures: mostContiguousFailures(health),
    failure: firstFailure(result),
  }
}

export function firstFailure(result: PollResult): FailureKind | null {
  for (const check of result.endpoint.checks) {
    const outcome = checkOutcome(result, check)
    if (outcome !== null && !outcome.ok) return outcome.failure.kind
  }
  return null
}

function mostContiguousFailures({ liveness }: Health): number | null {
  if (liveness === null) return null
  let most = 0
  for (const { contiguousFailures } of liveness.checks) most = Math.max(most, contiguousFailures)
  return most
}

const Time = z.number().int()
const Head = z.object({ height: z.number().int(), hash: z.string(), parentHash: z.string(), timestamp: Time })
const Finding = z.object({
  code: z.enum(CONDITION_CODES),
  verdict: z.enum(VERDICTS),
  message: z.string(),
  isAlone: z.literal(true).optional(),
  shards: z.array(z.number().int()).optional(),
})

const Saved = z.object({
  streaks: z.object({
    verdict: z.enum(VERDICTS).nullable(),
    since: Time,
    badSince: Time.optional(),
    recent: z.array(
      z.object({
        at: Time,
        verdict: z.enum(VERDICTS),
        failed: z.object({ questions: z.array(z.string()), otherwise: z.enum(VERDICTS) }).optional(),
      }),
    ),
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
      forked: z
        .object({
          height: z.number().int(),
          hash: z.string(),
          side: z.literal('against'),
          agreedAt: z.number().int().nullable(),
        })
        .optional(),
    }),
  ),
  failing: z
    .array(z.object({ name: z.string(), contiguousFailures: z.number().int(), failingSince: Time.nullable() }))
    .optional(),
})

/** An earlier version may have saved only the end. */
const Planned = z.object({ maintainedFrom: Time.nullable().default(0), maintainedUntil: Time.nullable() })

/** Reads what an earlier run, maybe of another version, saved about an endpoint; `null` if it cannot be read. */
export function readSaved(value: unknown): SavedEndpoint | null {
  const parsed = Saved.safeParse(value)
  return parsed.success ? parsed.data : null
}

/**
 * What was saved of an endpoint, or what its last poller said of it later: heads are saved seldom, and a process may die
 * before it saves what it has said.
 */
export function latestOf(saved: SavedEndpoint | null, said: Health | undefined): SavedEndpoint | null {
  const lastPolledAt = said?.lastPolledAt ?? null
  if (said === undefined || lastPolledAt === null || (saved?.lastPolledAt ?? 0) >= lastPolledAt) return saved
  const { verdict, since, confirmation } = said
  const seen = said.heads.map(({ shard, height, hash, parentHash, timestamp, advancedAt }) => {
    const before = saved?.seen.find((one) => one.shard === shard)
    const head = { height, hash, parentHash, timestamp }
    const highest = Math.max(height, before?.seen.highest ?? height)
    return { shard, seen: { head, highest, advancedAt }, forked: before?.forked }
  })
  if (saved !== null && (verdict === null || saved.streaks.verdict === verdict)) return { ...saved, seen }
  const traces = said.conditions.map(({ since: from, ...finding }) => {
    return { finding, since: from, seen: 1, missed: 0, confirmed: true }
  })
  const { badSince } = confirmation
  return { streaks: { verdict, since, badSince, recent: [], traces }, lastPolledAt, seen }
}

export function endpointsIn(saved: readonly SavedHealth[]): readonly EndpointKey[] {
  return saved.filter(({ value }) => value !== null).map(({ endpoint }) => endpoint)
}

/** The endpoints that were saved during maintenance. */
export function maintainedIn(saved: readonly SavedHealth[]): ReadonlyMap<EndpointKey, MaintainedEndpoint> {
  const maintained = new Map<EndpointKey, MaintainedEndpoint>()
  for (const { endpoint, value } of saved) {
    const { data } = Planned.safeParse(value)
    if (data === undefined || data.maintainedFrom === null || data.maintainedUntil === null) continue
    const span = { from: data.maintainedFrom, until: data.maintainedUntil }
    maintained.set(endpoint, { span, confirmation: readSaved(value)?.streaks ?? null })
  }
  return maintained
}

/** Whether both lead to the same verdicts after a restart; heights and times may differ. */
function confirmsTheSame(a: SavedEndpoint['streaks'], b: SavedEndpoint['streaks']): boolean {
  if (a === b) return true
  if (a.verdict !== b.verdict || a.traces.length !== b.traces.length || a.recent.length !== b.recent.length)
    return false
  if (!a.recent.every((poll, at) => isSamePoll(poll, b.recent[at]))) return false
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

type RecentPoll = SavedEndpoint['streaks']['recent'][number]

function isSamePoll({ verdict, failed }: RecentPoll, other: RecentPoll | undefined): boolean {
  if (verdict !== other?.verdict || failed?.otherwise !== other.failed?.otherwise) return false
  return failed?.questions.join() === other.failed?.questions.join()
}
