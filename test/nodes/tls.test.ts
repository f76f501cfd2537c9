import { once } from 'node:events'
import { createServer as createHttps } from 'node:https'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { connect as connectTls, createServer as createTls, type TLSSocket, type TlsOptions } from 'node:tls'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createNodeForwarder } from '../../src/nodes/forward.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { endpoint, nodeTarget } from '../support/network.ts'
import { requirePackage } from '../support/system-package.ts'
import { type Authority, createAuthority } from './certificates.ts'
import { addressOf, answer, bodyOf, failureOf, nodeClient, POST, proberOf, rawNode, send } from './support.ts'

/** undici's own clock for idle connections. */
const undiciTimers = createRequire(import.meta.url)('undici/lib/util/timers.js') as { tick(ms: number): void }
const available = requirePackage('openssl', 'openssl')

function toLoopback(_host: string, { all }: { all?: boolean }, done: (...args: unknown[]) => void): void {
  if (all) done(null, [{ address: '127.0.0.1', family: 4 }])
  else done(null, '127.0.0.1', 4)
}

describe.skipIf(!available)('a node over TLS', () => {
  const authority: Authority = available ? createAuthority() : (undefined as never)
  afterAll(() => authority?.remove())

  async function tlsNode(options: TlsOptions): Promise<{ url: string; accepted: () => number }> {
    const node = await rawNode(
      (socket) => socket.write(answer('{}')),
      (onSocket) => createTls(options, onSocket).on('tlsClientError', () => {}),
    )
    return { ...node, url: node.url.replace('http:', 'https:') }
  }

  test('is trusted by the authority that is configured for it, and its certificate’s end is known', async () => {
    const { url } = await tlsNode(authority.issue({ san: 'IP:127.0.0.1', until: '20401231235959Z' }))
    const address = addressOf(url, { ca: authority.ca })
    const client = nodeClient()

    expect(bodyOf(await send(client, address))).toBe('{}')
    expect(client.tlsNotAfter(address)).toBe(Date.parse('2040-12-31T23:59:59Z'))
  })

  test('is contacted by its name, which its certificate must contain', async () => {
    const { url } = await tlsNode(authority.issue({ san: 'DNS:node.example' }))
    const client = nodeClient({ lookup: toLoopback as never })
    const named = (host: string) => addressOf(url.replace('127.0.0.1', host), { ca: authority.ca })

    expect(bodyOf(await send(client, named('node.example')))).toBe('{}')
    expect(failureOf(await send(client, named('other.example')))).toEqual({ kind: 'tls', problem: 'wrong-host' })
  })

  test('with an expired certificate fails, and the end of it is still known', async () => {
    const { url } = await tlsNode(authority.issue({ san: 'IP:127.0.0.1', until: '20200201000000Z' }))
    const address = addressOf(url, { ca: authority.ca })
    const client = nodeClient()

    expect(failureOf(await send(client, address))).toEqual({ kind: 'tls', problem: 'expired' })
    expect(client.tlsNotAfter(address)).toBe(Date.parse('2020-02-01T00:00:00Z'))
  })

  test('with a certificate that is not valid yet fails alike', async () => {
    const { url } = await tlsNode(authority.issue({ san: 'IP:127.0.0.1', from: '20980101000000Z' }))

    expect(failureOf(await send(nodeClient(), addressOf(url, { ca: authority.ca })))).toEqual({
      kind: 'tls',
      problem: 'expired',
    })
  })

  test('of an unknown authority, or of none, is not trusted', async () => {
    const issued = await tlsNode(authority.issue({ san: 'IP:127.0.0.1' }))
    const self = await tlsNode(authority.selfSigned)

    for (const { url } of [issued, self]) {
      expect(failureOf(await send(nodeClient(), addressOf(url)))).toEqual({ kind: 'tls', problem: 'untrusted' })
    }
  })

  test('is verified although NODE_TLS_REJECT_UNAUTHORIZED=0 is set', async () => {
    const { url } = await tlsNode(authority.selfSigned)
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0')
    onTestFinished(() => void vi.unstubAllEnvs())
    // Other connections of the process do not verify now.
    const other = connectTls(Number(new URL(url).port), '127.0.0.1')
    await once(other, 'secureConnect')
    other.destroy()

    const forwarder = createNodeForwarder({ clock: systemClock, maxConnections: 8 })
    onTestFinished(() => forwarder.close())
    const forwarded = await forwarder.forward(addressOf(url), POST, 10_000, new AbortController().signal)

    expect(failureOf(await send(nodeClient(), addressOf(url)))).toEqual({ kind: 'tls', problem: 'untrusted' })
    expect(forwarded).toMatchObject({ ok: false, failure: { kind: 'tls', problem: 'untrusted' } })
  })

  test.each([
    ['keeps connections', ''],
    ['closes them', 'connection: close\r\n'],
  ])(
    'has its large answers wait for memory and turns if it %s',
    async (_, headers) => {
      const large = Buffer.from(Array.from({ length: 2 ** 19 }, (_, nth) => String(nth).padStart(8)).join(''))
      const node = await rawNode(
        (socket) => {
          socket.write(answer(large, headers))
          if (headers !== '') socket.end()
        },
        (onSocket) => createTls(authority.selfSigned, onSocket),
      )
      const address = addressOf(node.url.replace('http:', 'https:'), { insecure: true })
      const limits = { maxConnections: 8, maxIncomingBytes: 2 ** 20 }
      const nodes = createNodeForwarder({ clock: systemClock, ...limits, nextTurn: () => setImmediate() })
      onTestFinished(() => nodes.close())
      const ask = async () => nodes.forward(address, POST, 60_000, new AbortController().signal)

      for (const forwarded of await Promise.all([ask(), ask(), ask(), ask()])) {
        expect(forwarded.ok && large.equals(forwarded.answer.body)).toBe(true)
      }
    },
    120_000,
  )

  test('gets the name of its URL, no name for an address, and only HTTP/1.1', async () => {
    const asked: unknown[] = []
    const options = { ...authority.issue({ san: 'DNS:node.example,IP:127.0.0.1' }), ALPNProtocols: ['h2', 'http/1.1'] }
    const { url } = await rawNode(
      (socket) => {
        const { servername, alpnProtocol } = socket as TLSSocket & { servername: string | false }
        asked.push([servername, alpnProtocol])
        socket.write(answer('{}'))
      },
      (onSocket) => createTls(options, onSocket),
    )
    const secure = url.replace('http:', 'https:')
    const client = nodeClient({ lookup: toLoopback as never })

    for (const host of ['node.example', '127.0.0.1']) {
      const address = addressOf(secure.replace('127.0.0.1', host), {
        ca: authority.ca,
        headers: { host: 'other.example' },
      })
      expect(bodyOf(await send(client, address))).toBe('{}')
    }

    expect(asked).toEqual([
      ['node.example', 'http/1.1'],
      [false, 'http/1.1'],
    ])
  })

  test('may be anyone’s if insecure is set', async () => {
    const { url } = await tlsNode(authority.selfSigned)

    expect(bodyOf(await send(nodeClient(), addressOf(url, { insecure: true })))).toBe('{}')
  })

  test('is sent nothing before it is trusted', async () => {
    let bytes = 0
    const node = await rawNode(
      (_socket, request) => {
        bytes += request.length
      },
      (onSocket) => createTls(authority.selfSigned, onSocket).on('tlsClientError', () => {}),
    )

    await send(nodeClient(), addressOf(node.url.replace('http:', 'https:')))

    expect(bytes).toBe(0)
  })

  test('with nothing but TLS 1.1 cannot be talked to', async () => {
    const old = {
      ...authority.selfSigned,
      maxVersion: 'TLSv1.1',
      minVersion: 'TLSv1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    } as const
    const { url } = await tlsNode(old)

    expect(failureOf(await send(nodeClient(), addressOf(url)))).toEqual({ kind: 'tls', problem: 'protocol' })
  })

  test('that speaks plain HTTP cannot be talked to', async () => {
    const { url } = await rawNode((socket) => socket.write('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n'))

    expect(failureOf(await send(nodeClient(), url.replace('http:', 'https:')))).toEqual({
      kind: 'tls',
      problem: 'protocol',
    })
  })

  test.each([15, 60, 290])('shakes hands once in ten minutes if it is polled every %i s', async (seconds) => {
    const { url, accepted } = await tlsNode(authority.issue({ san: 'IP:127.0.0.1' }))
    const clock = createFakeClock()
    const client = nodeClient({ clock })
    const address = addressOf(url, { ca: authority.ca })
    const handshakes: number[] = []

    for (let passed = 0; passed <= 1200; passed += seconds) {
      expect(await send(client, address)).toMatchObject({ ok: true })
      handshakes.push(accepted())
      await pass(clock, seconds * 1000)
    }

    const polls = Math.floor(600 / seconds)
    expect(handshakes.slice(0, polls)).toEqual(Array.from({ length: polls }, () => 1))
    expect(handshakes.at(-1)).toBeLessThanOrEqual(3)
  })

  test('shakes hands twice in ten minutes if its liveness takes so long that the head needs a second connection', async () => {
    let heads = 0
    let polls = 0
    const held: (() => void)[] = []
    const { url, accepted } = await tlsAnswers(authority.issue({ san: 'IP:127.0.0.1' }), (method, respond) => {
      if (method === 'eth_getBlockByNumber') heads++
      if (method === 'eth_syncing' && heads < polls) held.push(respond)
      else respond()
      if (method === 'eth_getBlockByNumber') for (const release of held.splice(0)) release()
    })
    const clock = createFakeClock()
    const own = endpoint('own-1', { checks: ['liveness', 'head'] })
    const target = nodeTarget(own, url, { tls: { ca: authority.ca, insecure: false }, timeoutMs: 30_000 })
    const prober = proberOf([target], { clock: { ...systemClock, now: clock.now, monotonic: clock.monotonic } })
    const { signal } = new AbortController()
    const handshakes: number[] = []

    for (; polls < 40; await pass(clock, 15_000)) {
      const of = polls++ % 4 === 0 ? own : { ...own, checks: ['head'] as const }
      expect(await prober.poll(of, signal)).toMatchObject({ heads: [{ outcome: { ok: true } }] })
      handshakes.push(accepted())
    }

    expect(handshakes).toEqual(Array.from({ length: 40 }, () => 2))
  })
})

/** A node that answers each method once `respond` is called. */
async function tlsAnswers(options: TlsOptions, onMethod: (method: string, respond: () => void) => void) {
  let accepted = 0
  const server = createHttps(options, (request, response) => {
    void text(request).then((body) => {
      const { id, method } = JSON.parse(body)
      onMethod(method, () => response.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? null })))
    })
  })
  server.on('secureConnection', () => accepted++)
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => server.close().closeAllConnections())
  return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, accepted: () => accepted }
}

const HASH = `0x${'1'.repeat(64)}`
const RESULTS: Readonly<Record<string, unknown>> = {
  eth_syncing: false,
  net_peerCount: '0x9',
  web3_clientVersion: 'Geth/v1.16.0',
  eth_getBlockByNumber: { number: '0x1', hash: HASH, parentHash: HASH, timestamp: '0x1' },
}

async function pass(clock: FakeClock, ms: number): Promise<void> {
  await clock.advance(ms)
  undiciTimers.tick(ms)
  // undici closes an idle connection in a later turn of the event loop.
  for (let turn = 0; turn < 3; turn++) await setImmediate()
}
