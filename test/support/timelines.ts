import fc from 'fast-check'
import { type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import { createRandom } from '../proof/random.ts'
import { THRESHOLDS } from './network.ts'
import { createStage, type Stage, type StageNetwork } from './stage.ts'

/**
 * A random fleet with random faults and their true verdicts. In every network fewer than half of the endpoints fail at a time (of
 * two, one), otherwise the truth is undecidable. At least one endpoint on another host answers, except during `outage`, which is
 * a fault of this machine.
 */
export interface Timeline {
  readonly networks: readonly TimelineNetwork[]
  readonly episodes: readonly Episode[]
  /** Of the noise: latencies, single failed polls, a pool's jitter. */
  readonly seed: number
}

interface TimelineNetwork {
  readonly endpoints: number
  readonly blockTimeMs: number
  readonly intervalMs: number
  /** Whether all its endpoints are on one host. */
  readonly oneHost: boolean
  readonly failAfter: number
  readonly recoverAfter: number
}

type Episode =
  | { readonly kind: 'faults'; readonly faults: readonly PlannedFault[] }
  | { readonly kind: 'outage'; readonly failure: Failure; readonly polls: number }

interface PlannedFault {
  readonly kind: FaultKind
  /** Of which endpoint, counted over all of them. */
  readonly of: number
  /** In polls, from the begin of the episode. */
  readonly begin: number
  readonly polls: number
  readonly size: number
}

export const FAULTS = [
  'refused',
  'timeout',
  'bad-answer',
  'wrong-network',
  'rate-limited',
  'slow',
  'lagging',
  'stalled',
  'forked',
  'liar',
  'creeping-liar',
] as const
export type FaultKind = (typeof FAULTS)[number]

/** The expected condition; a node that claims a height ahead of all has none, but must not affect others. */
const CODES: Record<FaultKind, readonly string[]> = {
  refused: ['unreachable'],
  timeout: ['unreachable'],
  'bad-answer': ['bad-answer'],
  'wrong-network': ['wrong-network'],
  'rate-limited': ['rate-limited'],
  slow: ['slow'],
  lagging: ['lagging'],
  stalled: ['lagging', 'stalled'],
  forked: ['forked'],
  liar: [],
  'creeping-liar': [],
}

/**
 * Polls allowed beyond `failAfter`: one, because a poll may be in flight while the previous one waits for a witness. For a fork
 * three: the height of the comparison may precede it, then it is seen, and then both sides must repeat it, because otherwise a
 * reorganisation of all nodes would look like a fork of the node polled first. A lag hardly longer than an interval is not seen
 * in every poll.
 */
const LATE: Record<FaultKind, number> = {
  ...(Object.fromEntries(FAULTS.map((kind) => [kind, 1])) as Record<FaultKind, number>),
  forked: 3,
  lagging: 2,
}

const FAILURES: Partial<Record<FaultKind, Failure>> = {
  refused: { kind: 'refused' },
  timeout: { kind: 'timeout', afterMs: 5000 },
  'bad-answer': { kind: 'http', status: 503 },
  'wrong-network': { kind: 'wrong-network', expected: 1, actual: '5' },
  'rate-limited': { kind: 'rate-limited', retryAfterMs: null },
}

/** Only others can show it. */
const COMPARED: ReadonlySet<FaultKind> = new Set(['lagging', 'stalled', 'forked', 'liar', 'creeping-liar'])

/** Slow also where polls are a second apart. */
const SLOW_MS = 700

/** How long an episode lasts at most, and how long all are well after it, in polls. */
const LONGEST = 45
const REST = 8

export interface FaultOutcome {
  readonly kind: FaultKind
  readonly key: EndpointKey
  /** Of that endpoint, from the first that could see it to the one by which it was known; `null`: it never was. */
  readonly pollsToDetect: number | null
  /** From the first after its end; `null`: it was never known, or never ended. */
  readonly pollsToRecover: number | null
  readonly failAfter: number
  readonly recoverAfter: number
}

export interface TimelineOutcome {
  readonly polls: number
  readonly faults: readonly FaultOutcome[]
  /** What must never be, in words. */
  readonly wrongs: readonly string[]
}

interface Ill {
  readonly fault: PlannedFault
  readonly key: EndpointKey
  readonly since: number
  readonly height: number
  until: number | null
  /** Start of the first poll that could see it. */
  visibleAt: number | null
  told: number
}

export async function play(timeline: Timeline, look: (stage: Stage) => void = () => {}): Promise<TimelineOutcome> {
  const random = createRandom(timeline.seed)
  const stage = createStage({ networks: timeline.networks.map(stageNetwork) })
  const begun = stage.clock.now()
  const fleet = timeline.networks.flatMap((network, at) =>
    Array.from({ length: network.endpoints }, (_, number) => ({
      network,
      name: `n${at}`,
      key: endpointKey({ network: `n${at}`, name: `e${number}` }),
    })),
  )
  const ill = new Map<EndpointKey, Ill>()
  const past: Ill[] = []
  const outages: { readonly since: number; until: number }[] = []
  let outage: Failure | null = null
  let calm = true
  /** What each of them told last. */
  const told = new Map<EndpointKey, { readonly height: number; readonly at: number }>()

  for (const { network, name, key } of fleet) {
    let failedLast = false
    const behind = () => {
      const top = stage.height(name)
      const height = heightOf(ill.get(key), top, network, random)
      told.set(key, { height, at: stage.clock.now() })
      const fault = ill.get(key)
      // A lag shorter than an interval shows only while the others have just been asked: polls in a row are what counts.
      if (fault !== undefined && COMPARED.has(fault.fault.kind))
        fault.visibleAt = isVisible(fault, height) ? (fault.visibleAt ?? stage.pollsOf(key).at(-1) ?? null) : null
      return top - height
    }
    const isVisible = (fault: Ill, height: number): boolean => {
      const others = fleet.filter((other) => other.name === name && other.key !== key && !ill.has(other.key))
      const heights = others.flatMap((other) => told.get(other.key)?.height ?? []).sort((a, b) => b - a)
      // So many of the well must be there for a majority of all.
      const reached = heights[network.endpoints === 2 ? 0 : Math.floor(network.endpoints / 2)] ?? 0
      return fault.fault.kind === 'forked'
        ? height > fault.height && reached > fault.height
        : reached - height >= THRESHOLDS.lagBlocks
    }
    stage.set(key, {
      behind,
      branch: () => {
        const fault = ill.get(key)
        return fault?.fault.kind === 'forked' ? { from: fault.height + 1, name: `fork${fault.fault.size}` } : null
      },
      latencyMs: () =>
        ill.get(key)?.fault.kind === 'slow' ? 2500 : 5 + random() * Math.min(400, network.intervalMs / 8),
      failure: () => {
        const fault = ill.get(key)
        const failure = outage ?? (fault === undefined ? undefined : FAILURES[fault.fault.kind])
        if (failure !== undefined) {
          if (fault !== undefined) fault.visibleAt ??= stage.clock.now()
          // No deadline is longer than an interval.
          return failure.kind === 'timeout'
            ? { ...failure, afterMs: Math.min(5000, 0.8 * network.intervalMs) }
            : failure
        }
        if (fault?.fault.kind === 'slow') fault.visibleAt ??= stage.clock.now()
        // A single poll that fails is no outage.
        failedLast = calm && network.failAfter > 1 && !failedLast && random() < 0.01
        return failedLast ? { kind: 'reset' } : null
      },
    })
  }

  const longest = Math.max(...timeline.networks.map(({ intervalMs }) => intervalMs))
  for (const episode of timeline.episodes) {
    calm = true
    await stage.pass(10 * longest)
    // Two polls that fail by chance, one of them during a fault, would make the truth undecidable.
    calm = false
    await stage.pass(2 * longest)
    if (episode.kind === 'outage') {
      const current = { since: stage.clock.now(), until: Number.POSITIVE_INFINITY }
      outages.push(current)
      outage = episode.failure
      await stage.pass(episode.polls * longest)
      outage = null
      current.until = stage.clock.now()
      await stage.pass(REST * longest)
      continue
    }
    const events = episode.faults.flatMap((fault) => {
      const { key, name, network } = fleet[fault.of % fleet.length] as (typeof fleet)[number]
      return [
        {
          at: fault.begin * network.intervalMs,
          act() {
            const since = stage.clock.now()
            ill.set(key, { fault, key, since, height: stage.height(name), until: null, visibleAt: null, told: 0 })
          },
        },
        {
          at: (fault.begin + fault.polls) * network.intervalMs,
          act() {
            const over = ill.get(key)
            if (over === undefined) return
            over.until = stage.clock.now()
            past.push(over)
            ill.delete(key)
          },
        },
      ]
    })
    let passed = 0
    for (const { at, act } of events.sort((a, b) => a.at - b.at)) {
      await stage.pass(at - passed)
      passed = at
      act()
    }
    await stage.pass(REST * longest)
  }
  look(stage)
  const outcome = judge(stage, fleet, past, outages, begun)
  await stage.stop()
  return outcome
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

function judge(
  stage: Stage,
  fleet: readonly { readonly network: TimelineNetwork; readonly key: EndpointKey }[],
  past: readonly Ill[],
  outages: readonly { readonly since: number; readonly until: number }[],
  begun: number,
): TimelineOutcome {
  const wrongs: string[] = []
  const seconds = (at: number) => `${((at - begun) / 1000).toFixed(1)} s`
  const faults: FaultOutcome[] = []
  const excused: { readonly key: EndpointKey; readonly from: number; readonly until: number }[] = []

  for (const { fault, key, since, until, visibleAt } of past) {
    const { network } = fleet.find((one) => one.key === key) as (typeof fleet)[number]
    const { failAfter, recoverAfter, intervalMs } = network
    const end = until ?? Number.POSITIVE_INFINITY
    const wanted = CODES[fault.kind]
    const polls = stage.pollsOf(key)
    const known = stage
      .told(key)
      .find(
        ({ at, codes }) => at >= since && at < end + intervalMs + 5000 && codes.some((code) => wanted.includes(code)),
      )
    // A lag shorter than an interval may be seen to be over before it is.
    const last = stage.told(key).findLast(({ at }) => at < end)
    const over =
      known === undefined
        ? undefined
        : last !== undefined && last.at > known.at && last.codes.length === 0
          ? last
          : stage.told(key).find(({ at, codes }) => at >= end && codes.length === 0)
    const count = (from: number, to: number) => polls.filter((at) => at >= from && at < to).length
    const seen = visibleAt === null ? 0 : polls.filter((at) => at >= visibleAt && at < end).length
    const pollsToDetect = known === undefined || visibleAt === null ? null : count(visibleAt, known.at)
    const pollsToRecover = over === undefined ? null : count(end, over.at)
    faults.push({ kind: fault.kind, key, pollsToDetect, pollsToRecover, failAfter, recoverAfter })
    excused.push({
      key,
      // The poll under way at that moment began before it.
      from: since - 1000,
      until: known === undefined ? end + intervalMs + 5000 : (over?.at ?? Number.POSITIVE_INFINITY),
    })
    if (wanted.length === 0) continue
    const what = `${fault.kind} of ${key} from ${seconds(since)} to ${seconds(end)}`
    if (known === undefined && seen >= failAfter + LATE[fault.kind])
      wrongs.push(`${what} was not found in ${seen} polls`)
    if (pollsToDetect !== null && pollsToDetect > failAfter + LATE[fault.kind])
      wrongs.push(`${what} was found after ${pollsToDetect} polls only`)
    if (known !== undefined && over === undefined) wrongs.push(`${what} was never over`)
    if (pollsToRecover !== null && pollsToRecover > recoverAfter + 1)
      wrongs.push(`${what} was over after ${pollsToRecover} polls only`)
  }

  const isExcused = (key: EndpointKey, at: number) =>
    excused.some((one) => one.key === key && at >= one.from && at <= one.until)
  for (const { key, at, verdict, codes } of stage.accused())
    if (!isExcused(key, at))
      wrongs.push(`${key} was called ${verdict} (${codes.join(', ')}) at ${seconds(at)} though well`)
  for (const incident of stage.incidents()) {
    const key = incident.endpoint === null ? null : endpointKey({ network: incident.network, name: incident.endpoint })
    if (key === null || !isExcused(key, incident.confirmedAt))
      wrongs.push(`an incident of ${key ?? incident.network} at ${seconds(incident.openedAt)}`)
  }
  for (const line of stage.log) if (line.level === 'error') wrongs.push(`our own error: ${line.message}`)
  for (const { since, until } of outages) {
    for (const { key, at, verdict } of stage.accused())
      if (at >= since && at <= until && verdict === 'down')
        wrongs.push(`${key} went down in our own outage at ${seconds(at)}`)
  }
  const polls = stage.polls.length
  return { polls, faults, wrongs: [...new Set(wrongs)].slice(0, 20) }
}

function stageNetwork(
  { endpoints, blockTimeMs, intervalMs, oneHost, failAfter, recoverAfter }: TimelineNetwork,
  at: number,
): StageNetwork {
  return {
    name: `n${at}`,
    network: { blockTimeMs },
    endpoint: { intervalMs },
    thresholds: {
      latencyMs: SLOW_MS - 100,
      failAfter,
      recoverAfter,
      stallMs: Math.max(THRESHOLDS.stallMs, 5 * blockTimeMs, 3 * intervalMs),
    },
    endpoints: Array.from({ length: endpoints }, (_, number) => ({
      name: `e${number}`,
      host: oneHost ? `n${at}.example.org` : `e${number}.n${at}.example.org`,
      // Fewer than half fail at a time: never an outage of the host.
      ...(oneHost ? { origin: `n${at}.example.org` } : {}),
    })),
  }
}

const anyNetwork = (intervalMs: number): fc.Arbitrary<TimelineNetwork> =>
  fc.record({
    endpoints: fc.integer({ min: 1, max: 6 }),
    blockTimeMs: fc.constantFrom(400, 2000, 12_000, 60_000),
    intervalMs: fc.constantFrom(intervalMs, intervalMs * 1.5),
    oneHost: fc.boolean(),
    failAfter: fc.integer({ min: 1, max: 4 }),
    recoverAfter: fc.integer({ min: 1, max: 4 }),
  })

const anyEpisode = (networks: readonly TimelineNetwork[]): fc.Arbitrary<Episode> => {
  const hosts = networks.reduce((sum, { oneHost, endpoints }) => sum + (oneHost ? 1 : endpoints), 0)
  const faults = fc
    .array(
      fc.record({
        kind: fc.constantFrom(...FAULTS),
        of: fc.nat({ max: 5 }),
        begin: fc.integer({ min: 0, max: 10 }),
        polls: fc.integer({ min: 1, max: LONGEST - 10 }),
        size: fc.nat({ max: 200 }),
      }),
      { minLength: 1, maxLength: 3 },
    )
    .map((all): Episode => ({ kind: 'faults', faults: all.filter(isPossible(networks)) }))
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

/** Keeps only faults of which the truth is known. */
function isPossible(
  networks: readonly TimelineNetwork[],
): (fault: PlannedFault, at: number, all: readonly PlannedFault[]) => boolean {
  const fleet = networks.flatMap((network, at) => Array.from({ length: network.endpoints }, () => ({ network, at })))
  const illIn = new Map<number, Set<number>>()
  return (fault) => {
    const of = fault.of % fleet.length
    const { network, at } = fleet[of] as (typeof fleet)[number]
    const { endpoints } = network
    const known = illIn.get(at) ?? new Set()
    const room =
      endpoints === 1
        ? Number(fleet.length > 2 || fleet.length === 1)
        : endpoints === 2
          ? 1
          : Math.floor((endpoints - 1) / 2)
    if (known.has(of) || known.size >= room) return false
    // Of two the one that is a little ahead is believed: it may be right.
    const needed = fault.kind === 'forked' || fault.kind === 'creeping-liar' ? 3 : 2
    if (COMPARED.has(fault.kind) && endpoints < needed) return false
    illIn.set(at, known.add(of))
    return true
  }
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
