import { describe, expect, test } from 'vitest'
import { brief, GOOD, get, openHostile, post } from './hostile-setting.ts'
import { ADMIN_ID, ID } from './setting.ts'

const HASH = 'ab'.repeat(32)
const WALLET = `/ethereum/${ID}`

/** With a title that fits a line. */
const named = (text: string): [string, string] => [
  text.length > 64 ? `of ${text.length} characters` : JSON.stringify(text),
  text,
]

describe('a target that two readers may understand differently is an unknown route', () => {
  const TRICKS = [
    '/..%2f..%2f',
    '/ext/..%2fadmin',
    '/ext/%2e%2e/admin',
    '/ext/%252e%252e/admin',
    '/ext/%252fadmin',
    '/ext/adm%69n',
    '/ext/health%00',
    '/ext/health%0d%0ax-heartline-endpoint:%20n',
    '/ext/health/../admin',
    '/ext/health/./',
    '/ext/health/',
    '/ext//admin',
    '//ext/admin',
    '/ext/admin;v=1',
    ';v=1/ext/admin',
    '/ext\\admin',
    '/ext/..\\admin',
    '/ext/admin#x',
    '#/ext/admin',
    '/ext/{id}',
    '/ext/a@b',
    '/ext/a+b',
    '/ext/health?',
    '?a=%31',
    '/ext/\xc3\xa9',
    '/ext/\xff\xfe',
    '/ext/\xc0\xae\xc0\xae/admin',
    '/ext/a|b',
    '/ext/"x"',
    '/ext/<x>',
    `/ext/${'a/'.repeat(4100)}a`,
  ]

  test('over JSON-RPC', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const network of ['ethereum', 'avalanche']) {
      for (const trick of TRICKS) {
        // A byte beyond ASCII is no HTTP at all to some versions of Node's parser.
        expect.soft((await send(post(`/${network}/${ID}${trick}`, GOOD))).map(brief), trick).toEqual([unknown(trick)])
      }
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('over REST', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const trick of TRICKS) {
      const told = (await send(get(`/multiversx/${ID}${trick.replaceAll('/ext', '/network')}`))).map(brief)
      expect
        .soft(told, trick)
        .toEqual([/[\x80-\xff]/.test(trick) ? expect.stringMatching(/^40[04] /) : '404 rest bad_request'])
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  const unknown = (trick: string) =>
    /[\x80-\xff]/.test(trick) ? expect.stringMatching(/^40[04] -32600 /) : '404 -32600 1'

  test.each([
    ['absolute', `http://x${WALLET}`],
    ['absolute, of another scheme', `https://x${WALLET}`],
    ['absolute, of a host of ours', `http://eth.example.org/${ID}`],
    ['absolute, of another host', `http://169.254.169.254/latest/meta-data`],
    ['with userinfo', `http://user:pass@x${WALLET}`],
    ['without a scheme', `//x${WALLET}`],
    ['*', '*'],
    ['only a slash', '/'],
    ['of slashes', '////'],
    ['that begins with an encoded slash', `/%2f${WALLET}`],
    ['with an encoded network', `/eth%65reum/${ID}`],
    ['with an encoded endpoint_id', `/ethereum/%77${ID.slice(1)}`],
    ['that steps up out of another network', `/avalanche/../ethereum/${ID}`],
    ['of 8,193 characters', `/ethereum/${'a'.repeat(8183)}`],
    ['of 15,000 characters', `/ethereum/${ID}/${'a'.repeat(15_000)}`],
    ['with a NUL in its query', `${WALLET}?a=%00`],
  ])('%s', async (_what, target) => {
    const { send, asked, expectUnharmed } = await openHostile()

    const [told, ...more] = await send(post(target, GOOD))

    // An invalid request line is answered by HTTP, without an id.
    expect(brief(told!)).toMatch(/^(?:404 -32600 1|400 -32600 null)$/)
    expect(more).toEqual([])
    expect(told!.body).not.toContain(ID)
    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('a request line that is none', () => {
  test.each([
    ['a blank in the target', `POST /ethereum /${ID} HTTP/1.1`],
    ['a tab for a blank', `POST\t${WALLET}\tHTTP/1.1`],
    ['a NUL in the target', `POST /ethereum/\0${ID} HTTP/1.1`],
    ['a bare carriage return in the target', `POST /ethereum/\r${ID} HTTP/1.1`],
    ['another version', `POST ${WALLET} HTTP/3.0`],
    ['a version without digits', `POST ${WALLET} HTTP/x.y`],
    ['another protocol', `POST ${WALLET} ICAP/1.0`],
    ['no target', 'POST HTTP/1.1'],
    ['a lower-case method', `post ${WALLET} HTTP/1.1`],
    ['an unknown method', `HEARTLINE ${WALLET} HTTP/1.1`],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0'],
  ])('%s: 400, and an end', async (_what, line) => {
    const { send, asked, expectUnharmed } = await openHostile()

    const told = await send(
      `${line}\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${GOOD.length}\r\n\r\n${GOOD}`,
    )

    expect(told.map(brief)).toEqual(['400 -32600 null'])
    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('a Host', () => {
  const withHosts = (target: string, ...hosts: string[]) =>
    `POST ${target} HTTP/1.1\r\n${hosts.map((host) => `${host}\r\n`).join('')}content-type: application/json\r\nconnection: close\r\ncontent-length: ${GOOD.length}\r\n\r\n${GOOD}`

  test.each<[string, string, string[], string]>([
    ['missing', WALLET, [], '400 -32600 1'],
    ['given twice, differing', WALLET, ['host: x', 'host: eth.example.org'], '400 -32600 1'],
    ['given twice, the same', WALLET, ['host: x', 'Host: x'], '400 -32600 1'],
    ['empty', WALLET, ['host:'], '200 result 1'],
    ['of an unknown host', WALLET, ['host: evil.example.org'], '200 result 1'],
    ['of ours with a port', `/${ID}`, ['host: eth.example.org:8443'], '200 result 1'],
    ['of ours with a port of letters', `/${ID}`, ['host: eth.example.org:port'], '404 -32600 1'],
    ['of ours with userinfo', `/${ID}`, ['host: user@eth.example.org'], '404 -32600 1'],
    ['of ours with a point at its end', `/${ID}`, ['host: eth.example.org.'], '404 -32600 1'],
    ['of ours below a folder', `/${ID}`, ['host: eth.example.org/x'], '404 -32600 1'],
    ['of ours among others', `/${ID}`, ['host: evil.example.org, eth.example.org'], '404 -32600 1'],
    ['of ours forwarded', `/${ID}`, ['host: x', 'x-forwarded-host: eth.example.org'], '404 -32600 1'],
    ['of ours forwarded by the standard', `/${ID}`, ['host: x', 'forwarded: host=eth.example.org'], '404 -32600 1'],
    ['of ours, and the path of a network', WALLET, ['host: eth.example.org'], '401 -32099 1'],
  ])('%s', async (_what, target, hosts, expected) => {
    const { send, asked, expectUnharmed } = await openHostile()

    expect((await send(withHosts(target, ...hosts))).map(brief)).toEqual([expected])

    expect(asked.length).toBe(expected.startsWith('200') ? 1 : 0)
    // Whatever Host the caller sends, a node is given its own.
    for (const { headers } of asked) expect(headers.host).toMatch(/^127\.0\.0\.1:\d+$/)
    asked.length = 0
    await expectUnharmed()
  })

  test('may be missing in HTTP/1.0, which had none', async () => {
    const { send } = await openHostile()

    const told = await send(post(WALLET, GOOD).replace('HTTP/1.1\r\nhost: x\r\n', 'HTTP/1.0\r\n'))

    expect(told.map(brief)).toEqual(['200 result 1'])
  })
})

describe('what stands in a header or a parameter is put into no other header', () => {
  const HEALTH = '{"jsonrpc":"2.0","id":1,"method":"health.health"}'

  test.each(
    [
      'n%0d%0ax-evil: 1',
      'N',
      'n ',
      'n, m',
      '../n',
      'http://evil.example.org',
      '__proto__',
      'x'.repeat(8000),
      '\xe9',
    ].map(named),
  )('x-heartline-endpoint: %s', async (_what, name) => {
    const { send, asked, expectUnharmed } = await openHostile()

    const [told] = await send(post(`/avalanche/${ID}/ext/health`, HEALTH, `x-heartline-endpoint: ${name}\r\n`))

    // HTTP takes blanks off the ends of a value.
    expect(brief(told!)).toBe(name.trim() === 'n' ? '200 result 1' : '200 -32602 1')
    expect([...told!.headers.keys()]).not.toContain('x-evil')
    expect(asked.length).toBe(name.trim() === 'n' ? 1 : 0)
    asked.length = 0
    await expectUnharmed()
  })

  test('x-heartline-endpoint given twice names no endpoint', async () => {
    const { send, asked } = await openHostile()
    const twice = 'x-heartline-endpoint: n\r\nx-heartline-endpoint: n\r\n'

    expect((await send(post(`/avalanche/${ID}/ext/health`, HEALTH, twice))).map(brief)).toEqual(['200 -32602 1'])
    expect(asked).toEqual([])
  })

  test.each(
    [
      'a\\r\\nx-evil: 1',
      '../admin',
      'a/../../admin',
      'a//b',
      '/a',
      'a/',
      '.',
      '..',
      '{x}',
      'a b',
      'a%2fb',
      'a?b',
      'a#b',
      'a;b',
      'a\\\\b',
      'é',
      '\\u0000',
      '\\ud800',
      '',
      'a'.repeat(513),
    ].map(named),
  )('the alias or endpoint %s is no plain path', async (_what, text) => {
    const { send, asked, expectUnharmed } = await openHostile()
    const alias = (params: string) => `{"jsonrpc":"2.0","id":1,"method":"admin.alias","params":${params}}`

    for (const params of [`{"endpoint":"bc/C","alias":"${text}"}`, `[{"endpoint":"${text}","alias":"mine"}]`]) {
      expect((await send(post(`/avalanche/${ADMIN_ID}/ext/admin`, alias(params)))).map(brief)).toEqual(['200 -32602 1'])
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('the caller’s own headers reach no node', async () => {
    const { send, asked } = await openHostile()
    const given = [
      'avalanche-api-route: 11111111111111111111111111111111LpoYY',
      'authorization: Bearer x',
      'cookie: a=b',
      'x-forwarded-for: 10.0.0.1',
      'x-forwarded-host: evil.example.org',
      'forwarded: for=10.0.0.1',
      'x-real-ip: 10.0.0.1',
      'origin: https://evil.example.org',
      'referer: https://evil.example.org',
      'user-agent: evil',
      'x-request-id: mine',
      'x-http-method-override: DELETE',
      'x-original-url: /ext/admin',
      'te: trailers',
      'via: 1.1 evil',
    ]
    const headers = given.map((header) => `${header}\r\n`).join('')

    await send(post(`/avalanche/${ID}/ext/health`, HEALTH, headers))
    await send(get(`/multiversx/${ID}/block/1/by-hash/${HASH}`, headers))

    expect(asked).toHaveLength(2)
    const allowed = ['accept', 'connection', 'content-length', 'content-type', 'host', 'user-agent', 'accept-encoding']
    for (const { headers: sent } of asked) {
      expect(Object.keys(sent).filter((name) => !allowed.includes(name))).toEqual([])
      expect(JSON.stringify(sent)).not.toMatch(/evil|10\.0\.0\.1/)
    }
  })

  test.each(['a b', 'a\tb', '"', '\xe9', 'x'.repeat(65), '%0d%0a', '{"a":1}'].map(named))(
    'x-request-id: %s is answered with one of ours',
    async (_what, given) => {
      const { send } = await openHostile()

      const [told] = await send(post(WALLET, GOOD, `x-request-id: ${given}\r\n`))

      expect(told!.headers.get('x-request-id')).toMatch(/^[\w-]{8,64}$/)
      expect(told!.headers.get('x-request-id')).not.toBe(given)
    },
  )
})

describe('REST parameters', () => {
  test.each([
    [`/block/2/by-hash/${HASH}`, '400 rest bad_request'],
    [`/block/-1/by-hash/${HASH}`, '400 rest bad_request'],
    [`/block/01/by-hash/${HASH}`, '400 rest bad_request'],
    [`/block/1e0/by-hash/${HASH}`, '400 rest bad_request'],
    [`/block/4294967296/by-hash/${HASH}`, '400 rest bad_request'],
    [`/block/1/by-hash/${HASH}0`, '400 rest bad_request'],
    [`/block/1/by-hash/${HASH.slice(1)}`, '400 rest bad_request'],
    [`/block/1/by-hash/0x${HASH.slice(2)}`, '400 rest bad_request'],
    ['/block/1/by-nonce/-1', '400 rest bad_request'],
    ['/block/1/by-nonce/1.5', '400 rest bad_request'],
    ['/block/1/by-nonce/007', '400 rest bad_request'],
    ['/block/1/by-nonce/9007199254740992', '400 rest bad_request'],
    ['/block/1/by-nonce/5?withTxs=1', '400 rest bad_request'],
    ['/block/1/by-nonce/5?withTxs=true&withTxs=false', '400 rest bad_request'],
    ['/block/1/by-nonce/5?withtxs=true', '400 rest bad_request'],
    ['/block/1/by-nonce/5?withTxs=true&x=y', '400 rest bad_request'],
    ['/block/1/by-round/5', '404 rest bad_request'],
    ['/blocks/by-round/5', '404 rest bad_request'],
    ['/network/status/1/x', '404 rest bad_request'],
    ['/NETWORK/config', '404 rest bad_request'],
    ['/network/config?x=y', '400 rest bad_request'],
    ['/transaction/send', '404 rest bad_request'],
    ['', '404 rest bad_request'],
  ])('%s: %s', async (rest, expected) => {
    const { send, asked } = await openHostile()

    expect((await send(get(`/multiversx/${ID}${rest}`))).map(brief)).toEqual([expected])
    expect(asked).toEqual([])
  })
})
