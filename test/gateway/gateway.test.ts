import channel from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, onTestFinished, test } from 'vitest'
import { gatewayError } from '../../src/gateway/errors.ts'
import type { Reply, UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import {
  ADMIN_ID,
  type Answer,
  ask,
  call,
  caller,
  echo,
  FROM_A,
  ID,
  post,
  RULES,
  type SettingOptions,
  set,
  UNCOUNTED,
} from './setting.ts'

const BLOCK = call('eth_getBlockByNumber', ['0x1', false])
const rpc = (code: number, id: unknown = 1) => ({ jsonrpc: '2.0', id, error: { code, message: expect.any(String) } })

describe('a call', () => {
  test('is answered with the node’s own bytes under the caller’s own id', async () => {
    const result = '{"big":90071992547409931234,"z":1,"a":2,"z":3, "text":"ключ"}'
    const { url } = await set({ answer: () => ({ ...FROM_A, kind: 'result', result: Buffer.from(result) }) })

    for (const id of ['9007199254740993', '"ключ"', '1.0e2', 'null', '"\\u0031"', '-0', '""']) {
      const { status, text } = await post(
        `${url}/ethereum/${ID}`,
        `{"method":"eth_getBlockByNumber","id":${id},"params":["0x1",false],"jsonrpc":"2.0"}`,
      )

      expect([status, text]).toEqual([200, `{"jsonrpc":"2.0","id":${id},"result":${result}}`])
    }
  })

  test('has these headers, and none of the node’s or the server’s', async () => {
    const { url } = await set()

    const { headers } = await post(`${url}/ethereum/${ID}`, BLOCK, { 'x-request-id': 'mine-7' })

    expect(Object.fromEntries(headers)).toEqual({
      connection: 'keep-alive',
      'content-length': expect.any(String),
      'content-type': 'application/json',
      date: expect.any(String),
      'keep-alive': 'timeout=65, max=100000',
      'x-heartline-attempts': '1',
      'x-heartline-cache': 'none',
      'x-heartline-endpoint': 'a',
      'x-request-id': 'mine-7',
    })
  })

  test('tells the height of its block, and the age of an answer that is repeated; of a batch the highest', async () => {
    const heights = [1000, 1002, null]
    const { url } = await set({
      answer: (question) => ({
        ...echo(question),
        height: heights.shift() ?? null,
        staleMs: heights.length === 1 ? 4200 : null,
      }),
    })

    const single = await post(`${url}/ethereum/${ID}`, BLOCK)
    const batch = await post(`${url}/ethereum/${ID}`, [BLOCK, BLOCK])

    const headersOf = ({ headers }: Answer) =>
      ['x-heartline-height', 'x-heartline-stale'].map((name) => headers.get(name))
    expect([headersOf(single), headersOf(batch)]).toEqual([
      ['1000', null],
      ['1002', '5'],
    ])
  })

  test('is not below the height that its caller sends back; a malformed one is ignored', async () => {
    const { url, asked } = await set()

    for (const given of ['1002', '0x3ea', '-1', '9'.repeat(16)]) {
      await post(`${url}/ethereum/${ID}`, BLOCK, { 'x-heartline-height': given })
    }

    expect(asked.map(({ minHeight }) => minHeight)).toEqual([1002, null, null, null])
  })

  test('gets an id of ours where its own could not stand in a log', async () => {
    const { url } = await set()
    const seen = new Set<string | null>()

    for (const given of ['two words', 'x'.repeat(65), '"quoted"', '{}']) {
      const { headers } = await post(`${url}/ethereum/${ID}`, BLOCK, { 'x-request-id': given })
      expect(headers.get('x-request-id')).toMatch(/^[\w-]{8,}$/)
      seen.add(headers.get('x-request-id'))
    }
    expect(seen.size).toBe(4)
  })

  test('while all endpoints are rate-limited says when to retry', async () => {
    const because = { ...gatewayError('no-endpoint', 'all limit our rate'), retryAfterMs: 1200 }
    const { url } = await set({ answer: () => ({ ...FROM_A, endpoint: null, kind: 'rejected', rejection: because }) })

    const answer = await post(`${url}/ethereum/${ID}`, BLOCK)

    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
  })

  test('that the least bad endpoint answered says so', async () => {
    const { url, counted } = await set({ answer: (question) => ({ ...echo(question), degraded: true, attempts: 3 }) })

    const { headers } = await post(`${url}/ethereum/${ID}`, BLOCK)

    expect(counted).toContain('degraded ethereum')
    expect(headers.get('x-heartline-degraded')).toBe('1')
    expect(headers.get('x-heartline-attempts')).toBe('3')
  })

  test('gets the node’s own error unchanged, with HTTP 200', async () => {
    const error = '{"code":-39001, "message":"Unknown block","data":null}'
    const { url } = await set({ answer: () => ({ ...FROM_A, kind: 'error', error: Buffer.from(error) }) })

    const { status, text } = await post(`${url}/ethereum/${ID}`, BLOCK)

    expect([status, text]).toEqual([200, `{"jsonrpc":"2.0","id":1,"error":${error}}`])
  })

  test('may have a slash behind its base URL, and no query', async () => {
    const { url } = await set()

    const slash = await post(`${url}/ethereum/${ID}/`, BLOCK)
    const query = await post(`${url}/ethereum/${ID}/?a=b`, BLOCK)

    expect(slash).toMatchObject({ status: 200, json: { result: { method: BLOCK.method } } })
    expect(query).toMatchObject({ status: 404, json: { error: { message: 'this route takes no query' } } })
  })

  test('may begin with the path of `gateway.public_url`', async () => {
    const { url, gateway } = await set({ rules: { publicUrl: 'https://example.org/rpc' } })

    expect((await post(`${url}/rpc/ethereum/${ID}`, BLOCK)).status).toBe(200)
    expect((await post(`${url}/ethereum/${ID}`, BLOCK)).status).toBe(200)
    gateway.reconfigure({ ...RULES, publicUrl: 'https://example.org' })
    expect((await post(`${url}/rpc/ethereum/${ID}`, BLOCK)).status).toBe(401)
  })

  test('may come by the Host of its network', async () => {
    const { port, asked } = await set()

    const { request } = await import('node:http')
    const status = await new Promise((resolve, reject) => {
      const headers = { host: 'ETH.example.org:8443', 'content-type': 'application/json' }
      request({ port, path: `/${ID}`, method: 'POST', headers }, (answer) => resolve(answer.resume().statusCode))
        .on('error', reject)
        .end(JSON.stringify(BLOCK))
    })

    expect(status).toBe(200)
    expect(asked[0]?.network).toBe('ethereum')
  })

  test('of which its caller goes away tells the nodes so', async () => {
    let gone: () => void = () => {}
    const noticed = new Promise<void>((resolve) => {
      gone = resolve
    })
    const leaving = new AbortController()
    const { url, gateway } = await set({
      answer: (question) =>
        new Promise((resolve) => {
          question.signal.addEventListener('abort', () => {
            gone()
            resolve(echo(question))
          })
          leaving.abort()
        }),
    })

    const left = ask(`${url}/ethereum/${ID}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(BLOCK),
      signal: leaving.signal,
    }).catch(() => 'left')

    expect(await left).toBe('left')
    await noticed
    expect(gateway.inFlight()).toBe(0)
  })
})

describe('a notification', () => {
  test('is answered with 204 and nothing, whatever is wrong with it', async () => {
    const { url, asked } = await set()

    for (const method of ['eth_chainId', 'no_such']) {
      const { status, text, headers } = await post(`${url}/ethereum/${ID}`, { jsonrpc: '2.0', method })
      expect([status, text, headers.get('content-type')]).toEqual([204, '', null])
    }
    const params = { endpoint: 'bc/C', alias: 'mine' }
    expect(
      (await post(`${url}/avalanche/${ADMIN_ID}/ext/admin`, { jsonrpc: '2.0', method: 'admin.alias', params })).status,
    ).toBe(204)

    // Read notifications are dropped; write notifications are forwarded.
    expect(asked.map(({ operation }) => operation.name)).toEqual(['admin.alias'])
  })
})

describe('answers in memory', () => {
  const LARGE = 300_000
  const result = Buffer.alloc(LARGE, '7')
  const large = () => ({ ...FROM_A, kind: 'result' as const, result })
  const batch = (count: number) =>
    Array.from({ length: count }, (_, id) => call('eth_getBlockByNumber', ['0x1', true], id))
  const TOO_LARGE = { code: -32_603, message: 'answer too large' }
  /** What waits for it goes on at the latest when the test ends. */
  function hold() {
    let open: () => void = () => {}
    const opened = new Promise<void>((resolve) => {
      open = resolve
    })
    onTestFinished(open)
    return { opened, open }
  }
  /** Sends a request and reads nothing of its answer until the function returned is called, which counts the bytes. */
  async function leaveUnread(
    { port, asked }: Pick<Awaited<ReturnType<typeof set>>, 'port' | 'asked'>,
    id: string,
    body: unknown,
  ): Promise<() => Promise<number>> {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    onTestFinished(() => void socket.destroy())
    const text = JSON.stringify(body)
    const before = asked.length
    socket
      .pause()
      .write(
        `POST /ethereum/${id} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
      )
    await expect.poll(() => asked.length).toBe(before + (Array.isArray(body) ? body.length : 1))
    return async () => {
      let bytes = 0
      socket.on('data', (chunk) => (bytes += chunk.length)).resume()
      await new Promise((resolve) => socket.on('close', resolve))
      return bytes
    }
  }
  const UNREAD = call('eth_getBlockByNumber', ['0x1', true], 99)
  /** Socket buffers hold some megabytes of an unread answer. */
  const unreadOrPart = (of: { readonly id: string } | null) => ({
    ...FROM_A,
    kind: 'result' as const,
    result: Buffer.alloc((of?.id === '99' ? 60 : 5) * LARGE, '7'),
  })
  const countOf = (elements: readonly any[]) => elements.filter(({ result: given }) => given !== undefined).length

  test('of one batch are limited: elements beyond it get an error of their own', async () => {
    const { url, counted } = await set({ answer: large, answerMemory: { maxBatchBytes: 1_000_000 } })

    const { status, json } = await post(`${url}/ethereum/${ID}`, batch(10))

    expect(status).toBe(200)
    expect(json.map(({ id }: { id: number }) => id)).toEqual(batch(10).map(({ id }) => id))
    expect(countOf(json)).toBe(3)
    for (const { error } of json.slice(3)) expect(error).toEqual(TOO_LARGE)
    expect(counted.filter((one) => one === 'rejected ethereum answer-too-large')).toHaveLength(7)
  })

  test('of one batch that do not fit are not asked for again', async () => {
    const { url, asked } = await set({
      answer: (question) => (question.call?.method === 'eth_getBlockByNumber' ? large() : echo(question)),
      answerMemory: { maxBatchBytes: 400_000 },
    })

    const { json } = await post(`${url}/ethereum/${ID}`, [...batch(19), call('eth_chainId', [], 19)])

    expect(countOf(json)).toBe(1 + 1)
    expect(json.at(-1)).toHaveProperty('result')
    // Sixteen calls of a batch are under way at once.
    expect(asked.length).toBeLessThan(20)
  })

  test('of one batch that do not fit are let go at once', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const gate = hold()
    const given: WeakRef<ArrayBufferLike>[] = []
    const { url, counted } = await set({
      answer: async (question) => {
        if (question.call?.method === 'eth_chainId') await gate.opened
        if (question.call?.method !== 'eth_getBlockByNumber') return echo(question)
        const ownMemory = Buffer.from(result)
        given.push(new WeakRef(ownMemory.buffer))
        return { ...large(), result: ownMemory }
      },
      answerMemory: { maxBatchBytes: 400_000 },
    })

    const answered = post(`${url}/ethereum/${ID}`, [...batch(6), call('eth_chainId', [], 6)])
    await expect.poll(() => counted.filter((one) => one.includes('getBlockByNumber')).length).toBe(6)
    await expect
      .poll(() => {
        collect()
        return given.filter((memory) => memory.deref() !== undefined).length
      })
      .toBe(1)
    gate.open()

    expect(countOf((await answered).json)).toBe(1 + 1)
  })

  test('of all batches together are limited, and the limit is free again afterwards', async () => {
    const rules = { callers: [caller('wallet', ID)] }
    const { url } = await set({ answer: large, rules, answerMemory: { maxBytes: 1_000_000 } })
    let release: () => void = () => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    let asked = 0
    const held = await set({
      answer: async () => {
        if (++asked % 5 === 0) await gate
        return large()
      },
      rules,
      answerMemory: { maxBytes: 1_000_000 },
    })

    const together = [1, 2].map(() => post(`${held.url}/ethereum/${ID}`, batch(5)))
    await expect.poll(() => asked).toBe(10)
    release()

    expect((await Promise.all(together)).reduce((total, { json }) => total + countOf(json), 0)).toBe(3)
    for (const _ of [1, 2]) expect(countOf((await post(`${url}/ethereum/${ID}`, batch(3))).json)).toBe(3)
  })

  test.each([
    ['at most half, and leave the rest to others', [caller('hog', ADMIN_ID), caller('wallet', ID)], 5],
    ['everything if it is the only caller', [caller('hog', ADMIN_ID)], 10],
  ])('of unfinished batches of one caller hold %s', async (_title, callers, most) => {
    const gate = hold()
    const { url, asked, counted } = await set({
      rules: { callers },
      answer: async ({ call: of }) => {
        if (of?.method === 'eth_chainId') await gate.opened
        return large()
      },
      // With room for what frames ten answers.
      answerMemory: { maxBytes: 10.5 * LARGE },
    })
    const hanging = [...batch(6), call('eth_chainId', [], 6)]

    const hog = [1, 2].map(() => post(`${url}/ethereum/${ADMIN_ID}`, hanging))
    await expect.poll(() => asked.length).toBe(14)
    await expect.poll(() => counted.filter((one) => one.includes('getBlockByNumber')).length).toBe(12)
    const others = callers.length === 1 ? null : await post(`${url}/ethereum/${ID}`, batch(2))
    const tooLarge = counted.filter((one) => one === 'rejected ethereum answer-too-large').length
    gate.open()
    await Promise.all(hog)

    expect(tooLarge).toBe(12 - most)
    expect(others === null ? 2 : countOf(others.json)).toBe(2)
  })

  test('of unfinished batches leave some to the next caller, however many hold all they may', async () => {
    const names = ['hog', 'pig', 'boar']
    const gate = hold()
    const { url, asked, counted } = await set({
      rules: { callers: [...names.map((name) => caller(name, `${name}-0123456789abcdef`)), caller('wallet', ID)] },
      answer: async ({ call: of }) => {
        if (of?.method === 'eth_chainId') await gate.opened
        return large()
      },
      answerMemory: { maxBytes: 16.5 * LARGE },
    })
    const tooLarge = () => counted.filter((one) => one === 'rejected ethereum answer-too-large').length

    const kept: number[] = []
    const greedy: Promise<unknown>[] = []
    for (const [at, name] of names.entries()) {
      const before = tooLarge()
      greedy.push(post(`${url}/ethereum/${name}-0123456789abcdef`, [...batch(12), call('eth_chainId', [], 12)]))
      await expect.poll(() => asked.length).toBe(13 * (at + 1))
      await expect
        .poll(() => counted.filter((one) => one.includes('getBlockByNumber')).length, { interval: 10 })
        .toBe(12 * (at + 1))
      kept.push(12 - (tooLarge() - before))
    }
    const { json } = await post(`${url}/ethereum/${ID}`, batch(1))
    gate.open()
    await Promise.all(greedy)

    expect([kept, countOf(json)]).toEqual([[8, 4, 2], 1])
  })

  test('that a caller has not read are not cut off for a batch of one who holds more', async () => {
    const third = 'third-0123456789abcdef'
    const gate = hold()
    const setting = await set({
      rules: { callers: [caller('hog', ADMIN_ID), caller('wallet', ID), caller('third', third)] },
      answer: async ({ call: of }) => {
        if (of?.method === 'eth_chainId') await gate.opened
        return unreadOrPart(of)
      },
      answerMemory: { maxBytes: 200 * LARGE },
    })
    const { url, asked, counted } = setting
    const answered = () => counted.filter((one) => one.includes('getBlockByNumber')).length
    const unread = [await leaveUnread(setting, ID, UNREAD), await leaveUnread(setting, third, UNREAD)]
    await expect.poll(answered).toBe(2)

    const hog = post(`${url}/ethereum/${ADMIN_ID}`, [...batch(18), call('eth_chainId', [], 18)])
    await expect.poll(() => asked.length).toBe(2 + 19)
    await expect.poll(answered).toBe(2 + 18)
    const refused = counted.filter((one) => one === 'rejected ethereum answer-too-large').length
    gate.open()
    await hog

    expect(refused).toBeGreaterThanOrEqual(2)
    for (const take of unread) expect(await take()).toBeGreaterThan(60 * LARGE)
  })

  test('that a caller has not read are cut off for its own batch', async () => {
    const setting = await set({
      rules: { callers: [caller('wallet', ID)] },
      answer: ({ call: of }) => unreadOrPart(of),
      answerMemory: { maxBytes: 90 * LARGE },
    })
    const unread = await leaveUnread(setting, ID, UNREAD)
    await expect.poll(() => setting.counted.filter((one) => one.includes('getBlockByNumber')).length).toBe(1)

    const { json } = await post(`${setting.url}/ethereum/${ID}`, batch(8))

    expect(countOf(json)).toBe(8)
    expect(await unread()).toBeLessThan(60 * LARGE)
  })

  test('that a caller does not read are cut off for those who hold less, its batches counted', async () => {
    const MEBIBYTE = 2 ** 20
    const gate = hold()
    const setting = await set({
      answer: async ({ call: of }) => {
        if (of?.method === 'eth_chainId') await gate.opened
        return { ...FROM_A, kind: 'result', result: Buffer.alloc(16 * MEBIBYTE, '7') }
      },
      answerMemory: { maxBytes: 116 * MEBIBYTE, maxBatchBytes: 58 * MEBIBYTE },
    })
    const modest = [await leaveUnread(setting, ID, BLOCK), await leaveUnread(setting, ID, BLOCK)]
    const hog = await leaveUnread(setting, ADMIN_ID, BLOCK)
    await leaveUnread(setting, ADMIN_ID, [BLOCK, BLOCK, BLOCK, call('eth_chainId')])

    // Of 96 MiB the hog holds 64, 48 of them in its batch.
    const { status } = await post(`${setting.url}/ethereum/${ID}`, [BLOCK, BLOCK])

    expect(status).toBe(200)
    expect(await hog()).toBeLessThan(16 * MEBIBYTE)
    for (const take of modest) expect(await take()).toBeGreaterThan(16 * MEBIBYTE)
  })

  test('leave piece by piece, as fast as their caller reads', async () => {
    const PIECE = 4 * 2 ** 20
    const { port } = await set({
      answer: () => ({ ...FROM_A, kind: 'result', result: Buffer.from(`"${'7'.repeat(PIECE)}"`) }),
    })
    let response: ServerResponse | undefined
    const started = (message: unknown) => {
      response = (message as { response: ServerResponse }).response
    }
    channel.subscribe('http.server.request.start', started)
    onTestFinished(() => void channel.unsubscribe('http.server.request.start', started))
    const body = JSON.stringify(batch(15))
    const socket = connect(port, '127.0.0.1')
    socket
      .pause()
      .write(
        `POST /ethereum/${ID} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )

    // The system takes no more while nothing is read.
    await expect.poll(() => response?.writableNeedDrain, { timeout: 20_000 }).toBe(true)
    let waiting = 0
    const look = () => {
      waiting = Math.max(waiting, response?.writableLength ?? 0)
      if (response?.closed === false) setImmediate(look)
    }
    look()
    let text = ''
    for await (const chunk of socket.setEncoding('latin1')) text += String(chunk)

    const elements = JSON.parse(text.slice(text.indexOf('\r\n\r\n') + 4)) as { result: string }[]
    expect(elements.map(({ result: given }) => given.length)).toEqual(Array.from({ length: 15 }, () => PIECE))
    expect(waiting).toBeGreaterThan(0)
    expect(waiting).toBeLessThan(2 * PIECE)
  })
})

test('a bug in the handling of a request costs it its answer, and nothing else', async () => {
  let isBroken = true
  const { url, log } = await set({
    metrics: {
      ...UNCOUNTED,
      answered() {
        if (isBroken) throw new Error('a bug')
      },
    },
  })

  const broken = await post(`${url}/ethereum/${ID}`, call('eth_chainId'))
  const batch = await post(`${url}/ethereum/${ID}`, [call('eth_chainId'), call('eth_chainId')])
  isBroken = false
  const { status } = await post(`${url}/ethereum/${ID}`, call('eth_chainId'))

  expect([broken.status, broken.json.error.code, batch.status, status]).toEqual([500, -32_603, 500, 200])
  expect(broken.headers.get('connection')).toBe('close')
  expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(2)
})

describe('a batch', () => {
  test('is answered in its order, without its notifications, with errors inside', async () => {
    let waiting: (() => void)[] = []
    const { url } = await set({
      // The last request is answered first.
      answer: (question) =>
        new Promise((resolve) => {
          waiting.push(() => resolve(echo(question)))
          if (waiting.length === 3) for (const go of waiting.reverse()) go()
        }),
    })

    const { status, json } = await post(`${url}/ethereum/${ID}`, [
      call('eth_chainId', [], 'one'),
      { jsonrpc: '2.0', method: 'eth_chainId' },
      call('no_such', [], 2),
      7,
      call('eth_blockNumber', [], 3.5),
      { id: 4 },
      BLOCK,
    ])
    waiting = []

    expect(status).toBe(200)
    expect(json).toEqual([
      { jsonrpc: '2.0', id: 'one', result: expect.anything() },
      rpc(-32601, 2),
      rpc(-32600, null),
      { jsonrpc: '2.0', id: 3.5, result: expect.anything() },
      rpc(-32600, 4),
      { jsonrpc: '2.0', id: 1, result: expect.anything() },
    ])
  })

  test('summarises all its elements in its headers', async () => {
    const { url } = await set({
      answer: (question) => {
        const reply = echo(question)
        const isBlock = question.call?.method === 'eth_getBlockByNumber'
        return { ...reply, endpoint: isBlock ? 'b' : 'a', cache: isBlock ? 'miss' : 'hit', attempts: isBlock ? 2 : 1 }
      },
    })

    const { headers } = await post(`${url}/ethereum/${ID}`, [call('eth_chainId'), BLOCK, call('eth_chainId', [], 3)])

    expect(headers.get('x-heartline-endpoint')).toBe('a, b')
    expect(headers.get('x-heartline-attempts')).toBe('4')
    expect(headers.get('x-heartline-cache')).toBe('miss')
  })

  test('to a node’s health API is sent one by one, since nodes accept no batches', async () => {
    const { url, asked } = await set()

    const { json } = await post(`${url}/avalanche/${ID}/ext/health`, [
      call('health.getLiveness'),
      call('health.health', {}, 2),
    ])

    expect(json).toHaveLength(2)
    expect(asked.map(({ call: one, to }) => [one?.method, to])).toEqual([
      ['health.getLiveness', { kind: 'path', path: '/ext/health' }],
      ['health.health', { kind: 'path', path: '/ext/health' }],
    ])
  })

  test('of notifications alone is answered with 204', async () => {
    const { url } = await set()
    const note = { jsonrpc: '2.0', method: 'eth_chainId' }

    expect((await post(`${url}/ethereum/${ID}`, [note, note])).status).toBe(204)
  })

  test('is sent sixteen at a time', async () => {
    let at = 0
    let most = 0
    const { url } = await set({
      answer: async (question) => {
        most = Math.max(most, ++at)
        await new Promise((resolve) => setTimeout(resolve, 5))
        at--
        return echo(question)
      },
      rules: { batchLimit: 100, bodyLimitBytes: 100_000 },
    })

    const { json } = await post(
      `${url}/ethereum/${ID}`,
      Array.from({ length: 60 }, (_, id) => ({ ...BLOCK, id })),
    )

    expect(json.map(({ id }: { id: number }) => id)).toEqual(Array.from({ length: 60 }, (_, id) => id))
    expect(most).toBe(16)
  })
})

test('of one caller only eight calls begin in an iteration of the event loop, however many have arrived', async () => {
  let iteration = 0
  let watch = setImmediate(function next() {
    iteration++
    watch = setImmediate(next)
  })
  onTestFinished(() => clearImmediate(watch))
  const begun: number[] = []
  const { url } = await set({
    answer: async (question) => {
      begun.push(iteration)
      await new Promise((resolve) => setTimeout(resolve, 50))
      return echo(question)
    },
  })

  await post(
    `${url}/ethereum/${ID}`,
    Array.from({ length: 16 }, (_, id) => ({ ...BLOCK, id })),
  )

  const [first = 0] = begun
  expect(begun.map((at) => at - first)).toEqual([...Array(8).fill(0), ...Array(8).fill(1)])
})

describe('the table of errors, as JSON-RPC', () => {
  const eth = (body: unknown, headers?: Record<string, string>) => (url: string) =>
    post(`${url}/ethereum/${ID}`, body, headers)

  test.each<[string, number, number, unknown, (url: string) => Promise<Answer>, SettingOptions?]>([
    ['an unparsable body', -32700, 400, null, eth('{')],
    ['no body', -32700, 400, null, eth('')],
    ['no request', -32600, 400, null, eth('7')],
    ['a wrong version', -32600, 400, 1, eth({ ...BLOCK, jsonrpc: '1.0' })],
    ['a bad type of id', -32600, 400, null, eth({ ...BLOCK, id: {} })],
    ['an empty batch', -32600, 400, null, eth('[]')],
    ['an unknown method', -32601, 200, 1, eth(call('no_such'))],
    ['a method that is not allowed', -32601, 200, 1, eth(call('eth_call', []))],
    ['bad params', -32602, 200, 1, eth(call('eth_getBlockByNumber', ['latest', 'no boolean']))],
    ['a wrong content type', -32600, 415, 1, eth(BLOCK, { 'content-type': 'text/plain' })],
    ['an encoded body', -32600, 415, 1, eth(BLOCK, { 'content-encoding': 'gzip' })],
    [
      'a wrong HTTP method',
      -32600,
      405,
      1,
      (url) => ask(`${url}/ethereum/${ID}`, { method: 'PUT', body: JSON.stringify(BLOCK) }),
    ],
    ['an unknown route', -32600, 404, 1, (url) => post(`${url}/ethereum/${ID}/nowhere`, BLOCK)],
    ['a body that is too large', -32600, 413, null, eth({ ...BLOCK, more: 'x'.repeat(5000) })],
    ['a batch that is too large', -32600, 413, null, eth(Array.from({ length: 21 }, () => call('eth_chainId')))],
    ['a wrong endpoint_id', -32099, 401, 1, (url) => post(`${url}/ethereum/${ID}x`, BLOCK)],
    [
      'a network that is not there, with a wrong endpoint_id',
      -32099,
      401,
      1,
      (url) => post(`${url}/nowhere/${ID}x`, BLOCK),
    ],
    ['a network that is not there', -32099, 403, 1, (url) => post(`${url}/nowhere/${ID}`, BLOCK)],
    [
      'a network that is not the caller’s',
      -32099,
      403,
      1,
      eth(BLOCK),
      { rules: { callers: [caller('wallet', ID, { networks: ['avalanche'] })] } },
    ],
    [
      'admin.alias of a caller who may not',
      -32099,
      403,
      1,
      (url) => post(`${url}/avalanche/${ID}/ext/admin`, call('admin.alias', { endpoint: 'bc/C', alias: 'x' })),
    ],
    [
      'admin.alias where it is not allowed',
      -32099,
      403,
      1,
      (url) => post(`${url}/avalanche/${ADMIN_ID}/ext/admin`, call('admin.alias', { endpoint: 'bc/C', alias: 'x' })),
      { rules: { admin: false } },
    ],
    [
      'an endpoint that is not there',
      -32602,
      200,
      1,
      (url) => post(`${url}/avalanche/${ID}/ext/health`, call('health.health'), { 'x-heartline-endpoint': 'c' }),
    ],
    [
      'no usable endpoint',
      -32603,
      503,
      1,
      eth(BLOCK),
      {
        answer: () => ({ ...FROM_A, endpoint: null, kind: 'rejected', rejection: gatewayError('no-endpoint', 'none') }),
      },
    ],
    [
      'failed attempts',
      -32603,
      502,
      1,
      eth(BLOCK),
      { answer: () => ({ ...FROM_A, kind: 'rejected', rejection: gatewayError('all-failed', 'all') }) },
    ],
    [
      'a passed deadline',
      -32603,
      504,
      1,
      eth(BLOCK),
      { answer: () => ({ ...FROM_A, kind: 'rejected', rejection: gatewayError('deadline', 'late') }) },
    ],
    [
      'an unknown outcome',
      -32603,
      504,
      1,
      eth(BLOCK),
      {
        answer: () => ({ ...FROM_A, kind: 'rejected', rejection: gatewayError('outcome-unknown', 'outcome unknown') }),
      },
    ],
    ['a bug of ours', -32603, 502, 1, eth(BLOCK), { answer: () => Promise.reject(new Error(`a bug about ${ID}`)) }],
  ])('%s: %i, HTTP %i, id %j', async (_what, code, status, id, send, over = {}) => {
    const { url, log } = await set(over)

    const answer = await send(url)

    expect(answer.status).toBe(status)
    expect(answer.json).toEqual(rpc(code, id))
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-request-id')).not.toBeNull()
    expect(answer.headers.get('x-heartline-attempts')).toMatch(/^\d$/)
    expect(answer.headers.get('x-heartline-cache')).toBe('none')
    expect(answer.text).not.toContain(ID)
    expect(JSON.stringify(log.lines)).not.toContain(ID)
  })

  test('every wrong endpoint_id gets the same answer, whatever else is wrong', async () => {
    const { url } = await set()
    const wrong = [
      `/ethereum/${ID}x`,
      '/nowhere/short',
      `/multiversx/${'x'.repeat(128)}/ext/admin`,
      '/avalanche/__proto__/x/y/z',
    ]

    const answers = await Promise.all(
      wrong.map(async (path) => {
        const { status, text, headers } = await post(`${url}${path}`, 'no json', {
          'content-type': 'text/html',
          'x-request-id': 'r',
        })
        return [status, text, [...headers.keys()]]
      }),
    )

    for (const answer of answers) expect(answer).toEqual(answers[0])
    expect(answers[0]?.[0]).toBe(401)
  })

  test('a method that is not allowed says which is', async () => {
    const { url } = await set()

    const answer = await ask(`${url}/ethereum/${ID}`, { method: 'GET' })

    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await ask(`${url}/ethereum/${ID}`, { method: 'HEAD' })).status).toBe(405)
  })

  test('content types with parameters, and in any case, are JSON', async () => {
    const { url } = await set()

    for (const type of ['application/json;charset=UTF-8', 'Application/JSON ; charset=utf-8', 'application/json']) {
      expect((await post(`${url}/ethereum/${ID}`, BLOCK, { 'content-type': type })).status).toBe(200)
    }
    for (const type of [
      'application/jsonx',
      'application/json-rpc',
      'text/json',
      'multipart/form-data; a=application/json',
    ]) {
      expect((await post(`${url}/ethereum/${ID}`, BLOCK, { 'content-type': type })).status).toBe(415)
    }
  })
})

describe('REST', () => {
  const HASH = 'ab'.repeat(32)

  test('passes the node’s answer on as it is', async () => {
    const { url, asked } = await set()

    const { status, text, headers } = await ask(`${url}/multiversx/${ID}/block/1/by-hash/${HASH}?withTxs=true`)

    expect(status).toBe(200)
    expect(text).toBe(`{"data":"/block/1/by-hash/${HASH}?withTxs=true","error":"","code":"successful"}`)
    expect(headers.get('x-heartline-endpoint')).toBe('a')
    expect(asked[0]?.operation).toMatchObject({ name: 'block_by_hash', need: { kind: 'hash', shard: 1 } })
  })

  test('answers HEAD with the headers of GET', async () => {
    const { url } = await set()

    const { status, text, headers } = await ask(`${url}/multiversx/${ID}/network/config`, { method: 'HEAD' })

    expect([status, text]).toEqual([200, ''])
    expect(Number(headers.get('content-length'))).toBeGreaterThan(10)
  })

  const failing = (kind: 'no-endpoint' | 'all-failed' | 'deadline') => ({
    answer: () => ({ ...FROM_A, kind: 'rejected' as const, rejection: gatewayError(kind, 'because') }),
  })
  test.each<[string, number, string, string, RequestInit?, SettingOptions?]>([
    ['a bad shard', 400, 'bad_request', `/multiversx/${ID}/block/7/by-hash/${HASH}`],
    ['a bad hash', 400, 'bad_request', `/multiversx/${ID}/block/1/by-hash/ab`],
    ['an unknown route', 404, 'bad_request', `/multiversx/${ID}/address/erd1`],
    ['another HTTP method', 405, 'bad_request', `/multiversx/${ID}/network/config`, { method: 'POST', body: '{}' }],
    ['a wrong endpoint_id', 401, 'unauthorized', `/multiversx/${ID}x/network/config`],
    ['another network', 403, 'forbidden', `/nowhere/${ID}/network/config`],
    ['no usable endpoint', 503, 'internal_issue', `/multiversx/${ID}/network/config`, {}, failing('no-endpoint')],
    ['failed attempts', 502, 'internal_issue', `/multiversx/${ID}/network/config`, {}, failing('all-failed')],
    ['a passed deadline', 504, 'internal_issue', `/multiversx/${ID}/network/config`, {}, failing('deadline')],
    [
      'a bug of ours',
      502,
      'internal_issue',
      `/multiversx/${ID}/network/config`,
      {},
      { answer: () => Promise.reject(new Error('a bug')) },
    ],
  ])('%s: HTTP %i, %s', async (_what, status, code, path, init = {}, over = {}) => {
    const { url } = await set(over)

    const answer = await ask(`${url}${path}`, init)

    expect(answer.status).toBe(status)
    expect(answer.json).toEqual({ data: null, error: expect.stringMatching(/./), code })
    expect(answer.text).not.toContain(ID)
  })

  test('a rate limit answers 429 in its form', async () => {
    const limited = caller('wallet', ID, { rateLimit: { requests: 1, perMs: 60_000 } })
    const { url } = await set({ rules: { callers: [limited] } })

    await ask(`${url}/multiversx/${ID}/network/config`)
    const { status, json, headers } = await ask(`${url}/multiversx/${ID}/network/config`)

    expect([status, json.code, headers.get('retry-after')]).toEqual([429, 'rate_limited', '60'])
  })
})

describe('a rate limit', () => {
  const limited = (requests: number) => ({
    rules: { callers: [caller('wallet', ID, { rateLimit: { requests, perMs: 3_600_000 } }), caller('shop', ADMIN_ID)] },
  })

  test('rejects excess requests of one id with 429, and of no other', async () => {
    const { url, asked } = await set(limited(2))

    for (let turn = 0; turn < 2; turn++) expect((await post(`${url}/ethereum/${ID}`, BLOCK)).status).toBe(200)
    const { status, json, headers } = await post(`${url}/ethereum/${ID}`, BLOCK)

    expect([status, json]).toEqual([429, rpc(-32005)])
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(1000)
    expect(asked).toHaveLength(2)
    expect((await post(`${url}/ethereum/${ADMIN_ID}`, BLOCK)).status).toBe(200)
  })

  test('counts each element of a batch, and tells one that can never pass why', async () => {
    const { url, counted } = await set(limited(5))
    const batch = (count: number) => Array.from({ length: count }, (_, id) => ({ ...BLOCK, id }))

    const never = await post(`${url}/ethereum/${ID}`, batch(6))
    expect([never.status, never.headers.get('retry-after')]).toEqual([429, null])
    expect(never.json[5]).toMatchObject({
      id: 5,
      error: { code: -32005, message: expect.stringContaining('at most 5 requests') },
    })
    const first = await post(`${url}/ethereum/${ID}`, batch(3))
    expect([first.status, first.json.length]).toEqual([200, 3])
    const second = await post(`${url}/ethereum/${ID}`, batch(3))
    expect([second.status, second.json]).toEqual([429, [rpc(-32005, 0), rpc(-32005, 1), rpc(-32005, 2)]])
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    // What was refused has cost nothing.
    expect((await post(`${url}/ethereum/${ID}`, BLOCK)).status).toBe(200)
    expect(counted.filter((one) => one === 'ethereum none wallet rate-limited')).toHaveLength(6 + 3)
    expect(counted.filter((one) => one === 'rejected ethereum rate-limited')).toHaveLength(6 + 3)
  })
})

describe('x-heartline-endpoint', () => {
  test('names the node of a health request or an alias', async () => {
    const { url, asked } = await set()
    const header = { 'x-heartline-endpoint': 'b' }

    await post(`${url}/avalanche/${ID}/ext/health`, call('health.health'), header)
    await post(`${url}/avalanche/${ADMIN_ID}/ext/admin`, call('admin.alias', { endpoint: 'bc/C', alias: 'x' }), header)
    await post(`${url}/avalanche/${ID}/ext/health`, call('health.health'))
    await post(`${url}/avalanche/${ID}/ext/bc/C/rpc`, call('eth_chainId'), header)

    expect(asked.map(({ operation }) => operation.need)).toEqual([
      { kind: 'endpoint', endpoint: 'b' },
      { kind: 'endpoint', endpoint: 'b' },
      { kind: 'any' },
      { kind: 'any' },
    ])
  })
})

test('admin.alias answered with {} says success, which clients wait for', async () => {
  const { url } = await set({ answer: () => ({ ...FROM_A, kind: 'result', result: Buffer.from(' { }') }) })
  const alias = call('admin.alias', { endpoint: 'bc/C', alias: 'x' })

  expect((await post(`${url}/avalanche/${ADMIN_ID}/ext/admin`, alias)).json.result).toEqual({ success: true })
  expect((await post(`${url}/avalanche/${ADMIN_ID}/ext/health`, call('health.health'))).json.result).toEqual({})
})

describe('at an alias', () => {
  test('its target decides what is allowed, and only the endpoint that accepted it is used', async () => {
    const { url, asked } = await set({
      aliases: {
        resolve: (_network, path) =>
          path === 'mine/rpc'
            ? { kind: 'alias', surface: 'chain', endpoint: 'b', to: { kind: 'path', path: '/ext/mine/rpc' } }
            : gatewayError('unknown-route', 'no such alias'),
      },
    })

    const chain = await post(`${url}/avalanche/${ID}/ext/mine/rpc`, BLOCK)
    const admin = await post(
      `${url}/avalanche/${ADMIN_ID}/ext/mine/rpc`,
      call('admin.alias', { endpoint: 'a', alias: 'b' }),
    )
    const unknown = await post(`${url}/avalanche/${ID}/ext/other`, [BLOCK, { ...BLOCK, id: 2 }])

    expect(chain.status).toBe(200)
    expect(asked).toHaveLength(1)
    expect(asked[0]).toMatchObject({
      to: { kind: 'path', path: '/ext/mine/rpc' },
      operation: { name: 'alias', need: { kind: 'endpoint', endpoint: 'b' } },
    })
    expect(admin.json).toEqual(rpc(-32601))
    expect([unknown.status, unknown.json]).toEqual([404, [rpc(-32600), rpc(-32600, 2)]])
  })
})

describe('pages of other origins', () => {
  const preflight = (url: string, origin: string) =>
    ask(url, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } })

  test('are not let in by default', async () => {
    const { url } = await set()

    expect((await preflight(`${url}/ethereum/${ID}`, 'https://app.example.org')).status).toBe(405)
    const { headers } = await post(`${url}/ethereum/${ID}`, BLOCK, { origin: 'https://app.example.org' })
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('are where the caller’s configuration names them, and can read the answers, also those that refuse', async () => {
    const callers = [
      caller('wallet', ID, { cors: ['https://app.example.org'] }),
      caller('any', ADMIN_ID, { cors: ['*'] }),
    ]
    const { url } = await set({ rules: { callers } })
    const origin = 'https://app.example.org'

    const before = await preflight(`${url}/ethereum/${ID}`, origin)
    expect(before.status).toBe(204)
    expect(before.headers.get('access-control-allow-origin')).toBe(origin)
    expect(before.headers.get('access-control-allow-methods')).toBe('POST')
    expect(before.headers.get('access-control-allow-headers')).toContain('content-type')
    for (const body of [BLOCK, '{']) {
      const { headers } = await post(`${url}/ethereum/${ID}`, body, { origin })
      expect(headers.get('access-control-allow-origin')).toBe(origin)
      expect(headers.get('vary')).toBe('origin')
      expect(headers.get('access-control-expose-headers')).toContain('x-heartline-endpoint')
    }
    expect((await preflight(`${url}/ethereum/${ID}`, 'https://evil.example.org')).status).toBe(405)
    expect(
      (await preflight(`${url}/ethereum/${ADMIN_ID}`, 'https://any.example.org')).headers.get(
        'access-control-allow-origin',
      ),
    ).toBe('*')
    expect((await preflight(`${url}/ethereum/${ID}x`, origin)).status).toBe(401)
  })
})

describe('a reload', () => {
  test('counts for the next request on the same connection: ids, networks and limits', async () => {
    const { url, gateway } = await set()
    expect((await post(`${url}/ethereum/${ID}`, BLOCK)).status).toBe(200)

    gateway.reconfigure({ ...RULES, callers: [caller('wallet', ADMIN_ID)], bodyLimitBytes: 10 })

    expect((await post(`${url}/ethereum/${ID}`, BLOCK)).status).toBe(401)
    expect((await post(`${url}/ethereum/${ADMIN_ID}`, BLOCK)).status).toBe(413)
    expect(gateway.callers().map(({ name, requests, rejected: refused }) => [name, requests, refused])).toEqual([
      ['wallet', 2, 1],
    ])
  })
})

test('every request is counted with names alone, and logged so at debug level', async () => {
  const { url, counted, log } = await set({ answer: (question) => ({ ...echo(question), cache: 'miss' }) })

  await post(`${url}/ethereum/${ID}`, BLOCK)
  await post(`${url}/ethereum/${ID}`, call('no_such'))
  await post(`${url}/ethereum/${ID}x`, BLOCK)

  expect(counted).toEqual([
    'cache ethereum miss',
    'ethereum eth_getBlockByNumber wallet answered',
    'rejected ethereum unknown-method',
    'ethereum none wallet unknown-method',
    'rejected null unauthorized',
  ])
  expect(log.lines).toEqual([
    {
      level: 'debug',
      message: 'request',
      fields: {
        caller: 'wallet',
        network: 'ethereum',
        operation: 'eth_getBlockByNumber',
        endpoint: 'a',
        outcome: 'answered',
        ms: expect.any(Number),
      },
    },
    expect.objectContaining({ level: 'debug' }),
  ])
})

test('a request whose caller leaves is counted as cancelled, and as no endpoint’s failure', async () => {
  let arrived = () => {}
  const here = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const answer = (question: UpstreamRequest) =>
    new Promise<Reply>((resolve) => {
      question.signal.addEventListener('abort', () =>
        resolve({ ...FROM_A, kind: 'rejected', rejection: gatewayError('all-failed', 'cut short') }),
      )
      arrived()
    })
  const { url, counted, gateway } = await set({ answer })
  const leaving = new AbortController()

  const left = ask(`${url}/ethereum/${ID}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(BLOCK),
    signal: leaving.signal,
  })
  await here
  leaving.abort()

  await expect(left).rejects.toThrow()
  await expect.poll(() => counted).toEqual(['ethereum eth_getBlockByNumber wallet cancelled'])
  expect(gateway.callers()[0]).toMatchObject({ requests: 1, rejected: 0 })
})
