import type { Clock } from '../clock.ts'
import { type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Failure } from '../core/failure.ts'
import type { Comparison, Head, Liveness, Outcome, PollResult, ShardHead } from '../core/poll-result.ts'
import { DAY_MS, HOUR_MS, MINUTE_MS, type UnixMs } from '../core/time.ts'
import { createChain, digest, type SimulatedChain } from './chain.ts'
import { NETWORKS } from './demo.ts'
import type { Fault } from './fault.ts'
import { createFaultSet, type FaultSet } from './fault-set.ts'
import { MULTIVERSX_SHARDS } from './multiversx.ts'
import { createView } from './view.ts'

/**
 * The past of the demo's nodes, without sockets: their poll results at any time of the 90 days before `until`, on the
 * chains that the demo continues.
 */
export function createPast(until: UnixMs) {
  let at = until - PAST_MS
  const clock: Clock = {
    now: () => at,
    monotonic: () => at - until + PAST_MS,
    after: () => ({ cancel() {} }),
    sleep: () => Promise.resolve(),
  }
  const nodes = nodesOf(clock)
  const stories = STORIES.map(({ daysAgo, hours, ...story }) => {
    const from = until - daysAgo * DAY_MS
    return { ...story, from, to: from + hours * HOUR_MS, isOn: false }
  })
  const chains = new Map([...nodes].map(([key, { chain }]) => [key.split('/', 1)[0], chain]))

  function tell(fault: Story['fault'], name: string, isOn: boolean): void {
    if (fault === 'heartline-off') return
    const faults = nodes.get(name)?.faults
    if (fault !== 'halt' && isOn) faults?.inject(fault)
    else if (fault !== 'halt') faults?.heal(fault.kind)
    // From height 0: the chain halts at its present height, and catches up when it resumes.
    else if (isOn) chains.get(name)?.halt(0)
    else chains.get(name)?.resume()
  }

  function tellStories(): void {
    for (const story of stories) {
      const isOn = story.from <= at && at < story.to
      if (isOn === story.isOn) continue
      story.isOn = isOn
      for (const name of story.of) tell(story.fault, name, isOn)
    }
  }

  return {
    /** The time of the current round. Its timers never run. */
    clock,

    /** Moves the clock by the time that it yields: little in a story, because heights of different rounds cannot be compared. */
    *rounds(): Generator<number, void, void> {
      const beginnings = stories.map(({ from }) => from - NEAR_MS)
      while (at < until) {
        tellStories()
        const isWithin = (marginMs: number) =>
          stories.some(({ from, to }) => from - marginMs <= at && at <= to + marginMs)
        const stepMs = isWithin(SOON_MS) ? MINUTE_MS : isWithin(NEAR_MS) ? 5 * MINUTE_MS : stepBefore(until - at)
        if (!stories.some(({ fault, isOn }) => isOn && fault === 'heartline-off')) yield stepMs
        at = Math.min(at + stepMs, beginnings.find((beginning) => beginning > at) ?? until)
      }
    },

    poll(endpoint: Endpoint, compare: (heads: readonly ShardHead[]) => readonly Comparison[]): PollResult {
      const node = nodes.get(endpointKey(endpoint))
      if (node === undefined) throw new Error(`no node simulates ${endpointKey(endpoint)}`)
      return pollResult(endpoint, node, at, compare)
    },

    maintenance: MAINTENANCE.map(({ daysAgo, hours, ...window }) => {
      const from = until - daysAgo * DAY_MS
      return { ...window, from, until: from + hours * HOUR_MS }
    }),
  }
}

const PAST_MS = 90 * DAY_MS
/** The page shows an hour before and after an incident, in steps of five minutes. */
const NEAR_MS = 65 * MINUTE_MS
/** A chain's pace is known before a story, and its incident closed after it. */
const SOON_MS = 10 * MINUTE_MS

/** One poll in each step of the charts of a day and of a week. */
function stepBefore(leftMs: number): number {
  if (leftMs <= 2 * DAY_MS) return 5 * MINUTE_MS
  return leftMs <= 8 * DAY_MS ? 30 * MINUTE_MS : HOUR_MS
}

interface Story {
  readonly daysAgo: number
  readonly hours: number
  /** Endpoints; networks for `halt`; nothing for `heartline-off`. */
  readonly of: readonly string[]
  readonly fault: Fault | 'halt' | 'heartline-off'
}

/** Oldest first. */
const STORIES: readonly Story[] = [
  { daysAgo: 74.31, hours: 0.6, of: ['multiversx/own-1'], fault: { kind: 'refuse' } },
  { daysAgo: 61.08, hours: 2.3, of: ['avalanche/own-2'], fault: { kind: 'frozen-heartbeat' } },
  // A provider fails on two networks at once.
  {
    daysAgo: 41.37,
    hours: 3.2,
    of: ['ethereum/provider', 'avalanche/provider'],
    fault: { kind: 'http', status: 503 },
  },
  { daysAgo: 27.52, hours: 0.9, of: ['avalanche/own-2'], fault: { kind: 'fork', depth: 6 } },
  // During the maintenance below.
  { daysAgo: 19.995, hours: 0.5, of: ['avalanche/own-1'], fault: { kind: 'refuse' } },
  // A node lags for a night.
  { daysAgo: 12.44, hours: 7.4, of: ['ethereum/own-2'], fault: { kind: 'lag', blocks: 38, gradual: false } },
  { daysAgo: 8.19, hours: 5.1, of: [], fault: 'heartline-off' },
  { daysAgo: 5.27, hours: 0.45, of: ['multiversx'], fault: 'halt' },
  { daysAgo: 3.61, hours: 1.8, of: ['multiversx/provider'], fault: { kind: 'slow', delayMs: 1400 } },
  { daysAgo: 1.33, hours: 0.4, of: ['ethereum/own-1'], fault: { kind: 'stall' } },
]

const MAINTENANCE = [{ name: 'Node upgrade', network: 'avalanche', endpoints: ['own-1'], daysAgo: 20, hours: 1 }]

interface PastNode {
  readonly name: EndpointKey
  readonly chain: SimulatedChain
  readonly faults: FaultSet
  readonly delayMs: number
  readonly latencyMs: number
}

function nodesOf(clock: Clock): ReadonlyMap<EndpointKey, PastNode> {
  const nodes = new Map<EndpointKey, PastNode>()
  for (const { family, blockTimeMs, endpoints } of NETWORKS) {
    const shards = family === 'multiversx' ? MULTIVERSX_SHARDS : [null]
    const chain = createChain({ clock, seed: `demo ${family}`, blockTimeMs, shards })
    for (const { name, delayMs, latencyMs } of endpoints) {
      const key = `${family}/${name}`
      const tip = (shard: number | null) => chain.height(shard, chain.now() - delayMs)
      const faults = createFaultSet({ clock, chain, tip, changed() {} })
      nodes.set(key, { name: key, chain, faults, delayMs, latencyMs })
    }
  }
  return nodes
}

function pollResult(
  endpoint: Endpoint,
  node: PastNode,
  at: UnixMs,
  compare: (heads: readonly ShardHead[]) => readonly Comparison[],
): PollResult {
  const durationMs = latencyOf(node, at)
  const failure = failureOf(node.faults)
  const outcome = <T>(value: () => T): Outcome<T> =>
    failure === null ? { ok: true, value: value(), durationMs } : { ok: false, failure, durationMs }
  const view = createView({
    chain: node.chain,
    faults: node.faults,
    nodeName: node.name,
    delayMs: node.delayMs,
    turn: 0,
  })
  const prefix = endpoint.family === 'multiversx' ? '' : '0x'
  const headOf = (shard: number | null): Head => {
    const block = view.block(shard, view.tip(shard))
    if (block === null) throw new Error('a node has its own head')
    const { height, hash, parentHash, timestamp } = block
    return { height, hash: prefix + hash, parentHash: prefix + parentHash, timestamp }
  }
  const heads = endpoint.shards.map((shard) => ({ shard, outcome: outcome(() => headOf(shard)) }))
  const compared = (failure === null ? compare(heads) : []).flatMap(({ shard, height }) => {
    const block = view.block(shard, height)
    return block === null ? [] : [{ shard, height, hash: prefix + block.hash }]
  })
  return {
    endpoint,
    startedAt: at,
    finishedAt: at + durationMs,
    liveness: endpoint.checks.includes('liveness') ? outcome(() => livenessOf(endpoint, node.faults, at)) : null,
    heads,
    compared,
    clockSkewMs: 0,
    requests: { liveness: 0, head: 0 },
    tlsNotAfter: null,
  }
}

function failureOf(faults: FaultSet): Failure | null {
  const http = faults.get('http')
  if (http !== undefined) return { kind: 'http', status: http.fault.status }
  return faults.has('refuse') ? { kind: 'refused' } : null
}

function livenessOf({ family }: Endpoint, faults: FaultSet, at: UnixMs): Liveness {
  if (family !== 'avalanche') return { healthy: true, checks: [], heartbeatAt: null }
  const frozen = faults.get('frozen-heartbeat')
  const checks = ['network', 'router', 'database', 'C'].map((name) => ({
    name,
    healthy: true,
    error: null,
    contiguousFailures: 0,
    failingSince: null,
    checkedAt: at - 1000,
    durationMs: 0.2,
  }))
  return { healthy: true, checks, heartbeatAt: frozen?.since ?? at - 1500 }
}

/** Slower in the evening, with noise that depends only on node and time. */
function latencyOf({ name, faults, latencyMs }: PastNode, at: UnixMs): number {
  const noise = Number.parseInt(digest(name, at).slice(0, 8), 16) / 2 ** 32
  const evening = 1 + 0.3 * Math.sin((2 * Math.PI * (at / HOUR_MS - 13)) / 24)
  return latencyMs * evening * (0.8 + 0.5 * noise ** 3) + (faults.get('slow')?.fault.delayMs ?? 0)
}
