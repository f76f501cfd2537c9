import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Upstream } from '../../src/gateway/failover/upstream.ts'
import { createRedact, createRedactLiveness, redactJson } from '../../src/nodes/redact.ts'
import { Secret } from '../../src/secret.ts'
import { endpoint, liveness, nodeCheck } from '../support/network.ts'

const LOCATION = {
  url: new Secret('https://us%40er:pass%2Fword@rpc.example.org:8443/v3/CANARY-PATH/x?apikey=CANARY+QUERY&n=1'),
  headers: { 'x-api-key': new Secret('CANARY"HEADER'), authorization: new Secret('Bearer CANARYTOKEN') },
  rpcPath: '/ext/bc/CANARY-RPC/rpc',
  tls: { ca: null, insecure: false },
}
const redact = createRedact(LOCATION)

function escaped(text: string, escape: (code: number) => string): string {
  return Array.from(text, (character) => escape(character.charCodeAt(0))).join('')
}

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
  'CANARY+QUERY',
  'CANARY%2520QUERY',
  'us%40er:pass%2Fword',
  'us@er:pass\\/word',
  'us@er:pass&#47;word',
  'us@er:pass&#x2F;word',
  'us@er:pass\\u002fword',
  'us@er:pass\\x2fword',
  'us@er:pass&#47word',
  'us\\u0040er:pass\\\\/word',
  'CANARY&quot;HEADER',
  'CANARY\\u0022HEADER',
  'CANARY\\u0026quot;HEADER',
  escaped('CANARY-PATH', (code) => `\\u${code.toString(16).padStart(4, '0')}`),
  escaped('CANARY-PATH', (code) => `%${code.toString(16)}`),
  escaped('CANARY-PATH', (code) => `&#${code};`),
  Buffer.from('CANARY"HEADER').toString('base64url'),
])('a secret in a node’s text is removed: %s', (secret) => {
  const shown = redact(`{"error":"no such key ${secret}!"}`)

  expect(shown).toBe('{"error":"no such key [redacted]!"}')
})

test.each<[string, (text: string) => string]>([
  ['JSON', (text) => JSON.stringify(text).slice(1, -1)],
  ['HTML', (text) => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ['URLs', encodeURIComponent],
])('a secret is removed in up to four layers of escapes for %s', (_where, escapeFor) => {
  let layers = 'CANARY"HEADER'

  for (let layer = 1; layer <= 4; layer++) {
    layers = escapeFor(layers)

    expect(redact(`<${layers}>`)).toBe('<[redacted]>')
  }
})

test('parts of fewer than four characters are shown, in responses of the gateway those of fewer than twelve', () => {
  const location = (key: string) => ({ ...LOCATION, rpcPath: '', headers: { 'x-api-key': new Secret(key) } })
  const shown = (key: string) => createRedact(location(key))(`no ${key} here`)
  const gateway = (key: string) =>
    new Upstream({ ...location(key), endpoint: endpoint('a'), kind: 'proxy', chainId: null }).redactJson(
      `["no ${key}"]`,
    )

  expect([shown('k3y'), shown('k3yz')]).toEqual(['no k3y here', 'no [redacted] here'])
  expect([gateway('k3y-7f3a90c'), gateway('k3y-7f3a90cc')]).toEqual(['["no k3y-7f3a90c"]', '["no [redacted]"]'])
})

test.each([0, 1, 2, 3, 4, 5])(
  'a secret within a longer text in base64 is removed, %i bytes after its beginning',
  (before) => {
    for (const encoding of ['base64', 'base64url'] as const) {
      const text = Buffer.from(`${'>'.repeat(before)}CANARY-PATH and CANARYTOKEN?~~`).toString(encoding)
      const shown = redact(text)

      expect(shown.split('[redacted]')).toHaveLength(3)
      expect(Buffer.from(shown.split('[redacted]').at(-1) ?? '', encoding).toString()).not.toContain('TOKEN')
    }
  },
)

test('what is no secret stays: a node’s answer is there to be read', () => {
  const answer = '{"jsonrpc":"2.0","id":3,"result":{"number":"0x12","rpc":"v3","n":1}}'

  expect(redact(answer)).toBe(answer)
})

test('well-known words of a path stay: names of checks contain them', () => {
  const at = (account: string) => ({
    ...LOCATION,
    url: new Secret(`https://${account}rpc.example.org/v1/MainNet/CANARY-PATH`),
    rpcPath: '/ext/health/CANARY-RPC',
  })
  const text = 'network.health on mainnet: CANARY-PATH, CANARY-RPC'

  expect(createRedact(at(''))(text)).toBe('network.health on mainnet: [redacted], [redacted]')
  expect(createRedact(at('health:mainnet@'))(text)).toBe('network.[redacted] on [redacted]: [redacted], [redacted]')
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

test('text between two secrets stays, and overlapping ones are removed as one', () => {
  expect(redact('CANARY-PATH and CANARYTOKEN, https://us%40er:pass%2Fword@rpc.example.org:8443/v3/CANARY-PATH/x')).toBe(
    '[redacted] and [redacted], https://[redacted]@[redacted]/v3/[redacted]/x',
  )
})

describe('an error in JSON', () => {
  const clean = (text: string) => redactJson(text, redact)

  test('without secrets keeps its bytes', () => {
    const text = '{ "code": -32000, "data": [1.50, 12345678901234567890, {"__proto__": "\\u0061"}] }'

    expect(clean(text)).toBe(text)
  })

  test.each([
    ['{"message":"CANARY\\u002dPATH"}', '{"message":"[redacted]"}'],
    ['{"message":"us@er:pass\\/word"}', '{"message":"[redacted]"}'],
    ['{"CANARY-PATH":{"a":[true,null,"x"]}}', '{"[redacted]":{"a":[true,null,"x"]}}'],
    ['{"\\u0043ANARYTOKEN":1}', '{"[redacted]":1}'],
    ['{"data":"{\\"key\\":\\"us@er:pass\\\\\\/word\\"}"}', '{"data":"{\\"key\\":\\"[redacted]\\"}"}'],
    ['{"__proto__":"CANARY-PATH"}', '{"__proto__":"[redacted]"}'],
    ['["CANARY&quot;HEADER"]', '["[redacted]"]'],
  ])('%s becomes %s', (text, expected) => {
    expect(clean(text)).toBe(expected)
  })

  test('that has a secret as a number, or is not JSON, is not shown at all', () => {
    const digits = createRedact({ ...LOCATION, headers: { 'x-project': new Secret('123456789012') } })

    expect(redactJson('{"data":[{"project":123456789012}]}', digits)).toBeNull()
    expect(redactJson('{"data":', digits)).toBeNull()
  })

  test('that has a secret in a member that another one replaces, or in a number that parsing rounds, does not show it', () => {
    const digits = createRedact({ ...LOCATION, headers: { 'x-project': new Secret('12345678901234567890') } })

    expect(clean('{"message":"no CANARY-PATH","message":"no key"}')).toBe('{"message":"no key"}')
    expect(clean('{"message":"no \\u0043ANARY-PATH","message":"no key"}')).toBe('{"message":"no key"}')
    expect(clean('{"a":"CANARYTOKEN","message":"no CANARY-PATH","message":"no key"}')).toBe(
      '{"a":"[redacted]","message":"no key"}',
    )
    expect(redactJson('{"project":12345678901234567890}', digits)).toBeNull()
    expect(redactJson('{"project":12345678901234567890,"path":"CANARY-PATH"}', digits)).toBeNull()
    expect(redactJson('{"project":22345678901234567890,"text":"\\"1"}', digits)).toContain('22345678901234567890')
  })
})

describe('a node’s own health checks', () => {
  const KEY = 'CANARY-0123456789abcdef0123456789abcdef'
  const location = { ...LOCATION, url: new Secret(`http://node.example.org/${KEY}`), headers: {}, rpcPath: '/' }
  const clean = createRedactLiveness(() => createRedact(location))
  const shown = (check: { name?: string; error?: string | null }) =>
    clean(liveness(0, { checks: [{ ...nodeCheck('C'), ...check }] })).checks[0]

  test('are shown without the key that their errors repeat', () => {
    const error = `cannot reach http://node.example.org/${KEY}: not bootstrapped`

    expect(shown({ error })?.error).toBe('cannot reach [redacted]: not bootstrapped')
  })

  test('are shown without the key that their names repeat', () => {
    for (let poll = 0; poll < 2; poll++) expect(shown({ name: `peer ${KEY}` })?.name).toBe('peer [redacted]')
    for (let check = 0; check < 300; check++) {
      expect(shown({ name: `${check}-${KEY}` })?.name).toBe(`${check}-[redacted]`)
    }
  })

  test('keep no half of a key where their text was cut', () => {
    for (let before = 200; before < 256; before++) {
      const read = `${'x'.repeat(before)} ${KEY} and more of it`.slice(0, 256)

      expect(shown({ error: read })?.error).not.toContain('CANARY')
      expect(shown({ name: read })?.name).not.toContain('CANARY')
    }
    expect(shown({ error: `${'x'.repeat(240)}${KEY}`.slice(0, 256) })?.error).toBe('…')
  })

  test('without secrets are left as they are', () => {
    const passing = liveness(0, { checks: [nodeCheck('C'), { ...nodeCheck('P'), error: 'not yet', healthy: false }] })

    expect(clean(passing)).toBe(passing)
  })
})
