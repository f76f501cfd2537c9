import type { Clock } from '../clock.ts'
import { type Endpoint, type EndpointKey, endpointKey } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import type { UnixMs } from '../core/time.ts'
import { waitMs } from '../core/verdict/assess.ts'
import { type Health, headHolds } from '../core/verdict/health.ts'
import {
  type Inspect,
  type Inspected,
  type Inspection,
  judgeSinglePoll,
  type NetworkContext,
  type PollStep,
} from '../core/verdict/single-poll.ts'
import type { Prober } from '../nodes/probe.ts'
import type { Board, BoardNetwork } from '../state/board.ts'
import type { Scheduler } from './scheduler.ts'

/**
 * Runs on-demand polls for `/probe`, within the scheduler's limits, and not while the node limits our rate. Their
 * results change no verdict, counter, history or incident: a client that probes every second would otherwise confirm
 * within seconds a state that must last for several intervals.
 */
export function createInspector({ board, scheduler, prober, clock }: InspectorDeps): Inspect {
  const underWay = new Map<EndpointKey, Promise<Inspected>>()

  async function inspect(endpoint: Endpoint, withinMs: number): Promise<Inspected> {
    const askedAt = clock.monotonic()
    const outOfTime = new AbortController()
    const end = (): void => outOfTime.abort()
    const timer = clock.after(withinMs, end)
    let inspection: Inspection | null = null
    const visited = await scheduler.pollOnDemand(endpointKey(endpoint), outOfTime.signal, async (ended) => {
      ended.addEventListener('abort', end, { once: true })
      const waitedMs = clock.monotonic() - askedAt
      const startedAt = clock.now()
      const steps: PollStep[] = []
      const result = await prober
        .inspect(endpoint, {
          signal: outOfTime.signal,
          atMostMs: Math.max(SHORTEST_CHECK_MS, withinMs - waitedMs),
          onStep: (step) => steps.push(step),
        })
        .finally(() => ended.removeEventListener('abort', end))
      const slot = board.network(endpoint.network)
      const known = board.entry(endpoint.network, endpoint.name)?.health
      if (slot !== undefined && known !== undefined) {
        const now = clock.now()
        const health = judgeSinglePoll(result, known, networkContextOf(slot, endpoint, now), now)
        inspection = { result, health, steps, startedAt, waitedMs, tookMs: clock.monotonic() - askedAt }
      }
      return { waitMs: waitMs(result) }
    })
    timer.cancel()
    if (visited.kind !== 'done') return visited
    return inspection === null ? { kind: 'unknown-endpoint' } : { kind: 'polled', inspection }
  }

  return (endpoint, withinMs) => {
    const key = endpointKey(endpoint)
    const shared = underWay.get(key)
    if (shared !== undefined) return shared
    const own = inspect(endpoint, withinMs).finally(() => underWay.delete(key))
    underWay.set(key, own)
    return own
  }
}

export interface InspectorDeps {
  readonly board: Pick<Board, 'entry' | 'network'>
  readonly scheduler: Pick<Scheduler, 'pollOnDemand'>
  readonly prober: Pick<Prober, 'inspect'>
  readonly clock: Clock
}

/** Minimum time for a check: with less, its requests would only be cut off. */
const SHORTEST_CHECK_MS = 10

/** The shards on which it can be compared with others now; before its first poll, those on which it may be. */
function shardsOf(health: Health, now: UnixMs): readonly Shard[] {
  const { checks, shards } = health.endpoint
  if (health.lastPolledAt === null && checks.includes('head')) return shards
  return health.heads.filter((head) => headHolds(head, health, now)).map(({ shard }) => shard)
}

function networkContextOf({ standing, endpoints }: BoardNetwork, endpoint: Endpoint, now: UnixMs): NetworkContext {
  const others = new Set<Shard>(
    endpoints
      .filter(({ health }) => health.endpoint.name !== endpoint.name)
      .flatMap(({ health }) => shardsOf(health, now)),
  )
  return {
    network: standing.network,
    heads: standing.heads,
    alone: new Set(endpoint.shards.filter((shard) => !others.has(shard))),
  }
}
