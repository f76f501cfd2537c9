import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Deadline } from '../../src/nodes/deadline.ts'
import { decode } from '../../src/nodes/decode.ts'
import { version } from '../../src/version.ts'
import { bundled } from '../support/bundled.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { addressOf, answer, bodyOf, failureOf, GET, nodeClient, POST, rawNode, send } from './support.ts'

const MIB = 1_048_576
const tooLarge = { kind: 'too-large', limitBytes: MIB }

describe('an answer', () => {
  test('is handed over with its status, its text, and the two headers that matter', async () => {
    const { url } = await rawNode((socket) =>
      socket.write(answer('{"a":1}', 'Date: Sat, 22 Nov 2025 13:13:23 GMT\r\nRETRY-AFTER: 7\r\n', '503 Busy')),
    )

    const sent = await send(nodeClient(), url)

    expect(sent).toMatchObject({
      ok: true,
      answer: {
        status: 503,
        body: Buffer.from('{"a":1}'),
        date: Date.parse('2025-11-22T13:13:23Z'),
        retryAfterMs: 7000,
      },
      requests: 1,
    })
  })

  test('may come in pieces of one byte', async () => {
    const whole = answer('{"a":"\u00e9"}', 'x: y\r\n')
    const { url } = await rawNode((socket) => {
      socket.setNoDelay(true)
      let at = 0
      const next = () => at < whole.length && socket.write(whole.subarray(at, ++at), () => setImmediate(next))
      next()
    })

    expect(bodyOf(await send(nodeClient(), url))).toBe('{"a":"\u00e9"}')
  })

  test('may be chunked, follow informational ones, or end with its connection', async () => {
    const bodies = [
      'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
      'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}',
      'HTTP/1.0 200 OK\r\n\r\n{}',
    ]
    for (const body of bodies) {
      const { url } = await rawNode((socket) => socket.end(body))
      expect(bodyOf(await send(nodeClient(), url))).toBe('{}')
    }
  })

  test('that redirects is handed over, not followed', async () => {
    const node = await rawNode((socket) => socket.write(answer('', 'location: /elsewhere\r\n', '302 Found')))

    const sent = await send(nodeClient(), node.url)

    expect(sent).toMatchObject({ ok: true, answer: { status: 302 } })
    expect(node.accepted()).toBe(1)
  })
})

describe('a request', () => {
  test('names us, asks for no compression, and carries the configured headers', async () => {
    let seen = ''
    const { url } = await rawNode((socket, request) => {
      seen = request
      socket.write(answer('{}'))
    })
    const address = addressOf(`${url}/KEY`, { headers: { 'X-Api-Key': 'k', 'user-agent': 'mine' } })

    await send(nodeClient(), address, { request: POST })

    expect(seen).toContain('POST /KEY HTTP/1.1\r\n')
    expect(seen).toContain('x-api-key: k\r\n')
    expect(seen).toContain('user-agent: mine\r\n')
    expect(seen).toContain('accept-encoding: identity\r\n')
    expect(seen).toContain('content-type: application/json\r\n')
    expect(seen).toMatch(/\r\n\r\n\{"jsonrpc":"2.0","id":1\}$/)
  })

  test('names Heartline and its version where nothing else is configured', async () => {
    let seen = ''
    const { url } = await rawNode((socket, request) => {
      seen = request
      socket.write(answer('{}'))
    })

    await send(nodeClient(), url)

    expect(seen).toContain(`GET /head HTTP/1.1\r\nhost: ${url.slice(7)}\r\n`)
    expect(seen).toContain(`user-agent: heartline/${version}\r\n`)
  })
})

describe('every way of failing is one kind', () => {
  test('the port is closed', async () => {
    const server = createServer()
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as { port: number }
    await new Promise((resolve) => server.close(resolve))

    expect(failureOf(await send(nodeClient(), `http://127.0.0.1:${port}`))).toEqual({ kind: 'refused' })
  })

  test.each([
    ['reset before any answer', 'reset'],
    ['closed before any answer', 'close'],
  ] as const)('%s', async (_name, how) => {
    const node = await rawNode((socket) => (how === 'reset' ? socket.resetAndDestroy() : socket.end()))

    expect(failureOf(await send(nodeClient(), node.url))).toEqual({ kind: 'reset' })
    expect(node.accepted()).toBe(1)
  })

  test.each([
    ['within the status line', 'HTTP/1.1 20'],
    ['within the headers', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a"'],
    ['within a chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"a"'],
    [
      'within a chunk, before closing',
      'HTTP/1.1 200 OK\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"a"',
    ],
    ['within the body, before closing', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{"a"'],
  ])('closed %s', async (_name, bytes) => {
    const closing = await rawNode((socket) => socket.end(bytes))

    expect(failureOf(await send(nodeClient(), closing.url))).toEqual({ kind: 'truncated' })
  })

  test('reset within the body', async () => {
    const { url } = await rawNode((socket) =>
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"a"', () =>
        setImmediate(() => socket.resetAndDestroy()),
      ),
    )

    expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'truncated' })
  })

  test.each([
    ['garbage', '\u0000\u0001garbage\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2p1\r\n'],
    ['a bad status line', 'HTTP/9.9 abc\r\n\r\n'],
    ['a bad chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n'],
    ['two equal lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 2\r\n\r\n{}'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}'],
  ])('not HTTP: %s', async (_name, bytes) => {
    const { url } = await rawNode((socket) => socket.write(bytes))

    expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'not-http' })
  })

  test.each([
    ['one of 20 kB', `x: ${'y'.repeat(20_000)}\r\n`],
    ['ten thousand small ones', Array.from({ length: 10_000 }, (_, at) => `x-${at}: y\r\n`).join('')],
  ])('too many headers: %s', async (_name, headers) => {
    const { url } = await rawNode((socket) => socket.write(answer('{}', headers)))

    expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'headers-too-large' })
  })

  test('a gibibyte is cut at the limit, and costs no memory', async () => {
    let written = 0
    const chunk = Buffer.alloc(65_536, 0x20)
    const { url } = await rawNode((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n')
      const more = (): void => {
        while (!socket.destroyed && written < 1024 * MIB) {
          written += chunk.length
          if (!socket.write(chunk)) return
        }
      }
      socket.on('drain', more)
      more()
    })
    const before = process.memoryUsage.rss()

    const sent = await send(nodeClient(), url)

    expect(failureOf(sent)).toEqual(tooLarge)
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * MIB)
    expect(written).toBeLessThan(32 * MIB)
  })

  test('one byte more than the limit is too large, the limit itself is not', async () => {
    for (const size of [MIB, MIB + 1]) {
      const { url } = await rawNode((socket) => socket.write(answer(Buffer.alloc(size, 0x20))))
      const sent = await send(nodeClient(), url)
      if (size === MIB) expect(bodyOf(sent)).toHaveLength(MIB)
      else expect(failureOf(sent)).toEqual(tooLarge)
    }
  })

  test('an unknown host name', async () => {
    const lookup = (_host: string, _options: object, done: (error: Error) => void): void =>
      done(Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' }))
    const client = nodeClient({ lookup: lookup as never })

    expect(failureOf(await send(client, 'http://node.invalid:1'))).toEqual({ kind: 'dns', code: 'ENOTFOUND' })
  })

  test('no file descriptor left: that is our own fault, never the node’s', async () => {
    const script = await bundled(fileURLToPath(new URL('out-of-files.ts', import.meta.url)))

    const told = execFileSync('sh', ['-c', `ulimit -n 100; exec "${process.execPath}" "${script}"`], {
      encoding: 'utf8',
    })

    expect(JSON.parse(told)).toMatchObject({ ok: false, failure: { kind: 'local-resources', code: 'EMFILE' } })
  })
})

describe('the deadline', () => {
  test.each([
    ['accepts and never answers', ''],
    ['drips its headers', 'HTTP/1.1 200 OK\r\nx'],
    ['drips its body', 'HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n{'],
    ['never ends its chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n'],
  ])('ends a node that %s, and its connection with it', async (_name, bytes) => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    const node = await rawNode((socket) => socket.write(bytes, () => setImmediate(tellAsked)))
    const sent = send(nodeClient(), node.url, { clock, afterMs: 5000 })
    await asked

    await clock.advance(5000)

    expect(failureOf(await sent)).toEqual({ kind: 'timeout', afterMs: 5000 })
    await node.closed
  })

  test('ends a TLS handshake that stalls', async () => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    const node = await rawNode(() => tellAsked())
    const sent = send(nodeClient(), node.url.replace('http:', 'https:'), { clock, afterMs: 5000 })
    await asked

    await clock.advance(5000)

    expect(failureOf(await sent)).toEqual({ kind: 'timeout', afterMs: 5000 })
    await node.closed
  })

  test('ends the opening of a connection, too', async () => {
    const clock = createFakeClock()
    let tellAsked: () => void = () => {}
    const asked = new Promise<void>((resolve) => {
      tellAsked = resolve
    })
    const sent = send(nodeClient({ lookup: () => tellAsked() }), 'http://node.invalid:1', { clock, afterMs: 5000 })
    await asked

    await clock.advance(5000)

    expect(failureOf(await sent)).toEqual({ kind: 'timeout', afterMs: 5000 })
  })

  test('ends the waiting for a connection, and leaves the others alone', async () => {
    const clock = createFakeClock()
    const node = await rawNode(() => {})
    const client = nodeClient({ maxConnections: 1 })
    const first = send(client, node.url, { clock, afterMs: 9000 })
    const second = send(client, node.url, { clock, afterMs: 5000 })

    await clock.advance(5000)

    expect(failureOf(await second)).toEqual({ kind: 'timeout', afterMs: 5000 })
    await clock.advance(4000)
    expect(failureOf(await first)).toEqual({ kind: 'timeout', afterMs: 9000 })
    expect(node.accepted()).toBeLessThanOrEqual(1)
  })
})

describe('a compressed answer', () => {
  const json = JSON.stringify({ block: 'x'.repeat(500) })

  test.each([
    ['gzip', gzipSync(json)],
    ['X-GZIP', gzipSync(json)],
    ['deflate', deflateSync(json)],
    ['br', brotliCompressSync(json)],
    ['identity', Buffer.from(json)],
  ])('is decoded although not requested (%s)', async (encoding, body) => {
    const { url } = await rawNode((socket) => socket.write(answer(body, `Content-Encoding: ${encoding}\r\n`)))

    expect(bodyOf(await send(nodeClient(), url))).toBe(json)
  })

  test.each([
    ['gzip', gzipSync(Buffer.alloc(64 * MIB))],
    ['br', brotliCompressSync(Buffer.alloc(64 * MIB))],
  ])('that is a bomb is cut at the limit (%s)', async (encoding, body) => {
    const { url } = await rawNode((socket) => socket.write(answer(body, `content-encoding: ${encoding}\r\n`)))
    const before = process.memoryUsage.rss()

    expect(failureOf(await send(nodeClient(), url))).toEqual(tooLarge)
    expect(process.memoryUsage.rss() - before).toBeLessThan(50 * MIB)
  })

  test.each([
    ['nested', 'gzip, gzip', gzipSync(gzipSync(json))],
    ['unknown', 'zstd', Buffer.from(json)],
    ['broken', 'gzip', Buffer.from(json)],
    ['cut off', 'gzip', gzipSync(json).subarray(0, 20)],
    ['__proto__', '__proto__', Buffer.from(json)],
  ])('that cannot be undone is refused: %s', async (_name, encoding, body) => {
    const { url } = await rawNode((socket) => socket.write(answer(body, `content-encoding: ${encoding}\r\n`)))

    expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'bad-encoding' })
  })
})

describe('an answer costs no more than its bytes', () => {
  /** The line of a chunk of 1 KiB that is nearly as long as the chunk. */
  const EXTENDED = `400;${'x'.repeat(1000)}\r\n`
  const chunks = (head: string, one: string, count: number) =>
    `HTTP/1.1 200 OK\r\n${head}transfer-encoding: chunked\r\n\r\n${one.repeat(count)}0\r\n\r\n`

  test.each([
    ['1 MiB in chunks of one byte', chunks('', '1\r\nx\r\n', MIB)],
    ['a chunk line of 4 MB', chunks('', `1;${'a'.repeat(4_000_000)}\r\nx\r\n`, 1)],
    ['chunk lines of 16,000 blanks', chunks('', `1${' '.repeat(16_000)}\r\nx\r\n`, 200)],
    ['100,000 informational answers', 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100_000)],
    ['trailers without end', `${chunks('', '1\r\nx\r\n', 1).slice(0, -2)}${'x: y\r\n'.repeat(400_000)}`],
  ])('%s: refused early, and its connection closed', async (_name, bytes) => {
    const node = await rawNode((socket) => socket.write(bytes))
    const client = nodeClient()
    await send(client, node.url)
    // The least of several: other work of this machine only ever adds to it.
    let least = Number.POSITIVE_INFINITY
    for (let attempt = 0; attempt < 3; attempt++) {
      const before = process.cpuUsage()

      const sent = await send(client, node.url)

      least = Math.min(least, process.cpuUsage(before).user)
      expect(['headers-too-large', 'not-http']).toContain((failureOf(sent) as { kind: string }).kind)
    }
    expect(least).toBeLessThan(500_000)
    await node.closed
  })

  test('a node that goes on sending tiny chunks is left after a thousand of them', async () => {
    const chunk = '1\r\n \r\n'
    const node = await rawNode((socket) => socket.write(chunks('', chunk, 1100).slice(0, -'0\r\n\r\n'.length)))

    expect(failureOf(await send(nodeClient(), node.url))).toEqual({ kind: 'headers-too-large' })
    await node.closed
  })

  test.each([
    ['1,015 chunks of one byte', chunks('', '1\r\n \r\n', 1015), true],
    ['1,016 chunks of one byte', chunks('', '1\r\n \r\n', 1016), false],
    ['1 MiB in chunks of 64 bytes', chunks('', `40\r\n${' '.repeat(64)}\r\n`, MIB / 64), true],
  ])('at most 1,000 chunks are taken, and one more for each 64 bytes: %s', async (_name, bytes, isTaken) => {
    const { url } = await rawNode((socket) => socket.write(bytes))

    expect((await send(nodeClient(), url)).ok).toBe(isTaken)
  })

  test.each([
    ['128 KiB before the body', 0, 131_072, true],
    ['more than 128 KiB and the body', 0, 131_072 + 5, false],
    ['a body of 512 KiB, the same again, and 32 KiB', 512, MIB + 32_768, true],
    ['a body of 512 KiB, the same again, and more than 128 KiB', 512, MIB + 131_072 + 1, false],
  ])('besides its body at most as many bytes and 128 KiB are taken: %s', async (_name, kib, total, isTaken) => {
    const ending = kib === 0 ? answer('{}').toString() : chunks('', `${EXTENDED}${' '.repeat(1024)}\r\n`, kib)
    const hint = (length: number) => `HTTP/1.1 103 ${'x'.repeat(length - 17)}\r\n\r\n`
    const before = total - ending.length
    const bytes = hint(1024).repeat(Math.floor(before / 1024) - 1) + hint(1024 + (before % 1024)) + ending
    const node = await rawNode((socket) => socket.write(bytes))

    expect(bytes).toHaveLength(total)
    expect((await send(nodeClient(), node.url)).ok).toBe(isTaken)
  })

  test('a long answer in chunks of usual size is taken', async () => {
    const { url } = await rawNode((socket) => socket.write(chunks('', `400\r\n${'x'.repeat(1024)}\r\n`, 1024)))

    expect(bodyOf(await send(nodeClient(), url))).toHaveLength(MIB)
  })

  test('decompression of a bomb ends with the deadline', async () => {
    const clock = createFakeClock()
    const deadline = new Deadline(clock, 5000, new AbortController().signal)

    const decoding = decode(gzipSync(Buffer.alloc(64 * MIB)), 'gzip', 1024 * MIB, deadline)
    await clock.advance(5000)

    expect(await decoding).toEqual({ kind: 'timeout', afterMs: 5000 })
  })
})

describe('the connection of an answer that is not quite HTTP/1.1', () => {
  test.each([
    [
      'HTTP/1.0 with chunks',
      'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['HTTP/1.0 that stays open', 'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\n{}'],
    [
      'bytes behind it',
      'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n{1}',
    ],
    ['a body to 204', 'HTTP/1.1 204 No Content\r\n\r\n{}'],
  ])('is closed, and no other request is sent over it: %s', async (_name, bytes) => {
    const node = await rawNode((socket) => socket.write(bytes))
    const client = nodeClient()

    const first = await send(client, node.url)
    const second = await send(client, node.url)

    expect(bodyOf(second)).toBe(bodyOf(first))
    expect(node.accepted()).toBe(2)
  })

  test('is closed for bytes that come when nothing was asked', async () => {
    const node = await rawNode((socket) =>
      socket.write(answer('{}'), () => setTimeout(() => socket.write(answer('{"forged":1}')), 20)),
    )
    const client = nodeClient()
    await send(client, node.url)
    await node.closed

    expect(bodyOf(await send(client, node.url))).toBe('{}')
    expect(node.accepted()).toBe(2)
  })

  test.each(['gzip', 'gzip, chunked', 'chunked, chunked', 'identity'])(
    'is not read on: transfer-encoding %s',
    async (coding) => {
      const { url } = await rawNode((socket) =>
        socket.end(`HTTP/1.1 200 OK\r\ntransfer-encoding: ${coding}\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
      )

      expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'not-http' })
    },
  )
})

describe('a deep answer', () => {
  test('is refused before it is parsed', async () => {
    const { url } = await rawNode((socket) => socket.write(answer(`  ${'['.repeat(100_000)}${']'.repeat(100_000)}`)))

    expect(failureOf(await send(nodeClient(), url))).toEqual({ kind: 'too-deep', limit: 64 })
  })

  test('that is not JSON is left to the reader', async () => {
    const { url } = await rawNode((socket) => socket.write(answer(`<script>${'['.repeat(100)}`)))

    expect(bodyOf(await send(nodeClient(), url))).toContain('<script>')
  })
})

describe('connections', () => {
  test('are kept for the next request', async () => {
    const node = await rawNode((socket) => socket.write(answer('{}')))
    const client = nodeClient()

    for (let poll = 0; poll < 5; poll++) await send(client, node.url)

    expect(node.accepted()).toBe(1)
  })

  test('are no more than allowed: the others wait for a free one', async () => {
    const node = await rawNode((socket) => setImmediate(() => socket.write(answer('{}'))))
    const client = nodeClient({ maxConnections: 2 })

    const all = await Promise.all(Array.from({ length: 20 }, () => send(client, node.url)))

    expect(all.every(({ ok }) => ok)).toBe(true)
    expect(node.accepted()).toBe(2)
  })

  test('that fail make room for those who wait', async () => {
    const node = await rawNode((socket) => socket.resetAndDestroy())
    const client = nodeClient({ maxConnections: 1 })

    const all = await Promise.all(Array.from({ length: 5 }, () => send(client, node.url)))

    expect(all.map(failureOf)).toEqual(Array.from({ length: 5 }, () => ({ kind: 'reset' })))
  })

  test('that are waited for cost the node no latency', async () => {
    const clock = createFakeClock()
    const held: Socket[] = []
    let tellHeld: () => void = () => {}
    const firstHeld = new Promise<void>((resolve) => {
      tellHeld = resolve
    })
    const node = await rawNode((socket) => {
      if (held.push(socket) > 1) socket.write(answer('{}'))
      else tellHeld()
    })
    const client = nodeClient({ clock, maxConnections: 1 })
    const first = send(client, node.url, { clock })
    const second = send(client, node.url, { clock })
    await firstHeld

    await clock.advance(3000)
    held[0]?.write(answer('{}'))

    expect(await first).toMatchObject({ ok: true, waitedMs: 0 })
    expect(await second).toMatchObject({ ok: true, waitedMs: 3000 })
  })

  test('can be raised at any time: a waiting request gets one at once', async () => {
    let requests = 0
    let tellAll: () => void = () => {}
    const allAsked = new Promise<void>((resolve) => {
      tellAll = resolve
    })
    const sockets: Socket[] = []
    const node = await rawNode((socket) => {
      sockets.push(socket)
      if (++requests === 3) tellAll()
    })
    const client = nodeClient({ maxConnections: 1 })
    const all = Array.from({ length: 3 }, () => send(client, node.url))

    client.limit(3)
    await allAsked
    for (const socket of sockets) socket.write(answer('{}'))

    expect((await Promise.all(all)).every(({ ok }) => ok)).toBe(true)
    expect(node.accepted()).toBe(3)
  })

  test('may become fewer at any time: those too many are closed', async () => {
    const node = await rawNode((socket, _request, connection) =>
      setImmediate(() => socket.write(answer(`{"on":${connection}}`))),
    )
    const client = nodeClient({ maxConnections: 4 })
    const burst = () => Promise.all(Array.from({ length: 12 }, () => send(client, node.url)))
    await burst()

    client.limit(1)
    const sent = await burst()

    await node.closed
    expect(sent.every(({ ok }) => ok)).toBe(true)
    expect(new Set(sent.map(bodyOf)).size).toBe(1)
    expect(node.accepted()).toBe(4)
  })

  test('that are busy when they become too many are closed as soon as they are free', async () => {
    let tellAll: () => void = () => {}
    const allAsked = new Promise<void>((resolve) => {
      tellAll = resolve
    })
    const sockets: Socket[] = []
    const node = await rawNode((socket, _request, connection) => {
      if (sockets.push(socket) > 3) socket.write(answer(`{"on":${connection}}`))
      if (sockets.length === 3) tellAll()
    })
    const client = nodeClient({ maxConnections: 3 })
    const burst = () => Promise.all(Array.from({ length: 3 }, () => send(client, node.url)))
    const busy = burst()
    await allAsked

    client.limit(1)
    for (const socket of sockets) socket.write(answer('{}'))
    await busy
    const sent = await burst()

    expect(new Set(sent.map(bodyOf)).size).toBe(1)
    expect(node.accepted()).toBe(3)
  })

  test('are replaced after ten minutes, without an effect on requests', async () => {
    const clock = createFakeClock()
    const node = await rawNode((socket, _request, connection) => socket.write(answer(`${connection}`)))
    const client = nodeClient({ clock, maxConnections: 1 })
    const connections: unknown[] = []
    const ask = async (times: number) => {
      const sent = await Promise.all(Array.from({ length: times }, () => send(client, node.url)))
      connections.push(...sent.map((one) => Number(bodyOf(one))))
    }

    await ask(1)
    await clock.advance(600_000)
    await ask(1)
    await clock.advance(1)
    await ask(3)
    await node.closed

    expect(connections).toEqual([1, 1, 1, 2, 2])
    expect(node.accepted()).toBe(2)
  })

  test('are shared only by addresses with the same trust and host', () => {
    const keyOf = (...args: Parameters<typeof addressOf>) => addressOf(...args).connectionKey

    expect(keyOf('https://node:1/a')).toBe(keyOf('https://node:1/b', { headers: { 'x-key': 'k' } }))
    expect(keyOf('https://node:1/a')).not.toBe(keyOf('https://node:1/a', { insecure: true }))
    expect(keyOf('https://node:1/a')).not.toBe(keyOf('https://node:1/a', { ca: 'pem' }))
    expect(keyOf('https://node:1/a')).not.toBe(keyOf('https://node:1/a', { headers: { Host: 'other' } }))
  })

  test('that are no longer needed are closed', async () => {
    const node = await rawNode((socket) => socket.write(answer('{}')))
    const client = nodeClient()
    await send(client, node.url)

    client.retain([])

    await node.closed
  })
})

describe('a connection that the node closes just as we ask', () => {
  test.each(['reset', 'close'] as const)('costs nothing: we ask once more, on a new one (%s)', async (how) => {
    let requests = 0
    const node = await rawNode((socket, _request, connection) => {
      requests++
      if (connection > 1 || requests === 1) socket.write(answer('{}'))
      else if (how === 'reset') socket.resetAndDestroy()
      else socket.end()
    })
    const client = nodeClient()
    await send(client, node.url, { request: POST })

    const sent = await send(client, node.url, { request: POST })

    expect(bodyOf(sent)).toBe('{}')
    expect(requests).toBe(3)
    expect(node.accepted()).toBe(2)
  })

  test('is sent again only once', async () => {
    let requests = 0
    const node = await rawNode((socket) => (++requests > 1 ? socket.resetAndDestroy() : socket.write(answer('{}'))))
    const client = nodeClient()
    await send(client, node.url)

    expect(failureOf(await send(client, node.url))).toEqual({ kind: 'reset' })
    expect(requests).toBe(3)
  })

  test('is not asked again once a byte of its answer has come', async () => {
    let requests = 0
    const node = await rawNode((socket) => (++requests > 1 ? socket.end('HTTP/1.1 2') : socket.write(answer('{}'))))
    const client = nodeClient()
    await send(client, node.url)

    expect(failureOf(await send(client, node.url))).toEqual({ kind: 'truncated' })
    expect(requests).toBe(2)
  })

  test('makes no error in a thousand requests to a node that closes after each third', async () => {
    let requests = 0
    const node = await rawNode((socket) => {
      const closes = ++requests % 3 === 0
      socket.write(answer('{}'), () => closes && socket.end())
    })
    const client = nodeClient()

    let failures = 0
    for (let poll = 0; poll < 1000; poll++) if (!(await send(client, node.url, { request: GET })).ok) failures++

    expect(failures).toBe(0)
  })
})

test('nothing that can go wrong shows the URL, its key or a header', async () => {
  const { url } = await rawNode((socket) => socket.write('garbage'))
  const address = addressOf(`${url}/topsecret`, { headers: { 'x-key': 'topsecret' } })
  const client = nodeClient()
  onTestFinished(() => client.close())

  const sent = await send(client, address)

  expect(JSON.stringify(sent)).not.toContain('topsecret')
})
