import { RATE_LIMIT_CODES } from '../core/routing/retry-policy.ts'
import type { NodeAnswer, Reading } from './chain.ts'
import { isObject, parseJson, printable } from './json.ts'
import { fail, malformed } from './json-rpc.ts'
import { statusFailure } from './status.ts'

/** Codes of MultiversX's own; any other would put the node's text into our sentences. */
const CODES: ReadonlySet<unknown> = new Set(['bad_request', 'internal_issue', 'unauthorized', 'forbidden'])

/** The `data` of MultiversX's envelope `{ data, error, code }`; an envelope that says that it failed says more than its HTTP status. */
export function readData(answer: NodeAnswer): Reading<unknown> {
  const refused = statusFailure(answer)
  if (refused !== null && refused.kind !== 'http') return fail(refused)
  const body = parseJson(answer.body)
  if (!isObject(body) || typeof body.code !== 'string') {
    if (refused !== null) return fail(refused)
    return body === undefined ? fail({ kind: 'not-json' }) : malformed('code is missing: no MultiversX answer')
  }
  const { code, data, error } = body
  if (RATE_LIMIT_CODES.has(code)) return fail({ kind: 'rate-limited', retryAfterMs: answer.retryAfterMs })
  if (code === 'successful' && refused === null) return { ok: true, value: data }
  if (code === 'successful') return fail(refused ?? { kind: 'http', status: answer.status })
  return fail({
    kind: 'rpc',
    code: CODES.has(code) ? code : 'unknown',
    message: typeof error === 'string' ? printable(error) : '',
  })
}
