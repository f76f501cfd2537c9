import { describeFailure, type Failure } from '../core/failure.ts'
import type { NodeCheck, NodeClient } from '../core/poll-result.ts'
import type { ChainMemory, NodeAnswer, NodeRequest, Reading } from './chain.ts'
import { isRefusal } from './json-rpc.ts'

/**
 * Asks one question about a node's own state, and adds a check. A check is healthy if it was answered; `markUnhealthy` is
 * for bad news.
 */
export function* ask<T>(
  { name, ask }: Question<T>,
  { memory, now, checks }: Questionnaire,
): Generator<NodeRequest, Answer<T>, Reading<NodeAnswer>> {
  if (isRefused(memory, name, now)) {
    checks.push(notOffered(name))
    return NOT_OFFERED
  }
  const { request, read } = ask()
  const answer = yield request
  const reading = answer.ok ? read(answer.value) : answer
  const checkedAt = answer.ok ? answer.value.receivedAt : null
  if (reading.ok) {
    noteAnswer(memory, name, now)
    checks.push(newCheck(name, null, checkedAt))
    return { kind: 'told', value: reading.value }
  }
  const { failure } = reading
  if (answer.ok && isRefusal(failure)) {
    noteRefusal(memory, name, now)
    checks.push(notOffered(name))
    return NOT_OFFERED
  }
  // A node that takes its time for each question has not failed the one for which none was left.
  if (!isCutShort(failure)) checks.push(newCheck(name, describeFailure(failure), checkedAt))
  return { kind: 'failed', failure, isAnswered: answer.ok }
}

/** Asks once an hour which client the node runs; no check, because any client may be healthy. */
export function* askClient(
  question: Question<NodeClient>,
  { memory, now }: Questionnaire,
): Generator<NodeRequest, NodeClient | null, Reading<NodeAnswer>> {
  const { client } = memory
  if (client !== null && now - client.askedAt < ASK_AGAIN_MS) return client.value
  const answer = yield* ask(question, { memory, now, checks: [] })
  const known = client?.value ?? null
  // The next poll asks again.
  if (answer.kind === 'failed' && endingFailure(answer, 'first') !== null) return known
  memory.client = { value: answer.kind === 'failed' ? known : valueOf(answer), askedAt: now }
  return memory.client.value
}

export interface Question<T> {
  /** Shown to people: a method or a path. */
  readonly name: string
  readonly ask: () => { readonly request: NodeRequest; readonly read: (answer: NodeAnswer) => Reading<T> }
}

export interface Questionnaire {
  readonly memory: ChainMemory
  /** In monotonic time. */
  readonly now: number
  readonly checks: NodeCheck[]
}

export type Answer<T> =
  | { readonly kind: 'told'; readonly value: T }
  | { readonly kind: 'not-offered' }
  /** `isAnswered`: a response arrived, but not the one that was asked for. */
  | { readonly kind: 'failed'; readonly failure: Failure; readonly isAnswered: boolean }

/** The failure that ends the check: no response to the first question, or one that says nothing about the node. */
export function endingFailure(answer: Answer<unknown>, position: 'first' | 'later'): Failure | null {
  if (answer.kind !== 'failed') return null
  const { failure, isAnswered } = answer
  const saysNothing = failure.kind === 'rate-limited' || failure.kind === 'local-resources'
  return saysNothing || (position === 'first' && !isAnswered) ? failure : null
}

export function isCutShort(failure: Failure): boolean {
  return failure.kind === 'timeout' && failure.isCutShort === true
}

export function valueOf<T>(answer: Answer<T>): T | null {
  return answer.kind === 'told' ? answer.value : null
}

/** `null` unless the question was asked and not answered. */
export function failedAs<Member extends string>(
  member: Member,
  { kind }: Answer<unknown>,
): Record<Member, true> | null {
  return kind === 'failed' ? ({ [member]: true } as Record<Member, true>) : null
}

/** The answer to the latest question was bad news. */
export function markUnhealthy(checks: NodeCheck[]): void {
  const latest = checks.pop()
  if (latest !== undefined) checks.push({ ...latest, healthy: false })
}

/** Whether the node is known not to offer this: it gets the request again after an hour. */
export function isRefused({ refusals }: ChainMemory, name: string, now: number): boolean {
  const refusedAt = refusals?.get(name)
  return refusedAt !== undefined && now - refusedAt < ASK_AGAIN_MS
}

/** A node that starts refuses for a while what it offers: after an answer, refusals of some minutes mean nothing. */
export function noteRefusal(memory: ChainMemory, name: string, now: number): void {
  const answeredAt = memory.answers?.[name]
  if (answeredAt !== undefined && now - answeredAt < STARTS_WITHIN_MS) return
  memory.refusals ??= new Map()
  memory.refusals.set(name, now)
}

export function noteAnswer(memory: ChainMemory, name: string, now: number): void {
  memory.refusals?.delete(name)
  memory.answers ??= {}
  memory.answers[name] = now
}

export const ASK_AGAIN_MS = 3_600_000
const STARTS_WITHIN_MS = 600_000

const NOT_OFFERED = { kind: 'not-offered' } as const

function newCheck(name: string, error: string | null, checkedAt: number | null): NodeCheck {
  const healthy = error === null
  return { name, healthy, error, contiguousFailures: 0, failingSince: null, checkedAt, durationMs: null }
}

export function notOffered(name: string): NodeCheck {
  return { ...newCheck(name, null, null), offered: false }
}
