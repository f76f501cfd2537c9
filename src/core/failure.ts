import { humanDuration } from './time.ts'

/** All ways in which a check or a forwarded call fails. Failures are values, never exceptions. */
export type Failure =
  /** The whole deadline of the check passed. `isCutShort`: earlier requests of the check had used most of it. */
  | { readonly kind: 'timeout'; readonly afterMs: number; readonly isCutShort?: true }
  | { readonly kind: 'dns'; readonly code: string }
  | { readonly kind: 'refused' }
  /** `code`: of the operating system, for an unreachable host or network. */
  | { readonly kind: 'unroutable'; readonly code: string }
  /** The connection was closed or reset before the first byte of the answer. */
  | { readonly kind: 'reset' }
  /** The connection was closed or reset within the answer. */
  | { readonly kind: 'truncated' }
  | { readonly kind: 'tls'; readonly problem: TlsProblem }
  /** Our own process is out of file descriptors, ports or memory: never the node's fault. */
  | { readonly kind: 'local-resources'; readonly code: string }
  | { readonly kind: 'not-http' }
  | { readonly kind: 'headers-too-large' }
  | { readonly kind: 'too-large'; readonly limitBytes: number }
  /** Redirects are never followed. */
  | { readonly kind: 'redirect'; readonly status: number }
  | { readonly kind: 'http'; readonly status: number }
  /** `retryAfterMs`: at most an hour. */
  | { readonly kind: 'rate-limited'; readonly retryAfterMs: number | null }
  /** The content encoding cannot be decoded, although identity was requested. */
  | { readonly kind: 'bad-encoding' }
  | { readonly kind: 'not-json' }
  | { readonly kind: 'too-deep'; readonly limit: number }
  /** A JSON-RPC error, or a REST envelope that reports an error. The message comes from the node and is private. */
  | { readonly kind: 'rpc'; readonly code: number | string; readonly message: string }
  | { readonly kind: 'wrong-id' }
  /** Valid JSON of the wrong shape. `what` is our own text: it names the member, never its value. */
  | { readonly kind: 'malformed'; readonly what: string }
  | { readonly kind: 'wrong-network'; readonly expected: number; readonly actual: string }

export type TlsProblem = 'expired' | 'wrong-host' | 'untrusted' | 'protocol'
export type FailureKind = Failure['kind']

/** All properties of a kind of failure. */
interface FailureTraits<F> {
  /** The number in the store. Never reuse the number of a removed kind. */
  readonly storedAs: number
  /** The condition that a failed poll causes; `null` if the failure says nothing about the node. */
  readonly condition: 'unreachable' | 'bad-answer' | 'wrong-network' | 'rate-limited' | null
  /** Whether the host was reached; `dns`: its name was not resolved. */
  readonly reached: 'yes' | 'no' | 'dns'
  /** The outcome of a forwarded attempt, in the gateway's metrics. */
  readonly attempt: 'timeout' | 'connection' | 'local' | 'http-status' | 'rate-limited' | 'bad-answer'
  /** Whether the circuit breaker counts it against the endpoint. */
  readonly isFault: boolean | ((failure: F) => boolean)
  /** Whether a read that fails like this is retried on another endpoint. */
  readonly isRetryable: boolean
  /** For people. Contains no URL, no header and no text from the node. */
  readonly sentence: string | ((failure: F) => string)
}

const UNREACHABLE = {
  condition: 'unreachable',
  reached: 'no',
  attempt: 'connection',
  isFault: true,
  isRetryable: true,
} as const
const BAD_ANSWER = {
  condition: 'bad-answer',
  reached: 'yes',
  attempt: 'bad-answer',
  isFault: true,
  isRetryable: true,
} as const

const TLS_SENTENCES: Record<TlsProblem, string> = {
  expired: 'its TLS certificate has expired or is not yet valid',
  'wrong-host': 'its TLS certificate is for another host',
  untrusted: 'its TLS certificate is not signed by a trusted authority',
  protocol: 'the TLS handshake failed',
}

/** A new kind of failure is a new row. */
export const FAILURES: { readonly [K in FailureKind]: FailureTraits<Failure & { kind: K }> } = {
  timeout: {
    ...UNREACHABLE,
    storedAs: 1,
    attempt: 'timeout',
    sentence: ({ afterMs }) => `no complete answer within ${humanDuration(afterMs)}`,
  },
  dns: {
    ...UNREACHABLE,
    storedAs: 2,
    reached: 'dns',
    sentence: ({ code }) => `its host name could not be resolved (${code})`,
  },
  refused: { ...UNREACHABLE, storedAs: 3, sentence: 'connection refused' },
  unroutable: { ...UNREACHABLE, storedAs: 4, sentence: 'no route to the host' },
  reset: { ...UNREACHABLE, storedAs: 5, sentence: 'the connection was closed before any answer' },
  truncated: {
    ...BAD_ANSWER,
    storedAs: 6,
    attempt: 'connection',
    sentence: 'the connection was closed in the middle of the answer',
  },
  tls: { ...UNREACHABLE, storedAs: 7, sentence: ({ problem }) => TLS_SENTENCES[problem] },
  'local-resources': {
    storedAs: 8,
    condition: null,
    reached: 'no',
    attempt: 'local',
    isFault: false,
    isRetryable: true,
    sentence: ({ code }) => `not polled: this machine is out of resources (${code})`,
  },
  'not-http': { ...BAD_ANSWER, storedAs: 9, sentence: 'the answer is not HTTP' },
  'headers-too-large': {
    ...BAD_ANSWER,
    storedAs: 10,
    sentence: 'the headers of the answer are too large, or its chunks too small',
  },
  'too-large': {
    ...BAD_ANSWER,
    storedAs: 11,
    isFault: false,
    // Another node would send as much.
    isRetryable: false,
    sentence: ({ limitBytes }) => `the answer is larger than ${limitBytes} bytes`,
  },
  redirect: {
    ...BAD_ANSWER,
    storedAs: 12,
    attempt: 'http-status',
    sentence: ({ status }) => `answered with a redirect (HTTP ${status}), which is not followed`,
  },
  http: {
    ...BAD_ANSWER,
    storedAs: 13,
    attempt: 'http-status',
    // Other 4xx statuses are caused by the request or its size.
    isFault: ({ status }) => status >= 500 || status === 401 || status === 403 || status === 404,
    sentence: ({ status }) => `answered HTTP ${status}`,
  },
  'rate-limited': {
    storedAs: 14,
    condition: 'rate-limited',
    reached: 'yes',
    attempt: 'rate-limited',
    isFault: false,
    isRetryable: true,
    sentence: ({ retryAfterMs }) =>
      `the node limits our request rate${retryAfterMs === null ? '' : `: retry after ${humanDuration(retryAfterMs)}`}`,
  },
  'bad-encoding': { ...BAD_ANSWER, storedAs: 15, sentence: 'the content encoding of the answer cannot be decoded' },
  'not-json': { ...BAD_ANSWER, storedAs: 16, sentence: 'the answer is not JSON' },
  'too-deep': {
    ...BAD_ANSWER,
    storedAs: 17,
    sentence: ({ limit }) => `the answer is nested deeper than ${limit} levels`,
  },
  rpc: { ...BAD_ANSWER, storedAs: 18, isFault: false, sentence: ({ code }) => `answered with error ${code}` },
  'wrong-id': { ...BAD_ANSWER, storedAs: 19, sentence: 'the answer belongs to another request (wrong id)' },
  malformed: { ...BAD_ANSWER, storedAs: 20, sentence: ({ what }) => `the answer is malformed: ${what}` },
  'wrong-network': {
    ...BAD_ANSWER,
    storedAs: 21,
    condition: 'wrong-network',
    sentence: ({ expected, actual }) => `serves chain id ${actual} instead of ${expected}`,
  },
}

/** Values of the `reason` label of `heartline_check_failures_total`. */
export const FAILURE_KINDS = Object.keys(FAILURES) as readonly FailureKind[]

/** The only place where a failure becomes a sentence. */
export function describeFailure(failure: Failure): string {
  const { sentence } = traitsOf(failure)
  return typeof sentence === 'string' ? sentence : sentence(failure)
}

/** Whether a failed attempt shows that the endpoint does not work; counted by the circuit breaker. */
export function isFault(failure: Failure): boolean {
  const { isFault } = traitsOf(failure)
  return typeof isFault === 'boolean' ? isFault : isFault(failure)
}

/** Whether this machine has no network or no name server: no packet left it. An unreachable host is another matter. */
export function isWithoutRoute(failure: Failure): boolean {
  if (failure.kind === 'unroutable') return failure.code !== 'EHOSTUNREACH' && failure.code !== 'EHOSTDOWN'
  return failure.kind === 'dns' && failure.code === 'EAI_AGAIN'
}

/** The row of this failure, typed so that its functions accept it. */
function traitsOf(failure: Failure): FailureTraits<Failure> {
  return FAILURES[failure.kind] as FailureTraits<Failure>
}
