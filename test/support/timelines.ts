import fc from 'fast-check'
import { type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import { METACHAIN, type Shard } from '../../src/core/network.ts'
import { createRandom } from '../proof/random.ts'
import { liveness, nodeCheck, THRESHOLDS } from './network.ts'
import { createStage, type Saved, type Stage, type StageNetwork } from './stage.ts'
import {
  COMPARED,
  FAILURES,
  FAULTS,
  type FaultKind,
  firstRoundOf,
  type Halt,
  type Ill,
  intervalOf,
  isGone,
  judge,
  type Member,
  type PlannedFault,
  type Run,
  slowestOf,
  stallOf,
  type TimelineNetwork,
  type TimelineOutcome,
} from './timeline-truth.ts'

/**
 * A random fleet with random faults and their true verdicts. Of the endpoints of a network that answer, fewer than half are
 * wrong at a time (of two, one), otherwise the truth is undecidable. At least one endpoint of another host answers, except during
 * `outage`, which is a fault of this machine.
 */
export interface Timeline {
  readonly networks: readonly TimelineNetwork[]
  readonly episodes: readonly Episode[]
  /** Of the noise: latencies, single failed polls, a pool's jitter. */
  readonly seed: number
}

type Episode =
  | {
      readonly kind: 'faults'
      readonly faults: readonly PlannedFault[]
      readonly stops?: readonly PlannedStop[]
      readonly halt?: PlannedHalt | null
      readonly replacement?: PlannedReplacement | null
      readonly halving?: PlannedHalving | null
    }
  | { readonly kind: 'outage'; readonly failure: Failure; readonly polls: number }

/** The daemon ends, and another one continues. In polls of the slowest endpoint of all. */
interface PlannedStop {
  readonly at: number
  readonly polls: number
  /** As kill -9 does, losing what was not written yet. */
  readonly kills: boolean
}

/** A network makes no blocks. In polls of its slowest endpoint. */
interface PlannedHalt {
  readonly network: number
  readonly at: number
  readonly polls: number
  /** Of a sharded network, the shard; beyond its shards: all of them. */
  readonly shard?: number
}

/** All nodes of a network replace their newest blocks, each of them within an interval. */
interface PlannedReplacement {
  readonly network: number
  readonly at: number
  readonly depth: number
}

/** A reload halves the intervals of a network, and another one restores them. In polls of its slowest endpoint. */
interface PlannedHalving {
  readonly network: number
  readonly at: number
  readonly polls: number
}

/** Slow also where polls are a second apart. */
const SLOW_MS = 700

const SHARDS = [0, 1, METACHAIN]

const NOTHING: ReadonlySet<string> = new Set()

const UNSEEN = { until: null, visibleAt: null, lastAt: null }

interface Replaced {
  readonly at: number
  readonly from: ReadonlyMap<Shard, number>
  readonly name: string
}

/** How long an episode lasts at most, and how long all are well after it, in polls. */
const LONGEST = 45
const REST = 8

export async function play(timeline: Timeline, look: (stage: Stage) => void = () => {}): Promise<TimelineOutcome> {
  const random = createRandom(timeline.seed)
  const fleet = timeline.networks.flatMap((network, at) =>
    Array.from({ length: network.endpoints }, (_, number): Member => {
      const key = endpointKey({ network: `n${at}`, name: `e${number}` })
      return { network, name: `n${at}`, key, intervalMs: intervalOf(network, number) }
    }),
  )
  const ill = new Map<EndpointKey, Ill>()
  const past: Ill[] = []
  const outages: { readonly since: number; until: number }[] = []
  let outage: Failure | null = null
  let calm = true
  /** What each of them told last. */
  const told = new Map<EndpointKey, ReadonlyMap<Shard, number>>()
  /** When an endpoint of a network last came or went: the others are compared with those that answer. */
  const changedAt = new Map<string, number>()
  const replaced = new Map<EndpointKey, Replaced[]>()
  const halts: Halt[] = []
  /** Networks of which a reload has halved the intervals. */
  const halved = new Set<string>()
  const shardsOf = ({ sharded }: TimelineNetwork): readonly Shard[] => (sharded ? SHARDS : [null])
  const configured = () => timeline.networks.map((network, at) => stageNetwork(network, at, ill, halved.has(`n${at}`)))
  let stage = createStage({ networks: configured() })
  const { world, clock } = stage
  const begun = clock.now()
  const runs: Run[] = [{ stage, from: begun, to: Number.POSITIVE_INFINITY, known: new Map(), lost: NOTHING }]
  /** While no daemon runs. */
  let saved: Saved | null = null

  for (const { network, name, key, intervalMs } of fleet) {
    let failedLast = false
    const behind = () => {
      const shards = shardsOf(network)
      const shard = illShard(network, ill.get(key)?.fault) ?? shards[0] ?? null
      const top = stage.height(name, shard)
      const height = heightOf(ill.get(key), top, network, random)
      told.set(key, new Map(shards.map((one) => [one, stage.height(name, one) - (top - height)])))
      const fault = ill.get(key)
      // A lag shorter than an interval shows only while the others have just been asked: polls in a row are what counts.
      if (fault !== undefined && COMPARED.has(fault.fault.kind))
        fault.visibleAt = isVisible(fault, shard, height)
          ? (fault.visibleAt ?? stage.pollsOf(key).at(-1) ?? null)
          : null
      return top - height
    }
    const isVisible = (fault: Ill, shard: Shard, height: number): boolean => {
      const all = fleet.filter((other) => other.name === name && !isGone(ill.get(other.key)))
      if (clock.now() - (changedAt.get(name) ?? 0) < 3 * slowestOf(network)) return false
      if (isFirstRound(name, network)) return false
      const others = all.filter((other) => other.key !== key && !ill.has(other.key))
      const heights = others.flatMap((other) => told.get(other.key)?.get(shard) ?? []).sort((a, b) => b - a)
      // So many of the well must be there for a majority of all.
      const reached = heights[all.length === 2 ? 0 : Math.floor(all.length / 2)] ?? 0
      return fault.fault.kind === 'forked'
        ? height > fault.height && reached > fault.height
        : reached - height >= THRESHOLDS.lagBlocks
    }
    const see = (fault: Ill) => {
      fault.visibleAt ??= clock.now()
      fault.lastAt = clock.now()
    }
    world.nodes.set(key, {
      // What only others can show, and an answer that is bad, may be of one shard.
      get shard() {
        return illShard(network, ill.get(key)?.fault)
      },
      behind,
      liveness: (now) => {
        const fault = ill.get(key)
        const isUnhealthy = fault?.fault.kind === 'unhealthy'
        if (isUnhealthy) fault.lastAt = clock.now()
        if (isUnhealthy) fault.visibleAt ??= stage.pollsOf(key).at(-1) ?? null
        return liveness(now - 1000, {
          healthy: !isUnhealthy,
          checks: [nodeCheck('network', { healthy: !isUnhealthy })],
        })
      },
      branch: (shard) => {
        const fault = ill.get(key)
        const isForked = fault?.fault.kind === 'forked' && [undefined, shard].includes(world.nodes.get(key)?.shard)
        const own = isForked ? [{ from: fault.height + 1, name: `fork${fault.fault.size}` }] : []
        const others = (replaced.get(key) ?? []).filter(({ at }) => at <= clock.now())
        return [...others.map(({ from, name: of }) => ({ from: from.get(shard) ?? 0, name: of })), ...own]
      },
      latencyMs: () =>
        ill.get(key)?.fault.kind === 'slow'
          ? Math.min(2500, 1.2 * intervalMs)
          : 5 + random() * Math.min(400, intervalMs / 8),
      failure: () => {
        const fault = ill.get(key)
        const failure = outage ?? (fault === undefined ? undefined : FAILURES[fault.fault.kind])
        if (failure !== undefined) {
          if (fault !== undefined) see(fault)
          if (failure.kind === 'rate-limited' && fault !== undefined && fault.fault.size % 2 === 1)
            return { ...failure, retryAfterMs: (fault.fault.size % 5) * intervalMs }
          // No deadline is longer than an interval.
          const afterMs = Math.min(5000, (halved.has(name) ? 0.2 : 0.8) * intervalMs)
          return failure.kind === 'timeout' ? { ...failure, afterMs } : failure
        }
        if (fault?.fault.kind === 'slow') see(fault)
        // A single poll that fails is no outage.
        failedLast = calm && network.failAfter > 1 && !failedLast && random() < 0.01
        return failedLast ? { kind: 'reset' } : null
      },
    })
  }

  /** Nothing is compared before all were polled after a start, but not for ever. */
  function isFirstRound(name: string, network: TimelineNetwork): boolean {
    const there = fleet.filter((one) => one.name === name && ill.get(one.key)?.fault.kind !== 'removed')
    const wasPolled = ({ key, intervalMs }: Member) =>
      (stage.pollsOf(key)[0] ?? Number.POSITIVE_INFINITY) + 2 * intervalMs <= clock.now()
    return clock.now() - (runs.at(-1) as Run).from < firstRoundOf(network) && !there.every(wasPolled)
  }

  const longest = Math.max(...timeline.networks.map(slowestOf))
  const advance = (ms: number) => (saved === null ? stage.pass(ms) : clock.advance(ms))
  const irregular = timeline.networks.flatMap(({ irregular = false, endpoints, blockTimeMs }, at) =>
    irregular && endpoints > 1 ? { name: `n${at}`, blockTimeMs } : [],
  )

  /** Chains with irregular blocks miss up to two in a row now and then. */
  async function pass(ms: number): Promise<void> {
    const end = clock.monotonic() + ms
    const advanceBy = (by: number) => advance(Math.min(end - clock.monotonic(), by))
    while (clock.monotonic() < end) {
      const one = irregular[Math.floor(random() * irregular.length)]
      if (one === undefined) return advance(ms)
      await advanceBy(one.blockTimeMs + random() * 20 * Math.max(one.blockTimeMs, 2000))
      if (halts.some(({ name, until }) => name === one.name && until > clock.now())) continue
      stage.halt(one.name, true)
      await advanceBy(random() * 2.5 * one.blockTimeMs)
      stage.halt(one.name, false)
    }
  }

  function change(one: Ill): void {
    const { name } = fleet.find(({ key }) => key === one.key) as Member
    if (isGone(one)) changedAt.set(name, clock.now())
    if (one.fault.kind === 'removed' && saved === null) stage.reconfigure(configured())
  }

  async function begin(fault: PlannedFault): Promise<void> {
    const { key, name, network } = fleet[fault.of % fleet.length] as Member
    const since = clock.now()
    const one = {
      ...UNSEEN,
      fault,
      key,
      run: runs.length - 1,
      since,
      height: stage.height(name, illShard(network, fault)),
      told: 0,
    }
    ill.set(key, one)
    change(one)
  }

  async function end(fault: PlannedFault): Promise<void> {
    const { key } = fleet[fault.of % fleet.length] as Member
    const over = ill.get(key)
    if (over === undefined) return
    over.until = clock.now()
    past.push(over)
    ill.delete(key)
    change(over)
  }

  async function stop({ kills }: PlannedStop): Promise<void> {
    if (saved !== null) return
    saved = kills ? stage.killed() : stage.saved()
    if (!kills) stage.killed()
    const run = runs.at(-1) as Run
    run.to = clock.now()
    const written = new Set(saved.incidents.map(({ id }) => id))
    run.lost = new Set(stage.incidents().flatMap(({ id }) => (written.has(id) ? [] : id)))
    for (const one of ill.values()) past.push({ ...one })
  }

  async function start(): Promise<void> {
    if (saved === null) return
    told.clear()
    for (const [key, one] of ill) ill.set(key, { ...one, ...UNSEEN, run: runs.length, since: clock.now() })
    stage = createStage({ networks: configured(), world, saved })
    saved = null
    const there = fleet.filter(({ key }) => ill.get(key)?.fault.kind !== 'removed')
    const known = new Map(there.map(({ key }) => [key, stage.codes(key)]))
    runs.push({ stage, from: clock.now(), to: Number.POSITIVE_INFINITY, known, lost: NOTHING })
  }

  function replace({ depth }: PlannedReplacement, name: string, network: TimelineNetwork): void {
    const all = fleet.filter((one) => one.name === name)
    const shards = shardsOf(network)
    const from = new Map<Shard, number>(shards.map((shard) => [shard, stage.height(name, shard) - depth]))
    const longestMs = Math.min(12_000, ...all.map(({ intervalMs }) => intervalMs))
    for (const { key } of all) {
      const at = clock.now() + random() * longestMs
      replaced.set(key, [...(replaced.get(key) ?? []), { at, from, name: `r${clock.now()}` }])
    }
  }

  function setHalved(name: string, isHalved: boolean): void {
    if (isHalved) halved.add(name)
    else halved.delete(name)
    if (saved === null) stage.reconfigure(configured())
  }

  function halt(name: string, shard: Shard | undefined): void {
    stage.halt(name, true, shard)
    halts.push({ name, since: clock.now(), until: Number.POSITIVE_INFINITY, wrongs: [] })
  }

  function resume(name: string): void {
    stage.halt(name, false)
    const current = halts.at(-1)
    if (current !== undefined) current.until = clock.now()
  }

  /** Whether the network is known to be halted, once it must be. */
  function expectHalted(name: string, expected: boolean): void {
    if (saved === null && stage.halted(name) !== expected)
      halts.at(-1)?.wrongs.push(`the halt of ${name} was ${expected ? 'not found' : 'not over'}`)
  }

  for (const episode of timeline.episodes) {
    calm = true
    await pass(10 * longest)
    // Two polls that fail by chance, one of them during a fault, would make the truth undecidable.
    calm = false
    await pass(2 * longest)
    if (episode.kind === 'outage') {
      const current = { since: clock.now(), until: Number.POSITIVE_INFINITY }
      outages.push(current)
      outage = episode.failure
      await pass(episode.polls * longest)
      outage = null
      current.until = clock.now()
      await pass(REST * longest)
      continue
    }
    const events = [
      ...episode.faults.flatMap((fault) => {
        const unit = slowestOf((fleet[fault.of % fleet.length] as Member).network)
        return [
          { at: fault.begin * unit, act: () => begin(fault) },
          { at: (fault.begin + fault.polls) * unit, act: () => end(fault) },
        ]
      }),
      ...(episode.stops ?? []).flatMap((one) => [
        { at: one.at * longest, act: () => stop(one) },
        { at: (one.at + one.polls) * longest, act: start },
      ]),
    ]
    if (episode.halving) {
      const { network, at, polls } = episode.halving
      const name = `n${network % timeline.networks.length}`
      const unit = slowestOf(timeline.networks[network % timeline.networks.length] as TimelineNetwork)
      events.push(
        { at: at * unit, act: async () => setHalved(name, true) },
        { at: (at + polls) * unit, act: async () => setHalved(name, false) },
      )
    }
    if (episode.replacement) {
      const one = episode.replacement
      const at = one.network % timeline.networks.length
      const of = timeline.networks[at] as TimelineNetwork
      events.push({ at: one.at * slowestOf(of), act: async () => replace(one, `n${at}`, of) })
    }
    if (episode.halt) {
      const at = episode.halt.network % timeline.networks.length
      const of = timeline.networks[at] as TimelineNetwork
      const unit = slowestOf(of)
      const from = episode.halt.at * unit
      const to = from + episode.halt.polls * unit
      // A daemon that was killed may know older heads, which hide since when the chain stands.
      const startedAt = Math.max(0, ...(episode.stops ?? []).map(({ at, polls }) => (at + polls) * longest))
      const known = Math.max(from, startedAt) + stallOf(of) + 3 * unit
      events.push(
        {
          at: from,
          act: async () => halt(`n${at}`, of.sharded ? SHARDS[episode.halt?.shard ?? SHARDS.length] : undefined),
        },
        { at: to, act: async () => resume(`n${at}`) },
      )
      if (known < to) events.push({ at: known, act: async () => expectHalted(`n${at}`, true) })
      events.push({ at: to + of.blockTimeMs + 3 * unit, act: async () => expectHalted(`n${at}`, false) })
    }
    let passed = 0
    for (const { at, act } of events.sort((a, b) => a.at - b.at)) {
      await pass(at - passed)
      passed = at
      await act()
    }
    await start()
    await pass(REST * longest)
  }
  look(stage)
  ;(runs.at(-1) as Run).to = clock.now()
  const outcome = judge({ runs, fleet, past, outages, halts, begun })
  await stage.stop()
  return outcome
}

/** What only others can show, and a bad answer, may be of one shard. */
function illShard({ sharded }: TimelineNetwork, fault: PlannedFault | undefined): Shard | undefined {
  const isOfOne = sharded && fault && (COMPARED.has(fault.kind) || fault.kind === 'bad-answer')
  return isOfOne ? SHARDS[fault.size % 4] : undefined
}

function heightOf(ill: Ill | undefined, top: number, network: TimelineNetwork, random: () => number): number {
  const kind = ill?.fault.kind
  if (ill === undefined || kind === undefined || !COMPARED.has(kind)) {
    // A provider's pool: one block more or less.
    return top - (random() < 0.2 && network.blockTimeMs > 1000 ? 1 : 0)
  }
  if (kind === 'lagging') return top - THRESHOLDS.lagBlocks - ill.fault.size
  if (kind === 'stalled') return ill.height
  if (kind === 'liar') return top + 1_000_000_000
  if (kind === 'forked') return top
  ill.told += 1 + (ill.fault.size % 4)
  return top + ill.told
}

function stageNetwork(
  network: TimelineNetwork,
  at: number,
  ill: ReadonlyMap<EndpointKey, Ill>,
  isHalved: boolean,
): StageNetwork {
  const { endpoints, blockTimeMs, oneHost, sharded = false, rareLiveness = false, failAfter, recoverAfter } = network
  const intervalMs = (number: number) => intervalOf(network, number) / (isHalved ? 2 : 1)
  const all = Array.from({ length: endpoints }, (_, number) => ({
    name: `e${number}`,
    intervalMs: intervalMs(number),
    livenessIntervalMs: intervalMs(number) * (rareLiveness ? 4 : 1),
    host: oneHost ? `n${at}.example.org` : `e${number}.n${at}.example.org`,
    // Where half of them fail, they are one incident.
    ...(oneHost ? { origin: `n${at}.example.org` } : {}),
  }))
  return {
    name: `n${at}`,
    network: { blockTimeMs, ...(sharded && { family: 'multiversx' as const }) },
    endpoint: { checks: ['liveness', 'head'], ...(sharded && { shards: SHARDS }) },
    thresholds: {
      latencyMs: SLOW_MS - 100,
      failAfter,
      recoverAfter,
      stallMs: stallOf(network),
      // Nodes with heartbeats tell them with every poll.
      ...(rareLiveness && { heartbeatMs: 24 * 3_600_000 }),
    },
    endpoints: all.filter(({ name }) => ill.get(endpointKey({ network: `n${at}`, name }))?.fault.kind !== 'removed'),
  }
}

const anyNetwork = (intervalMs: number): fc.Arbitrary<TimelineNetwork> =>
  fc.record({
    endpoints: fc.integer({ min: 1, max: 6 }),
    blockTimeMs: fc.constantFrom(400, 2000, 12_000, 60_000),
    intervalsMs: fc.oneof(
      fc.constantFrom([intervalMs], [intervalMs * 1.5]),
      fc.array(fc.constantFrom(intervalMs, intervalMs * 1.5, intervalMs * 2, intervalMs * 4), {
        minLength: 2,
        maxLength: 4,
      }),
    ),
    oneHost: fc.boolean(),
    irregular: fc.boolean(),
    sharded: fc.boolean(),
    rareLiveness: fc.boolean(),
    failAfter: fc.integer({ min: 1, max: 4 }),
    recoverAfter: fc.integer({ min: 1, max: 4 }),
  })

const anyEpisode = (networks: readonly TimelineNetwork[]): fc.Arbitrary<Episode> => {
  const hosts = networks.reduce((sum, { oneHost, endpoints }) => sum + (oneHost ? 1 : endpoints), 0)
  const stop = fc.record({
    at: fc.integer({ min: 0, max: 20 }),
    polls: fc.constantFrom(0, 1, 4, 30),
    kills: fc.boolean(),
  })
  const faults = fc
    .tuple(
      fc.array(
        fc.record({
          kind: fc.constantFrom(...FAULTS),
          of: fc.nat({ max: 5 }),
          begin: fc.integer({ min: 0, max: 10 }),
          polls: fc.integer({ min: 1, max: LONGEST - 10 }),
          size: fc.nat({ max: 200 }),
        }),
        { minLength: 1, maxLength: 3 },
      ),
      fc.oneof(
        { weight: 2, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fc.array(stop, { minLength: 1, maxLength: 2 }) },
      ),
      sometimes(
        fc.record({
          network: fc.nat({ max: 2 }),
          at: fc.integer({ min: 0, max: 15 }),
          polls: fc.integer({ min: 1, max: 30 }),
          shard: fc.nat({ max: SHARDS.length }),
        }),
      ),
      sometimes(
        fc.record({
          network: fc.nat({ max: 2 }),
          at: fc.integer({ min: 0, max: 40 }),
          depth: fc.integer({ min: 0, max: 4 }),
        }),
      ),
      sometimes(
        fc.record({
          network: fc.nat({ max: 2 }),
          at: fc.integer({ min: 0, max: 15 }),
          polls: fc.integer({ min: 1, max: 25 }),
        }),
      ),
    )
    .map(([all, stops, halt, replacement, halving]): Episode => {
      const possible = all.filter(isPossible(networks))
      const kept = possible.filter(isKnownWith(networks, halt, replacement))
      return {
        kind: 'faults',
        faults: kept,
        stops,
        halt: isPossibleHalt(networks, kept, halt) ? halt : null,
        replacement,
        // A slow answer would take longer than the interval.
        halving: networks.every((network) => slowestOf(network) > 2000) ? halving : null,
      }
    })
  // An outage shorter than a round looks like single failing nodes.
  const outage = fc.record({
    kind: fc.constant('outage' as const),
    failure: fc.constantFrom<Failure>(
      { kind: 'timeout', afterMs: 5000 },
      { kind: 'unroutable', code: 'ENETUNREACH' },
      { kind: 'dns', code: 'EAI_AGAIN' },
    ),
    polls: fc.integer({ min: 3, max: 20 }),
  })
  return hosts < 2 ? faults : fc.oneof({ weight: 4, arbitrary: faults }, { weight: 1, arbitrary: outage })
}

function sometimes<T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary })
}

/** Keeps only faults of which the truth is known. */
function isPossible(
  networks: readonly TimelineNetwork[],
): (fault: PlannedFault, at: number, all: readonly PlannedFault[]) => boolean {
  const fleet = networks.flatMap((network, at) => Array.from({ length: network.endpoints }, () => ({ network, at })))
  const illIn = new Map<number, Map<number, FaultKind>>()
  return (fault) => {
    const of = fault.of % fleet.length
    const { network, at } = fleet[of] as (typeof fleet)[number]
    const known = illIn.get(at) ?? new Map<number, FaultKind>()
    if (known.has(of)) return false
    // Only the checks of liveness show it.
    if (network.rareLiveness && fault.kind === 'unhealthy') return false
    const all = new Map(known).set(of, fault.kind)
    if (!isDecidable(network, [...all.values()], fleet.length)) return false
    illIn.set(at, all)
    return true
  }
}

const LIES: ReadonlySet<FaultKind> = new Set(['liar', 'creeping-liar'])

/** While a network stands still, or replaces blocks, a height ahead of all may be true. */
function isKnownWith(
  networks: readonly TimelineNetwork[],
  ...events: readonly ({ readonly network: number } | null)[]
) {
  const eventful = new Set(events.flatMap((one) => (one === null ? [] : one.network % networks.length)))
  return ({ kind, of }: PlannedFault) => !LIES.has(kind) || !eventful.has(networkOf(networks, of))
}

/** One endpoint that stands still looks like a chain that does, and so does one without another at its height. */
function isPossibleHalt(
  networks: readonly TimelineNetwork[],
  faults: readonly PlannedFault[],
  halt: PlannedHalt | null,
): boolean {
  if (halt === null) return false
  const at = halt.network % networks.length
  const showsNothing = (kind: FaultKind) => kind === 'removed' || FAILURES[kind] !== undefined || COMPARED.has(kind)
  const gone = faults.filter(({ kind, of }) => networkOf(networks, of) === at && showsNothing(kind))
  return (networks[at]?.endpoints ?? 0) - gone.length >= 2
}

function networkOf(networks: readonly TimelineNetwork[], of: number): number {
  const all = networks.flatMap(({ endpoints }, at) => Array.from({ length: endpoints }, () => at))
  return all[of % all.length] as number
}

function isDecidable({ endpoints }: TimelineNetwork, ill: readonly FaultKind[], all: number): boolean {
  if (endpoints === 1) return all > 2 && !ill.some((kind) => COMPARED.has(kind) || kind === 'removed')
  const room = endpoints === 2 ? 1 : endpoints - 1
  if (ill.length > room) return false
  const compared = ill.filter((kind) => COMPARED.has(kind))
  const answering = endpoints - ill.filter((kind) => kind === 'removed' || FAILURES[kind] !== undefined).length
  if (compared.length === 0) return true
  // Of two the one that is a little ahead is believed: it may be right.
  if (answering === 2) return compared.every((kind) => kind !== 'forked' && kind !== 'creeping-liar')
  return compared.length * 2 < answering
}

export const anyTimeline: fc.Arbitrary<Timeline> = fc
  .constantFrom(1000, 10_000, 15_000, 60_000)
  .chain((intervalMs) => fc.array(anyNetwork(intervalMs), { minLength: 1, maxLength: 3 }))
  .map((networks) => {
    // Two to six endpoints in all.
    const kept: TimelineNetwork[] = []
    let room = 6
    for (const network of networks) {
      if (room === 0) break
      const endpoints = Math.min(room, kept.length === 0 ? Math.max(2, network.endpoints) : network.endpoints)
      kept.push({ ...network, endpoints })
      room -= endpoints
    }
    return kept
  })
  .chain((networks) =>
    fc.record({
      networks: fc.constant(networks),
      episodes: fc.array(anyEpisode(networks), { minLength: 1, maxLength: 4 }),
      seed: fc.nat(),
    }),
  )
