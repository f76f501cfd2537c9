import { type Endpoint, type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import { locationOf } from '../../src/core/host-location.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import type { Network, Shard, Thresholds } from '../../src/core/network.ts'
import { createObserver } from '../../src/core/observer/observer.ts'
import type { Comparison, Liveness, PollResult, ShardHead } from '../../src/core/poll-result.ts'
import { type Interval, intervalsOf } from '../../src/core/verdict/availability.ts'
import { type ClockWatch, watchClock } from '../../src/poll/clock-watch.ts'
import { createIncidentRecorder } from '../../src/poll/incident-recorder.ts'
import { createMaintenanceCalendar, maintainedTimes, type PlannedWindow } from '../../src/poll/maintenance-calendar.ts'
import { createPoller } from '../../src/poll/poller.ts'
import { createScheduler } from '../../src/poll/scheduler.ts'
import { type Board, createBoard, shownState } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { IncidentRecord, PollRecord, SavedHealth, Store } from '../../src/store/store.ts'
import { createFakeClock, type FakeClock } from './fake-clock.ts'
import { type LogLine, recordingLog } from './log.ts'
import { bad, endpoint, good, network, pollResult, THRESHOLDS } from './network.ts'

/** From this height on its blocks are those of this branch. */
export interface Branch {
  readonly from: number
  readonly name: string
}

/** Behaviour of a node from now on. Omitted members mean healthy. */
export interface Node {
  /** Blocks behind the chain; negative: ahead. */
  readonly behind?: number | (() => number)
  /** Its head stays at this height. */
  readonly stuckAt?: number
  /** Of several that have a height, the last. A function is called for every shard. */
  readonly branch?: Branch | ((shard: Shard) => readonly Branch[])
  /** Instead of any answer. */
  readonly failure?: Failure | (() => Failure | null)
  /** Only this shard is ill; the others are well. */
  readonly shard?: Shard | undefined
  /** From asking to the answer, which tells how things were halfway. Beyond five seconds it is a timeout. */
  readonly latencyMs?: number | (() => number)
  readonly liveness?: (now: number) => Liveness
  /** Of its liveness check alone. */
  readonly livenessFailure?: Failure
  readonly clockSkewMs?: number
  /** It does not tell blocks by their height. */
  readonly mute?: boolean
}

export interface StageNetwork {
  readonly name: string
  readonly endpoints: readonly (string | StageEndpoint)[]
  readonly thresholds?: Partial<Thresholds>
  readonly network?: Partial<Network>
  /** How fast its chain really is; by default what the network is configured with. */
  readonly blockTimeMs?: number
  readonly endpoint?: Partial<Endpoint>
}

export interface StageEndpoint extends Partial<Endpoint> {
  readonly name: string
  /** By default every endpoint is on a host of its own, far away. */
  readonly host?: string
  /** Endpoints with the same one, or with the same provider, are one outage when they fail together. */
  readonly origin?: string
}

export interface StageOptions {
  readonly networks?: readonly StageNetwork[]
  readonly windows?: readonly PlannedWindow[]
  readonly now?: number
  /** What an earlier run has left. */
  readonly saved?: Saved
  /** Clock, chains and nodes of an earlier run: they continue while no daemon runs. */
  readonly world?: StageWorld
  /** How nodes behave from the first poll on; by default all are healthy. */
  readonly nodes?: Readonly<Record<EndpointKey, Node>>
  /** A clock shared with other parts of the test, if there is no earlier run. */
  readonly clock?: FakeClock
  /** A real store that receives every write. It must use the same clock; the test closes it. */
  readonly store?: Store
  /** Looks for stalls of the daemon and steps of the wall clock: for tests that cause them. It costs most of the time of a stage. */
  readonly watched?: boolean
}

export interface Saved {
  readonly healths: readonly SavedHealth[]
  readonly incidents: readonly IncidentRecord[]
}

export interface StageWorld {
  readonly clock: FakeClock
  readonly nodes: Map<EndpointKey, Node>
  readonly chains: Map<string, Map<Shard, StageChain>>
  /** The monotonic clock and the true time when it all began. */
  readonly beganAt: number
  readonly trueTimeThen: number
}

/**
 * The whole daemon without sockets and disk, on a fake clock, with nodes scripted by the test. Chains and nodes follow the true
 * time: a step of the wall clock affects this machine only.
 */
export interface Stage {
  readonly clock: FakeClock
  readonly board: Board
  readonly log: readonly LogLine[]
  readonly polls: readonly PollRecord[]
  /** Starts of polls of one endpoint, on the wall clock. */
  pollsOf(key: EndpointKey): readonly number[]
  /** How many further blocks its polls have requested, to compare it. */
  comparedBy(key: EndpointKey): number
  /** Changes a node's behaviour from now on; without argument: healthy again. */
  set(key: EndpointKey, node?: Node): void
  /** The chain's height, which grows by a block each block time while it is not halted. */
  height(network: string, shard?: Shard): number
  /** The height that the endpoints agree on, as the page shows it; of the first shard. */
  reference(network: string): number | null
  halt(network: string, halted: boolean, shard?: Shard): void
  pass(ms: number): Promise<void>
  /** Advances time until the condition holds; returns the ms that it took. Fails after `withinMs`. */
  until(what: () => boolean, withinMs: number): Promise<number>
  state(key: EndpointKey): string
  codes(key: EndpointKey): readonly string[]
  message(key: EndpointKey, code: string): string | undefined
  halted(network: string): boolean
  forked(network: string): boolean
  /** Every incident as it stands, the oldest first; absorbed ones too. */
  incidents(): readonly Incident[]
  open(): readonly Incident[]
  /** Its conditions, as they came and went. */
  told(key: EndpointKey): readonly { readonly at: number; readonly codes: readonly string[] }[]
  /** Every endpoint that was degraded or down at any time, with its states. */
  accused(): readonly Accusation[]
  /** Reorganisations and steps back that were counted. */
  counted(key: EndpointKey): { readonly reorgs: number; readonly regressions: number }
  impaired(): readonly string[]
  /** The exact history of this period. */
  intervals(key: EndpointKey, from: number, to: number): readonly Interval[]
  /** State for a stage that continues where this one ends. */
  saved(): Saved
  /** Ends at once, as kill -9 does, losing writes of the last `lostMs`; returns what the next run finds. */
  killed(lostMs?: number): Saved
  readonly world: StageWorld
  /** `keeps: false`: the endpoints get other URLs from now on. */
  reconfigure(
    networks: readonly StageNetwork[],
    windows?: readonly PlannedWindow[],
    options?: { readonly keeps: boolean },
  ): void
  stop(): Promise<void>
}

export interface Accusation {
  readonly key: EndpointKey
  readonly at: number
  readonly verdict: 'degraded' | 'down'
  readonly codes: readonly string[]
}

interface Written {
  readonly healths: Map<EndpointKey, SavedHealth>
  readonly incidents: Map<string, IncidentRecord>
}

interface StageChain {
  readonly blockTimeMs: number
  haltedAt: number | null
  /** Halts that are over: after which block, and for how long. */
  readonly pauses: { readonly after: number; readonly ms: number }[]
}

type Compare = (heads: readonly ShardHead[]) => readonly Comparison[]

const FIRST_HEIGHT = 1000
const TIMEOUT_MS = 5000
const UNWATCHED: ClockWatch = { check() {}, stop() {} }
const unwatchedFault = (): never => {
  throw new Error('a stage that is to notice this needs `watched: true`')
}
const LONGEST_POLL_MS = 60_000
const HOUR_MS = 3_600_000

export function createStage(options: StageOptions = {}): Stage {
  const { store } = options
  const clock =
    options.world?.clock ?? options.clock ?? createFakeClock(options.now === undefined ? {} : { now: options.now })
  const board = createBoard()
  const incidents = createIncidentLog()
  const log = recordingLog()
  const observer = createObserver()
  const world: StageWorld = options.world ?? {
    clock,
    nodes: new Map(Object.entries(options.nodes ?? {})),
    chains: new Map(),
    beganAt: clock.monotonic(),
    trueTimeThen: clock.now(),
  }
  const { nodes, chains, beganAt: startedAt, trueTimeThen: wallAtStart } = world
  const polls: PollRecord[] = []
  const amendments = new Map<PollRecord, Pick<PollRecord, 'state' | 'fresh'>>()
  const starts = new Map<EndpointKey, number[]>()
  const compared = new Map<EndpointKey, number>()
  const written: Written = {
    healths: new Map(options.saved?.healths.map((health) => [health.endpoint, health])),
    incidents: new Map(options.saved?.incidents.map((incident) => [incident.id, incident])),
  }
  /** What a crash would lose. */
  let unwritten: { readonly at: number; readonly write: (to: Written) => void }[] = []
  const told = new Map<string, Incident>()
  const holds = new Map<EndpointKey, number>()
  const accused: Accusation[] = []
  const conditions = new Map<EndpointKey, { at: number; codes: readonly string[] }[]>()
  incidents.subscribe((incident) => told.set(incident.id, incident))
  board.subscribe(({ network: of, endpoint: name, verdictChanged }) => {
    const entry = name === null ? undefined : board.entry(of, name)
    if (entry === undefined || !verdictChanged) return
    const verdict = entry.health.verdict ?? 'up'
    const codes = entry.health.conditions.map(({ code }) => code)
    conditions.set(entry.key, [...(conditions.get(entry.key) ?? []), { at: clock.now(), codes }])
    if (verdict !== 'up') accused.push({ key: entry.key, at: clock.now(), verdict, codes })
  })

  function shardsOf(name: string): Map<Shard, StageChain> {
    const shards = chains.get(name)
    if (shards === undefined) throw new Error(`no network ${name} on this stage`)
    return shards
  }

  /** By default of the first shard. */
  function chainOf(name: string, shard?: Shard): StageChain {
    const shards = shardsOf(name)
    return (shard === undefined ? undefined : shards.get(shard)) ?? ([...shards.values()][0] as StageChain)
  }

  /** The true time that nodes follow; it is never stepped. */
  function trueTime(): number {
    return wallAtStart + clock.monotonic() - startedAt
  }

  function height(name: string, shard?: Shard): number {
    const { blockTimeMs, haltedAt, pauses } = chainOf(name, shard)
    const lostMs = pauses.reduce((sum, { ms }) => sum + ms, 0)
    return FIRST_HEIGHT + Math.floor(((haltedAt ?? clock.monotonic()) - startedAt - lostMs) / blockTimeMs)
  }

  function mintedAt(name: string, shard: Shard, at: number): number {
    const { blockTimeMs, pauses } = chainOf(name, shard)
    const lostMs = pauses.reduce((sum, { after, ms }) => (after < at ? sum + ms : sum), 0)
    return wallAtStart + (at - FIRST_HEIGHT) * blockTimeMs + lostMs
  }

  function hashAt(node: Node, shard: Shard, at: number): string {
    const { branch } = node
    const branches = typeof branch === 'function' ? branch(shard) : branch && isIll(node, shard) ? [branch] : []
    return `0x${branches.findLast(({ from }) => at >= from)?.name ?? ''}${shard ?? ''}.${at}`
  }

  function isIll(node: Node, shard: Shard): boolean {
    return node.shard === undefined || node.shard === shard
  }

  function startsOf(key: EndpointKey): number[] {
    const known = starts.get(key) ?? []
    starts.set(key, known)
    return known
  }

  async function poll(of: Endpoint, compare?: Compare): Promise<PollResult> {
    const key = endpointKey(of)
    const node = nodes.get(key) ?? {}
    const startedAtWall = clock.now()
    const askedAt = clock.monotonic()
    startsOf(key).push(startedAtWall)
    const trouble = typeof node.failure === 'function' ? node.failure() : (node.failure ?? null)
    const usual = typeof node.latencyMs === 'function' ? node.latencyMs() : (node.latencyMs ?? 20)
    const takesMs = Math.min(TIMEOUT_MS, trouble?.kind === 'timeout' ? trouble.afterMs : usual)
    await clock.sleep(takesMs / 2)
    const behind = typeof node.behind === 'function' ? node.behind() : (node.behind ?? 0)
    const read = of.checks.includes('head')
      ? of.shards.map((shard) => {
          const ill = isIll(node, shard)
          const top = height(of.network, shard)
          const at = ill ? Math.min(node.stuckAt ?? top - behind, Number.MAX_SAFE_INTEGER) : top
          const timestamp = at > top ? trueTime() : mintedAt(of.network, shard, at)
          const [hash, parentHash] = [hashAt(node, shard, at), hashAt(node, shard, at - 1)]
          return { shard, ill, head: { height: at, hash, parentHash, timestamp } }
        })
      : []
    await clock.sleep(takesMs / 2)
    const latencyMs = clock.monotonic() - askedAt
    // However soon it answered: one whose process was held meanwhile finds its timer due first.
    const failure = trouble ?? (latencyMs >= TIMEOUT_MS ? ({ kind: 'timeout', afterMs: TIMEOUT_MS } as const) : null)
    const heads: PollResult['heads'] = read.map(({ shard, ill, head }) => ({
      shard,
      outcome: ill && failure !== null ? bad(failure, latencyMs) : good(head, latencyMs),
    }))
    const livenessFailure = failure ?? node.livenessFailure ?? null
    const nodeTime = trueTime() + (node.clockSkewMs ?? 0)
    const wanted = compare?.(heads) ?? []
    compared.set(key, (compared.get(key) ?? 0) + wanted.length)
    return pollResult(of, startedAtWall, {
      finishedAt: clock.now(),
      heads,
      compared:
        node.mute === true ? [] : wanted.map((asked) => ({ ...asked, hash: hashAt(node, asked.shard, asked.height) })),
      liveness: of.checks.includes('liveness')
        ? livenessFailure !== null
          ? { ...bad(livenessFailure, latencyMs), ...toldBy(node.liveness?.(clock.now())) }
          : good(
              // Told on our clock: the reader of heartbeats takes the node's own out by its Date header.
              node.liveness?.(clock.now()) ?? {
                healthy: true,
                checks: [
                  {
                    name: 'network',
                    healthy: true,
                    error: null,
                    contiguousFailures: 0,
                    failingSince: null,
                    checkedAt: null,
                    durationMs: 1,
                  },
                ],
                heartbeatAt: clock.now() - 1000,
              },
              latencyMs,
            )
        : null,
      clockSkewMs: failure === null ? nodeTime - clock.now() : null,
    })
  }

  const clockWatch = (options.watched === true ? watchClock : () => UNWATCHED)({
    clock,
    onJump(byMs) {
      observer.clockStepped(clock.monotonic(), byMs)
      poller.shift(byMs)
    },
    onBlocked: (from, to) => observer.stalled(from, to),
    cpuWaitMs: () => null,
    onCpuWait: observer.cpuWaited,
  })
  const poller = createPoller({
    prober: { poll: (of, _signal, compare) => poll(of, compare) },
    observer,
    checkSelf: () => clockWatch.check(),
    board,
    recorder: createIncidentRecorder({ incidents, store: { saveIncident }, log }),
    store: {
      poll(record) {
        polls.push(record)
        store?.poll(record)
      },
      amend(key, from, to, state, fresh) {
        for (let index = polls.length - 1; index >= 0; index--) {
          const record = polls[index]
          // A poll that waits for a witness is stored after those that began later.
          if (record === undefined || record.at < from - HOUR_MS) break
          if (record.endpoint === key && record.at >= from && record.at < to) amendments.set(record, { state, fresh })
        }
        store?.amend(key, from, to, state, fresh)
      },
      hashChange: (change) => store?.hashChange(change),
      saveHealth(saved) {
        const copy = JSON.parse(JSON.stringify(saved)) as SavedHealth
        write(({ healths }) => void healths.set(copy.endpoint, copy))
        store?.saveHealth(saved)
      },
    },
    metrics: { checkFinished() {} },
    pollSoon: (key, suspect) => scheduler.pollSoon(key, suspect),
    clock,
    log,
  })
  const scheduler = createScheduler({
    clock,
    concurrency: 256,
    ...(options.watched !== true && { longestNapMs: HOUR_MS }),
    run: (key, signal) => poller.poll(key, signal),
    onLag() {},
    onSkip() {},
  })
  const calendar = createMaintenanceCalendar({
    clock,
    log,
    onChange(periods) {
      board.putMaintenance(periods)
      store?.maintain(maintainedTimes(periods, board, clock.now()), clock.now())
    },
  })

  function saveIncident(record: IncidentRecord): void {
    const copy = JSON.parse(JSON.stringify(record)) as IncidentRecord
    write(({ incidents: records }) => void records.set(copy.id, copy))
    store?.saveIncident(record)
  }

  function write(one: (to: Written) => void): void {
    unwritten.push({ at: clock.monotonic(), write: one })
    if (unwritten.length > 1000) settleUntil(clock.monotonic() - LONGEST_POLL_MS)
  }

  function settleUntil(until: number): void {
    for (const { at, write: one } of unwritten) if (at <= until) one(written)
    unwritten = unwritten.filter(({ at }) => at > until)
  }

  function whatIsWritten(): Saved {
    return { healths: [...written.healths.values()], incidents: [...written.incidents.values()] }
  }

  function configure(networks: readonly StageNetwork[], windows: readonly PlannedWindow[], keeps = true): void {
    let hosts = 0
    const configured = networks.map((of) => {
      const made = network({ name: of.name, thresholds: { ...THRESHOLDS, ...of.thresholds }, ...of.network })
      const shards = chains.get(of.name) ?? new Map<Shard, StageChain>()
      chains.set(of.name, shards)
      for (const shard of of.endpoint?.shards ?? [null]) {
        if (shards.has(shard)) continue
        shards.set(shard, { blockTimeMs: of.blockTimeMs ?? made.blockTimeMs, haltedAt: null, pauses: [] })
      }
      const endpoints = of.endpoints.map((one) => {
        const { name, host, origin, ...over } = typeof one === 'string' ? { name: one } : one
        hosts++
        const at = locationOf(host ?? `node-${hosts}.example.org`)
        const asked = endpoint(name, { network: of.name, family: made.family, ...of.endpoint, ...over })
        return { endpoint: asked, at, ...(origin === undefined ? {} : { origin }) }
      })
      return { network: made, endpoints }
    })
    const all = configured.flatMap(({ endpoints }) => endpoints)
    for (const { endpoint: one } of all) holds.set(endpointKey(one), 2 * one.intervalMs)
    const keys = all.map(({ endpoint: one }) => endpointKey(one))
    const kept = new Set(keys.filter((key) => keeps && starts.has(key)))
    poller.configure(configured, kept)
    store?.register(
      all.map(({ endpoint: one }) => ({ endpoint: endpointKey(one), holdMs: 2 * one.intervalMs })),
      clock.now(),
    )
    calendar.configure(windows)
    scheduler.configure(
      all.map(({ endpoint: one, at }) => ({
        key: endpointKey(one),
        intervalMs: one.intervalMs,
        retryMs: one.intervalMs / 4,
        limits: [{ name: `host ${at.host}`, concurrency: 8 }],
      })),
    )
  }

  function entryOf(key: EndpointKey) {
    const [networkName = '', name = ''] = key.split('/')
    const entry = board.entry(networkName, name)
    if (entry === undefined) throw new Error(`no endpoint ${key} on this stage`)
    return entry
  }

  configure(options.networks ?? [{ name: 'ethereum', endpoints: ['a', 'b', 'c'] }], options.windows ?? [])
  if (options.saved !== undefined) poller.restore(options.saved.healths, options.saved.incidents)
  scheduler.start()

  return {
    clock: options.watched === true ? clock : { ...clock, stepWall: unwatchedFault, blockLoop: unwatchedFault },
    board,
    log: log.lines,
    polls,
    pollsOf: (key) => starts.get(key) ?? [],
    comparedBy: (key) => compared.get(key) ?? 0,
    set: (key, node = {}) => {
      entryOf(key)
      nodes.set(key, node)
    },
    height,
    reference: (name) => board.network(name)?.standing.heads[0]?.height ?? null,

    halt(name, halted, only) {
      for (const [shard, chain] of shardsOf(name)) {
        if (only !== undefined && shard !== only) continue
        if (halted) chain.haltedAt ??= clock.monotonic()
        else if (chain.haltedAt !== null) {
          chain.pauses.push({ after: height(name, shard), ms: clock.monotonic() - chain.haltedAt })
          chain.haltedAt = null
        }
      }
    },

    pass: (ms) => clock.advance(ms),

    async until(what, withinMs) {
      const from = clock.monotonic()
      while (!what()) {
        if (clock.monotonic() - from > withinMs) throw new Error(`it did not come about within ${withinMs} ms`)
        await clock.advance(100)
      }
      return clock.monotonic() - from
    },

    state: (key) => shownState(entryOf(key), clock.now()),
    codes: (key) => entryOf(key).health.conditions.map(({ code }) => code),
    message: (key, code) => entryOf(key).health.conditions.find((condition) => condition.code === code)?.message,
    halted: (name) => (board.network(name)?.standing.haltedShards ?? []).length > 0,
    forked: (name) => board.network(name)?.standing.forked ?? false,
    incidents: () => [...told.values()].sort((a, b) => a.openedAt - b.openedAt),
    open: () => incidents.open(),
    told: (key) => conditions.get(key) ?? [],
    accused: () => accused,
    counted(key) {
      const { reorgs, regressions } = entryOf(key).tally
      const sum = (counts: ReadonlyMap<Shard, number> | null) =>
        [...(counts?.values() ?? [])].reduce((a, b) => a + b, 0)
      return { reorgs: sum(reorgs), regressions: sum(regressions) }
    },
    impaired: () => observer.reasons(clock.monotonic()),

    intervals(key, from, to) {
      const holdMs = holds.get(key) ?? 0
      const results = polls
        .filter((record) => record.endpoint === key)
        .map((record) => ({ at: record.at, holdMs, ...(amendments.get(record) ?? record) }))
        .sort((a, b) => a.at - b.at)
      return [...intervalsOf(results, from, to)]
    },

    saved: () => {
      poller.save()
      settleUntil(clock.monotonic())
      return whatIsWritten()
    },

    killed(lostMs = 250) {
      settleUntil(clock.monotonic() - lostMs)
      unwritten = []
      clockWatch.stop()
      calendar.stop()
      void scheduler.stop()
      return whatIsWritten()
    },

    world,
    reconfigure: (networks, windows = [], { keeps } = { keeps: true }) => configure(networks, windows, keeps),

    async stop() {
      clockWatch.stop()
      calendar.stop()
      const stopped = scheduler.stop()
      await clock.advance(60_000)
      await stopped
    },
  }
}

/** What the consensus node tells while the node itself does not answer. */
function toldBy(liveness: Liveness | undefined): { readonly told?: Liveness } {
  return liveness?.report?.consensus ? { told: { ...liveness, checks: [] } } : {}
}
