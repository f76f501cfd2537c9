import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CoalescerDeps, createCoalescer } from '../../src/gateway/cache/coalesce.ts'
import { createCallerHeights } from '../../src/gateway/caller-heights.ts'
import { gatewayError } from '../../src/gateway/errors.ts'
import { Cancellation, type Reply, type UpstreamRequest } from '../../src/gateway/upstream-request.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { byNumber, FROM_OWN, latest, question, read, resultOf, textOf } from './chain.ts'

const BLOCK = (height: number) => resultOf(`{"number":"0x${height.toString(16)}"}`)
const LOST: Reply = { kind: 'rejected', rejection: gatewayError('all-failed', 'x'), ...FROM_OWN, endpoint: null }
const LATE: Reply = { kind: 'rejected', rejection: gatewayError('deadline', 'x'), ...FROM_OWN, endpoint: null }

/** A node that answers on command. */
function scene(deps: Partial<CoalescerDeps> = {}) {
  const clock = createFakeClock()
  const tips = createCallerHeights()
  const asked: UpstreamRequest[] = []
  const waiting: ((reply: Reply) => void)[] = []
  const coalesced: string[] = []
  const { handle: ask } = createCoalescer({
    next: {
      handle: (one) => {
        asked.push(one)
        return new Promise((resolve) => waiting.push(resolve))
      },
    },
    clock,
    callerHeights: tips,
    onCoalesced: (network, operation) => coalesced.push(`${network} ${operation}`),
    ...deps,
  })

  /** To the request that has waited for the longest. */
  async function answer(reply: Reply, afterMs = 0): Promise<void> {
    await clock.advance(afterMs)
    waiting.shift()?.(reply)
    await clock.advance(0)
  }
  return { ask, asked, answer, clock, tips, coalesced, waiting }
}

describe('identical reads under way', () => {
  test('share one request, and every caller gets its answer', async () => {
    const { ask, asked, answer, coalesced } = scene()
    const answers = Array.from({ length: 100 }, (_, nth) => ask(byNumber(7, { caller: `caller-${nth}` })))

    await answer(resultOf('"x"'))

    expect((await Promise.all(answers)).map(textOf)).toEqual(Array.from({ length: 100 }, () => '"x"'))
    expect(asked).toHaveLength(1)
    expect(coalesced).toEqual(Array.from({ length: 99 }, () => 'ethereum eth_getBlockByNumber'))
  })

  test('of a block do not share its absence with a caller that has seen it', async () => {
    const { ask, asked, answer } = scene()
    const absent = resultOf('null')
    const answers = [byNumber(7), byNumber(7, { minHeight: 6 }), byNumber(7, { minHeight: 7 })].map(ask)

    await answer(absent)
    expect((await Promise.all(answers.slice(0, 2))).map(textOf)).toEqual(['null', 'null'])
    expect(asked.map(({ minHeight }) => minHeight ?? null)).toEqual([null, 7])
    const same = ask(byNumber(7, { minHeight: 8 }))
    // Need not wait until an endpoint has it.
    const unseen = ask(byNumber(7))
    expect(asked.map(({ minHeight }) => minHeight ?? null)).toEqual([null, 7, null])
    await answer(absent)
    await answer(absent)

    expect((await Promise.all([answers[2], same, unseen])).map((reply) => textOf(reply as Reply))).toEqual(
      Array.from({ length: 3 }, () => 'null'),
    )
    expect(asked).toHaveLength(3)
  })

  test('of the newest block that do not tell which it is are shared by those who have seen as much of the chain', async () => {
    const { ask, asked, tips } = scene()
    const operation = read('other', { kind: 'latest', shard: null })
    const balance = (caller: string) => ask(question({ operation, canonical: 'eth_getBalance ["0x1"]', caller }))
    for (const caller of ['a', 'b']) tips.raise(caller, 'ethereum', null, 'latest', 1000)
    tips.raise('c', 'ethereum', null, 'latest', 1001)

    for (const caller of ['a', 'b', 'c']) void balance(caller)

    expect(asked.map(({ caller }) => caller)).toEqual(['a', 'c'])
  })

  test('of state at the newest block have shown every caller the height that the leader was shown', async () => {
    const { ask, answer, tips } = scene()
    const operation = read('other', { kind: 'latest', shard: null })
    const balance = (caller: string) => ask(question({ operation, canonical: 'eth_getBalance ["0x1"]', caller }))
    const answers = ['a', 'b'].map(balance)

    // As the forwarder does.
    tips.raise('a', 'ethereum', null, 'latest', 1010)
    await answer({ ...resultOf('"0x5"'), stateHeight: 1010 })
    await Promise.all(answers)

    expect(tips.get('b', 'ethereum', null, 'latest')).toBe(1010)
  })

  test('of state bind no caller to a block that only the leader was shown meanwhile', async () => {
    const { ask, answer, tips } = scene()
    const operation = read('other', { kind: 'latest', shard: null })
    const balance = (caller: string) => ask(question({ operation, canonical: 'eth_getBalance ["0x1"]', caller }))
    const answers = ['a', 'b'].map(balance)

    tips.raise('a', 'ethereum', null, 'latest', 1010)
    await answer({ ...resultOf('"0x5"'), stateHeight: 1008 })
    await Promise.all(answers)

    expect(tips.get('b', 'ethereum', null, 'latest')).toBe(1008)
  })

  test('of logs up to a block are not shared with a caller that has not seen it and need not wait for it', async () => {
    const { ask, asked } = scene()
    const operation = read('other', { kind: 'height', shard: null, height: 1002 })
    const call = { id: '1', isNotification: false, method: 'eth_getLogs', params: '[{"toBlock":"0x3ea"}]' }
    const logs = (caller: string, minHeight: number) =>
      ask(question({ operation, call, canonical: 'eth_getLogs [{"toBlock":"0x3ea"}]', caller, minHeight }))

    for (const [caller, minHeight] of [
      ['a', 1002],
      ['b', 1001],
      ['c', 1003],
      ['d', 1000],
    ] as const)
      void logs(caller, minHeight)

    expect(asked.map(({ caller }) => caller)).toEqual(['a', 'b'])
  })

  test('of the newest block are not shared with a caller that has seen more at another Heartline', async () => {
    const { ask, asked, answer } = scene()
    const first = ask(latest())
    const second = ask(latest({ caller: 'b', minHeight: 1002 }))
    await answer(BLOCK(1001))
    await answer(BLOCK(1002))

    expect([textOf(await first), textOf(await second)]).toEqual(['{"number":"0x3e9"}', '{"number":"0x3ea"}'])
    expect(asked).toHaveLength(2)
  })

  test("share the node's own error as well", async () => {
    const { ask, asked, answer } = scene()
    const answers = [ask(byNumber(7)), ask(byNumber(7))]

    await answer({ kind: 'error', error: Buffer.from('{"code":1,"message":"no"}'), ...FROM_OWN })

    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['error', 'error'])
    expect(asked).toHaveLength(1)
  })

  test('are not shared with a caller whose deadline is earlier than that of the request under way', async () => {
    const { ask, asked } = scene()

    for (const [caller, deadlineAt] of [
      ['a', 10_000],
      ['b', 2000],
      ['c', 11_000],
      ['d', 3000],
    ] as const)
      void ask(byNumber(7, { caller, deadlineAt }))

    expect(asked.map(({ caller }) => caller)).toEqual(['a', 'b'])
  })

  test('are shared by requests of one caller only, while requests wait for a connection', async () => {
    const { ask, asked } = scene({ isQueueing: () => true })

    for (const share of ['a', 'a', 'b', 'a', 'b', 'c']) void ask(byNumber(7, { caller: share, share }))

    expect(asked.map(({ caller }) => caller)).toEqual(['a', 'b', 'c'])
  })

  test('are shared by all but the caller whose own requests wait for a connection', async () => {
    const { ask, asked } = scene({ isQueueing: ({ share }) => share === 'hog' })

    for (const share of ['a', 'hog', 'b', 'c']) void ask(byNumber(7, { caller: share, share }))

    expect(asked.map(({ caller }) => caller)).toEqual(['a'])
  })

  test('are sent again after the answer: nothing is kept', async () => {
    const { ask, asked, answer } = scene()
    const first = ask(byNumber(7))
    await answer(resultOf('"x"'))
    await first

    void ask(byNumber(7))

    expect(asked).toHaveLength(2)
  })

  test('of a follower have waited for nodes only as long as it was there', async () => {
    const { ask, answer, clock } = scene()
    const leader = ask(byNumber(7))
    await clock.advance(900)
    const follower = ask(byNumber(7))

    await answer(resultOf('"x"', { nodeMs: 1000 }), 100)

    expect((await leader).nodeMs).toBe(1000)
    expect((await follower).nodeMs).toBe(100)
  })
})

describe('what differs goes by itself:', () => {
  const pinned = (endpoint: string) => read('health.health', { kind: 'endpoint', endpoint })
  const health = (endpoint: string) =>
    question({ operation: pinned(endpoint), canonical: '{}', to: { kind: 'path', path: '/ext/health' } })
  const atAlias = (path: string, method: string) =>
    question({
      operation: { ...pinned('own-1'), name: 'alias' },
      to: { kind: 'path', path },
      call: { id: '1', isNotification: false, method, params: null },
    })
  const pairs: Record<string, readonly [UpstreamRequest, UpstreamRequest]> = {
    params: [byNumber(7), byNumber(8)],
    networks: [byNumber(7), byNumber(7, { network: 'other' })],
    methods: [question(), question({ operation: read('net_version', { kind: 'any' }) })],
    'the health of two endpoints': [health('own-1'), health('own-2')],
    'two methods at one alias': [atAlias('/ext/mine/rpc', 'eth_chainId'), atAlias('/ext/mine/rpc', 'net_version')],
    'two aliases': [atAlias('/ext/mine/rpc', 'eth_chainId'), atAlias('/ext/other/rpc', 'eth_chainId')],
  }
  for (const [what, [one, other]] of Object.entries(pairs)) {
    test(what, () => {
      const { ask, asked } = scene()

      void ask(one)
      void ask(other)

      expect(asked).toEqual([one, other])
    })
  }

  test('whatever is no read, ever', () => {
    const { ask, asked } = scene()
    const write = question({
      operation: { ...read('other', { kind: 'any' }), isRead: false },
      canonical: 'eth_send… []',
    })
    const alias = question({ operation: { ...read('admin.alias', { kind: 'any' }), isRead: false } })

    for (const one of [write, write, alias, alias]) void ask(one)

    expect(asked).toHaveLength(4)
  })

  test('what is longer than any usual question', () => {
    const { ask, asked } = scene()
    const long = question({ operation: read('other', { kind: 'any' }), canonical: `eth_call ["${'0'.repeat(5000)}"]` })

    void ask(long)
    void ask(long)

    expect(asked).toHaveLength(2)
  })

  test('what comes while as many requests are under way as may be', () => {
    const { ask, asked } = scene({ maxFlights: 2 })

    for (const height of [1, 2, 3, 3, 1]) void ask(byNumber(height))

    expect(asked).toHaveLength(4)
  })
})

describe('a leader that fails', () => {
  test('fails its followers only after a try of their own, which they make together', async () => {
    const { ask, asked, answer } = scene()
    const answers = [ask(byNumber(7)), ask(byNumber(7)), ask(byNumber(7))]

    await answer(LOST)
    expect(asked).toHaveLength(2)
    await answer(LOST)

    expect((await Promise.all(answers)).map(({ kind }) => kind)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(asked).toHaveLength(2)
  })

  test('costs its followers nothing when their own try succeeds', async () => {
    const { ask, answer } = scene()
    const answers = [ask(byNumber(7)), ask(byNumber(7)), ask(byNumber(7))]

    await answer(LOST)
    await answer(resultOf('"x"'))

    expect((await Promise.all(answers)).map(textOf)).toEqual(['all-failed', '"x"', '"x"'])
  })

  test('because its caller left is not a failure: however many leave, the remaining callers are answered', async () => {
    const { ask, asked, answer } = scene()
    const presences = Array.from({ length: 5 }, () => new Cancellation())
    const answers = presences.map((signal) => ask(byNumber(7, { signal })))

    for (const leaving of presences.slice(0, 4)) {
      leaving.abort()
      await answer(LOST)
    }
    await answer(resultOf('"x"'))

    expect(textOf((await Promise.all(answers)).at(-1) ?? LOST)).toBe('"x"')
    expect(asked).toHaveLength(5)
  })

  test('for callers that left together sends one more request for the remaining callers', async () => {
    const { ask, asked, answer } = scene()
    const presences = Array.from({ length: 5 }, () => new Cancellation())
    const answers = presences.map((signal) => ask(byNumber(7, { signal })))

    for (const leaving of presences.slice(0, 4)) leaving.abort()
    await answer(LOST)
    await answer(resultOf('"x"'))

    expect(textOf((await Promise.all(answers)).at(-1) ?? LOST)).toBe('"x"')
    expect(asked).toHaveLength(2)
  })

  test('because its time ran out leaves the time to the others that they have', async () => {
    const { ask, asked, answer, clock } = scene()
    const start = clock.monotonic()
    const answers = [1000, 1200, 1500].map((ms) => ask(byNumber(7, { deadlineAt: start + ms })))

    await answer(LATE, 1000)
    await answer(LATE, 200)
    expect(asked.map(({ deadlineAt }) => deadlineAt - start)).toEqual([1000, 1200, 1500])
    await answer(resultOf('"x"'), 100)

    expect((await Promise.all(answers)).map(textOf)).toEqual(['deadline', 'deadline', '"x"'])
  })

  test('is not asked for again by a follower whose own time is over', async () => {
    const { ask, asked, answer, clock } = scene()
    const deadlineAt = clock.monotonic() + 1000
    void ask(byNumber(7, { deadlineAt }))
    const follower = ask(byNumber(7, { deadlineAt }))

    await answer(LATE, 1000)

    expect(textOf(await follower)).toBe('deadline')
    expect(asked).toHaveLength(1)
  })
})

describe('the newest block', () => {
  test('is shared with callers that have seen no higher one, who have seen it then', async () => {
    const { ask, asked, answer, tips } = scene()
    tips.raise('other', 'ethereum', null, 'latest', 9)
    const answers = [ask(latest()), ask(latest({ caller: 'other' }))]

    // As the forwarder does.
    tips.raise('wallet', 'ethereum', null, 'latest', 10)
    await answer(BLOCK(10))
    await Promise.all(answers)

    expect(asked).toHaveLength(1)
    expect(tips.get('other', 'ethereum', null, 'latest')).toBe(10)
  })

  test('that is null is not shared with a caller that has seen one', async () => {
    const { ask, asked, answer } = scene()
    const call = { id: '1', isNotification: false, method: 'eth_getBlockByNumber', params: '["latest",false]' }
    const [first, seen] = [latest({ call }), latest({ call, caller: 'another', minHeight: 7 })].map(ask)

    await answer(resultOf('null'))
    await answer(BLOCK(7))

    expect([await first, await seen].map((reply) => textOf(reply as Reply))).toEqual(['null', '{"number":"0x7"}'])
    expect(asked).toHaveLength(2)
  })

  test('that is a lie binds no follower, as it does not bind the leader', async () => {
    const { ask, answer, tips } = scene()
    const answers = [ask(latest()), ask(latest({ caller: 'other' }))]

    await answer(BLOCK(10 ** 9))
    await Promise.all(answers)

    expect(tips.get('other', 'ethereum', null, 'latest')).toBeNull()
  })

  test('that one caller waits for holds up no caller that has seen less, and those share one request', async () => {
    const { ask, asked, answer } = scene()
    void ask(latest({ minHeight: 1006 }))
    const others = ['b', 'c', 'd'].map((caller) => ask(latest({ caller })))
    expect(asked.map(({ caller }) => caller)).toEqual(['wallet', 'b'])

    await answer(LATE)
    await answer(BLOCK(1000))

    expect((await Promise.all(others)).map(textOf)).toEqual(Array.from({ length: 3 }, () => '{"number":"0x3e8"}'))
  })

  test('is requested again without callers that wait for a higher one', async () => {
    const { ask, asked, answer, waiting } = scene()
    const first = ask(latest())
    const waits = ask(latest({ caller: 'b', minHeight: 1006 }))
    const other = ask(latest({ caller: 'c' }))

    await answer(LOST)
    expect(asked.map(({ caller }) => caller)).toEqual(['wallet', 'b', 'c'])
    waiting.pop()?.(BLOCK(1000))

    expect([await first, await other].map(textOf)).toEqual(['all-failed', '{"number":"0x3e8"}'])
    await answer(BLOCK(1006))
    expect(textOf(await waits)).toBe('{"number":"0x3ee"}')
  })

  test('that is only repeated is no new sign to a follower that the chain still has it', async () => {
    let polls = 0
    const isGone = (since: number) => polls === 2 && since < 1
    const tips = createCallerHeights({
      now: () => polls,
      hasGoneBelow: (_network, _shard, _height, since) => isGone(since),
    })
    const { ask, answer } = scene({ callerHeights: tips })
    for (const caller of ['wallet', 'other']) tips.raise(caller, 'ethereum', null, 'latest', 10)
    polls = 1
    const answers = [ask(latest()), ask(latest({ caller: 'other' }))]
    await answer({ ...BLOCK(10), staleMs: 1000 })
    await Promise.all(answers)

    polls = 2

    expect(tips.get('other', 'ethereum', null, 'latest')).toBeNull()
  })

  test('below what a follower has seen is not its answer either once it is out of time', async () => {
    const { ask, answer, clock, tips } = scene()
    tips.raise('other', 'ethereum', null, 'latest', 11)
    const deadlineAt = clock.monotonic() + 1000
    void ask(latest({ deadlineAt }))
    const follower = ask(latest({ caller: 'other', deadlineAt }))

    await answer(BLOCK(10), 1000)

    expect(await follower).toMatchObject({ kind: 'rejected', rejection: { kind: 'no-endpoint', retryAfterMs: 1000 } })
  })

  test('is not shared with one that has seen a higher one: that one asks for itself', async () => {
    const { ask, asked, answer, tips } = scene()
    tips.raise('other', 'ethereum', null, 'latest', 11)
    const answers = [ask(latest()), ask(latest({ caller: 'other' }))]

    await answer(BLOCK(10))
    expect(asked[1]?.caller).toBe('other')
    await answer(BLOCK(11))

    expect((await Promise.all(answers)).map(textOf)).toEqual(['{"number":"0xa"}', '{"number":"0xb"}'])
  })
})

describe('callers that leave, fail and are late', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('ask' as const), height: fc.nat(1), within: fc.integer({ min: 50, max: 500 }) }),
    fc.record({ kind: fc.constant('leave' as const), nth: fc.nat(20) }),
    fc.record({ kind: fc.constant('answer' as const), fails: fc.boolean() }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 100 }) }),
  )

  test('every caller gets an answer to its own request, and no request is sent more than twice', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(event, { minLength: 5, maxLength: 60 }), async (events) => {
        const { ask, asked, answer, waiting, clock } = scene()
        const askers: {
          readonly height: number
          readonly signal: Cancellation
          reply: Reply | null
        }[] = []
        const heightOf = ({ operation: { need } }: UpstreamRequest) => (need.kind === 'height' ? need.height : -1)
        let answered = 0
        const answerNext = async (fails: boolean) => {
          const one = asked[answered]
          if (one === undefined) return
          answered++
          await answer(fails || one.signal.aborted ? LOST : BLOCK(heightOf(one)))
        }
        for (const it of events) {
          switch (it.kind) {
            case 'ask': {
              const asker = { height: it.height, signal: new Cancellation(), reply: null as Reply | null }
              askers.push(asker)
              const deadlineAt = clock.monotonic() + it.within
              void ask(byNumber(it.height, { signal: asker.signal, deadlineAt })).then((reply) => {
                asker.reply = reply
              })
              break
            }
            case 'leave':
              askers[it.nth]?.signal.abort()
              break
            case 'answer':
              await answerNext(it.fails)
              break
            case 'wait':
              await clock.advance(it.ms)
              break
          }
        }
        while (waiting.length > 0) await answerNext(false)
        await clock.advance(0)

        for (const { height, reply } of askers) {
          if (reply?.kind === 'result') expect(textOf(reply)).toBe(textOf(BLOCK(height)))
          else expect(reply?.kind).toBe('rejected')
        }
        expect(asked.length).toBeLessThanOrEqual(2 * askers.length)
      }),
      { numRuns: 300 },
    )
  })
})
