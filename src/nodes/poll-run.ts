import { withConsensus } from '../chains/beacon.ts'
import type {
  Chain,
  ChainMemory,
  ChainTarget,
  Conversation,
  Inquiry,
  NodeAnswer,
  NodeRequest,
  Reading,
} from '../chains/chain.ts'
import { fail } from '../chains/json-rpc.ts'
import type { CancelSignal, Clock } from '../clock.ts'
import type { CheckName, Endpoint } from '../core/endpoint.ts'
import type { Failure } from '../core/failure.ts'
import { parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { ComparedBlock, Comparison, Liveness, Outcome, PollResult, ShardHead } from '../core/poll-result.ts'
import type { NodeAddress } from './address.ts'
import type { NodeClient } from './client.ts'
import { Deadline } from './deadline.ts'

/** Polls one endpoint once. */
export class PollRun {
  readonly #to: PolledEndpoint
  readonly #endpoint: Endpoint
  readonly #deps: PollRunDeps
  #clockSkewMs: number | null = null
  readonly #requests: Record<CheckName, number> = { liveness: 0, head: 0 }
  /** Of the node itself, to its liveness check, if it has no head check. */
  readonly #answers: NodeAnswer[] = []

  constructor(to: PolledEndpoint, endpoint: Endpoint, deps: PollRunDeps) {
    this.#to = to
    this.#endpoint = endpoint
    this.#deps = deps
  }

  async run(): Promise<PollResult> {
    const { address } = this.#to
    const { client, clock } = this.#deps
    const startedAt = clock.now()
    // Only requests show that a node without a head check still answers.
    if (!this.#has('head')) this.#forgetRefusals()
    const liveness = this.#has('liveness') ? this.#checkLiveness() : null
    if (liveness !== null && this.#has('head')) await this.#patience(liveness)
    const { heads, compared } = this.#has('head') ? await this.#readHeads() : NO_HEADS
    if (heads.length > 0 && heads.every(({ outcome }) => !outcome.ok)) this.#forgetRefusals()
    return {
      endpoint: this.#endpoint,
      startedAt,
      liveness: liveness === null ? null : this.#told(await liveness),
      heads,
      compared,
      clockSkewMs: this.#clockSkewMs,
      requests: this.#requests,
      tlsNotAfter: client.tlsNotAfter(address),
      finishedAt: clock.now(),
    }
  }

  #has(name: CheckName): boolean {
    return this.#endpoint.checks.includes(name)
  }

  /**
   * The head check waits briefly for liveness, so that both use one connection: nearly all nodes respond at once. After
   * that the checks run in parallel, so that a poll takes no longer than one check.
   */
  #patience(liveness: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.#deps.clock.after(PATIENCE_MS, resolve)
      const proceed = (): void => {
        timer.cancel()
        resolve()
      }
      liveness.then(proceed, proceed)
    })
  }

  /** Without secrets; `null` if the node offers nothing that was due, so that no request was sent. */
  #told(outcome: LivenessOutcome): PollResult['liveness'] {
    const { redactLiveness } = this.#to
    if (!outcome.ok) return outcome.told === undefined ? outcome : { ...outcome, told: redactLiveness(outcome.told) }
    return this.#requests.liveness === 0 ? null : { ...outcome, value: redactLiveness(outcome.value) }
  }

  /**
   * Reads the heads, then the blocks to compare, under one deadline. Heads that do not fit their network are read
   * again together with the chain id, because a node of another network must not be judged as a fork of this one. Once
   * the chain id was verified with them, a further read only counts if it is complete.
   */
  async #readHeads(): Promise<HeadsRead> {
    const deadline = this.#startDeadline()
    const { memory } = this.#to
    let verified: HeadsRead | null = null
    try {
      for (let reads = 1; ; reads++) {
        const wasDoubted = memory.doubted
        const heads = await this.#readAllHeads(deadline)
        const wanted = this.#blocksToCompare(heads)
        // Every async function costs a few promises, and most polls read no other block.
        const compared = wanted.length === 0 ? NOTHING : await this.#readCompared(wanted, deadline)
        if (verified !== null && deadline.passed) return verified
        if (reads === MAX_READS || this.#fit(heads, compared)) return { heads, compared }
        if (wasDoubted && !memory.doubted) verified = { heads, compared }
        memory.doubted = true
      }
    } finally {
      deadline.end()
    }
  }

  async #readAllHeads(deadline: Deadline): Promise<readonly ShardHead[]> {
    const { shards } = this.#endpoint
    const [shard = null] = shards
    return shards.length === 1
      ? [await this.#readHead(shard, deadline)]
      : Promise.all(shards.map((each) => this.#readHead(each, deadline)))
  }

  #fit(heads: readonly ShardHead[], compared: readonly ComparedBlock[]): boolean {
    return this.#to.target.chainId === null || this.#deps.fits?.(heads, compared) !== false
  }

  async #readHead(shard: Shard, deadline: Deadline): Promise<ShardHead> {
    const { chain, target, memory } = this.#to
    return { shard, outcome: await this.#converse(chain.head(target, shard, memory), deadline) }
  }

  /** At most one block of each shard that has a head. */
  #blocksToCompare(heads: readonly ShardHead[]): readonly Comparison[] {
    const { compare } = this.#deps
    if (compare === undefined || !heads.some(({ outcome }) => outcome.ok)) return NOTHING
    const wanted = compare(heads)
    if (wanted.length === 0) return NOTHING
    const shards = new Set(heads.filter(({ outcome }) => outcome.ok).map(({ shard }) => shard))
    return wanted.filter(({ shard }) => shards.delete(shard))
  }

  async #readCompared(wanted: readonly Comparison[], deadline: Deadline): Promise<readonly ComparedBlock[]> {
    const blocks = await Promise.all(wanted.map((comparison) => this.#readBlock(comparison, deadline)))
    return blocks.filter((block) => block !== null)
  }

  /** `null` on any failure: reading an additional block must not count against the node. */
  async #readBlock({ shard, height }: Comparison, deadline: Deadline): Promise<ComparedBlock | null> {
    const { chain, target, memory } = this.#to
    const outcome = await this.#converse(chain.blockHash(target, shard, height, memory), deadline, false)
    return outcome.ok && outcome.value !== null ? { shard, height, hash: outcome.value } : null
  }

  /** Asks the node and its consensus node at the same time, each within its own deadline. */
  async #checkLiveness(): Promise<LivenessOutcome> {
    const { chain, target, memory, address, beaconAddress } = this.#to
    const now = this.#deps.clock.monotonic()
    const [shard = null] = this.#endpoint.shards
    const liveness = chain.liveness(target, shard, memory, now)
    const own = this.#has('head')
      ? this.#inquire(liveness, address)
      : this.#inquire(this.#verified(liveness, now), address).then((outcome) => this.#withEvidence(outcome))
    if (chain.consensus === null || beaconAddress === null) return own
    const [outcome, consensus] = await Promise.all([own, this.#inquire(chain.consensus(memory, now), beaconAddress)])
    return withConsensus(outcome, consensus, memory.client?.value ?? null)
  }

  /** Without a head check, the chain id is verified together with liveness. */
  *#verified(liveness: Inquiry<Liveness>, now: number): Inquiry<Liveness> {
    const { chain, target, memory } = this.#to
    const told = yield* liveness
    if (!told.ok || chain.chainId === null) return told
    // Of a node that offers no question, this answer alone shows in each poll that it is there.
    if (told.value.checks.every(({ offered }) => offered === false)) memory.verifiedAt = null
    const verified = yield* chain.chainId(target, memory, { wall: this.#deps.clock.now(), monotonic: now })
    if (!verified.ok) return verified
    return verified.value ? { ok: true, value: { ...told.value, chainIdVerified: true } } : told
  }

  /** HTTP errors or HTML alone show nothing of a node: our URL or key is wrong, or only a proxy in front of it works. */
  #withEvidence(outcome: Outcome<Liveness>): Outcome<Liveness> {
    if (!outcome.ok || this.#answers.length === 0) return outcome
    const { checks, report } = outcome.value
    // Checks that a node runs itself show it also if they fail.
    const isShown = checks.some(({ offered, error }) => offered !== false && (report === undefined || error === null))
    if (isShown) return outcome
    const status = Math.min(...this.#answers.map((answer) => answer.status))
    if (status >= 300) return { ...fail({ kind: 'http', status }), durationMs: outcome.durationMs }
    const isJson = this.#answers.some(({ body }) => parseJson(body) !== undefined)
    return isJson ? outcome : { ...fail({ kind: 'not-json' }), durationMs: outcome.durationMs }
  }

  /** A node that refuses everything refuses us, not single methods, which it may offer in the next poll. */
  #forgetRefusals(): void {
    this.#to.memory.refusals = null
  }

  /** The outcome lasts as long as the slowest of the requests, because their number is our choice. */
  async #inquire<T>(inquiry: Inquiry<T>, address: NodeAddress): Promise<Outcome<T>> {
    const { client, clock } = this.#deps
    const deadline = this.#startDeadline()
    const startedAt = clock.monotonic()
    try {
      let durationMs = 0
      let step = inquiry.next()
      while (!step.done) {
        const sentAt = clock.monotonic()
        const sent = await client.send(address, step.value, deadline)
        const tookMs = clock.monotonic() - sentAt - sent.waitedMs
        durationMs = Math.max(durationMs, tookMs)
        this.#requests.liveness += sent.requests
        if (sent.ok && address === this.#to.address) {
          this.#noteClock(sent.answer, tookMs)
          if (!this.#has('head')) this.#answers.push(sent.answer)
        }
        if (sent.ok) step = inquiry.next({ ok: true, value: sent.answer })
        else step = inquiry.next(2 * (sentAt - startedAt) > deadline.afterMs ? cutShort(sent.failure) : sent)
      }
      return outcomeOf(step.value, durationMs)
    } finally {
      deadline.end()
    }
  }

  #startDeadline(): Deadline {
    return new Deadline(this.#deps.clock, this.#to.target.timeoutMs, this.#deps.signal)
  }

  async #converse<T>(conversation: Conversation<T>, deadline: Deadline, showsClock = true): Promise<Outcome<T>> {
    const { client, clock } = this.#deps
    // Moved forward by the time spent waiting for a connection, which does not count as the node's latency.
    let startedAt = clock.monotonic()
    let sentAt = startedAt
    const early = new Map<NodeRequest, ReturnType<NodeClient['send']>>()
    let step = conversation.next()
    while (!step.done) {
      const before = early.get(step.value)
      const sending = before ?? client.send(this.#to.address, step.value, deadline)
      for (const one of step.value.alongside ?? NOTHING) early.set(one, client.send(this.#to.address, one, deadline))
      const sent = await sending
      const endedAt = clock.monotonic()
      if (before === undefined) startedAt += sent.waitedMs
      this.#requests.head += sent.requests
      if (!sent.ok) return { ok: false, failure: sent.failure, durationMs: endedAt - startedAt }
      if (showsClock && before === undefined) this.#noteClock(sent.answer, endedAt - sentAt - sent.waitedMs)
      sentAt = endedAt
      step = conversation.next(sent.answer)
    }
    return outcomeOf(step.value, sentAt - startedAt)
  }

  /** A Date header has whole seconds and was written between request and response; the middle of both is assumed. */
  #noteClock({ date, receivedAt }: NodeAnswer, tookMs: number): void {
    if (date !== null) this.#clockSkewMs = date + 500 - (receivedAt - tookMs / 2)
  }
}

/** An endpoint's connection settings, with the state kept between its polls. */
export interface PolledEndpoint {
  readonly target: ChainTarget & { readonly timeoutMs: number }
  readonly address: NodeAddress
  /** The consensus node behind the node; `null` without one. */
  readonly beaconAddress: NodeAddress | null
  readonly chain: Chain
  readonly memory: ChainMemory
  readonly redactLiveness: (liveness: Liveness) => Liveness
}

/** Chooses other blocks to read, given the heads. */
export type Compare = (heads: readonly ShardHead[]) => readonly Comparison[]

/** Whether heads and compared blocks can be of the endpoint's network. */
export type Fits = (heads: readonly ShardHead[], compared: readonly ComparedBlock[]) => boolean

export interface PollRunDeps {
  readonly client: Pick<NodeClient, 'send' | 'tlsNotAfter'>
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'after'>
  readonly signal: CancelSignal
  readonly compare?: Compare | undefined
  readonly fits?: Fits | undefined
}

type HeadsRead = Pick<PollResult, 'heads' | 'compared'>
type LivenessOutcome = NonNullable<PollResult['liveness']>

function cutShort(failure: Failure): { readonly ok: false; readonly failure: Failure } {
  return fail(failure.kind === 'timeout' ? { ...failure, isCutShort: true } : failure)
}

/** Member by member: a spread is slow. */
function outcomeOf<T>(reading: Reading<T>, durationMs: number): Outcome<T> {
  return reading.ok
    ? { ok: true, value: reading.value, durationMs }
    : { ok: false, failure: reading.failure, durationMs }
}

const PATIENCE_MS = 100
/** Behind a balancer, the second read may reach another node than the first. */
const MAX_READS = 3
const NO_HEADS = { heads: [], compared: [] }
const NOTHING: readonly never[] = Object.freeze([])
