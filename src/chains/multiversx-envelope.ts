import { isObject, parseJson } from '../core/json.ts'
import type { Shard } from '../core/network.ts'
import { RATE_LIMIT_CODES } from '../core/routing/retry-policy.ts'
import type { ChainTarget, NodeAnswer, NodeRequest, Reading } from './chain.ts'
import { fail, malformed, statusFailure } from './json-rpc.ts'
import { printable } from './parse.ts'

/** The `data` of the envelope `{ data, error, code }`. Its error is more precise than the HTTP status. */
export function readData(answer: NodeAnswer): Reading<unknown> {
  const failure = statusFailure(answer)
  if (failure !== null && failure.kind !== 'http') return fail(failure)
  const body = parseJson(answer.body)
  if (!isObject(body) || typeof body.code !== 'string') {
    if (failure !== null) return fail(failure)
    return body === undefined ? fail({ kind: 'not-json' }) : malformed('code is missing: not a MultiversX answer')
  }
  const { code, data, error } = body
  if (RATE_LIMIT_CODES.has(code)) return fail({ kind: 'rate-limited', retryAfterMs: answer.retryAfterMs })
  if (code === 'successful') return failure === null ? { ok: true, value: data } : fail(failure)
  return fail({
    kind: 'rpc',
    code: ERROR_CODES.has(code) ? code : 'unknown',
    message: typeof error === 'string' ? printable(error) : '',
  })
}

/** MultiversX's own error codes. Other codes are not shown, because they could be arbitrary text of the node. */
const ERROR_CODES: ReadonlySet<unknown> = new Set(['bad_request', 'internal_issue', 'unauthorized', 'forbidden'])

export function get(path: string): NodeRequest {
  return { method: 'GET', path, body: null }
}

export function shardPath({ kind }: ChainTarget, shard: Shard): string {
  return kind === 'proxy' ? `/${shard}` : ''
}
