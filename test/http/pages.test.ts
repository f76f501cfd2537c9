import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { DrawingTurns } from '../../src/http/page/drawing-turns.ts'
import { Secret } from '../../src/secret.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { incident } from '../support/incident.ts'
import { bad, good, liveness, nodeCheck } from '../support/network.ts'
import { OWN, setUp } from './setting.ts'

const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
const token = new Secret('a-token-of-the-operator')

function read(body: string): Document {
  const { document } = new Window()
  document.documentElement.innerHTML = body.replace(/^<!doctype html>\s*/, '')
  return document as unknown as Document
}

const nextIteration = () => new Promise<'waiting'>((resolve) => setImmediate(() => resolve('waiting')))
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
const heading = (body: string) => read(body).querySelector('h1')?.textContent?.trim()

/** A server that has drawn a page and rests: further requests wait until the clock is advanced. */
async function afterOneDrawing() {
  const fake = createFakeClock()
  let looks = 0
  let isDrawing = true
  // Drawing takes time, because each look at the clock does.
  const monotonic = () => fake.monotonic() + (isDrawing ? 5 * looks++ : 0)
  const setting = setUp({ realClock: { ...fake, monotonic } })
  const { port } = await setting.server.listen()
  const { status } = await fetch(`http://127.0.0.1:${port}/?n=first`, { headers: HTML })
  expect(status).toBe(200)
  isDrawing = false
  return { fake, setting, port }
}

const nothing = async () => {}

describe('pages that many clients want at once', () => {
  test('are drawn with a pause, one client after the other', async () => {
    const fake = createFakeClock()
    const startedAt = fake.monotonic()
    let drawingMs = 0
    const turns = new DrawingTurns({ after: fake.after, monotonic: () => fake.monotonic() + drawingMs })
    const drawn: string[] = []
    const draw = (client: string) =>
      turns.draw(client, nothing, async () => {
        drawn.push(client)
        drawingMs += 5
      })

    const all = Array.from({ length: 50 }, () => draw('10.0.0.1'))
    all.push(draw('10.0.0.2'))
    await fake.advance(0)
    expect(drawn).toEqual(['10.0.0.1'])
    while (drawn.length < 3) await fake.advance(10)
    const first = [...drawn]
    while (drawn.length < 51) await fake.advance(10)

    expect(first).toContain('10.0.0.2')
    // 50 pauses of three times 5 ms.
    expect(fake.monotonic() - startedAt).toBeGreaterThanOrEqual(50 * 15)
    await Promise.all(all)
  })

  test.each([
    ['three', 16, 15],
    ['nine, while more than 16 wait,', 18, 45],
  ])('are drawn after a pause of %s times their drawing', async (_, waiting, pauseMs) => {
    const fake = createFakeClock()
    let drawingMs = 0
    const turns = new DrawingTurns({ after: fake.after, monotonic: () => fake.monotonic() + drawingMs })
    let drawn = 0
    const all = Array.from({ length: 1 + waiting }, () =>
      turns.draw('10.0.0.1', nothing, async () => {
        drawn++
        drawingMs += 5
      }),
    )

    await fake.advance(pauseMs - 1)
    expect(drawn).toBe(1)
    await fake.advance(1)
    expect(drawn).toBe(2)

    await fake.advance(20 * pauseMs)
    await Promise.all(all)
  })

  test('are drawn when the one before is finished, whatever it waits for', async () => {
    const fake = createFakeClock()
    const turns = new DrawingTurns(fake)
    let compressed = () => {}
    let drawn = 0
    const first = turns.draw('10.0.0.1', nothing, () => new Promise<void>((resolve) => (compressed = resolve)))
    const second = turns.draw('10.0.0.2', nothing, async () => drawn++)

    await fake.advance(10_000)
    expect(drawn).toBe(0)
    compressed()
    await first
    await fake.advance(30_000)

    await second
    expect(drawn).toBe(1)
  })

  test('are refused while 128 of one client wait, and those of others are not', async () => {
    const fake = createFakeClock()
    const turns = new DrawingTurns(fake)
    const hang = () => new Promise<void>(() => {})
    for (let n = 0; n < 128; n++) void turns.draw('10.0.0.1', nothing, hang)

    expect(await turns.draw('10.0.0.1', nothing, hang)).toBeNull()
    const others = ['10.0.0.2', null].map((client) => turns.draw(client, nothing, async () => client))
    expect(await Promise.race([...others, Promise.resolve('waiting')])).toBe('waiting')
  })

  test('are not drawn for a client that left, and its places are free', async () => {
    const fake = createFakeClock()
    const turns = new DrawingTurns(fake)
    let finish = () => {}
    const first = turns.draw('10.0.0.2', nothing, () => new Promise<void>((resolve) => (finish = resolve)))
    const left = Array.from({ length: 128 }, () => new AbortController())
    const drawn: string[] = []
    const gone = left.map(({ signal }) => turns.draw('10.0.0.1', nothing, async () => drawn.push('gone'), signal))

    for (const each of left) each.abort()
    expect(await Promise.all(gone)).toEqual(gone.map(() => null))
    const again = turns.draw('10.0.0.1', nothing, async () => drawn.push('again'))
    const late = turns.draw('10.0.0.1', nothing, async () => drawn.push('late'), left[0]?.signal)
    finish()
    await first
    await fake.advance(1000)

    expect(await again).toBe(1)
    expect(await late).toBeNull()
    expect(drawn).toEqual(['again'])
  })

  test('are not drawn for a connection that closed, and its places are free', async () => {
    const { fake, setting, port } = await afterOneDrawing()
    const ask = (n: number) => {
      const asking = get({ port, host: '127.0.0.1', path: `/?n=${n}`, agent: false })
      return {
        asking,
        status: once(asking, 'response').then(
          ([answer]) => (answer as IncomingMessage).resume().statusCode,
          () => 'closed',
        ),
      }
    }
    const statuses: unknown[] = []
    const all = Array.from({ length: 200 }, (_, n) => ask(n))
    for (const { status } of all) void status.then((one) => statuses.push(one))
    await expect.poll(() => statuses.length).toBe(200 - 128)

    for (const { asking } of all) asking.destroy()
    await expect.poll(() => statuses.length).toBe(200)
    const again = ask(1000).status
    while ((await Promise.race([again, nextIteration()])) === 'waiting') await fake.advance(10)

    expect(statuses).toContain(503)
    expect(await again).toBe(200)
    await setting.server.close()
  })

  test('are not drawn for requests that a closed connection had sent together, and their places are free', async () => {
    const { setting, port } = await afterOneDrawing()
    // Of more than 64 on one connection, the last are read later.
    const all = Array.from({ length: 4 }, () => connect(port, '127.0.0.1'))
    for (const [of, socket] of all.entries()) {
      const paths = Array.from({ length: 50 }, (_, n) => `/?of=${of}&n=${n}`)
      socket.resume().write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`).join(''))
    }
    /** Of a hundred requests, those that were not left to wait. */
    const refused = async () => {
      const answers: unknown[] = []
      const asked = Array.from({ length: 100 }, (_, n) =>
        get({ port, host: '127.0.0.1', path: `/?n=${n}`, agent: false })
          .once('response', (answer) => answers.push(answer.resume().statusCode))
          .on('error', () => {}),
      )
      await pause(300)
      for (const asking of asked) asking.destroy()
      return answers
    }
    await expect.poll(refused).toContain(503)

    for (const socket of all) socket.destroy()

    await expect.poll(refused).toEqual([])
    await setting.server.close()
  })

  test('leave the overview to everybody, also to a client whose places are taken', async () => {
    const fake = createFakeClock()
    let looks = 0
    const { server } = setUp({ realClock: { ...fake, monotonic: () => fake.monotonic() + 5 * looks++ } })
    const ask = (url: string, remoteAddress: string) => server.inject({ url, headers: HTML, remoteAddress })
    const answered: number[] = []
    const flood = Array.from({ length: 200 }, async (_, n) => {
      const { statusCode } = await ask(`/?n=${n}`, '10.0.0.1')
      answered.push(statusCode)
    })
    await expect.poll(() => answered.length).toBe(200 - 128)

    const overviews = Promise.all([ask('/', '10.0.0.1'), ask('/', '10.0.0.2')])
    while (answered.length < 200) {
      await fake.advance(10)
      await nextIteration()
    }

    expect((await overviews).map(({ statusCode }) => statusCode)).toEqual([200, 200])
    await Promise.all(flood)
    expect(answered).toContain(503)
  })

  test('read nothing from the store while they are refused', async () => {
    let reads = 0
    const incidents = () => {
      reads++
      return new Promise<never>(() => {})
    }
    const { server } = setUp({ store: { incidents } })
    const statuses: number[] = []

    for (let n = 0; n < 300; n++) {
      void server
        .inject({ url: `/incidents?n=${n}`, headers: HTML })
        .then(({ statusCode }) => statuses.push(statusCode))
    }

    await expect.poll(() => statuses.length).toBe(300 - 128)
    expect(new Set(statuses)).toEqual(new Set([503]))
    expect(reads).toBe(128)
  })

  test('are not drawn for a client that left while the store was read', async () => {
    const turns = new DrawingTurns(createFakeClock())
    const left = new AbortController()
    let isDrawn = false
    let read = () => {}
    const draw = async () => {
      isDrawn = true
    }
    const load = () => new Promise<void>((resolve) => (read = resolve))
    const drawing = turns.draw('10.0.0.1', load, draw, left.signal)

    left.abort()
    read()

    expect(await drawing).toBeNull()
    expect(isDrawn).toBe(false)
  })

  test('are refused while half of 256 places are taken', async () => {
    const fake = createFakeClock()
    let looks = 0
    // Drawing takes time, because each look at the clock does.
    const setting = setUp({ realClock: { ...fake, monotonic: () => fake.monotonic() + 5 * looks++ } })
    const answered: number[] = []
    const all = Array.from({ length: 300 }, async (_, n) => {
      const answer = await setting.server.inject({ url: `/?sort=name&n=${n}`, headers: HTML })
      answered.push(n)
      return answer
    })

    await expect.poll(() => answered.length).toBe(300 - 128)
    while (answered.length < 300) {
      await fake.advance(10)
      await nextIteration()
    }
    const refused = (await Promise.all(all)).filter(({ statusCode }) => statusCode !== 200)

    // Those that were drawn at once depend on how many requests arrive together.
    expect(refused.length).toBeGreaterThan(0)
    expect(
      new Set(refused.map(({ statusCode, headers }) => `${statusCode} ${String(headers['retry-after'])}`)),
    ).toEqual(new Set(['503 5']))
  })
})

describe('the page', () => {
  test.each([
    ['/', '1 of 3 endpoints is unstable: Own node 1 (Avalanche), up now, incident open.', '▲ Heartline'],
    ['/networks/avalanche', 'Avalanche', '▲ Avalanche · Heartline'],
    ['/endpoints/avalanche/own-1', 'Own node 1', '▲ Own node 1 · Heartline'],
    ['/incidents', 'Incidents', '▲ Incidents · Heartline'],
    [
      `/incidents/${incident().id}`,
      'Avalanche: Own node 1 is down: connection refused',
      '▲ Avalanche: Own node 1 · Heartline',
    ],
    ['/observer', 'Observer', '▲ Observer · Heartline'],
    ['/gateway', 'Gateway', '▲ Gateway · Heartline'],
    ['/notifications', 'Notifications', '▲ Notifications · Heartline'],
  ])('has %s, readable without scripts', async (url, first, title) => {
    const { server, world, incidents } = setUp()
    await world.pollAll()
    incidents.put(incident())

    const answer = await server.inject({ url, headers: HTML })

    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(heading(answer.body)).toBe(first)
    expect(read(answer.body).title).toBe(title)
    expect(answer.body).not.toMatch(/undefined|\[object|NaN/)
  })

  test('follows its own security policy: nothing inline, nothing from other origins', async () => {
    const { server, world, incidents } = setUp()
    await world.pollAll()
    incidents.put(incident())

    for (const url of [
      '/',
      '/networks/avalanche',
      '/endpoints/avalanche/own-1',
      '/incidents',
      '/observer',
      '/gateway',
      '/notifications',
    ]) {
      const document = read((await server.inject(url)).body)
      const all = [...document.querySelectorAll('*')]
      const names = new Set(all.flatMap((element) => element.getAttributeNames()))

      expect(
        [...names].filter((name) => name === 'style' || name.startsWith('on')),
        url,
      ).toEqual([])
      expect(
        [...document.querySelectorAll('script')].filter(({ textContent }) => textContent !== ''),
        url,
      ).toEqual([])
      expect(document.querySelector('style'), url).toBeNull()
      const addresses = all
        .flatMap((one) => [one.getAttribute('href'), one.getAttribute('src')])
        .filter((one) => one !== null)
      expect(
        addresses.filter((one) => !/^[/#]/.test(one) || one.startsWith('//')),
        url,
      ).toEqual([])
    }
  })

  test('requests only existing files, whose content never changes', async () => {
    const { server } = setUp()
    const document = read((await server.inject('/')).body)
    const files = [
      ...document.querySelectorAll('script, link[rel=stylesheet], link[rel=modulepreload], link[rel=icon]'),
    ].map((one) => one.getAttribute('src') ?? one.getAttribute('href'))

    expect(files.map((file) => /(\w+)[^/]*$/.exec(file ?? '')?.[1])).toEqual(
      expect.arrayContaining(['boot', 'style', 'icon', 'app', 'chunk']),
    )
    for (const file of files) {
      const { statusCode, headers } = await server.inject(file ?? '')
      expect(statusCode, file ?? '').toBe(200)
      expect(headers['cache-control'], file ?? '').toContain('immutable')
    }
    expect((await server.inject('/assets/style.css')).headers['cache-control']).toBe('no-cache')
  })

  test('serves its files compressed as the browser accepts, and only once', async () => {
    const { server } = setUp()
    const [, file = ''] = /src="([^"]+\/boot\.js)"/.exec((await server.inject('/')).body) ?? []

    const plain = await server.inject(file)
    const zipped = await server.inject({ url: file, headers: { 'accept-encoding': 'gzip, deflate' } })
    const smallest = await server.inject({ url: file, headers: { 'accept-encoding': 'gzip, deflate, br, zstd' } })
    const known = await server.inject({ url: file, headers: { 'if-none-match': plain.headers.etag } })
    const onlyHead = await server.inject({ method: 'HEAD', url: file })

    expect(plain.headers['content-encoding']).toBeUndefined()
    expect(zipped.headers['content-encoding']).toBe('gzip')
    expect(gunzipSync(zipped.rawPayload).toString()).toBe(plain.body)
    expect(smallest.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(smallest.rawPayload).toString()).toBe(plain.body)
    expect(known.statusCode).toBe(304)
    expect(known.body).toBe('')
    expect([onlyHead.statusCode, onlyHead.body]).toEqual([200, ''])
    for (const { headers } of [plain, zipped, smallest]) {
      expect(headers['content-type']).toBe('application/javascript; charset=utf-8')
      expect(headers['x-content-type-options']).toBe('nosniff')
      expect(headers.vary).toContain('Accept-Encoding')
    }
  })

  test.each([
    '',
    'views',
    'views/',
    '../src/main.js',
    '..%2fsrc%2fmain.js',
    '%2e%2e/%2e%2e/package.json',
    '..%5c..%5cpackage.json',
    'boot.js%00',
    '/etc/passwd',
    'none.js',
  ])('serves no other file: %j', async (path) => {
    const { server } = setUp()
    const [, folder = ''] = /src="([^"]+\/)boot\.js"/.exec((await server.inject('/')).body) ?? []

    for (const from of [folder, '/assets/']) {
      const answer = await server.inject(from + path)

      expect(answer.statusCode).toBeGreaterThanOrEqual(400)
      expect(answer.statusCode).toBeLessThan(500)
      expect(answer.headers['content-type']).toBe('application/problem+json; charset=utf-8')
      expect(answer.headers['cache-control']).toBe('no-cache')
    }
  })

  test('is compressed for clients that accept it, with the same content', async () => {
    const { server } = setUp()

    const plain = await server.inject('/')
    const packed = await server.inject({ url: '/', headers: { 'accept-encoding': 'gzip' } })
    const smallest = await server.inject({ url: '/', headers: { 'accept-encoding': 'gzip, deflate, br' } })

    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(smallest.headers['content-encoding']).toBe('br')
    expect(brotliDecompressSync(smallest.rawPayload).toString()).toBe(plain.body)
    expect(gunzipSync(packed.rawPayload).toString()).toBe(plain.body)
    expect(plain.headers['content-encoding']).toBeUndefined()
  })

  test('is drawn at most once a second for all requests', async () => {
    const { server, world, clock } = setUp()
    await world.pollAll()
    const before = await server.inject('/')

    const refused = bad({ kind: 'refused' })
    for (let poll = 0; poll < 2; poll++) await world.poll(OWN, { heads: [{ shard: null, outcome: refused }] })

    expect((await server.inject('/')).body).toBe(before.body)
    await clock.advance(1001)
    expect(heading((await server.inject('/')).body)).toContain('1 of 3 endpoints is down: Own node 1')
  })

  test('a filter in the address is for its own readers, and any number of addresses keeps few pages', async () => {
    const { server, world } = setUp()
    await world.pollAll()
    const rows = async (url: string) => read((await server.inject(url)).body).querySelectorAll('tbody tr').length

    expect(await rows('/?q=ethereum')).toBe(1)
    expect(await rows('/')).toBe(3)
    for (let one = 0; one < 40; one++) expect(await rows(`/?q=own-${one}`)).toBe(one === 1 || one === 2 ? 1 : 0)
  })

  test('answers an address of more than 2,048 characters with a page for people, which does not repeat it', async () => {
    const { server } = setUp()
    const ask = (length: number) => server.inject({ url: '/incidents?network=a'.padEnd(length, ';'), headers: HTML })

    expect((await ask(2048)).statusCode).toBe(200)
    const answer = await ask(2049)
    expect(answer.statusCode).toBe(404)
    expect(heading(answer.body)).toBe('Not found')
    expect(answer.body).not.toMatch(/(?:;|%3B){3}/)
  })

  test.each([
    '/networks/missing',
    '/endpoints/avalanche/missing',
    '/incidents/missing',
    '/incidents?cursor=x',
    '/nothing',
    '/networks/',
  ])('answers %s with a page for people: not found', async (url) => {
    const { server } = setUp()

    const answer = await server.inject({ url, headers: HTML })

    expect(answer.statusCode).toBe(404)
    expect(heading(answer.body)).toBe('Not found')
    expect(read(answer.body).querySelector('main a')?.getAttribute('href')).toBe('/')
  })

  test('shows messages of nodes as text', async () => {
    const { server, world, clock } = setUp()
    const checks = [nodeCheck('<img src=x onerror=alert(1)>', { contiguousFailures: 5 })]
    for (let poll = 0; poll < 2; poll++) await world.poll(OWN, { liveness: good(liveness(clock.now(), { checks })) })

    const { body } = await server.inject('/')

    expect(body).toContain('&lt;img src=x')
    expect(read(body).querySelector('img')).toBeNull()
    expect(body).not.toContain('<img')
  })
})

describe('with a token', () => {
  test('the public page has names and states, no heights and no messages of nodes, and a way to sign in', async () => {
    const { server, world, clock } = setUp({ options: { token } })
    const failing = bad({ kind: 'rpc', code: -32_000, message: 'canary' })
    for (let poll = 0; poll < 2; poll++) {
      await clock.advance(10_000)
      await world.pollAll()
      for (let again = 0; again < 2; again++) await world.poll(OWN, { liveness: failing })
    }

    const seen = (await server.inject('/')).body
    const all = (await server.inject({ url: '/', headers: { authorization: 'Bearer a-token-of-the-operator' } })).body

    expect(seen).toContain('Own node 1')
    expect(seen).not.toMatch(/-32000|1,000/)
    expect(seen).toContain('data-access="public"')
    expect(read(seen).querySelector('header')?.textContent).toContain('Sign in')
    expect(all).toContain('answered with error -32000')
    expect(all).toContain('1,000')
  })

  test.each([
    ['/incidents?endpoint=', 200],
    ['/endpoints/avalanche/', 404],
  ])('%s without it makes the store search only for an endpoint that there is', async (url, status) => {
    const searched: unknown[] = []
    const incidents = async ({ endpoint }: { endpoint?: string | undefined }) => {
      if (endpoint !== undefined) searched.push(endpoint)
      return []
    }
    const { server } = setUp({ options: { token }, store: { incidents } })

    expect((await server.inject(`${url}invented`)).statusCode).toBe(status)
    expect((await server.inject(`${url}own-1`)).statusCode).toBe(200)

    expect(searched).toEqual(['own-1'])
  })

  test('private views ask for it with a form', async () => {
    const { server } = setUp({ options: { token } })

    const answer = await server.inject({ url: '/gateway', headers: HTML })

    expect(answer.statusCode).toBe(401)
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
    expect(read(answer.body).querySelector('form input')?.getAttribute('type')).toBe('password')
  })

  test.each(['/', '/networks/avalanche', '/incidents'])(
    'and not public, %s is the form and nothing else',
    async (url) => {
      const { server, world, incidents } = setUp({ options: { token, public: false } })
      await world.pollAll()
      incidents.put(incident())

      const answer = await server.inject({ url, headers: HTML })

      expect(answer.statusCode).toBe(401)
      expect(answer.headers['www-authenticate']).toMatch(/^Bearer/)
      expect(read(answer.body).querySelector('form input')?.getAttribute('type')).toBe('password')
      expect(answer.body).not.toMatch(/Avalanche|Own node|refused/i)
      expect(answer.body).toContain('data-access="closed"')
    },
  )
})
