import { describeFailure, type Failure, isWithoutRoute } from '../core/failure.ts'
import { isObject, type JsonObject, parseJson } from '../core/json.ts'
import {
  CONSENSUS_HEALTH,
  type ConsensusReport,
  type Liveness,
  type LivenessOutcome,
  type NodeCheck,
  type NodeClient,
  type Outcome,
} from '../core/poll-result.ts'
import type { ChainMemory, ConsensusAnswer, Inquiry, NodeAnswer, NodeRequest, Reading } from './chain.ts'
import { fail, malformed, statusFailure } from './json-rpc.ts'
import {
  type Answer,
  ask,
  endingFailure,
  failedAs,
  isCutShort,
  markUnhealthy,
  type Question,
  type Questionnaire,
  valueOf,
} from './questions.ts'

/** Asks a consensus node for its health, synchronization and peers, by Ethereum's Beacon API. */
export function* beaconConsensus(memory: ChainMemory, now: number): Inquiry<ConsensusAnswer> {
  const checks: NodeCheck[] = []
  const questionnaire = { memory, now, checks }
  const health = yield* askGently(ofPath(CONSENSUS_HEALTH, readHealth), questionnaire)
  const downReason = reasonOfDown(health)
  if (downReason !== null) return { ok: true, value: { report: down(downReason), checks } }
  // Perhaps our own network: nothing is known of the node, and it gets no other request.
  if (health.kind === 'failed' && isWithoutRoute(health.failure))
    return { ok: true, value: { report: unreached(describeFailure(health.failure)), checks } }
  if (valueOf(health) === 'syncing') markUnhealthy(checks)
  const sync = yield* askGently(ofPath('/eth/v1/node/syncing', readSync), questionnaire)
  // Without health, this is the first request.
  const lost = health.kind === 'not-offered' ? reasonOfDown(sync) : null
  if (lost !== null) return { ok: true, value: { report: down(lost), checks } }
  const syncState = stateOf(null, valueOf(sync))
  if (syncState !== 'synced' && syncState !== null) markUnhealthy(checks)
  const peers = yield* askGently(ofPath('/eth/v1/node/peer_count', readPeers), questionnaire)
  for (const answer of [health, sync, peers]) {
    const failure = endingFailure(answer, 'later')
    if (failure?.kind === 'local-resources') return fail(failure)
  }
  const state = stateOf(valueOf(health), valueOf(sync))
  const remainingSlots = valueOf(sync)?.remainingSlots ?? null
  const report: ConsensusReport = {
    state,
    reason: null,
    remainingSlots,
    peers: valueOf(peers),
    ...failedAs('syncFailed', sync),
    // A rate limit of the synchronization leaves the peers unasked.
    ...(state !== null && now < memory.consensusRestsUntil ? { peersFailed: true } : failedAs('peersFailed', peers)),
  }
  const isLimited = state === null && now <= memory.consensusRestsUntil
  return { ok: true, value: { report: isLimited ? { ...report, isLimited } : report, checks } }
}

function ofPath<T>(path: string, read: (answer: NodeAnswer) => Reading<T>): Question<T> {
  return { name: path, ask: () => ({ request: { method: 'GET', path, body: null }, read }) }
}

/** A rate limit says nothing about the node: it is no failed check, and ends all requests for as long as it asks. */
function* askGently<T>(
  question: Question<T>,
  questionnaire: Questionnaire,
): Generator<NodeRequest, Answer<T>, Reading<NodeAnswer>> {
  const { memory, now, checks } = questionnaire
  if (now < memory.consensusRestsUntil) return { kind: 'not-offered' }
  const answer = yield* ask(question, questionnaire)
  if (answer.kind !== 'failed' || answer.failure.kind !== 'rate-limited') return answer
  checks.pop()
  memory.consensusRestsUntil = now + (answer.failure.retryAfterMs ?? 0)
  return answer
}

/** The status is the whole answer: 206 while syncing, 503 if the node is not initialized or has issues. */
function readHealth(answer: NodeAnswer): Reading<'synced' | 'syncing'> {
  if (answer.status === 206) return { ok: true, value: 'syncing' }
  const failure = statusFailure(answer)
  return failure === null ? { ok: true, value: 'synced' } : fail(failure)
}

interface Sync {
  readonly isSyncing: boolean
  readonly isOptimistic: boolean
  readonly isElOffline: boolean
  readonly remainingSlots: number | null
}

function readSync(answer: NodeAnswer): Reading<Sync> {
  const data = readData(answer)
  if (!data.ok) return data
  const {
    is_syncing: isSyncing,
    is_optimistic: isOptimistic,
    el_offline: isElOffline,
    sync_distance: distance,
  } = data.value
  if (typeof isSyncing !== 'boolean') return malformed('data.is_syncing is neither true nor false')
  return {
    ok: true,
    value: {
      isSyncing,
      // Absent in the API before the merge (v2.3) and before v2.4.
      isOptimistic: isOptimistic === true,
      isElOffline: isElOffline === true,
      remainingSlots: readUint64(distance),
    },
  }
}

function readPeers(answer: NodeAnswer): Reading<number> {
  const data = readData(answer)
  if (!data.ok) return data
  const peers = readUint64(data.value.connected)
  return peers === null ? malformed('data.connected is not a count') : { ok: true, value: peers }
}

function readData(answer: NodeAnswer): Reading<JsonObject> {
  const failure = statusFailure(answer)
  if (failure !== null) return fail(failure)
  const body = parseJson(answer.body)
  if (body === undefined) return fail({ kind: 'not-json' })
  return isObject(body) && isObject(body.data) ? { ok: true, value: body.data } : malformed('data is not an object')
}

const UINT64 = /^\d{1,16}$/

/** The Beacon API writes numbers as decimal texts. */
function readUint64(value: unknown): number | null {
  const number = typeof value === 'string' && UINT64.test(value) ? Number(value) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : null
}

/** Why the consensus node does not work; `null` if it does, or if the answer does not say so. */
function reasonOfDown(answer: Answer<unknown>): string | null {
  if (answer.kind !== 'failed' || !isDown(answer.failure)) return null
  return answer.failure.kind === 'http' && answer.failure.status === 503
    ? 'it is not initialized or has issues (HTTP 503)'
    : describeFailure(answer.failure)
}

function isDown(failure: Failure): boolean {
  if (failure.kind === 'rate-limited' || failure.kind === 'local-resources') return false
  if (isWithoutRoute(failure) || isCutShort(failure)) return false
  return failure.kind !== 'http' || failure.status >= 500
}

function unreached(reason: string): ConsensusReport {
  return { state: 'unreached', reason, remainingSlots: null, peers: null }
}

function down(reason: string): ConsensusReport {
  return { state: 'down', reason, remainingSlots: null, peers: null }
}

function stateOf(health: 'synced' | 'syncing' | null, sync: Sync | null): ConsensusReport['state'] {
  if (sync?.isElOffline === true) return 'without-execution'
  if (sync?.isSyncing === true) return 'syncing'
  if (sync?.isOptimistic === true) return 'optimistic'
  return health ?? (sync === null ? null : 'synced')
}

/**
 * Adds what the consensus node told. If it is bad news, it outweighs a rate limit, which says nothing about the nodes. Its
 * time is not the node's: no caller waits for it.
 */
export function withConsensus(
  outcome: Outcome<Liveness>,
  consensus: Outcome<ConsensusAnswer>,
  client: NodeClient | null,
): LivenessOutcome {
  if (!outcome.ok) {
    if (!consensus.ok) return outcome
    const { checks, report } = consensus.value
    const told = { healthy: false, checks, heartbeatAt: null, report: { ...UNTOLD, client, consensus: report } }
    if (outcome.failure.kind !== 'rate-limited' || !isBadNews(report)) return { ...outcome, told }
    return { ok: true, value: told, durationMs: outcome.durationMs }
  }
  if (!consensus.ok) return consensus
  const { report, checks, healthy } = outcome.value
  const { value: answer } = consensus
  if (report === undefined) return outcome
  return {
    ok: true,
    value: {
      ...outcome.value,
      healthy: healthy && answer.checks.every((check) => check.healthy),
      checks: checks.concat(answer.checks),
      report: { ...report, consensus: answer.report },
    },
    durationMs: outcome.durationMs,
  }
}

function isBadNews({ state }: ConsensusReport): boolean {
  return state !== null && state !== 'synced' && state !== 'unreached'
}

const UNTOLD = { sync: null, peers: null }
