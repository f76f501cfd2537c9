import type { Failure, TlsProblem } from '../core/failure.ts'
import { UntrustedError } from './connect.ts'
import { ResponseLimitError, type Stage } from './exchange.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'

/** What each error of undici, Node, libuv, the resolver and OpenSSL means for a check. Tried one by one with real sockets. */
export function transportFailure(
  error: NodeJS.ErrnoException,
  stage: Stage,
  afterMs: number,
  limitBytes = MAX_ANSWER_BYTES,
): Failure {
  const code = error.code ?? ''
  if (error instanceof UntrustedError) return { kind: 'tls', problem: certificateProblem(code) }
  if (error instanceof ResponseLimitError) {
    return error.problem === 'too-large'
      ? { kind: 'too-large', limitBytes }
      : { kind: 'local-resources', code: 'ENOMEM' }
  }
  if (error.name === 'HTTPParserError') {
    // The parser calls it so, too, when the connection ends within a chunk. It gives no code.
    return error.message.includes('Invalid EOF state') ? { kind: 'truncated' } : { kind: 'not-http' }
  }
  if (error instanceof AggregateError) {
    // Every address of the host was tried: the first one's error stands for all.
    const [first] = error.errors as NodeJS.ErrnoException[]
    if (first !== undefined) return transportFailure(first, stage, afterMs, limitBytes)
  }
  const known = BY_CODE.get(code)
  if (known !== undefined) return known
  if (RESOLVER_CODE.test(code)) return { kind: 'dns', code }
  if (TLS_CODE.test(code)) return { kind: 'tls', problem: 'protocol' }
  if (code === 'ETIMEDOUT') return { kind: 'timeout', afterMs }
  return stage === 'unsent' || stage === 'asked' ? { kind: 'reset' } : { kind: 'truncated' }
}

/** Whether a request may be sent once more: it went out on a used connection that the node was closing, and nothing came back. */
export function isKeepAliveRace(failure: Failure, stage: Stage, reused: boolean): boolean {
  return reused && stage === 'asked' && failure.kind === 'reset'
}

const RESOLVER_CODE =
  /^(?:EAI_\w+|ENOTFOUND|ENODATA|ESERVFAIL|EREFUSED|ETIMEOUT|EBADNAME|EBADRESP|ENONAME|ENOTIMP|EFORMERR)$/
const TLS_CODE = /^(?:ERR_SSL_\w+|ERR_TLS_\w+|EPROTO)$/

const BY_CODE: ReadonlyMap<string, Failure> = new Map<string, Failure>([
  ['ECONNREFUSED', { kind: 'refused' }],
  ...['EHOSTUNREACH', 'ENETUNREACH', 'EHOSTDOWN', 'ENETDOWN', 'ENONET'].map((code): [string, Failure] => [
    code,
    { kind: 'unroutable' },
  ]),
  // Ours: descriptors, ports, memory, and what a firewall of our own machine forbids.
  ...[
    'EMFILE',
    'ENFILE',
    'ENOBUFS',
    'ENOMEM',
    'EADDRNOTAVAIL',
    'EAGAIN',
    'EAI_MEMORY',
    'EAI_SYSTEM',
    'EPERM',
    'EACCES',
  ].map((code): [string, Failure] => [code, { kind: 'local-resources', code }]),
  ['UND_ERR_HEADERS_OVERFLOW', { kind: 'headers-too-large' }],
  ['UND_ERR_RES_CONTENT_LENGTH_MISMATCH', { kind: 'truncated' }],
])

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
