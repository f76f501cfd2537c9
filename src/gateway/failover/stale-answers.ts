import type { Shard } from '../../core/network.ts'
import type { OperationName } from '../../core/routing/operation.ts'
import type { AnswerHeight, HeightTag } from '../caller-heights.ts'
import type { ChainRollbacks } from '../chain-rollbacks.ts'
import { chainOperationOf, type NodeReply, type UpstreamRequest } from '../upstream-request.ts'

/**
 * The last answers about the newest blocks of each network, repeated while no endpoint has the height that a caller has
 * seen. `eth_blockNumber` is built from the height alone; blocks are kept in each requested form.
 */
export class StaleAnswers {
  readonly #rollbacks: StaleAnswersDeps
  readonly #heights = new Map<string, LastHeight>()
  readonly #answers = new Map<string, LastAnswer>()

  constructor(rollbacks: StaleAnswersDeps) {
    this.#rollbacks = rollbacks
  }

  /** Records an answer that is passed on. A lower one replaces a higher one after `holdsMs` or a rollback. */
  keep(request: UpstreamRequest, shard: Shard, reply: NodeReply, shown: AnswerHeight, at: Shown): void {
    const { tag, height } = shown
    const chain = chainKey(request.network, shard, tag)
    const last = this.#heights.get(chain)
    const { network } = request
    const { endpoint, degraded, now } = at
    const confirmed: LastHeight = { network, shard, height, at: now, poll: this.#rollbacks.now(), endpoint, degraded }
    if (last === undefined || height >= last.height || this.#isOver(last, at)) this.#heights.set(chain, confirmed)
    if (!shown.isHead || reply.kind === 'error' || !KEPT.has(chainOperationOf(request).name)) return
    const key = formKey(chain, request)
    const kept = this.#answers.get(key)
    if (kept !== undefined && height < kept.height && !this.#isOver(kept, at)) return
    const bytes = reply.kind === 'result' ? reply.result : reply.body
    if (bytes.length > MAX_BYTES || (kept === undefined && this.#answers.size >= MAX_ANSWERS)) return
    // The memory is reused for each block, so `repeat` returns copies.
    const memory = kept !== undefined && kept.memory.length >= bytes.length ? kept.memory : Buffer.alloc(bytes.length)
    bytes.copy(memory)
    const status = reply.kind === 'rest' ? reply.status : null
    this.#answers.set(key, { ...confirmed, status, memory, length: bytes.length })
  }

  /** The last answer at or above `lowest` that is no older than `holdsMs` and from before no rollback. */
  repeat(
    request: UpstreamRequest,
    shard: Shard,
    tag: HeightTag,
    lowest: number,
    at: Age,
  ): (RepeatedAnswer & { readonly height: number }) | null {
    const chain = chainKey(request.network, shard, tag)
    const isBlockNumber = chainOperationOf(request).name === 'eth_blockNumber'
    const last = isBlockNumber ? this.#heights.get(chain) : this.#answers.get(formKey(chain, request))
    if (last === undefined || last.height < lowest || this.#isOver(last, at)) return null
    const { height, endpoint, degraded } = last
    return {
      reply: isBlockNumber ? numberOf(height) : copyOf(last as LastAnswer),
      height,
      endpoint,
      degraded,
      ageMs: at.now - last.at,
    }
  }

  #isOver({ network, shard, height, at, poll }: LastHeight, { now, holdsMs }: Age): boolean {
    return now - at > holdsMs || this.#rollbacks.hasGoneBelow(network, shard, height, poll)
  }

  /** Called when the endpoint turns out to be on another chain. */
  dropEndpoint(network: string, endpoint: string): void {
    const isDropped = (last: LastHeight) => last.network === network && last.endpoint === endpoint
    deleteWhere(this.#heights, isDropped)
    deleteWhere(this.#answers, isDropped)
  }

  /** Called when blocks from this height on were replaced: callers have seen the height all the same. */
  dropBlocksFrom(network: string, shard: Shard, height: number): void {
    deleteWhere(this.#answers, (last) => last.network === network && last.shard === shard && last.height >= height)
  }
}

export interface RepeatedAnswer {
  readonly reply: NodeReply
  readonly height: number | null
  readonly endpoint: string
  readonly degraded: boolean
  readonly ageMs: number
}

type StaleAnswersDeps = Pick<ChainRollbacks, 'now' | 'hasGoneBelow'>

interface Age {
  /** On the monotonic clock. */
  readonly now: number
  readonly holdsMs: number
}

interface Shown extends Age {
  readonly endpoint: string
  /** The endpoint was unhealthy. */
  readonly degraded: boolean
}

interface LastHeight {
  readonly network: string
  readonly shard: Shard
  readonly height: number
  /** When a node last confirmed it. */
  readonly at: number
  /** The same on the clock of `ChainRollbacks`. */
  readonly poll: number
  readonly endpoint: string
  readonly degraded: boolean
}

interface LastAnswer extends LastHeight {
  /** `null` for JSON-RPC. */
  readonly status: number | null
  readonly memory: Buffer
  readonly length: number
}

function deleteWhere<T>(map: Map<string, T>, isDeleted: (value: T) => boolean): void {
  for (const [key, value] of map) if (isDeleted(value)) map.delete(key)
}

function chainKey(network: string, shard: Shard, tag: HeightTag): string {
  return `${network} ${shard ?? ''} ${tag}`
}

function formKey(chain: string, request: UpstreamRequest): string {
  return `${chain} ${chainOperationOf(request).name} ${request.canonical}`
}

function numberOf(height: number): NodeReply {
  return { kind: 'result', result: Buffer.from(`"0x${height.toString(16)}"`) }
}

function copyOf({ status, memory, length }: LastAnswer): NodeReply {
  const bytes = Buffer.from(memory.subarray(0, length))
  return status === null ? { kind: 'result', result: bytes } : { kind: 'rest', status, body: bytes }
}

const KEPT: ReadonlySet<OperationName> = new Set(['eth_getBlockByNumber', 'network_status'])
/** A few forms for each network and shard. */
const MAX_ANSWERS = 1000
const MAX_BYTES = 8 * 2 ** 20
