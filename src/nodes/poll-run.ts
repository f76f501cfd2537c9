import type { Chain, ChainMemory, ChainTarget, Conversation, NodeAnswer } from '../chains/chain.ts'
import type { Clock } from '../clock.ts'
import type { CheckName, Endpoint } from '../core/endpoint.ts'
import type { Shard } from '../core/network.ts'
import type { ComparedBlock, Comparison, Liveness, Outcome, PollResult, ShardHead } from '../core/poll-result.ts'
import type { NodeAddress } from './address.ts'
import type { NodeClient } from './client.ts'
import { Deadline } from './deadline.ts'
import { withoutSecrets } from './own-words.ts'
import type { Redact } from './redact.ts'

/** Whom to visit, and what is remembered of earlier visits. */
export interface Visited {
  readonly target: ChainTarget & { readonly timeoutMs: number }
  readonly address: NodeAddress
  readonly chain: Chain
  readonly memory: ChainMemory
  /** Made when it is first needed. */
  readonly redact: () => Redact
}

/** Which blocks to ask for besides these heads; no more than one a shard is asked for. */
export type Compare = (heads: readonly ShardHead[]) => readonly Comparison[]

export interface VisitDeps {
  readonly client: Pick<NodeClient, 'send' | 'tlsNotAfter'>
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  readonly signal: AbortSignal
  readonly compare?: Compare | undefined
}

/**
 * The head check waits this long for liveness, to ask over the same connection: nodes that answer at once, which is nearly all,
 * need one connection and not two. Beyond it the checks run side by side, so that a poll lasts no longer than a check.
 */
const PATIENCE_MS = 100

const NOTHING_COMPARED: readonly ComparedBlock[] = []
const NO_HEADS = { heads: [], compared: NOTHING_COMPARED }

/** One poll of one endpoint. */
export class PollRun {
  readonly #to: Visited
  readonly #endpoint: Endpoint
  readonly #deps: VisitDeps
  #clockSkewMs: number | null = null

  constructor(to: Visited, endpoint: Endpoint, deps: VisitDeps) {
    this.#to = to
    this.#endpoint = endpoint
    this.#deps = deps
  }

  async run(): Promise<PollResult> {
    const { chain, target, memory, address } = this.#to
    const { client, clock } = this.#deps
    const startedAt = clock.now()
    const liveness =
      this.#has('liveness') && chain.liveness !== null ? this.#check(chain.liveness(target, memory)) : null
    if (liveness !== null && this.#has('head')) await this.#soon(liveness)
    const { heads, compared } = this.#has('head') ? await this.#readHeads() : NO_HEADS
    return {
      endpoint: this.#endpoint,
      startedAt,
      liveness: liveness === null ? null : this.#clean(await liveness),
      heads,
      compared,
      clockSkewMs: this.#clockSkewMs,
      tlsNotAfter: client.tlsNotAfter(address),
      finishedAt: clock.now(),
    }
  }

  #clean(outcome: Outcome<Liveness>): Outcome<Liveness> {
    return outcome.ok ? { ...outcome, value: withoutSecrets(outcome.value, this.#to.redact) } : outcome
  }

  #has(name: CheckName): boolean {
    return this.#endpoint.checks.includes(name)
  }

  /** Waits for it, but not for long. */
  #soon(it: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const patience = this.#deps.clock.after(PATIENCE_MS, resolve)
      const goOn = (): void => {
        patience.cancel()
        resolve()
      }
      it.then(goOn, goOn)
    })
  }

  /** The shards side by side, and then the blocks to compare, under one deadline. */
  async #readHeads(): Promise<Pick<PollResult, 'heads' | 'compared'>> {
    const deadline = this.#startDeadline()
    try {
      const { shards } = this.#endpoint
      const [shard = null] = shards
      const heads =
        shards.length === 1
          ? [await this.#readHead(shard, deadline)]
          : await Promise.all(shards.map((of) => this.#readHead(of, deadline)))
      const wanted = this.#wanted(heads)
      const compared = wanted.length === 0 ? NOTHING_COMPARED : await this.#askBlocks(wanted, deadline)
      return { heads, compared }
    } finally {
      deadline.end()
    }
  }

  async #readHead(shard: Shard, deadline: Deadline): Promise<ShardHead> {
    const { chain, target, memory } = this.#to
    return { shard, outcome: await this.#converse(chain.head(target, shard, memory), deadline) }
  }

  #wanted(heads: readonly ShardHead[]): readonly Comparison[] {
    const { compare } = this.#deps
    const read = new Set(heads.filter(({ outcome }) => outcome.ok).map(({ shard }) => shard))
    if (compare === undefined || read.size === 0) return []
    return compare(heads).filter(({ shard }) => read.delete(shard))
  }

  /** Over the connections that the heads have come by, which are free again. */
  async #askBlocks(wanted: readonly Comparison[], deadline: Deadline): Promise<readonly ComparedBlock[]> {
    const blocks = await Promise.all(wanted.map((comparison) => this.#askBlock(comparison, deadline)))
    return blocks.filter((block) => block !== null)
  }

  /** `null` for whatever goes wrong: the head check is over, and asking for more must not count against the node. */
  async #askBlock({ shard, height }: Comparison, deadline: Deadline): Promise<ComparedBlock | null> {
    const { chain, target, memory, address } = this.#to
    const conversation = chain.blockHash(target, shard, height, memory)
    let step = conversation.next()
    while (!step.done) {
      const sent = await this.#deps.client.send(address, step.value, deadline)
      if (!sent.ok) return null
      step = conversation.next(sent.answer)
    }
    const hash = step.value.ok ? step.value.value : null
    return hash === null ? null : { shard, height, hash }
  }

  async #check<T>(conversation: Conversation<T>): Promise<Outcome<T>> {
    const deadline = this.#startDeadline()
    try {
      return await this.#converse(conversation, deadline)
    } finally {
      deadline.end()
    }
  }

  #startDeadline(): Deadline {
    return new Deadline(this.#deps.clock, this.#to.target.timeoutMs, this.#deps.signal)
  }

  async #converse<T>(conversation: Conversation<T>, deadline: Deadline): Promise<Outcome<T>> {
    const { client, clock } = this.#deps
    // Waiting for a connection, where our own limit is the reason, is no time of the node's.
    let startedAt = clock.monotonic()
    let askedAt = startedAt
    let step = conversation.next()
    while (!step.done) {
      const sent = await client.send(this.#to.address, step.value, deadline)
      const endedAt = clock.monotonic()
      startedAt += sent.waitedMs
      if (!sent.ok) return { ok: false, failure: sent.failure, durationMs: endedAt - startedAt }
      this.#noteClock(sent.answer, endedAt - askedAt - sent.waitedMs)
      askedAt = endedAt
      step = conversation.next(sent.answer)
    }
    return { ...step.value, durationMs: askedAt - startedAt }
  }

  /** A Date header says the second, and was written somewhere between our asking and its arrival: the middle of both. */
  #noteClock({ date, receivedAt }: NodeAnswer, tookMs: number): void {
    if (date !== null) this.#clockSkewMs = date + 500 - (receivedAt - tookMs / 2)
  }
}
