import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { gunzipSync } from 'node:zlib'
import { afterEach, describe, expect, onTestFinished, test } from 'vitest'
import { problemBody } from '../../src/http/problem.ts'
import { ProblemView } from '../../src/http/wire/common.ts'
import { HistoryView } from '../../src/http/wire/history.ts'
import { StatusView } from '../../src/http/wire/status.ts'
import { Secret } from '../../src/secret.ts'
import { Unreadable } from '../../src/store/reads.ts'
import type { HistoryQuery } from '../../src/store/store.ts'
import { bad } from '../support/network.ts'
import { OWN, type Setting, type SettingOptions, setUp } from './setting.ts'

const TOKEN = 'canary-of-the-token'
const open: Setting[] = []
afterEach(async () => {
  for (const { server } of open.splice(0)) await server.close()
})

function setting(options?: SettingOptions): Setting {
  const made = setUp(options)
  open.push(made)
  return made
}

describe('every answer', () => {
  test.each(['/api/v1/status', '/', '/nothing', '/metrics', '/-/healthy'])(
    'of %s carries the security headers',
    async (url) => {
      const { headers } = await setting().server.inject(url)

      expect(headers['content-security-policy']).toMatch(/^default-src 'self';.*frame-ancestors 'none'/)
      expect(headers['content-security-policy']).not.toContain('unsafe')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers['referrer-policy']).toBe('no-referrer')
      expect(headers['access-control-allow-origin']).toBeUndefined()
      expect(headers['set-cookie']).toBeUndefined()
    },
  )

  test.each([
    '/nothing',
    '/api/v1',
    '/api/v1/networks/',
    '/assets/app.ts',
    '/assets/../package.json',
    '/assets/tsconfig.json',
    '/%2e%2e/package.json',
  ])('to GET %s is a 404 problem', async (url) => {
    const answer = await setting().server.inject(url)

    expect(answer.statusCode).toBe(404)
    expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
    ProblemView.strict().parse(answer.json())
  })

  test.each([undefined, new Secret(TOKEN)])(
    'to HEAD has the type of that to GET, also for a browser (token: %s)',
    async (token) => {
      const { server } = setting({ options: { token: token ?? null, public: false } })

      for (const url of ['/nothing', '/api/v1/nothing', '/api/v1/networks/nothing', '/networks/nothing']) {
        const of = { url, headers: { accept: 'text/html' } }
        const [get, head] = [
          await server.inject({ method: 'GET', ...of }),
          await server.inject({ method: 'HEAD', ...of }),
        ]
        expect([head.statusCode, head.headers['content-type']], url).toEqual([
          get.statusCode,
          get.headers['content-type'],
        ])
      }
    },
  )

  test('says that a path is not one of the server, and where those of the API are listed', async () => {
    const answer = await setting().server.inject('/api/v1/nothing')

    expect(answer.json()).toMatchObject({
      status: 404,
      detail: 'No resource has this path. The paths of the API are listed at /openapi.json.',
    })
  })

  test.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const)(
    'to %s is a 405 problem that says what is allowed',
    async (method) => {
      const { server } = setting()

      for (const url of ['/api/v1/status', '/api/v1/endpoints/a/b/history?x=1', '/', '/metrics']) {
        const answer = await server.inject({ method, url })
        expect(answer.statusCode, url).toBe(405)
        expect(answer.headers.allow).toBe('GET, HEAD')
        ProblemView.strict().parse(answer.json())
      }
      expect((await server.inject({ method, url: '/nothing' })).statusCode).toBe(404)
    },
  )

  test.each(['/api/v1/networks/%zz', `/api/v1/networks/${'x'.repeat(300)}`])('to %s is a problem', async (url) => {
    const answer = await setting().server.inject(url)

    expect(answer.statusCode).toBe(400)
    ProblemView.strict().parse(answer.json())
  })

  test('to what is not HTTP is a problem, over a real socket', async () => {
    const { server } = setting()
    const { port } = await server.listen()

    const answer = await talk(port, 'GARBAGE\r\n\r\n')

    expect(answer).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).toContain('application/problem+json')
  })

  test('to headers above 8 KiB is 431, over a real socket', async () => {
    const { server } = setting()
    const { port } = await server.listen()

    const answer = await talk(port, `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(8200)}\r\n\r\n`)

    expect(answer).toMatch(/^HTTP\/1\.1 431 /)
  })

  test('to an unknown expectation is the answer without it, over a real socket', async () => {
    const { server } = setting()
    const { port } = await server.listen()

    const answer = await talk(
      port,
      'GET /nothing HTTP/1.1\r\nHost: localhost\r\nExpect: x\r\nConnection: close\r\n\r\n',
    )

    expect(answer).toMatch(/^HTTP\/1\.1 404 Not Found\r\n/)
    expect(answer).toContain('application/problem+json')
  })

  test.each([
    [408, 'Request timeout'],
    [409, 'Conflict'],
    [431, 'Headers too large'],
  ])('of status %i has the title %s', (status, title) => {
    expect(problemBody({ status, detail: 'x' }).title).toBe(title)
  })

  test('is counted by route and code, never by path', async () => {
    const { server } = setting()
    await server.inject('/api/v1/networks/secret-name')
    await server.inject('/wp-login.php')

    const { body } = await server.inject('/metrics')

    expect(body).toContain('heartline_http_requests_total{route="/api/v1/networks/:network",code="404"} 1\n')
    expect(body).toContain('heartline_http_requests_total{route="none",code="404"} 1\n')
    expect(body).not.toMatch(/secret-name|wp-login/)
  })

  test('from a broken part is a 500 problem, and neither it nor the log repeats the message', async () => {
    const { server, log } = setting({
      metrics: {
        exposition: () => Promise.reject(new Error('https://key@node')),
        httpRequest() {},
        gatewayCounts: () => {
          throw new Error('https://key@node')
        },
        daemonStatus: () => {
          throw new Error('https://key@node')
        },
      },
    })

    const answer = await server.inject('/metrics')

    expect(answer.statusCode).toBe(500)
    ProblemView.strict().parse(answer.json())
    expect(log.lines.map(({ level }) => level)).toEqual(['error'])
    expect(answer.body + JSON.stringify(log.lines)).not.toContain('key@node')
  })
})

describe('/metrics', () => {
  test('is complete text 0.0.4', async () => {
    const { server, world } = setting()
    await world.pollAll()

    const answer = await server.inject('/metrics')

    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(Number(answer.headers['content-length'])).toBe(answer.rawPayload.length)
    expect(answer.body).toContain('heartline_endpoint_up{network="avalanche",endpoint="own-1"} 1\n')
    expect(answer.body.endsWith('\n')).toBe(true)
  })

  test.each([
    ['gzip', true],
    ['deflate, gzip;q=0.5', true],
    ['gzip;q=0', false],
    ['identity', false],
    ['*', true],
    ['gzip;q=0, *', false],
  ])('for accept-encoding %s is compressed: %s', async (encoding, compressed) => {
    const { server } = setting()

    const answer = await server.inject({ url: '/metrics', headers: { 'accept-encoding': encoding } })

    expect(answer.headers['content-encoding']).toBe(compressed ? 'gzip' : undefined)
    const text = compressed ? gunzipSync(answer.rawPayload).toString() : answer.body
    expect(text).toContain('# TYPE heartline_build_info gauge\n')
  })

  test('is not kept in memory by a connection that stays open', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const rendered: WeakRef<object>[] = []
    const exposition = async () => {
      const piece = Buffer.allocUnsafeSlow(1024 * 1024).fill('#')
      rendered.push(new WeakRef(piece.buffer))
      return { bytes: piece.length, blocks: () => [piece] }
    }
    const unused = () => expect.unreachable()
    const metrics = { exposition, httpRequest() {}, gatewayCounts: unused, daemonStatus: unused }
    const { server } = setting({ metrics })
    const { port } = await server.listen()
    const scraper = connect(port, '127.0.0.1').resume()
    onTestFinished(() => void scraper.destroy())

    scraper.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await expect.poll(() => scraper.bytesRead).toBeGreaterThan(1024 * 1024)

    const isKept = () => {
      collect()
      return rendered[0]?.deref() !== undefined
    }
    await expect.poll(isKept).toBe(false)
    expect(scraper.destroyed).toBe(false)
  })

  test('is complete for others when a scraper disconnects early', async () => {
    const { server } = setting()
    const { port } = await server.listen()
    const leaving = connect(port, '127.0.0.1')
    leaving.write('GET /metrics HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n')
    leaving.destroy()

    // As many begin together.
    const answers = await Promise.all(Array.from({ length: 8 }, () => server.inject('/metrics')))

    for (const { body } of answers) expect(body.endsWith('\n')).toBe(true)
    expect(new Set(answers.map(({ body }) => body.split('# HELP process_cpu')[0])).size).toBe(1)
  })
})

describe('history', () => {
  test('comes in buckets: by default the last 24 hours in steps of 5 minutes', async () => {
    const asked: HistoryQuery[] = []
    const { server, clock } = setting({ store: { history: async (query) => [bucketAfter(asked, query)] } })

    const answer = await server.inject('/api/v1/endpoints/avalanche/own-1/history')

    expect(asked).toEqual([
      { endpoint: 'avalanche/own-1', from: clock.now() - 86_400_000, to: clock.now(), stepMs: 300_000 },
    ])
    const history = HistoryView.strict().parse(answer.json())
    expect(history).toMatchObject({ network: 'avalanche', endpoint: 'own-1', step_seconds: 300 })
    expect(history.buckets).toEqual([
      {
        start: '2025-12-31T00:00:00.000Z',
        up_seconds: 290,
        degraded_seconds: 10,
        down_seconds: 0,
        maintenance_seconds: 0,
        unknown_seconds: 0,
        polls: 30,
        latency_p50_seconds: 0.012,
        latency_p95_seconds: null,
        latency_max_seconds: 1.5,
        height: 77,
        lag_blocks_max: 3,
        heartbeat_lag_seconds_max: 2.5,
        contiguous_failures_max: 0,
      },
    ])
  })

  test.each([
    ['from=1767225600&to=1767229200.5&step=60', 1_767_225_600_000, 1_767_229_200_500, 60_000],
    ['from=2026-01-01T00:00:00Z&to=2026-01-01T03:00:00%2B02:00&step=1m', 1_767_225_600_000, 1_767_229_200_000, 60_000],
    ['from=2026-01-01T00:00:00.5Z&to=2026-01-01T03:00:00+02:00', 1_767_225_600_500, 1_767_229_200_000, 300_000],
    ['from=1969-12-31T00:00:00Z&to=1', 0, 1000, 300_000],
    ['to=1', 0, 1000, 300_000],
    ['from=253402000000&to=999999999999', 253_402_000_000_000, Date.UTC(9999, 11, 31), 300_000],
  ])('accepts %s, and answers with the times that it used', async (query, from, to, stepMs) => {
    const asked: HistoryQuery[] = []
    const { server } = setting({ store: { history: async (one) => [bucketAfter(asked, one)] } })

    const answer = await server.inject(`/api/v1/endpoints/avalanche/own-1/history?${query}`)

    expect(answer.statusCode).toBe(200)
    expect(asked).toEqual([{ endpoint: 'avalanche/own-1', from, to, stepMs }])
    const told = HistoryView.parse(answer.json())
    expect([Date.parse(told.from), Date.parse(told.to)]).toEqual([from, to])
  })

  test.each([
    ['from=yesterday', ['from']],
    ['from=2026-13-01T00:00:00Z', ['from']],
    ['step=1d&from=2024-02-29T00:00:00Z&to=2026-02-29T00:00:00Z', ['to']],
    ['from=-5&to=x&step=0&depth=9', ['from', 'to', 'step', 'depth']],
    ['from=1767229200&to=1767225600', ['from']],
    ['from=0&step=1s', ['step']],
    ['step=1w', ['step']],
    ['step=', ['step']],
    ['step=99999999999d', ['step']],
    ['from=1&from=2', ['from']],
  ])('%s is rejected, naming %j', async (query, names) => {
    const answer = await setting().server.inject(`/api/v1/endpoints/avalanche/own-1/history?${query}`)

    expect(answer.statusCode).toBe(400)
    const problem = ProblemView.strict().parse(answer.json())
    expect(problem.errors?.map(({ parameter }) => parameter)).toEqual(names)
  })

  test('that cannot be read is a 503 problem', async () => {
    const { server } = setting({
      store: { history: () => Promise.reject(new Unreadable('the history', '/var/lib/x.db is broken')) },
    })

    const answer = await server.inject('/api/v1/endpoints/avalanche/own-1/history')

    expect(answer.statusCode).toBe(503)
    expect(answer.body).not.toContain('/var/lib')
  })
})

describe('health and readiness', () => {
  test('the process is healthy before it is ready, and says why it is not ready', async () => {
    let ready = false
    let stopping = false
    const { server } = setting({ ready: () => ready, stopping: () => stopping })
    const ask = async () => {
      const { statusCode, body } = await server.inject('/-/ready')
      return [statusCode, body]
    }

    expect((await server.inject('/-/healthy')).statusCode).toBe(200)
    expect(await ask()).toEqual([503, 'not ready: the first round of polls is not done yet\n'])
    ready = true
    expect(await ask()).toEqual([200, 'ready\n'])
    stopping = true
    expect(await ask()).toEqual([503, 'not ready: stopping\n'])
    expect((await server.inject('/-/healthy')).statusCode).toBe(200)
  })
})

describe('with a token', () => {
  const token = new Secret(TOKEN)
  const bearer = { authorization: `Bearer ${TOKEN}` }
  const PUBLIC = [
    '/',
    '/api/v1/status',
    '/api/v1/networks/avalanche',
    '/api/v1/endpoints/avalanche/own-1',
    '/openapi.json',
    '/api/v1/strips',
  ]
  const PRIVATE = ['/metrics', '/api/v1/endpoints/avalanche/own-1/history']
  const ALWAYS = ['/-/healthy', '/-/ready', '/assets/style.css']

  test.each([...PUBLIC, ...ALWAYS])('and public, %s needs none', async (url) => {
    const answer = await setting({ options: { token } }).server.inject(url)

    expect(answer.statusCode).toBe(200)
  })

  test.each(PRIVATE)('and public, %s needs it', async (url) => {
    const { server } = setting({ options: { token } })

    const without = await server.inject(url)
    const wrong = await server.inject({ url, headers: { authorization: `Bearer ${TOKEN}x` } })
    const right = await server.inject({ url, headers: bearer })

    expect([without.statusCode, wrong.statusCode, right.statusCode]).toEqual([401, 401, 200])
    expect(without.headers['www-authenticate']).toMatch(/^Bearer/)
    expect(ProblemView.strict().parse(without.json()).status).toBe(401)
    expect(without.body).toBe(wrong.body)
  })

  test.each([
    '/probe?target=avalanche/own-1',
    '/sd',
    '/api/v1/endpoints/avalanche/own-1/polls',
    '/api/v1/endpoints/avalanche/own-1/rules',
    '/api/v1/networks/avalanche/blocks',
    '/api/v1/networks/avalanche/routing',
    '/api/v1/gateway',
    '/api/v1/observer',
    '/api/v1/cluster',
    '/api/v1/notifications',
    '/api/v1/silences',
    '/gateway',
    '/notifications',
  ])('and public, %s is 401 without it', async (url) => {
    const { server } = setting({ options: { token } })

    expect((await server.inject(url)).statusCode).toBe(401)
    expect((await server.inject({ url, headers: bearer })).statusCode).not.toBe(401)
  })

  test('and public, a note needs it', async () => {
    const { server } = setting({ options: { token } })
    const add = (headers: Record<string, string>) =>
      server.inject({ method: 'POST', url: '/api/v1/incidents/1/notes', headers, payload: { text: 'x' } })

    expect((await add({})).statusCode).toBe(401)
    expect((await add(bearer)).statusCode).not.toBe(401)
  })

  test.each([...PUBLIC, ...PRIVATE, '/nothing', '/api/v1/events'])('and not public, %s needs it', async (url) => {
    const { server } = setting({ options: { token, public: false } })

    expect((await server.inject(url)).statusCode).toBe(401)
    expect((await server.inject({ url, headers: { authorization: 'Basic eDp5' } })).statusCode).toBe(401)
  })

  test('and not public, every page asks a browser to sign in, and links to nothing that would reject it', async () => {
    const { server } = setting({ options: { token, public: false } })
    const open = async (url: string) => {
      const { statusCode, body } = await server.inject({ url, headers: { accept: 'text/html,*/*;q=0.8' } })
      return { statusCode, asks: body.includes('data-act="token"'), offers: body.includes('<a href="/feed.xml"') }
    }

    const refused = { statusCode: 401, asks: true, offers: false }
    expect([await open('/nothing'), await open('/')]).toEqual([refused, refused])
  })

  test.each(ALWAYS)('and not public, %s needs none', async (url) => {
    expect((await setting({ options: { token, public: false } }).server.inject(url)).statusCode).toBe(200)
  })

  test('a wrong token is rejected even where no token is needed', async () => {
    const { server } = setting({ options: { token } })

    const statusOf = async (url: string) =>
      (await server.inject({ url, headers: { authorization: 'Bearer wrong' } })).statusCode

    expect(await Promise.all(PUBLIC.map(statusOf))).toEqual(PUBLIC.map(() => 401))
    expect(await Promise.all(ALWAYS.map(statusOf))).toEqual(ALWAYS.map(() => 200))
  })

  test('the public sees names and states only, readers with the token see everything', async () => {
    const { server, world, clock } = setting({
      options: { token },
      observer: () => ({ impaired: true, judging: true, reasons: ['private reason'] }),
    })
    const failing = bad({ kind: 'rpc', code: -32_000, message: 'canary' })
    for (let poll = 0; poll < 2; poll++) {
      await clock.advance(10_000)
      await world.pollAll()
      await world.poll(OWN, { liveness: failing })
      await world.poll(OWN, { liveness: failing })
    }

    const seen = StatusView.strict().parse((await server.inject('/api/v1/status')).json())
    const all = StatusView.strict().parse((await server.inject({ url: '/api/v1/status', headers: bearer })).json())

    expect(seen.networks[0]?.endpoints[0]).toMatchObject({
      name: 'own-1',
      title: 'Own node 1',
      state: 'down',
      conditions: [{ code: 'bad-answer', message: 'invalid responses' }],
      heads: [],
      liveness: null,
      latency_seconds: null,
    })
    expect(seen.networks[0]?.heads).toEqual([])
    expect(seen.observer).toEqual({ impaired: true, judging: true, reasons: [] })
    expect(all.networks[0]?.endpoints[0]?.conditions[0]?.message).toBe('answered with error -32000')
    expect(all.networks[0]?.endpoints[1]?.heads).toHaveLength(1)
    expect(all.observer.reasons).toEqual(['private reason'])
  })

  test('the token is in no answer and no line of the log', async () => {
    const { server, log } = setting({ options: { token } })

    const answers = await Promise.all(
      [...PUBLIC, ...PRIVATE, '/nothing'].map((url) => server.inject({ url, headers: bearer })),
    )

    expect(
      answers.map(({ body, headers }) => body + JSON.stringify(headers)).join() + JSON.stringify(log.lines),
    ).not.toContain(TOKEN)
  })
})

test('a closed server accepts no connections', async () => {
  const { server } = setUp()
  const { port } = await server.listen()

  await server.close()

  await expect(talk(port, 'GET / HTTP/1.1\r\n\r\n')).rejects.toThrow('ECONNREFUSED')
})

function bucketAfter(asked: HistoryQuery[], query: HistoryQuery) {
  asked.push(query)
  return {
    start: query.from,
    upMs: 290_000,
    degradedMs: 10_000,
    downMs: 0,
    maintenanceMs: 0,
    unknownMs: 0,
    polls: 30,
    latencyP50Ms: 12,
    latencyP95Ms: null,
    latencyMaxMs: 1500,
    height: 77,
    lagBlocksMax: 3,
    heartbeatLagMaxMs: 2500,
    contiguousFailuresMax: 0,
  }
}

function talk(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1')
    socket.setEncoding('utf8')
    socket.on('data', (data) => {
      answer += data
    })
    socket.on('end', () => resolve(answer))
    socket.on('error', reject)
    socket.write(text)
  })
}
