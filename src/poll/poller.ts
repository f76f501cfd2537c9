import type { Clock } from '../clock.ts'
import { waitMs } from '../core/assess.ts'
import { isFresh, type Verdict } from '../core/condition.ts'
import { type CheckName, type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { FailureKind } from '../core/failure.ts'
import { type Health, unpolled } from '../core/health.ts'
import type { Network } from '../core/network.ts'
import { type ChainEvent, createNetworkView, type NetworkView } from '../core/network-view.ts'
import { checkOutcome, type PollResult } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import type { Log } from '../log.ts'
import type { Prober } from '../nodes/probe.ts'
import type { WritableBoard } from '../state/board.ts'
import { newTally, type Tally } from '../state/tally.ts'
import type { SavedHealth, Store } from '../store/store.ts'
import { readMemory, sameStreaks } from './memory.ts'

export interface PollerDeps {
  readonly prober: Pick<Prober, 'poll'>
  readonly board: WritableBoard
  readonly store: Pick<Store, 'poll' | 'amend' | 'hashChange' | 'saveHealth'>
  readonly metrics: { checkFinished(network: string, check: CheckName, durationMs: number): void }
  readonly clock: Clock
  readonly log: Log
}

export interface PolledNetwork {
  readonly network: Network
  readonly endpoints: readonly Endpoint[]
}

/** One poll with all its hops: ask, judge, put on the board, hand to the store, count. */
export interface Poller {
  /** The new whole set. The endpoints of `kept` go on with the health they have, the others start unknown. */
  configure(networks: readonly PolledNetwork[], kept: ReadonlySet<EndpointKey>): void
  /** Goes on where an earlier run ended; the time between stays unknown. */
  restore(saved: readonly SavedHealth[]): void
  /** Never rejects. `waitMs`: how long the node asks to be left alone. */
  poll(key: EndpointKey, signal: AbortSignal): Promise<{ readonly waitMs: number }>
  /** Hands what a restart needs of every endpoint to the store. */
  saveAll(): void
}

/** A healthy endpoint's place on the chain is saved this often; a change of its streaks at once. */
const SAVE_EVERY_MS = 300_000

/** A wall clock that went this much otherwise than the monotonic one was set by somebody. */
const CLOCK_STEP_MS = 1000

/** Kept over a reload that does not touch the endpoint, so that a poll under way still counts. */
interface Polled {
  endpoint: Endpoint
  view: NetworkView
  tally: Tally
  savedAt: UnixMs
}

export function createPoller({ prober, board, store, metrics, clock, log }: PollerDeps): Poller {
  let polled = new Map<EndpointKey, Polled>()
  let views: readonly NetworkView[] = []
  let wallOffset = clock.now() - clock.monotonic()

  /** Before anything is judged by the new time: a step of the wall clock is no time that a chain has had. */
  function followWallClock(): void {
    const offset = clock.now() - clock.monotonic()
    const step = offset - wallOffset
    wallOffset = offset
    if (Math.abs(step) > CLOCK_STEP_MS) for (const view of views) view.shift(step)
  }

  function take(result: PollResult, { endpoint, view, tally }: Polled, key: EndpointKey): void {
    followWallClock()
    const now = clock.now()
    count(result, tally)
    const previous = view.health(endpoint.name)
    const judgement = view.judge(result, now)
    if (judgement === null || previous === undefined) {
      log.warn({ ...names(endpoint), failure: firstFailure(result) }, 'poll says nothing of the node')
      return
    }
    const { health, events } = judgement
    board.put(health, verdictDiffers(previous, health))
    putStanding(view, now)
    keep(result, previous, health, events, key)
    for (const event of events) countEvent(event, tally)
    if (previous.verdict !== health.verdict) tell(previous.verdict, health)
  }

  function count(result: PollResult, tally: Tally): void {
    const { endpoint, startedAt } = result
    for (const check of endpoint.checks) {
      const outcome = checkOutcome(result, check)
      const of = tally.checks.get(check)
      if (outcome === null || of === undefined) continue
      of.runs++
      of.lastRunAt = startedAt
      of.lastDurationMs = outcome.durationMs
      of.lastOk = outcome.ok
      if (outcome.ok) {
        of.lastSuccessAt = startedAt
        of.consecutiveFailures = 0
      } else {
        of.consecutiveFailures++
        of.failures.set(outcome.failure.kind, (of.failures.get(outcome.failure.kind) ?? 0) + 1)
      }
      metrics.checkFinished(endpoint.network, check, outcome.durationMs)
    }
  }

  function putStanding(view: NetworkView, now: UnixMs): void {
    const before = board.network(view.network.name)?.standing
    if (before === undefined) return
    const heads = view.references(now)
    const halted = view.halted(now)
    if (heads === before.heads && halted === before.halted) return
    board.putStanding({ ...before, heads, halted }, halted !== before.halted)
    if (halted !== before.halted) {
      log.warn({ network: view.network.name }, halted ? 'network halted' : 'network goes on')
    }
  }

  /** Everything that is queued for the disk; nothing here waits or fails. */
  function keep(
    result: PollResult,
    previous: Health,
    health: Health,
    events: readonly ChainEvent[],
    key: EndpointKey,
  ): void {
    const at = result.startedAt
    const fresh = isFresh(health.verdict, health.conditions)
    const furthest = health.heads.reduce<Health['heads'][number] | null>(
      (most, head) => (most === null || (head.lagBlocks ?? 0) > (most.lagBlocks ?? 0) ? head : most),
      null,
    )
    const heartbeatAt = health.liveness?.heartbeatAt ?? null
    store.poll({
      endpoint: key,
      at,
      state: health.verdict ?? 'unknown',
      fresh,
      latencyMs: health.latencyMs,
      height: furthest?.height ?? null,
      lagBlocks: furthest?.lagBlocks ?? null,
      heartbeatLagMs: heartbeatAt === null ? null : Math.max(0, at - heartbeatAt),
      contiguousFailures: mostContiguousFailures(health),
      failure: firstFailure(result),
    })
    if (health.verdict !== null && health.verdict !== previous.verdict && health.since < at) {
      store.amend(key, health.since, at, health.verdict, fresh)
    }
    for (const event of events) {
      if (event.kind !== 'reorged') continue
      const { shard, height, hash, previousHash } = event
      store.hashChange({ endpoint: key, at, shard, height, hash, previousHash })
    }
    const entry = polled.get(key)
    if (
      entry !== undefined &&
      (!sameStreaks(previous.streaks, health.streaks) || at - entry.savedAt >= SAVE_EVERY_MS)
    ) {
      save(entry, key, at)
    }
  }

  function save(entry: Polled, key: EndpointKey, at: UnixMs): void {
    const memory = entry.view.remember(entry.endpoint.name)
    if (memory === null || memory.lastPolledAt === null) return
    entry.savedAt = at
    store.saveHealth({ endpoint: key, at, value: memory })
  }

  function tell(before: Verdict | null, health: Health): void {
    const fields = { ...names(health.endpoint), conditions: health.conditions.map((condition) => condition.code) }
    if (health.verdict === 'up') {
      if (before !== null) log.info(fields, 'endpoint came up')
      return
    }
    const why = health.conditions.map((condition) => condition.message).join('; ')
    log.warn({ ...fields, why }, health.verdict === 'down' ? 'endpoint went down' : 'endpoint is degraded')
  }

  return {
    configure(networks, kept) {
      const now = clock.now()
      const before = polled
      polled = new Map()
      const onBoard = networks.map(({ network, endpoints }) => {
        const view = createNetworkView(network, endpoints, now)
        const fresh = endpoints.map((endpoint) => {
          const key = endpointKey(endpoint)
          const earlier = before.get(key)
          const stays = earlier !== undefined && kept.has(key)
          if (stays) view.adopt(endpoint.name, earlier.view)
          const tally = tallyFor(endpoint, earlier)
          const next = { endpoint, view, tally, savedAt: earlier?.savedAt ?? 0 }
          polled.set(key, stays ? Object.assign(earlier, next) : next)
          return { health: view.health(endpoint.name) ?? unpolled(endpoint, now), tally }
        })
        return { network, fresh }
      })
      views = [...new Set([...polled.values()].map(({ view }) => view))]
      board.configure(onBoard)
    },

    restore(saved) {
      const now = clock.now()
      for (const { endpoint: key, value } of saved) {
        const entry = polled.get(key)
        const memory = readMemory(value)
        if (entry === undefined || memory === null) continue
        entry.view.recall(entry.endpoint.name, memory, now)
        const health = entry.view.health(entry.endpoint.name)
        if (health !== undefined) board.put(health, false)
      }
    },

    async poll(key, signal) {
      const entry = polled.get(key)
      if (entry === undefined) return { waitMs: 0 }
      try {
        const result = await prober.poll(entry.endpoint, signal)
        // Asked to stop, or reconfigured meanwhile: the answer is to a question that nobody asks any more.
        if (signal.aborted || polled.get(key) !== entry) return { waitMs: 0 }
        take({ ...result, endpoint: entry.endpoint }, entry, key)
        return { waitMs: waitMs(result) }
      } catch (error) {
        // A bug of ours: it must neither end the other polls nor count against the node.
        log.error({ ...names(entry.endpoint), error: placeOf(error) }, 'poll failed')
        return { waitMs: 0 }
      }
    },

    saveAll() {
      for (const [key, entry] of polled) save(entry, key, clock.now())
    },
  }
}

/** Counters go on as long as they count the same things. */
function tallyFor(endpoint: Endpoint, earlier: Polled | undefined): Tally {
  const same = (a: readonly unknown[], b: readonly unknown[]) =>
    a.length === b.length && a.every((x, at) => x === b[at])
  return earlier !== undefined &&
    same(endpoint.checks, earlier.endpoint.checks) &&
    same(endpoint.shards, earlier.endpoint.shards)
    ? earlier.tally
    : newTally(endpoint.checks, endpoint.shards)
}

/** Its kind and where it was thrown; its message may hold what a node sent. */
function placeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'not an error'
  const at = error.stack?.split('\n').find((line) => line.trimStart().startsWith('at '))
  return `${error.name} ${at?.trim() ?? ''}`
}

function countEvent(event: ChainEvent, tally: Tally): void {
  const counters = event.kind === 'reorged' ? tally.reorgs : tally.regressions
  counters.set(event.shard, (counters.get(event.shard) ?? 0) + 1)
}

function verdictDiffers(a: Health, b: Health): boolean {
  return (
    a.verdict !== b.verdict ||
    a.conditions.length !== b.conditions.length ||
    a.conditions.some((condition, at) => condition.code !== b.conditions[at]?.code)
  )
}

function mostContiguousFailures({ liveness }: Health): number | null {
  if (liveness === null) return null
  return liveness.checks.reduce((most, check) => Math.max(most, check.contiguousFailures), 0)
}

function firstFailure(result: PollResult): FailureKind | null {
  for (const check of result.endpoint.checks) {
    const outcome = checkOutcome(result, check)
    if (outcome !== null && !outcome.ok) return outcome.failure.kind
  }
  return null
}

function names(endpoint: Endpoint): { network: string; endpoint: string } {
  return { network: endpoint.network, endpoint: endpoint.name }
}
