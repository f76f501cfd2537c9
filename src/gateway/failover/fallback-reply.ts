import type { NodeReply, Reply } from '../upstream-request.ts'
import type { Upstream } from './upstream.ts'

/** A node's answer that may be passed on. */
export interface FallbackReply {
  readonly reply: NodeReply
  readonly upstream: Upstream
  readonly degraded: boolean
  readonly nodeId: string | null
}

/** Member by member: what is spread at its end costs ten times as much to make, and there is one for every request. */
export function passOn({ reply, upstream, degraded, nodeId }: FallbackReply, attempts: number, nodeMs: number): Reply {
  const endpoint = upstream.name
  const cache = 'none'
  switch (reply.kind) {
    case 'result':
      return { kind: 'result', result: reply.result, endpoint, attempts, cache, degraded, nodeMs, nodeId }
    case 'error':
      return { kind: 'error', error: reply.error, endpoint, attempts, cache, degraded, nodeMs, nodeId }
    case 'rest': {
      const { status, body } = reply
      return { kind: 'rest', status, body, endpoint, attempts, cache, degraded, nodeMs, nodeId }
    }
  }
}
