import { humanDuration } from './time.ts'

/** The closed set of ways in which a check, or a forwarded call, fails. Values, never exceptions. */
export type Failure =
  /** The whole deadline of the check passed. */
  | { readonly kind: 'timeout'; readonly afterMs: number }
  | { readonly kind: 'dns'; readonly code: string }
  | { readonly kind: 'refused' }
  /** No route to the host or its network. */
  | { readonly kind: 'unroutable' }
  /** The connection was closed or reset before one byte of the answer arrived. */
  | { readonly kind: 'reset' }
  /** The connection was closed or reset within the answer. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'tls'; readonly problem: TlsProblem }
  /** Our own process is out of file descriptors, ports or memory: never the node's fault. */
  | { readonly kind: 'local-resources'; readonly code: string }
  /** The answer is not HTTP. */
  | { readonly kind: 'not-http' }
  | { readonly kind: 'headers-too-large' }
  | { readonly kind: 'too-large'; readonly limitBytes: number }
  /** Redirects are never followed. */
  | { readonly kind: 'redirect'; readonly status: number }
  | { readonly kind: 'http'; readonly status: number }
  | { readonly kind: 'rate-limited'; readonly retryAfterMs: number | null }
  /** The answer is compressed in a way that cannot be undone, though identity was asked for. */
  | { readonly kind: 'bad-encoding' }
  | { readonly kind: 'not-json' }
  | { readonly kind: 'too-deep'; readonly limit: number }
  /** A JSON-RPC error, or a REST envelope that says that it failed. The message is the node's: private. */
  | { readonly kind: 'rpc'; readonly code: number | string; readonly message: string }
  /** The JSON-RPC answer carries another id than the request. */
  | { readonly kind: 'wrong-id' }
  /** Valid JSON of the wrong shape; `what` is ours, and names the member, never its value. */
  | { readonly kind: 'malformed'; readonly what: string }
  | { readonly kind: 'wrong-network'; readonly expected: number; readonly actual: string }

export type TlsProblem = 'expired' | 'wrong-host' | 'untrusted' | 'protocol'
export type FailureKind = Failure['kind']

/** Every kind, for the `reason` label of `heartline_check_failures_total`. */
export const FAILURE_KINDS = [
  'timeout',
  'dns',
  'refused',
  'unroutable',
  'reset',
  'truncated',
  'tls',
  'local-resources',
  'not-http',
  'headers-too-large',
  'too-large',
  'redirect',
  'http',
  'rate-limited',
  'bad-encoding',
  'not-json',
  'too-deep',
  'rpc',
  'wrong-id',
  'malformed',
  'wrong-network',
] as const satisfies readonly FailureKind[]

const TLS_SENTENCES: Record<TlsProblem, string> = {
  expired: 'its TLS certificate has expired or is not yet valid',
  'wrong-host': 'its TLS certificate is for another host',
  untrusted: 'its TLS certificate is not signed by a trusted authority',
  protocol: 'the TLS handshake failed',
}

/** The one place where a failure becomes a sentence. It holds no URL, no header and no text of the node's. */
export function describeFailure(failure: Failure): string {
  switch (failure.kind) {
    case 'timeout':
      return `no complete answer within ${humanDuration(failure.afterMs)}`
    case 'dns':
      return `its host name could not be resolved (${failure.code})`
    case 'refused':
      return 'connection refused'
    case 'unroutable':
      return 'no route to the host'
    case 'reset':
      return 'the connection was closed before any answer'
    case 'truncated':
      return 'the connection was closed in the middle of the answer'
    case 'tls':
      return TLS_SENTENCES[failure.problem]
    case 'local-resources':
      return `not asked: this machine is out of resources (${failure.code})`
    case 'not-http':
      return 'the answer is not HTTP'
    case 'headers-too-large':
      return 'the headers of the answer are too large'
    case 'too-large':
      return `the answer is larger than ${failure.limitBytes} bytes`
    case 'redirect':
      return `answered with a redirect (HTTP ${failure.status}), which is not followed`
    case 'http':
      return `answered HTTP ${failure.status}`
    case 'rate-limited':
      return failure.retryAfterMs === null
        ? 'the node limits our rate'
        : `the node limits our rate, and asks us to wait ${humanDuration(failure.retryAfterMs)}`
    case 'bad-encoding':
      return 'the answer is compressed in a way that cannot be undone'
    case 'not-json':
      return 'the answer is not JSON'
    case 'too-deep':
      return `the answer nests deeper than ${failure.limit} levels`
    case 'rpc':
      return `answered with error ${failure.code}`
    case 'wrong-id':
      return 'the answer belongs to another request (wrong id)'
    case 'malformed':
      return `the answer is malformed: ${failure.what}`
    case 'wrong-network':
      return `serves chain id ${failure.actual} instead of ${failure.expected}`
  }
}
