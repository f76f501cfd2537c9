import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ConsensusReport, Liveness, NodeReport } from '../../src/core/poll-result.ts'
import { createStage, type Node, type Stage, type StageNetwork } from '../support/stage.ts'

/** Liveness of nodes that answer questions about themselves: asked every minute, judged with every poll. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const INTERVAL = 10 * SECOND

const key = (name: string) => `ethereum/${name}`
const QUIET: NodeReport = {
  sync: { isSyncing: false, remainingBlocks: null },
  peers: 25,
  client: null,
  consensus: null,
}
const CONSENSUS: ConsensusReport = { state: 'synced', reason: null, remainingSlots: 0, peers: 80 }

const NAMES = ['a', 'b', 'c']

const ETHEREUM: StageNetwork = {
  name: 'ethereum',
  endpoints: NAMES,
  endpoint: { checks: ['liveness', 'head'], intervalMs: INTERVAL, livenessIntervalMs: MINUTE },
}

function stageOf(over: Partial<StageNetwork> = {}): Stage {
  const stage = createStage({ networks: [{ ...ETHEREUM, ...over }] })
  for (const name of NAMES) stage.set(key(name), reporting({}))
  return stage
}

function reporting(report: Partial<NodeReport>, checks: Liveness['checks'] = []): Node {
  return { liveness: () => livenessOf({ ...QUIET, ...report }, checks) }
}

function livenessOf(report: NodeReport, failing: Liveness['checks'] = []): Liveness {
  const isWell = report.sync?.isSyncing !== true && (report.consensus?.state ?? 'synced') === 'synced'
  const checks = [check('eth_syncing', report.sync?.isSyncing !== true), check('net_peerCount', true), ...failing]
  return { healthy: isWell && failing.length === 0, checks, heartbeatAt: null, report }
}

function check(name: string, healthy: boolean, error: string | null = null): Liveness['checks'][number] {
  return { name, healthy, error, contiguousFailures: 0, failingSince: null, checkedAt: null, durationMs: null }
}

const consensus = (over: Partial<ConsensusReport>) => reporting({ consensus: { ...CONSENSUS, ...over } })

describe('an endpoint whose node', () => {
  test.each<[string, Node, string, string[], string]>([
    [
      'is syncing',
      reporting({ sync: { isSyncing: true, remainingBlocks: 12_000 } }),
      'degraded',
      ['syncing'],
      'the node is syncing: 12000 blocks to go',
    ],
    [
      'is syncing, with one block to go',
      reporting({ sync: { isSyncing: true, remainingBlocks: 1 } }),
      'degraded',
      ['syncing'],
      'the node is syncing: 1 block to go',
    ],
    [
      'is syncing and does not say how far',
      reporting({ sync: { isSyncing: true, remainingBlocks: null } }),
      'degraded',
      ['syncing'],
      'the node is syncing',
    ],
    ['has no peers', reporting({ peers: 0 }), 'degraded', ['few-peers'], '0 peers, fewer than 1'],
    [
      'has a consensus node that is syncing',
      consensus({ state: 'syncing', remainingSlots: 320 }),
      'degraded',
      ['consensus-syncing'],
      'the consensus node is syncing: 320 slots to go',
    ],
    [
      'has an optimistic consensus node',
      consensus({ state: 'optimistic' }),
      'degraded',
      ['consensus-syncing'],
      'the consensus node follows the chain without verified blocks (optimistic)',
    ],
    [
      'has a consensus node that does not reach it',
      consensus({ state: 'without-execution' }),
      'degraded',
      ['consensus-syncing'],
      'the consensus node does not reach its execution node',
    ],
    [
      'has a consensus node without peers',
      consensus({ peers: 0 }),
      'degraded',
      ['few-peers'],
      'the consensus node: 0 peers, fewer than 1',
    ],
    [
      'has a consensus node that is down',
      consensus({ state: 'down', reason: 'connection refused' }),
      'down',
      ['consensus-down'],
      'the consensus node does not work: connection refused',
    ],
  ])('%s has exactly this condition, and none after it has recovered', async (_title, node, state, codes, message) => {
    const stage = stageOf()
    await stage.pass(5 * MINUTE)
    stage.set(key('b'), node)
    await stage.pass(2 * MINUTE)

    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual([state, codes])
    expect(stage.message(key('b'), codes[0] ?? '')).toBe(message)
    stage.set(key('b'), reporting({}))
    await stage.pass(2 * MINUTE)

    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
    expect(stage.accused().every((one) => one.key === key('b'))).toBe(true)
    expect(stage.incidents()).toHaveLength(1)
    expect(stage.open()).toEqual([])
  })

  test('tells nothing at all is up', async () => {
    const stage = stageOf()
    stage.set(key('b'), reporting({ sync: null, peers: null }))
    stage.set(key('c'), consensus({ state: null, peers: null, remainingSlots: null }))
    await stage.pass(10 * MINUTE)

    expect(stage.accused()).toEqual([])
  })

  test('offers no question at all is up, and without a head check there is no evidence for it', async () => {
    const refused = (name: string) => ({ ...check(name, true), offered: false as const })
    const offering = { liveness: () => ({ ...livenessOf(QUIET), checks: [refused('eth_syncing'), refused('/x')] }) }
    const stage = stageOf()
    const bare = stageOf({ endpoint: { ...ETHEREUM.endpoint, checks: ['liveness'] } })
    for (const one of [stage, bare]) {
      one.set(key('b'), offering)
      await one.pass(3 * MINUTE)
    }

    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
    expect([bare.state(key('b')), bare.codes(key('b'))]).toEqual(['up', ['no-evidence']])
    expect(bare.codes(key('a'))).toEqual([])
  })

  test('answers one question with failures is degraded after three failures in a row, with the reason', async () => {
    const stage = stageOf()
    await stage.pass(MINUTE)
    stage.set(key('b'), reporting({ peers: null }, [check('net_version', false, 'answered HTTP 500')]))
    await stage.pass(2 * MINUTE)

    expect(stage.codes(key('b'))).toEqual([])
    await stage.pass(3 * MINUTE)
    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['degraded', ['check-failing']])
    expect(stage.message(key('b'), 'check-failing')).toMatch(
      /^net_version failed \d times in a row: answered HTTP 500$/,
    )
  })
})

test.each([
  { state: 'down' as const, reason: 'answered HTTP 500' },
  { state: 'unreached' as const, reason: 'no route to the host (ENETUNREACH)' },
])(
  'a question that the execution node does not answer keeps its condition while the consensus node is $state',
  async (over) => {
    const failing = check('net_version', false, 'the answer is not JSON')
    const stage = stageOf()
    stage.set(key('b'), reporting({}, [failing]))
    await stage.pass(5 * MINUTE)
    expect(stage.codes(key('b'))).toEqual(['check-failing'])

    const report = { ...QUIET, consensus: { ...CONSENSUS, ...over } }
    const health = check('/eth/v1/node/health', false, over.reason)
    stage.set(key('b'), { liveness: () => livenessOf(report, [failing, health]) })
    await stage.pass(5 * MINUTE)

    expect(stage.codes(key('b'))).toEqual(['consensus-down', 'check-failing'])
    expect(stage.message(key('b'), 'check-failing')).toMatch(
      /^net_version failed \d+ times in a row: the answer is not JSON$/,
    )
    const [incident] = stage.incidents()
    expect(incident?.conditions.map(({ code, until }) => [code, until])).toEqual([
      ['check-failing', null],
      ['consensus-down', null],
    ])
  },
)

test('a node whose consensus node cannot be reached from here is down after three failures in a row, not before', async () => {
  const stage = stageOf()
  await stage.pass(5 * MINUTE)
  let asked = 0
  const reason = 'no route to the host (ENETUNREACH)'
  const unreached = { state: 'unreached' as const, reason, remainingSlots: null, peers: null }
  stage.set(key('b'), {
    liveness: () => {
      asked++
      return livenessOf({ ...QUIET, consensus: unreached }, [check('/eth/v1/node/health', false, reason)])
    },
  })
  await stage.until(() => asked === 2, 3 * MINUTE)
  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])

  await stage.pass(3 * MINUTE)

  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['down', ['consensus-down']])
  expect(stage.message(key('b'), 'consensus-down')).toBe(`the consensus node does not work: ${reason}`)
  stage.set(key('b'), consensus({}))
  await stage.pass(2 * MINUTE)
  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
})

test.each<[string, string, Node]>([
  ['degraded', 'check-failing', reporting({ peers: null }, [check('net_version', false, 'answered HTTP 500')])],
  [
    'down',
    'consensus-down',
    reporting(
      { consensus: { state: 'unreached', reason: 'no route to the host', remainingSlots: null, peers: null } },
      [check('/eth/v1/node/health', false, 'no route to the host')],
    ),
  ],
])('a node that is %s after failures in a row, %s, remains so over a restart', async (state, code, node) => {
  const first = stageOf()
  first.set(key('b'), node)
  await first.pass(10 * MINUTE)
  const saved = first.saved()
  await first.stop()

  const second = createStage({ networks: [ETHEREUM], world: first.world, saved })
  await second.pass(5 * MINUTE)

  expect([second.state(key('b')), second.codes(key('b')), second.told(key('b'))]).toEqual([state, [code], []])
  expect(second.incidents()).toMatchObject([{ endpoint: 'b', closedAt: null }])
  second.set(key('b'), reporting({}))
  await second.pass(2 * MINUTE)
  expect([second.state(key('b')), second.open()]).toEqual(['up', []])
})

test('a node that needs fewer peers is judged by its own threshold', async () => {
  const stage = stageOf({ thresholds: { minPeers: 0 } })
  stage.set(key('b'), reporting({ peers: 0 }))
  await stage.pass(10 * MINUTE)
  expect(stage.accused()).toEqual([])

  const strict = stageOf({ thresholds: { minPeers: 30 } })
  await strict.pass(10 * MINUTE)
  expect(strict.codes(key('b'))).toEqual(['few-peers'])
})

test('liveness is polled once a minute while nothing changes, and with every poll until a change is settled', async () => {
  const stage = stageOf()
  let asked = 0
  const counting = (report: Partial<NodeReport>): Node => ({
    liveness: () => {
      asked++
      return livenessOf({ ...QUIET, ...report })
    },
  })
  stage.set(key('b'), counting({}))
  await stage.pass(30 * MINUTE)
  expect(asked).toBeGreaterThanOrEqual(29)
  expect(asked).toBeLessThanOrEqual(31)
  expect(stage.pollsOf(key('b')).length).toBeGreaterThanOrEqual(179)

  asked = 0
  stage.set(key('b'), counting({ sync: { isSyncing: true, remainingBlocks: 9 } }))
  await stage.until(() => stage.state(key('b')) === 'degraded', MINUTE + 2 * INTERVAL)
  expect(asked).toBe(2)
  await stage.pass(10 * MINUTE)
  expect(asked).toBeLessThanOrEqual(13)

  asked = 0
  stage.set(key('b'), counting({}))
  await stage.until(() => stage.state(key('b')) === 'up', MINUTE + 3 * INTERVAL)
  expect(asked).toBe(2)
})

test('one bad answer between good ones changes nothing', async () => {
  const stage = stageOf()
  let answers = 0
  stage.set(key('b'), {
    liveness: () => livenessOf({ ...QUIET, sync: { isSyncing: answers++ % 5 === 0, remainingBlocks: 2 } }),
  })
  await stage.pass(60 * MINUTE)

  expect(stage.accused()).toEqual([])
})

test('a liveness check that fails is repeated with every poll, and does not outlast its recovery', async () => {
  const stage = stageOf()
  await stage.pass(5 * MINUTE)
  stage.set(key('b'), { ...reporting({}), failure: { kind: 'timeout', afterMs: 5000 } })
  await stage.until(() => stage.state(key('b')) === 'down', MINUTE)
  stage.set(key('b'), reporting({}))
  const took = await stage.until(() => stage.state(key('b')) === 'up', MINUTE)

  expect(took).toBeLessThanOrEqual(3 * INTERVAL)
})

test.each<[string, () => Liveness, state: string, code: string]>([
  [
    'syncing',
    () => livenessOf({ ...QUIET, sync: { isSyncing: true, remainingBlocks: 12_000 } }),
    'degraded',
    'syncing',
  ],
  ['unhealthy', () => ({ healthy: false, checks: [check('P', false)], heartbeatAt: null }), 'down', 'unhealthy'],
])('a node that is %s stays so while it limits the rate of liveness checks', async (_, liveness, state, code) => {
  const stage = stageOf()
  stage.set(key('b'), { liveness })
  await stage.pass(5 * MINUTE)
  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual([state, [code]])

  stage.set(key('b'), { livenessFailure: { kind: 'rate-limited', retryAfterMs: null } })
  const states = new Set<string>()
  for (let seconds = 0; seconds < 10 * 60; seconds++) {
    await stage.pass(SECOND)
    states.add(stage.state(key('b')))
    expect(stage.codes(key('b'))).toContain(code)
  }
  expect([...states]).toEqual([state])

  stage.set(key('b'), reporting({}))
  await stage.until(() => stage.state(key('b')) === 'up', MINUTE + 3 * INTERVAL)
  expect(stage.incidents()).toHaveLength(1)
})

test.each<[string, Partial<ConsensusReport>, state: string, code: string]>([
  ['down', { state: 'down', reason: 'connection refused' }, 'down', 'consensus-down'],
  ['syncing', { state: 'syncing', remainingSlots: 320 }, 'degraded', 'consensus-syncing'],
])('a consensus node that is %s has not recovered because it limits the rate', async (_, report, state, code) => {
  const stage = stageOf()
  stage.set(key('b'), consensus(report))
  await stage.pass(5 * MINUTE)

  stage.set(key('b'), consensus({ state: null, reason: null, remainingSlots: null, peers: null, isLimited: true }))
  await stage.pass(10 * MINUTE)
  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual([state, [code]])

  stage.set(key('b'), consensus({}))
  await stage.until(() => stage.state(key('b')) === 'up', MINUTE + 3 * INTERVAL)
  expect(stage.incidents()).toHaveLength(1)
})

test.each<[Partial<ConsensusReport>, string]>([
  [{ state: 'down', reason: 'connection refused' }, 'consensus-down'],
  [{ state: 'optimistic' }, 'consensus-syncing'],
])('a consensus node that is %j stays so while its execution node fails too, and no longer', async (report, code) => {
  const stage = stageOf()
  await stage.pass(5 * MINUTE)
  stage.set(key('b'), consensus(report))
  await stage.pass(2 * MINUTE)
  stage.set(key('b'), { ...consensus(report), failure: { kind: 'refused' } })
  await stage.pass(2 * MINUTE)
  expect(stage.codes(key('b')).toSorted()).toEqual([code, 'unreachable'])
  stage.set(key('b'), consensus(report))
  await stage.pass(2 * MINUTE)

  expect(stage.codes(key('b'))).toEqual([code])
  expect(stage.incidents()).toHaveLength(1)
  expect(stage.incidents()[0]?.conditions.map((one) => one.code)).toEqual([code, 'unreachable'])

  stage.set(key('b'), { ...consensus({}), failure: { kind: 'refused' } })
  await stage.pass(2 * MINUTE)
  expect(stage.codes(key('b'))).toEqual(['unreachable'])
})

const UNREACHED = { state: 'unreached', reason: 'no route to the host', remainingSlots: null, peers: null } as const

test.each<Partial<ConsensusReport>>([UNREACHED, { state: null, peers: null, isLimited: true }])(
  'a consensus node that was down and is %j has not recovered because its execution node fails too',
  async (report) => {
    const stage = stageOf()
    stage.set(key('b'), consensus({ state: 'down', reason: 'connection refused' }))
    await stage.pass(5 * MINUTE)

    stage.set(key('b'), { ...consensus(report), failure: { kind: 'refused' } })
    await stage.pass(3 * MINUTE)
    expect(stage.codes(key('b')).toSorted()).toEqual(['consensus-down', 'unreachable'])

    stage.set(key('b'), consensus({}))
    await stage.pass(2 * MINUTE)
    expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['up', []])
  },
)

test.each<[Partial<ConsensusReport>, string]>([
  [{ state: 'down', reason: 'connection refused' }, 'consensus-down'],
  [{ state: 'optimistic' }, 'consensus-syncing'],
])('a consensus node that is %j recovers also while its execution node limits the rate', async (report, code) => {
  const limited = { livenessFailure: { kind: 'rate-limited', retryAfterMs: null } } as const
  const stage = stageOf()
  stage.set(key('b'), consensus(report))
  await stage.pass(5 * MINUTE)

  stage.set(key('b'), { ...consensus({ state: null, peers: null, isLimited: true }), ...limited })
  await stage.pass(5 * MINUTE)
  expect(stage.codes(key('b'))).toContain(code)

  stage.set(key('b'), { ...consensus({}), ...limited })
  await stage.pass(3 * MINUTE)
  expect(stage.codes(key('b'))).not.toContain(code)
})

test.each<[string, Node, Partial<NodeReport>, check: string, state: string, code: string]>([
  [
    'is syncing',
    reporting({ sync: { isSyncing: true, remainingBlocks: 9 } }),
    { sync: null, syncFailed: true },
    'eth_syncing',
    'degraded',
    'syncing',
  ],
  [
    'has few peers',
    reporting({ peers: 0 }),
    { peers: null, peersFailed: true },
    'net_peerCount',
    'degraded',
    'few-peers',
  ],
  [
    'has a consensus node that is syncing',
    consensus({ state: 'syncing' }),
    { consensus: UNREACHED },
    '/eth/v1/node/health',
    'degraded',
    'consensus-syncing',
  ],
  [
    'has a consensus node that does not reach it',
    consensus({ state: 'without-execution' }),
    { consensus: { ...CONSENSUS, remainingSlots: null, syncFailed: true } },
    '/eth/v1/node/syncing',
    'degraded',
    'consensus-syncing',
  ],
  [
    'has a consensus node with few peers',
    consensus({ peers: 0 }),
    { consensus: { ...CONSENSUS, peers: null, peersFailed: true } },
    '/eth/v1/node/peer_count',
    'degraded',
    'few-peers',
  ],
])('a node that %s has not recovered because it fails to tell', async (_, node, report, name, state, code) => {
  const stage = stageOf({ thresholds: { contiguousFailures: 5 } })
  stage.set(key('b'), node)
  await stage.pass(5 * MINUTE)

  stage.set(key('b'), reporting(report, [check(name, false, 'answered HTTP 500')]))
  const states = new Set<string>()
  for (let polls = 0; polls < 18; polls++) {
    await stage.pass(INTERVAL)
    states.add(stage.state(key('b')))
    expect(stage.codes(key('b'))).toContain(code)
  }
  expect([...states]).toEqual([state])

  stage.set(key('b'), reporting({}))
  await stage.until(() => stage.state(key('b')) === 'up', MINUTE + 3 * INTERVAL)
  expect(stage.incidents()).toHaveLength(1)
})

test('a node that was healthy is not called worse for one limited liveness check', async () => {
  const stage = stageOf()
  await stage.pass(5 * MINUTE)
  stage.set(key('b'), { livenessFailure: { kind: 'rate-limited', retryAfterMs: null } })
  await stage.pass(MINUTE)
  stage.set(key('b'), consensus({ state: null, peers: null, isLimited: true }))
  await stage.pass(5 * MINUTE)

  expect(stage.accused()).toEqual([])
})

test('after a restart, a syncing node stays degraded without a second incident', async () => {
  const before = stageOf()
  before.set(key('b'), reporting({ sync: { isSyncing: true, remainingBlocks: 50_000 } }))
  await before.pass(5 * MINUTE)
  const stage = createStage({ networks: [ETHEREUM], saved: before.killed(), world: before.world })
  await stage.pass(5 * MINUTE)

  expect([stage.state(key('b')), stage.codes(key('b'))]).toEqual(['degraded', ['syncing']])
  expect(stage.incidents()).toHaveLength(1)
})

test('whatever nodes tell, a state has its reasons, and only what lasted for two answers in a row is one', async () => {
  const reports = fc.record<NodeReport>({
    sync: fc.option(fc.record({ isSyncing: fc.boolean(), remainingBlocks: fc.option(fc.nat()) })),
    peers: fc.option(fc.nat({ max: 3 })),
    client: fc.constant(null),
    consensus: fc.option(
      fc.record({
        state: fc.constantFrom('synced', 'syncing', 'optimistic', 'without-execution', 'down', null),
        reason: fc.constant('connection refused'),
        remainingSlots: fc.option(fc.nat()),
        peers: fc.option(fc.nat({ max: 3 })),
      }),
    ),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(reports, { minLength: 1, maxLength: 12 }), async (told) => {
      const stage = stageOf()
      const answered: NodeReport[] = []
      stage.set(key('b'), {
        liveness() {
          const report = told[Math.min(answered.length, told.length - 1)] ?? QUIET
          answered.push(report)
          return livenessOf(report)
        },
      })
      await stage.pass(14 * MINUTE)
      const last = answered.at(-1) ?? QUIET
      const isDown = last.consensus?.state === 'down'
      const expected = [
        ...(last.sync?.isSyncing === true ? ['syncing'] : []),
        ...(isDown ? ['consensus-down'] : []),
        ...(['syncing', 'optimistic', 'without-execution'].includes(String(last.consensus?.state))
          ? ['consensus-syncing']
          : []),
        ...(last.peers === 0 || last.consensus?.peers === 0 ? ['few-peers'] : []),
      ]

      // Its last answer was repeated for longer than any confirmation takes.
      expect([...stage.codes(key('b'))].sort()).toEqual(expected.sort())
      expect(stage.state(key('b'))).toBe(isDown ? 'down' : expected.length > 0 ? 'degraded' : 'up')
      expect(stage.accused().every((one) => one.key === key('b') && one.codes.length > 0)).toBe(true)
      await stage.stop()
    }),
    { numRuns: 12 },
  )
})
