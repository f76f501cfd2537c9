import { type EndpointKey, endpointKey } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { THRESHOLDS } from './network.ts'
import type { Stage } from './stage.ts'

export interface TimelineNetwork {
  readonly endpoints: number
  readonly blockTimeMs: number
  readonly irregular?: boolean
  /** Whether it is one of MultiversX, with three shards. */
  readonly sharded?: boolean
  /** Whether only every fourth poll checks liveness, as where requests are paid. */
  readonly rareLiveness?: boolean
  /** Of its endpoints in turn. */
  readonly intervalsMs: readonly number[]
  /** Whether all its endpoints are on one host. */
  readonly oneHost: boolean
  readonly failAfter: number
  readonly recoverAfter: number
}

export interface PlannedFault {
  readonly kind: FaultKind
  /** Of which endpoint, counted over all of them. */
  readonly of: number
  /** In polls of the slowest endpoint of its network, from the begin of the episode. */
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
  'unhealthy',
  'slow',
  'lagging',
  'stalled',
  'forked',
  'liar',
  'creeping-liar',
  // A reload takes it out of the configuration, and puts it back.
  'removed',
] as const
export type FaultKind = (typeof FAULTS)[number]

export const FAILURES: Partial<Record<FaultKind, Failure>> = {
  refused: { kind: 'refused' },
  timeout: { kind: 'timeout', afterMs: 5000 },
  'bad-answer': { kind: 'http', status: 503 },
  'wrong-network': { kind: 'wrong-network', expected: 1, actual: '5' },
  'rate-limited': { kind: 'rate-limited', retryAfterMs: null },
}

/** Only others can show it. */
export const COMPARED: ReadonlySet<FaultKind> = new Set(['lagging', 'stalled', 'forked', 'liar', 'creeping-liar'])

export interface Ill {
  readonly fault: PlannedFault
  readonly key: EndpointKey
  /** In which run: a fault goes on when another daemon starts. */
  readonly run: number
  /** Its begin, or that of the run. */
  readonly since: number
  readonly height: number
  /** `null`: another daemon goes on to see it. */
  until: number | null
  /** Start of the first poll that could see it. */
  visibleAt: number | null
  /** Start of the last poll that could see it. */
  lastAt: number | null
  told: number
}

/** What one daemon has seen, from its start to its end. */
export interface Run {
  readonly stage: Stage
  readonly from: number
  to: number
  /** The conditions that it knew at its start. */
  readonly known: ReadonlyMap<EndpointKey, readonly string[]>
  /** Ids of incidents that a killed daemon had not written. */
  lost: ReadonlySet<string>
}

export interface Member {
  readonly network: TimelineNetwork
  readonly name: string
  readonly key: EndpointKey
  readonly intervalMs: number
}

/** The expected condition; a node that claims a height ahead of all has none, nor has a removed one, but must not affect others. */
const CODES: Record<FaultKind, readonly string[]> = {
  refused: ['unreachable'],
  timeout: ['unreachable'],
  'bad-answer': ['bad-answer'],
  'wrong-network': ['wrong-network'],
  'rate-limited': ['rate-limited'],
  unhealthy: ['unhealthy'],
  slow: ['slow'],
  lagging: ['lagging'],
  stalled: ['lagging', 'stalled'],
  forked: ['forked'],
  liar: [],
  'creeping-liar': [],
  removed: [],
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

export interface Halt {
  readonly name: string
  readonly since: number
  until: number
  readonly wrongs: string[]
}

interface Played {
  readonly runs: readonly Run[]
  readonly fleet: readonly Member[]
  readonly past: readonly Ill[]
  readonly outages: readonly { readonly since: number; readonly until: number }[]
  readonly halts: readonly Halt[]
  readonly begun: number
}

/** Compares what the daemons said with what was true. */
export function judge({ runs, fleet, past, outages, halts, begun }: Played): TimelineOutcome {
  const wrongs: string[] = []
  const seconds = (at: number) => `${((at - begun) / 1000).toFixed(1)} s`
  const faults: FaultOutcome[] = []
  const excused: { readonly key: EndpointKey; readonly from: number; readonly until: number }[] = []
  const written = runs.flatMap(({ stage, lost }) => stage.incidents().filter(({ id }) => !lost.has(id)))
  const incidents = new Map(written.map((one) => [one.id, one]))
  const of = (key: EndpointKey) => [...incidents.values()].filter((one) => keyOf(one) === key)

  for (const { fault, key, run: number, since, until, visibleAt } of past) {
    const { network, intervalMs } = memberOf(fleet, key)
    const { failAfter, recoverAfter } = network
    const run = runs[number] as Run
    // Ended while no daemon ran, or goes on in the next one.
    const end = until ?? run.to
    const wanted = CODES[fault.kind]
    const isWanted = (codes: readonly string[]) => codes.some((code) => wanted.includes(code))
    const polls = run.stage.pollsOf(key)
    const told = [...startOf(run, key), ...run.stage.told(key)]
    const known = told.find(({ at, codes }) => at >= since && at < end + intervalMs + 5000 && isWanted(codes))
    // A lag shorter than an interval may be seen to be over before it is.
    const last = told.findLast(({ at }) => at < end)
    const over =
      known === undefined
        ? undefined
        : last !== undefined && last.at > known.at && last.codes.length === 0
          ? last
          : told.find(({ at, codes }) => at >= end && codes.length === 0)
    const count = (from: number, to: number) => polls.filter((at) => at >= from && at < to).length
    // The last poll of a daemon that ends is not judged any more, nor a failed one before it that waits for a witness.
    const unjudged = until === null || until >= run.to ? (COMPARED.has(fault.kind) ? 1 : 2) : 0
    const seen = visibleAt === null ? 0 : polls.filter((at) => at >= visibleAt && at < end).length - unjudged
    const wasKnown = known !== undefined && known.at === run.from
    const pollsToDetect = known === undefined || visibleAt === null || wasKnown ? null : count(visibleAt, known.at)
    const pollsToRecover = over === undefined ? null : count(end, over.at)
    if (!wasKnown) faults.push({ kind: fault.kind, key, pollsToDetect, pollsToRecover, failAfter, recoverAfter })
    excused.push({
      key,
      // The poll under way at that moment began before it.
      from: since - 1000,
      until: known === undefined ? end + intervalMs + 5000 : (over?.at ?? run.to),
    })
    if (wanted.length === 0) continue
    const what = `${fault.kind} of ${key} from ${seconds(since)} to ${seconds(end)}`
    // Others that are polled less often must show it.
    const times = COMPARED.has(fault.kind) ? slowestOf(network) / intervalMs : 1
    const late = Math.ceil(LATE[fault.kind] * times)
    if (known === undefined && seen >= failAfter + late) wrongs.push(`${what} was not found in ${seen} polls`)
    if (pollsToDetect !== null && pollsToDetect > failAfter + late)
      wrongs.push(`${what} was found after ${pollsToDetect} polls only`)
    const isSteady = !COMPARED.has(fault.kind) || fault.kind === 'forked'
    const lost = isSteady && known && told.find(({ at, codes }) => at > known.at && at < end && !isWanted(codes))
    if (lost) wrongs.push(`${what} was thought to be over at ${seconds(lost.at)}`)
    if (until === null || run.to <= until) continue
    const better = recoverAfter + Math.ceil(times)
    if (known !== undefined && over === undefined && count(end, run.to) > better) wrongs.push(`${what} was never over`)
    if (pollsToRecover !== null && pollsToRecover > better)
      wrongs.push(`${what} was over after ${pollsToRecover} polls only`)
  }

  // What an earlier daemon knew may be over since.
  for (const run of runs) {
    for (const [key, codes] of run.known) {
      if (codes.length === 0 || past.some((one) => one.key === key && runs[one.run] === run && one.since === run.from))
        continue
      const { network, intervalMs } = memberOf(fleet, key)
      const over = run.stage.told(key).find((one) => one.codes.length === 0)
      excused.push({ key, from: run.from, until: over?.at ?? run.to })
      const took = run.stage.pollsOf(key).filter((at) => at < (over?.at ?? run.to)).length
      // Nothing is compared in the first round of polls, which ends with the last answer, be it slow.
      const firstRoundMs = firstRoundOf(network) + Math.min(2500, 1.2 * slowestOf(network))
      if (took > network.recoverAfter + Math.ceil(firstRoundMs / intervalMs))
        wrongs.push(`${key} was ${codes.join(', ')} at ${seconds(run.from)} for ${took} polls more`)
    }
  }

  const isExcused = (key: EndpointKey, at: number) =>
    excused.some((one) => one.key === key && at >= one.from && at <= one.until)
  for (const { key, at, verdict, codes } of runs.flatMap(({ stage }) => stage.accused()))
    if (!isExcused(key, at))
      wrongs.push(`${key} was called ${verdict} (${codes.join(', ')}) at ${seconds(at)} though well`)
  for (const incident of incidents.values()) {
    const key = keyOf(incident)
    const isHalt = halts.some((one) => isOf(one, incident, fleet))
    if (isHalt) continue
    if (isOutage(incident, fleet, isExcused)) continue
    if (key === null || !isExcused(key, incident.confirmedAt))
      wrongs.push(
        `an incident of ${key ?? `${incident.network} (${incident.conditions.map(({ code }) => code).join(', ')})`} at ${seconds(incident.openedAt)}`,
      )
  }
  wrongs.push(
    ...halts.flatMap((one) =>
      one.wrongs.map((wrong) => `${wrong} (from ${seconds(one.since)} to ${seconds(one.until)})`),
    ),
  )
  wrongs.push(
    ...wrongTimes({
      runs,
      fleet,
      past,
      halts,
      of,
      outages: [...incidents.values()].filter(({ cause }) => cause === 'outage'),
      seconds,
    }),
  )
  for (const line of runs.flatMap(({ stage }) => stage.log))
    if (line.level === 'error') wrongs.push(`our own error: ${line.message}`)
  for (const { since, until } of outages) {
    for (const { key, at, verdict } of runs.flatMap(({ stage }) => stage.accused()))
      if (at >= since && at <= until && verdict === 'down')
        wrongs.push(`${key} went down in our own outage at ${seconds(at)}`)
  }
  const polls = runs.reduce((sum, { stage }) => sum + stage.polls.length, 0)
  return { polls, faults, wrongs: [...new Set(wrongs)].slice(0, 20) }
}

interface Times {
  readonly runs: readonly Run[]
  readonly fleet: readonly Member[]
  readonly past: readonly Ill[]
  readonly halts: readonly Halt[]
  readonly of: (key: EndpointKey) => readonly Incident[]
  readonly outages: readonly Incident[]
  readonly seconds: (at: number) => string
}

/** What incidents and history say of the times of faults that every poll shows. */
function wrongTimes({ runs, fleet, past, halts, of, outages, seconds }: Times): string[] {
  const wrongs: string[] = []
  for (const [at, one] of past.entries()) {
    const { fault, key } = one
    if (one.until === null || COMPARED.has(fault.kind) || CODES[fault.kind].length === 0) continue
    const parts = past.slice(0, at + 1).filter((part) => part.fault === fault)
    const begins = parts.flatMap(({ visibleAt, since, run: number }) => {
      const { stage, from } = runs[number] as Run
      // The first poll of a daemon may be its own fault, if no other host has answered yet.
      const second = since === from && number > 0 ? stage.pollsOf(key)[1] : undefined
      return visibleAt === null ? [] : second === undefined ? [visibleAt] : [visibleAt, second]
    })
    const ended = one.until
    const lastAt = one.lastAt ?? ended - 1
    // Good polls before and after a longer pause are not in a row.
    const good = runs.slice(one.run).flatMap(({ stage }, at) => {
      return stage.pollsOf(key).find((poll) => at > 0 || poll > lastAt) ?? []
    })
    const first = begins[0]
    const found = of(key).filter(
      ({ closedAt, openedAt, flapping }) => !flapping && openedAt < ended && (closedAt ?? ended) >= (first ?? ended),
    )
    const what = `${fault.kind} of ${key} from ${seconds(first ?? ended)} to ${seconds(ended)}`
    // What an outage has absorbed may go on as an incident of its own.
    const own = found.filter(({ absorbedBy }) => absorbedBy === null)
    if (own.length > 1) wrongs.push(`${what} has ${own.length} incidents`)
    for (const { openedAt, closedAt, absorbedBy } of found) {
      if (!begins.includes(openedAt)) wrongs.push(`${what} has an incident since ${seconds(openedAt)}`)
      if (absorbedBy === null && closedAt !== null && !good.includes(closedAt))
        wrongs.push(
          `${what} has an incident until ${seconds(closedAt)}, its first good poll was at ${good.map(seconds).join(' or ')}`,
        )
      const run = runs.findLast(({ from }) => from <= openedAt)
      if (run === undefined || closedAt === null || parts.length > 1 || closedAt > untilOf(run, key, runs)) continue
      const state = CODES[fault.kind].some((code) => code === 'slow' || code === 'rate-limited') ? 'degraded' : 'down'
      // A poll that takes longer than its result holds leaves a gap.
      const other = run.stage
        .intervals(key, openedAt, closedAt)
        .find((part) => part.state !== state && part.state !== 'unknown')
      if (other !== undefined) wrongs.push(`${what} is ${other.state} at ${seconds(other.from)} in the history`)
    }
  }
  for (const run of runs) {
    const { stage, from } = run
    for (const { key, name, network } of fleet) {
      const isPart = (one: Incident) =>
        one.affected.some((endpoint) => key === endpointKey({ network: one.network, name: endpoint }))
      const known = [...of(key), ...outages.filter(isPart)]
      // Meanwhile, what only others can show of an endpoint belongs to the incident of the network.
      const isHalted = (at: number) =>
        halts.some((one) => one.name === name && at >= one.since && at <= one.until + slackOf(network))
      const to = untilOf(run, key, runs)
      for (const part of stage.intervals(key, from, to)) {
        if (part.state !== 'down' && part.state !== 'degraded') continue
        const isKnown = known.some(
          ({ openedAt, closedAt }) => openedAt <= part.from && part.to <= (closedAt ?? part.to),
        )
        if (!isKnown && !isHalted(part.from))
          wrongs.push(`the history has ${key} ${part.state} from ${seconds(part.from)} to ${seconds(part.to)}`)
      }
    }
  }
  return wrongs
}

/** Until when its history is final: the next daemon may still change that of the last polls. */
function untilOf(run: Run, key: EndpointKey, runs: readonly Run[]): number {
  return run === runs.at(-1) ? run.to : (run.stage.pollsOf(key).at(-10) ?? run.from)
}

function startOf({ from, known }: Run, key: EndpointKey): { readonly at: number; readonly codes: readonly string[] }[] {
  const codes = known.get(key)
  return codes === undefined ? [] : [{ at: from, codes }]
}

function memberOf(fleet: readonly Member[], key: EndpointKey): Member {
  return fleet.find((one) => one.key === key) as Member
}

function keyOf({ network, endpoint }: Incident): EndpointKey | null {
  return endpoint === null ? null : endpointKey({ network, name: endpoint })
}

/** The last block before a halt and the first one after it may be polled an interval later, and may be missing. */
function slackOf(network: TimelineNetwork): number {
  return (network.irregular === true ? 3.5 : 1) * network.blockTimeMs + slowestOf(network)
}

/** Whether it is about this halt. */
function isOf({ name, since, until }: Halt, { cause, network: of, confirmedAt }: Incident, fleet: readonly Member[]) {
  if (cause !== 'halted' || of !== name) return false
  const { network } = fleet.find((one) => one.name === name) as Member
  const slackMs = slackOf(network)
  return confirmedAt >= since + stallOf(network) - slackMs && confirmedAt <= until + slackMs + 5000
}

/** Whether half of the endpoints of its host were wrong. */
function isOutage(
  { cause, network: of, confirmedAt }: Incident,
  fleet: readonly Member[],
  isIll: (key: EndpointKey, at: number) => boolean,
): boolean {
  const members = fleet.filter(({ name, network }) => name === of && network.oneHost)
  const ill = members.filter(({ key }) => isIll(key, confirmedAt))
  return cause === 'outage' && members.length > 1 && 2 * ill.length >= members.length
}

export function stallOf(network: TimelineNetwork): number {
  return Math.max(THRESHOLDS.stallMs, 5 * network.blockTimeMs, 3 * slowestOf(network))
}

/** Whether nothing can be compared with it. */
export function isGone(one: Ill | undefined): boolean {
  return one !== undefined && (one.fault.kind === 'removed' || FAILURES[one.fault.kind] !== undefined)
}

export function intervalOf({ intervalsMs }: TimelineNetwork, number: number): number {
  return intervalsMs[number % intervalsMs.length] ?? 10_000
}

export function slowestOf(network: TimelineNetwork): number {
  return Math.max(...Array.from({ length: network.endpoints }, (_, number) => intervalOf(network, number)))
}

/** For so long at most after a start, nothing is compared. */
export function firstRoundOf(network: TimelineNetwork): number {
  const intervals = Array.from({ length: network.endpoints }, (_, number) => intervalOf(network, number))
  return Math.min(2 * Math.max(...intervals), 10 * Math.min(...intervals))
}
