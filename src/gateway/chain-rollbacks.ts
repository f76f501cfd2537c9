import type { Shard } from '../core/network.ts'
import type { Health } from '../core/verdict/health.ts'
import type { Board } from '../state/board.ts'

/** Detects rollbacks of a whole chain: its reference head stayed below a height for two rounds of polls. */
export function createChainRollbacks(board: Pick<Board, 'network' | 'entry' | 'subscribe'>) {
  const networks = new Map<string, NetworkPolls>()
  let polls = 0

  const unsubscribe = board.subscribe(({ network, endpoint }) => {
    const tracked = networks.get(network) ?? new NetworkPolls()
    networks.set(network, tracked)
    const health = endpoint === null ? undefined : board.entry(network, endpoint)?.health
    if (health !== undefined && tracked.isNewPoll(health)) tracked.polled(health, ++polls)
    for (const { shard, height } of board.network(network)?.standing.heads ?? []) {
      tracked.references(shard).set(height, polls)
    }
  })

  return {
    /** The number of polls so far, which serves as a clock. */
    now: (): number => polls,
    hasGoneBelow(network: string, shard: Shard, height: number, since: number): boolean {
      const tracked = networks.get(network)
      const references = tracked?.references(shard)
      if (tracked === undefined || references === undefined || references.current >= height) return false
      const endpoints = board.network(network)?.endpoints
      if (endpoints === undefined) return false
      const began = tracked.twoRoundsAgo(endpoints.map(({ health }) => health.endpoint.name))
      return began > since && references.highestSince(began) < height
    },
    stop: unsubscribe,
  }
}

export type ChainRollbacks = ReturnType<typeof createChainRollbacks>

/** The latest two polls of each endpoint of one network. */
class NetworkPolls {
  readonly #byEndpoint = new Map<string, EndpointPolls>()
  readonly #references = new Map<Shard, ReferenceHistory>()
  #twoRoundsAgo = Number.NEGATIVE_INFINITY
  #pollsSince = Number.POSITIVE_INFINITY

  /** Ignores a poll that has no result because of a local failure. */
  isNewPoll({ endpoint, lastPolledAt, validUntil }: Health): boolean {
    return (
      lastPolledAt !== null &&
      validUntil > lastPolledAt &&
      this.#byEndpoint.get(endpoint.name)?.startedAt !== lastPolledAt
    )
  }

  polled({ endpoint, lastPolledAt, heads }: Health, at: number): void {
    const before = this.#byEndpoint.get(endpoint.name) ?? NEVER_POLLED
    const hasHead = heads.some(({ readAt }) => readAt === lastPolledAt)
    this.#byEndpoint.set(endpoint.name, {
      startedAt: lastPolledAt,
      latest: at,
      second: before.latest,
      latestHead: hasHead ? at : before.latestHead,
      secondHead: hasHead ? before.latestHead : before.secondHead,
    })
    this.#pollsSince++
  }

  references(shard: Shard): ReferenceHistory {
    const known = this.#references.get(shard)
    if (known !== undefined) return known
    const history = new ReferenceHistory()
    this.#references.set(shard, history)
    return history
  }

  /** The time since which every endpoint was polled twice and one reported its head both times. */
  twoRoundsAgo(endpoints: readonly string[]): number {
    // In a large network, one more poll changes little, so the slow walk is skipped.
    if (this.#pollsSince <= endpoints.length / 8) return this.#twoRoundsAgo
    this.#pollsSince = 0
    let all = Number.POSITIVE_INFINITY
    let head = Number.NEGATIVE_INFINITY
    for (const endpoint of endpoints) {
      const { second, secondHead } = this.#byEndpoint.get(endpoint) ?? NEVER_POLLED
      all = Math.min(all, second)
      head = Math.max(head, secondHead)
    }
    this.#twoRoundsAgo = Math.min(all, head)
    return this.#twoRoundsAgo
  }
}

interface EndpointPolls {
  readonly startedAt: number | null
  readonly latest: number
  readonly second: number
  readonly latestHead: number
  readonly secondHead: number
}

const NEVER = Number.NEGATIVE_INFINITY
const NEVER_POLLED: EndpointPolls = {
  startedAt: null,
  latest: NEVER,
  second: NEVER,
  latestHead: NEVER,
  secondHead: NEVER,
}

/** The values of a reference head that are higher than all later ones. */
class ReferenceHistory {
  /** In descending order, each with the poll that ended it. */
  readonly #heights: { height: number; until: number }[] = []

  get current(): number {
    return this.#heights.at(-1)?.height ?? Number.NEGATIVE_INFINITY
  }

  set(height: number, at: number): void {
    if (height === this.current) return
    const last = this.#heights.at(-1)
    if (last !== undefined) last.until = at
    while ((this.#heights.at(-1)?.height ?? Number.POSITIVE_INFINITY) <= height) this.#heights.pop()
    this.#heights.push({ height, until: Number.POSITIVE_INFINITY })
    if (this.#heights.length > MAX_HISTORY) this.#heights.shift()
  }

  highestSince(began: number): number {
    return this.#heights.find(({ until }) => until > began)?.height ?? Number.NEGATIVE_INFINITY
  }
}

const MAX_HISTORY = 64
