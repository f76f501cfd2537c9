import type { Failure, TlsProblem } from '../core/failure.ts'
import { UntrustedError } from './connect.ts'
import type { Stage } from './exchange.ts'
import { AnswerProblem } from './http-client.ts'
import { MAX_ANSWER_BYTES } from './limits.ts'

/** What each error of Node, libuv, the resolver and OpenSSL means for a check. Tried one by one with real sockets. */
export function transportFailure(
  error: NodeJS.ErrnoException,
  stage: Stage,
  afterMs: number,
  limitBytes = MAX_ANSWER_BYTES,
): Failure {
  const code = error.code ?? ''
  if (error instanceof UntrustedError) return { kind: 'tls', problem: certificateProblem(code) }
  if (error instanceof AnswerProblem) {
    switch (error.problem) {
      case 'too-large':
        return { kind: 'too-large', limitBytes }
      case 'no-room':
        return { kind: 'local-resources', code: 'ENOMEM' }
      case 'not-http':
      case 'headers-too-large':
        return { kind: error.problem }
    }
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
