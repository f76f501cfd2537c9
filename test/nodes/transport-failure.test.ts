import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UntrustedError } from '../../src/nodes/connect.ts'
import { transportFailure } from '../../src/nodes/transport-failure.ts'

function coded(code: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`connect ${code} 127.0.0.1:1`), { code })
}

// Those that no socket on one machine can be made to give; the others are tried for real beside this file.
test.each([
  ['EHOSTUNREACH', { kind: 'unroutable', code: 'EHOSTUNREACH' }],
  ['ENETUNREACH', { kind: 'unroutable', code: 'ENETUNREACH' }],
  ['EADDRNOTAVAIL', { kind: 'local-resources', code: 'EADDRNOTAVAIL' }],
  ['ENFILE', { kind: 'local-resources', code: 'ENFILE' }],
  ['ENOBUFS', { kind: 'local-resources', code: 'ENOBUFS' }],
  ['EAI_AGAIN', { kind: 'dns', code: 'EAI_AGAIN' }],
  ['EAI_MEMORY', { kind: 'local-resources', code: 'EAI_MEMORY' }],
  ['ESERVFAIL', { kind: 'dns', code: 'ESERVFAIL' }],
  ['ETIMEDOUT', { kind: 'timeout', afterMs: 5000 }],
  ['ECONNRESET', { kind: 'reset' }],
  ['EPIPE', { kind: 'reset' }],
  ['ERR_SSL_WRONG_VERSION_NUMBER', { kind: 'tls', problem: 'protocol' }],
])('%s becomes %j', (code, failure) => {
  expect(transportFailure(coded(code), 'asked', 5000)).toEqual(failure)
})

test.each([
  ['CERT_NOT_YET_VALID', 'expired'],
  ['ERR_TLS_CERT_ALTNAME_INVALID', 'wrong-host'],
  ['CERT_REVOKED', 'untrusted'],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'untrusted'],
])('a certificate refused with %s is %s', (code, problem) => {
  expect(transportFailure(new UntrustedError(code), 'asked', 5000)).toEqual({ kind: 'tls', problem })
})

test.each([
  [['ECONNREFUSED', 'ENETUNREACH'], { kind: 'refused' }],
  [['ENETUNREACH', 'ECONNREFUSED', 'EHOSTUNREACH'], { kind: 'refused' }],
  [['EADDRNOTAVAIL', 'ECONNREFUSED'], { kind: 'refused' }],
  [['ETIMEDOUT', 'ECONNREFUSED'], { kind: 'refused' }],
  [['EADDRNOTAVAIL', 'ENETUNREACH', 'ETIMEDOUT'], { kind: 'timeout', afterMs: 5000 }],
  [['EADDRNOTAVAIL', 'ENETUNREACH'], { kind: 'unroutable', code: 'ENETUNREACH' }],
  [['ENETUNREACH', 'ENETUNREACH'], { kind: 'unroutable', code: 'ENETUNREACH' }],
  [['EADDRNOTAVAIL', 'EADDRNOTAVAIL'], { kind: 'local-resources', code: 'EADDRNOTAVAIL' }],
])('a host whose addresses fail with %j fails with what says most about the node: %j', (codes, failure) => {
  expect(transportFailure(new AggregateError(codes.map(coded)), 'asked', 5000)).toEqual(failure)
})

test('any other error depends on how far the answer had come', () => {
  fc.assert(
    fc.property(fc.string(), (code) => {
      fc.pre(!/^[A-Z]/.test(code))
      expect(transportFailure(coded(code), 'asked', 1)).toEqual({ kind: 'reset' })
      expect(transportFailure(coded(code), 'answering', 1)).toEqual({ kind: 'truncated' })
      expect(transportFailure(coded(code), 'body', 1)).toEqual({ kind: 'truncated' })
    }),
  )
})
