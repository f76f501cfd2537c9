import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { FAILURE_KINDS, type Failure, type FailureKind } from '../../src/core/failure.ts'
import type { Network } from '../../src/core/network.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import { stateAt } from '../../src/core/verdict/health.ts'
import { createNetworkView, type NetworkView } from '../../src/core/verdict/network-view.ts'
import { readSaved } from '../../src/poll/poll-history.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck, pollResult, THRESHOLDS } from '../support/network.ts'

const START = Date.UTC(2026, 0, 1)
const INTERVAL = 10_000
const BLOCK = 12_000

/** The answer of an endpoint at `at`, while the honest chain is at `height`. */
type Answer = (height: number, at: number, of: Endpoint) => Partial<PollResult>

const honest: Answer = (height, at) => ({ heads: [{ shard: null, outcome: good(head(height, at)) }] })
const behind =
  (blocks: number): Answer =>
  (height, at, of) =>
    honest(height - blocks, at, of)
const failing =
  (failure: Failure): Answer =>
  () => ({ heads: [{ shard: null, outcome: bad(failure) }] })

interface Story {
  view: NetworkView
  /** Polls every endpoint `rounds` times, ten seconds apart; those named in `answers` give these answers. */
  poll(rounds: number, answers?: Record<string, Answer>): void
  /** The same, in the order of the configuration. */
  pollInOrder(rounds: number, answers?: Record<string, Answer>): void
  state(name: string): string
  codes(name: string): string[]
  now(): number
}

function story(names: readonly string[], over: Partial<Network> = {}, of: Partial<Endpoint> = {}): Story {
  const endpoints = names.map((name) => endpoint(name, of))
  const view = createNetworkView(network(over), endpoints, START)
  let now = START - INTERVAL
  function run(rounds: number, answers: Record<string, Answer>, turns: readonly Endpoint[]): void {
    for (let round = 0; round < rounds; round++) {
      now += INTERVAL
      for (const polled of turns) {
        const height = 1000 + Math.floor((now - START) / BLOCK)
        view.judge(pollResult(polled, now, (answers[polled.name] ?? honest)(height, now, polled)), now)
      }
    }
  }
  return {
    view,
    poll(rounds, answers = {}) {
      // Failing endpoints come last, so that they are compared with the others' answers of the same round.
      run(
        rounds,
        answers,
        endpoints.toSorted((x, y) => Number(x.name in answers) - Number(y.name in answers)),
      )
    },
    pollInOrder: (rounds, answers = {}) => run(rounds, answers, endpoints),
    state: (name) => stateAt(view.health(name)!, now),
    codes: (name) => view.health(name)!.conditions.map((condition) => condition.code),
    now: () => now,
  }
}

const THREE = ['a', 'b', 'c']

describe('an endpoint whose poll fails', () => {
  const SAMPLES: Record<FailureKind, Failure> = {
    timeout: { kind: 'timeout', afterMs: 5000 },
    dns: { kind: 'dns', code: 'ENOTFOUND' },
    refused: { kind: 'refused' },
    unroutable: { kind: 'unroutable', code: 'ENETUNREACH' },
    reset: { kind: 'reset' },
    truncated: { kind: 'truncated' },
    tls: { kind: 'tls', problem: 'expired' },
    'local-resources': { kind: 'local-resources', code: 'EMFILE' },
    'not-http': { kind: 'not-http' },
    'headers-too-large': { kind: 'headers-too-large' },
    'too-large': { kind: 'too-large', limitBytes: 1_048_576 },
    redirect: { kind: 'redirect', status: 302 },
    http: { kind: 'http', status: 502 },
    'rate-limited': { kind: 'rate-limited', retryAfterMs: 1000 },
    'bad-encoding': { kind: 'bad-encoding' },
    'not-json': { kind: 'not-json' },
    'too-deep': { kind: 'too-deep', limit: 64 },
    rpc: { kind: 'rpc', code: -32_000, message: 'no' },
    'wrong-id': { kind: 'wrong-id' },
    malformed: { kind: 'malformed', what: 'result.number' },
    'wrong-network': { kind: 'wrong-network', expected: 1, actual: '5' },
  }
  const EXPECTED: Partial<Record<FailureKind, [state: string, code: string]>> = {
    timeout: ['down', 'unreachable'],
    dns: ['down', 'unreachable'],
    refused: ['down', 'unreachable'],
    unroutable: ['down', 'unreachable'],
    reset: ['down', 'unreachable'],
    tls: ['down', 'unreachable'],
    'rate-limited': ['degraded', 'rate-limited'],
    'wrong-network': ['down', 'wrong-network'],
  }

  test.each(FAILURE_KINDS.filter((kind) => kind !== 'local-resources'))(
    '%s is one clear condition, and does not affect other endpoints',
    (kind) => {
      const told = story(THREE)
      told.poll(5)

      told.poll(1, { a: failing(SAMPLES[kind]) })
      expect(told.state('a')).toBe('up')
      told.poll(1, { a: failing(SAMPLES[kind]) })

      const [state, code] = EXPECTED[kind] ?? ['down', 'bad-answer']
      expect(told.state('a')).toBe(state)
      expect(told.codes('a')).toEqual([code])
      expect(told.view.health('a')?.since).toBe(told.now() - INTERVAL)
      for (const other of ['b', 'c']) expect([told.state(other), told.codes(other)]).toEqual(['up', []])
      told.poll(2)
      expect([told.state('a'), told.codes('a')]).toEqual(['up', []])
    },
  )

  test('because our machine is out of resources is never down: its state becomes unknown', () => {
    const told = story(THREE)
    told.poll(5)

    told.view.discardPoll('a', told.now())

    expect(stateAt(told.view.health('a')!, told.now() + 1)).toBe('unknown')
    expect(told.codes('a')).toEqual([])
    expect(told.state('b')).toBe('up')
  })

  test('a result holds for two intervals, then the state is unknown', () => {
    const told = story(THREE)
    told.poll(5)
    const health = told.view.health('a')!

    expect(stateAt(health, told.now() + 2 * INTERVAL)).toBe('up')
    expect(stateAt(health, told.now() + 2 * INTERVAL + 1)).toBe('unknown')
  })

  test('a node that asks us to wait is rate-limited for two intervals, and then unknown until the next poll', () => {
    const told = story(THREE)
    told.poll(5)

    told.poll(2, { a: failing({ kind: 'rate-limited', retryAfterMs: 300_000 }) })

    const health = told.view.health('a')!
    expect(stateAt(health, told.now() + 2 * INTERVAL)).toBe('degraded')
    expect(stateAt(health, told.now() + 300_000)).toBe('unknown')
  })
})

describe('an endpoint behind the others', () => {
  test('is lagging within two polls, and up within two after it has caught up', () => {
    const told = story(THREE)
    told.poll(5)

    told.poll(2, { a: behind(12) })
    expect([told.state('a'), told.codes('a')]).toEqual(['degraded', ['lagging']])
    expect(told.view.health('a')?.conditions[0]?.message).toBe('12 blocks (2.4 min) behind')
    expect(told.view.health('a')?.heads[0]).toMatchObject({ lagBlocks: 12, lagMs: 144_000 })

    told.poll(2)
    expect([told.state('a'), told.codes('a')]).toEqual(['up', []])
  })

  test('one endpoint far ahead makes no other late, polled first, alone for a while, or after a reload', () => {
    const lie = 1_000_000_000
    const lying: Answer = (height, at, of) => honest(height + lie, at, of)
    const silent = failing({ kind: 'timeout', afterMs: 5000 })

    const first = story(['liar', 'b'])
    first.pollInOrder(6, { liar: lying })
    expect([first.state('b'), first.codes('b')]).toEqual(['up', []])

    const alone = story(['liar', 'b'])
    alone.poll(5, { liar: lying })
    alone.poll(6, { liar: lying, b: silent })
    alone.poll(4, { liar: lying })
    expect([alone.state('b'), alone.codes('b')]).toEqual(['up', []])

    const again = createNetworkView(
      network(),
      ['liar', 'b'].map((name) => endpoint(name)),
      alone.now(),
    )
    for (const name of ['liar', 'b']) again.takeOver(name, alone.view, 0)
    const later = alone.now() + INTERVAL
    again.judge(pollResult(endpoint('liar'), later, lying(1100, later, endpoint('liar'))), later)
    again.judge(pollResult(endpoint('b'), later, honest(1100, later, endpoint('b'))), later)
    expect(again.health('b')?.heads[0]?.lagBlocks).toBe(0)
  })

  test('the only one that answers is down by the age of its block, also beside a dead one that was as late', () => {
    const late: Answer = (height, at) => ({
      heads: [{ shard: null, outcome: good(head(height - 200, at - 200 * BLOCK)) }],
    })
    const silent = failing({ kind: 'refused' })
    const told = story(['a', 'b', 'c', 'late', 'later'])
    told.poll(12, { late, later: late })

    told.poll(400, { a: silent, b: silent, c: silent, later: silent, late })

    expect(told.state('late')).toBe('down')
    expect(told.view.health('late')?.conditions[0]?.message).toMatch(/^its newest block is 40 min old/)
  })

  test('an endpoint of another chain does not move the reference head', () => {
    const told = story(THREE)
    told.poll(3, { b: failing({ kind: 'wrong-network', expected: 1, actual: '5' }), c: behind(0) })

    expect(told.view.references(told.now())).toMatchObject([{ shard: null, height: 1001 }])
    expect(told.codes('b')).toEqual(['wrong-network'])
  })
})

describe('what a node reports about itself', () => {
  const says =
    (over: Parameters<typeof liveness>[1], heartbeatLagMs = 1000): Answer =>
    (height, at, of) => ({ ...honest(height, at, of), liveness: good(liveness(at - heartbeatLagMs, over)) })
  const avalanche = () => story(THREE, { family: 'avalanche' }, { family: 'avalanche', checks: ['liveness', 'head'] })

  test.each<[string, Answer, string, string[]]>([
    ['healthy is up', says({}), 'up', []],
    [
      'unhealthy is down',
      says({ healthy: false, checks: [nodeCheck('C', { healthy: false })] }),
      'down',
      ['unhealthy'],
    ],
    [
      'healthy with three consecutive failures of a check is degraded',
      says({ checks: [nodeCheck('P', { contiguousFailures: 3 })] }),
      'degraded',
      ['check-failing'],
    ],
    ['two failures are no condition', says({ checks: [nodeCheck('P', { contiguousFailures: 2 })] }), 'up', []],
    ['silent for a minute is degraded', says({}, 60_000), 'degraded', ['heartbeat-stale']],
    ['silent for 59 s is up', says({}, 59_000), 'up', []],
    ['healthy without any check is up, and the missing evidence is shown', says({ checks: [] }), 'up', ['no-evidence']],
  ])('%s', (_title, answer, state, codes) => {
    const told = avalanche()
    told.poll(3, { a: answer })

    expect([told.state('a'), told.codes('a')]).toEqual([state, codes])
    expect(told.state('b')).not.toBe('down')
  })

  test('a node that reports itself healthy while it lags is lagging', () => {
    const told = avalanche()
    told.poll(2, { a: (height, at, of) => says({})(height - 50, at, of) })

    expect([told.state('a'), told.codes('a')]).toEqual(['degraded', ['lagging']])
  })

  test('names the failing checks', () => {
    const told = avalanche()
    const checks = ['C', 'network', 'P', 'X'].map((name) => nodeCheck(name, { healthy: false }))
    told.poll(2, { a: says({ healthy: false, checks }) })

    expect(told.view.health('a')?.conditions[0]?.message).toBe(
      'the node reports itself unhealthy: C, network, P and 1 more',
    )
  })
})

describe('the rest of the rules', () => {
  test.each([-10_000, 10_000])('a clock that is wrong by %i ms is shown and changes no state', (clockSkewMs) => {
    const told = story(THREE)
    told.poll(2, { a: (height, at, of) => ({ ...honest(height, at, of), clockSkewMs }) })

    expect([told.state('a'), told.codes('a')]).toEqual(['up', ['clock-skewed']])
  })

  test('a block from the future is a skewed clock, and no negative lag', () => {
    const told = story(THREE)
    told.poll(2, { a: (height, at) => ({ heads: [{ shard: null, outcome: good(head(height, at + 3_600_000)) }] }) })

    expect(told.codes('a')).toEqual(['clock-skewed'])
    expect(told.view.health('a')?.heads[0]?.lagBlocks).toBe(0)
  })

  test('a heartbeat from the future is a skewed clock, and no negative lag', () => {
    const told = story(THREE, { family: 'avalanche' }, { family: 'avalanche', checks: ['liveness', 'head'] })
    told.poll(2, {
      a: (height, at, of) => ({ ...honest(height, at, of), liveness: good(liveness(at + 3_600_000)) }),
      b: (height, at, of) => ({ ...honest(height, at, of), liveness: good(liveness(at)) }),
    })

    expect([told.state('a'), told.codes('a')]).toEqual(['up', ['clock-skewed']])
    expect(told.codes('b')).toEqual([])
  })

  test('a sharded endpoint is judged by its worst shard', () => {
    const shards = [0, 1, 4_294_967_295]
    const told = story(THREE, { family: 'multiversx', blockTimeMs: 6000 }, { family: 'multiversx', shards })
    const sharded =
      (lags: number[]): Answer =>
      (height, at) => ({
        heads: shards.map((shard, i) => ({ shard, outcome: good(head(height - (lags[i] ?? 0), at)) })),
      })
    const all = sharded([])

    told.poll(3, { a: all, b: all, c: sharded([0, 0, 5]) })

    expect([told.state('c'), told.codes('c')]).toEqual(['degraded', ['lagging']])
    expect(told.view.health('c')?.conditions[0]?.message).toBe('metachain: 5 blocks (30 s) behind')
    expect(told.state('b')).toBe('up')
  })

  test('a failing shard is named; if all fail alike the endpoint fails', () => {
    const shards = [0, 1]
    const told = story(THREE, { family: 'multiversx' }, { family: 'multiversx', shards })
    const failingOn =
      (failed: number[]): Answer =>
      (height, at) => ({
        heads: shards.map((shard) => ({
          shard,
          outcome: failed.includes(shard) ? bad({ kind: 'refused' }) : good(head(height, at)),
        })),
      })

    told.poll(2, { a: failingOn([]), b: failingOn([1]), c: failingOn(shards) })

    const message = (name: string) => told.view.health(name)?.conditions[0]?.message
    expect(message('b')).toBe('shard 1: connection refused')
    expect(message('c')).toBe('connection refused')
  })

  test('requests lost on different shards are not one failure, also over a restart', () => {
    const shards = [0, 1, 4_294_967_295]
    const told = story(THREE, { family: 'multiversx' }, { family: 'multiversx', shards })
    const losing =
      (...lost: readonly (number | 'liveness')[]): Answer =>
      (height, at) => ({
        heads: shards.map((shard) => ({
          shard,
          outcome: lost.includes(shard) ? bad({ kind: 'reset' }) : good(head(height, at)),
        })),
        liveness: lost.includes('liveness') ? bad({ kind: 'timeout', afterMs: 5000 }) : good(liveness(at - 1000)),
      })
    told.poll(2, { a: losing(), b: losing(), c: losing() })

    for (const lost of [losing(0), losing(1), losing('liveness'), losing(0, 4_294_967_295)]) {
      told.poll(1, { a: losing(), b: losing(), c: lost })
      expect([told.state('c'), told.codes('c')]).toEqual(['up', []])
    }
    const again = createNetworkView(network(), [endpoint('c', { shards })], told.now())
    again.restore('c', readSaved(JSON.parse(JSON.stringify(told.view.snapshot('c'))))!, told.now())
    const poll = (lost: Answer, at: number) =>
      again.judge(pollResult(endpoint('c', { shards }), at, lost(1000, at, endpoint('c'))), at)
    poll(losing(1), told.now() + INTERVAL)
    expect(stateAt(again.health('c')!, told.now() + INTERVAL)).toBe('up')
    poll(losing(1), told.now() + 2 * INTERVAL)
    expect(again.health('c')).toMatchObject({ verdict: 'down', since: told.now() + INTERVAL })
  })

  test('bad polls before and after a long pause are not consecutive', () => {
    const told = story(THREE)
    told.poll(5)
    told.poll(1, { a: failing({ kind: 'refused' }) })
    const memory = JSON.parse(JSON.stringify(told.view.snapshot('a')))
    const later = told.now() + 30 * 86_400_000
    const again = createNetworkView(
      network(),
      THREE.map((name) => endpoint(name)),
      later,
    )

    again.restore('a', memory, later)
    again.judge(pollResult(endpoint('a'), later, failing({ kind: 'refused' })(0, 0, endpoint('a'))), later)

    expect(stateAt(again.health('a')!, later)).toBe('up')
  })

  test('what a reload has replaced is not kept in memory', async () => {
    setFlagsFromString('--expose-gc')
    const collect: () => void = runInNewContext('gc')
    const endpoints = THREE.map((name) => endpoint(name))
    const replaced: WeakRef<object>[] = []
    let view = createNetworkView(network(), endpoints, START)
    for (let reload = 0; reload < 5; reload++) {
      replaced.push(new WeakRef(view.chains))
      view = createNetworkView(network(), endpoints, START, { chains: view.chains, kept: new Set(THREE) })
    }

    const keptCount = () => {
      collect()
      return replaced.filter((chains) => chains.deref() !== undefined).length
    }

    await expect.poll(keptCount).toBe(0)
    expect(view.chains.at(null)).toBeDefined()
  })

  test('a clock that is set back keeps no head longer than its time', () => {
    const told = story(THREE)
    told.poll(5)
    const stepMs = -3_600_000
    const setTo = told.now() + stepMs
    told.view.shift(stepMs, setTo)
    const fail = (at: number) =>
      told.view.judge(pollResult(endpoint('a'), at, failing({ kind: 'refused' })(0, at, endpoint('a'))), at)
    for (let round = 1; round <= 6; round++) fail(setTo + round * INTERVAL)
    const now = setTo + 6 * INTERVAL

    const { heads } = told.view.health('a')!
    expect(heads.filter((one) => now <= one.readAt + 2 * INTERVAL)).toEqual([])
    expect(heads.filter((one) => one.advancedAt > now)).toEqual([])
  })

  test('an endpoint that is no longer asked for its liveness has none after a restart', () => {
    const told = story(['a', 'b'], {}, { checks: ['liveness', 'head'] })
    const unwell: Answer = (height, at, of) => ({
      ...honest(height, at, of),
      liveness: good(
        liveness(null, {
          healthy: false,
          checks: [nodeCheck('peers', { healthy: false, contiguousFailures: 3, failingSince: at })],
          report: { sync: null, peers: null, client: null, consensus: null },
        }),
      ),
    })
    told.poll(4, { a: unwell })
    const memory = JSON.parse(JSON.stringify(told.view.snapshot('a')))
    expect(memory.failing).not.toEqual([])

    const known = (checks: Endpoint['checks']) => {
      const again = createNetworkView(network(), [endpoint('a', { checks })], told.now())
      again.restore('a', memory, told.now())
      return again.health('a')!.liveness
    }

    expect(known(['liveness', 'head'])?.healthy).toBe(false)
    expect(known(['head'])).toBeNull()
  })

  test('when no endpoint answers any more there is no reference head', () => {
    const told = story(THREE)
    told.poll(5)
    const gone = failing({ kind: 'refused' })

    told.poll(4, { a: gone, b: gone, c: gone })

    expect(told.view.references(told.now())).toEqual([])
  })

  test('after a restart the state is unknown until the next poll, and an outage continues', () => {
    const told = story(THREE)
    told.poll(5)
    told.poll(3, { a: failing({ kind: 'refused' }) })
    const since = told.view.health('a')!.since
    const memory = JSON.parse(JSON.stringify(told.view.snapshot('a')))
    const later = told.now() + 3_600_000
    const again = createNetworkView(
      network(),
      THREE.map((name) => endpoint(name)),
      later,
    )

    again.restore('a', memory, later)
    expect(stateAt(again.health('a')!, later)).toBe('unknown')
    again.judge(pollResult(endpoint('a'), later, failing({ kind: 'refused' })(0, 0, endpoint('a'))), later)

    expect(stateAt(again.health('a')!, later)).toBe('down')
    expect(again.health('a')).toMatchObject({ since, conditions: [{ code: 'unreachable', since }] })
  })

  test("thresholds are the network's own", () => {
    const told = story(THREE, { thresholds: { ...THRESHOLDS, failAfter: 4, lagBlocks: 20, lagRecoverBlocks: 10 } })
    told.poll(5)
    told.poll(3, { a: behind(30), b: behind(15) })
    expect(told.state('a')).toBe('up')

    told.poll(1, { a: behind(30), b: behind(15) })
    expect([told.state('a'), told.state('b')]).toEqual(['degraded', 'up'])
  })
})
