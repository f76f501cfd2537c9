import { endpointKey } from '../endpoint.ts'
import { isWithoutRoute } from '../failure.ts'
import type { HostLocation } from '../host-location.ts'
import { type Outcome, type PollResult, reachOf } from '../poll-result.ts'
import { humanDuration } from '../time.ts'
import { createCpuWaits } from './cpu-waits.ts'
import { createOwnNetwork, type HostPoll } from './own-network.ts'

export type Observer = ReturnType<typeof createObserver>

export interface ObservedPoll {
  readonly location: HostLocation
  readonly startedAt: number
  readonly endedAt: number
  readonly result: PollResult
}

/**
 * What a poll says about the node: everything (`valid`), everything but its duration (`untimed`) or nothing
 * (`own-fault`). `undecided`: call `validity` again when further polls have ended.
 */
export type PollValidity = 'valid' | 'untimed' | 'own-fault' | 'undecided'

/** Shorter stalls are ignored: no answer is lost in them. */
export const MIN_STALL_MS = 500
/** A disturbance is shown for at least this long, so that people and scrapes see it. */
const SHOWN_FOR_MS = 10_000
const MAX_DISTURBANCES = 32
const STARVED = 'this process waits for the CPU most of the time'

interface Disturbance {
  readonly from: number
  readonly to: number
  readonly kind: 'stalled' | 'starved' | 'clock-stepped' | 'resources'
  readonly reason: string
}

/** Decides whether a failed poll is Heartline's own fault. All times are monotonic, in ms. */
export function createObserver() {
  const ownNetwork = createOwnNetwork()
  const cpuWaits = createCpuWaits()
  let disturbances: Disturbance[] = []
  let shownForMs = SHOWN_FOR_MS

  function disturb(disturbance: Disturbance): void {
    // A lack of resources or CPU lasts for many polls, but is one disturbance.
    const isRepeated = (earlier: Disturbance) =>
      (earlier.kind === 'resources' || earlier.kind === 'starved') && earlier.reason === disturbance.reason
    disturbances = [...disturbances.filter((earlier) => !isRepeated(earlier)), disturbance].slice(-MAX_DISTURBANCES)
  }

  function isDisturbedBy(kind: Disturbance['kind'], { startedAt, endedAt }: ObservedPoll): boolean {
    return disturbances.some((one) => one.kind === kind && one.from <= endedAt && one.to >= startedAt)
  }

  function reasonsOf(now: number, kinds: readonly Disturbance['kind'][]): readonly string[] {
    const reasons = disturbances
      .filter(({ kind, to }) => kinds.includes(kind) && now - to <= shownForMs)
      .map(({ reason }) => reason)
    const outage = ownNetwork.outage()
    if (outage !== null) {
      reasons.push(
        outage.dns
          ? `none of ${outage.hosts} host names can be resolved: this machine's name server seems to be gone`
          : `none of ${outage.hosts} hosts can be reached: this machine's network seems to be gone`,
      )
    }
    return [...new Set(reasons)]
  }

  return {
    configure(hosts: readonly HostLocation[], longestIntervalMs: number): void {
      shownForMs = Math.max(SHOWN_FOR_MS, longestIntervalMs)
      ownNetwork.configure(hosts, 3 * longestIntervalMs)
    },

    /** Reports a time in which this process did not run: blocked event loop, suspended process or machine. */
    stalled(from: number, to: number): void {
      if (to - from < MIN_STALL_MS) return
      disturb({ from, to, kind: 'stalled', reason: `this process stood still for ${humanDuration(to - from)}` })
    },

    clockStepped(at: number, byMs: number): void {
      const direction = byMs > 0 ? 'forward' : 'back'
      const reason = `this machine's clock was set ${direction} by ${humanDuration(Math.abs(byMs))}`
      disturb({ from: at, to: at, kind: 'clock-stepped', reason })
    },

    /** Reports how long this process has waited for a CPU since its start; call it several times per second. */
    cpuWaited: cpuWaits.sample,

    /** Reports that the host answered in an earlier run. */
    expect: ownNetwork.expect,

    /** Call it once for every poll, when it ends. Returns whether undecided polls may be decidable now. */
    record({ location, startedAt, endedAt, result }: ObservedPoll): boolean {
      const ending = endingOf(result)
      const endpoint = endpointKey(result.endpoint)
      if (cpuWaits.starved(startedAt, endedAt))
        disturb({ from: startedAt, to: endedAt, kind: 'starved', reason: STARVED })
      if (ending.kind !== 'own-fault')
        return ownNetwork.record({ location, endpoint, startedAt, endedAt, ...attemptOf(ending) })
      const reason = `this machine is out of resources (${ending.code})`
      disturb({ from: startedAt, to: endedAt, kind: 'resources', reason })
      return false
    },

    /** May be called again for the same poll. */
    validity(poll: ObservedPoll): PollValidity {
      const ending = endingOf(poll.result)
      if (ending.kind === 'own-fault' || isDisturbedBy('clock-stepped', poll)) return 'own-fault'
      if (isDisturbedBy('stalled', poll) || cpuWaits.starved(poll.startedAt, poll.endedAt))
        return ending.kind === 'answered' && !ending.partly ? 'untimed' : 'own-fault'
      if (ending.kind === 'answered') return 'valid'
      const { location, startedAt, endedAt } = poll
      const endpoint = endpointKey(poll.result.endpoint)
      const fault = ownNetwork.faultOf({ location, endpoint, startedAt, endedAt, ...attemptOf(ending) })
      return fault === 'node' ? 'valid' : fault === 'own' ? 'own-fault' : 'undecided'
    },

    /** Sentences about why polls are or recently were unreliable; empty if they are reliable. */
    reasons: (now: number): readonly string[] => reasonsOf(now, ['stalled', 'starved', 'clock-stepped', 'resources']),
    /** The `reasons` that last, without momentary events. */
    lastingReasons: (now: number): readonly string[] => reasonsOf(now, ['resources']),
  }
}

type Ending =
  | { readonly kind: 'answered'; readonly partly: boolean }
  | { readonly kind: 'unreached' | 'dns'; readonly hasNoRoute: boolean }
  | { readonly kind: 'own-fault'; readonly code: string }

const ALL_ANSWERED: Ending = { kind: 'answered', partly: false }

/** How far the poll got. An endpoint that answers one of its checks was reached. */
function endingOf({ heads, liveness }: PollResult): Ending {
  const checks = heads.length + Number(liveness !== null)
  let answered = 0
  let unresolved = 0
  let unrouted = 0
  for (let at = 0; at < checks; at++) {
    const outcome: Outcome<unknown> | null = heads[at]?.outcome ?? liveness
    if (outcome === null) continue
    if (!outcome.ok && outcome.failure.kind === 'local-resources')
      return { kind: 'own-fault', code: outcome.failure.code }
    if (!outcome.ok && isWithoutRoute(outcome.failure)) unrouted++
    const reached = reachOf(outcome)
    if (reached === 'yes') answered++
    else if (reached === 'dns') unresolved++
  }
  if (answered === checks && !hasUnanswered(liveness)) return ALL_ANSWERED
  if (answered > 0) return { kind: 'answered', partly: true }
  return { kind: unresolved === checks ? 'dns' : 'unreached', hasNoRoute: unrouted === checks }
}

/** Whether a question about the node's state had no response, such as one to its consensus node. */
function hasUnanswered(liveness: PollResult['liveness']): boolean {
  if (liveness?.ok !== true || liveness.value.report === undefined) return false
  return liveness.value.checks.some(({ error, checkedAt }) => error !== null && checkedAt === null)
}

function attemptOf(ending: Exclude<Ending, { kind: 'own-fault' }>): Pick<HostPoll, 'outcome' | 'hasNoRoute'> {
  return { outcome: ending.kind, hasNoRoute: ending.kind !== 'answered' && ending.hasNoRoute }
}
