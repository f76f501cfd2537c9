import { isObject, parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import type { Liveness } from '../core/poll-result.ts'
import type { Chain, ChainMemory, ChainTarget, Inquiry, NodeAnswer, Reading } from './chain.ts'
import { evmBlockHash, evmChainId, evmHead } from './ethereum.ts'
import { readHealthReply } from './health-reply.ts'
import { type Call, createCall, fail, isRefusal, isUnknownMethod, readEnvelope, statusFailure } from './json-rpc.ts'
import { isRefused, noteAnswer, noteRefusal, notOffered } from './questions.ts'

/** avalanchego: the health API for liveness, a chain's own JSON-RPC (usually the C-Chain's) for the head. */
export const avalanche: Chain = {
  family: 'avalanche',
  liveness: avalancheLiveness,
  consensus: null,
  chainId: evmChainId,
  head: evmHead,
  blockHash: evmBlockHash,
}

const HEALTH_PATH = '/ext/health'

const NOT_OFFERED: Reading<Liveness> = {
  ok: true,
  value: {
    healthy: true,
    checks: [notOffered(HEALTH_PATH)],
    heartbeatAt: null,
    report: { sync: null, peers: null, client: null, consensus: null },
  },
}

type LivenessMethod = NonNullable<ChainMemory['livenessMethod']>

/** Asks for the node's health. Providers, and nodes with `api-health-enabled: false`, do not offer it. */
function* avalancheLiveness(_target: ChainTarget, _shard: Shard, memory: ChainMemory, now: number): Inquiry<Liveness> {
  if (isRefused(memory, HEALTH_PATH, now)) return NOT_OFFERED
  const reading = yield* askEither(memory)
  if (reading.ok) noteAnswer(memory, HEALTH_PATH, now)
  if (reading.ok || !isRefusal(reading.failure)) return reading
  noteRefusal(memory, HEALTH_PATH, now)
  return NOT_OFFERED
}

/** Calls the method that this node is known to support (at first the old one), and the other one if it is unknown. */
function* askEither(memory: ChainMemory): Inquiry<Liveness> {
  const first = memory.livenessMethod ?? 'health.getLiveness'
  const reading = yield* askHealth(first, memory)
  if (reading.ok || !isUnknownMethod(reading.failure)) {
    memory.livenessMethod = first
    return reading
  }
  const second = first === 'health.health' ? 'health.getLiveness' : 'health.health'
  const other = yield* askHealth(second, memory)
  memory.livenessMethod = other.ok || !isUnknownMethod(other.failure) ? second : null
  return other
}

function* askHealth(method: LivenessMethod, memory: ChainMemory): Inquiry<Liveness> {
  const call = createCall(HEALTH_PATH, method, [], memory)
  const answer = yield call.request
  if (!answer.ok) return answer
  const reply = readReply(answer.value, call)
  return reply.ok ? readHealthReply(reply.value, answer.value) : reply
}

/**
 * Reads the health reply. An unhealthy node responds with HTTP 503 and a full reply; to a GET (which a proxy may make
 * of our POST), it omits the JSON-RPC envelope. So a readable body takes precedence over the status.
 */
function readReply(answer: NodeAnswer, call: Call): Reading<unknown> {
  const failure = statusFailure(answer)
  if (failure !== null && answer.status !== 503) return fail(failure)
  const body = parseJson(answer.body)
  if (isObject(body) && typeof body.healthy === 'boolean' && body.result === undefined) return { ok: true, value: body }
  const reading = readEnvelope(body, answer, call)
  return reading.ok || failure === null ? reading : fail(failure)
}
