import { describe, expect, test } from 'vitest'
import type { Failure } from '../../src/core/failure.ts'
import { liveness as livenessAt, nodeCheck } from '../support/network.ts'
import { createStage, type Stage, type StageEndpoint, type StageNetwork, type StageOptions } from '../support/stage.ts'

/** Whether the nodes or we ourselves are at fault. The title of each test is its ground truth. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const INTERVAL = 10 * SECOND

const GONE: readonly Failure[] = [
  { kind: 'timeout', afterMs: 5000 },
  { kind: 'unroutable', code: 'ENETUNREACH' },
  { kind: 'dns', code: 'EAI_AGAIN' },
]
const REFUSED: Failure = { kind: 'refused' }

function stageOf(
  endpoints: readonly (string | StageEndpoint)[],
  over: Partial<StageNetwork> = {},
  options: StageOptions = {},
): Stage {
  return createStage({ watched: true, ...options, networks: [{ name: 'ethereum', endpoints, ...over }] })
}
const key = (name: string) => `ethereum/${name}`
const states = (stage: Stage, names: readonly string[]) => names.map((name) => stage.state(key(name)))
const fail = (stage: Stage, names: readonly string[], failure: Failure) => {
  for (const name of names) stage.set(key(name), { failure })
}
const failing = (names: readonly string[], failure: Failure): StageOptions => ({
  nodes: Object.fromEntries(names.map((name) => [key(name), { failure }])),
})
const heal = (stage: Stage, names: readonly string[]) => {
  for (const name of names) stage.set(key(name))
}
function expectNobody(stage: Stage): void {
  expect(stage.accused()).toEqual([])
  expect(stage.incidents()).toEqual([])
  expect(stage.log.filter(({ level }) => level === 'error')).toEqual([])
}

const THREE = ['a', 'b', 'c']

describe('our own network', () => {
  test.each(GONE.flatMap((failure) => [10 * SECOND, MINUTE, HOUR].map((forMs) => ({ failure, forMs }))))(
    'down for $forMs ms ($failure.kind): no endpoint is blamed, all are unknown meanwhile and up within a round after',
    async ({ failure, forMs }) => {
      const stage = stageOf(THREE)
      await stage.pass(5 * MINUTE)
      fail(stage, THREE, failure)

      await stage.pass(forMs)
      if (forMs >= MINUTE) {
        expect(states(stage, THREE)).toEqual(['unknown', 'unknown', 'unknown'])
        expect(stage.impaired().join()).toMatch(/can be re(ached|solved)/)
        expect(stage.halted('ethereum')).toBe(false)
      }
      heal(stage, THREE)
      await stage.pass(2 * INTERVAL)

      expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
      expect(stage.impaired()).toEqual([])
      expectNobody(stage)
    },
  )

  test('down while a node on this machine answers: that one stays up, the distant ones are unknown', async () => {
    const stage = stageOf([{ name: 'own', host: '127.0.0.1' }, { name: 'lan', host: '192.168.1.7' }, ...THREE])
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'unroutable', code: 'ENETUNREACH' })
    await stage.pass(10 * MINUTE)

    expect(states(stage, ['own', 'lan', ...THREE])).toEqual(['up', 'up', 'unknown', 'unknown', 'unknown'])
    expect(stage.impaired()).toHaveLength(1)
    heal(stage, THREE)
    await stage.pass(MINUTE)
    expectNobody(stage)
  })

  test.each([
    [['10.0.0.1', '10.0.0.2', 'rpc.example.com']],
    [['rpc.example.com', '10.0.0.1']],
    [['rpc.example.com', '198.51.100.4']],
  ])('is down, with the hosts %s: the only one of its kind is not blamed either', async (hosts) => {
    const names = hosts.map((_, at) => `n${at}`)
    for (const failure of GONE) {
      const stage = stageOf(hosts.map((host, at) => ({ name: `n${at}`, host })))
      await stage.pass(5 * MINUTE)
      for (let time = 0; time < 20; time++) {
        for (const [at, host] of hosts.entries()) {
          // An address needs no name server.
          fail(stage, [`n${at}`], host.startsWith('rpc') || failure.kind !== 'dns' ? failure : GONE[0]!)
        }
        await stage.pass(MINUTE + 3 * time * SECOND)
        heal(stage, names)
        await stage.pass(MINUTE + time * SECOND)
      }

      expect(states(stage, names)).toEqual(names.map(() => 'up'))
      expectNobody(stage)
    }
  })

  test.each([
    ['near', '10.0.0.1', INTERVAL],
    ['near', '10.0.0.1', HOUR],
    ['distant', 'node.example.net', HOUR],
  ])(
    'works while the only other host, a %s one (%s), answers every %i ms: the provider is down when it does not',
    async (_place, host, intervalMs) => {
      const stage = stageOf([
        { name: 'other', host, intervalMs },
        { name: 'provider', host: 'rpc.example.com' },
      ])
      await stage.pass(84 * MINUTE)
      fail(stage, ['provider'], { kind: 'timeout', afterMs: 5000 })
      await stage.until(() => stage.state(key('provider')) === 'down', 3 * INTERVAL)
      const polls = stage.pollsOf(key('other')).length
      for (let passed = 0; passed < HOUR; passed += INTERVAL) {
        await stage.pass(INTERVAL)
        expect(states(stage, ['other', 'provider'])).toEqual(['up', 'down'])
      }

      expect(stage.pollsOf(key('other')).length - polls).toBeLessThanOrEqual(HOUR / intervalMs + 5)
      expect(stage.impaired()).toEqual([])
      expect(stage.incidents()).toMatchObject([{ endpoint: 'provider', closedAt: null }])
    },
  )

  test('works while the farthest other host is polled every hour: a nearer one does not stand in for it', async () => {
    const stage = stageOf([
      { name: 'own', host: '127.0.0.1' },
      { name: 'near', host: '10.0.0.1', intervalMs: HOUR },
      { name: 'provider', host: 'rpc.example.com' },
    ])
    await stage.pass(84 * MINUTE)
    fail(stage, ['provider'], { kind: 'timeout', afterMs: 5000 })
    await stage.until(() => stage.state(key('provider')) === 'down', 3 * INTERVAL)

    for (let passed = 0; passed < HOUR; passed += INTERVAL) {
      await stage.pass(INTERVAL)
      expect(states(stage, ['own', 'near', 'provider'])).toEqual(['up', 'up', 'down'])
    }
  })

  test('works while one of forty endpoints of a host is a witness for none of the others', async () => {
    const names = Array.from({ length: 40 }, (_, at) => `e${at}`)
    const stage = stageOf([
      { name: 'near', host: '10.0.0.1', intervalMs: 5 * MINUTE },
      ...names.map((name) => ({ name, host: 'rpc.example.com' })),
    ])
    await stage.pass(20 * MINUTE + 5 * SECOND)

    fail(stage, names, REFUSED)
    await stage.pass(4 * INTERVAL)
    expect(new Set(states(stage, names))).toEqual(new Set(['down']))
    heal(stage, names)
    await stage.pass(5 * MINUTE)

    expect(new Set(states(stage, names))).toEqual(new Set(['up']))
    expect(stage.incidents()).not.toEqual([])
  })

  test('works: a witness that fails itself for a moment is not polled twice in it', async () => {
    const stage = stageOf([{ name: 'other', intervalMs: HOUR }, 'provider'])
    await stage.pass(84 * MINUTE)
    fail(stage, ['provider'], REFUSED)
    fail(stage, ['other'], { kind: 'http', status: 502 })
    await stage.pass(MINUTE)
    heal(stage, ['provider', 'other'])

    await stage.pass(HOUR)

    expect(stage.accused().map((one) => one.key)).not.toContain(key('other'))
  })

  test.each<Failure>([
    { kind: 'http', status: 403 },
    { kind: 'rpc', code: -32000, message: 'expired key' },
  ])(
    'works while the only other host answers with errors: the provider is down when it does not answer (%o)',
    async (failure) => {
      const stage = stageOf([
        { name: 'other', intervalMs: HOUR },
        { name: 'provider', intervalMs: INTERVAL },
      ])
      fail(stage, ['other'], failure)
      await stage.pass(144 * MINUTE)
      fail(stage, ['provider'], REFUSED)
      await stage.until(() => stage.state(key('provider')) === 'down', 3 * INTERVAL)
      for (let passed = 0; passed < HOUR; passed += INTERVAL) {
        await stage.pass(INTERVAL)
        expect(states(stage, ['other', 'provider'])).toEqual(['down', 'down'])
      }

      expect(stage.codes(key('other'))).toEqual(['bad-answer'])
    },
  )

  test.each([
    ['near', '10.0.0.1'],
    ['distant', 'node.example.net'],
  ])(
    'is down for a minute while the only other host, a %s one (%s), is polled every hour: no endpoint is blamed',
    async (_place, host) => {
      const names = ['other', 'provider']
      const stage = stageOf([
        { name: 'other', host, intervalMs: HOUR },
        { name: 'provider', host: 'rpc.example.com' },
      ])
      for (let time = 0; time < 40; time++) {
        await stage.pass((62 + time) * MINUTE + 7 * time * SECOND)
        fail(stage, names, GONE[time % 2]!)
        await stage.pass(MINUTE)
        heal(stage, names)
      }
      await stage.pass(MINUTE)
      expect(stage.state(key('provider'))).toBe('up')
      await stage.pass(HOUR)

      expect(states(stage, names)).toEqual(['up', 'up'])
      expectNobody(stage)
    },
  )

  test('is down for a minute while the only other host wants no requests: no endpoint is blamed', async () => {
    const resting: Failure = { kind: 'rate-limited', retryAfterMs: 10 * MINUTE }
    const stage = stageOf([{ name: 'other', intervalMs: 10 * MINUTE }, 'provider'])
    fail(stage, ['other'], resting)
    for (let time = 0; time < 20; time++) {
      await stage.pass((12 + time) * MINUTE + 7 * time * SECOND)
      fail(stage, ['other', 'provider'], GONE[time % 2]!)
      await stage.pass(MINUTE)
      fail(stage, ['other'], resting)
      heal(stage, ['provider'])
    }
    await stage.pass(MINUTE)

    expect(stage.state(key('provider'))).toBe('up')
    expect(stage.accused().filter((one) => one.key === key('provider'))).toEqual([])
  })

  test('works while distant nodes answer: a node on this machine that does not answer is down', async () => {
    const stage = stageOf([{ name: 'own', host: '127.0.0.1' }, ...THREE])
    await stage.pass(5 * MINUTE)
    fail(stage, ['own'], REFUSED)
    await stage.pass(MINUTE)

    expect(states(stage, ['own', ...THREE])).toEqual(['down', 'up', 'up', 'up'])
    expect(stage.impaired()).toEqual([])
  })

  test('has no name server: endpoints with a name are unknown, those with an address stay up, no endpoint is down', async () => {
    const stage = stageOf([{ name: 'd', host: '198.51.100.4' }, { name: 'e', host: '198.51.100.5' }, ...THREE])
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'dns', code: 'EAI_AGAIN' })
    await stage.pass(30 * MINUTE)

    expect(states(stage, ['d', 'e', ...THREE])).toEqual(['up', 'up', 'unknown', 'unknown', 'unknown'])
    expect(stage.impaired().join()).toContain('name server')
    heal(stage, THREE)
    await stage.pass(MINUTE)
    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expectNobody(stage)
  })

  test('is down when the distant endpoints are removed: that is no reason any more, while a node on this machine answers', async () => {
    const own = { name: 'own', host: '127.0.0.1' }
    const stage = stageOf([own, ...THREE])
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'timeout', afterMs: 5000 })
    await stage.pass(MINUTE)
    expect(stage.impaired()).toHaveLength(1)

    stage.reconfigure([{ name: 'ethereum', endpoints: [own] }])
    await stage.pass(MINUTE)

    expect([stage.state(key('own')), stage.impaired()]).toEqual(['up', []])
    expectNobody(stage)
  })

  test('works when one name of three cannot be resolved: that endpoint is down', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, ['b'], { kind: 'dns', code: 'ENOTFOUND' })
    await stage.pass(MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'down', 'up'])
    expect(stage.impaired()).toEqual([])
  })

  test('is back in part: endpoints that answer are judged again, the others are down only from then on', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'timeout', afterMs: 5000 })
    await stage.pass(20 * MINUTE)
    const backAt = stage.clock.now()
    heal(stage, ['a', 'b'])
    await stage.pass(2 * MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'up', 'down'])
    expect(stage.incidents()).toMatchObject([{ endpoint: 'c' }])
    expect(stage.incidents()[0]?.openedAt).toBeGreaterThanOrEqual(backAt - INTERVAL)
    expect(stage.accused().every((one) => one.key === key('c') && one.at >= backAt)).toBe(true)
  })

  test('flaps for an hour, ten seconds down and twenty up: no endpoint is ever blamed', async () => {
    const stage = stageOf([...THREE, 'd', 'e'])
    await stage.pass(5 * MINUTE)
    for (let time = 0; time < 120; time++) {
      fail(stage, [...THREE, 'd', 'e'], GONE[time % 3]!)
      await stage.pass(10 * SECOND)
      heal(stage, [...THREE, 'd', 'e'])
      await stage.pass(20 * SECOND)
    }
    await stage.pass(MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expectNobody(stage)
  })
})

describe('nodes that die while our network works', () => {
  test('one host of two: down, because the other answers', async () => {
    const stage = stageOf(['a', 'b'])
    await stage.pass(5 * MINUTE)
    fail(stage, ['b'], { kind: 'timeout', afterMs: 5000 })
    await stage.until(() => stage.state(key('b')) === 'down', MINUTE)

    expect(states(stage, ['a', 'b'])).toEqual(['up', 'down'])
    expect(stage.impaired()).toEqual([])
  })

  test('two hosts, a minute apart: both down, also the second, which failed alone', async () => {
    const stage = stageOf(['a', 'b'])
    await stage.pass(5 * MINUTE)
    fail(stage, ['a'], REFUSED)
    await stage.pass(MINUTE)
    expect(states(stage, ['a', 'b'])).toEqual(['down', 'up'])
    fail(stage, ['b'], REFUSED)
    await stage.pass(10 * MINUTE)

    expect(states(stage, ['a', 'b'])).toEqual(['down', 'down'])
    expect(stage.incidents()).toHaveLength(2)
  })

  test('two of three hosts at the same moment: both down, because the third answers', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, ['a', 'b'], REFUSED)
    await stage.pass(MINUTE)

    expect(states(stage, THREE)).toEqual(['down', 'down', 'up'])
  })

  test('a single host with five endpoints: all five down', async () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const stage = stageOf(names.map((name) => ({ name, host: 'node.example.org' })))
    await stage.pass(5 * MINUTE)
    fail(stage, names, REFUSED)
    await stage.pass(MINUTE)

    expect(states(stage, names)).toEqual(['down', 'down', 'down', 'down', 'down'])
    expect(stage.impaired()).toEqual([])
  })

  test('one endpoint on each of two hosts where others answer: both down, and our network works', async () => {
    const on = (host: string) =>
      ['1', '2', '3'].map((number) => ({ name: `${host}${number}`, host: `${host}.example.org` }))
    const stage = stageOf([...on('a'), ...on('b')])
    await stage.pass(5 * MINUTE)
    fail(stage, ['a2', 'b2'], REFUSED)
    for (let at = 0; at < 10 * 60; at++) {
      await stage.pass(SECOND)
      expect(stage.impaired()).toEqual([])
    }

    expect(states(stage, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3'])).toEqual(['up', 'down', 'up', 'up', 'down', 'up'])
    expect(stage.incidents()).toHaveLength(2)
  })

  test('a single endpoint: down, because there is no other to ask', async () => {
    const stage = stageOf(['a'])
    await stage.pass(5 * MINUTE)
    for (const failure of GONE) {
      fail(stage, ['a'], failure)
      await stage.pass(MINUTE)
      expect(stage.state(key('a'))).toBe('down')
      heal(stage, ['a'])
      await stage.pass(MINUTE)
      expect(stage.state(key('a'))).toBe('up')
    }
    expect(stage.incidents()).toHaveLength(3)
  })

  test('a node that was down before our network failed is down again after it: one incident, without an invented end', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, ['c'], REFUSED)
    await stage.pass(5 * MINUTE)
    fail(stage, ['a', 'b'], { kind: 'unroutable', code: 'ENETUNREACH' })
    await stage.pass(30 * MINUTE)
    expect(stage.open()).toMatchObject([{ endpoint: 'c' }])
    heal(stage, ['a', 'b'])
    await stage.pass(5 * MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'up', 'down'])
    expect(stage.incidents()).toMatchObject([{ endpoint: 'c', closedAt: null }])
    expect(stage.accused().every((one) => one.key === key('c'))).toBe(true)
  })

  test('a node that fails during our own outage is down after it', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'unroutable', code: 'ENETUNREACH' })
    await stage.pass(10 * MINUTE)
    heal(stage, ['a', 'b'])
    fail(stage, ['c'], { kind: 'http', status: 500 })
    await stage.until(() => stage.state(key('c')) === 'down', MINUTE)

    expect(stage.codes(key('c'))).toEqual(['bad-answer'])
    expect(stage.incidents()).toHaveLength(1)
  })

  test.each([{ kind: 'unroutable', code: 'ENETUNREACH' } as const, { kind: 'dns', code: 'EAI_AGAIN' } as const])(
    'that cannot be reached when we start before our network is up ($kind): all unknown until it is',
    async (failure) => {
      const stage = stageOf(THREE, {}, failing(THREE, failure))
      await stage.pass(30 * MINUTE)

      expect(states(stage, THREE)).toEqual(['unknown', 'unknown', 'unknown'])
      expect(stage.impaired()).toHaveLength(1)
      expectNobody(stage)
      heal(stage, THREE)
      await stage.pass(MINUTE)
      expect([states(stage, THREE), stage.impaired()]).toEqual([['up', 'up', 'up'], []])
      expectNobody(stage)
    },
  )

  test('that are unreachable hosts (EHOSTUNREACH) at our very first start: down, because packets leave', async () => {
    const stage = stageOf(THREE, {}, failing(THREE, { kind: 'unroutable', code: 'EHOSTUNREACH' }))
    await stage.pass(2 * MINUTE)

    expect([states(stage, THREE), stage.impaired()]).toEqual([['down', 'down', 'down'], []])
  })

  test('of which two had no route before our very first start, and one answers: down, and our network works', async () => {
    const stage = stageOf(THREE, {}, failing(['a', 'b'], { kind: 'unroutable', code: 'ENETUNREACH' }))
    await stage.pass(2 * MINUTE)

    expect(states(stage, THREE)).toEqual(['down', 'down', 'up'])
    expect(stage.impaired()).toEqual([])
  })

  test('of which two had no route before our very first start, and one refuses: down, because packets leave', async () => {
    const [a, b] = [
      { failure: { kind: 'unroutable', code: 'ENETUNREACH' } },
      { failure: { kind: 'unroutable', code: 'ENETUNREACH' } },
    ] as const
    const stage = stageOf(THREE, {}, { nodes: { [key('a')]: a, [key('b')]: b, [key('c')]: { failure: REFUSED } } })
    await stage.pass(2 * MINUTE)

    expect(states(stage, THREE)).toEqual(['down', 'down', 'down'])
    expect(stage.impaired()).toEqual([])
  })

  test('that were dead before our very first start: all down, though no host has answered yet', async () => {
    const stage = stageOf(THREE, {}, failing(THREE, REFUSED))
    await stage.pass(2 * MINUTE)

    expect(states(stage, THREE)).toEqual(['down', 'down', 'down'])
  })
})

describe('a restart', () => {
  test('while our network is down: endpoints that were up before are unknown, not down, until the network is back', async () => {
    const before = stageOf(THREE)
    await before.pass(5 * MINUTE)
    const stage = stageOf(THREE, {}, { saved: before.saved(), now: before.clock.now() + MINUTE })
    fail(stage, THREE, { kind: 'timeout', afterMs: 5000 })
    await stage.pass(30 * MINUTE)

    expect(states(stage, THREE)).toEqual(['unknown', 'unknown', 'unknown'])
    expect(stage.impaired()).toHaveLength(1)
    heal(stage, THREE)
    await stage.pass(MINUTE)
    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expectNobody(stage)
  })

  test('while one node is dead that was up before: it is down, because other hosts answer', async () => {
    const before = stageOf(THREE)
    await before.pass(5 * MINUTE)
    const stage = stageOf(THREE, {}, { saved: before.saved(), now: before.clock.now() + MINUTE })
    fail(stage, ['b'], REFUSED)
    await stage.pass(MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'down', 'up'])
  })
})

describe('this process', () => {
  test.each([600, 5000, 60_000, 600_000])(
    'stands still for %i ms, again and again, with answers on their way: no endpoint is blamed',
    async (ms) => {
      const stage = stageOf([...THREE, 'd', 'e'], { thresholds: { failAfter: 1 } })
      for (const name of THREE) stage.set(key(name), { latencyMs: 1500 })
      await stage.pass(5 * MINUTE)
      for (let time = 0; time < 10; time++) {
        stage.clock.blockLoop(ms)
        await stage.pass(50)
        if (ms > SECOND) expect(stage.impaired().join()).toContain('stood still')
        await stage.pass(13_370)
      }
      await stage.pass(MINUTE)

      expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
      expect([stage.halted('ethereum'), stage.impaired()]).toEqual([false, []])
      expectNobody(stage)
    },
  )

  test('stands still while a consensus node answers: neither that node nor its endpoint is blamed', async () => {
    const sync = { isSyncing: false, remainingBlocks: null }
    const consensus = {
      state: 'down',
      reason: 'no complete answer within 5 s',
      remainingSlots: null,
      peers: null,
    } as const
    const unanswered = nodeCheck('/eth/v1/node/health', { healthy: false, error: consensus.reason })
    let isHeld = false
    const liveness = (now: number) =>
      isHeld
        ? livenessAt(now, { healthy: false, checks: [unanswered], report: { sync, peers: 9, client: null, consensus } })
        : livenessAt(now)
    const stage = stageOf(THREE, { thresholds: { failAfter: 1 }, endpoint: { checks: ['liveness', 'head'] } })
    for (const name of THREE) stage.set(key(name), { latencyMs: 1500, liveness })
    await stage.pass(5 * MINUTE)
    for (let time = 0; time < 10; time++) {
      isHeld = true
      stage.clock.blockLoop(3000)
      await stage.pass(SECOND)
      isHeld = false
      await stage.pass(13_370)
    }
    await stage.pass(MINUTE)

    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expectNobody(stage)
  })

  test('stands still in every poll of a slow node: how long they took says nothing, so it is slow as before', async () => {
    const stage = stageOf(THREE)
    stage.set(key('b'), { latencyMs: 3000 })
    await stage.pass(5 * MINUTE)
    const seen = new Set<string>()
    for (let time = 0; time < 100; time++) {
      stage.clock.blockLoop(SECOND)
      await stage.pass(SECOND)
      seen.add(`${stage.state(key('b'))}: ${stage.codes(key('b')).join()}`)
    }
    expect([...seen]).toEqual(['degraded: slow'])

    heal(stage, ['b'])
    await stage.pass(MINUTE)
    expect([stage.state(key('b')), stage.incidents().length, stage.open()]).toEqual(['up', 1, []])
  })

  test('stands still while a node dies: the node is down two valid polls later', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, ['b'], REFUSED)
    stage.clock.blockLoop(30 * SECOND)
    const took = await stage.until(() => stage.state(key('b')) === 'down', MINUTE)

    expect(took).toBeLessThanOrEqual(3 * INTERVAL)
    expect(stage.accused().every((one) => one.key === key('b'))).toBe(true)
  })

  test('is out of file descriptors for some polls: unknown, with the reason, and no endpoint is blamed', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'local-resources', code: 'EMFILE' })
    await stage.pass(5 * MINUTE)

    expect(states(stage, THREE)).toEqual(['unknown', 'unknown', 'unknown'])
    expect(stage.impaired()).toEqual(['this machine is out of resources (EMFILE)'])
    expect(stage.halted('ethereum')).toBe(false)
    heal(stage, THREE)
    await stage.pass(MINUTE)
    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expect(stage.impaired()).toEqual([])
    expectNobody(stage)
  })

  test('is out of file descriptors for some endpoints, while one is really down', async () => {
    const stage = stageOf(THREE)
    await stage.pass(5 * MINUTE)
    fail(stage, ['a'], { kind: 'local-resources', code: 'EMFILE' })
    fail(stage, ['b'], REFUSED)
    await stage.pass(5 * MINUTE)

    expect(states(stage, THREE)).toEqual(['unknown', 'down', 'up'])
    expect(stage.accused().every((one) => one.key === key('b'))).toBe(true)
  })
})

describe('this machine’s clock', () => {
  const OVER: Partial<StageNetwork> = {
    network: { family: 'avalanche', blockTimeMs: 2000 },
    endpoint: { family: 'avalanche', checks: ['liveness', 'head'] },
    thresholds: { failAfter: 1 },
  }

  test.each([HOUR, -HOUR, 5 * SECOND, -5 * SECOND])(
    'is set by %i ms: no endpoint is blamed, and all are judged again within a round',
    async (ms) => {
      for (const names of [['a'], ['a', 'b'], THREE]) {
        const stage = stageOf(names, OVER)
        await stage.pass(5 * MINUTE)
        stage.clock.stepWall(ms)
        await stage.pass(500)
        expect(stage.impaired().join()).toContain('clock was set')
        await stage.pass(2 * INTERVAL)
        expect(states(stage, names)).toEqual(names.map(() => 'up'))
        await stage.pass(30 * MINUTE)

        expect(states(stage, names)).toEqual(names.map(() => 'up'))
        expect([stage.halted('ethereum'), stage.impaired()]).toEqual([false, []])
        for (const name of names) expect(stage.codes(key(name))).toEqual(Math.abs(ms) > 10_000 ? ['clock-skewed'] : [])
        expectNobody(stage)
      }
    },
  )

  test('was wrong and is corrected: the nodes’ clocks no longer seem skewed', async () => {
    const stage = stageOf(THREE, OVER)
    stage.clock.stepWall(HOUR)
    await stage.pass(10 * MINUTE)
    expect(stage.codes(key('a'))).toEqual(['clock-skewed'])
    stage.clock.stepWall(-HOUR)
    await stage.pass(MINUTE)

    expect(THREE.map((name) => stage.codes(key(name)))).toEqual([[], [], []])
    expectNobody(stage)
  })

  test('drifts by 500 ppm for eight hours: that is no jump, and no endpoint is blamed', async () => {
    const stage = stageOf(THREE)
    for (let minute = 0; minute < 8 * 60; minute++) {
      await stage.pass(MINUTE)
      stage.clock.stepWall(30)
    }

    expect(states(stage, THREE)).toEqual(['up', 'up', 'up'])
    expect([stage.halted('ethereum'), stage.impaired()]).toEqual([false, []])
    expectNobody(stage)
  }, 120_000)

  test.each([HOUR, -HOUR])(
    'is set by %i ms while a node is down: it is down again afterwards, in the same incident, and no time is in the future',
    async (step) => {
      const stage = stageOf(THREE)
      await stage.pass(2 * HOUR)
      fail(stage, ['b'], REFUSED)
      await stage.pass(5 * MINUTE)
      stage.clock.stepWall(step)
      await stage.pass(5 * MINUTE)

      expect(states(stage, THREE)).toEqual(['up', 'down', 'up'])
      expect(stage.incidents()).toMatchObject([{ endpoint: 'b', closedAt: null }])
      const { since, conditions } = stage.board.entry('ethereum', 'b')?.health ?? {}
      for (const at of [since, ...(conditions ?? []).map((condition) => condition.since)])
        expect(at).toBeLessThan(stage.clock.now())
    },
  )
})

test.each([
  { interval: 6 * SECOND, others: 15 * SECOND, names: ['b', 'c'] },
  { interval: 10 * SECOND, others: MINUTE, names: ['b', 'c'] },
  { interval: 15 * SECOND, others: 5 * MINUTE, names: ['b', 'c'] },
  { interval: 15 * SECOND, others: 5 * MINUTE, names: ['b'] },
])('an endpoint polled every $interval ms stays down while $names are polled every $others ms', async (given) => {
  const others = given.names.map((name) => ({ name, intervalMs: given.others }))
  const stage = stageOf([{ name: 'a', intervalMs: given.interval }, ...others])
  await stage.pass(5 * MINUTE)
  fail(stage, ['a'], REFUSED)
  await stage.until(() => stage.state(key('a')) === 'down', 5 * MINUTE)
  const from = stage.pollsOf(key('b')).length

  for (let passed = 0; passed < 10 * MINUTE; passed += SECOND / 2) {
    await stage.pass(SECOND / 2)
    expect(stage.state(key('a'))).toBe('down')
  }

  // An answer of one of them for each poll of `a` is enough.
  expect(stage.pollsOf(key('b')).length - from).toBeLessThanOrEqual((10 * MINUTE) / given.interval)
})

test.each([HOUR, -HOUR])(
  'a poll that waits for a witness while the clock is set by %i ms counts in neither time',
  async (ms) => {
    const others = ['b', 'c'].map((name) => ({ name, intervalMs: MINUTE }))
    const stage = stageOf([{ name: 'a', intervalMs: INTERVAL }, ...others])
    await stage.pass(3 * MINUTE)
    for (const name of ['b', 'c']) stage.set(key(name), { latencyMs: 1000 })
    fail(stage, ['a'], REFUSED)
    const polls = stage.pollsOf(key('a')).length
    await stage.until(() => stage.pollsOf(key('a')).length > polls, 2 * INTERVAL)
    await stage.pass(400)
    stage.clock.stepWall(ms)
    const setAt = stage.clock.now()

    await stage.until(() => stage.state(key('a')) === 'down', 2 * MINUTE)

    const times = stage.incidents().flatMap(({ openedAt, confirmedAt }) => [openedAt, confirmedAt])
    expect(times).toHaveLength(2)
    for (const at of times) {
      expect(at).toBeGreaterThanOrEqual(setAt)
      expect(at).toBeLessThanOrEqual(stage.clock.now())
    }
  },
)

describe('fail_after 1', () => {
  test('counts one poll that another host’s answer confirms, and none during an outage of ours', async () => {
    const stage = stageOf(THREE, { thresholds: { failAfter: 1 } })
    await stage.pass(5 * MINUTE)
    fail(stage, THREE, { kind: 'timeout', afterMs: 5000 })
    await stage.pass(HOUR)
    heal(stage, THREE)
    await stage.pass(MINUTE)
    expectNobody(stage)

    fail(stage, ['b'], REFUSED)
    await stage.until(() => stage.state(key('b')) === 'down', 2 * INTERVAL)
    expect(stage.accused()).toHaveLength(1)
  })
})
