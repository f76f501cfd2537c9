import { expect, test } from 'vitest'
import type { Liveness } from '../../src/core/poll-result.ts'
import { withoutSecrets } from '../../src/nodes/own-words.ts'
import { createRedact } from '../../src/nodes/redact.ts'
import { Secret } from '../../src/secret.ts'
import { liveness, nodeCheck } from '../support/network.ts'

const KEY = 'CANARY-0123456789abcdef0123456789abcdef'
const redact = createRedact({
  url: new Secret(`http://node.example.org/${KEY}`),
  headers: {},
  rpcPath: '/',
  tls: { ca: null, insecure: false },
})

function toldOf(error: string | null): Liveness {
  return withoutSecrets(liveness(0, { checks: [{ ...nodeCheck('C'), error }] }), () => redact)
}

test('a node’s own words are told without the key that they repeat', () => {
  const { checks } = toldOf(`cannot reach http://node.example.org/${KEY}: not bootstrapped`)

  expect(checks[0]?.error).toBe('cannot reach [redacted]: not bootstrapped')
})

test('no half of a key is left where its words were cut, wherever that was', () => {
  for (let before = 200; before < 256; before++) {
    const read = `${'x'.repeat(before)} ${KEY} and more of it`.slice(0, 256)

    expect(toldOf(read).checks[0]?.error).not.toContain('CANARY')
  }
  expect(toldOf(`${'x'.repeat(240)}${KEY}`.slice(0, 256)).checks[0]?.error).toBe('…')
})

test('checks that pass are left as they are', () => {
  const passing = liveness(0, { checks: [nodeCheck('C')] })
  const never = () => expect.fail('nothing is to be taken out')

  expect(withoutSecrets(passing, never)).toBe(passing)
})
