import channel from 'node:diagnostics_channel'
import { once } from 'node:events'
import { get } from 'node:http'
import { get as getSecure } from 'node:https'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { certificate } from '../support/handshakes.ts'
import { type Setting, type SettingOptions, setUp } from './setting.ts'

const open: Setting[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  for (const { server } of open.splice(0)) await server.close()
})

async function listening(options: SettingOptions = {}): Promise<number> {
  const setting = setUp({ realClock: systemClock, ...options })
  open.push(setting)
  return (await setting.server.listen()).port
}

/** Connections that send this text and nothing more. */
async function flood(port: number, count: number, text = '', reads = true): Promise<Socket[]> {
  const made: Socket[] = []
  for (let one = 0; one < count; one++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    made.push(socket)
    sockets.push(socket)
    await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
    if (text !== '') socket.write(text, 'latin1')
    if (reads) socket.resume()
  }
  return made
}

function status(port: number, ask: typeof get | typeof getSecure = get): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const options = { port, host: '127.0.0.1', path: '/-/healthy', agent: false, rejectUnauthorized: false } as const
    ask(options, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    }).on('error', reject)
  })
}

const PROBE = 'GET /probe?target=avalanche/own-1 HTTP/1.1\r\nHost: localhost\r\n\r\n'
const HEALTHY = 'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n'
const closed = (made: readonly Socket[]) => made.filter(({ destroyed }) => destroyed).length

describe('with at most 24 connections', () => {
  test.each([
    ['send nothing', ''],
    ['send half a request', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: '],
    ['wait after a request', 'GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['hold back a body', 'POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n'],
  ])('a client is served although 100 connections %s', async (_what, text) => {
    const port = await listening({ options: { maxConnections: 24 } })

    const made = await flood(port, 100, text)
    const answers = [await status(port), await status(port)]
    await sleep(50)

    expect(answers).toEqual([200, 200])
    expect(closed(made)).toBeGreaterThanOrEqual(100 - 24)
  })

  test('a client is served although 100 TLS handshakes begin and never end', async () => {
    const port = await listening({ options: { maxConnections: 24, tls: certificate('a') } })

    // A record that announces a ClientHello of 508 bytes, and its first four.
    const made = await flood(port, 100, '\x16\x03\x01\x02\0\x01\0\x01\xfc')
    const answers = [await status(port, getSecure), await status(port, getSecure)]

    expect(answers).toEqual([200, 200])
    await expect.poll(() => closed(made)).toBeGreaterThanOrEqual(100 - 24)
  })

  test('the one that has waited the longest for a request is closed for a new one', async () => {
    const port = await listening({ options: { maxConnections: 8 } })
    const made = await flood(port, 7)
    made[0]!.write(HEALTHY)
    await once(made[0]!, 'data')

    await flood(port, 3)
    await expect.poll(() => closed(made)).toBe(3)

    expect(made.map(({ destroyed }) => destroyed)).toEqual([false, true, true, true, false, false, false])
  })

  test('a flood of event streams leaves the other port alone', async () => {
    const port = await listening({ options: { maxConnections: 24 } })
    const other = createServer((socket) => socket.end('here'))
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))

    await flood(port, 100, 'GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const socket = connect((other.address() as AddressInfo).port, '127.0.0.1')
    const [text] = (await socket.setEncoding('utf8').toArray()) as string[]
    other.close()

    expect(text).toBe('here')
    expect(await status(port)).toBe(200)
  })
})

test('pipelined requests of one connection begin a few in each iteration of the event loop', async () => {
  const setting = setUp({ realClock: systemClock })
  open.push(setting)
  const { port } = await setting.server.listen()
  let begun = 0
  let most = 0
  let isOver = false
  channel.subscribe('http.server.request.start', () => void begun++)
  const count = () => {
    most = Math.max(most, begun)
    begun = 0
    if (!isOver) setImmediate(count)
  }
  count()

  const [socket] = await flood(
    port,
    1,
    `${HEALTHY.repeat(1999)}${HEALTHY.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`,
    false,
  )
  const answers = ((await socket!.setEncoding('utf8').toArray()) as string[]).join('')
  isOver = true

  expect(answers.split('HTTP/1.1 200').length - 1).toBe(2000)
  expect(most).toBeLessThanOrEqual(100)
})

test('of all requests of one client eight begin in an iteration of the event loop', async () => {
  const begun: number[] = [0]
  let isOver = false
  const inspect = () => {
    begun.push((begun.pop() ?? 0) + 1)
    return Promise.resolve({ kind: 'no-place' } as const)
  }
  const port = await listening({ inspect })
  const next = () => {
    begun.push(0)
    if (!isOver) setImmediate(next)
  }

  const made = await flood(port, 20)
  next()
  for (const socket of made) socket.write(PROBE.repeat(10))
  await expect.poll(() => begun.reduce((sum, one) => sum + one), { timeout: 20_000 }).toBe(200)
  isOver = true

  expect(Math.max(...begun)).toBeLessThanOrEqual(8)
})

test('a request with an Upgrade header ends its connection, because Node discards what follows it', async () => {
  const upgrading = HEALTHY.replace('\r\n\r\n', '\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n')
  const [socket] = await flood(await listening(), 1, `${upgrading}GET /nothing`, false)

  const answers = ((await socket!.setEncoding('utf8').toArray()) as string[]).join('')

  expect(answers).toMatch(/^HTTP\/1\.1 200 [^]*\r\nconnection: close\r\n/i)
  expect(answers.split('HTTP/1.1')).toHaveLength(2)
})

test('a tunnel is refused', async () => {
  const [socket] = await flood(await listening(), 1, 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', false)

  expect(await socket!.toArray()).toEqual([])
})

describe('a client that is slow', () => {
  const timeouts = { headersMs: 300, requestMs: 600, checkEveryMs: 50 }

  test.each([
    ['to send its headers', 'GET / HTTP/1.1\r\nHost: localhost\r\nX: ', 408],
    ['to send its body', 'POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\nx', 405],
  ])('%s is disconnected in time', async (_what, text, expected) => {
    const port = await listening({ options: { timeouts } })
    const [socket] = await flood(port, 1, text, false)

    const answer = ((await socket!.setEncoding('utf8').toArray()) as string[]).join('')

    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${expected} `))
  })

  test('is disconnected after two minutes without the end of its answer, unless that is an event stream', async () => {
    const setting = setUp({ inspect: () => new Promise(() => {}) })
    open.push(setting)
    const { port } = await setting.server.listen()
    const [socket] = await flood(port, 1, PROBE)
    const [stream] = await flood(port, 1, 'GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect(String(await once(stream!, 'data'))).toContain('text/event-stream')
    await expect.poll(() => socket!.bytesWritten).toBeGreaterThan(0)
    expect(await status(port)).toBe(200)

    await setting.clock.advance(110_000)
    expect(await status(port)).toBe(200)
    expect(socket!.destroyed).toBe(false)
    await setting.clock.advance(30_000)

    await expect.poll(() => socket!.destroyed).toBe(true)
    expect(await status(port)).toBe(200)
    expect(stream!.destroyed).toBe(false)
  })

  test('to read is disconnected when answers of 64 MiB wait to be read', async () => {
    const exposition = async () => ({ bytes: 0, blocks: () => [] })
    const body = 'x'.repeat(6 * 2 ** 20)
    const port = await listening({
      metrics: {
        exposition,
        httpRequest() {},
        gatewayCounts: () => {
          throw new Error('unused')
        },
        daemonStatus: () => {
          throw new Error('unused')
        },
      },
      observer: () => ({ impaired: true, judging: false, reasons: [body] }),
    })
    const readers = await flood(port, 40, 'GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n', false)

    await expect.poll(() => status(port)).toBe(200)
    await expect.poll(() => process.memoryUsage().arrayBuffers).toBeLessThan(400 * 2 ** 20)
    for (const reader of readers) reader.resume()

    await expect.poll(() => closed(readers), { timeout: 5000 }).toBeGreaterThan(20)
  })
})
