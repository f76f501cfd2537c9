import type { Clock } from '../clock.ts'
import { type CheckName, type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import { periodAt } from '../core/maintenance.ts'
import type { Network } from '../core/network.ts'
import type { ObservedPoll, Observer, PollValidity } from '../core/observer/observer.ts'
import { type HostLocation, isWitnessFor } from '../core/observer/own-network.ts'
import { checkOutcome, type PollResult } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { waitMs } from '../core/verdict/assess.ts'
import { isFresh, severity, type Verdict } from '../core/verdict/condition.ts'
import { type Health, stateAt, unpolled } from '../core/verdict/health.ts'
import { type ChainEvent, createNetworkView, type NetworkView } from '../core/verdict/network-view.ts'
import type { Log } from '../log.ts'
import type { Prober } from '../nodes/probe.ts'
import type { WritableBoard } from '../state/board.ts'
import type { WritableIncidentLog } from '../state/incident-log.ts'
import { newTally, type Tally } from '../state/tally.ts'
import type { IncidentRecord, SavedHealth, Store } from '../store/store.ts'
import { createIncidentRecorder } from './incident-recorder.ts'
import { readMaintainedUntil, readMemory, sameStreaks } from './memory.ts'
import { createPendingPolls } from './pending-polls.ts'
import { firstFailure, lostRecord, recordOf } from './records.ts'

export interface PollerDeps {
  readonly prober: Pick<Prober, 'poll'>
  readonly observer: Observer
  /** What has happened to ourselves up to this moment: asked before a poll is judged. */
  readonly checkSelf: () => void
  readonly board: WritableBoard
  readonly incidents: WritableIncidentLog
  readonly store: Pick<Store, 'poll' | 'amend' | 'hashChange' | 'saveHealth' | 'saveIncident'>
  readonly metrics: { checkFinished(network: string, check: CheckName, durationMs: number): void }
  /** An endpoint's chain went back, or has other blocks than before. */
  readonly onChainEvent?: (network: string, event: ChainEvent) => void
  /** A poll says something of the node. */
  readonly onJudged?: (result: PollResult) => void
  /** Polls this one sooner than its turn. */
  readonly pollSoon: (key: EndpointKey) => void
  readonly clock: Clock
  readonly log: Log
}

export interface PolledNetwork {
  readonly network: Network
  readonly endpoints: readonly { readonly endpoint: Endpoint; readonly at: HostLocation }[]
}

/** One poll with all its hops: ask, weigh, judge, put on the board, hand to the store, count. */
export interface Poller {
  /** The new whole set. The endpoints of `kept` go on with the health they have, the others start unknown. */
  configure(networks: readonly PolledNetwork[], kept: ReadonlySet<EndpointKey>): void
  /** Goes on where an earlier run ended; the time between stays unknown. */
  restore(saved: readonly SavedHealth[], incidents: readonly IncidentRecord[]): void
  /** Never rejects. `waitMs`: how long the node asks to be left alone. */
  poll(key: EndpointKey, signal: AbortSignal): Promise<{ readonly waitMs: number }>
  /** The wall clock was set by so much: no chain has had that time. */
  shift(ms: number): void
  /** Hands what a restart needs of every endpoint to the store. */
  saveAll(): void
}

/** A healthy endpoint's place on the chain is saved this often; a change of its streaks at once. */
const SAVE_EVERY_MS = 300_000
/** With so many other polls in a quarter of its interval, one of them answers soon enough to tell whose fault it is. */
const ENOUGH_WITNESSES = 8

/** Kept over a reload that does not touch the endpoint, so that a poll under way still counts. */
interface PolledEndpoint {
  endpoint: Endpoint
  at: HostLocation
  view: NetworkView
  tally: Tally
  savedAt: UnixMs
  /** Its latest poll was answered. */
  answers: boolean
}

interface CompletedPoll extends ObservedPoll {
  readonly key: EndpointKey
  readonly entry: PolledEndpoint
}

export function createPoller(deps: PollerDeps): Poller {
  const {
    prober,
    observer,
    checkSelf: lookAtOurselves,
    board,
    incidents,
    store,
    metrics,
    onChainEvent,
    onJudged,
  } = deps
  const { pollSoon: hasten, clock, log } = deps
  const chronicle = createIncidentRecorder({ incidents, store, log })
  let polled = new Map<EndpointKey, PolledEndpoint>()
  let views: readonly NetworkView[] = []
  /** In the order in which they are asked for help. */
  let witnesses: readonly PolledEndpoint[] = []
  let nextWitness = 0
  /** Polls per ms. */
  let pace = 0
  const docket = createPendingPolls<CompletedPoll, Exclude<PollValidity, 'undecided'>>({
    decide: (poll) => observer.validity(poll),
    onDecided: (poll, validity) => (validity === 'own-fault' ? discard(poll) : judge(poll, validity)),
    onWaiting: (_key, poll) => callWitness(poll.entry),
  })

  function take(poll: CompletedPoll): void {
    count(poll.result, poll.entry.tally)
    poll.entry.answers = poll.result.heads.some(({ outcome }) => outcome.ok) || poll.result.liveness?.ok === true
    const changed = observer.record(poll)
    docket.add(poll.key, poll)
    if (changed && docket.size > 0) docket.review()
  }

  function judge({ key, entry, result }: CompletedPoll, validity: 'valid' | 'untimed'): void {
    const { endpoint, view } = entry
    if (polled.get(key) !== entry) return
    const now = clock.now()
    const previous = view.health(endpoint.name)
    const judgement = view.judge(result, now, validity === 'valid')
    if (judgement === null || previous === undefined) return
    onJudged?.(result)
    const { health, events, suspect } = judgement
    const onBoard = board.put(health, verdictDiffers(previous, health))
    putStanding(view, now)
    keep(entry, key, previous, health, events, result)
    for (const event of events) {
      countEvent(event, entry.tally)
      onChainEvent?.(endpoint.network, event)
    }
    if (onBoard !== undefined) chronicle.judged(view, onBoard, result.startedAt, now)
    if (previous.verdict !== health.verdict) tell(previous.verdict, health)
    if (suspect) hasten(key)
  }

  /** The poll says nothing of the node: from here on its state is unknown. */
  function discard({ key, entry, result }: CompletedPoll): void {
    const { endpoint, view } = entry
    if (polled.get(key) !== entry) return
    const now = clock.now()
    const previous = view.health(endpoint.name)
    const health = view.discardPoll(endpoint.name, result.startedAt)
    if (health === null || previous === undefined) return
    const wasKnown = stateAt(previous, now) !== 'unknown'
    board.put(health, wasKnown)
    store.poll(lostRecord(key, result))
    if (wasKnown) log.warn({ ...names(endpoint), failure: firstFailure(result) }, 'poll says nothing of the node')
  }

  /** Where few are polled, somebody else is asked at once whether our own network works. */
  function callWitness({ endpoint, at, view }: PolledEndpoint): void {
    const verdict = view.health(endpoint.name)?.verdict ?? 'up'
    if (severity(verdict) === severity('down') || (pace * endpoint.intervalMs) / 4 > ENOUGH_WITNESSES) return
    for (let tried = 0; tried < witnesses.length; tried++) {
      const witness = witnesses[nextWitness++ % witnesses.length]
      if (witness === undefined || !witness.answers || !isWitnessFor(witness.at, at)) continue
      hasten(endpointKey(witness.endpoint))
      return
    }
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
    const { name } = view.network
    const slot = board.network(name)
    if (slot === undefined) return
    const before = slot.standing
    const heads = view.references(now)
    const halts = view.halts(now)
    const halted = halts.length > 0
    const forked = view.isForked()
    chronicle.standing(view, halts, () => slot.endpoints, now)
    const changed = halted !== before.halted || forked !== before.forked
    if (!changed && heads === before.heads) return
    board.putStanding({ ...before, heads, halted, forked }, changed)
    if (halted !== before.halted) log.warn({ network: name }, halted ? 'network halted' : 'network goes on')
    if (forked !== before.forked)
      log.warn({ network: name }, forked ? 'network forked' : 'network is of one mind again')
  }

  /** Everything that is queued for the disk; nothing here waits or fails. */
  function keep(
    entry: PolledEndpoint,
    key: EndpointKey,
    previous: Health,
    health: Health,
    events: readonly ChainEvent[],
    result: PollResult,
  ): void {
    const at = result.startedAt
    const fresh = isFresh(health.verdict, health.conditions)
    store.poll(recordOf(key, health, fresh, result))
    if (health.verdict !== null && health.verdict !== previous.verdict && health.since < at) {
      store.amend(key, health.since, at, health.verdict, fresh)
    }
    for (const event of events) {
      if (event.kind !== 'reorged') continue
      const { shard, height, hash, previousHash } = event
      store.hashChange({ endpoint: key, at, shard, height, hash, previousHash })
    }
    if (!sameStreaks(previous.confirmation, health.confirmation) || at - entry.savedAt >= SAVE_EVERY_MS)
      save(entry, key, at)
  }

  function save(entry: PolledEndpoint, key: EndpointKey, at: UnixMs): void {
    const memory = entry.view.snapshot(entry.endpoint.name)
    if (memory === null || memory.lastPolledAt === null) return
    entry.savedAt = at
    const { network, name } = entry.endpoint
    const maintainedUntil = periodAt(board.entry(network, name)?.maintenance ?? [], at)?.until ?? null
    store.saveHealth({ endpoint: key, at, value: { ...memory, maintainedUntil } })
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
        const view = createNetworkView(
          network,
          endpoints.map(({ endpoint }) => endpoint),
          now,
        )
        const fresh = endpoints.map(({ endpoint, at }) => {
          const key = endpointKey(endpoint)
          const earlier = before.get(key)
          const stays = earlier !== undefined && kept.has(key)
          if (stays) view.takeOver(endpoint.name, earlier.view)
          const tally = tallyFor(endpoint, earlier)
          const answers = earlier?.answers ?? false
          const next = { endpoint, at, view, tally, savedAt: earlier?.savedAt ?? 0, answers }
          polled.set(key, stays ? Object.assign(earlier, next) : next)
          return { health: view.health(endpoint.name) ?? unpolled(endpoint, now), tally }
        })
        return { network, fresh }
      })
      witnesses = [...polled.values()]
      views = [...new Set(witnesses.map(({ view }) => view))]
      pace = witnesses.reduce((sum, { endpoint }) => sum + 1 / endpoint.intervalMs, 0)
      const longestIntervalMs = witnesses.reduce((most, { endpoint }) => Math.max(most, endpoint.intervalMs), 0)
      observer.configure(
        witnesses.map(({ at }) => at),
        longestIntervalMs,
      )
      docket.retain(new Set(polled.keys()))
      board.configure(onBoard)
      chronicle.retain(new Set(polled.keys()), new Set(networks.map(({ network }) => network.name)), now)
    },

    restore(saved, records) {
      const now = clock.now()
      const maintained = new Map<EndpointKey, UnixMs>()
      for (const { endpoint: key, value } of saved) {
        const entry = polled.get(key)
        const memory = readMemory(value)
        if (entry === undefined || memory === null) continue
        entry.view.restore(entry.endpoint.name, memory, now)
        const until = readMaintainedUntil(value)
        if (until !== null) maintained.set(key, until)
        const health = entry.view.health(entry.endpoint.name)
        if (health === undefined) continue
        board.put(health, false)
        if (health.verdict !== null && health.verdict !== 'down') observer.expect(entry.at, clock.monotonic())
      }
      chronicle.restore(records, maintained)
      chronicle.retain(new Set(polled.keys()), new Set(views.map(({ network }) => network.name)), now)
    },

    async poll(key, signal) {
      const entry = polled.get(key)
      if (entry === undefined) return NOTHING_ASKED
      const { name } = entry.endpoint
      const startedAt = clock.monotonic()
      try {
        const answered = await prober.poll(entry.endpoint, signal, (heads) => entry.view.compare(name, heads))
        // Asked to stop, or reconfigured meanwhile: the answer is to a question that nobody asks any more.
        if (signal.aborted || polled.get(key) !== entry) return NOTHING_ASKED
        const isCurrent = answered.endpoint === entry.endpoint
        const result = isCurrent ? answered : { ...answered, endpoint: entry.endpoint }
        // Before the poll ends: what is noticed only now happened while it lasted.
        lookAtOurselves()
        take({ key, entry, location: entry.at, startedAt, endedAt: clock.monotonic(), result })
        return { waitMs: waitMs(result) }
      } catch (error) {
        // A bug of ours: it must neither end the other polls nor count against the node.
        log.error({ ...names(entry.endpoint), error: placeOf(error) }, 'poll failed')
        return NOTHING_ASKED
      }
    },

    shift(ms) {
      const now = clock.now()
      for (const view of views) view.shift(ms, now)
      for (const { endpoint, view } of polled.values()) {
        const health = view.health(endpoint.name)
        if (health !== undefined) board.put(health, true)
      }
    },

    saveAll() {
      for (const [key, entry] of polled) save(entry, key, clock.now())
    },
  }
}

const NOTHING_ASKED = Object.freeze({ waitMs: 0 })

/** Counters go on as long as they count the same things. */
function tallyFor(endpoint: Endpoint, earlier: PolledEndpoint | undefined): Tally {
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

function names(endpoint: Endpoint): { network: string; endpoint: string } {
  return { network: endpoint.network, endpoint: endpoint.name }
}
