import { once } from 'node:events'
import { request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { type Certificate, createListener } from '../../src/gateway/request/listener.ts'
import { until } from '../support/daemon.ts'
import { certificate } from '../support/handshakes.ts'
import { ADMIN_ID, ask, call, caller, echo, FROM_A, ID, open, post, raw, set } from './setting.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

const BODY = JSON.stringify(call('eth_chainId'))
const HEAD = `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n`
const WHOLE = `${HEAD}content-length: ${BODY.length}\r\n\r\n${BODY}`
const CLOSING = `${HEAD}connection: close\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`

test('a new idle timeout holds from the next request on', async () => {
  const listener = createListener({
    options: { host: '127.0.0.1', port: 0, tls: null, idleTimeoutMs: 600_000 },
    clock: systemClock,
    onRequest: () => {},
  })
  const { port } = await listener.listen()

  listener.useIdleTimeout(100)

  // No response comes.
  expect(await raw(port, WHOLE)).toBe('')
  await listener.close(1000, () => true)
})

/** Counts events, and the most of them in one iteration of the event loop. */
function perIteration(): { event(): void; most(): number } {
  let count = 0
  let most = 0
  let isOver = false
  const next = () => {
    most = Math.max(most, count)
    count = 0
    if (!isOver) setImmediate(next)
  }
  next()
  onTestFinished(() => {
    isOver = true
  })
  return { event: () => void count++, most: () => most }
}

test('a body in one-byte chunks is read a thousand chunks at a time', async () => {
  const chunks = perIteration()
  let bytes = 0
  const listener = createListener({
    options: { host: '127.0.0.1', port: 0, tls: null, idleTimeoutMs: 600_000 },
    clock: systemClock,
    onRequest: (req) =>
      void req.on('data', (chunk: Buffer) => {
        chunks.event()
        bytes += chunk.length
      }),
  })
  const { port } = await listener.listen()
  onTestFinished(() => listener.close(0, () => true))
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)

  socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(40_000)}`)
  await until(() => bytes === 40_000, 'all of it is read')

  expect(chunks.most()).toBeLessThanOrEqual(2200)
})

describe('pipelined requests of one connection', () => {
  const SHORT = 'GET / HTTP/1.1\r\nhost: x\r\n\r\n'

  /** A listener whose requests are handled by `onRequest`, and a connection to it. */
  async function connected(onRequest: (res: ServerResponse) => void, tls: Certificate | null = null) {
    const listener = createListener({
      options: { host: '127.0.0.1', port: 0, tls, idleTimeoutMs: 600_000 },
      clock: systemClock,
      onRequest: (_req, res) => onRequest(res),
    })
    const { port } = await listener.listen()
    onTestFinished(() => listener.close(0, () => true))
    const socket =
      tls === null ? connect(port, '127.0.0.1') : connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    sockets.push(socket)
    await once(socket, tls === null ? 'connect' : 'secureConnect')
    let text = ''
    socket.setEncoding('latin1').on('data', (piece: string) => {
      text += piece
    })
    return { socket, answers: () => text.split('HTTP/1.1 200').length - 1 }
  }

  test.each<[string, Certificate | null]>([
    ['HTTP', null],
    ['HTTPS', certificate('a')],
  ])('over %s begin a few in each iteration of the event loop, and all are answered', async (_name, tls) => {
    const requests = perIteration()
    const { socket, answers } = await connected((res) => {
      requests.event()
      res.end()
    }, tls)

    socket.write(SHORT.repeat(3000))
    await until(() => answers() === 3000, 'all are answered')

    // Node parses up to 64 KiB at once: 2,200 of them.
    expect(requests.most()).toBeLessThanOrEqual(100)
  })

  test('wait unread while 64 are not answered', async () => {
    const unanswered: ServerResponse[] = []
    let begun = 0
    const { socket, answers } = await connected((res) => {
      begun++
      unanswered.push(res)
    })

    socket.write(SHORT.repeat(1000))
    await until(() => begun >= 64, 'as many as may wait have begun')
    for (let iteration = 0; iteration < 50; iteration++) await new Promise((resolve) => setImmediate(resolve))

    expect(begun).toBeLessThanOrEqual(64 + 2048 / SHORT.length)
    await until(() => {
      for (const res of unanswered.splice(0)) res.end()
      return answers() === 1000
    }, 'all are answered')
  })

  test('of 40 connections delay a request on another one by a few dozen of them, however many there are', async () => {
    const hog = WHOLE.replace(ID, ADMIN_ID).repeat(100)
    const { port, url, asked } = await set()
    const hogs = await Promise.all(
      Array.from({ length: 40 }, async () => {
        const socket = connect(port, '127.0.0.1')
        sockets.push(socket)
        await once(socket, 'connect')
        return socket.resume()
      }),
    )
    for (const socket of hogs) socket.write(hog)
    await until(() => asked.length > 100, 'the others are served')

    const waitedFor: number[] = []
    for (let nth = 0; nth < 20; nth++) {
      const before = asked.length
      expect((await post(`${url}/ethereum/${ID}`, call('eth_chainId'))).status).toBe(200)
      waitedFor.push(asked.length - before)
    }

    expect(asked.length).toBeLessThan(4000)
    expect(Math.max(...waitedFor)).toBeLessThan(250)
  })

  test('are ignored behind a response that closes the connection', async () => {
    const setting = await set()
    const socket = connect(setting.port, '127.0.0.1')
    sockets.push(socket)

    // Without Host, the first one is rejected.
    socket.write(`GET / HTTP/1.1\r\n\r\n${WHOLE.repeat(100)}`)
    await once(socket.resume(), 'close')

    expect(setting.asked).toEqual([])
    expect(setting.counted).toEqual(['rejected null no-request'])
  })
})

describe('bytes that are no good HTTP', () => {
  test.each<[string, string]>([
    ['no HTTP at all', 'hello\r\n\r\n'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['two lengths', `${HEAD}content-length: 5\r\ncontent-length: 6\r\n\r\n${BODY}`],
    ['a length and chunks', `${HEAD}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks named twice', `${HEAD}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a bad chunk', `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n${BODY}\r\n0\r\n\r\n`],
    ['a negative length', `${HEAD}content-length: -5\r\n\r\n`],
    ['a header without its colon', `POST /ethereum/${ID} HTTP/1.1\r\nhost x\r\n\r\n`],
    ['a space before the colon', `POST /ethereum/${ID} HTTP/1.1\r\nhost : x\r\n\r\n`],
    ['no Host', `POST /ethereum/${ID} HTTP/1.1\r\n\r\n`],
    ['two Hosts', `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\nHost: eth.example.org\r\nconnection: close\r\n\r\n`],
    ['bare line feeds in a header', `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\nx-a: b\r\n y\r\n\r\n`],
    ['a NUL in a header', `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\nx-a: \0\r\n\r\n`],
  ])('%s: 400, the connection ends, and nothing is forwarded', async (_what, bytes) => {
    const { port, asked, log } = await set()

    const text = await raw(port, bytes)

    expect(text).toMatch(/^HTTP\/1\.1 400 /)
    expect(text).not.toContain(ID)
    expect(asked).toEqual([])
    expect(JSON.stringify(log.lines)).not.toContain(ID)
  })

  test('headers of more than 16 KB: 431', async () => {
    const { port } = await set()

    expect(await raw(port, `${HEAD}x-a: ${'y'.repeat(20_000)}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 431 /)
  })

  test.each([
    `http://evil.example.org/ethereum/${ID}`,
    '*',
    `//ethereum/${ID}`,
    `/ethereum//${ID}`,
    `/ethereum/${ID}/ext/`,
    `/ethereum/../ethereum/${ID}`,
    `/ethereum/${ID}/..%2f`,
    `/ethereum/${ID}/%252e`,
    `/ethereum/${ID}%00`,
    `/ethereum/${ID};a=b`,
    `/ethereum\\${ID}`,
    `/ethereum/${ID}#x`,
    `/ethereum/${ID}?a=b`,
  ])('a request for %s reaches no node', async (target) => {
    const { port, asked } = await set()

    const text = await raw(port, CLOSING.replace(`/ethereum/${ID}`, target))

    expect(text).toMatch(/^HTTP\/1\.1 4\d\d /)
    expect(asked).toEqual([])
  })

  test('a second request behind the first is one of its own, and both are answered in order', async () => {
    const { port, asked } = await set()

    const text = await raw(port, WHOLE + CLOSING)

    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
    expect(asked).toHaveLength(2)
  })

  test('a body behind a GET is not taken for a request', async () => {
    const { port, asked } = await set()
    const smuggled = `GET /multiversx/${ID}/network/config HTTP/1.1\r\nhost: x\r\ncontent-length: ${CLOSING.length}\r\n\r\n`

    const text = await raw(port, smuggled + CLOSING)

    expect(text.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(1)
    expect(asked.map(({ operation }) => operation.name)).toEqual(['network_config'])
  })
})

describe('bodies', () => {
  test('that say that they are too large are refused unread, and the connection ends', async () => {
    const { port, asked } = await set()

    const text = await raw(port, `${HEAD}content-length: 100000\r\n\r\n`)

    expect(text).toMatch(/^HTTP\/1\.1 413 /)
    expect(text).toContain('connection: close')
    expect(text).toContain('-32600')
    expect(asked).toEqual([])
  })

  test('that never end are refused as soon as they are too large', async () => {
    const { port } = await set()
    const socket = connect(port, '127.0.0.1').setEncoding('latin1')
    sockets.push(socket)
    let text = ''
    socket.on('data', (chunk) => (text += String(chunk))).on('error', () => {})
    socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`)
    const piece = `400\r\n${' '.repeat(1024)}\r\n`
    const feed = () => {
      while (!socket.destroyed && socket.write(piece)) {
        // As fast as it is taken.
      }
    }
    socket.on('drain', feed)
    feed()

    await new Promise((resolve) => socket.on('close', resolve))

    expect(text).toMatch(/^HTTP\/1\.1 413 /)
  })

  test('a caller that sends all of a body that is too large still reads why it was refused', async () => {
    const { url } = await set()

    for (let turn = 0; turn < 5; turn++) {
      const { status } = await post(`${url}/ethereum/${ID}`, `[${'0,'.repeat(1_000_000)}0]`)
      expect(status).toBe(413)
    }
  })

  test('of 100,000 levels, or a million commas, cost no more than their bytes', async () => {
    const { url, asked } = await set({ rules: { bodyLimitBytes: 2 ** 20, batchLimit: 10_000 } })

    for (const bytes of ['['.repeat(100_000), '{"a":'.repeat(100_000), `[${'0,'.repeat(500_000)}0]`]) {
      const { status } = await post(`${url}/ethereum/${ID}`, bytes)
      expect([400, 413]).toContain(status)
    }
    expect(asked).toEqual([])
  })

  test('are requested with 100 Continue only when they are accepted', async () => {
    const { port } = await set()
    const send = (path: string, length: number) =>
      new Promise<[number | undefined, boolean]>((resolve, reject) => {
        let continued = false
        const headers = { 'content-type': 'application/json', 'content-length': length, expect: '100-continue' }
        const req = request({ port, path, method: 'POST', headers }, (answer) => {
          answer.resume()
          resolve([answer.statusCode, continued])
          req.destroy()
        })
        req.on('error', reject).on('continue', () => {
          continued = true
          req.end(BODY)
        })
        req.flushHeaders()
      })

    expect(await send(`/ethereum/${ID}`, BODY.length)).toEqual([200, true])
    expect(await send(`/ethereum/${ID}x`, BODY.length)).toEqual([401, false])
    expect(await send(`/ethereum/${ID}`, 1_000_000)).toEqual([413, false])
  })
})

describe('slow callers', () => {
  test('2,000 that drip their headers or bodies are closed within 15 s, while others are served', {
    timeout: 40_000,
  }, async () => {
    const { port, url } = await set()
    const startedAt = performance.now()
    const closedAfter: number[] = []
    const drips = Array.from({ length: 2000 }, (_, at) => {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      socket.on('error', () => {}).resume()
      // Each has its own time: a busy machine takes seconds to open them all.
      let connectedAt = Number.NEGATIVE_INFINITY
      socket.on('connect', () => {
        connectedAt = performance.now()
      })
      // One in four sends nothing at all, one its body, the others their headers.
      if (at % 4 === 1) socket.write(`${HEAD}content-length: 100\r\n\r\n`)
      else if (at % 4 > 1) socket.write(`POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\n`)
      return new Promise<void>((resolve) => {
        socket.on('close', () => {
          closedAfter.push(performance.now() - connectedAt)
          resolve()
        })
      })
    })
    const dripping = setInterval(() => {
      sockets.forEach((socket, at) => {
        if (at % 4 === 1 && socket.writable) socket.write(' ')
        else if (at % 4 > 1 && socket.writable) socket.write(`x-${at}: a\r\n`)
      })
    }, 2000)

    const progress = { over: false }
    const all = Promise.all(drips).then(() => {
      progress.over = true
    })
    const times: number[] = []
    while (!progress.over && performance.now() - startedAt < 25_000) {
      const before = performance.now()
      expect((await post(`${url}/ethereum/${ID}`, BODY)).status).toBe(200)
      times.push(performance.now() - before)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    clearInterval(dripping)
    await all

    expect(Math.max(...closedAfter)).toBeLessThan(15_000)
    expect(times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.9)]).toBeLessThan(500)
  })
})

/** Without others, a caller may use everything. */
const ALONE = { rules: { callers: [caller('wallet', ID)] } }

describe('too much at once', () => {
  test('is refused with 503 at once, under its id, while what was accepted is served', async () => {
    const going: (() => void)[] = []
    const { url, gateway } = await set({
      maxInFlight: 5,
      ...ALONE,
      answer: (question) => new Promise((resolve) => going.push(() => resolve(echo(question)))),
    })
    const accepted = Array.from({ length: 5 }, (_, id) => post(`${url}/ethereum/${ID}`, call('eth_chainId', [], id)))
    while (going.length < 5) await new Promise((resolve) => setTimeout(resolve, 5))

    const refused = await post(`${url}/ethereum/${ID}`, call('eth_chainId', [], 'more'))
    const rest = await ask(`${url}/multiversx/${ID}/network/config`)

    expect(refused.status).toBe(503)
    expect(refused.json).toMatchObject({ id: 'more', error: { code: -32603 } })
    expect(refused.headers.get('retry-after')).toBe('1')
    expect([rest.status, rest.json.code]).toEqual([503, 'internal_issue'])
    for (const go of going) go()
    expect((await Promise.all(accepted)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(gateway.inFlight()).toBe(0)
  })
})

describe('many times more than can be taken', () => {
  test('is rejected, and no more than the limit is in flight; accepted requests are served', async () => {
    let most = 0
    let now = 0
    const { url, gateway } = await set({
      maxInFlight: 20,
      ...ALONE,
      answer: async (question) => {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setTimeout(resolve, 20))
        now--
        return echo(question)
      },
    })
    const told = { 200: 0, 503: 0 } as Record<number, number>
    const insist = async () => {
      for (let i = 0; i < 5; i++) {
        const { status, json } = await post(`${url}/ethereum/${ID}`, BODY)
        told[status] = (told[status] ?? 0) + 1
        expect('result' in json).toBe(status === 200)
      }
    }

    await Promise.all(Array.from({ length: 200 }, insist))

    expect(Object.keys(told)).toEqual(['200', '503'])
    expect(told[200]).toBeGreaterThanOrEqual(20)
    expect(told[503]).toBeGreaterThan(0)
    expect(most).toBeLessThanOrEqual(20)
    expect(gateway.inFlight()).toBe(0)
  })

  test('a batch weighs as much as its calls, and one alone is always taken', async () => {
    const going: (() => void)[] = []
    const { url } = await set({
      maxInFlight: 5,
      ...ALONE,
      answer: (question) => new Promise((resolve) => going.push(() => resolve(echo(question)))),
    })
    const batch = (size: number) =>
      post(
        `${url}/ethereum/${ID}`,
        Array.from({ length: size }, (_, id) => call('eth_chainId', [], id)),
      )

    const taken = batch(10)
    await expect.poll(() => going.length, { timeout: 20_000 }).toBe(10)
    const single = await post(`${url}/ethereum/${ID}`, BODY)
    for (const go of going.splice(0)) go()

    expect(single.status).toBe(503)
    expect((await taken).json).toHaveLength(10)
  })

  test('a batch of one call is taken where a single call is', async () => {
    const { url } = await set({ maxInFlight: 1, ...ALONE })

    const batch = await post(`${url}/ethereum/${ID}`, [call('eth_chainId')])

    expect([batch.status, batch.json.length]).toEqual([200, 1])
  })

  test('batches that come in together are refused as soon as they are read', async () => {
    const going: (() => void)[] = []
    const { url } = await set({
      maxInFlight: 5,
      rules: { ...ALONE.rules, batchLimit: 10 },
      answer: (question) => new Promise((resolve) => going.push(() => resolve(echo(question)))),
    })
    const batch = Array.from({ length: 8 }, (_, id) => call('eth_chainId', [], id))

    const all = Array.from({ length: 4 }, () => post(`${url}/ethereum/${ID}`, batch))
    const first = await Promise.race(all)
    await expect.poll(() => going.length, { timeout: 20_000 }).toBe(8)
    // One that comes in later than that is taken.
    const releasing = setInterval(() => {
      for (const go of going.splice(0)) go()
    }, 5)
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    clearInterval(releasing)

    expect(first).toMatchObject({ status: 503, json: { length: 8 } })
    expect(statuses).toContain(200)
    expect((await post(`${url}/ethereum/${ID}`, '[]')).status).toBe(400)
  })
})

describe('with at most 16 connections', () => {
  const unknown = WHOLE.replace(ID, 'wrong-0123456789abcdef')

  test.each([
    ['send nothing', ''],
    ['send half a request', WHOLE.slice(0, 60)],
    ['wait after a request', WHOLE],
    ['hold back the body of a request with a wrong endpoint_id', `${unknown.slice(0, unknown.indexOf('{'))}{`],
    ['begin a TLS handshake and never end it', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc', certificate('a')],
  ] as [string, string, Certificate?][])(
    'a new caller is served although 60 others %s, one after the other',
    async (_what, text, tls: Certificate | null = null) => {
      const { port } = await set({ listen: { host: '127.0.0.1', port: 0, tls, maxConnections: 16 } })
      let closed = 0
      for (let one = 0; one < 60; one++) {
        const socket = connect(port, '127.0.0.1')
        sockets.push(socket)
        socket.on('error', () => {}).once('close', () => closed++)
        await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve))
        socket.resume().write(text, 'latin1')
      }
      await expect.poll(() => closed, { timeout: 20_000 }).toBeGreaterThanOrEqual(60 - 16)

      for (let one = 0; one < 2; one++) {
        const socket = tls === null ? connect(port, '127.0.0.1') : connectTls({ port, rejectUnauthorized: false })
        const answer = new Promise<string>((resolve, reject) => {
          socket.once('data', (bytes) => resolve(String(bytes))).once('close', () => reject(new Error('closed')))
        })
        sockets.push(socket)
        socket.on('error', () => {}).write(WHOLE)
        expect(await answer).toContain(' 200 ')
      }
    },
  )

  test('a request at work is not closed for others', async () => {
    let answer = () => {}
    const { port, asked } = await set({
      listen: { host: '127.0.0.1', port: 0, tls: null, maxConnections: 16 },
      answer: (question) => new Promise((resolve) => (answer = () => resolve(echo(question)))),
    })
    const working = raw(port, CLOSING)
    await expect.poll(() => asked, { timeout: 20_000 }).toHaveLength(1)

    const flood = Array.from({ length: 60 }, () => connect(port, '127.0.0.1').on('error', () => {}))
    sockets.push(...flood)
    await expect.poll(() => flood.filter(({ closed }) => closed).length, { timeout: 20_000 }).toBeGreaterThanOrEqual(44)
    answer()

    expect(await working).toContain(' 200 ')
  })
})

test('callers who take none of their large answers are cut off where they hold too much, the first of them first', {
  timeout: 60_000,
}, async () => {
  const MEBIBYTE = 2 ** 20
  const result = Buffer.alloc(16 * MEBIBYTE, '7')
  const answer = () => ({ ...FROM_A, kind: 'result' as const, result })
  const { port, url, gateway, asked } = await set({ answer, answerMemory: { maxBytes: 64 * MEBIBYTE } })
  const callers: Socket[] = []
  for (let at = 0; at < 8; at++) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    sockets.push(socket)
    callers.push(socket)
    socket.pause().write(CLOSING)
    // One after the other: who came first is known.
    await until(() => asked.length > at, 'it is forwarded')
  }

  await until(() => gateway.inFlight() <= 4, 'those who hold too much are gone')
  const { status, text } = await post(`${url}/ethereum/${ID}`, BODY)
  const taken = await Promise.all(
    callers.map(async (socket) => {
      let bytes = 0
      socket.on('data', (chunk) => (bytes += chunk.length)).resume()
      await new Promise((resolve) => socket.on('close', resolve))
      return bytes > 16 * MEBIBYTE
    }),
  )

  expect([status, text.length]).toEqual([200, 16 * MEBIBYTE + '{"jsonrpc":"2.0","id":1,"result":}'.length])
  // The answer to the one who reads may have cost one more.
  expect([taken[0], taken[3], taken[7]]).toEqual([false, false, true])
})

describe('closing', () => {
  test('lets requests in flight finish, ends kept connections, and takes no more', async () => {
    let go: () => void = () => {}
    const { url, gateway, asked } = await open({
      answer: (question) =>
        new Promise((resolve) => {
          go = () => resolve(echo(question))
        }),
    })
    const inFlight = post(`${url}/ethereum/${ID}`, BODY)
    while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 5))

    const closed = gateway.close()
    await expect(post(`${url}/ethereum/${ID}`, BODY)).rejects.toThrow()
    go()

    const answer = await inFlight
    expect(answer.status).toBe(200)
    expect(answer.headers.get('connection')).toBe('close')
    await closed
  })

  test('does not wait for those who only hold a connection', async () => {
    const { port, gateway } = await open()
    for (const bytes of ['', 'POST ', `${HEAD}content-length: 100\r\n\r\n`]) {
      const socket = connect(port, '127.0.0.1')
      sockets.push(socket)
      await new Promise<void>((resolve) => socket.on('error', () => {}).on('connect', resolve))
      socket.write(bytes)
    }
    const before = performance.now()

    await gateway.close()

    // A body that does not come counts as a request at work until its grace is over.
    expect(performance.now() - before).toBeLessThan(8000)
  })
})
