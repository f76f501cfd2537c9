import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createRedact } from '../../src/nodes/redact.ts'
import { Secret } from '../../src/secret.ts'

const LOCATION = {
  url: new Secret('https://us%40er:pass%2Fword@rpc.example.org:8443/v3/CANARY-PATH/x?apikey=CANARY+QUERY&n=1'),
  headers: { 'x-api-key': new Secret('CANARY"HEADER'), authorization: new Secret('Bearer CANARYTOKEN') },
  rpcPath: '/ext/bc/CANARY-RPC/rpc',
  tls: { ca: null, insecure: false },
}
const redact = createRedact(LOCATION)

test.each([
  'CANARY-PATH',
  'canary-path',
  'CANARY QUERY',
  'CANARY%20QUERY',
  'CANARY"HEADER',
  'CANARY\\"HEADER',
  'Bearer CANARYTOKEN',
  'CANARYTOKEN',
  'CANARY-RPC',
  'rpc.example.org',
  'us@er:pass/word',
  Buffer.from('us@er:pass/word').toString('base64'),
  Buffer.from('CANARY-PATH').toString('hex'),
])('what a node sends back of its own address is taken out: %s', (secret) => {
  const shown = redact(`{"error":"no such key ${secret}!"}`)

  expect(shown).toBe('{"error":"no such key [redacted]!"}')
})

test('what is no secret stays: a node’s answer is there to be read', () => {
  const answer = '{"jsonrpc":"2.0","id":3,"result":{"number":"0x12","rpc":"v3","n":1}}'

  expect(redact(answer)).toBe(answer)
})

test('no key of four characters or more is ever shown, whatever it is made of and wherever it stands', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 4, maxLength: 40, unit: 'binary-ascii' }),
      fc.string(),
      fc.string(),
      (key, a, b) => {
        fc.pre(!'[redacted]'.includes(key.toLowerCase()) && !`${a}${b}`.toLowerCase().includes(key.toLowerCase()))
        const headers = { 'x-api-key': new Secret(key) }
        const shown = createRedact({ ...LOCATION, headers })(`${a}${key}${b}`)

        expect(shown).not.toContain(key)
      },
    ),
  )
})

test('of a long text the beginning is shown, and no half of a key at its end', () => {
  const key = 'K'.repeat(300)
  const short = createRedact({ ...LOCATION, headers: { 'x-api-key': new Secret(key) } })

  expect(short('x'.repeat(2000), 100)).toBe(`${'x'.repeat(100)}…`)
  expect(short('x'.repeat(100), 100)).toBe('x'.repeat(100))
  for (let before = 0; before < 320; before++) {
    const shown = short('.'.repeat(before) + key.repeat(5), 100)

    expect(shown).not.toMatch(/K{4}/)
    expect(shown.length).toBeLessThanOrEqual(101)
  }
})
