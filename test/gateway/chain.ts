import { createHash } from 'node:crypto'
import type { Head } from '../../src/core/poll-result.ts'
import type { Operation } from '../../src/core/routing/operation.ts'
import type { Provenance, Reply, UpstreamHandler, UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { Cancellation } from '../../src/gateway/upstream-request.ts'

/** What the tests of cache and coalescer share: a chain that reorganises, a node that serves it, and requests. */
export interface TrueChain {
  readonly height: number
  mine(blocks: number): void
  /** Its newest `depth` blocks become others, and so many more come after them. */
  reorg(depth: number, more?: number): void
  /** Its newest blocks never were. */
  rollback(blocks: number): void
  hashAt(height: number): string
  head(timestamp: number): Head
  /** The bytes of `result`, as a node sends them now. */
  block(height: number): string
  transaction(hash: string): string
  /** The one transaction of the block at this height. */
  transactionAt(height: number): string
}

const hex = (value: number) => `0x${value.toString(16)}`
const digest = (text: string) => createHash('sha256').update(text).digest('hex')

export function createTrueChain(height: number): TrueChain {
  let branch = 0
  /** On which branch each block is, from genesis on. */
  const branches = Array.from({ length: height + 1 }, () => 0)
  const hashAt = (at: number) => `0x${digest(`block ${at} on ${branches[at]}`)}`
  const transactionAt = (at: number) => `0x${digest(`transaction in ${at} on ${branches[at]}`)}`

  return {
    get height() {
      return branches.length - 1
    },
    mine(blocks) {
      for (let block = 0; block < blocks; block++) branches.push(branch)
    },
    reorg(depth, more = 0) {
      branches.length -= depth
      branch++
      for (let block = 0; block < depth + more; block++) branches.push(branch)
    },
    rollback(blocks) {
      branches.length -= blocks
      branch++
    },
    hashAt,
    transactionAt,
    head: (timestamp) => {
      const at = branches.length - 1
      return { height: at, hash: hashAt(at), parentHash: hashAt(at - 1), timestamp }
    },
    block(at) {
      if (at >= branches.length) return 'null'
      return `{"hash":"${hashAt(at)}","number":"${hex(at)}","transactions":["${transactionAt(at)}"]}`
    },
    transaction(hash) {
      for (let at = branches.length - 1; at >= 0; at--) {
        if (transactionAt(at) !== hash) continue
        return `{"blockHash":"${hashAt(at)}","blockNumber":"${hex(at)}","hash":"${hash}"}`
      }
      return 'null'
    },
  }
}

export const FROM_OWN: Provenance = { endpoint: 'own-1', attempts: 1, cache: 'none', degraded: false, nodeMs: 5 }

export const resultOf = (text: string, over: Partial<Provenance> = {}): Reply => ({
  kind: 'result',
  result: Buffer.from(text),
  ...FROM_OWN,
  ...over,
})

export interface Node extends UpstreamHandler {
  readonly asked: UpstreamRequest[]
}

/** Answers at once, from the chain as it is. */
export function nodeOn(chain: TrueChain): Node {
  const asked: UpstreamRequest[] = []
  return {
    asked,
    handle(question) {
      asked.push(question)
      const { name, need } = question.operation
      const [of] = JSON.parse(question.canonical) as [string]
      if (name === 'eth_getTransactionByHash') return Promise.resolve(resultOf(chain.transaction(of)))
      const height = need.kind === 'height' ? need.height : chain.height
      return Promise.resolve(resultOf(chain.block(height)))
    },
  }
}

export const read = (name: Operation['name'], need: Operation['need']): Operation => ({
  name,
  need,
  isRead: true,
  absenceIsDoubtful: false,
})

const QUESTION: UpstreamRequest = {
  network: 'ethereum',
  caller: 'wallet',
  operation: read('eth_chainId', { kind: 'any' }),
  canonical: '[]',
  to: { kind: 'rpc' },
  call: { id: '1', isNotification: false, method: 'eth_chainId', params: null },
  deadlineAt: Number.POSITIVE_INFINITY,
  signal: new Cancellation(),
}

export const question = (over: Partial<UpstreamRequest> = {}): UpstreamRequest => ({ ...QUESTION, ...over })

export function byNumber(height: number, over: Partial<UpstreamRequest> = {}): UpstreamRequest {
  const operation = read('eth_getBlockByNumber', { kind: 'height', shard: null, height })
  const canonical = `["${hex(height)}",false]`
  const call = { id: '1', isNotification: false, method: operation.name, params: canonical }
  return question({ operation, canonical, call, ...over })
}

export function byHash(hash: string): UpstreamRequest {
  const operation = read('eth_getTransactionByHash', { kind: 'hash', shard: null })
  return question({ operation, canonical: `["${hash}"]` })
}

export const latest = (over: Partial<UpstreamRequest> = {}): UpstreamRequest =>
  question({
    operation: read('eth_getBlockByNumber', { kind: 'latest', shard: null }),
    canonical: '["latest",false]',
    ...over,
  })

export function textOf(reply: Reply): string {
  switch (reply.kind) {
    case 'result':
      return reply.result.toString()
    case 'error':
      return reply.error.toString()
    case 'rest':
      return reply.body.toString()
    case 'rejected':
      return reply.rejection.kind
  }
}
