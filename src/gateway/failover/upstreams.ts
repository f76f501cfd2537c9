import type { Clock } from '../../clock.ts'
import type { EndpointKey } from '../../core/endpoint.ts'
import type { Health } from '../../core/verdict/health.ts'
import type { Board } from '../../state/board.ts'
import { createRetryBudget, type RetryBudget } from './retry-budget.ts'
import { Upstream, type UpstreamTarget } from './upstream.ts'
import { createUpstreamSelector, type UpstreamSelector } from './upstream-selector.ts'

/** The endpoints of all networks as traffic knows them, kept up to date by the board. */
export interface Upstreams {
  network(name: string): UpstreamNetwork | undefined
  all(): Iterable<Upstream>
  /** The new whole set. What is known of an endpoint is kept where nothing of how it is asked has changed. */
  retarget(targets: readonly UpstreamTarget[]): void
  close(): void
}

export interface UpstreamNetwork {
  readonly name: string
  readonly selector: UpstreamSelector
  readonly size: number
  /** Of many callers who wait for the same thing one asks, now and then. */
  readonly scout: { mayGo(now: number): boolean }
  /** For attempts that failed, and for answers that others may better. */
  readonly budgets: { readonly failed: RetryBudget; readonly doubtful: RetryBudget }
}

export interface UpstreamsDeps {
  readonly board: Board
  readonly clock: Clock
}

/** Results expire and maintenance begins by the second. */
const TICK_MS = 1000

/** A fifth more load is what nodes that are ill together can bear. */
const FAILED = { share: 0.2, floor: 20 }
/** Of every request, one more at most: clients that wait for a transaction ask for what is not there again and again. */
const DOUBTFUL = { share: 1, floor: 40 }

export function createUpstreams({ board, clock }: UpstreamsDeps): Upstreams {
  let upstreams = new Map<EndpointKey, Upstream>()
  let networks = new Map<string, UpstreamNetwork>()

  const unsubscribe = board.subscribe(({ network, endpoint, verdictChanged }) => {
    const { selector: choice } = networks.get(network) ?? {}
    if (choice === undefined) return
    if (verdictChanged) choice.invalidate()
    if (endpoint === null) return choice.referenceMoved()
    const health = board.entry(network, endpoint)?.health
    const upstream = upstreams.get(`${network}/${endpoint}`)
    if (health !== undefined && upstream !== undefined) learn(upstream, health, choice)
  })

  /** What a poll says goes before what was concluded from traffic. */
  function learn(upstream: Upstream, health: Health, choice: UpstreamSelector): void {
    for (const { shard, height, readAt } of health.heads) upstream.setPolledHeight(shard, height, readAt)
    if (health.latencyMs !== null) upstream.setPolledLatency(health.latencyMs, clock.monotonic())
    // Before it is a verdict: one poll is enough to begin asking, or to stop.
    const isVerified = health.heads.length > 0
    const isForeign = health.confirmation.traces.some(({ finding }) => finding.code === 'wrong-network')
    if (upstream.isVerified !== isVerified || upstream.isOnWrongNetwork !== isForeign) {
      upstream.isVerified = isVerified
      upstream.isOnWrongNetwork = isForeign
      choice.invalidate()
    }
    const latest = health.confirmation.recent.at(-1)
    const isNews = health.lastPolledAt !== null && health.lastPolledAt >= upstream.breakerOpenedAt
    if (isNews && health.latencyMs !== null && latest !== undefined && latest.verdict !== 'down') {
      upstream.breaker.close()
    }
  }

  let timer = clock.after(TICK_MS, tick)
  function tick(): void {
    const now = clock.now()
    for (const { selector: choice } of networks.values()) choice.tick(now)
    timer = clock.after(TICK_MS, tick)
  }

  return {
    network: (name) => networks.get(name),
    all: () => upstreams.values(),

    retarget(targets) {
      const before = { upstreams, networks }
      upstreams = new Map()
      for (const target of targets) {
        const fresh = new Upstream(target)
        const known = before.upstreams.get(fresh.key)
        upstreams.set(fresh.key, known?.fingerprint === fresh.fingerprint ? known : fresh)
      }
      const sizes = new Map<string, number>()
      for (const { network } of upstreams.values()) sizes.set(network, (sizes.get(network) ?? 0) + 1)
      networks = new Map(
        [...sizes].map(([name, size]) => [
          name,
          {
            name,
            size,
            scout: createScout(),
            selector: createUpstreamSelector({
              network: name,
              board,
              clock,
              upstreamOf: (endpoint) => upstreams.get(`${name}/${endpoint}`),
            }),
            budgets: before.networks.get(name)?.budgets ?? {
              failed: createRetryBudget(FAILED),
              doubtful: createRetryBudget(DOUBTFUL),
            },
          },
        ]),
      )
      for (const upstream of upstreams.values()) {
        const health = board.entry(upstream.network, upstream.name)?.health
        const choice = networks.get(upstream.network)?.selector
        if (health !== undefined && choice !== undefined) learn(upstream, health, choice)
      }
    },

    close() {
      unsubscribe()
      timer.cancel()
    },
  }
}

const SCOUT_EVERY_MS = 50

function createScout(): UpstreamNetwork['scout'] {
  let wentAt = Number.NEGATIVE_INFINITY
  return {
    mayGo(now) {
      if (now - wentAt < SCOUT_EVERY_MS) return false
      wentAt = now
      return true
    },
  }
}
