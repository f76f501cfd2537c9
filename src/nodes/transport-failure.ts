import { type Failure, isWithoutRoute, type TlsProblem } from '../core/failure.ts'
import { UntrustedError } from './connect.ts'
import { ResponseError, type ResponseProblem, type Stage } from './exchange.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'

/** Maps errors of undici, Node.js, libuv, the resolver and OpenSSL to failures. Each was tried with real sockets. */
export function transportFailure(
  error: NodeJS.ErrnoException,
  stage: Stage,
  afterMs: number,
  limitBytes = MAX_ANSWER_BYTES,
): Failure {
  const code = error.code ?? ''
  if (error instanceof UntrustedError) return { kind: 'tls', problem: certificateProblem(code) }
  if (error instanceof ResponseError) return responseFailure(error.problem, limitBytes)
  if (error.name === 'HTTPParserError') {
    // The parser reports this also if the connection ends within a chunk.
    return error.message.includes('Invalid EOF state') ? { kind: 'truncated' } : { kind: 'not-http' }
  }
  // undici's message if a node sends status 100 or 101, which no request asks for.
  if (code === 'UND_ERR_SOCKET' && error.message.startsWith('bad ')) return { kind: 'not-http' }
  // Before the body: the parser rejects the headers, such as a second Content-Length. Within it: the connection ended.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' && stage !== 'body') return { kind: 'not-http' }
  if (error instanceof AggregateError) {
    // Every address of the host failed. In a container without IPv6, `::1` of localhost fails with EADDRNOTAVAIL.
    const all = (error.errors as NodeJS.ErrnoException[]).map((one) =>
      transportFailure(one, stage, afterMs, limitBytes),
    )
    const [told] = all.sort((a, b) => rankOf(a) - rankOf(b))
    if (told !== undefined) return told
  }
  const known = BY_CODE.get(code)
  if (known !== undefined) return known
  if (RESOLVER_CODE.test(code)) return { kind: 'dns', code }
  if (TLS_CODE.test(code)) return { kind: 'tls', problem: 'protocol' }
  if (code === 'ETIMEDOUT') return { kind: 'timeout', afterMs }
  return stage === 'unsent' || stage === 'asked' ? { kind: 'reset' } : { kind: 'truncated' }
}

/** The lower, the more a failure says about the node itself. */
function rankOf(failure: Failure): number {
  if (failure.kind === 'refused') return 0
  if (failure.kind === 'local-resources') return 3
  return isWithoutRoute(failure) ? 2 : 1
}

/** Whether a request may be sent again: the node closed a used connection before it sent any byte of a response. */
export function isKeepAliveRace(failure: Failure, stage: Stage, reused: boolean): boolean {
  return reused && stage === 'asked' && failure.kind === 'reset'
}

const RESOLVER_CODE =
  /^(?:EAI_\w+|ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EBADRESP|ENONAME|ENOTIMP|EFORMERR)$/
const TLS_CODE = /^(?:ERR_SSL_\w+|ERR_TLS_\w+|EPROTO)$/

const UNROUTABLE_CODES = ['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'ENONET']

/** Limits of descriptors, ports and memory on our machine, or its firewall. */
const LOCAL_CODES = 'EMFILE ENFILE ENOBUFS ENOMEM EADDRNOTAVAIL EAGAIN EAI_MEMORY EAI_SYSTEM EPERM EACCES'.split(' ')

const BY_CODE: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ['ECONNREFUSED', { kind: 'refused' }],
  ...UNROUTABLE_CODES.map((code): [string, Failure] => [code, { kind: 'unroutable', code }]),
  ...LOCAL_CODES.map((code): [string, Failure] => [code, { kind: 'local-resources', code }]),
  ['UND_ERR_HEADERS_OVERFLOW', { kind: 'headers-too-large' }],
])

function responseFailure(problem: ResponseProblem, limitBytes: number): Failure {
  switch (problem) {
    case 'too-large':
      return { kind: 'too-large', limitBytes }
    case 'overhead':
      return { kind: 'headers-too-large' }
    case 'transfer-encoding':
      return { kind: 'not-http' }
  }
}

function certificateProblem(code: string): TlsProblem {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return 'expired'
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
    case 'HOSTNAME_MISMATCH':
      return 'wrong-host'
  }
  return 'untrusted'
}
