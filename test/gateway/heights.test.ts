import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import type { Need } from '../../src/core/routing/operation.ts'
import type { Reply } from '../../src/gateway/upstream-request.ts'
import { THRESHOLDS } from '../support/network.ts'
import { textOf } from './chain.ts'
import {
  type Answering,
  BLOCK_NUMBER,
  blockAt,
  FINALIZED_BLOCK,
  LATEST_BLOCK,
  setting,
  startBareNode,
} from './nodes.ts'

const hex = (height: number) => `0x${height.toString(16)}`

/** A node at this height; it says which state it read, and gives logs up to its own height without an error. */
const at =
  (height: number): Answering =>
  ({ method }) => {
    if (method === 'eth_blockNumber') return hex(height)
    if (method === 'eth_getLogs') return `logs up to ${height}`
    return method === 'eth_getBalance' ? `balance at ${height}` : { number: hex(height) }
  }

/** At height 1002, and gives this error to reads of state. */
const withoutState =
  (error: object): Answering =>
  (asked, response) => {
    if (asked.method !== 'eth_getBalance') return at(1002)(asked, response)
    response.setHeader('content-type', 'application/json')
    return void response.end(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error }))
  }

const BALANCE = {
  operation: {
    name: 'other',
    need: { kind: 'latest', shard: null } as Need,
    isRead: true,
    absenceIsDoubtful: false,
  } as const,
  call: { id: '1', isNotification: false, method: 'eth_getBalance', params: '["0x0"]' },
  canonical: 'eth_getBalance ["0x0"]',
}
const logsTo = (height: number) => ({
  operation: { ...BALANCE.operation, need: { kind: 'height', shard: null, height } as Need },
  call: {
    id: '1',
    isNotification: false,
    method: 'eth_getLogs',
    params: `[{"fromBlock":"0x1","toBlock":"${hex(height)}"}]`,
  },
  canonical: `eth_getLogs ${height}`,
})
const HYDRATED_BLOCK = { ...LATEST_BLOCK, call: { ...LATEST_BLOCK.call, params: '["latest",true]' }, canonical: 'true' }
const PENDING_BLOCK = { ...FINALIZED_BLOCK, call: { ...FINALIZED_BLOCK.call, params: '["pending",false]' } }
const BLOCK_1002 = { ...blockAt(1002), canonical: '0x3ea' }
const within = (ms: number) => ({ deadlineAt: systemClock.monotonic() + ms })
const FALLBACK_B = { endpoints: { b: { tier: 'fallback' } } } as const
const isStale = ({ staleMs }: Reply) => typeof staleMs === 'number'
const retryAfterMs = (reply: Reply) => (reply.kind === 'rejected' ? reply.rejection.retryAfterMs : undefined)

/** The caller has seen block 1002 from `a`, which is gone; `b` is at 1001. */
async function behind(over: Parameters<typeof setting>[1] = FALLBACK_B) {
  const a = await startBareNode(at(1002))
  const b = await startBareNode(at(1001))
  const rest = await setting({ a, b }, over)
  const seen = await Promise.all([rest.ask(BLOCK_NUMBER), rest.ask(LATEST_BLOCK), rest.ask(HYDRATED_BLOCK)])
  expect(seen.map(({ height }) => height)).toEqual([1002, 1002, 1002])
  await a.stop()
  return { a, b, ...rest }
}

test.each([null, '0x', 'latest', 1002, '1002', {}, `0x${'f'.repeat(18)}`])(
  'a block number that is none (%j) is a failed attempt',
  async (answer) => {
    const a = await startBareNode(() => answer)
    const b = await startBareNode(at(1002))
    const { ask } = await setting({ a, b }, FALLBACK_B)

    expect(await ask(BLOCK_NUMBER)).toMatchObject({ kind: 'result', endpoint: 'b', height: 1002, attempts: 2 })
  },
)

describe('while no endpoint has the height that a caller has seen', () => {
  test('the block number and blocks by tag repeat the last answer, and say how old it is', async () => {
    const { ask, skip } = await behind()
    skip(5000)

    const replies = [await ask(BLOCK_NUMBER), await ask(LATEST_BLOCK), await ask(HYDRATED_BLOCK)]

    expect(replies.map(textOf)).toEqual(['"0x3ea"', '{"number":"0x3ea"}', '{"number":"0x3ea"}'])
    for (const reply of replies) {
      expect(reply).toMatchObject({ endpoint: 'a', height: 1002, degraded: false })
      expect(reply.staleMs).toBeGreaterThanOrEqual(5000)
      expect(reply.staleMs).toBeLessThan(15_000)
    }
  })

  test('a reorganisation takes back the last blocks, but not their height', async () => {
    const { ask, forwarder } = await behind()

    forwarder.chainMoved('ethereum', {
      kind: 'reorged',
      shard: null,
      height: 1002,
      hash: '0xnew',
      previousHash: '0xold',
    })

    const replies = [await ask(BLOCK_NUMBER), await ask({ ...LATEST_BLOCK, ...within(300) })]
    expect(replies.map(textOf)).toEqual(['"0x3ea"', 'no-endpoint'])
    expect(isStale(replies[0] as Reply)).toBe(true)
  })

  test('a chain that went back takes back its last answers', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1002))
    const { ask, poll, skip } = await setting({ a, b }, FALLBACK_B)
    await ask(BLOCK_NUMBER)
    await ask(LATEST_BLOCK)
    for (const node of [a, b]) node.answering = at(990)
    for (let round = 0; round < 2; round++) {
      skip(1000)
      await poll('a', 990)
      await poll('b', 990)
    }

    const lower = [await ask(BLOCK_NUMBER), await ask(LATEST_BLOCK)]
    for (const node of [a, b]) node.answering = at(989)
    const repeated = [await ask(BLOCK_NUMBER), await ask(LATEST_BLOCK)]

    expect(lower.map(textOf)).toEqual(['"0x3de"', '{"number":"0x3de"}'])
    expect(repeated.map(textOf)).toEqual(['"0x3de"', '{"number":"0x3de"}'])
    expect([...lower, ...repeated].map(isStale)).toEqual([false, false, true, true])
  })

  test('answers are fresh again once one has it', async () => {
    const { ask, b } = await behind()
    expect(isStale(await ask(BLOCK_NUMBER))).toBe(true)
    b.answering = at(1002)

    const replies = [await ask(BLOCK_NUMBER), await ask(LATEST_BLOCK)]

    expect(replies.map(isStale)).toEqual([false, false])
    expect(replies.map(({ endpoint }) => endpoint)).toEqual(['b', 'b'])
  })

  test('a last answer older than the stall threshold is not repeated: 503 with Retry-After', async () => {
    const thresholds = { ...THRESHOLDS, stallMs: 30_000 }
    const { ask, skip } = await behind({ ...FALLBACK_B, network: { thresholds } })
    skip(30_500)

    const reply = await ask({ ...BLOCK_NUMBER, deadlineAt: systemClock.monotonic() + 30_500 + 300 })

    expect(textOf(reply)).toBe('no-endpoint')
    expect(retryAfterMs(reply)).toBe(1000)
  })

  test('a null newest block is not passed on: one that was below has it by now, or the last answer is repeated', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1001))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(LATEST_BLOCK)
    a.answering = ({ method }) => (method === 'eth_blockNumber' ? hex(1002) : null)

    const repeated = await ask(LATEST_BLOCK)
    b.answering = at(1002)
    const fresh = await ask(LATEST_BLOCK)
    b.answering = () => null
    const unseen = await ask({ ...LATEST_BLOCK, caller: 'another' })

    expect([repeated, fresh].map(textOf)).toEqual(['{"number":"0x3ea"}', '{"number":"0x3ea"}'])
    expect([repeated, fresh].map(isStale)).toEqual([true, false])
    expect(fresh.endpoint).toBe('b')
    expect(textOf(unseen)).toBe('null')
  })

  test('another caller, which has seen less, gets the lower block', async () => {
    const { ask } = await behind()

    const reply = await ask({ ...BLOCK_NUMBER, caller: 'another' })

    expect(textOf(reply)).toBe('"0x3e9"')
    expect(isStale(reply)).toBe(false)
  })

  test('a read of state waits for an endpoint that has it', async () => {
    const { ask, b } = await behind()
    setTimeout(() => {
      b.answering = at(1002)
    }, 120)

    const reply = await ask(BALANCE)

    expect(textOf(reply)).toBe('"balance at 1002"')
    expect(b.asked.filter(({ method }) => method === 'eth_getBalance')).toHaveLength(1)
  })

  test('the wait and the heads that it asks for count as requests to nodes and time spent waiting for them', async () => {
    const { ask, attempts } = await behind()
    const before = attempts.length

    const reply = await ask({ ...BALANCE, ...within(400) })

    expect(reply.attempts).toBe(attempts.length - before)
    expect(reply.attempts).toBeGreaterThan(0)
    expect(reply.nodeMs).toBeGreaterThan(200)
  })

  test('a read of state that no endpoint can serve within the deadline gets 503 with Retry-After', async () => {
    const { ask, b } = await behind()

    const reply = await ask({ ...BALANCE, ...within(400) })

    expect(textOf(reply)).toBe('no-endpoint')
    expect(retryAfterMs(reply)).toBe(1000)
    expect(b.asked.filter(({ method }) => method === 'eth_getBalance')).toHaveLength(0)
  })

  test('a method is called once on an endpoint with the height that lacks it, and on others when they reach the height', async () => {
    const a = await startBareNode(withoutState({ code: -32_601, message: 'no such method' }))
    const b = await startBareNode(at(1001))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(BLOCK_NUMBER)
    setTimeout(() => {
      b.answering = at(1002)
    }, 120)

    const supported = await ask(BALANCE)
    await b.stop()
    const began = systemClock.monotonic()
    const alone = await ask(BALANCE)

    expect([textOf(supported), supported.endpoint]).toEqual(['"balance at 1002"', 'b'])
    expect(textOf(alone)).toContain('no such method')
    expect(systemClock.monotonic() - began).toBeLessThan(1000)
    expect(a.asked.filter(({ method }) => method === 'eth_getBalance')).toHaveLength(2)
  })

  test('state that an endpoint with the height reports as missing is requested from it three times', async () => {
    const a = await startBareNode(withoutState({ code: 4444, message: 'pruned history unavailable' }))
    const { ask } = await setting({ a })
    await ask(BLOCK_NUMBER)

    const reply = await ask(BALANCE)

    expect(textOf(reply)).toContain('pruned history unavailable')
    expect(a.asked.filter(({ method }) => method === 'eth_getBalance')).toHaveLength(3)
  })

  test('a hundred waiting reads of state ask for the head together', async () => {
    const { ask, b } = await behind()

    await Promise.all(Array.from({ length: 100 }, () => ask({ ...BALANCE, ...within(500) })))

    expect(b.asked.length).toBeLessThan(15)
  })

  test('a read of state fails at once where no endpoint answers at all', async () => {
    const { ask, b } = await behind()
    await b.stop()

    const began = systemClock.monotonic()
    const reply = await ask(BALANCE)

    expect(textOf(reply)).toBe('all-failed')
    expect(systemClock.monotonic() - began).toBeLessThan(1000)
  })

  test('and all endpoints are unhealthy, the last answer is repeated, too, and is marked as degraded', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1001))
    const { ask, poll, skip } = await setting({ a, b }, FALLBACK_B)
    for (let round = 0; round < 3; round++) {
      skip(1000)
      for (const name of ['a', 'b']) await poll(name, null)
    }
    const seen = await ask({ ...BLOCK_NUMBER, minHeight: 1002 })
    await a.stop()

    const reply = await ask(BLOCK_NUMBER)

    expect(seen).toMatchObject({ endpoint: 'a', degraded: true, height: 1002 })
    expect([textOf(reply), isStale(reply), reply.degraded]).toEqual(['"0x3ea"', true, true])
  })

  test('finalized blocks repeat the last finalized one', async () => {
    const a = await startBareNode(() => ({ number: '0x3d0' }))
    const b = await startBareNode(() => ({ number: '0x3b0' }))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(FINALIZED_BLOCK)
    await a.stop()

    const reply = await ask(FINALIZED_BLOCK)

    expect(textOf(reply)).toBe('{"number":"0x3d0"}')
    expect(isStale(reply)).toBe(true)
  })

  test('a null finalized block after one is looked for at another endpoint, then the last one is repeated', async () => {
    const a = await startBareNode(() => ({ number: '0x3d0' }))
    const b = await startBareNode(() => ({ number: '0x3d0' }))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(FINALIZED_BLOCK)
    a.answering = () => null

    const other = await ask(FINALIZED_BLOCK)
    b.answering = () => null
    const repeated = await ask(FINALIZED_BLOCK)
    const unseen = await ask({ ...FINALIZED_BLOCK, caller: 'another' })

    expect([other, repeated, unseen].map(textOf)).toEqual(['{"number":"0x3d0"}', '{"number":"0x3d0"}', 'null'])
    expect([other, repeated].map(isStale)).toEqual([false, true])
    expect(other.endpoint).toBe('b')
  })

  test('the pending block is not below the latest one that the caller has seen', async () => {
    const { ask } = await behind()

    const unseen = await ask(PENDING_BLOCK)
    const another = await ask({ ...PENDING_BLOCK, caller: 'another' })

    expect([textOf(unseen), retryAfterMs(unseen)]).toEqual(['no-endpoint', 1000])
    expect(textOf(another)).toBe('{"number":"0x3e9"}')
  })

  test('the pending block repeats the last one, and tells no height to send back', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1001))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(LATEST_BLOCK)
    const before = await ask(PENDING_BLOCK)
    await a.stop()

    const after = await ask(PENDING_BLOCK)

    expect([before, after].map(textOf)).toEqual(['{"number":"0x3ea"}', '{"number":"0x3ea"}'])
    expect([before, after].map(isStale)).toEqual([false, true])
    expect([before, after].map(({ height }) => height)).toEqual([null, null])
  })

  test('the pending block of a client that names the latest one is not shown after a higher one', async () => {
    const pendingAt =
      (height: number): Answering =>
      (asked, response) =>
        asked.text.includes('pending') ? { number: hex(height) } : at(1002)(asked, response)
    const a = await startBareNode(pendingAt(1003))
    const b = await startBareNode(pendingAt(1002))
    const { ask, poll, skip } = await setting({ a, b }, FALLBACK_B)
    await ask(PENDING_BLOCK)
    await a.stop()

    const repeated = await ask(PENDING_BLOCK)
    for (let round = 0; round < 2; round++) {
      skip(1000)
      await poll('a', null)
      await poll('b', 1002)
    }
    skip(1000)
    await poll('a', null)
    const after = await ask(PENDING_BLOCK)

    expect([repeated, after].map(textOf)).toEqual(['{"number":"0x3eb"}', '{"number":"0x3ea"}'])
    expect([repeated, after].map(isStale)).toEqual([true, false])
  })

  test('no request that begins after an answer gets a lower one, whatever travels at the same time', async () => {
    const later = (answering: Answering): Answering => {
      return (asked, response) => {
        const result = JSON.stringify(answering(asked, response))
        setTimeout(() => response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":${result}}`), Math.random() * 15)
      }
    }
    const a = await startBareNode(later(at(1001)))
    const b = await startBareNode(later(at(1000)))
    const { ask } = await setting({ a, b })
    await ask({ ...BLOCK_NUMBER, minHeight: 1001 })
    const wrong: string[] = []
    const one = async () => {
      for (let i = 0; i < 20; i++) {
        const before = highest
        const { height } = await ask(BLOCK_NUMBER)
        if (typeof height !== 'number' || height < before) wrong.push(`${height} after ${before}`)
        else highest = height
      }
    }
    let highest = 1001
    const all = Promise.all(Array.from({ length: 30 }, one))
    setTimeout(() => void a.stop(), 60)

    await all

    expect(wrong).toEqual([])
  })
})

describe('logs up to a block', () => {
  const logsReadFrom = ({ asked }: { readonly asked: readonly { readonly method: string }[] }) =>
    asked.filter(({ method }) => method === 'eth_getLogs').length

  test('that the caller has seen are read from an endpoint that has it, also if the caller has to wait for one', async () => {
    const { ask, b } = await behind()
    const waiting = ask(logsTo(1002))
    await expect.poll(() => b.asked.length).toBeGreaterThan(0)
    b.answering = at(1002)

    expect(textOf(await waiting)).toBe('"logs up to 1002"')
    expect(logsReadFrom(b)).toBe(1)
  })

  test('that the caller has seen and no endpoint has within the deadline: 503 with Retry-After', async () => {
    const { ask, b } = await behind()

    const reply = await ask({ ...logsTo(1002), ...within(300) })

    expect([textOf(reply), retryAfterMs(reply)]).toEqual(['no-endpoint', 1000])
    expect(logsReadFrom(b)).toBe(0)
  })

  test('that the caller has seen at another Heartline are not read from an endpoint below it', async () => {
    const b = await startBareNode(at(1001))
    const { ask } = await setting({ b })

    const reply = await ask({ ...logsTo(1002), minHeight: 1002, ...within(300) })

    expect([textOf(reply), retryAfterMs(reply)]).toEqual(['no-endpoint', 1000])
    expect(logsReadFrom(b)).toBe(0)
  })

  test('that another endpoint has are not read from one below it', async () => {
    const { ask, b } = await behind()

    const reply = await ask({ ...logsTo(1002), caller: 'another', ...within(300) })

    expect(textOf(reply)).toBe('no-endpoint')
    expect(logsReadFrom(b)).toBe(0)
  })

  test('that no endpoint is known to have are read at once', async () => {
    const { ask, b } = await behind()

    const reply = await ask(logsTo(1003))

    expect(textOf(reply)).toBe('"logs up to 1001"')
    expect(logsReadFrom(b)).toBe(1)
  })

  test('that endpoints have deleted are requested once from each', async () => {
    const pruned: Answering = (asked, response) => {
      response.end(`{"jsonrpc":"2.0","id":${asked.id},"error":{"code":4444,"message":"pruned history unavailable"}}`)
    }
    const a = await startBareNode(pruned)
    const b = await startBareNode(pruned)
    const { ask } = await setting({ a, b }, FALLBACK_B)

    const reply = await ask(logsTo(10))

    expect(textOf(reply)).toContain('pruned history unavailable')
    expect([a, b].map(logsReadFrom)).toEqual([1, 1])
  })

  test('fail with the failure itself where no endpoint answers, however many ask at once', async () => {
    const a = await startBareNode(at(1002))
    const { ask } = await setting({ a })
    await a.stop()

    const replies = await Promise.all([1, 2, 3].map((height) => ask(logsTo(height))))

    expect(replies.map(textOf)).toEqual(['all-failed', 'all-failed', 'all-failed'])
  })

  test('fail at once when too many requests are retried, though another endpoint has the block', async () => {
    const failing: Answering = (asked, response) => {
      if (asked.method !== 'eth_getLogs') return at(1002)(asked, response)
      response.statusCode = 500
      return void response.end()
    }
    const [a, b] = [await startBareNode(failing), await startBareNode(failing)]
    const { ask, poll } = await setting({ a, b }, FALLBACK_B)
    await poll('a', 1002)
    await poll('b', 1002)

    const replies = await Promise.all(Array.from({ length: 60 }, (_, nth) => ask({ ...logsTo(nth), ...within(3000) })))

    expect([...new Set(replies.map(textOf))]).toEqual(['all-failed'])
  })
})

describe('a block by its number', () => {
  /** At this height, and without the block 1002 below it. */
  const below =
    (height: number): Answering =>
    (asked, response) =>
      asked.text.includes('0x3ea') && height < 1002 ? null : at(height)(asked, response)
  /** The caller has seen block 1002 from `a`, which is gone; `b` is at 1001. */
  async function seen() {
    const it = await behind()
    it.b.answering = below(1001)
    await it.poll('b', 1001)
    return it
  }

  test('that the caller has seen is no null of an endpoint below it: the caller waits for one that has it', async () => {
    const { ask, b } = await seen()
    const waiting = ask(BLOCK_1002)
    await expect.poll(() => b.asked.length).toBeGreaterThan(1)
    b.answering = below(1002)

    expect(await waiting).toMatchObject({ kind: 'result', endpoint: 'b', height: 1002 })
  })

  test('that the caller has seen and no endpoint has within the deadline: 503 with Retry-After', async () => {
    const { ask } = await seen()

    const reply = await ask({ ...BLOCK_1002, ...within(300) })

    expect([textOf(reply), retryAfterMs(reply)]).toEqual(['no-endpoint', 1000])
    expect(textOf(await ask({ ...BLOCK_1002, caller: 'another', minHeight: 1002, ...within(300) }))).toBe('no-endpoint')
  })

  test('that the caller has not seen is looked for and null is passed on at once', async () => {
    const { ask } = await seen()

    expect(textOf(await ask({ ...BLOCK_1002, caller: 'another' }))).toBe('null')
  })

  test('that the caller has seen is null after all where an endpoint that has reached it lacks it', async () => {
    const { ask, b, poll } = await seen()
    await poll('b', 1003)

    expect(textOf(await ask(BLOCK_1002))).toBe('null')

    await poll('b', 1001)
    const waiting = ask(BLOCK_1002)
    await expect.poll(() => b.asked.length).toBeGreaterThan(1)
    b.answering = (asked) => (asked.method === 'eth_blockNumber' ? hex(1003) : null)
    expect(textOf(await waiting)).toBe('null')
  })

  test('that the caller has seen is also looked for where the last poll was below it, once another endpoint lacks it', async () => {
    const pool = await startBareNode(below(1002))
    const b = await startBareNode(at(1001))
    const { ask, poll } = await setting({ a: pool, b }, FALLBACK_B)
    await poll('a', 1002)
    await poll('b', 1001)
    expect(textOf(await ask(BLOCK_NUMBER))).toBe('"0x3ea"')
    b.answering = at(1002)
    // Another node of the pool.
    pool.answering = below(1001)

    expect(await ask(BLOCK_1002)).toMatchObject({ kind: 'result', endpoint: 'b', height: 1002 })
  })

  test('that the caller has just seen is requested once more from a pool of nodes that lacks it', async () => {
    const pool = await startBareNode(below(1002))
    const { ask, poll } = await setting({ a: pool })
    await poll('a', 1002)
    expect(textOf(await ask(BLOCK_NUMBER))).toBe('"0x3ea"')
    const fromEachInTurn = [below(1001), at(1002)]
    pool.answering = (asked, response) => fromEachInTurn.shift()?.(asked, response)

    expect(await ask(BLOCK_1002)).toMatchObject({ kind: 'result', height: 1002, attempts: 2 })
    pool.answering = below(1001)
    expect(await ask(BLOCK_1002)).toMatchObject({ kind: 'result', height: null, attempts: 2 })
  })
})

describe('an endpoint that claims a height which no chain can have yet', () => {
  test('is passed over for the next one', async () => {
    const a = await startBareNode(at(2_000_000))
    const b = await startBareNode(at(1003))
    const { ask } = await setting({ a, b }, FALLBACK_B)

    const replies = [await ask(BLOCK_NUMBER), await ask(LATEST_BLOCK)]

    expect(replies.map(textOf)).toEqual(['"0x3eb"', '{"number":"0x3eb"}'])
    expect(replies.map(({ endpoint, height }) => [endpoint, height])).toEqual([
      ['b', 1003],
      ['b', 1003],
    ])
  })

  test('and is the only one, answers without a height that counts', async () => {
    const a = await startBareNode(at(2_000_000))
    const { ask } = await setting({ a })

    const reply = await ask(BLOCK_NUMBER)

    expect([textOf(reply), reply.height]).toEqual(['"0x1e8480"', null])
  })
})

describe('a caller that has only read state at the newest block', () => {
  test('reads no older state later: it waits for an endpoint that has reached as much', async () => {
    const a = await startBareNode(at(1010))
    const b = await startBareNode(at(1008))
    const { ask, poll } = await setting({ a, b }, FALLBACK_B)
    await poll('a', 1010)
    await poll('b', 1008)
    const before = await ask(BALANCE)
    await a.stop()

    const tooEarly = await ask({ ...BALANCE, ...within(400) })
    b.answering = at(1010)
    const after = await ask(BALANCE)

    expect(textOf(before)).toBe('"balance at 1010"')
    expect(tooEarly.kind).toBe('rejected')
    expect(textOf(after)).toBe('"balance at 1010"')
  })

  test('is not bound by an endpoint that claims an impossible height', async () => {
    const a = await startBareNode(at(2_000_000))
    const { ask, poll, tips } = await setting({ a })
    await poll('a', 1000)
    await ask(BLOCK_NUMBER)

    await ask(BALANCE)

    expect(tips.get('wallet', 'ethereum', null, 'latest')).toBeNull()
  })

  test.each([
    ['eth_getHeaderByNumber', (height: number) => ({ number: hex(height) })],
    ['eth_getBlockReceipts', (height: number) => [{ blockNumber: hex(height) }]],
  ])('by %s has seen its block, which the answer names', async (method, blockOf) => {
    const answering =
      (height: number): Answering =>
      (asked, response) =>
        asked.method === method ? blockOf(height) : at(height)(asked, response)
    const a = await startBareNode(answering(1002))
    const b = await startBareNode(answering(1001))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    const call = { id: '1', isNotification: false, method, params: '["latest"]' }
    const before = await ask({ ...BALANCE, call, canonical: method })
    await a.stop()

    const after = await ask(BLOCK_NUMBER)
    const again = await ask({ ...BALANCE, call, canonical: method, ...within(400) })

    expect(before.height).toBe(1002)
    expect(textOf(after)).toBe('"0x3ea"')
    expect(again.kind).toBe('rejected')
  })
})

describe('a request that only one endpoint may answer, at an alias of the chain,', () => {
  const ALIASED = {
    ...BALANCE,
    operation: { ...BALANCE.operation, name: 'alias', need: { kind: 'endpoint', endpoint: 'b' } as Need } as const,
    chainOperation: BALANCE.operation,
    to: { kind: 'path', path: '/ext/mine/rpc' } as const,
  }

  test('reads no state below the height that its caller has seen', async () => {
    const { ask, b } = await behind()

    const reply = await ask({ ...ALIASED, ...within(400) })

    expect([textOf(reply), retryAfterMs(reply)]).toEqual(['no-endpoint', 1000])
    expect(b.asked.filter(({ method }) => method === 'eth_getBalance')).toHaveLength(0)
  })

  test('learns that its node lost the alias, also after a wait for its height', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode((asked, response) =>
      asked.path === '/ext/mine/rpc'
        ? void response.writeHead(404).end('404 page not found')
        : at(1002)(asked, response),
    )
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(BLOCK_NUMBER)

    const reply = await ask(ALIASED)

    expect(textOf(reply)).toBe('unknown-route')
  })

  test('asks that endpoint alone for its head, and reads state once it has the height', async () => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1002))
    const { ask } = await setting({ a, b }, FALLBACK_B)
    await ask(BLOCK_NUMBER)
    const askedOfA = a.asked.length

    const reply = await ask(ALIASED)

    expect([textOf(reply), reply.endpoint]).toEqual(['"balance at 1002"', 'b'])
    expect(b.asked.map(({ method, path }) => `${path} ${method}`)).toEqual([
      '/ eth_blockNumber',
      '/ext/mine/rpc eth_getBalance',
    ])
    expect(a.asked).toHaveLength(askedOfA)
  })
})

describe('a chain that went back', () => {
  test.each(['alone', 'beside another'])('is believed after two rounds of polls, %s', async (how) => {
    const a = await startBareNode(at(1002))
    const b = await startBareNode(at(1002))
    const nodes = how === 'alone' ? { a } : { a, b }
    const { ask, poll, skip } = await setting(nodes)
    const pollAll = async (height: number) => {
      skip(1000)
      for (const name of Object.keys(nodes)) await poll(name, height)
    }
    await pollAll(1002)
    await ask(BLOCK_NUMBER)
    for (const node of [a, b]) node.answering = at(990)

    await pollAll(990)
    const after1 = await ask(BLOCK_NUMBER)
    await pollAll(990)
    // The reference head fell with the last poll of the first round.
    skip(1000)
    await poll('a', 990)
    const after2 = await ask(BLOCK_NUMBER)

    expect([textOf(after1), isStale(after1)]).toEqual(['"0x3ea"', true])
    expect([textOf(after2), isStale(after2)]).toEqual(['"0x3de"', false])
  })

  test('is not believed by polls of an endpoint that is behind while another was higher', async () => {
    const { ask, poll, skip } = await behind()
    await poll('a', 1002)
    for (let round = 0; round < 4; round++) {
      skip(1000)
      await poll('a', null)
      await poll('b', 1001)
    }

    expect(textOf(await ask(BLOCK_NUMBER))).toBe('"0x3ea"')
  })
})

describe('a caller that sends back the height it has seen at another Heartline', () => {
  /** Behind a balancer: the second one knows only a node that is behind. */
  async function twoHeartlines() {
    const a = await startBareNode(at(1003))
    const b = await startBareNode(at(1001))
    const [first, second] = [await setting({ a }), await setting({ b })]
    let minHeight: number | null = null
    const askAndNote = async (heartline: typeof first, question: Parameters<typeof first.ask>[0]) => {
      const reply = await heartline.ask({ ...question, minHeight })
      minHeight = Math.max(minHeight ?? 0, reply.height ?? 0)
      return reply
    }
    return { b, first, second, askAndNote }
  }

  test('sees no lower block, whichever of two answers', async () => {
    const { b, first, second, askAndNote } = await twoHeartlines()
    const replies = [await askAndNote(first, BLOCK_NUMBER)]
    replies.push(await askAndNote(second, { ...BLOCK_NUMBER, ...within(300) }))
    replies.push(await askAndNote(second, { ...BALANCE, ...within(300) }))
    replies.push(await askAndNote(first, LATEST_BLOCK))
    b.answering = at(1004)
    replies.push(await askAndNote(second, LATEST_BLOCK))
    replies.push(await askAndNote(first, { ...BLOCK_NUMBER, ...within(300) }))

    expect(replies.map((reply) => reply.height ?? reply.kind)).toEqual([
      1003,
      'rejected',
      'rejected',
      1003,
      1004,
      'rejected',
    ])
  })

  test('and waits at one, is answered as soon as a node there has the block', async () => {
    const { b, first, second, askAndNote } = await twoHeartlines()
    await askAndNote(first, BLOCK_NUMBER)
    const waiting = askAndNote(second, BALANCE)
    await expect.poll(() => b.asked.length).toBeGreaterThan(0)

    b.answering = at(1003)

    expect(textOf(await waiting)).toBe('"balance at 1003"')
  })

  test('gets no lower block, and reads state at that block', async () => {
    const a = await startBareNode(at(1000))
    const b = await startBareNode(at(1003))
    const { ask } = await setting({ a, b }, FALLBACK_B)

    const number = await ask({ ...BLOCK_NUMBER, minHeight: 1003 })
    const balance = await ask({ ...BALANCE, caller: 'another', minHeight: 1003 })

    expect([textOf(number), textOf(balance)]).toEqual(['"0x3eb"', '"balance at 1003"'])
  })

  test('waits within the deadline where no endpoint has it: 503 with Retry-After', async () => {
    const a = await startBareNode(at(1000))
    const { ask } = await setting({ a })

    const reply = await ask({ ...BLOCK_NUMBER, minHeight: 1003, ...within(300) })

    expect(textOf(reply)).toBe('no-endpoint')
    expect(retryAfterMs(reply)).toBe(1000)
  })

  test('gets an error at once where no chain can be that high', async () => {
    const a = await startBareNode(at(1000))
    const { ask } = await setting({ a })
    const began = systemClock.monotonic()

    const replies = [await ask({ ...BLOCK_NUMBER, minHeight: 900_000 }), await ask({ ...BALANCE, minHeight: 900_000 })]

    expect(replies.map(textOf)).toEqual(['no-endpoint', 'no-endpoint'])
    expect(systemClock.monotonic() - began).toBeLessThan(500)
    expect(textOf(await ask(BLOCK_NUMBER))).toBe('"0x3e8"')
  })
})
