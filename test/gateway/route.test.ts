import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readRoute, readTarget } from '../../src/gateway/request/route.ts'

const ID = 'wallet-0123456789.ABC_~'
const PLACES = {
  names: new Set(['ethereum', 'avalanche', 'constructor-1']),
  hosts: new Map([['avax.rpc.example.org', 'avalanche']]),
}
const read = (url: string, host?: string) => readTarget(url, host, PLACES)

describe('a target by path', () => {
  test.each([
    [`/ethereum/${ID}`, '', null],
    [`/ethereum/${ID}/ext/bc/C/rpc`, '/ext/bc/C/rpc', null],
    [
      `/ethereum/${ID}/block/0/by-nonce/5?withTxs=true&withLogs=false`,
      '/block/0/by-nonce/5',
      'withTxs=true&withLogs=false',
    ],
    [`/ethereum/${ID}/`, '/', null],
    [`/ethereum/${ID}?a=b`, '', 'a=b'],
    [`/ethereum/${ID}/?a=b`, '/', 'a=b'],
    [`/ethereum/${ID}/.a/b./...`, '/.a/b./...', null],
  ])('%s', (url, rest, query) => {
    expect(read(url)).toEqual({ kind: 'target', network: 'ethereum', endpointId: ID, rest, query })
    expect(read(url, 'rpc.example.org:9781')).toEqual(read(url))
  })

  test('of an unknown network is a target all the same, so that it is answered as a wrong endpoint_id is', () => {
    for (const name of ['nowhere', 'Ethereum', 'ethereu', 'ethereumm', 'constructor', '__proto__']) {
      expect(read(`/${name}/${ID}/ext/health`)).toEqual({
        kind: 'target',
        network: null,
        endpointId: ID,
        rest: '/ext/health',
        query: null,
      })
    }
  })
})

describe('the path of `gateway.public_url`', () => {
  const behind = (url: string, base = '/rpc/v1') => readTarget(url, 'example.org', { ...PLACES, base })

  test('may precede the network, because a proxy may pass the path unchanged or remove it', () => {
    expect(behind(`/rpc/v1/ethereum/${ID}/ext/health`)).toEqual(read(`/ethereum/${ID}/ext/health`))
    expect(behind(`/ethereum/${ID}/ext/health`)).toEqual(read(`/ethereum/${ID}/ext/health`))
    expect(behind(`/rpc/v1/nowhere/${ID}`)).toMatchObject({ network: null, endpointId: ID })
    expect(behind(`/rpc/v1/${ID}`)).toMatchObject({ kind: 'unknown-route' })
    expect(behind(`/rpc/v12/${ID}`)).toEqual(read(`/rpc/v12/${ID}`))
    expect(read(`/rpc/v1/ethereum/${ID}`)).toMatchObject({ network: null, endpointId: 'v1' })
  })

  test('is not looked for where a network has this name', () => {
    expect(behind(`/ethereum/${ID}`, '/ethereum')).toEqual(read(`/ethereum/${ID}`))
  })
})

describe('a target by host', () => {
  test.each(['avax.rpc.example.org', 'AVAX.rpc.Example.ORG', 'avax.rpc.example.org:443', 'Avax.rpc.example.org:9781'])(
    '%s begins with the endpoint_id',
    (host) => {
      expect(read(`/${ID}/ext/health`, host)).toEqual({
        kind: 'target',
        network: 'avalanche',
        endpointId: ID,
        rest: '/ext/health',
        query: null,
      })
      expect(read(`/${ID}`, host)).toMatchObject({ network: 'avalanche', endpointId: ID, rest: '' })
      expect(read(`/${ID}/`, host)).toMatchObject({ network: 'avalanche', endpointId: ID, rest: '/' })
      expect(read(`/ethereum/${ID}`, host)).toMatchObject({ network: 'avalanche', endpointId: 'ethereum' })
    },
  )

  test.each([
    '',
    'avax.rpc.example.org.',
    'x.avax.rpc.example.org',
    'avax.rpc.example.org:x',
    'avax.rpc.example.org:443:1',
    'avax.rpc.example.org:123456',
    'avax.rpc.example.org@evil',
    '[::1]:9781',
    'avax.rpc.example.org ',
    undefined,
  ])('%s is no host of ours: the path says the network', (host) => {
    expect(read(`/ethereum/${ID}`, host)).toMatchObject({ network: 'ethereum', endpointId: ID })
  })
})

/** Ways in which a path has been made to mean two things. */
const HOSTILE = [
  '',
  '*',
  'x',
  '/',
  '//',
  '/ethereum',
  '/ethereum/',
  '/nowhere/',
  `//ethereum/${ID}`,
  `/ethereum//${ID}`,
  `/ethereum/${ID}/ext/`,
  `/ethereum/${ID}/ext/admin/?a=b`,
  `/ethereum//`,
  `/ethereum/${ID}//`,
  `/ethereum/${ID}//ext/health`,
  `/ethereum/${ID}/ext/health/`,
  `/ethereum/${ID}/ext//health`,
  `/ethereum/${ID}/./ext/health`,
  `/ethereum/${ID}/.`,
  `/ethereum/${ID}/..`,
  `/ethereum/./${ID}`,
  `/ethereum/../${ID}`,
  `/../ethereum/${ID}`,
  `/ethereum/${ID}/ext/health/../admin`,
  `/ethereum/${ID}/ext/..%2fadmin`,
  `/ethereum/${ID}/ext/%2e%2e/admin`,
  `/ethereum/${ID}/ext/%252e%252e/admin`,
  `/ethereum/${ID}/ext/admin%00`,
  `/ethereum/${ID}/ext/adm%69n`,
  `/ethereum/${ID}%2fext`,
  `/eth%65reum/${ID}`,
  `/ethereum/${ID}/ext/admin;x=1`,
  `/ethereum/${ID};x/ext/admin`,
  `/ethereum/${ID}\\ext\\admin`,
  `/ethereum/${ID}/ext\\..\\admin`,
  `/ethereum/${ID}/ext/admin#x`,
  `/ethereum/${ID}#`,
  `/ethereum/${ID}/ext/bc/{x}`,
  `/ethereum/${ID}/ext/a b`,
  `/ethereum/${ID}/ext/a+b`,
  `/ethereum/${ID}/ext/a\tb`,
  `/ethereum/${ID}/ext/a\u0000`,
  `/ethereum/${ID}/ext/ａdmin`,
  `/ethereum/${ID}/ext/\u2024\u2024/admin`,
  `/ethereum/${ID}/ext/é`,
  `/ethereum/${ID}/ext/a@b`,
  `/ethereum/user:pass@${ID}`,
  `http://rpc.example.org/ethereum/${ID}`,
  `HTTP://rpc.example.org/ethereum/${ID}`,
  `rpc.example.org:443`,
  `ethereum/${ID}`,
  `\\ethereum\\${ID}`,
  `/ethereum/${ID}?`,
  `/ethereum/${ID}??`,
  `/ethereum/${ID}?a=b?c=d`,
  `/ethereum/${ID}?a=%31`,
  `/ethereum/${ID}?a=/../x`,
  `/ethereum/${ID}?a=b#c`,
  `/ethereum/${ID}?a=é`,
  `/ethereum/${ID}?a[]=1`,
  `/ethereum?${ID}`,
  `/?/ethereum/${ID}`,
  `/ethereum/?${ID}`,
  `/ethereum/${ID}/${'a'.repeat(8192)}`,
  `/ethereum/${'a'.repeat(100_000)}`,
]

test.each(HOSTILE)('%j is rejected for every caller and configuration', (url) => {
  for (const places of [PLACES, { names: new Set<string>(), hosts: new Map<string, string>() }]) {
    for (const target of [url, url.replace('ethereum', 'nowhere')]) {
      expect(readTarget(target, 'rpc.example.org', places)).toMatchObject({ kind: 'unknown-route' })
    }
  }
})

test.each(['/', '//', `//${ID}`, `/${ID}//`, `/${ID}/ext/`, `/${ID}//ext/health`, `/../${ID}`, `/${ID}?`, '/?a=b'])(
  '%j is refused by host as well',
  (url) => {
    expect(read(url, 'avax.rpc.example.org')).toMatchObject({ kind: 'unknown-route' })
  },
)

test('what is taken holds plain characters alone, and put together it is what was sent', () => {
  const piece = fc.constantFrom(
    '/',
    '.',
    '..',
    '%',
    '\\',
    ';',
    '?',
    '=',
    '&',
    '#',
    'a',
    'ext',
    '~',
    ':',
    '-',
    'é',
    ' ',
    '{',
    '\u0000',
  )
  const url = fc.oneof(
    fc.string({ unit: piece }),
    fc.string({ unit: piece }).map((tail) => `/ethereum/${tail}`),
    fc.webUrl(),
    fc.string(),
  )
  fc.assert(
    fc.property(url, fc.constantFrom(undefined, 'avax.rpc.example.org'), (sent, host) => {
      const target = read(sent, host)

      if (target.kind === 'target') {
        const { network, endpointId, rest, query } = target
        const tail = `/${endpointId}${rest}${query === null ? '' : `?${query}`}`
        expect(sent.endsWith(tail)).toBe(true)
        expect(sent).toMatch(/^(?:\/[A-Za-z0-9._~:-]+)+\/?(?:\?[A-Za-z0-9._~:=&,-]+)?$/)
        expect(sent.slice(0, -tail.length)).toMatch(host === undefined ? /^\/[^/]+$/ : /^$/)
        expect(network === null).toBe(host === undefined && !PLACES.names.has(sent.slice(1, -tail.length)))
        // What everybody else's URL parser makes of it is the same.
        expect(new URL(sent, 'http://x').pathname + new URL(sent, 'http://x').search).toBe(sent)
      }
    }),
    { numRuns: 20_000 },
  )
})

describe('a route', () => {
  test.each([
    ['ethereum', '', { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }],
    ['ethereum', '/', { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }],
    ['avalanche', '', { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }],
    ['avalanche', '/', { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }],
    ['avalanche', '/ext/bc/C/rpc', { kind: 'rpc', allow: 'POST', surface: 'chain', to: { kind: 'rpc' } }],
    [
      'avalanche',
      '/ext/health',
      { kind: 'rpc', allow: 'POST', surface: 'health', to: { kind: 'path', path: '/ext/health' } },
    ],
    [
      'avalanche',
      '/ext/admin',
      { kind: 'rpc', allow: 'POST', surface: 'admin', to: { kind: 'path', path: '/ext/admin' } },
    ],
    ['avalanche', '/ext/my-chain/rpc', { kind: 'alias', allow: 'POST', path: 'my-chain/rpc' }],
    ['avalanche', '/ext/bc/C/admin', { kind: 'alias', allow: 'POST', path: 'bc/C/admin' }],
    ['multiversx', '/network/config', { kind: 'rest', allow: 'GET' }],
  ] as const)('of %s at %j is recognised', (family, rest, route) => {
    expect(readRoute(family, rest, null)).toEqual(route)
  })

  test.each([
    ['ethereum', '/ext/bc/C/rpc'],
    ['ethereum', '/ext/health'],
    ['ethereum', '/x'],
    ['avalanche', '/ext'],
    ['avalanche', '/EXT/health'],
    ['avalanche', '/block/0/by-nonce/1'],
    ['multiversx', ''],
    ['multiversx', '/'],
  ] as const)('of %s at %j is unknown', (family, rest) => {
    expect(readRoute(family, rest, null)).toMatchObject({ kind: 'unknown-route' })
  })

  test('takes no query but for REST', () => {
    for (const rest of ['', '/ext/health', '/ext/admin', '/ext/bc/C/rpc', '/ext/my-chain']) {
      expect(readRoute('avalanche', rest, 'a=b')).toMatchObject({ kind: 'unknown-route' })
    }
    expect(readRoute('ethereum', '', 'a=b')).toMatchObject({ kind: 'unknown-route' })
    expect(readRoute('multiversx', '/block/0/by-nonce/1', 'withTxs=true')).toMatchObject({ kind: 'rest' })
  })
})
