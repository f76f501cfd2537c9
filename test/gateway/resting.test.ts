import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { textOf } from './chain.ts'
import { ALIAS, type Answering, CHAIN_ID, sayError, sayStatus, setting, startBareNode } from './nodes.ts'

const wait = (seconds: number) => sayStatus(429, '', { 'retry-after': String(seconds) })
const retryAfterMs = (reply: object) =>
  'rejection' in reply ? (reply.rejection as { retryAfterMs?: number }).retryAfterMs : undefined

describe('where every node limits our rate', () => {
  test('a read learns when the first one is usable again, and no node is used before', async () => {
    const a = await startBareNode(wait(60))
    const b = await startBareNode(wait(30))
    const { ask } = await setting({ a, b })

    const first = await ask()
    const second = await ask()

    expect([textOf(first), textOf(second)]).toEqual(['all-failed', 'no-endpoint'])
    expect(first.attempts).toBe(2)
    expect(second.attempts).toBe(0)
    for (const reply of [first, second]) {
      expect(retryAfterMs(reply)).toBeGreaterThan(0)
      expect(retryAfterMs(reply)).toBeLessThanOrEqual(30_000)
    }
    expect([a.asked.length, b.asked.length]).toEqual([1, 1])
  })

  test('one that is not well but wants no rest answers reads, marked', async () => {
    const a = await startBareNode(wait(60))
    const b = await startBareNode(() => 'from b')
    const { ask, poll } = await setting({ a, b })
    await poll('b', null)
    await poll('b', null)

    expect(await ask()).toMatchObject({ kind: 'result', endpoint: 'b', degraded: true })
    expect(await ask()).toMatchObject({ kind: 'result', endpoint: 'b', attempts: 1 })
    expect(a.asked).toHaveLength(1)
  })

  test('a request to one of them by name learns about that one', async () => {
    const a = await startBareNode(wait(60))
    const b = await startBareNode(wait(5))
    const { ask } = await setting({ a, b })
    await ask()

    const reply = await ask({ operation: { ...CHAIN_ID, need: { kind: 'endpoint', endpoint: 'a' } } })

    expect(retryAfterMs(reply)).toBeGreaterThan(30_000)
  })

  test('a request that is sent once learns the same', async () => {
    const a = await startBareNode(wait(60))
    const { ask } = await setting({ a })
    await ask()

    const reply = await ask(ALIAS)

    expect(textOf(reply)).toBe('no-endpoint')
    expect(retryAfterMs(reply)).toBeGreaterThan(30_000)
  })

  test('and none says for how long, reads are tried one at a time, marked', async () => {
    let answering: Answering = sayError(-32_005, 'rate limited')
    const held: (() => void)[] = []
    const a = await startBareNode((asked, response) => answering(asked, response))
    const { ask } = await setting({ a })
    await ask()
    answering = (asked, response) => {
      held.push(() => response.end(`{"jsonrpc":"2.0","id":${asked.id},"result":"0x1"}`))
    }

    const tried = ask()
    await expect.poll(() => held.length, { timeout: 20_000 }).toBe(1)
    const meanwhile = await ask()
    held[0]?.()

    expect(textOf(meanwhile)).toBe('no-endpoint')
    expect(retryAfterMs(meanwhile)).toBeGreaterThan(0)
    expect(await tried).toMatchObject({ kind: 'result', endpoint: 'a', degraded: true })
  })
})

test('a node that said for how long gets no request by its name or at an alias either', async () => {
  let answering: Answering = wait(60)
  const a = await startBareNode((asked, response) => answering(asked, response))
  const { ask, skip } = await setting({ a })
  const pinned = { operation: { ...CHAIN_ID, name: 'alias', need: { kind: 'endpoint', endpoint: 'a' } } } as const
  await ask()
  answering = () => 'from a'

  const during = await ask(pinned)
  skip(60_000)
  const after = await ask(pinned)

  expect([textOf(during), during.attempts]).toEqual(['no-endpoint', 0])
  expect(retryAfterMs(during)).toBeGreaterThan(30_000)
  expect(textOf(after)).toBe('"from a"')
})

test('a node that says for how long while a guessed pause lasts is believed', async () => {
  const answers: Answering[] = [sayError(-32_005, 'rate limited'), wait(60), () => 'from a']
  const a = await startBareNode((asked, response) => answers.shift()?.(asked, response))
  const { ask, skip } = await setting({ a })
  await ask()
  await ask()
  skip(5000)

  const during = await ask()
  skip(60_000)

  expect([textOf(during), during.attempts]).toEqual(['no-endpoint', 0])
  expect(textOf(await ask())).toBe('"from a"')
})

test('a node that asks for less than a guessed pause is used again as it says', async () => {
  const limited = sayError(-32_005, 'rate limited')
  const answers: Answering[] = [limited, limited, limited, wait(1)]
  const a = await startBareNode((asked, response) => (answers.shift() ?? (() => 'from a'))(asked, response))
  const { ask, skip } = await setting({ a })
  for (const pauseMs of [1000, 2000]) {
    await ask()
    skip(pauseMs + 500)
  }
  // The third pause would last four seconds.
  await ask()
  await ask()

  const during = await ask()
  skip(1100)

  expect([textOf(during), during.attempts]).toEqual(['no-endpoint', 0])
  expect(textOf(await ask())).toBe('"from a"')
})

test('at an alias a query of too much is no rate limit, and long calls are not held against the node', async () => {
  const tooMuch = sayError(-32_005, 'query returned more than 10000 results')
  const a = await startBareNode((asked, response) => {
    if (asked.path !== '/ext/mine/rpc') return 'from a'
    return asked.method === 'eth_getLogs' ? tooMuch(asked, response) : undefined
  })
  const { ask, attempts, doubted } = await setting({ a })
  const alias = {
    operation: { ...CHAIN_ID, name: 'alias', need: { kind: 'endpoint', endpoint: 'a' } },
    to: { kind: 'path', path: '/ext/mine/rpc' },
  } as const
  const logs = await ask({ ...alias, call: { id: '1', isNotification: false, method: 'eth_getLogs', params: '[]' } })
  const deadlineAt = systemClock.monotonic() + 800
  const long = Array.from({ length: 20 }, () => ask({ ...alias, deadlineAt }))
  await expect.poll(() => a.asked.length).toBe(21)

  const meanwhile = await ask()
  await Promise.all(long)

  expect(textOf(logs)).toContain('more than 10000 results')
  expect([textOf(meanwhile), textOf(await ask())]).toEqual(['"from a"', '"from a"'])
  expect(attempts).not.toContain('a rate-limited')
  expect(doubted).toEqual([])
})

test('without rate limits no time is given', async () => {
  const a = await startBareNode(sayStatus(502))
  const { ask } = await setting({ a })

  expect(retryAfterMs(await ask())).toBeUndefined()
})
