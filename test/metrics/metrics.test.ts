import { execFileSync, spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { metricsReference } from '../../scripts/reference.ts'
import type { NodeReport } from '../../src/core/poll-result.ts'
import { SKIP_REASONS } from '../../src/core/poll-result.ts'
import { REJECTION_REASONS, RETRY_REASONS } from '../../src/core/routing/request-outcome.ts'
import { CONDITION_CODES } from '../../src/core/verdict/condition.ts'
import { createMetrics, type Metrics, type MetricsDeps } from '../../src/metrics/metrics.ts'
import { METRIC_NAMES, METRICS, PREFIX } from '../../src/metrics/registry.ts'
import type { Notification } from '../../src/notify/notification.ts'
import type { ChannelStatus } from '../../src/notify/notifier.ts'
import { forgetLatest } from '../../src/poll/poll-counts.ts'
import type { ReferenceHead } from '../../src/state/board.ts'
import { createIncidentLog, type WritableIncidentLog } from '../../src/state/incident-log.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { incident, START } from '../support/incident.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck } from '../support/network.ts'
import { aClusterReport, DISAGREEING, putPlaces, REMOTE } from '../support/places.ts'
import { requirePackage } from '../support/system-package.ts'
import { createWorld, QUIET_STORE, type World, type WorldNetwork } from '../support/world.ts'

const AVALANCHE = network({ name: 'avalanche', family: 'avalanche' })
const own = endpoint('own-1', { network: 'avalanche', family: 'avalanche', checks: ['liveness', 'head'] })
const other = endpoint('own-2', { network: 'avalanche', family: 'avalanche', checks: ['liveness', 'head'] })
const OWN = 'network="avalanche",endpoint="own-1"'
const hasPromtool = requirePackage('promtool', 'prometheus')

describe('an endpoint that was not polled yet', () => {
  test('has no up, no height and no lag, and is in the state unknown with every condition at 0', async () => {
    const { metrics } = setUp()

    const text = await metrics.render()

    expect(series(text, 'endpoint_up')).toEqual([])
    expect(series(text, 'endpoint_block_height')).toEqual([])
    expect(text).toContain(`heartline_endpoint_state{${OWN},state="unknown"} 1\n`)
    expect(text).toContain(`heartline_endpoint_state{${OWN},state="up"} 0\n`)
    expect(series(text, 'endpoint_condition').filter((line) => line.includes('own-1'))).toHaveLength(
      CONDITION_CODES.length,
    )
    expect(text).toContain(`heartline_checks_total{${OWN},check="head"} 0\n`)
    expect(text).not.toContain('heartline_check_success{')
  })
})

describe('with `metrics.sparse`', () => {
  test('an endpoint has its state and its confirmed conditions alone, and all other series as before', async () => {
    const [full, sparse] = await Promise.all(
      [false, true].map(async (isSparse) => {
        const { metrics, world } = setUp(undefined, { sparse: isSparse })
        await world.pollAll()
        const outcome = bad({ kind: 'refused' })
        for (let polls = 0; polls < 2; polls++) {
          await world.poll(own, { liveness: outcome, heads: [{ shard: null, outcome }] })
        }
        return metrics.render()
      }),
    )

    expect(series(sparse ?? '', 'endpoint_state')).toEqual([
      `heartline_endpoint_state{${OWN},state="down"} 1`,
      'heartline_endpoint_state{network="avalanche",endpoint="own-2",state="up"} 1',
    ])
    expect(series(sparse ?? '', 'endpoint_condition')).toEqual([
      `heartline_endpoint_condition{${OWN},condition="unreachable"} 1`,
    ])
    const zeros = /^heartline_endpoint_(state|condition)\{.* 0$/
    const ofEndpoints = (text = '') => text.split('\n').filter((line) => line.includes('endpoint='))
    expect(ofEndpoints(sparse)).toEqual(ofEndpoints(full).filter((line) => !zeros.test(line)))
  })

  test('the conditions have help and type even if no endpoint has one', async () => {
    const { metrics, world } = setUp(undefined, { sparse: true })
    await world.pollAll()

    const text = await metrics.render()

    expect(series(text, 'endpoint_condition')).toEqual([])
    expect(text).toContain('# TYPE heartline_endpoint_condition gauge\n')
  })
})

describe('a healthy endpoint', () => {
  test('is up, with its height, the time of its block and no lag', async () => {
    const { metrics, world, clock } = setUp()

    await world.pollAll()
    const text = await metrics.render()

    expect(text).toContain(`heartline_endpoint_up{${OWN}} 1\n`)
    expect(text).toContain(`heartline_endpoint_block_height{${OWN},shard=""} 1000\n`)
    expect(text).toContain(`heartline_endpoint_block_lag{${OWN},shard=""} 0\n`)
    expect(text).toContain(
      `heartline_endpoint_block_timestamp_seconds{${OWN},shard=""} ${(clock.now() - 3000) / 1000}\n`,
    )
    expect(text).toContain(`heartline_node_healthy{${OWN}} 1\n`)
    expect(text).toContain('heartline_network_block_height{network="avalanche",shard=""} 1000\n')
    expect(text).toContain('heartline_network_endpoints{network="avalanche",state="up"} 2\n')
  })

  test('has as many series as docs/metrics.md says, also of those that metrics.sparse leaves out', async () => {
    const names = ['P', 'X', 'C', 'bootstrapped', 'network', 'router']
    const { metrics, world, clock } = setUp()
    const report = liveness(clock.now(), { checks: names.map((name) => nodeCheck(name)) })
    await world.pollAll({ clockSkewMs: 120, liveness: good(report) })

    const ofOwn = (await metrics.render()).split('\n').filter((line) => line.includes(OWN))
    const ofStates = ofOwn.filter((line) => /^heartline_endpoint_(state|condition)\{/.test(line))
    const page = metricsReference()

    expect(page).toContain(
      `with six checks of its own has ${ofOwn.length} series. ${ofStates.length} of them are the states`,
    )
    expect(page).toContain(`more series for an endpoint that has ${ofOwn.length})`)
  })

  test('that another daemon polls keeps what it reports about itself, and has no results of our checks', async () => {
    const { metrics, world } = setUp()
    await world.poll(own, { liveness: good(liveness(0)) })

    forgetLatest(world.board.entry('avalanche', 'own-1')?.tally ?? expect.fail('it is configured'))
    const text = await metrics.render()

    expect(text).toContain(`heartline_node_healthy{${OWN}} 1\n`)
    expect(text).toContain(`heartline_checks_total{${OWN},check="liveness"} 1\n`)
    const ofLatest = ['check_success', 'check_last_run_timestamp_seconds', 'check_consecutive_failures'] as const
    for (const name of ofLatest)
      expect(
        series(text, name).filter((line) => line.includes('own-1')),
        name,
      ).toEqual([])
  })

  test('loses its height and its up once its latest result is older than two intervals, and keeps its counters', async () => {
    const { metrics, world, clock } = setUp()
    await world.pollAll()

    await clock.advance(2 * own.intervalMs + 1)
    const text = await metrics.render()

    for (const name of ['endpoint_up', 'endpoint_block_height', 'check_success', 'node_healthy'] as const) {
      expect(series(text, name), name).toEqual([])
    }
    expect(text).toContain(`heartline_checks_total{${OWN},check="head"} 1\n`)
    expect(text).toContain(`heartline_check_last_run_timestamp_seconds{${OWN},check="head"}`)
  })
})

describe('an endpoint that fails', () => {
  test('tells nothing about itself: no `node_healthy` until it answers again', async () => {
    const { metrics, world } = setUp()
    const report: NodeReport = { sync: null, peers: 8, client: null, consensus: null }
    const told = good({ ...liveness(0), report })
    await world.poll(own, { liveness: told })
    expect(await metrics.render()).toContain(`heartline_node_healthy{${OWN}} 1\n`)

    await world.poll(own, { liveness: bad({ kind: 'refused' }) })
    expect(series(await metrics.render(), 'node_healthy')).toEqual([])
    await world.poll(own, { liveness: good({ ...liveness(0), healthy: false, report }) })
    expect(await metrics.render()).toContain(`heartline_node_healthy{${OWN}} 0\n`)
    const checks = [{ ...nodeCheck('eth_syncing'), offered: false as const }]
    await world.poll(own, { liveness: good({ ...liveness(0), report, checks }) })
    expect(series(await metrics.render(), 'node_healthy')).toEqual([])
  })

  test('is down, with the reason counted, and its height is gone when it has not been read for two intervals', async () => {
    const { metrics, world, clock } = setUp()
    await world.pollAll()

    for (let poll = 0; poll < 3; poll++) {
      await clock.advance(own.intervalMs)
      const refused = bad({ kind: 'refused' })
      await world.poll(own, { liveness: refused, heads: [{ shard: null, outcome: refused }] })
      await world.poll(other, { heads: [{ shard: null, outcome: good(head(1001 + poll, clock.now())) }] })
    }
    const text = await metrics.render()

    expect(text).toContain(`heartline_endpoint_up{${OWN}} 0\n`)
    expect(text).toContain(`heartline_endpoint_condition{${OWN},condition="unreachable"} 1\n`)
    expect(text).toContain(`heartline_check_failures_total{${OWN},check="head",reason="refused"} 3\n`)
    expect(text).toContain(`heartline_check_consecutive_failures{${OWN},check="head"} 3\n`)
    expect(text).not.toContain(`heartline_endpoint_block_height{${OWN}`)
    expect(text).toContain('heartline_endpoint_block_height{network="avalanche",endpoint="own-2",shard=""} 1003\n')
  })
})

describe('an endpoint in maintenance', () => {
  test('is in that state, and keeps the metrics of its polls', async () => {
    const { metrics, world, clock } = setUp()
    await world.pollAll()
    for (let poll = 0; poll < 3; poll++) {
      await clock.advance(own.intervalMs)
      await world.poll(other)
      const refused = bad({ kind: 'refused' })
      await world.poll(own, { liveness: refused, heads: [{ shard: null, outcome: refused }] })
    }
    const from = clock.now()

    world.board.putMaintenance([
      { name: 'upgrade', network: 'avalanche', endpoints: ['own-1'], from, until: from + 1000 },
    ])
    const during = await metrics.render()
    world.board.putMaintenance([
      { name: 'upgrade', network: 'avalanche', endpoints: null, from: from + 1, until: from + 2 },
    ])
    const before = await metrics.render()

    expect(during).toContain(`heartline_endpoint_state{${OWN},state="maintenance"} 1\n`)
    expect(during).toContain(`heartline_endpoint_state{${OWN},state="down"} 0\n`)
    expect(during).toContain(`heartline_endpoint_up{${OWN}} 0\n`)
    expect(during).toContain(`heartline_endpoint_condition{${OWN},condition="unreachable"} 1\n`)
    expect(during).toContain('heartline_endpoint_state{network="avalanche",endpoint="own-2",state="up"} 1\n')
    expect(during).toContain('heartline_network_endpoints{network="avalanche",state="maintenance"} 1\n')
    expect(during).toContain('heartline_network_endpoints{network="avalanche",state="down"} 0\n')
    expect(before).toContain(`heartline_endpoint_state{${OWN},state="down"} 1\n`)
    expect(before).toContain('heartline_network_endpoints{network="avalanche",state="maintenance"} 0\n')
  })

  test('without polls has no up', async () => {
    const { metrics, world, clock } = setUp()
    const now = clock.now()

    world.board.putMaintenance([{ name: 'move', network: 'avalanche', endpoints: null, from: now, until: now + 1 }])
    const text = await metrics.render()

    expect(text).toContain(`heartline_endpoint_state{${OWN},state="maintenance"} 1\n`)
    expect(series(text, 'endpoint_up')).toEqual([])
  })
})

describe('incidents', () => {
  test('are counted per network while they are open; those that are part of another one are not counted again', async () => {
    const { metrics, incidents } = setUp([
      { network: AVALANCHE, endpoints: [own, other] },
      { network: network(), endpoints: [endpoint('node')] },
    ])
    incidents.put(incident({ id: 'halt', endpoint: null, cause: 'halted' }))
    incidents.put(incident({ id: 'a', endpoint: 'own-1', absorbedBy: 'halt' }))
    incidents.put(incident({ id: 'b', endpoint: 'own-2' }))
    incidents.put(incident({ id: 'c', endpoint: 'own-2', closedAt: START + 1 }))
    incidents.put(incident({ id: 'd', network: 'removed', endpoint: 'x' }))

    const lines = series(await metrics.render(), 'incidents_open')

    expect(lines).toEqual([
      'heartline_incidents_open{network="avalanche"} 2',
      'heartline_incidents_open{network="ethereum"} 0',
    ])
  })

  test('of a flapping endpoint are reported until they are closed', async () => {
    const { metrics, incidents } = setUp()
    const flapping = () =>
      metrics.render().then((text) => series(text, 'endpoint_flapping').map((line) => line.slice(-1)))

    incidents.put(incident({ endpoint: 'own-1' }))
    const ill = await flapping()
    incidents.put(incident({ endpoint: 'own-1', flapping: true }))
    const often = await flapping()
    incidents.put(incident({ endpoint: 'own-1', flapping: true, closedAt: START + 1 }))
    const closed = await flapping()

    expect([ill, often, closed]).toEqual([
      ['0', '0'],
      ['1', '0'],
      ['0', '0'],
    ])
  })
})

describe('the chain of a network', () => {
  test('has one branch if its endpoints agree, and no block time before that was measured', async () => {
    const { metrics, world } = setUp()
    await world.pollAll()

    const text = await metrics.render()

    expect(text).toContain('heartline_network_branches{network="avalanche",shard=""} 1\n')
    expect(series(text, 'network_block_time_seconds')).toEqual([])
  })

  test('has its branches, its block time in seconds, and is forked or halted', async () => {
    const { metrics, world } = setUp()
    await world.pollAll()
    measureBlocks(world, { branches: 2, blockTimeMs: 2125 })
    for (const { standing } of world.board.networks()) {
      world.board.putStanding({ ...standing, forked: true, haltedShards: [null] }, true)
    }

    const text = await metrics.render()

    expect(text).toContain('heartline_network_branches{network="avalanche",shard=""} 2\n')
    expect(text).toContain('heartline_network_block_time_seconds{network="avalanche",shard=""} 2.125\n')
    expect(text).toContain('heartline_network_forked{network="avalanche"} 1\n')
    expect(text).toContain('heartline_network_halted{network="avalanche"} 1\n')
  })
})

describe('what is unknown of a network', () => {
  const NAMES = ['block_height', 'block_timestamp_seconds', 'branches', 'halted', 'forked'] as const
  const shown = (text: string) => NAMES.filter((name) => series(text, `network_${name}`).length > 0)

  test('is absent before the first head, and after the last one has expired', async () => {
    const { clock, metrics, world } = setUp()
    expect(shown(await metrics.render())).toEqual([])
    await world.pollAll()
    expect(shown(await metrics.render())).toEqual(NAMES)

    await clock.advance(2 * own.intervalMs + 1)

    expect(shown(await metrics.render())).toEqual([])
  })

  test('is absent at once where the polls of all its endpoints failed through our own fault', async () => {
    const { clock, metrics, world } = setUp()
    await world.pollAll()
    for (const { standing } of world.board.networks())
      world.board.putStanding({ ...standing, forked: true, haltedShards: [null] }, true)
    const outcome = bad({ kind: 'local-resources', code: 'EMFILE' })

    await world.poll(own, { liveness: outcome, heads: [{ shard: null, outcome }] })
    await clock.advance(1)
    expect(shown(await metrics.render())).toEqual(NAMES)
    await world.poll(other, { liveness: outcome, heads: [{ shard: null, outcome }] })
    await clock.advance(1)

    expect(shown(await metrics.render())).toEqual([])
  })
})

describe('the checks of a node on itself', () => {
  test('cannot break a line or repeat a series', async () => {
    const { metrics, world } = setUp()
    const names = [
      'a"} 1\nheartline_endpoint_up{x="',
      '\\',
      '<script>',
      `${'x'.repeat(300)}1`,
      `${'x'.repeat(300)}2`,
      '\ud800',
    ]

    await world.poll(own, { liveness: good(liveness(null, { checks: names.map((name) => nodeCheck(name)) })) })
    const text = await metrics.render()

    const lines = series(text, 'node_check_contiguous_failures')
    expect(lines).toHaveLength(names.length - 1)
    expect(new Set(lines).size).toBe(lines.length)
    expect(lines[0]).toBe(
      `heartline_node_check_contiguous_failures{${OWN},node_check="a\\"} 1�heartline_endpoint_up{x=\\""} 0`,
    )
    expect(lines[1]).toContain('node_check="\\\\"')
  })

  test('have at most 32 series, failing checks first', async () => {
    const { metrics, world, clock } = setUp()
    const checks = Array.from({ length: 10_000 }, (_, at) => nodeCheck(`check-${String(at).padStart(5, '0')}`))
    checks[9999] = nodeCheck('zz-broken', { healthy: false, contiguousFailures: 7, failingSince: clock.now() })

    await world.poll(own, { liveness: good(liveness(null, { checks })) })
    const text = await metrics.render()

    const lines = series(text, 'node_check_contiguous_failures')
    expect(lines).toHaveLength(32)
    expect(lines[0]).toContain('node_check="zz-broken"} 7')
    expect(lines[1]).toContain('node_check="check-00000"} 0')
    expect(series(text, 'node_check_first_failure_timestamp_seconds')).toHaveLength(1)
  })
})

test('a sharded endpoint has one series per shard, an unsharded one an empty shard', async () => {
  const sharded = endpoint('proxy', { network: 'multiversx', family: 'multiversx', shards: [0, 4_294_967_295] })
  const { metrics, world } = setUp([
    { network: network({ name: 'multiversx', family: 'multiversx' }), endpoints: [sharded] },
    { network: network(), endpoints: [endpoint('node')] },
  ])

  await world.pollAll()
  const lines = series(await metrics.render(), 'endpoint_block_height')

  expect(lines).toEqual([
    'heartline_endpoint_block_height{network="multiversx",endpoint="proxy",shard="0"} 1000',
    'heartline_endpoint_block_height{network="multiversx",endpoint="proxy",shard="4294967295"} 1000',
    'heartline_endpoint_block_height{network="ethereum",endpoint="node",shard=""} 1000',
  ])
})

test('a removed endpoint or network has no series at the next scrape', async () => {
  const { metrics, world, clock } = setUp()
  metrics.checkFinished('avalanche', 'head', 3)
  await world.pollAll()
  expect(await metrics.render()).toContain('network="avalanche"')

  world.configure([{ network: network(), endpoints: [endpoint('node')] }])
  await clock.advance(1000)
  const text = await metrics.render()

  expect(text).not.toContain('network="avalanche"')
  expect(text).toContain('heartline_config_endpoints 1\n')
})

test('counters of the daemon start at 0 for every value of their labels', async () => {
  const text = await setUp().metrics.render()

  expect(series(text, 'scheduler_skips_total')).toHaveLength(4)
  expect(series(text, 'clock_jumps_total')).toHaveLength(2)
  expect(series(text, 'store_write_failures_total')).toHaveLength(7)
  expect(text).toContain('heartline_store_rows_dropped_total 0\n')
})

test('every counter of the registry exists from 0 on, except those with too many combinations of labels', async () => {
  const { metrics } = setUp(undefined, {
    storeStatus: () => ({ ...QUIET_STORE, remote: REMOTE }),
    gateway: () => ({
      callers: [{ name: 'wallet' }],
      networks: [{ name: 'avalanche', endpoints: [{ endpoint: 'own-1', excluded: null }] }],
    }),
    notifier: () => ({
      channels: [{ ...CHANNEL, results: { sent: 0, retried: 0, rejected: 0, expired: 0 } }],
      waiting: [],
    }),
  })

  const text = await metrics.render()

  const counters = METRIC_NAMES.filter((name) => METRICS[name].type === 'counter')
  // An endpoint would have 21 reasons for each check, a caller 340 pairs of operation and outcome, a route every status.
  expect(counters.filter((name) => series(text, name).length === 0)).toEqual([
    'check_failures_total',
    'gateway_requests_total',
    'gateway_attempts_total',
    'http_requests_total',
  ])
  for (const name of counters) for (const line of series(text, name)) expect(line).toMatch(/ 0$/)
  expect(series(text, 'gateway_rejections_total')).toHaveLength(2 * REJECTION_REASONS.length)
  expect(series(text, 'gateway_retries_total')).toHaveLength(RETRY_REASONS.length)
})

test('durations are counted in their bucket', async () => {
  const { metrics } = setUp()
  for (const ms of [5, 5.1, 20_000]) metrics.checkFinished('avalanche', 'head', ms)

  const text = await metrics.render()

  const bucket = (le: string) => `heartline_check_duration_seconds_bucket{network="avalanche",check="head",le="${le}"}`
  expect(text).toContain(`${bucket('0.005')} 1\n${bucket('0.01')} 2\n`)
  expect(text).toContain(`${bucket('10.0')} 2\n${bucket('+Inf')} 3\n`)
  expect(text).toContain('heartline_check_duration_seconds_sum{network="avalanche",check="head"} 20.0101\n')
})

test('a rejected configuration is reported, and the time of the last good one stays', async () => {
  const { metrics } = setUp()
  metrics.configReloaded(true, 5000)
  metrics.configReloaded(false, 9000)

  const text = await metrics.render()

  expect(text).toContain('heartline_config_last_reload_successful 0\n')
  expect(text).toContain('heartline_config_last_reload_success_timestamp_seconds 5\n')
})

test('a database that is away is no store in trouble: rows wait for it', async () => {
  const remote = { ...REMOTE, reachable: false, spoolRows: 7 }
  const { metrics } = setUp([], { storeStatus: () => ({ ...QUIET_STORE, trouble: 'unreachable', remote }) })

  const text = await metrics.render()

  expect(text).toContain('heartline_store_degraded 0\n')
  expect(text).toContain('heartline_store_reachable 0\n')
})

test('a store in trouble is degraded, with the failures by reason', async () => {
  const { metrics } = setUp([], {
    storeStatus: () => ({
      ...QUIET_STORE,
      trouble: 'full',
      rowsDropped: 7,
      writeFailures: new Map([['full', 3]]),
      threadRestarts: 2,
    }),
  })

  const text = await metrics.render()

  expect(text).toContain('heartline_store_degraded 1\n')
  expect(text).toContain('heartline_store_write_failures_total{reason="full"} 3\n')
  expect(text).toContain('heartline_store_write_failures_total{reason="io"} 0\n')
  expect(text).toContain('heartline_store_thread_restarts_total 2\n')
  expect(series(text, 'store_database_bytes')).toEqual([])
})

test('every reason for which the scheduler skips a poll has its series', async () => {
  const { metrics } = setUp()

  const text = await metrics.render()

  for (const reason of SKIP_REASONS) expect(text).toContain(`heartline_scheduler_skips_total{reason="${reason}"} 0\n`)
})

test('concurrent scrapes share one rendering, the next one is new', async () => {
  const { metrics } = setUp()

  const [a, b] = await Promise.all([metrics.exposition(), metrics.exposition()])
  const c = await metrics.exposition()

  expect(b).toBe(a)
  expect(c).not.toBe(a)
})

test.each([false, true])(
  'the length of a rendering is known before its text is put together, sparse: %s',
  async (sparse) => {
    const endpoints = [endpoint('a', { metricLabels: { city: 'Zürich' } }), endpoint('b')]
    const { metrics, world } = setUp([{ network: network(), endpoints }], { sparse })
    await world.pollAll()

    const exposition = await metrics.exposition()

    for (const size of [64, 4096]) {
      const blocks = Array.from(exposition.blocks(size), (block) => block.toString())
      expect(blocks.join('')).toContain('label_city="Zürich",state="up"} 1')
      expect(Buffer.byteLength(blocks.join(''))).toBe(exposition.bytes)
    }
  },
)

test('rendering ten thousand endpoints yields to the event loop', async () => {
  const endpoints = Array.from({ length: 10_000 }, (_, at) => endpoint(`e${at}`))
  const clock = createFakeClock()
  let yields = 0
  const { metrics } = setUp([{ network: network(), endpoints }], {
    // Every look at the clock costs 2 ms, as if the machine were slow.
    clock: {
      ...clock,
      monotonic() {
        clock.blockLoop(2)
        return clock.monotonic()
      },
    },
    yieldToLoop: async () => {
      yields++
    },
  })

  const text = await metrics.render()

  expect(yields).toBeGreaterThan(50)
  expect(series(text, 'endpoint_info')).toHaveLength(10_000)
})

describe('what a node reports about itself', () => {
  const told = async (over: Partial<NodeReport>) => {
    const { metrics, world } = setUp()
    await world.poll(own, { liveness: good(liveness(null, { report: { ...REPORT, ...over } })) })
    const text = await metrics.render()
    const names = ['node_syncing', 'node_sync_remaining_blocks', 'node_peers'] as const
    const ofConsensus = ['node_consensus_up', 'node_consensus_syncing', 'node_consensus_peers'] as const
    return [...names, ...ofConsensus].map((name) => series(text, name)[0]?.split(' ')[1] ?? null)
  }

  test('is absent where it is not told', async () => {
    expect(await told({ sync: null, peers: null, consensus: null })).toEqual([null, null, null, null, null, null])
  })

  test('is 0 blocks to go where the node is synced, and none where a syncing one does not tell', async () => {
    expect(await told({ sync: { isSyncing: false, remainingBlocks: null } })).toEqual(['0', '0', '25', '1', '0', '80'])
    expect((await told({ sync: { isSyncing: true, remainingBlocks: 7 } })).slice(0, 2)).toEqual(['1', '7'])
    expect((await told({ sync: { isSyncing: true, remainingBlocks: null } })).slice(0, 2)).toEqual(['1', null])
  })

  test('tells a consensus node that is down from one that is syncing', async () => {
    const down = { state: 'down', reason: 'refused', remainingSlots: null, peers: null } as const

    expect((await told({ consensus: down })).slice(3)).toEqual(['0', null, null])
    expect((await told({ consensus: { ...down, state: 'optimistic' } })).slice(3)).toEqual(['1', '1', null])
  })
})

const REPORT: NodeReport = {
  sync: { isSyncing: true, remainingBlocks: 12_000 },
  peers: 25,
  client: null,
  consensus: { state: 'synced', reason: null, remainingSlots: 0, peers: 80 },
}

test('a message that is held back for its group is not waiting for its service yet', async () => {
  const waitsFor = async (waitedMs: number, over: Partial<Notification> = {}) => {
    const waiting = [{ ...OPENING, createdAt: START - waitedMs, ...over }]
    const { metrics } = setUp([], { notifier: () => ({ channels: [{ ...CHANNEL, groupWaitMs: 600_000 }], waiting }) })
    return series(await metrics.render(), 'notification_oldest_seconds')
  }

  expect(await waitsFor(599_000)).toEqual(['heartline_notification_oldest_seconds 0'])
  expect(await waitsFor(660_000)).toEqual(['heartline_notification_oldest_seconds 60'])
  expect(await waitsFor(60_000, { type: 'incident.worse' })).toEqual(['heartline_notification_oldest_seconds 60'])
})

describe('the whole text', () => {
  test('has every metric of the registry that applies, each with one header, and no NaN', async () => {
    const text = await everything()

    for (const name of METRIC_NAMES) {
      expect(text.split(`# TYPE ${PREFIX}${name} ${METRICS[name].type}\n`), name).toHaveLength(2)
    }
    expect(text).not.toMatch(/ (NaN|undefined|null|Infinity)$/m)
  })

  test('has help and type of every metric of the registry, also of those without a series', async () => {
    const { metrics } = setUp()

    const text = await metrics.render()

    for (const name of METRIC_NAMES) {
      expect(text.split(`# HELP ${PREFIX}${name} `), name).toHaveLength(2)
      expect(text.split(`# TYPE ${PREFIX}${name} ${METRICS[name].type}\n`), name).toHaveLength(2)
    }
  })

  test.runIf(hasPromtool)('passes promtool check metrics', async () => {
    const checked = spawnSync('promtool', ['check', 'metrics'], { input: await everything(), encoding: 'utf8' })

    expect(`${checked.stdout}${checked.stderr}`).toBe('')
    expect(checked.status).toBe(0)
  })

  test.runIf(hasPromtool)('holds hostile names that Prometheus itself can read', async () => {
    const { metrics, world } = setUp()
    const checks = ['\n', '"', '\\', '\u2028', '\ud800', 'é😀', '{}', '\0'].map((name) => nodeCheck(`x${name}`))
    await world.poll(own, { liveness: good(liveness(null, { checks })) })

    const out = execFileSync('promtool', ['check', 'metrics'], { input: await metrics.render(), encoding: 'utf8' })

    expect(out).toBe('')
  })
})

async function everything(): Promise<string> {
  const { metrics, world, clock } = setUp(undefined, {
    storeStatus: () => ({ ...QUIET_STORE, databaseBytes: 4096, filesystemFreeBytes: 1e9, remote: REMOTE }),
    cluster: () => aClusterReport(),
    gateway: () => ({
      callers: [{ name: 'wallet' }],
      networks: [{ name: 'avalanche', endpoints: [{ endpoint: 'own-1', excluded: null }] }],
    }),
  })
  const failing = nodeCheck('network', { healthy: false, contiguousFailures: 3, failingSince: clock.now() })
  await world.pollAll({
    clockSkewMs: 120,
    tlsNotAfter: clock.now() + 86_400_000,
    liveness: good(liveness(clock.now() - 2000, { checks: [failing] })),
  })
  await world.poll(other, { liveness: bad({ kind: 'timeout', afterMs: 5000 }) })
  await world.poll(other, { liveness: good(liveness(null, { report: REPORT })) })
  measureBlocks(world, { blockTimeMs: 2000 })
  putPlaces(world.board, own, DISAGREEING, 2)
  metrics.checkFinished('avalanche', 'liveness', 12)
  metrics.httpRequest('/metrics', 200, 12)
  metrics.configReloaded(true, clock.now())
  metrics.gateway.answered('avalanche', 'eth_chainId', 'wallet', 'answered', 1.5, 0.2)
  metrics.gateway.attempted('avalanche', 'own-1', 'eth_chainId', 'answered')
  metrics.gateway.retried('avalanche', 'failed')
  metrics.gateway.rejected(null, 'unauthorized')
  return metrics.render()
}

/** As if the network had been seen for longer. */
function measureBlocks({ board }: World, over: Partial<ReferenceHead>): void {
  for (const { standing } of board.networks()) {
    board.putStanding({ ...standing, heads: standing.heads.map((of) => ({ ...of, ...over })) }, false)
  }
}

const OPENING: Notification = {
  id: '1',
  channel: 'ops',
  subject: 'a',
  type: 'incident.opened',
  messageId: 'msg_1',
  createdAt: START,
  state: 'waiting',
  attempts: 0,
  endedAt: null,
  error: null,
  before: null,
  report: null,
  saysBoth: false,
  text: '',
}

const CHANNEL: ChannelStatus = {
  name: 'ops',
  type: 'slack',
  results: { sent: 3, retried: 1, rejected: 0, expired: 0 },
  groupWaitMs: 10_000,
  failing: false,
  lastError: null,
  lastSentAt: null,
  lastFailedAt: null,
}

function setUp(
  networks: readonly WorldNetwork[] = [{ network: AVALANCHE, endpoints: [own, other] }],
  over: Partial<MetricsDeps> = {},
): { metrics: Metrics; world: World; incidents: WritableIncidentLog; clock: FakeClock } {
  const clock = createFakeClock()
  const world = createWorld(over.clock ?? clock, networks)
  const incidents = createIncidentLog()
  const metrics = createMetrics({
    board: world.board,
    incidents,
    clock,
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: clock.now() }),
    observer: () => ({ impaired: false, judging: true }),
    notifier: () => ({ channels: [CHANNEL], waiting: [] }),
    ...over,
  })
  return { metrics, world, incidents, clock }
}

function series(text: string, name: (typeof METRIC_NAMES)[number]): string[] {
  const starts = [`${PREFIX}${name}{`, `${PREFIX}${name} `]
  return text.split('\n').filter((line) => starts.some((start) => line.startsWith(start)))
}
