import { describe, expect, test } from 'vitest'
import { createStage, type Node, type Stage } from '../support/stage.ts'

/** Every kind of failure has its own conditions, and no others. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const INTERVAL = 10 * SECOND

const names = ['a', 'b', 'c']
const key = (name: string) => `avalanche/${name}`

function stageOf(): Stage {
  return createStage({
    networks: [
      {
        name: 'avalanche',
        endpoints: names,
        network: { family: 'avalanche', blockTimeMs: 2000 },
        endpoint: { family: 'avalanche', checks: ['liveness', 'head'] },
      },
    ],
  })
}

const check = (contiguousFailures = 0, healthy = true) => ({
  name: 'C',
  healthy,
  error: null,
  contiguousFailures,
  failingSince: null,
  checkedAt: null,
  durationMs: 1,
})

describe('an endpoint that', () => {
  test.each<[string, Node, string, string[]]>([
    ['refuses connections', { failure: { kind: 'refused' } }, 'down', ['unreachable']],
    ['hangs', { failure: { kind: 'timeout', afterMs: 5000 } }, 'down', ['unreachable']],
    ['answers 503', { failure: { kind: 'http', status: 503 } }, 'down', ['bad-answer']],
    [
      'serves another chain',
      { failure: { kind: 'wrong-network', expected: 1, actual: '5' } },
      'down',
      ['wrong-network'],
    ],
    ['is rate-limiting us', { failure: { kind: 'rate-limited', retryAfterMs: null } }, 'degraded', ['rate-limited']],
    ['takes three seconds', { latencyMs: 3000 }, 'degraded', ['slow']],
    ['has a clock that is two minutes behind', { clockSkewMs: -2 * MINUTE }, 'up', ['clock-skewed']],
    ['has a clock that is an hour ahead', { clockSkewMs: HOUR }, 'up', ['clock-skewed']],
    [
      'has handled no network message for two minutes',
      { liveness: (now) => ({ healthy: true, checks: [check()], heartbeatAt: now - 2 * MINUTE }) },
      'degraded',
      ['heartbeat-stale'],
    ],
    [
      'has handled no network message for two minutes, with a clock that is an hour ahead',
      { clockSkewMs: HOUR, liveness: (now) => ({ healthy: true, checks: [check()], heartbeatAt: now - 2 * MINUTE }) },
      'degraded',
      ['heartbeat-stale', 'clock-skewed'],
    ],
    [
      'reports itself healthy though one of its checks keeps failing',
      { liveness: (now) => ({ healthy: true, checks: [check(5)], heartbeatAt: now }) },
      'degraded',
      ['check-failing'],
    ],
    [
      'reports itself unhealthy',
      { liveness: (now) => ({ healthy: false, checks: [check(1, false)], heartbeatAt: now }) },
      'down',
      ['unhealthy'],
    ],
    [
      'reports itself healthy without any check',
      { liveness: (now) => ({ healthy: true, checks: [], heartbeatAt: now }) },
      'up',
      ['no-evidence'],
    ],
    ['is ten blocks behind', { behind: 10 }, 'degraded', ['lagging']],
  ])('%s has exactly these conditions, and none after it has recovered', async (_title, node, state, codes) => {
    const stage = stageOf()
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), node)
    await stage.pass(2 * MINUTE)

    expect([stage.state(key('b')), [...stage.codes(key('b'))].sort()]).toEqual([state, codes.toSorted()])
    for (const { at, codes: told } of stage.told(key('b')))
      if (at > 0) for (const code of told) expect(codes).toContain(code)
    stage.set(key('b'))
    await stage.pass(2 * MINUTE)

    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
    expect(stage.accused().every((one) => one.key === key('b'))).toBe(true)
    expect(stage.incidents()).toHaveLength(state === 'up' ? 0 : 1)
    expect(stage.open()).toEqual([])
  })

  test('asks us to wait five minutes is not polled for that time, and is degraded, then unknown, never down', async () => {
    const stage = stageOf()
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'rate-limited', retryAfterMs: 5 * MINUTE } })
    const before = stage.pollsOf(key('b')).length
    await stage.pass(30 * MINUTE)

    expect(stage.pollsOf(key('b')).length - before).toBeLessThanOrEqual(7)
    expect(
      stage.accused().every(({ verdict, codes }) => verdict === 'degraded' && codes.join() === 'rate-limited'),
    ).toBe(true)
    stage.set(key('b'))
    await stage.pass(6 * MINUTE)
    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
  })

  test('is slow in one poll of ten is not slow', async () => {
    const stage = stageOf()
    let poll = 0
    stage.set(key('b'), { latencyMs: () => (poll++ % 10 === 0 ? 4000 : 20) })
    await stage.pass(2 * HOUR)

    expect(stage.accused()).toEqual([])
  })

  test('fails one poll in three is never down', async () => {
    const stage = stageOf()
    let poll = 0
    stage.set(key('b'), { failure: () => (poll++ % 3 === 0 ? { kind: 'reset' } : null) })
    await stage.pass(2 * HOUR)

    expect(stage.accused()).toEqual([])
    expect(stage.incidents()).toEqual([])
  })

  test('goes from one failure straight to another has both in one incident, each with its time', async () => {
    const stage = stageOf()
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { behind: 10 })
    await stage.pass(2 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'refused' } })
    await stage.pass(2 * MINUTE)
    stage.set(key('b'), { latencyMs: 3000 })
    await stage.pass(2 * MINUTE)

    expect(stage.told(key('b')).at(-1)?.codes).toEqual(['slow'])
    expect(stage.incidents()).toHaveLength(1)
    expect(stage.incidents()[0]?.conditions.map(({ code }) => code)).toEqual(['lagging', 'unreachable', 'slow'])
  })

  test('is down is known within two polls, the second one early', async () => {
    const stage = stageOf()
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), { failure: { kind: 'refused' } })
    const from = stage.clock.now()
    await stage.until(() => stage.state(key('b')) === 'down', 2 * INTERVAL)
    const polls = stage.pollsOf(key('b')).filter((at) => at >= from)

    expect(polls).toHaveLength(2)
    expect((polls[1] ?? 0) - (polls[0] ?? 0)).toBeLessThan(INTERVAL / 2)
  })
})

test.each<[string, Node, state: string, code: string]>([
  ['far behind', { behind: 200 }, 'down', 'lagging'],
  ['forked', { branch: { from: 1030, name: 'other' } }, 'degraded', 'forked'],
  ['of another network', { failure: { kind: 'wrong-network', expected: 1, actual: '5' } }, 'down', 'wrong-network'],
])('a node that is %s stays so while it limits our rate', async (_, node, state, code) => {
  const stage = stageOf()
  await stage.pass(5 * MINUTE)
  stage.set(key('b'), node)
  await stage.until(() => stage.codes(key('b')).includes(code), 10 * MINUTE)
  stage.set(key('b'), { failure: { kind: 'rate-limited', retryAfterMs: null } })
  for (let seconds = 0; seconds < 5 * 60; seconds++) {
    await stage.pass(1000)
    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual([state, expect.arrayContaining([code])])
  }

  stage.set(key('b'), {})
  await stage.until(() => stage.state(key('b')) === 'up', MINUTE)
  expect(stage.incidents()).toHaveLength(1)
})
