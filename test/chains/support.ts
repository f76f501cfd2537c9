import { readFileSync } from 'node:fs'
import {
  type ChainTarget,
  type Conversation,
  type Inquiry,
  type NodeAnswer,
  type NodeRequest,
  type Reading,
} from '../../src/chains/chain.ts'
import type { Failure } from '../../src/core/failure.ts'

export const NOW = Date.parse('2025-11-22T13:13:33.000Z')

export const TARGET: ChainTarget = { rpcPath: '/', kind: 'proxy', chainId: null }

/** An answer recorded from a node, as text. */
export function recorded(name: string): string {
  return readFileSync(new URL(`../answers/${name}.json`, import.meta.url), 'utf8')
}

export interface Scripted extends Partial<Omit<NodeAnswer, 'body'>> {
  /** What is no text is sent as JSON. The id `1` of a recorded answer becomes the request's, unless `keepId`. */
  readonly body: unknown
  readonly keepId?: boolean
}

export interface Talk<T> {
  readonly reading: Reading<T>
  readonly requests: readonly NodeRequest[]
}

/** Holds a conversation with a node that answers as scripted, one after the other. */
export function talk<T>(conversation: Conversation<T>, script: readonly Scripted[]): Talk<T> {
  const requests: NodeRequest[] = []
  const answers = [...script]
  let step = conversation.next()
  while (!step.done) {
    requests.push(step.value)
    const next = answers.shift()
    if (next === undefined) throw new Error(`no answer left for ${step.value.method} ${step.value.path}`)
    step = conversation.next(answerTo(step.value, next))
  }
  if (answers.length > 0) throw new Error(`${answers.length} answers were not asked for`)
  return { reading: step.value, requests }
}

/** Holds a check of several questions; a scripted failure is a request that got no response. */
export function inquire<T>(inquiry: Inquiry<T>, script: readonly (Scripted | Failure)[]): Talk<T> {
  const requests: NodeRequest[] = []
  const answers = [...script]
  let step = inquiry.next()
  while (!step.done) {
    requests.push(step.value)
    const next = answers.shift()
    if (next === undefined) throw new Error(`no answer left for ${step.value.method} ${step.value.path}`)
    step = inquiry.next('kind' in next ? { ok: false, failure: next } : { ok: true, value: answerTo(step.value, next) })
  }
  if (answers.length > 0) throw new Error(`${answers.length} answers were not asked for`)
  return { reading: step.value, requests }
}

function answerTo(request: NodeRequest, { body, keepId = false, ...over }: Scripted): NodeAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const id = request.body === null ? null : (JSON.parse(request.body) as { id: number }).id
  const whole = keepId || id === null ? text : text.replace(/^(\s*\{\s*"jsonrpc":\s*"2\.0",\s*"id":\s*)1\b/, `$1${id}`)
  return { status: 200, receivedAt: NOW, date: null, retryAfterMs: null, ...over, body: Buffer.from(whole) }
}

export function failureOf<T>({ reading }: Talk<T>): unknown {
  return reading.ok ? 'no failure' : reading.failure
}

export function valueOf<T>({ reading }: Talk<T>): T {
  if (!reading.ok) throw new Error(`failed: ${JSON.stringify(reading.failure)}`)
  return reading.value
}

export function methodOf(request: NodeRequest | undefined): unknown {
  return request?.body === null || request === undefined ? null : JSON.parse(request.body).method
}
