import type { Clock } from '../clock.ts'
import { type Endpoint, type EndpointKey, endpointKey, networkOf } from '../core/endpoint.ts'
import { FAILURES } from '../core/failure.ts'
import type { ObservedPoll, Observer } from '../core/observer/observer.ts'
import { isAnswered, type PollResult, rateLimitOf, type ShardHead } from '../core/poll-result.ts'
import type { UnixMs } from '../core/time.ts'
import { waitMs } from '../core/verdict/assess.ts'
import type { Verdict } from '../core/verdict/condition.ts'
import { type Health, stateAt, verdictDiffers } from '../core/verdict/health.ts'
import { isLivenessUnsettled } from '../core/verdict/liveness.ts'
import type { NetworkFork, NetworkReference } from '../core/verdict/network-chains.ts'
import type { ChainEvent, NetworkView } from '../core/verdict/network-view.ts'
import { type Log, placeOf } from '../log.ts'
import type { Prober } from '../nodes/probe.ts'
import { standingDiffers, type WritableBoard } from '../state/board.ts'
import type { IncidentRecord, SavedHealth, Store } from '../store/store.ts'
import type { IncidentRecorder } from './incident-recorder.ts'
import { createPendingPolls } from './pending-polls.ts'
import { type CheckMetrics, countChecks, countEvent } from './poll-counts.ts'
import { createPollHistory, endpointsIn, firstFailure, maintainedIn } from './poll-history.ts'
import { createPolledEndpoints, freshOf, type PolledEndpoint, type PolledNetwork } from './polled-endpoints.ts'
import type { Scheduler } from './scheduler.ts'

/** Polls one endpoint: asks the node, judges the result, and passes it to board, counters, store and incidents. */
export function createPoller(deps: PollerDeps): Poller {
  const { prober, observer, board, recorder, store, metrics, pollSoon, owns = () => true, clock, log } = deps
  const history = createPollHistory({ store, board })
  const endpoints = createPolledEndpoints({ observer, clock, owns })
  const pending = createPendingPolls<CompletedPoll, 'valid' | 'untimed' | 'own-fault'>({
    clock,
    decide: (poll) => observer.validity(poll),
    onDecided: (poll, validity) => {
      if (endpoints.get(poll.entry.key) !== poll.entry) return
      if (validity === 'own-fault') discard(poll)
      else judge(poll, validity)
    },
    onWaiting(_key, { entry }) {
      const isConfirmed = entry.view.health(entry.name)?.verdict === 'down'
      const witness = isConfirmed && endpoints.isWitnessedSoon(entry) ? null : endpoints.witnessFor(entry)
      if (witness === null) return
      // However long a node is down, its witness is polled at the witness's own pace, as is one that may be failing itself.
      pollSoon(witness.key, isConfirmed || witness.isSuspect ? witness.key : entry.key)
      // Stays down until a witness that is polled seldom has shown whose fault this is.
      const held = isConfirmed ? entry.view.holdResult(entry.name, witness.endpoint.intervalMs, clock.now()) : null
      if (held !== null) board.put(held, false)
    },
  })

  function take(poll: CompletedPoll): void {
    const { entry, result } = poll
    countChecks(result, entry.tally, metrics)
    noteAnswers(poll)
    const changed = observer.record(poll)
    pending.add(entry.key, poll)
    if (changed && pending.size > 0) pending.review()
  }

  function judge({ entry, result }: CompletedPoll, validity: 'valid' | 'untimed'): void {
    const { key, endpoint, view } = entry
    const now = clock.now()
    const previous = view.health(endpoint.name)
    const judgement = view.judge(result, now, validity === 'valid')
    if (judgement === null || previous === undefined) return
    deps.onJudged?.(result)
    const { health, events, suspect } = judgement
    const onBoard = board.put(health, verdictDiffers(previous, health))
    putNetworkState(view, now, deps)
    history.judged(entry, previous, health, events, result)
    for (const event of events) {
      countEvent(event, entry.tally)
      deps.onChainEvent?.(endpoint.network, event)
    }
    if (onBoard !== undefined) recorder.judged(view, onBoard, result.startedAt, now, entry.sharing)
    if (previous.verdict !== health.verdict) logVerdict(log, previous.verdict, health)
    entry.isSuspect = suspect
    if (suspect) pollSoon(key)
    for (const name of view.chains.unasked(now)) pollSoon(endpointKey({ network: endpoint.network, name }), key)
  }

  /** Discards a poll that failed through our own fault: the endpoint's state is unknown from here on. */
  function discard({ entry, result }: CompletedPoll): void {
    const { endpoint, view } = entry
    const previous = view.health(endpoint.name)
    const health = view.discardPoll(endpoint.name, result.startedAt)
    if (health === null || previous === undefined) return
    const wasKnown = stateAt(previous, clock.now()) !== 'unknown'
    board.put(health, wasKnown)
    history.discarded(entry.key, result)
    if (wasKnown) log.warn({ ...names(endpoint), failure: firstFailure(result) }, 'poll discarded: our own fault')
  }

  function forgetRemoved(known: Iterable<EndpointKey>, now: UnixMs): void {
    for (const key of known) if (endpoints.get(key) === undefined && owns(networkOf(key))) history.forget(key, now)
  }

  return {
    configure(networks, kept) {
      const now = clock.now()
      const before = endpoints.keys()
      const all = endpoints.configure(networks, kept, now)
      pending.retain(endpoints.keys())
      forgetRemoved(before, now)
      board.configure(networks.map(({ network }) => ({ network, fresh: freshOf(endpoints.of(network.name), now) })))
      recorder.configure(all.map(({ endpoint, sharing }) => ({ endpoint, key: sharing })))
      recorder.retain(endpoints.keys(), endpoints.networks(), clock.now())
    },

    restore(saved, records) {
      for (const one of saved) {
        const health = endpoints.continueFrom(one)
        if (health !== null) board.put(health, false)
      }
      forgetRemoved(endpointsIn(saved), clock.now())
      recorder.restore(records, maintainedIn(saved))
      for (const name of endpoints.networks()) endpoints.restoreHalt(name, recorder.haltedShards(name))
      recorder.retain(endpoints.keys(), endpoints.networks(), clock.now())
    },

    adopt(name, saved) {
      endpoints.renew(name)
      endpoints.continueAll(name, saved, (endpoint) => board.entry(name, endpoint)?.health)
      forgetRemoved(endpointsIn(saved), clock.now())
      endpoints.restoreHalt(name, board.network(name)?.standing.haltedShards ?? [])
    },

    leave: endpoints.renew,

    standing(name) {
      const view = endpoints.of(name)[0]?.view
      if (view === undefined) return null
      const now = clock.now()
      return { heads: view.references(now), halts: view.halts(now), fork: view.fork() }
    },

    async poll(key, signal) {
      const entry = endpoints.get(key)
      if (entry === undefined) return NO_WAIT
      const startedAt = clock.monotonic()
      try {
        const answered = await pollNode(prober, entry, startedAt, clock, signal)
        // After a stop or a reload the result is useless.
        if (signal.aborted || endpoints.get(key) !== entry) return NO_WAIT
        const result = answered.endpoint === entry.endpoint ? answered : { ...answered, endpoint: entry.endpoint }
        // Called before the poll ends, so that what it notices counts as happening during the poll.
        deps.checkSelf()
        take({ entry, location: entry.at, startedAt, endedAt: clock.monotonic(), result })
        return { waitMs: waitMs(result) }
      } catch (error) {
        // A bug in Heartline must neither end the other polls nor count against the node.
        log.error({ ...names(entry.endpoint), error: placeOf(error) }, 'poll failed')
        return NO_WAIT
      }
    },

    shift(ms) {
      // When they were made is known in neither time.
      for (const poll of pending.removeAll()) discard(poll)
      const all = endpoints.all().filter(({ network }) => owns(network))
      for (const view of new Set(all.map((entry) => entry.view))) view.shift(ms, clock.now())
      for (const { name, view } of all) {
        const health = view.health(name)
        if (health !== undefined) board.put(health, true)
      }
    },

    save(network) {
      const entries = network === undefined ? endpoints.all() : endpoints.of(network)
      for (const entry of entries) history.save(entry, clock.now())
    },
  }
}

export interface PollerDeps {
  readonly prober: Pick<Prober, 'poll'>
  readonly observer: Observer
  /** Looks for a blocked event loop or a stepped clock up to this moment; called before a poll is judged. */
  readonly checkSelf: () => void
  readonly board: WritableBoard
  readonly recorder: IncidentRecorder
  readonly store: Pick<Store, 'poll' | 'amend' | 'hashChange' | 'saveHealth'>
  readonly metrics: CheckMetrics
  /** Called when an endpoint replaced a block or reported a lower height. */
  readonly onChainEvent?: (network: string, event: ChainEvent) => void
  /** Not called for discarded polls. */
  readonly onJudged?: (result: PollResult) => void
  readonly pollSoon: Scheduler['pollSoon']
  /** Whether this daemon polls the network; by default it polls all of them. */
  readonly owns?: ((network: string) => boolean) | undefined
  readonly clock: Clock
  readonly log: Log
}

export interface Poller {
  /** Replaces all networks. Endpoints in `kept` keep their health; other known ones continue as after a restart. */
  configure(networks: readonly PolledNetwork[], kept: ReadonlySet<EndpointKey>): void
  /** Continues where an earlier run ended; the time between stays unknown. */
  restore(saved: readonly SavedHealth[], incidents: readonly IncidentRecord[]): void
  /**
   * Continues one network that another daemon has polled so far, from what it saved or, if that is later, from what the
   * board shows of it. The board changes with the first polls.
   */
  adopt(network: string, saved: readonly SavedHealth[]): void
  /** Forgets what is known about a network that another daemon polls from now on. */
  leave(network: string): void
  /** What this daemon's polls say about the network itself; `null` if it is not configured. */
  standing(network: string): JudgedStanding | null
  /** Never rejects. `waitMs`: how long the node asks for no requests. */
  poll(key: EndpointKey, signal: AbortSignal): Promise<{ readonly waitMs: number }>
  /** Call it when the wall clock was set by `ms`: chains have not had that time to make blocks. */
  shift(ms: number): void
  /** Queues what a restart needs of every endpoint, or another daemon that takes over this network. */
  save(network?: string): void
}

export interface JudgedStanding {
  readonly heads: readonly NetworkReference[]
  readonly halts: ReturnType<NetworkView['halts']>
  readonly fork: NetworkFork | null
}

interface CompletedPoll extends ObservedPoll {
  readonly entry: PolledEndpoint
}

function pollNode(
  prober: PollerDeps['prober'],
  entry: PolledEndpoint,
  startedAt: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<PollResult> {
  const { name, view } = entry
  return prober.poll(
    checksDue(entry, startedAt),
    signal,
    (heads) => view.compare(name, heads),
    (heads, compared) => view.fits(name, heads, compared, clock.now()),
  )
}

const NO_WAIT = Object.freeze({ waitMs: 0 })

function noteAnswers({ entry, result, result: { heads, liveness }, startedAt }: CompletedPoll): void {
  entry.answers = isAnswered(result) && waitMs(result) === 0
  if (liveness === null) {
    // Of a node that is out of reach nothing is known any more: the next poll makes all checks.
    if (heads.length > 0 && heads.every(isUnreached)) entry.livenessAt = null
    return
  }
  // A failed check runs again with the next poll, unless the node limits our rate.
  entry.livenessAt = liveness.ok || rateLimitOf(liveness) !== null ? startedAt : null
}

function isUnreached({ outcome }: ShardHead): boolean {
  return !outcome.ok && FAILURES[outcome.failure.kind].condition === 'unreachable'
}

/** The endpoint with the checks that this poll makes. */
function checksDue({ endpoint, headOnly, livenessAt, view, name }: PolledEndpoint, now: number): Endpoint {
  const { intervalMs, livenessIntervalMs } = endpoint
  if (livenessAt === null || livenessIntervalMs <= intervalMs) return endpoint
  // Half an interval of tolerance, because the next poll would be almost a whole one late.
  if (now - livenessAt >= livenessIntervalMs - intervalMs / 2) return endpoint
  const health = view.health(name)
  return health !== undefined && isLivenessUnsettled(health.confirmation) ? endpoint : headOnly
}

function putNetworkState(view: NetworkView, now: UnixMs, { board, recorder, log }: PollerDeps): void {
  const { name } = view.network
  const onBoard = board.network(name)
  if (onBoard === undefined) return
  const before = onBoard.standing
  const heads = view.references(now)
  const halts = view.halts(now)
  const forked = view.isForked()
  recorder.standing(view, halts, () => onBoard.endpoints, now)
  const next = { haltedShards: halts.map(({ shard }) => shard), forked }
  const changed = standingDiffers(before, next)
  if (!changed && heads === before.heads) return
  board.putStanding({ ...before, ...next, heads }, changed)
  const [wasHalted, halted] = [before, next].map(({ haltedShards }) => haltedShards.length > 0)
  if (halted !== wasHalted) log.warn({ network: name }, halted ? 'network halted' : 'network resumed')
  if (forked !== before.forked) log.warn({ network: name }, forked ? 'network forked' : 'network fork resolved')
}

function logVerdict(log: Log, before: Verdict | null, health: Health): void {
  const fields = { ...names(health.endpoint), conditions: health.conditions.map((condition) => condition.code) }
  if (health.verdict === 'up') {
    if (before !== null) log.info(fields, 'endpoint came up')
    return
  }
  const why = health.conditions.map((condition) => condition.message).join('; ')
  log.warn({ ...fields, why }, health.verdict === 'down' ? 'endpoint went down' : 'endpoint is degraded')
}

function names({ network, name }: Endpoint): { network: string; endpoint: string } {
  return { network, endpoint: name }
}
