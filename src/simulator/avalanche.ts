import { isObject } from '../core/json.ts'
import { type Answer, type Family, json, mediaType, type Request, type Situation, text } from './answer.ts'
import { badArgument, createAliases, upperFirst } from './avalanche-aliases.ts'
import { type Generation, type HealthReply, type HealthScope, healthReply } from './avalanche-health.ts'
import { digest } from './chain.ts'
import { createEvm } from './evm.ts'
import { answerEvm, type Call, failure, success } from './json-rpc.ts'

export interface AvalancheOptions {
  readonly family: 'avalanche'
  readonly generation?: Generation | undefined
  readonly adminEnabled?: boolean | undefined
  readonly chainId?: number | undefined
  readonly transactionsPerBlock?: number
  /** Interval of the node's own checks (`--health-check-frequency`, 30 s by default). */
  readonly checkEveryMs?: number | undefined
  /** Determines the `node-id`. */
  readonly nodeName: string
}

/** The C-Chain's blockchain id on mainnet. */
const C_CHAIN_ID = '2q9e4r6Mu3U68nU1fYjgbR6JvwrRx36CohpAX5UQxse55x1Q5'
const SCOPES: readonly HealthScope[] = ['health', 'readiness', 'liveness']

/** Simulates an avalanchego node: health, admin if enabled, aliases, and the C-Chain. */
export function createAvalanche(options: AvalancheOptions): Family {
  const { generation = 'new', adminEnabled = false, chainId = 43_114, checkEveryMs = 30_000, nodeName } = options
  const clientVersion = generation === 'new' ? 'v0.15.3' : 'v0.3.0'
  const transactionsPerBlock = options.transactionsPerBlock ?? 20
  const evm = createEvm({ flavour: 'avalanche', chainId, transactionsPerBlock, clientVersion })
  const aliases = createAliases({
    routes: ['health', 'info', 'bc/C', ...(adminEnabled ? ['admin'] : [])],
    chainId: C_CHAIN_ID,
  })
  const nodeId = { 'node-id': `NodeID-${base58(digest('node', nodeName)).slice(0, 33)}` }

  function route(request: Request, situation: Situation): Answer {
    // In avalanchego this header takes precedence over the path.
    const forced = request.headers['avalanche-api-route']
    const asked = typeof forced === 'string' && [C_CHAIN_ID, 'C'].includes(forced) ? '/ext/bc/C/rpc' : request.path
    if (!asked.startsWith('/ext/')) return text(404, '404 page not found')
    const path = aliases.resolve(asked.slice('/ext/'.length)).replace(`bc/${C_CHAIN_ID}`, 'bc/C')
    if (path === 'bc/C/rpc') {
      if (situation.faults.has('bootstrapping')) {
        return text(503, 'API call rejected because chain is not done bootstrapping')
      }
      return answerEvm(request, (method, params) => evm(method, params, situation), { emptyStatus: 200 })
    }
    if (path === 'admin' && adminEnabled) return service(request, aliases.call)
    const scope = path === 'health' ? 'health' : SCOPES.find((candidate) => path === `health/${candidate}`)
    if (scope === undefined || (generation === 'old' && path !== 'health')) return text(404, '404 page not found')
    const reply = (of: HealthScope) => healthReply(generation, of, checkEveryMs, situation)
    return request.method === 'GET' ? bare(reply(scope)) : service(request, healthCall(reply))
  }

  /** The response to GET, for load balancers: the status shows the health, and the reply has no JSON-RPC envelope. */
  function bare(reply: HealthReply): Answer {
    const status = reply.healthy ? 200 : 503
    return generation === 'old' ? { status, headers: {}, body: '' } : json(status, reply, 'application/json')
  }

  function healthCall(reply: (scope: HealthScope) => HealthReply): Call {
    return (method, params) => {
      const known =
        generation === 'old'
          ? method === 'health.getLiveness' && 'health'
          : SCOPES.find((scope) => method === `health.${scope}`)
      if (!known) return failure(-32000, `rpc: can't find method "${upperFirst(method)}"`)
      const fitting =
        params === undefined ||
        params === null ||
        isObject(params) ||
        (Array.isArray(params) && (params.length === 0 || isObject(params[0])))
      return fitting ? success(reply(known)) : badArgument()
    }
  }

  return (request, situation) => {
    const answer = route(request, situation)
    return { ...answer, headers: { ...answer.headers, ...nodeId } }
  }
}

/** JSON-RPC as in gorilla/rpc: no batches; a request without an id gets an empty body. */
function service({ method, headers, body }: Request, call: Call): Answer {
  if (method !== 'POST') return text(405, `rpc: POST method required, received ${method}`)
  if (mediaType(headers) !== 'application/json') {
    return text(415, `rpc: unrecognized Content-Type: ${headers['content-type'] ?? ''}`)
  }
  let parsed: unknown
  try {
    parsed = JSON.parse(body)
  } catch (error) {
    return problem(null, -32700, error instanceof Error ? error.message : 'invalid JSON')
  }
  if (!isObject(parsed)) {
    return problem(null, -32700, 'json: cannot unmarshal array into Go value of type json2.serverRequest')
  }
  const id = parsed.id ?? null
  if (id === null) return { status: 200, headers: {}, body: '' }
  if (parsed.jsonrpc !== '2.0') return problem(id, -32600, 'jsonrpc must be 2.0')
  if (typeof parsed.method !== 'string') return problem(id, -32000, 'rpc: service/method request ill-formed: ""')
  const outcome = call(parsed.method, parsed.params)
  return outcome.ok
    ? json(200, { jsonrpc: '2.0', result: outcome.result, id })
    : problem(id, outcome.code, outcome.message)
}

function problem(id: unknown, code: number, message: string): Answer {
  return json(200, { jsonrpc: '2.0', error: { code, message, data: null }, id })
}

function base58(hex: string): string {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  let rest = BigInt(`0x${hex}`)
  let out = ''
  for (; rest > 0n; rest /= 58n) out = alphabet.charAt(Number(rest % 58n)) + out
  return out
}
