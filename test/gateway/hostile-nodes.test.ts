import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { Family } from '../../src/core/network.ts'
import { until } from '../support/daemon.ts'
import { brief, get, type HostileOptions, openHostile, post, type Told } from './hostile-setting.ts'
import { ADMIN_ID, ID } from './setting.ts'

interface Request {
  /** That of the JSON-RPC call. */
  readonly id: number
  readonly head: string
  readonly body: string
}

/** What the node puts on the wire: bytes (of a text one a character), or whatever it does to the socket. */
type Answering = (request: Request, socket: Socket) => string | Buffer | void

/** A node that is no HTTP server: what it says is what it says. */
async function startRawNode(answering: Answering) {
  const requests: Request[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).on('close', () => sockets.delete(socket))
    let text = ''
    socket.setEncoding('latin1').on('data', (chunk) => {
      text += String(chunk)
      for (;;) {
        const end = text.indexOf('\r\n\r\n')
        if (end === -1) return
        const head = text.slice(0, end)
        const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
        if (text.length < end + 4 + length) return
        const body = text.slice(end + 4, end + 4 + length)
        text = text.slice(end + 4 + length)
        const request = { id: Number(/"id":(\d+)/.exec(body)?.[1] ?? 0), head, body }
        requests.push(request)
        const answer = answering(request, socket)
        if (answer !== undefined) socket.write(typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer)
      }
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests }
}

async function over(family: Family, answering: Answering, options: HostileOptions = {}) {
  const node = await startRawNode(answering)
  const setting = await openHostile({ ...options, nodes: { [family]: { family, url: node.url } } })
  return { ...setting, requests: node.requests }
}

const BLOCK = '{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["0x1",false]}'
const askBlock = post(`/ethereum/${ID}`, BLOCK)
const askNonce = get(`/multiversx/${ID}/block/1/by-nonce/7`)

/** A whole answer; `length` and `headers` say what the test wants them to say. */
const http = (
  body: string | Buffer,
  headers = '',
  status = '200 OK',
  length: number | string = Buffer.from(body).length,
) =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\n${headers}${length === '' ? '' : `content-length: ${length}\r\n`}\r\n`,
      'latin1',
    ),
    Buffer.from(body),
  ])
const said = (id: number | string, result = '"0x1"') => `{"jsonrpc":"2.0","id":${id},"result":${result}}`
const rest = (data: string) => `{"data":${data},"error":"","code":"successful"}`
const chunked = (...pieces: string[]) =>
  `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${pieces.join('')}`
const piece = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`

/** One byte more than a Latin-1 text can say. */
const withBytes = (text: string, ...bytes: number[]) => {
  const [before = '', after = ''] = text.split('@')
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])
}

/** No answer of a node to JSON-RPC. */
const GARBAGE: readonly (readonly [string, Answering])[] = [
  ['nothing', () => http('')],
  ['a blank', () => http(' ')],
  ['HTML', () => http('<!DOCTYPE html><html><body>502 Bad Gateway</body></html>', 'content-type: text/html\r\n')],
  ['null', () => http('null')],
  ['a number', () => http('1')],
  ['a text', () => http('"0x1"')],
  ['a list', ({ id }) => http(`[${said(id)}]`)],
  ['an empty object', () => http('{}')],
  ['the id of another request', ({ id }) => http(said(id + 1))],
  ['the id as a text', ({ id }) => http(said(`"${id}"`))],
  ['the id with a fraction', ({ id }) => http(said(`${id}.0`))],
  ['the id with an exponent', ({ id }) => http(said(`${id}e0`))],
  ['no id', () => http('{"jsonrpc":"2.0","result":"0x1"}')],
  ['the id null', () => http(said('null'))],
  ['the id twice', ({ id }) => http(`{"id":${id},${said(id).slice(1)}`)],
  ['the id twice, once escaped', ({ id }) => http(`{"\\u0069d":7,${said(id).slice(1)}`)],
  ['two results', ({ id }) => http(`{"result":"0x2",${said(id).slice(1)}`)],
  ['two results, one escaped', ({ id }) => http(`{"r\\u0065sult":"0x2",${said(id).slice(1)}`)],
  ['two errors', ({ id }) => http(`{"id":${id},"error":{"code":1,"message":""},"error":{"code":2,"message":""}}`)],
  ['a result and an error', ({ id }) => http(`{"error":{"code":1,"message":"x"},${said(id).slice(1)}`)],
  ['neither result nor error', ({ id }) => http(`{"jsonrpc":"2.0","id":${id}}`)],
  ['an error that is a text', ({ id }) => http(`{"jsonrpc":"2.0","id":${id},"error":"x"}`)],
  ['half of it', ({ id }) => http(said(id).slice(0, -5))],
  ['more than all of it', ({ id }) => http(`${said(id)}}`)],
  ['two answers', ({ id }) => http(said(id) + said(id))],
  ['a result that closes what it did not open', ({ id }) => http(said(id, '"0x1"},{"id":2,"result":"forged"'))],
  ['a comment', ({ id }) => http(`${said(id)} // ok`)],
  ['a trailing comma', ({ id }) => http(said(id, '[1,]'))],
  ['NaN', ({ id }) => http(said(id, 'NaN'))],
  ['a bare word', ({ id }) => http(said(id, 'undefined'))],
  ['a control character in a text', ({ id }) => http(said(id, '"\n"'))],
  ['a NUL behind it', ({ id }) => http(`${said(id)}\0`)],
  ['a byte order mark', ({ id }) => http(`\ufeff${said(id)}`)],
  ['no UTF-8', ({ id }) => http(withBytes(said(id, '"@"'), 0xff))],
  ['a surrogate in three bytes', ({ id }) => http(withBytes(said(id, '"@"'), 0xed, 0xa0, 0x80))],
  ['100,000 levels', ({ id }) => http(said(id, '['.repeat(100_000) + ']'.repeat(100_000)))],
  ['100,000 levels that stay open', ({ id }) => http(said(id, '{"a":'.repeat(100_000)))],
]

/** No HTTP, or too much of it. */
const BROKEN: readonly (readonly [string, Answering])[] = [
  ['nothing, and an end', (_, socket) => void socket.end()],
  ['a reset', (_, socket) => void socket.resetAndDestroy()],
  ['half a status line, and an end', (_, socket) => void socket.end('HTTP/1.1 2')],
  ['headers, and an end', (_, socket) => void socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n')],
  ['half a body, and an end', ({ id }, socket) => void socket.end(http(said(id), '', '200 OK', 1000))],
  ['half a chunk, and an end', (_, socket) => void socket.end(chunked('ff\r\n{"jsonrpc"'))],
  ['no last chunk, and an end', ({ id }, socket) => void socket.end(chunked(piece(said(id))))],
  [
    'a reset within the body',
    ({ id }, socket) => {
      socket.write(http(said(id), '', '200 OK', 1000), () => socket.resetAndDestroy())
    },
  ],
  ['another protocol', () => 'SSH-2.0-OpenSSH_9.2p1\r\n'],
  ['a TLS alert', () => '\x15\x03\x01\x00\x02\x02\x46'],
  ['HTTP/0.9', ({ id }, socket) => void socket.end(said(id))],
  ['a status of no number', ({ id }) => http(said(id), '', 'OK OK')],
  ['a request for an answer', () => askBlock],
  ['two lengths', ({ id }) => http(said(id), 'content-length: 5\r\n')],
  ['the same length twice', ({ id }) => http(said(id), `content-length: ${said(id).length}\r\n`)],
  ['a length and chunks', ({ id }) => http(piece(said(id)) + piece(''), 'transfer-encoding: chunked\r\n', '200 OK', 5)],
  ['a negative length', ({ id }) => http(said(id), '', '200 OK', '-1')],
  ['a length of no number', ({ id }) => http(said(id), '', '200 OK', 'many')],
  ['a length that is too small', ({ id }) => http(said(id), '', '200 OK', 10)],
  [
    'a transfer coding that is not chunked',
    ({ id }, socket) => void socket.end(http(said(id), 'transfer-encoding: gzip\r\n', '200 OK', '')),
  ],
  [
    'two transfer codings',
    ({ id }) => http(piece(said(id)) + piece(''), 'transfer-encoding: gzip, chunked\r\n', '200 OK', ''),
  ],
  ['a body in 500,000 chunks of one byte', ({ id }) => chunked(piece('1').repeat(500_000), piece(said(id)), piece(''))],
  ['a chunk line of 1 MB', ({ id }) => chunked(`5;${'a'.repeat(1_000_000)}\r\n${said(id)}\r\n0\r\n\r\n`)],
  ['trailers of 1 MB', ({ id }) => chunked(piece(said(id)), `0\r\n${'x: y\r\n'.repeat(170_000)}\r\n`)],
  ['informational responses of 1 MB', () => 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(40_000)],
  ['a chunk of no size', ({ id }) => chunked(`zz\r\n${said(id)}\r\n0\r\n\r\n`)],
  ['a chunk of 2^68', ({ id }) => chunked(`fffffffffffffffff\r\n${said(id)}\r\n0\r\n\r\n`)],
  ['a chunk that is longer than it says', ({ id }) => chunked(`5\r\n${said(id)}\r\n0\r\n\r\n`)],
  ['a NUL in a header', ({ id }) => http(said(id), 'x-a: \0\r\n')],
  ['a header without a colon', ({ id }) => http(said(id), 'x-a\r\n')],
  ['a header folded into the next line', ({ id }) => http(said(id), 'x-a: b\r\n set-cookie: c\r\n')],
  [
    'a flood of headers',
    ({ id }) => http(said(id), Array.from({ length: 5000 }, (_, at) => `x-${at}: y\r\n`).join('')),
  ],
  ['one header of 20,000 characters', ({ id }) => http(said(id), `x-a: ${'y'.repeat(20_000)}\r\n`)],
  [
    'another protocol to switch to',
    () => 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
  ],
  ['gzip that was not requested', ({ id }) => http(gzipSync(said(id)), 'content-encoding: gzip\r\n')],
  ['gzip that is none', ({ id }) => http(said(id), 'content-encoding: gzip\r\n')],
  ['gzip that is cut off', ({ id }) => http(gzipSync(said(id)).subarray(0, -6), 'content-encoding: gzip\r\n')],
  ['gzip within gzip', ({ id }) => http(gzipSync(gzipSync(said(id))), 'content-encoding: gzip, gzip\r\n')],
  ['an unknown encoding', ({ id }) => http(said(id), 'content-encoding: x\r\n')],
  ['a gzip bomb', () => http(bomb(256), 'content-encoding: gzip\r\n')],
  [
    '100 MB',
    ({ id }, socket) =>
      pour(socket, `HTTP/1.1 200 OK\r\ncontent-length: 100000040\r\n\r\n{"jsonrpc":"2.0","id":${id},"result":"`, 100),
  ],
  [
    '100 MB in chunks',
    ({ id }, socket) => pour(socket, chunked(`7ffffff\r\n{"jsonrpc":"2.0","id":${id},"result":"`), 100),
  ],
  ['no end', (_, socket) => pour(socket, 'HTTP/1.1 200 OK\r\n\r\n', 1000)],
]

/** Statuses under which nothing is an answer. */
const STATUSES: readonly (readonly [string, Answering])[] = [
  ...['201 Created', '202 Accepted', '206 Partial Content', '500 Oops', '502 Bad Gateway', '503 Busy', '599 x'].map(
    (status): [string, Answering] => [status, ({ id }) => http(said(id), '', status)],
  ),
  ['204 No Content', () => http('', '', '204 No Content', '')],
  ['304 Not Modified', () => http('', '', '304 Not Modified', '')],
  ['404 in words', () => http('404 page not found', '', '404 Not Found')],
  ['a result under 404', ({ id }) => http(said(id), '', '404 Not Found')],
  ['a result under 401', ({ id }) => http(said(id), '', '401 Unauthorized')],
]

function bomb(mebibytes: number): Buffer {
  const member = gzipSync(Buffer.alloc(2 ** 20, ' '))
  return Buffer.concat(Array.from({ length: mebibytes }, () => member))
}

/** So many megabytes behind a beginning, as fast as they are taken. */
function pour(socket: Socket, beginning: string, megabytes: number): void {
  const megabyte = Buffer.alloc(1_000_000, 'a')
  let left = megabytes
  const more = () => {
    while (left > 0 && !socket.destroyed) {
      left--
      if (!socket.write(megabyte)) return
    }
  }
  socket.on('drain', more)
  socket.write(beginning)
  more()
}

/** None of what a node said of itself. */
function expectOnlyOurs([told]: readonly Told[]): void {
  expect([...told!.headers.keys()].toSorted()).toEqual(
    [
      'connection',
      'content-length',
      'content-type',
      'date',
      'x-heartline-attempts',
      'x-heartline-cache',
      ...['x-heartline-endpoint', 'x-heartline-height'].filter((name) => told!.headers.has(name)),
      'x-request-id',
    ].toSorted(),
  )
}

describe('a node that answers JSON-RPC with', () => {
  test.each([...GARBAGE, ...BROKEN, ...STATUSES])(
    '%s: 502, and the caller’s own id',
    async (_what, answering) => {
      const { send, requests } = await over('ethereum', answering)

      const told = await send(askBlock)

      expect(told.map(brief)).toEqual(['502 -32603 1'])
      expectOnlyOurs(told)
      expect(requests.length).toBeGreaterThan(0)
    },
    60_000,
  )

  test.each([...GARBAGE, ...BROKEN])(
    '%s to admin.alias: the outcome is unknown, and it is sent once',
    async (_what, answering) => {
      const { send, requests } = await over('avalanche', answering)

      const told = await send(
        post(
          `/avalanche/${ADMIN_ID}/ext/admin`,
          '{"jsonrpc":"2.0","id":1,"method":"admin.alias","params":{"endpoint":"bc/C","alias":"a"}}',
        ),
      )

      expect(told.map(brief)).toEqual(['504 -32603 1'])
      expect(told[0]!.body).toContain('outcome unknown')
      expect(requests).toHaveLength(1)
    },
    60_000,
  )
})

describe('a node that answers REST with', () => {
  const ENDING = '"error":"","code":"successful"}'

  test.each<readonly [string, Answering]>([
    ...BROKEN,
    ['nothing', () => http('')],
    ['HTML', () => http('<html>"code":"successful"}</html>')],
    ['HTML that ends well', () => http('<html></html>"code":"successful"}')],
    ['a list', () => http(`[${rest('{}')}]`)],
    ['no code', () => http('{"data":{},"error":""}')],
    ['a code that is no text', () => http('{"data":{},"error":"","code":0}')],
    ['garbage that ends well', () => http(`{"data":{garbage},${ENDING}`)],
    ['what does not close', () => http(`{"data":{"a":{},${ENDING}`)],
    ['what closes too much', () => http(`{"data":{}},${ENDING}`)],
    ['two documents', () => http(rest('{}') + rest('{}'))],
    ['a trailing comma', () => http(`{"data":[1,],${ENDING}`)],
    ['NaN', () => http(rest('NaN'))],
    ['a control character in a text', () => http(rest('"\n"'))],
    ['no UTF-8', () => http(withBytes(rest('"@"'), 0xff))],
    ['two codes', () => http(`{"code":"internal_issue","data":{},${ENDING}`)],
    ['two codes, one escaped', () => http(`{"c\\u006fde":"internal_issue","data":{},${ENDING}`)],
    ['data twice', () => http(`{"data":{},"data":{"a":1},${ENDING}`)],
    ['100,000 levels', () => http(rest('['.repeat(100_000) + ']'.repeat(100_000)))],
    ['"successful" under 503', () => http(rest('{}'), '', '503 Busy')],
    ['"successful" under 404', () => http(rest('{}'), '', '404 Not Found')],
    ['gin’s 404', () => http('404 page not found', '', '404 Not Found')],
  ])(
    '%s: 502',
    async (_what, answering) => {
      const { send, requests } = await over('multiversx', answering)

      const told = await send(askNonce)

      expect(told.map(brief)).toEqual(['502 rest internal_issue'])
      expectOnlyOurs(told)
      expect(requests.length).toBeGreaterThan(0)
    },
    60_000,
  )
})

describe('a node’s own bytes', () => {
  const RESULTS = [
    '90071992547409931234567890',
    '-0',
    '1e400',
    '0.1000',
    '{"b":1,"a":2,"b":3,"__proto__":{"x":1},"constructor":null}',
    '"\\u0000\\ud800\\/ </script> \u2028"',
    ' { "white" :\t[ 1 ,\r\n2 ] } ',
    '"ключ 😀"',
    '{"jsonrpc":"2.0","id":7,"error":{"code":1}}',
    '['.repeat(4000) + ']'.repeat(4000),
    'null',
    'false',
    '""',
  ]
  test.each(RESULTS.map((result) => [JSON.stringify(result.slice(0, 60)), result]))(
    '%s come through as they are',
    async (_what, result) => {
      const rpc = await over('ethereum', ({ id }) => http(said(id, result)))
      const rest200 = await over('multiversx', () => http(rest(`{"x":${result}}`)))
      const inUtf8 = Buffer.from(result).toString('latin1')

      // White space around a value is not a part of it.
      expect((await rpc.send(askBlock))[0]!.body).toBe(said(1, inUtf8.trim()))
      expect((await rest200.send(askNonce))[0]!.body).toBe(rest(`{"x":${inUtf8}}`))
    },
  )

  test('come without its headers, and its cookies are not sent back', async () => {
    const headers = [
      'set-cookie: a=b',
      'server: evil',
      'x-powered-by: evil',
      'location: http://evil.example.org/',
      'access-control-allow-origin: *',
      'x-heartline-endpoint: evil',
      'x-request-id: evil',
      'www-authenticate: Basic',
      'alt-svc: h3=":443"',
      'strict-transport-security: max-age=1',
      'link: <evil>; rel=preload',
      'refresh: 0; url=http://evil.example.org/',
      'keep-alive: timeout=1',
    ]
    const { send, requests } = await over('ethereum', ({ id }) =>
      http(said(id), headers.map((line) => `${line}\r\n`).join('')),
    )

    for (let turn = 0; turn < 2; turn++) {
      const told = await send(askBlock.replace('0x1', `0x${turn}`))
      expect(told.map(brief)).toEqual(['200 result 1'])
      expectOnlyOurs(told)
      expect(JSON.stringify([...told[0]!.headers])).not.toContain('evil')
    }
    expect(requests).toHaveLength(2)
    for (const { head } of requests) expect(head).not.toMatch(/cookie|evil/i)
  })

  test.each<[string, Answering]>([
    ['in chunks of one byte', ({ id }) => chunked(...said(id).split('').map(piece), '0\r\n\r\n')],
    [
      'with chunk extensions and trailers',
      ({ id }) => chunked(`${said(id).length.toString(16)};a=b\r\n${said(id)}\r\n0\r\nx-a: b\r\n\r\n`),
    ],
    ['ended by the end of the connection', ({ id }, socket) => void socket.end(http(said(id), '', '200 OK', ''))],
    ['of another content type', ({ id }) => http(said(id), 'content-type: text/html\r\n')],
    [
      'behind a hundred early hints',
      ({ id }) => 'HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'.repeat(100) + http(said(id)).toString(),
    ],
  ])('%s are an answer', async (_what, answering) => {
    const { send } = await over('ethereum', answering)

    const told = await send(askBlock)

    expect(told.map(brief)).toEqual(['200 result 1'])
    expectOnlyOurs(told)
  })
})

describe('a node that names our key in its error', () => {
  const headers = {
    'x-api-key': 'k3y-7f3a90cc41',
    'x-project': '123456789012',
    'x-token': 'abcdEFGH/ijklMNOP+qrstUVW1234==',
  }
  const refusing = (message: string) => `{"code":-32000,"message":"${message}"}`

  test.each([
    ['project k3y-7f3a90cc41 has no access', 'project [redacted] has no access'],
    ['PROJECT K3Y-7F3A90CC41', 'PROJECT [redacted]'],
    ['by 123456789012', 'by [redacted]'],
    ['execution reverted', 'execution reverted'],
    ['k3y-7f3a90\\u0063c41', '[redacted]'],
    ['k3y%2D7f3a90cc41', '[redacted]'],
    ['k3y&#45;7f3a90cc41', '[redacted]'],
    ['abcdEFGH\\/ijklMNOP+qrstUVW1234==', '[redacted]'],
    ['abcdEFGH/ijklMNOP\\u002bqrstUVW1234\\u003d\\u003d', '[redacted]'],
  ])('%s reaches callers as: %s', async (message, expected) => {
    const answering: Answering = ({ id }) => http(`{"jsonrpc":"2.0","id":${id},"error":${refusing(message)}}`)
    const { send } = await over('ethereum', answering, { headers })

    const [told] = await send(askBlock)

    expect([told!.status, told!.body]).toEqual([200, `{"jsonrpc":"2.0","id":1,"error":${refusing(expected)}}`])
  })

  test('and has it as a number has said nothing', async () => {
    const answering: Answering = ({ id }) => http(`{"jsonrpc":"2.0","id":${id},"error":{"code":1,"data":123456789012}}`)
    const { send } = await over('ethereum', answering, { headers })

    expect((await send(askBlock)).map(brief)).toEqual(['502 -32603 1'])
  })

  test('in the name of a member is redacted', async () => {
    const answering: Answering = ({ id }) =>
      http(`{"jsonrpc":"2.0","id":${id},"error":{"code":3,"message":"","data":{"k3y\\u002d7f3a90cc41":{"n":1}}}}`)
    const { send } = await over('ethereum', answering, { headers })

    const [told] = await send(askBlock)

    expect(told!.body).toBe('{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"","data":{"[redacted]":{"n":1}}}}')
  })

  test('is redacted over REST too', async () => {
    const said = '{"data":null,"error":"key k3y-7f3a90cc41","code":"bad_request"}'
    const { send } = await over('multiversx', () => http(said, '', '400 Bad Request'), { headers })

    const [told] = await send(askNonce)

    expect([told!.status, told!.body]).toEqual([400, said.replace('k3y-7f3a90cc41', '[redacted]')])
  })

  test('of two megabytes has said too much', async () => {
    const answering: Answering = ({ id }) =>
      http(`{"jsonrpc":"2.0","id":${id},"error":${refusing('x'.repeat(2_000_000))}}`)
    const { send } = await over('ethereum', answering, { headers })

    expect((await send(askBlock)).map(brief)).toEqual(['502 -32603 1'])
  })
})

describe('a node that sends callers elsewhere', () => {
  test.each(['301 Moved', '302 Found', '303 See Other', '307 Temporary', '308 Permanent'])(
    '%s: is not followed',
    async (status) => {
      const elsewhere = await startRawNode(({ id }) => http(said(id, '"stolen"')))
      const { send, requests } = await over('ethereum', ({ id }) =>
        http(said(id), `location: ${elsewhere.url}/\r\n`, status),
      )

      expect((await send(askBlock)).map(brief)).toEqual(['502 -32603 1'])

      expect(requests).toHaveLength(1)
      expect(elsewhere.requests).toEqual([])
    },
  )
})

describe('a node without an end', () => {
  const timed = { timeoutMs: 1500 }
  /** Writes a piece now and then until it is cut off. */
  const drip =
    (beginning: string, more: string): Answering =>
    (_, socket) => {
      socket.write(beginning)
      const timer = setInterval(() => socket.write(more), 20)
      socket.on('close', () => clearInterval(timer))
    }

  test.each<[string, Answering]>([
    ['that says nothing', () => {}],
    ['of status lines', drip('HTTP/1.1 ', '2')],
    ['of headers', drip('HTTP/1.1 200 OK\r\n', 'x: y\r\n')],
    ['of early hints', drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['of processing', drip('', 'HTTP/1.1 102 Processing\r\n\r\n')],
    ['of blanks behind a whole answer', drip('HTTP/1.1 200 OK\r\n\r\n{"jsonrpc":"2.0","id":1,"result":1}', ' ')],
    ['of chunks', drip(chunked(), '1\r\n \r\n')],
    ['of a chunk extension', drip(chunked('1;'), 'a')],
    ['of trailers', drip(chunked('0\r\n'), 'x: y\r\n')],
  ])('%s: 504 at the deadline', async (_what, answering) => {
    const { send } = await over('ethereum', answering, timed)

    const [told] = (await send(askBlock)).map(brief)

    // A parser may have enough of it before.
    expect(told).toMatch(/^(?:504|502) -32603 1$/)
  })
})

test('what nodes without an end have sent is forgotten when its callers have been told', {
  timeout: 120_000,
}, async () => {
  // Twice what one answer may have, to each.
  const patient = { timeoutMs: 60_000 }
  const { send } = await over('ethereum', (_, socket) => pour(socket, 'HTTP/1.1 200 OK\r\n\r\n', 64), patient)
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const held = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const before = held()

  const told = await Promise.all(
    Array.from({ length: 8 }, (_, at) => send(askBlock.replace('0x1', `0x${at.toString(16)}`))),
  )

  expect(told.flat().map(brief)).toEqual(told.map(() => '502 -32603 1'))
  // One answer may be on its way to being collected.
  await until(() => held() - before < 32 * 2 ** 20, 'it is forgotten', 60_000)
})
