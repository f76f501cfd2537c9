import type { Failure } from '../core/failure.ts'
import type { NodeAnswer } from './chain.ts'

/** What the HTTP status alone says against an answer; `null` where the body decides. */
export function statusFailure({ status, retryAfterMs }: NodeAnswer): Failure | null {
  if (status >= 200 && status < 300) return null
  if (status === 429) return { kind: 'rate-limited', retryAfterMs }
  if (status >= 300 && status < 400) return { kind: 'redirect', status }
  return { kind: 'http', status }
}
