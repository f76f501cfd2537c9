import { endpointKey } from '../endpoint.ts'
import { FAILURES } from '../failure.ts'
import type { Outcome, PollResult } from '../poll-result.ts'
import { humanDuration } from '../time.ts'
import { createOwnNetwork, type HostLocation, type OwnNetwork } from './own-network.ts'

/** A poll as the observer sees it, on the monotonic clock. */
export interface ObservedPoll {
  readonly location: HostLocation
  readonly startedAt: number
  readonly endedAt: number
  readonly result: PollResult
}

/**
 * What a poll is worth. `fair`: judge it. `untimed`: judge it, but not how long it took. `ours`: it says nothing of the node.
 * `undecided`: to be asked again when other polls have ended.
 */
export type PollValidity = 'valid' | 'untimed' | 'own-fault' | 'undecided'

/** Is it us? Every time is of the monotonic clock, in ms. */
export interface Observer {
  /** The endpoints' hosts, and the longest interval. */
  configure(hosts: readonly HostLocation[], longestIntervalMs: number): void
  /** Nothing of ours ran from then to then: a blocked event loop, a process or machine that was stopped. */
  stalled(from: number, to: number): void
  /** The wall clock was set. */
  clockStepped(at: number, byMs: number): void
  expect(at: HostLocation, now: number): void
  /** Comes once for every poll, when it ends. Whether the worth of polls that were undecided may have become clear. */
  record(poll: ObservedPoll): boolean
  /** May be asked again. */
  validity(poll: ObservedPoll): PollValidity
  /** Why we are not fit to judge, or were not a moment ago; empty when all is well. */
  reasons(now: number): readonly string[]
  /** Of those the ones that last, and not what happened at a moment. */
  lastingReasons(now: number): readonly string[]
}

/** A process that is held up for less misses no answer. */
export const MIN_STALL_MS = 500
/** A disturbance is told for at least this long, so that whoever looks now and then sees it. */
const TOLD_FOR_MS = 10_000
/** More disturbances than this at a time say no more. */
const MOST_KEPT = 32

interface Disturbance {
  readonly from: number
  readonly to: number
  readonly kind: 'held' | 'stepped' | 'resources'
  readonly reason: string
}

export function createObserver(): Observer {
  const reach: OwnNetwork = createOwnNetwork()
  let disturbances: Disturbance[] = []
  let toldForMs = TOLD_FOR_MS

  function disturb(disturbance: Disturbance): void {
    // A lack of resources lasts for many polls, and is one disturbance.
    const isRepeated = (earlier: Disturbance) => earlier.kind === 'resources' && earlier.reason === disturbance.reason
    disturbances = [...disturbances.filter((earlier) => !isRepeated(earlier)), disturbance].slice(-MOST_KEPT)
  }

  function isSpoiltBy(kind: Disturbance['kind'], { startedAt, endedAt }: ObservedPoll): boolean {
    return disturbances.some(
      (disturbance) => disturbance.kind === kind && disturbance.from <= endedAt && disturbance.to >= startedAt,
    )
  }

  function told(now: number, kinds: readonly Disturbance['kind'][]): readonly string[] {
    const told = disturbances
      .filter(({ kind, to }) => kinds.includes(kind) && now - to <= toldForMs)
      .map(({ reason }) => reason)
    const cut = reach.outage()
    if (cut !== null) {
      told.push(
        cut.dns
          ? `none of ${cut.hosts} host names can be resolved: this machine's name server seems to be gone`
          : `none of ${cut.hosts} hosts can be reached: this machine's network seems to be gone`,
      )
    }
    return [...new Set(told)]
  }

  return {
    configure(hosts, longestIntervalMs) {
      toldForMs = Math.max(TOLD_FOR_MS, longestIntervalMs)
      reach.configure(hosts, 3 * longestIntervalMs)
    },

    stalled(from, to) {
      if (to - from < MIN_STALL_MS) return
      disturb({ from, to, kind: 'held', reason: `this process stood still for ${humanDuration(to - from)}` })
    },

    clockStepped(at, byMs) {
      const direction = byMs > 0 ? 'forward' : 'back'
      const reason = `this machine's clock was set ${direction} by ${humanDuration(Math.abs(byMs))}`
      disturb({ from: at, to: at, kind: 'stepped', reason })
    },

    expect: (at, now) => reach.expect(at, now),

    record({ location: at, startedAt, endedAt, result }) {
      const ending = endingOf(result)
      const of = endpointKey(result.endpoint)
      if (ending.kind !== 'own-fault')
        return reach.record({ location: at, endpoint: of, startedAt, endedAt, outcome: ending.kind })
      const reason = `this machine is out of resources (${ending.code})`
      disturb({ from: startedAt, to: endedAt, kind: 'resources', reason })
      return false
    },

    validity(poll) {
      const ending = endingOf(poll.result)
      if (ending.kind === 'own-fault' || (disturbances.length > 0 && isSpoiltBy('stepped', poll))) return 'own-fault'
      const wasHeld = disturbances.length > 0 && isSpoiltBy('held', poll)
      if (wasHeld) return ending.kind === 'answered' && !ending.partly ? 'untimed' : 'own-fault'
      if (ending.kind === 'answered') return 'valid'
      const { location: at, startedAt, endedAt } = poll
      const of = endpointKey(poll.result.endpoint)
      const ruling = reach.faultOf({ location: at, endpoint: of, startedAt, endedAt, outcome: ending.kind })
      return ruling === 'node' ? 'valid' : ruling === 'own' ? 'own-fault' : ruling
    },

    reasons: (now) => told(now, ['held', 'stepped', 'resources']),
    lastingReasons: (now) => told(now, ['resources']),
  }
}

type Ending =
  | { readonly kind: 'answered'; readonly partly: boolean }
  | { readonly kind: 'unreached' | 'dns' }
  | { readonly kind: 'own-fault'; readonly code: string }

const ALL_ANSWERED: Ending = { kind: 'answered', partly: false }

/** How far the poll got: an endpoint that answers one of its checks was reached. */
function endingOf(result: PollResult): Ending {
  const { heads, liveness } = result
  const asked = heads.length + Number(liveness !== null)
  let answered = 0
  let unresolved = 0
  for (let at = 0; at < asked; at++) {
    const outcome: Outcome<unknown> | null = heads[at]?.outcome ?? liveness
    if (outcome === null) continue
    if (!outcome.ok && outcome.failure.kind === 'local-resources')
      return { kind: 'own-fault', code: outcome.failure.code }
    const reached = outcome.ok ? 'yes' : FAILURES[outcome.failure.kind].reached
    if (reached === 'yes') answered++
    else if (reached === 'dns') unresolved++
  }
  if (answered === asked) return ALL_ANSWERED
  if (answered > 0) return { kind: 'answered', partly: true }
  return { kind: unresolved === asked ? 'dns' : 'unreached' }
}
