import type { Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { NodeAddress } from '../../src/nodes/address.ts'
import { ConnectionBudget } from '../../src/nodes/connection-budget.ts'
import { type Connection, createConnectionPool } from '../../src/nodes/connection-pool.ts'
import { createNodeForwarder, type Forwarded, type NodeForwarder } from '../../src/nodes/forward.ts'
import { until } from '../support/daemon.ts'
import { addressOf, answer, nodeClient, rawNode, send } from './support.ts'

const POST = { method: 'POST', path: '/', body: '{"jsonrpc":"2.0","id":1}' } as const
const neverAborted = new AbortController().signal

function forwarder(maxConnections = 8): NodeForwarder {
  const made = createNodeForwarder({ clock: systemClock, maxConnections })
  onTestFinished(() => made.close())
  return made
}

function bodyOf(forwarded: Forwarded): string {
  return forwarded.ok ? forwarded.answer.body.toString() : JSON.stringify(forwarded)
}

describe('a forwarded request', () => {
  test('returns status, bytes, and requested headers', async () => {
    const { url } = await rawNode((socket) =>
      socket.write(
        answer('{"a":1}', 'Node-ID: NodeID-1\r\nretry-after: 7\r\ncontent-type: text/plain\r\n', '503 Busy'),
      ),
    )

    const forwarded = await forwarder().forward(addressOf(url), POST, 5000, neverAborted)

    if (!forwarded.ok) throw new Error(forwarded.failure.kind)
    const { status, body } = forwarded.answer
    expect([status, body.toString(), forwarded.answer.retryAfterMs()]).toEqual([503, '{"a":1}', 7000])
    expect(forwarded.answer.header('node-id')).toBe('NodeID-1')
    expect(forwarded.answer.header('content-type')).toBe('text/plain')
  })

  test('carries our headers and the configured ones, and none else', async () => {
    let seen = ''
    const { url } = await rawNode((socket, request) => {
      seen = request
      socket.write(answer('{}'))
    })

    await forwarder().forward(addressOf(`${url}/KEY`, { headers: { 'x-api-key': 'k' } }), POST, 5000, neverAborted)

    const names = new Set([...seen.matchAll(/^([\w-]+): /gm)].map(([, name]) => name))
    expect(seen).toMatch(/^POST \/KEY HTTP/)
    expect(names).toEqual(
      new Set([
        'accept',
        'accept-encoding',
        'connection',
        'content-length',
        'content-type',
        'host',
        'user-agent',
        'x-api-key',
      ]),
    )
  })

  test('follows no redirect', async () => {
    const node = await rawNode((socket) =>
      socket.write(answer('', 'location: /elsewhere\r\n', '307 Temporary Redirect')),
    )

    const forwarded = await forwarder().forward(addressOf(node.url), POST, 5000, neverAborted)

    expect(forwarded).toMatchObject({ ok: true, answer: { status: 307 } })
    expect(node.accepted()).toBe(1)
  })

  test('takes answers that no poll would', async () => {
    const large = Buffer.alloc(3 * 1_048_576, 'x')
    const { url } = await rawNode((socket) => socket.write(answer(large)))

    expect(bodyOf(await forwarder().forward(addressOf(url), POST, 5000, neverAborted))).toHaveLength(large.length)
  })

  test.each(['gzip', 'br', 'deflate', 'x'])(
    'refuses a compressed answer, as it asks for none: %s',
    async (encoding) => {
      const bomb = gzipSync(Buffer.alloc(40_000_000))
      const { url } = await rawNode((socket) => socket.write(answer(bomb, `content-encoding: ${encoding}\r\n`)))
      const before = process.memoryUsage().arrayBuffers

      const forwarded = await forwarder().forward(addressOf(url), POST, 10_000, neverAborted)

      expect(forwarded).toMatchObject({ ok: false, failure: { kind: 'bad-encoding' }, stage: 'body' })
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8_000_000)
    },
  )

  test('ends where an answer is larger than 32 MiB', async () => {
    const huge = await rawNode((socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-length: 40000000\r\n\r\n'))
    const stream = await rawNode((socket) => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n')
      const more = () => socket.writable && socket.write(Buffer.alloc(1_048_576), more)
      more()
    })

    const forwarded = await forwarder().forward(addressOf(stream.url), POST, 10_000, neverAborted)
    expect(forwarded).toMatchObject({ failure: { kind: 'too-large', limitBytes: 33_554_432 } })
    const announced = await forwarder().forward(addressOf(huge.url), POST, 300, neverAborted)
    expect(announced.ok).toBe(false)
  })
})

describe('memory for long answers that come in at once', () => {
  const MEBIBYTE = 2 ** 20
  const LENGTH = 12 * MEBIBYTE + 1

  /** Nodes that keep the last byte of a long answer to themselves. */
  async function longAnswers(maxIncomingBytes: number) {
    const sockets: Socket[] = []
    const { url } = await rawNode((socket, request) => {
      if (request.includes('short')) return socket.write(answer('{}'))
      sockets.push(socket)
      return socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${LENGTH}\r\n\r\n${'a'.repeat(LENGTH - 1)}`)
    })
    const nodes = createNodeForwarder({ clock: systemClock, maxConnections: 8, maxIncomingBytes })
    onTestFinished(() => nodes.close())
    const ask = (path = '/', withinMs = 60_000, caller: string | null = null) =>
      nodes.forward(addressOf(url), { ...POST, path, caller }, withinMs, new AbortController().signal)
    const finish = () => sockets.splice(0).forEach((socket) => void socket.write('a'))
    return { ask, finish, sockets }
  }

  test('is limited: those that do not fit wait, and short ones never do', async () => {
    const { ask, finish, sockets } = await longAnswers(16 * MEBIBYTE)

    const many = Array.from({ length: 4 }, () => ask())
    await until(() => sockets.length === 4, 'all are sent')
    await until(() => sockets.some(({ writableLength }) => writableLength === 0), 'the oldest one is received')
    expect(bodyOf(await ask('/short'))).toBe('{}')
    expect(sockets.filter(({ writableLength }) => writableLength > 0).length).toBeGreaterThan(0)
    finish()

    for (const forwarded of await Promise.all(many)) expect(bodyOf(forwarded)).toHaveLength(LENGTH)
    // The memory is free again.
    const again = ask()
    await until(() => sockets.length === 1, 'it is sent')
    finish()
    expect(bodyOf(await again)).toHaveLength(LENGTH)
  }, 120_000)

  test('is not what a node is late for', async () => {
    const { ask, sockets } = await longAnswers(MEBIBYTE)
    const oldest = ask('/', 20_000)
    await until(() => sockets[0]?.writableLength === 0, 'the oldest one is received')

    expect(await ask('/', 4000)).toMatchObject({ failure: { kind: 'timeout' }, stage: 'body', waited: true })

    sockets[0]?.write('a')
    expect(bodyOf(await oldest)).toHaveLength(LENGTH)
  })

  test('is shared by caller', async () => {
    const { ask, finish, sockets } = await longAnswers(36 * MEBIBYTE)
    // The oldest one may exceed the share of its caller: it comes first, so that the next ones count it.
    const hog = [ask('/', 60_000, 'hog')]
    await until(() => sockets[0]?.writableLength === 0, 'the oldest one is received')
    for (let count = 1; count < 4; count++) hog.push(ask('/', 60_000, 'hog'))
    await until(() => sockets.length === 4, 'they are sent')

    const other = ask('/', 60_000, 'other')
    await until(() => sockets[4]?.writableLength === 0, 'the answer to another caller is received')

    finish()
    for (const forwarded of await Promise.all([...hog, other])) expect(bodyOf(forwarded)).toHaveLength(LENGTH)
  }, 120_000)
})

describe('a large answer takes turns while it is received', () => {
  const BYTES = 5 * 2 ** 20
  const large = Buffer.from(Array.from({ length: BYTES / 8 }, (_, nth) => String(nth).padStart(8)).join(''))

  async function withTurns(nextTurn: (caller: string | null) => Promise<void> | null) {
    const { url } = await rawNode((socket, request) => {
      socket.write(answer(request.includes('short') ? 'short' : large))
    })
    const nodes = createNodeForwarder({ clock: systemClock, maxConnections: 8, nextTurn })
    onTestFinished(() => nodes.close())
    return async (path: string, withinMs = 20_000) =>
      nodes.forward(addressOf(url), { ...POST, path, caller: 'wallet' }, withinMs, new AbortController().signal)
  }

  test('and is complete', async () => {
    const asked: (string | null)[] = []
    const ask = await withTurns((caller) => {
      asked.push(caller)
      return asked.length % 3 === 0 ? null : setImmediate()
    })

    const all = await Promise.all([ask('/'), ask('/'), ask('/')])

    for (const forwarded of all) expect(bodyOf(forwarded)).toBe(large.toString())
    expect(new Set(asked)).toEqual(new Set(['wallet']))
    // One for each 64 KiB beyond the first mebibyte, in reads of up to 64 KiB.
    expect(asked.length).toBeGreaterThan(3 * 30)
    expect(asked.length).toBeLessThanOrEqual(3 * 64)
  })

  test('which is not the time of the node, and no short one waits for it', async () => {
    const ask = await withTurns(() => new Promise(() => {}))

    const waiting = ask('/', 4000)
    expect(bodyOf(await ask('/short'))).toBe('short')

    expect(await waiting).toMatchObject({ ok: false, failure: { kind: 'timeout' }, stage: 'body', waited: true })
  })

  // Usually nothing is left to read when the turn comes.
  test.each([
    ['with a length', (body: Buffer) => answer(body, 'connection: close\r\n'), 'end', 'whole'],
    ['that keeps connections', (body: Buffer) => answer(body), 'end', 'whole'],
    ['without a length', (body: Buffer) => withHead('connection: close\r\n', body), 'end', 'whole'],
    ['in chunks', (body: Buffer) => withHead(CHUNKED, chunk(body), '0\r\n\r\n'), 'end', 'whole'],
    ['within the chunks', (body: Buffer) => withHead(CHUNKED, chunk(body)), 'end', 'truncated'],
    ['before its length', (body: Buffer) => answer(body, 'connection: close\r\n').subarray(0, -1), 'end', 'truncated'],
    ['by a reset', (body: Buffer) => answer(body, 'connection: close\r\n').subarray(0, -1), 'reset', 'truncated'],
  ] as const)('and ends where the node closes the connection meanwhile: %s', async (_, bytesOf, close, expected) => {
    const body = Buffer.alloc(2 ** 20 + 2, 'x')
    let node: Socket | null = null
    const { url } = await rawNode((socket) => {
      node = socket
      socket.write(bytesOf(body))
    })
    const nextTurn = async () => {
      if (close === 'end') node?.end()
      else node?.resetAndDestroy()
      for (let iteration = 0; iteration < 100; iteration++) await setImmediate()
    }
    const nodes = createNodeForwarder({ clock: systemClock, maxConnections: 8, nextTurn })
    onTestFinished(() => nodes.close())

    const forwarded = await nodes.forward(addressOf(url), POST, 10_000, neverAborted)

    if (expected === 'whole') expect(bodyOf(forwarded)).toBe(body.toString())
    else expect(forwarded).toMatchObject({ ok: false, failure: { kind: 'truncated' }, stage: 'body' })
  })

  test('and leaves no byte of it to the next answer', async () => {
    const { url, accepted } = await rawNode((socket, request) => {
      if (request.includes('short')) socket.write(answer('short'))
      else socket.write(Buffer.concat([answer(large), answer('not asked for')]))
    })
    const nextTurn = () => setImmediate()
    const nodes = createNodeForwarder({ clock: systemClock, maxConnections: 1, nextTurn })
    onTestFinished(() => nodes.close())
    const ask = (path: string) => nodes.forward(addressOf(url), { ...POST, path }, 10_000, neverAborted)

    const both = await Promise.all([ask('/'), ask('/short')])

    expect(both.map(bodyOf)).toEqual([large.toString(), 'short'])
    expect(accepted()).toBe(2)
  })
})

const CHUNKED = 'transfer-encoding: chunked\r\nconnection: close\r\n'

function withHead(headers: string, ...body: (Buffer | string)[]): Buffer {
  return Buffer.concat([`HTTP/1.1 200 OK\r\n${headers}\r\n`, ...body].map((piece) => Buffer.from(piece)))
}

function chunk(bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')])
}

describe('the limit of connections to all origins', () => {
  async function origins(names: readonly string[], maxConnections = 8, maxTotalConnections = 12) {
    const nodes = createNodeForwarder({ clock: systemClock, maxConnections, maxTotalConnections })
    onTestFinished(() => nodes.close())
    const asked: Record<string, Socket[]> = {}
    const addresses: Record<string, NodeAddress> = {}
    for (const name of names) {
      const open: Socket[] = (asked[name] = [])
      addresses[name] = addressOf((await rawNode((socket) => void open.push(socket))).url)
    }
    nodes.retain(Object.values(addresses))
    const sent = () => names.map((name) => `${name}${asked[name]!.length}`).join(' ')
    return {
      asked,
      retain: (...kept: string[]) => nodes.retain(kept.map((name) => addresses[name]!)),
      async call(name: string, count: number, caller: string | null = null) {
        const request = { ...POST, caller }
        const signal = () => new AbortController().signal
        return Promise.all(
          Array.from({ length: count }, () => nodes.forward(addresses[name]!, request, 60_000, signal())),
        )
      },
      reaches: (expected: string) => until(() => sent() === expected, `${expected}, not ${sent()}`),
    }
  }

  test('lets one origin use most of them, and leaves each of the others a few', async () => {
    const { call, reaches } = await origins(['a', 'b', 'c'])

    void call('a', 10)
    await reaches('a8 b0 c0')
    void call('b', 10)
    await reaches('a8 b2 c0')
    void call('c', 10)
    await reaches('a8 b2 c2')
  })

  test('leaves other callers their share at every origin', async () => {
    const { call, reaches } = await origins(['a', 'b', 'c'])

    void call('a', 10, 'hog')
    await reaches('a4 b0 c0')
    void call('b', 10, 'hog')
    await reaches('a4 b3 c0')
    void call('c', 3, 'good')
    await reaches('a4 b3 c3')
  })

  test('gives a connection to a request that waits at another origin', async () => {
    const { asked, call, reaches } = await origins(['a', 'b', 'c'])
    void call('a', 8)
    void call('b', 3)
    await reaches('a8 b2 c0')

    for (const socket of asked.a!) socket.write(answer('{}'))

    await reaches('a8 b3 c0')
  })

  test('gives connections to waiting requests of all origins in turn', async () => {
    const { asked, call, reaches } = await origins(['a', 'b'], 64, 64)
    void call('a', 16, 'one')
    void call('b', 16, 'two')
    await reaches('a16 b16')
    void call('a', 14, 'one')
    void call('a', 14, 'two')
    await reaches('a44 b16')
    void call('a', 10, 'two')
    void call('b', 10, 'one')

    for (const socket of asked.a!.slice(40)) socket.write(answer('{}'))

    await reaches('a46 b18')
  })

  test('gives the part of an origin that is configured away to requests that wait', async () => {
    const { call, reaches, retain } = await origins(['a', 'b', 'c'])
    void call('a', 8)
    void call('b', 3)
    await reaches('a8 b2 c0')

    retain('a', 'b')

    await reaches('a8 b3 c0')
  })

  test('closes connections that another origin does not use', async () => {
    const { asked, call, reaches } = await origins(['a', 'b'])
    const calls = call('a', 8)
    await reaches('a8 b0')
    for (const socket of asked.a!) socket.write(answer('{}'))
    await calls

    void call('b', 8)

    await reaches('a8 b8')
    await until(() => asked.a!.filter((socket) => socket.closed).length === 4, 'closed connections')
  })
})

test('a request whose time is over gets no connection that becomes free', () => {
  const address = addressOf('http://127.0.0.1:1')
  const pool = createConnectionPool({
    address,
    clock: systemClock,
    lookup: null,
    maxConnections: 1,
    budget: new ConnectionBudget(1),
  })
  onTestFinished(() => pool.close())
  const given: string[] = []
  let first: Connection | null = null
  const waiter = (name: string, isLate: boolean) => ({
    give(connection: Connection | null) {
      first ??= connection
      given.push(name)
    },
    isLate: () => isLate,
  })
  pool.take(waiter('first', false), false, null)
  pool.take(waiter('late', true), false, null)
  pool.take(waiter('in time', false), false, null)

  pool.drop(first!)

  expect(given).toEqual(['first', 'in time'])
})

describe('the stage of a failure is reported', () => {
  test('the port is closed', async () => {
    const forwarded = await forwarder().forward(addressOf('http://127.0.0.1:1'), POST, 5000, neverAborted)

    expect(forwarded).toMatchObject({ failure: { kind: 'refused' }, stage: 'unsent', waited: false })
  })

  test.each([
    ['nothing came back', '', 'asked'],
    ['within the head', 'HTTP/1.1 200 OK\r\nx', 'answering'],
    ['within the body', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{', 'body'],
  ] as const)('%s', async (_, bytes, stage) => {
    const hanging = await rawNode((socket) => void (bytes !== '' && socket.write(bytes)))
    const closing = await rawNode((socket) => socket.end(bytes))

    expect(await forwarder().forward(addressOf(hanging.url), POST, 1000, neverAborted)).toMatchObject({
      failure: { kind: 'timeout', afterMs: 1000 },
      stage,
    })
    expect(await forwarder().forward(addressOf(closing.url), POST, 5000, neverAborted)).toMatchObject({
      ok: false,
      stage,
    })
  })

  test('no connection became free', async () => {
    const { url } = await rawNode(() => {})
    const nodes = forwarder(1)
    const address = addressOf(url)
    const first = nodes.forward(address, POST, 400, neverAborted)

    expect(await nodes.forward(address, POST, 100, neverAborted)).toMatchObject({ stage: 'unsent', waited: true })
    expect(await first).toMatchObject({ stage: 'asked', waited: false })
  })
})

describe('sent once', () => {
  test('means over a connection of its own, and never again', async () => {
    const racing = await rawNode((socket, request) => {
      if (request.includes('"id":1}')) socket.write(answer('{}'))
      else socket.destroy()
    })
    const nodes = forwarder()
    const address = addressOf(racing.url)
    await nodes.forward(address, POST, 5000, neverAborted)
    const once = { ...POST, body: '{"id":2}', once: true }

    expect(await nodes.forward(address, once, 5000, neverAborted)).toMatchObject({
      failure: { kind: 'reset' },
      stage: 'asked',
    })
    expect(racing.accepted()).toBe(2)
  })
})

test('a caller that leaves ends the exchange at once', async () => {
  const { url, closed } = await rawNode(() => {})
  const leaving = new AbortController()
  const forwarded = forwarder().forward(addressOf(url), POST, 60_000, leaving.signal)
  setTimeout(() => leaving.abort(), 50)

  expect(await forwarded).toMatchObject({ ok: false, stage: 'asked' })
  await closed
})

test('a caller that had left is not asked for at all', async () => {
  const node = await rawNode(() => {})

  expect(await forwarder().forward(addressOf(node.url), POST, 1000, AbortSignal.abort())).toMatchObject({
    stage: 'unsent',
  })
  expect(node.accepted()).toBe(0)
})

test('polls and forwarded requests do not wait for each other', async () => {
  const { url } = await rawNode((socket, request) => {
    if (request.startsWith('GET')) socket.write(answer('{}'))
  })
  const nodes = forwarder(1)
  const hanging = nodes.forward(addressOf(url), POST, 1000, neverAborted)

  expect(await send(nodeClient({ maxConnections: 1 }), url)).toMatchObject({ ok: true })
  await hanging
})

test('an endpoint that is configured away still answers what is under way', async () => {
  const { url } = await rawNode((socket) => void setTimeout(() => socket.write(answer('{"late":1}')), 100))
  const nodes = forwarder()
  const under = nodes.forward(addressOf(url), POST, 5000, neverAborted)
  await systemClock.sleep(20)

  nodes.retain([])

  expect(bodyOf(await under)).toBe('{"late":1}')
})
