import { describe, expect, onTestFinished, test } from 'vitest'
import { until } from '../support/daemon.ts'
import { brief, GOOD, get, openHostile, post, type Talk } from './hostile-setting.ts'
import { startBareNode } from './nodes.ts'
import { ID } from './setting.ts'

const WALLET = `/ethereum/${ID}`
const HEAD = `POST ${WALLET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
const SIZE = GOOD.length.toString(16)
const CHUNKED = 'transfer-encoding: chunked\r\n'
const CHUNKS = `${SIZE}\r\n${GOOD}\r\n0\r\n\r\n`
/** A request to smuggle in behind another one. */
const SMUGGLED = post(`/avalanche/${ID}/ext/health`, '{"jsonrpc":"2.0","id":"smuggled","method":"health.health"}')

/** The beginning of a request that would end its connection, with these headers. */
const head = (...headers: string[]) =>
  `${HEAD}connection: close\r\n${headers.map((line) => `${line}\r\n`).join('')}\r\n`

describe('two ways to see where a request ends are none', () => {
  const LENGTH = `content-length: ${GOOD.length}`

  test.each<[string, string]>([
    ['a length and chunks', head(LENGTH, 'transfer-encoding: chunked') + CHUNKS],
    ['chunks and a length', head('transfer-encoding: chunked', LENGTH) + CHUNKS],
    [
      'a length, chunks, and a request in the rest',
      `${head('content-length: 4', 'transfer-encoding: chunked')}0\r\n\r\n`,
    ],
    ['two lengths', head(LENGTH, 'content-length: 5') + GOOD],
    ['the same length twice', head(LENGTH, LENGTH) + GOOD],
    ['two lengths in one header', head(`${LENGTH}, ${GOOD.length}`) + GOOD],
    ['a length with a sign', head(`content-length: +${GOOD.length}`) + GOOD],
    ['a negative length', head('content-length: -5') + GOOD],
    ['a length in hexadecimal', head('content-length: 0x2f') + GOOD],
    ['a length with a fraction', head(`${LENGTH}.0`) + GOOD],
    ['a length with an exponent', head('content-length: 5e1') + GOOD],
    ['a length with a blank in it', head('content-length: 4 7') + GOOD],
    ['a length of 2^64 and some', head('content-length: 18446744073709551663') + GOOD],
    ['an empty length', head('content-length:') + GOOD],
    ['a space before the colon of the length', head(`content-length : ${GOOD.length}`) + GOOD],
    ['a space before the colon of the chunks', head('transfer-encoding : chunked') + CHUNKS],
    ['a length folded into the next line', head('content-length:', ` ${GOOD.length}`) + GOOD],
    ['chunks folded into the next line', head('transfer-encoding:', ' chunked') + CHUNKS],
    ['a header folded into the next line', head('x-a: b', '\tc', LENGTH) + GOOD],
    ['xchunked', head('transfer-encoding: xchunked') + CHUNKS],
    ['chunked in quotes', head('transfer-encoding: "chunked"') + CHUNKS],
    ['a vertical tab before chunked', head('transfer-encoding: \x0bchunked') + CHUNKS],
    ['identity', head('transfer-encoding: identity') + GOOD],
    ['identity after chunked', head('transfer-encoding: chunked, identity') + CHUNKS],
    [
      'identity after chunked, in two headers',
      head('transfer-encoding: chunked', 'transfer-encoding: identity') + CHUNKS,
    ],
    ['a NUL in the name of a header', head('content\0-length: 5', LENGTH) + GOOD],
    ['a blank in the name of a header', head('content length: 5', LENGTH) + GOOD],
    ['a letter beyond ASCII in the name of a header', head('content-l\xe9ngth: 5', LENGTH) + GOOD],
    ['a header without a name', head(': 5', LENGTH) + GOOD],
    ['a header without a colon', head('x-a', LENGTH) + GOOD],
    ['a bare carriage return in a header', head(`x-a: b\rcontent-length: 5`, LENGTH) + GOOD],
    ['a NUL in a header', head('x-a: b\0', LENGTH) + GOOD],
  ])('%s: 400, and an end', async (_what, bytes) => {
    const { send, asked, expectUnharmed } = await openHostile()

    const told = await send(bytes + SMUGGLED)

    expect(told.map(brief)).toEqual(['400 -32600 null'])
    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test.each<[string, string, string]>([
    ['gzip within chunks', head('transfer-encoding: gzip, chunked') + CHUNKS, '400 -32600 null'],
    ['identity within chunks', head('transfer-encoding: identity, chunked') + CHUNKS, '400 -32600 null'],
    ['chunks within chunks', head('transfer-encoding: chunked, chunked') + CHUNKS, '400 -32600 null'],
    [
      'chunks named in two headers',
      head('transfer-encoding: chunked', 'transfer-encoding: chunked') + CHUNKS,
      '400 -32600 null',
    ],
    ['a header that only looks like that of chunks', head('transfer_encoding: chunked') + CHUNKS, '400 -32700 null'],
    ['a header that only looks like that of a length', head('content_length: 5') + GOOD, '400 -32700 null'],
  ])('%s: rejected, and the rest is not read as a request', async (_what, bytes, expected) => {
    const { send, asked, expectUnharmed } = await openHostile()

    expect((await send(bytes + SMUGGLED)).map(brief)).toEqual([expected])

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('the answer to a length with chunks does not depend on the version', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    const told = await send(`${head('transfer-encoding: chunked').replace('HTTP/1.1', 'HTTP/1.0')}${CHUNKS}${SMUGGLED}`)

    // RFC 9112, section 6.1: there are no chunks in HTTP/1.0.
    expect(told.map(brief)).toEqual(['400 -32600 null'])
    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('a second Host behind 2,500 other headers does not matter: so many headers are rejected first', async () => {
    const { send, asked } = await openHostile()

    const told = await send(head(...Array.from({ length: 2500 }, () => 'a: b'), 'host: eth.example.org', LENGTH) + GOOD)

    expect(told.map(brief)).toEqual(['400 -32600 1'])
    expect(told[0]!.headers.get('connection')).toBe('close')
    expect(told[0]!.body).toContain('200 headers')
    expect(asked).toEqual([])
  })

  test.each<[string, string]>([
    [
      'a body behind a GET',
      `GET /multiversx/${ID}/network/config HTTP/1.1\r\nhost: x\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n`,
    ],
    [
      'chunks behind a GET',
      `GET /multiversx/${ID}/network/config HTTP/1.1\r\nhost: x\r\n${CHUNKED}\r\n${SMUGGLED.length.toString(16)}\r\n`,
    ],
    [
      'a body behind an unknown route',
      `POST /ethereum/${ID}/x HTTP/1.1\r\nhost: x\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n`,
    ],
    [
      'a body behind a wrong endpoint_id',
      `POST /ethereum/${ID}x HTTP/1.1\r\nhost: x\r\ncontent-length: ${SMUGGLED.length}\r\n\r\n`,
    ],
    ['a body that is too large', `${HEAD}content-length: 100000\r\n\r\n`],
  ])('%s is not taken for a request', async (_what, bytes) => {
    const { open, asked, expectUnharmed } = await openHostile()
    const talk = open()

    talk.write(bytes + SMUGGLED)
    const [first, ...more] = await talk.until(1)
    talk.socket.end()
    await talk.closed()

    expect(first!.body).not.toContain('smuggled"')
    expect(more).toEqual([])
    expect(asked.filter(({ node }) => node === 'avalanche')).toEqual([])
    asked.length = 0
    await expectUnharmed()
  })
})

describe('chunks', () => {
  test.each<[string, string]>([
    ['of no number', `zz\r\n${GOOD}\r\n0\r\n\r\n`],
    ['of a negative size', `-1\r\n${GOOD}\r\n0\r\n\r\n`],
    ['with a sign', `+${SIZE}\r\n${GOOD}\r\n0\r\n\r\n`],
    ['in the notation of C', `0x${SIZE}\r\n${GOOD}\r\n0\r\n\r\n`],
    ['of 2^68', `fffffffffffffffff\r\n${GOOD}\r\n0\r\n\r\n`],
    ['without a size', `\r\n${GOOD}\r\n0\r\n\r\n`],
    ['longer than they say', `5\r\n${GOOD}\r\n0\r\n\r\n`],
    ['without an end of their own', `${SIZE}\r\n${GOOD}0\r\n\r\n`],
    ['with an extension of 20,000 characters', `${SIZE};${'a'.repeat(20_000)}\r\n${GOOD}\r\n0\r\n\r\n`],
    ['with a NUL in an extension', `${SIZE};a\0\r\n${GOOD}\r\n0\r\n\r\n`],
  ])('%s: 400, and an end', async (_what, bytes) => {
    const { send, asked, expectUnharmed } = await openHostile({ bodyLimitBytes: 2 ** 20 })

    expect((await send(head('transfer-encoding: chunked') + bytes + SMUGGLED)).map(brief)).toEqual(['400 -32600 null'])

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test.each<[string, string]>([
    ['', CHUNKS],
    [
      'of one byte each',
      `${GOOD.split('')
        .map((byte) => `1\r\n${byte}\r\n`)
        .join('')}0\r\n\r\n`,
    ],
    ['with extensions', `${SIZE};a=b;c="d"\r\n${GOOD}\r\n0;x\r\n\r\n`],
    ['with zeros before the size', `000${SIZE}\r\n${GOOD}\r\n000\r\n\r\n`],
    ['in capitals', `${SIZE.toUpperCase()}\r\n${GOOD}\r\n0\r\n\r\n`],
    ['with trailers, which say nothing', `${SIZE}\r\n${GOOD}\r\n0\r\nhost: y\r\nx-heartline-endpoint: z\r\n\r\n`],
  ])('that are valid are taken as what they carry: %s', async (_what, bytes) => {
    const { send, asked } = await openHostile()

    expect((await send(head('transfer-encoding: Chunked') + bytes)).map(brief)).toEqual(['200 result 1'])
    expect(asked.map(({ body }) => JSON.parse(body).method)).toEqual(['eth_chainId'])
  })

  test('with trailers that never end: 431', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    const told = await send(
      `${head('transfer-encoding: chunked')}${SIZE}\r\n${GOOD}\r\n0\r\n${'aaaa: bbbb\r\n'.repeat(5000)}`,
    )

    expect(told.map(brief)).toEqual(['431 -32600 null'])
    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

describe('lines that end with a line feed alone', () => {
  const LOOSE = [
    `POST ${WALLET} HTTP/1.1\nhost: x\ncontent-type: application/json\nconnection: close\ncontent-length: ${GOOD.length}\n\n${GOOD}`,
    `${HEAD}connection: close\r\ncontent-length: ${GOOD.length}\r\n\n${GOOD}`,
    `${HEAD}x-a: b\nconnection: close\r\ncontent-length: ${GOOD.length}\r\n\r\n${GOOD}`,
    `${head('transfer-encoding: chunked')}${SIZE}\n${GOOD}\r\n0\r\n\r\n`,
    `${head('transfer-encoding: chunked')}${SIZE}\r\n${GOOD}\n0\r\n\r\n`,
  ]

  test('are refused, or are one request: Node’s parsers differ in that, and never make two of it', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const bytes of LOOSE) {
      const told = (await send(bytes + SMUGGLED)).map(brief)

      expect(['400 -32600 null', '200 result 1']).toContain(told[0])
      expect(told).toHaveLength(1)
      expect(asked.splice(0).map(({ body }) => JSON.parse(body).method)).toEqual(
        told[0] === '200 result 1' ? ['eth_chainId'] : [],
      )
    }

    await expectUnharmed()
  })
})

describe('methods', () => {
  const UNWANTED = ['PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'PURGE', 'QUERY', 'M-SEARCH']
  const of = (method: string, target: string) => post(target, GOOD).replace('POST', method)

  test('JSON-RPC takes POST alone', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const method of [...UNWANTED, 'GET']) {
      const [told, ...more] = await send(of(method, WALLET))

      // One that this version of Node does not know is no HTTP to it.
      const isUnknown = method === 'QUERY' && told!.status === 400
      expect.soft(brief(told!), method).toBe(isUnknown ? '400 -32600 null' : '405 -32600 1')
      expect.soft(told!.headers.get('allow'), method).toBe(isUnknown ? undefined : 'POST')
      expect(more).toEqual([])
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('REST takes GET and HEAD alone', async () => {
    const { send, asked, expectUnharmed } = await openHostile()

    for (const method of [...UNWANTED.filter((name) => name !== 'QUERY'), 'POST']) {
      const [told] = await send(of(method, `/multiversx/${ID}/network/config`))

      expect.soft(brief(told!), method).toBe('405 rest bad_request')
      expect.soft(told!.headers.get('allow'), method).toBe('GET, HEAD')
    }

    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test.each(['evil.example.org:443', '127.0.0.1:1', 'x'])('CONNECT %s opens no tunnel', async (authority) => {
    const { send, asked, expectUnharmed } = await openHostile()

    const told = await send(`CONNECT ${authority} HTTP/1.1\r\nhost: ${authority}\r\n\r\n${SMUGGLED}`)

    expect(told.map(brief)).toEqual(['405 -32600 null'])
    expect(told[0]!.headers.get('allow')).toBe('POST, GET, HEAD')
    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test.each([
    [
      'a WebSocket',
      'connection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: x3JJHMbDL1EzLkh9GBhXDw==\r\n',
    ],
    [
      'HTTP/2 in the clear',
      'connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAARAAAAAAAIAAAAA\r\n',
    ],
    ['TLS', 'connection: Upgrade\r\nupgrade: TLS/1.2\r\n'],
  ])('an upgrade to %s is not made: it is the request that it is', async (_what, headers) => {
    const { open, asked, expectUnharmed } = await openHostile()
    const talk = open()

    talk.write(`${HEAD}${headers}content-length: ${GOOD.length}\r\n\r\n${GOOD}`)
    const told = await talk.until(1)

    expect(told.map(brief)).toEqual(['200 result 1'])
    expect(told[0]!.headers.get('upgrade')).toBeUndefined()
    expect(asked.map(({ line, headers: sent }) => [line, sent.upgrade])).toEqual([['POST /', undefined]])
    asked.length = 0
    await expectUnharmed()
  })

  test.each([1, 2])(
    'a request with Upgrade ends its connection: nothing after it is read, in %i segments',
    async (segments) => {
      const { open, asked, expectUnharmed } = await openHostile()
      const talk = open()
      const upgrade = `${HEAD}connection: Upgrade\r\nupgrade: websocket\r\ncontent-length: ${GOOD.length}\r\n\r\n`
      const text = `${upgrade}${GOOD}${post(WALLET, GOOD)}`

      if (segments === 1) talk.write(text)
      else {
        // The cut is within the first body.
        talk.write(text.slice(0, upgrade.length + 10))
        await new Promise((resolve) => setTimeout(resolve, 50))
        talk.write(text.slice(upgrade.length + 10))
      }
      const told = await talk.closed()

      expect(told.map(brief)).toEqual(['200 result 1'])
      expect(told[0]!.headers.get('connection')).toBe('close')
      expect(asked).toHaveLength(1)
      asked.length = 0
      await expectUnharmed()
    },
  )

  test('an expectation is met where it is 100-continue, and else not minded', async () => {
    const { send, asked } = await openHostile()

    expect((await send(post(WALLET, GOOD, 'expect: 100-continue\r\n'))).map(brief)).toEqual(['100', '200 result 1'])
    expect((await send(post(WALLET, GOOD, 'expect: 200-ok\r\n'))).map(brief)).toEqual(['200 result 1'])
    expect((await send(post(`${WALLET}x`, GOOD, 'expect: 100-continue\r\n'))).map(brief)).toEqual(['401 -32099 null'])
    expect(asked).toHaveLength(2)
  })
})

describe('many requests in one piece', () => {
  const numbered = (id: number, ending = '') => {
    const body = `{"jsonrpc":"2.0","id":${id},"method":"eth_getBlockByNumber","params":["0x${id}",false]}`
    return `${HEAD}${ending}content-length: ${body.length}\r\n\r\n${body}`
  }

  test('are answered one by one, in order, the bad among the good', async () => {
    const { send, asked } = await openHostile()
    const bad = `POST ${WALLET} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{`

    const told = await send(numbered(1) + bad + numbered(2) + numbered(3, 'connection: close\r\n') + numbered(4))

    expect(told.map(brief)).toEqual(['200 result 1', '400 -32700 null', '200 result 2', '200 result 3'])
    expect(asked).toHaveLength(3)
  })

  /** A node that answers on command. */
  async function held() {
    const waiting: (() => void)[] = []
    const node = await startBareNode((asked, response) => {
      waiting.push(() => response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":"0x1"}`))
    })
    return { node, go: () => waiting.splice(0).forEach((answer) => answer()) }
  }

  test('an unreadable request waits its turn: its answer is not taken for that of the request before', async () => {
    const { node, go } = await held()
    const { open, service } = await openHostile({ nodes: { ethereum: { family: 'ethereum', url: node.url } } })
    const talk = open()

    talk.write(`${numbered(1)}no HTTP\r\n\r\n`)
    await until(() => node.asked.length === 1, 'it is forwarded')
    // Time enough for the garbage to be read.
    const other = open()
    other.write('no HTTP\r\n\r\n')
    await other.closed()
    expect(talk.answers()).toEqual([])
    go()

    expect((await talk.closed()).map(brief)).toEqual(['200 result 1', '400 -32600 null'])
    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
  })

  test.each<[string, (talk: Talk) => unknown]>([
    ['with a reset', ({ socket }) => socket.resetAndDestroy()],
    ['with an end', ({ socket }) => socket.destroy()],
    ['with a tunnel and an end', ({ socket }) => socket.end('CONNECT x:1 HTTP/1.1\r\nhost: x\r\n\r\n')],
  ])('a caller that leaves %s cancels all of its requests, also those still waiting', async (_what, leave) => {
    const { node, go } = await held()
    const { open, service } = await openHostile({ nodes: { ethereum: { family: 'ethereum', url: node.url } } })
    const talk = open()
    talk.write(numbered(1) + numbered(2) + numbered(3))
    await until(() => node.asked.length === 3, 'all are forwarded')
    expect(service.report().requestsInFlight).toBe(3)

    leave(talk)
    await talk.closed()
    go()

    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
  })

  test('so does one that does not arrive in time', async () => {
    const { node, go } = await held()
    const { open, service } = await openHostile({
      nodes: { ethereum: { family: 'ethereum', url: node.url } },
      arrival: { headersMs: 3000, requestMs: 3000, checkEveryMs: 100 },
    })
    const talk = open()

    talk.write(`${numbered(1)}${HEAD}content-length: 100\r\n\r\n`)
    await until(() => node.asked.length === 1, 'it is forwarded')
    const other = open()
    other.write('POST')
    await other.closed()
    go()

    expect((await talk.closed()).map(brief)).toEqual(['200 result 1', '408 -32603 null'])
    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
  })

  test('after an answer that ends the connection nothing more is said, whatever comes', async () => {
    const { open, asked } = await openHostile()
    const talk = open()
    talk.write(`${HEAD}${CHUNKED}\r\n2000\r\n${' '.repeat(0x2000)}`)
    await talk.until(1)

    talk.write(`\r\nzz\r\n${SMUGGLED}`)

    expect((await talk.closed()).map(brief)).toEqual(['413 -32600 null'])
    expect(asked).toEqual([])
  })
})

describe('callers who leave', () => {
  test.each<[string, string, (talk: Talk) => void]>([
    ['within the headers', HEAD, ({ socket }) => socket.end()],
    ['within the body', `${HEAD}content-length: 100\r\n\r\n{"jsonrpc"`, ({ socket }) => socket.end()],
    ['within a chunk', `${HEAD}${CHUNKED}\r\n${SIZE}\r\n{"json`, ({ socket }) => socket.end()],
    ['before the last chunk', `${HEAD}${CHUNKED}\r\n${SIZE}\r\n${GOOD}\r\n`, ({ socket }) => socket.end()],
    ['with a reset', `${HEAD}content-length: 100\r\n\r\n{"jsonrpc"`, ({ socket }) => socket.resetAndDestroy()],
    ['with a reset within a chunk', `${HEAD}${CHUNKED}\r\n${SIZE}\r\n{"json`, ({ socket }) => socket.resetAndDestroy()],
  ])('%s cost no node anything, and leave nothing behind', async (_what, bytes, leave) => {
    const { open, asked, service, expectUnharmed } = await openHostile()
    const talk = open()
    talk.write(bytes)
    if (bytes.includes('\r\n\r\n')) await until(() => service.report().requestsInFlight === 1, 'it is at work')

    leave(talk)
    await talk.closed()

    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
    expect(asked).toEqual([])
    await expectUnharmed()
  })

  test('with a FIN behind a whole request are done with', async () => {
    const { open, service, expectUnharmed, asked } = await openHostile()
    const talk = open()

    talk.write(post(WALLET, GOOD))
    talk.socket.end()
    await talk.closed()

    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
    asked.length = 0
    await expectUnharmed()
  })
})

describe('with all the time in the world', () => {
  /** Long enough for a caller that sends everything at once, also on a busy machine. */
  const timeouts = { headersMs: 3000, requestMs: 4000, checkEveryMs: 100 }

  /** Writes a piece every 20 ms until the connection is closed. */
  async function drip(talk: Talk, piece: (turn: number) => string) {
    let turn = 0
    const timer = setInterval(() => {
      if (talk.socket.writable) talk.write(piece(turn++))
    }, 20)
    onTestFinished(() => clearInterval(timer))
    const told = await talk.closed()
    clearInterval(timer)
    return told.map(brief)
  }

  const DRIPS: readonly (readonly [string, string, (turn: number) => string])[] = [
    ['headers that never end', HEAD, (turn) => `x-${turn}: a\r\n`],
    ['a header that never ends', `${HEAD}x-a: `, () => 'a'],
    ['a request line that never ends', 'POST /ethereum/', () => 'a'],
    ['a request line that does not begin', '', () => '\r\n'],
    ['a body that never ends', `${HEAD}content-length: 4000\r\n\r\n`, () => ' '],
    ['chunks that never end', `${HEAD}${CHUNKED}\r\n`, () => '1\r\n \r\n'],
    ['a chunk that never ends', `${HEAD}${CHUNKED}\r\nfff\r\n`, () => ' '],
    ['a chunk extension that never ends', `${HEAD}${CHUNKED}\r\n1;`, () => 'a'],
    ['trailers that never end', `${HEAD}${CHUNKED}\r\n0\r\n`, (turn) => `x-${turn}: a\r\n`],
    ['nothing at all', '', () => ''],
  ]

  test('a request that never ends gets 408, and other callers are served meanwhile', { timeout: 120_000 }, async () => {
    const { open, asked, service, expectUnharmed } = await openHostile({ arrival: timeouts })

    const dripping = DRIPS.map(async ([what, bytes, piece]) => {
      const talk = open()
      talk.write(bytes)
      return [what, await drip(talk, piece)]
    })
    const other = open()
    other.write(post(WALLET, GOOD))
    expect((await other.closed()).map(brief)).toEqual(['200 result 1'])

    expect(await Promise.all(dripping)).toEqual(DRIPS.map(([what]) => [what, ['408 -32603 null']]))
    expect(asked.splice(0)).toHaveLength(1)
    await until(() => service.report().requestsInFlight === 0, 'nothing is at work')
    await expectUnharmed()
  })

  test.each([
    ['headers', HEAD, 'x-a: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'],
    ['one header', `${HEAD}x-a: `, 'a'.repeat(60)],
    ['a request line', 'POST /ethereum/', 'a'.repeat(60)],
  ])('as fast as they can, %s of more than 16 KiB: 431', async (_what, bytes, piece) => {
    const { send, asked, expectUnharmed } = await openHostile()

    expect((await send(bytes + piece.repeat(1000))).map(brief)).toEqual(['431 -32600 null'])

    expect(asked).toEqual([])
    await expectUnharmed()
  })
})

test('a GET and its answer may be followed by another on the same connection, whatever the first was', async () => {
  const { send, asked } = await openHostile()
  const config = `/multiversx/${ID}/network/config`
  const keeping = (target: string) => get(target).replace('connection: close\r\n', '')

  const told = await send(
    keeping(`${config}/x`) + keeping(`${config}?a=b`) + keeping(`/multiversx/${ID}x/y`) + get(config),
  )

  expect(told.map(brief)).toEqual([
    '404 rest bad_request',
    '400 rest bad_request',
    '401 rest unauthorized',
    '200 rest successful',
  ])
  expect(asked).toHaveLength(1)
})
