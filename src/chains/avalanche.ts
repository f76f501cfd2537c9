import type { Liveness } from '../core/poll-result.ts'
import type { Chain, ChainMemory, ChainTarget, Conversation, NodeAnswer, Reading } from './chain.ts'
import { evmBlockHash, evmHead } from './ethereum.ts'
import { readHealthReply } from './health-reply.ts'
import { isObject, parseJson } from './json.ts'
import { type Call, createCall, fail, isUnknownMethod, readEnvelope } from './json-rpc.ts'
import { statusFailure } from './status.ts'

/** avalanchego: the health API for liveness, a chain's own JSON-RPC (the C-Chain's, as a rule) for the head. */
export const avalanche: Chain = {
  family: 'avalanche',
  liveness: avalancheLiveness,
  head: evmHead,
  blockHash: evmBlockHash,
}

const HEALTH_PATH = '/ext/health'

type LivenessMethod = NonNullable<ChainMemory['livenessMethod']>

/** Asks with the method that this node is known to know, else with the old one first; what is unknown to it sends us to the other. */
function* avalancheLiveness(_target: ChainTarget, memory: ChainMemory): Conversation<Liveness> {
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

function* askHealth(method: LivenessMethod, memory: ChainMemory): Conversation<Liveness> {
  const call = createCall(HEALTH_PATH, method, [], memory)
  const answer = yield call.request
  const reply = readReply(answer, call)
  return reply.ok ? readHealthReply(reply.value, answer) : reply
}

/**
 * The health reply of an answer. A sick node says so with HTTP 503 and a whole reply, which a GET (and a proxy that makes one
 * of our POST) sends without the JSON-RPC envelope: a body that can be read decides, not the status.
 */
function readReply(answer: NodeAnswer, call: Call): Reading<unknown> {
  const refused = statusFailure(answer)
  if (refused !== null && answer.status !== 503) return fail(refused)
  const body = parseJson(answer.body)
  if (isObject(body) && typeof body.healthy === 'boolean' && body.result === undefined) return { ok: true, value: body }
  const reading = readEnvelope(body, answer, call)
  return reading.ok || refused === null ? reading : fail(refused)
}
