import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { gunzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import type { BadHeight, Fault } from '../../src/simulator/fault.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { latestHeight, post, rpc, startNode } from './ask.ts'

const CHAIN_ID = { jsonrpc: '2.0', id: 1, method: 'eth_chainId' }
const LATEST = { jsonrpc: '2.0', id: 1, method: 'eth_getBlockByNumber', params: ['latest', false] }

async function ill(fault: Fault) {
  const clock = createFakeClock()
  const node = await startNode(clock, { family: 'ethereum' })
  node.inject(fault)
  return { clock, node }
}

/** `fetch` says "fetch failed" of everything; the code is in its cause. */
const codeOf = (error: unknown): unknown => {
  const { cause } = error as { cause?: { code?: unknown } }
  return cause?.code
}

describe('what a node believes of the chain', () => {
  test('stall: its head stays where it is', async () => {
    const { clock, node } = await ill({ kind: 'stall' })
    const before = await latestHeight(node.url)

    await clock.advance(60_000)

    expect(await latestHeight(node.url)).toBe(before)
    expect(node.chain.height(null)).toBe(before + 30)
  })

  test('lag: it is so many blocks behind at once, and stays so', async () => {
    const { clock, node } = await ill({ kind: 'lag', blocks: 12, gradual: false })

    expect(await latestHeight(node.url)).toBe(node.chain.height(null) - 12)
    await clock.advance(60_000)
    expect(await latestHeight(node.url)).toBe(node.chain.height(null) - 12)
  })

  test('gradual lag: it holds still until it is so many behind, and never goes back', async () => {
    const { clock, node } = await ill({ kind: 'lag', blocks: 5, gradual: true })
    const before = await latestHeight(node.url)

    await clock.advance(6000)
    expect(await latestHeight(node.url)).toBe(before)
    await clock.advance(14_000)
    expect(await latestHeight(node.url)).toBe(node.chain.height(null) - 5)
  })

  test('lie: it reports blocks that do not exist yet, and agrees below them', async () => {
    const { node } = await ill({ kind: 'lie', blocks: 1_000_000_000 })
    const honest = node.chain.height(null)

    const newest = (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result
    const common = (await rpc(node.url, 'eth_getBlockByNumber', [`0x${honest.toString(16)}`, false])).result

    expect(Number(newest.number)).toBe(honest + 1_000_000_000)
    expect(Number(newest.timestamp)).toBeLessThanOrEqual(node.chain.now() / 1000)
    expect(common.hash).toBe(`0x${node.chain.block(null, honest).hash}`)
  })

  test('fork: its last blocks and all that follow are others', async () => {
    const { clock, node } = await ill({ kind: 'fork', depth: 3 })
    const tip = node.chain.height(null)
    await clock.advance(4000)

    const hashAt = async (height: number) =>
      (await rpc(node.url, 'eth_getBlockByNumber', [`0x${height.toString(16)}`, false])).result.hash
    const ours = (height: number) => `0x${node.chain.block(null, height).hash}`

    expect(await hashAt(tip - 3)).toBe(ours(tip - 3))
    expect(await hashAt(tip - 2)).not.toBe(ours(tip - 2))
    expect(await hashAt(tip + 2)).not.toBe(ours(tip + 2))
  })

  test('fork with a branch: nodes that part at one height are on one branch, those of another are not', async () => {
    const { clock, node } = await ill({ kind: 'fork', depth: 3, branch: 1, at: 5 })
    const { chain } = node
    const others = [
      { kind: 'fork', depth: 3, branch: 1, at: 5 },
      { kind: 'fork', depth: 3, branch: 2, at: 5 },
      { kind: 'fork', depth: 3, branch: 1, at: 6 },
    ] as const
    await clock.advance(4000)

    const headOf = async (url: string) => (await rpc(url, 'eth_getBlockByNumber', ['latest', false])).result
    const own = await headOf(node.url)
    const seen = await Promise.all(
      others.map(async (fault, index) => {
        const other = await startNode(clock, { family: 'ethereum' }, { chain, name: `other-${index}` })
        other.inject(fault)
        return headOf(other.url)
      }),
    )

    expect(seen.map((head) => head.number)).toEqual([own.number, own.number, own.number])
    expect(seen.map((head) => head.hash === own.hash)).toEqual([true, false, false])
    expect(seen.map((head) => head.parentHash === own.parentHash)).toEqual([true, false, false])
    expect(own.hash).not.toBe(`0x${chain.block(null, chain.height(null)).hash}`)
  })

  test('fork at a height to come: it is on the common chain until then', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'ethereum' })
    node.inject({ kind: 'fork', depth: 3, at: node.height() + 2 })
    const hash = async () => (await rpc(node.url, 'eth_getBlockByNumber', ['latest', false])).result.hash
    const common = () => `0x${node.chain.block(null, node.chain.height(null)).hash}`

    await clock.advance(2000)
    expect(await hash()).toBe(common())
    await clock.advance(2000)
    expect(await hash()).not.toBe(common())
  })

  test('regress: it falls back, and catches up a block each block time', async () => {
    const { clock, node } = await ill({ kind: 'regress', blocks: 4 })

    expect(await latestHeight(node.url)).toBe(node.chain.height(null) - 4)
    await clock.advance(4000)
    expect(await latestHeight(node.url)).toBe(node.chain.height(null) - 2)
    await clock.advance(20_000)
    expect(await latestHeight(node.url)).toBe(node.chain.height(null))
  })

  test('jitter: its answers differ by a few blocks, the same way in every run', async () => {
    const heights = async () => {
      const { node } = await ill({ kind: 'jitter', blocks: 2 })
      const seen: number[] = []
      for (let turn = 0; turn < 20; turn++) seen.push(node.chain.height(null) - (await latestHeight(node.url)))
      return seen
    }

    const first = await heights()

    expect(new Set(first)).toEqual(new Set([0, 1, 2]))
    expect(await heights()).toEqual(first)
  })

  test('halt: no node of this chain has a new block until healed', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'ethereum' })
    const other = await startNode(clock, { family: 'ethereum' }, { chain: node.chain })
    const before = await latestHeight(other.url)

    node.inject({ kind: 'halt' })
    await clock.advance(60_000)
    const halted = await latestHeight(other.url)
    node.heal('halt')
    await clock.advance(4000)

    expect(halted).toBe(before)
    expect(await latestHeight(other.url)).toBe(before + 2)
  })
})

describe('what a node says of itself', () => {
  test('wrong-chain: another chain id', async () => {
    const { node } = await ill({ kind: 'wrong-chain', chainId: 5 })

    expect((await rpc(node.url, 'eth_chainId')).result).toBe('0x5')
  })

  test('clock-skew: its Date header is off, block times are not', async () => {
    const { node } = await ill({ kind: 'clock-skew', byMs: -90_000 })

    const response = await post(node.url, LATEST)

    expect(Date.parse(response.headers.get('date') ?? '')).toBe(Math.floor((node.chain.now() - 90_000) / 1000) * 1000)
  })

  test('no-evidence: healthy, with nothing to show for it', async () => {
    const node = await startNode(createFakeClock(), { family: 'avalanche' })
    node.inject({ kind: 'no-evidence' })

    expect((await rpc(`${node.url}/ext/health`, 'health.health')).result).toEqual({ checks: {}, healthy: true })
  })

  test('failing-check: a tolerated one leaves the node healthy', async () => {
    const node = await startNode(createFakeClock(), { family: 'avalanche' })
    node.inject({ kind: 'failing-check', name: '<script>', contiguousFailures: 9, tolerated: true })

    const { result } = await rpc(`${node.url}/ext/health`, 'health.health')

    expect(result.healthy).toBe(true)
    expect(result.checks['<script>'].contiguousFailures).toBe(9)
  })
})

describe('whether and when bytes arrive', () => {
  test('refuse: its port is closed, and open again afterwards', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'ethereum' })

    node.inject({ kind: 'refuse' }, 10_000)
    await expect.poll(() => post(node.url, CHAIN_ID).then(() => 'answered', codeOf)).toBe('ECONNREFUSED')
    await clock.advance(10_000)

    await expect.poll(() => post(node.url, CHAIN_ID).then(({ status }) => status, codeOf)).toBe(200)
  })

  test('reset: connections end before any answer', async () => {
    const { node } = await ill({ kind: 'reset' })

    expect(await post(node.url, CHAIN_ID).catch(codeOf)).toBe('ECONNRESET')
  })

  test('hang: no answer, until healed for later requests', async () => {
    const clock = createFakeClock()
    let arrived = () => {}
    const asked = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const node = await startNode(clock, { family: 'ethereum' }, { onRequest: () => arrived() })
    node.inject({ kind: 'hang' })
    const received = { bytes: 0 }
    const hanging = httpRequest(node.url, { method: 'POST', headers: { 'content-type': 'application/json' } })
    hanging.on('response', () => received.bytes++).on('error', () => {})
    hanging.end(JSON.stringify(CHAIN_ID))
    await asked

    await clock.advance(3_600_000)
    node.heal('hang')

    expect((await rpc(node.url, 'eth_chainId')).result).toBe('0x1')
    expect(received.bytes).toBe(0)
    hanging.destroy()
  })

  test('slow: the answer waits for its time', async () => {
    const clock = createFakeClock()
    let arrived = () => {}
    const asked = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const node = await startNode(clock, { family: 'ethereum' }, { onRequest: () => arrived() })
    node.inject({ kind: 'slow', delayMs: 5000 })
    let status = 0

    const answer = post(node.url, CHAIN_ID).then((response) => {
      status = response.status
    })
    await asked
    await clock.advance(4999)
    const early = status
    await clock.advance(1)
    await answer

    expect([early, status]).toEqual([0, 200])
  })

  test('drip: a few bytes at a time, and whole in the end', async () => {
    const { clock, node } = await ill({ kind: 'drip', bytes: 7, everyMs: 100 })
    const response = await post(node.url, CHAIN_ID)
    const body = response.text()

    await clock.advance(10_000)

    expect(JSON.parse(await body)).toMatchObject({ result: '0x1' })
  })

  test('endless: blanks follow the answer, on and on', async () => {
    const { clock, node } = await ill({ kind: 'endless', everyMs: 10 })
    const response = await post(node.url, CHAIN_ID)
    const reader = response.body?.getReader()
    let text = ''

    while (!text.endsWith('     ')) {
      await clock.advance(10)
      text += Buffer.from((await reader?.read())?.value ?? []).toString()
    }
    await reader?.cancel()

    expect(JSON.parse(text)).toMatchObject({ result: '0x1' })
  })

  test('flap: well and gone in turns', async () => {
    const { clock, node } = await ill({ kind: 'flap', upMs: 10_000, downMs: 5000 })
    const ask = () => post(node.url, CHAIN_ID).then(({ status }) => status, codeOf)

    expect(await ask()).toBe(200)
    await clock.advance(10_000)
    expect(await ask()).toBe('ECONNRESET')
    await clock.advance(5000)
    expect(await ask()).toBe(200)
  })

  test('truncated: the connection ends in the middle of the answer', async () => {
    const { node } = await ill({ kind: 'truncated' })

    const response = await post(node.url, LATEST)

    await expect(response.text()).rejects.toThrow('terminated')
  })

  test('not-http: what comes is no HTTP', async () => {
    const { node } = await ill({ kind: 'not-http' })

    const first = await new Promise<string>((resolve) => {
      const socket = connect(node.port, '127.0.0.1')
      socket.once('data', (bytes) => {
        socket.destroy()
        resolve(bytes.toString())
      })
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
    })

    expect(first).toMatch(/^SSH-2\.0/)
  })
})

describe('what the answer is', () => {
  test('http: a status and a text', async () => {
    const { node } = await ill({ kind: 'http', status: 502 })

    const response = await post(node.url, CHAIN_ID)

    expect([response.status, await response.text()]).toEqual([502, 'HTTP 502\n'])
  })

  test('rate-limit: 429 in the words of each family, with Retry-After', async () => {
    const clock = createFakeClock()
    const ethereum = await startNode(clock, { family: 'ethereum' })
    const multiversx = await startNode(clock, { family: 'multiversx' })
    for (const node of [ethereum, multiversx]) node.inject({ kind: 'rate-limit', retryAfterMs: 5000 })

    const rpcAnswer = await post(ethereum.url, CHAIN_ID)
    const restAnswer = await fetch(`${multiversx.url}/network/status/0`)

    expect([rpcAnswer.status, rpcAnswer.headers.get('retry-after')]).toEqual([429, '5'])
    expect(await rpcAnswer.json()).toMatchObject({ id: 1, error: { code: -32005 } })
    expect([restAnswer.status, await restAnswer.json()]).toMatchObject([429, { data: null, code: 'system_busy' }])
  })

  test('redirect: 302 to elsewhere', async () => {
    const { node } = await ill({ kind: 'redirect' })

    const response = await post(node.url, CHAIN_ID)

    expect([response.status, response.headers.get('location')]).toEqual([302, '/elsewhere'])
  })

  test('valid-503: the right body under the wrong status', async () => {
    const { node } = await ill({ kind: 'valid-503' })

    const response = await post(node.url, CHAIN_ID)

    expect([response.status, await response.json()]).toMatchObject([503, { result: '0x1' }])
  })

  test('error-200: an error inside a success', async () => {
    const clock = createFakeClock()
    const ethereum = await startNode(clock, { family: 'ethereum' })
    const multiversx = await startNode(clock, { family: 'multiversx' })
    for (const node of [ethereum, multiversx]) node.inject({ kind: 'error-200' })

    expect(await rpc(ethereum.url, 'eth_chainId')).toMatchObject({ id: 1, error: { code: -32000 } })
    const rest = await fetch(`${multiversx.url}/network/status/0`)
    expect([rest.status, await rest.json()]).toMatchObject([200, { data: null, code: 'internal_issue' }])
  })

  test.each([
    ['empty', /^$/],
    ['html', /^<!DOCTYPE html>/],
  ] as const)('%s: no JSON', async (kind, expected) => {
    const { node } = await ill({ kind })

    expect(await (await post(node.url, CHAIN_ID)).text()).toMatch(expected)
  })

  test('garbage: bytes that claim to be JSON', async () => {
    const { node } = await ill({ kind: 'garbage' })

    const response = await post(node.url, CHAIN_ID)

    expect(response.headers.get('content-type')).toBe('application/json')
    await expect(response.json()).rejects.toThrow()
  })

  test('huge: as many bytes as ordered, without their length ahead', async () => {
    const { node } = await ill({ kind: 'huge', bytes: 32 * 2 ** 20 })

    const response = await post(node.url, CHAIN_ID)

    expect(response.headers.has('content-length')).toBe(false)
    expect((await response.arrayBuffer()).byteLength).toBeGreaterThanOrEqual(32 * 2 ** 20)
  })

  test('gzip-bomb: a thousandth on the wire of what it unpacks to', async () => {
    const { node } = await ill({ kind: 'gzip-bomb', bytes: 64 * 2 ** 20 })

    const bytes = await new Promise<Buffer>((resolve, reject) => {
      const sent = httpRequest(node.url, { method: 'POST', headers: { 'content-type': 'application/json' } })
      sent.on('error', reject).on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('end', () => resolve(Buffer.concat(chunks)))
      })
      sent.end(JSON.stringify(CHAIN_ID))
    })

    expect(bytes.length).toBeLessThan(100_000)
    expect(gunzipSync(bytes)).toHaveLength(64 * 2 ** 20)
  })

  test('deep: so many levels of brackets', async () => {
    const { node } = await ill({ kind: 'deep', levels: 5000 })

    const text = await (await post(node.url, CHAIN_ID)).text()

    expect(text).toContain('['.repeat(5000) + ']'.repeat(5000))
  })

  test('proto: members that must not reach any prototype', async () => {
    const { node } = await ill({ kind: 'proto' })

    const text = await (await post(node.url, LATEST)).text()

    expect(text).toContain('"__proto__":{"polluted":true}')
    expect((JSON.parse(text) as { result: { number: string } }).result.number).toMatch(/^0x/)
  })

  test('wrong-id: the answer to another request', async () => {
    const { node } = await ill({ kind: 'wrong-id' })

    expect(await rpc(node.url, 'eth_chainId')).toMatchObject({ id: 'another request', result: '0x1' })
  })

  test.each<[BadHeight, string, string]>([
    ['negative', '"number":"-0x5"', '"erd_nonce":-5'],
    ['decimal', '"number":"12345678"', '"erd_nonce":12345.5'],
    ['unsafe', '"number":"0x20000000000001"', '"erd_nonce":9007199254740993'],
    ['latest', '"number":"latest"', '"erd_nonce":"latest"'],
  ])('bad-height: %s', async (value, quantity, nonce) => {
    const clock = createFakeClock()
    const ethereum = await startNode(clock, { family: 'ethereum' })
    const multiversx = await startNode(clock, { family: 'multiversx' })
    for (const node of [ethereum, multiversx]) node.inject({ kind: 'bad-height', value })

    expect(await (await post(ethereum.url, LATEST)).text()).toContain(quantity)
    expect(await (await fetch(`${multiversx.url}/network/status/0`)).text()).toContain(nonce)
  })
})

describe('faults come and go', () => {
  test('one that is timed ends by itself', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'ethereum' })

    node.inject({ kind: 'http', status: 503 }, 5000)
    const during = node.faults()
    await clock.advance(5000)

    expect(during).toMatchObject([{ fault: { kind: 'http' }, until: node.chain.now() }])
    expect(node.faults()).toEqual([])
    expect((await post(node.url, CHAIN_ID)).status).toBe(200)
  })

  test('a fault injected again restarts and outlives the first one', async () => {
    const clock = createFakeClock()
    const node = await startNode(clock, { family: 'ethereum' })

    node.inject({ kind: 'http', status: 503 }, 5000)
    await clock.advance(3000)
    node.inject({ kind: 'http', status: 500 }, 5000)
    await clock.advance(3000)

    expect(node.faults()).toMatchObject([{ fault: { status: 500 } }])
  })

  test('a timeline is followed, again and again', async () => {
    const clock = createFakeClock()
    const schedule = [{ atMs: 10_000, forMs: 5000, fault: { kind: 'hang' } as const }]
    const node = await startNode(clock, { family: 'ethereum' }, { timeline: { schedule, repeatMs: 60_000 } })
    const seen: number[] = []

    for (let second = 0; second < 130; second++) {
      if (node.faults().length > 0) seen.push(second)
      await clock.advance(1000)
    }

    expect(seen).toEqual([10, 11, 12, 13, 14, 70, 71, 72, 73, 74])
  })
})
