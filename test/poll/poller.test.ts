import { describe, expect, test } from 'vitest'
import { type CheckName, type Endpoint, endpointKey } from '../../src/core/endpoint.ts'
import type { Failure } from '../../src/core/failure.ts'
import { locationOf } from '../../src/core/host-location.ts'
import { createObserver } from '../../src/core/observer/observer.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import { stateAt } from '../../src/core/verdict/health.ts'
import { createIncidentRecorder } from '../../src/poll/incident-recorder.ts'
import { createPoller } from '../../src/poll/poller.ts'
import { createBoard } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { HashChange, IncidentRecord, PollRecord, SavedHealth } from '../../src/store/store.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { recordingLog } from '../support/log.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck, pollResult } from '../support/network.ts'
import { headCounts } from '../support/world.ts'

type Answer = Partial<PollResult>

const own = endpoint('own')
const other = endpoint('other')
const KEY = endpointKey(own)
const REFUSED: Failure = { kind: 'refused' }
const refused: Answer = { heads: [{ shard: null, outcome: bad(REFUSED) }] }
const signal = new AbortController().signal

const polledOf = (endpoints: readonly Endpoint[]) => [
  { network: network(), endpoints: endpoints.map((one) => ({ endpoint: one, at: locationOf('127.0.0.1') })) },
]

function house(endpoints = [own, other]) {
  const clock = createFakeClock()
  const board = createBoard()
  const log = recordingLog()
  const kept = {
    polls: [] as PollRecord[],
    amendments: [] as unknown[][],
    hashChanges: [] as HashChange[],
    saved: [] as SavedHealth[],
    incidents: [] as IncidentRecord[],
    hastened: [] as string[],
    durations: [] as unknown[][],
    checks: [] as (readonly CheckName[])[],
  }
  const at = (height: number): Answer => ({ heads: [{ shard: null, outcome: good(head(height, clock.now())) }] })
  let next: Answer = {}
  const poller = createPoller({
    prober: {
      poll: async (polled) => {
        kept.checks.push(polled.checks)
        return pollResult(polled, clock.now(), next)
      },
    },
    observer: createObserver(),
    checkSelf: () => {},
    board,
    recorder: createIncidentRecorder({
      incidents: createIncidentLog(),
      store: { saveIncident: (incident) => kept.incidents.push(incident) },
      log,
    }),
    store: {
      poll: (record) => kept.polls.push(record),
      amend: (...of) => kept.amendments.push(of),
      hashChange: (change) => kept.hashChanges.push(change),
      saveHealth: (saved) => kept.saved.push(saved),
    },
    pollSoon: (key) => kept.hastened.push(key),
    metrics: { checkFinished: (...of) => kept.durations.push(of) },
    clock,
    log,
  })
  const networks = polledOf(endpoints)
  poller.configure(networks, new Set())
  async function poll(answer: Answer, key = KEY) {
    await clock.advance(10_000)
    next = answer
    return poller.poll(key, signal)
  }
  const entry = (name = 'own') => board.entry('ethereum', name)!
  return { clock, board, log, kept, poller, networks, poll, at, entry }
}

describe('one poll', () => {
  test('reaches the board, the store and the counters', async () => {
    const { poll, at, entry, kept, clock, board } = house()

    await poll(at(1000))

    expect(entry().health).toMatchObject({ verdict: 'up', latencyMs: 12, heads: [{ height: 1000, lagBlocks: 0 }] })
    expect(headCounts(entry())).toMatchObject({
      runs: 1,
      lastOk: true,
      consecutiveFailures: 0,
    })
    expect(board.network('ethereum')?.standing.heads).toMatchObject([{ shard: null, height: 1000, hash: '0x1000' }])
    expect(kept.polls).toEqual([
      {
        endpoint: KEY,
        at: clock.now(),
        state: 'up',
        fresh: true,
        latencyMs: 12,
        height: 1000,
        lagBlocks: 0,
        heartbeatLagMs: null,
        contiguousFailures: null,
        failure: null,
      },
    ])
    expect(kept.durations).toEqual([['ethereum', 'head', 12]])
  })

  test('keeps the heartbeat and the worst of the node’s own checks', async () => {
    const avalanche = endpoint('own', { checks: ['liveness', 'head'] })
    const { poll, at, kept, clock } = house([avalanche])
    const checks = [nodeCheck('P', { contiguousFailures: 2 }), nodeCheck('X')]

    await poll({ ...at(1), liveness: good(liveness(clock.now() + 7000, { checks })) })

    expect(kept.polls[0]).toMatchObject({ heartbeatLagMs: 3000, contiguousFailures: 2 })
  })

  test('that reads no head is stored without a height and a lag', async () => {
    const { poll, at, kept } = house()
    await poll(at(1000))

    await poll(refused)

    expect(kept.polls.map(({ height, lagBlocks }) => [height, lagBlocks])).toEqual([
      [1000, 0],
      [null, null],
    ])
  })

  test('is stored with the worst shard of those whose head it read', async () => {
    const of = network({ family: 'multiversx' })
    const [proxy, ahead] = ['own', 'other'].map((name) => endpoint(name, { family: 'multiversx', shards: [0, 1] }))
    const { clock, poller, poll, kept } = house([])
    poller.configure(
      [{ network: of, endpoints: [proxy!, ahead!].map((one) => ({ endpoint: one, at: locationOf('127.0.0.1') })) }],
      new Set(),
    )
    const heads = (first: number, second: number | null): Answer => ({
      heads: [
        { shard: 0, outcome: good(head(first, clock.now())) },
        { shard: 1, outcome: second === null ? bad(REFUSED) : good(head(second, clock.now())) },
      ],
    })
    await poll(heads(1000, 2000), endpointKey(ahead!))
    await poll(heads(999, 1950), endpointKey(proxy!))

    await poll(heads(998, null), endpointKey(proxy!))

    expect(kept.polls.slice(1).map(({ height, lagBlocks }) => [height, lagBlocks])).toEqual([
      [1950, 50],
      [998, 2],
    ])
  })

  test('of an endpoint that is no longer configured changes nothing', async () => {
    const { poller, kept } = house()

    await poller.poll('ethereum/gone', signal)

    expect(kept.polls).toEqual([])
  })
})

describe('an outage', () => {
  test('has the next poll check liveness too, so that no earlier answer is shown', async () => {
    const rarelyAsked = endpoint('own', { checks: ['liveness', 'head'], livenessIntervalMs: 600_000 })
    const { poll, at, entry, kept } = house([rarelyAsked, other])
    await poll({ ...at(1000), liveness: good(liveness(null)) })

    await poll(refused)
    await poll({ ...refused, liveness: bad(REFUSED) })

    expect(kept.checks).toEqual([['liveness', 'head'], ['head'], ['liveness', 'head']])
    expect(entry().health.liveness).toBeNull()
  })

  test('is confirmed by the second poll, and the first is put right in the history', async () => {
    const { poll, at, entry, kept, log, clock } = house()
    await poll(at(1000))

    await poll(refused)
    const first = clock.now()
    await poll(refused)

    expect(entry().health).toMatchObject({ verdict: 'down', since: first })
    expect(entry().tally.stateChanges).toBe(1)
    expect(headCounts(entry())?.failures).toEqual(new Map([['refused', 2]]))
    expect(kept.polls.map((record) => [record.state, record.failure])).toEqual([
      ['up', null],
      ['up', 'refused'],
      ['down', 'refused'],
    ])
    expect(kept.amendments).toEqual([[KEY, first, clock.now(), 'down', false]])
    expect(log.lines.at(-1)).toEqual({
      level: 'warn',
      fields: { network: 'ethereum', endpoint: 'own', conditions: ['unreachable'], why: 'connection refused' },
      message: 'endpoint went down',
    })
  })

  test('of freshness alone is put right from its first poll on', async () => {
    const failing = { liveness: good(liveness(null, { checks: [nodeCheck('P', { contiguousFailures: 3 })] })) }
    const checked = endpoint('own', { checks: ['liveness', 'head'] })
    const { poll, at, entry, kept, clock } = house([checked, other])
    const otherKey = endpointKey(other)
    for (let round = 0; round < 3; round++) {
      await poll(at(1000), otherKey)
      await poll({ ...at(1000), ...failing })
    }
    const before = kept.amendments.length
    await poll(at(1010), otherKey)

    await poll({ ...at(1000), ...failing })
    const first = clock.now()
    await poll({ ...at(1000), ...failing })

    expect(
      entry()
        .health.conditions.map(({ code }) => code)
        .toSorted(),
    ).toEqual(['check-failing', 'lagging'])
    expect(kept.amendments.slice(before)).toEqual([[KEY, first, clock.now(), 'degraded', false]])
  })

  test('of freshness alone that is over is put right from its first good poll on', async () => {
    const failing = { liveness: good(liveness(null, { checks: [nodeCheck('P', { contiguousFailures: 3 })] })) }
    const checked = endpoint('own', { checks: ['liveness', 'head'] })
    const { poll, at, entry, kept, clock } = house([checked, other])
    const otherKey = endpointKey(other)
    await poll(at(1000), otherKey)
    for (let round = 0; round < 2; round++) await poll({ ...at(1000), ...failing })
    await poll(at(1010), otherKey)
    for (let round = 0; round < 2; round++) await poll({ ...at(1000), ...failing })
    const before = kept.amendments.length

    await poll({ ...at(1010), ...failing })
    const first = clock.now()
    await poll({ ...at(1010), ...failing })

    expect(entry().health.conditions.map(({ code }) => code)).toEqual(['check-failing'])
    expect(kept.polls.slice(-2).map(({ fresh }) => fresh)).toEqual([false, true])
    expect(kept.amendments.slice(before)).toEqual([[KEY, first, clock.now(), 'degraded', true]])
  })

  test('tells the board’s readers once when the verdict changes', async () => {
    const { poll, at, board } = house()
    await poll(at(1000))
    const changes: unknown[] = []
    board.subscribe((change) => change.endpoint !== null && changes.push(change.verdictChanged))

    await poll(refused)
    await poll(refused)
    await poll(refused)

    expect(changes).toEqual([false, true, false])
  })

  test('is saved when it begins and ends, not at every poll', async () => {
    const { poll, at, kept } = house()
    await poll(at(1000))
    const before = kept.saved.length

    for (let polls = 0; polls < 20; polls++) await poll(refused)

    expect(kept.saved.length - before).toBe(2)
  })

  test('continues after a restart', async () => {
    const first = house()
    await first.poll(first.at(1000))
    await first.poll(refused)
    await first.poll(refused)
    const since = first.entry().health.since
    first.poller.save()
    const saved = JSON.parse(JSON.stringify(first.kept.saved.slice(-1))) as SavedHealth[]

    const second = house()
    await second.clock.advance(3_600_000)
    second.poller.restore(saved, [])
    expect(stateAt(second.entry().health, second.clock.now())).toBe('unknown')
    await second.poll(refused)

    expect(second.entry().health).toMatchObject({ verdict: 'down', since })
    expect(second.entry().tally.stateChanges).toBe(0)
  })

  test('saved by an unknown version is ignored', () => {
    const { poller, entry } = house()

    poller.restore([{ endpoint: KEY, at: 0, value: { streaks: 'yes' } }], [])

    expect(entry().health.verdict).toBeNull()
  })
})

describe('a network that another daemon has polled', () => {
  test('is continued from what that one saved, and shown as before until the first poll', async () => {
    const first = house()
    await first.poll(first.at(1000))
    await first.poll(refused)
    await first.poll(refused)
    const { since } = first.entry().health
    first.poller.save('other')
    const before = first.kept.saved.length
    first.poller.save('ethereum')
    expect(first.kept.saved.length - before).toBe(1)

    const second = house()
    const shown = second.entry().health
    second.poller.adopt('ethereum', first.kept.saved.slice(before))
    expect(second.entry().health).toBe(shown)
    await second.clock.advance(3_600_000)
    await second.poll(refused)

    expect(second.entry().health).toMatchObject({ verdict: 'down', since })
    expect(second.entry().tally.stateChanges).toBe(0)
    expect(second.poller.standing('ethereum')).toMatchObject({ halts: [], fork: null })
    expect(second.poller.standing('gone')).toBeNull()
  })

  test('is continued from what that one has said since it saved, if it died before it saved again', async () => {
    const names = ['own', 'b', 'c', 'd']
    const endpoints = names.map((name) => endpoint(name))
    const [first, second] = [house(endpoints), house(endpoints)]
    async function pollAll(own: number, others: number) {
      for (const name of names) await first.poll(first.at(name === 'own' ? own : others), `ethereum/${name}`)
    }
    await pollAll(1000, 1000)
    first.poller.save('ethereum')
    const saved = first.kept.saved.slice(-names.length)
    await pollAll(1001, 1020)
    await pollAll(1003, 1022)
    await pollAll(1005, 1024)
    expect(first.entry().health.verdict).toBe('degraded')
    // What it said is on the boards of the others.
    for (const name of names) second.board.put(first.entry(name).health, true)
    await second.clock.advance(first.clock.now() - second.clock.now())

    second.poller.adopt('ethereum', saved)
    await second.poll(second.at(1007))

    const { verdict, since, conditions } = second.entry().health
    expect({ verdict, since }).toEqual({ verdict: 'degraded', since: first.entry().health.since })
    expect(conditions).toMatchObject([{ code: 'lagging', message: expect.stringContaining('17 blocks') }])
    expect(second.entry().health.confirmation.badSince).toBe(first.entry().health.confirmation.badSince)
  })

  test('is halted on those shards only on which it was before', async () => {
    const endpoints = [endpoint('own', { shards: [0, 1] }), endpoint('other', { shards: [0, 1] })]
    const [first, second] = [house(endpoints), house(endpoints)]
    const heights = (onShard0: number): Answer => ({
      heads: [
        { shard: 0, outcome: good(head(onShard0, first.clock.now())) },
        { shard: 1, outcome: good(head(500, first.clock.now())) },
      ],
    })
    async function pollBoth({ poll }: ReturnType<typeof house>, rounds: readonly number[]) {
      for (const round of rounds) {
        await poll(heights(1000 + round), 'ethereum/own')
        await poll(heights(1000), 'ethereum/other')
      }
    }
    const codes = ({ entry }: ReturnType<typeof house>) => entry('other').health.conditions.map(({ code }) => code)
    await pollBoth(first, [0, 1, 2, 3, 4, 5, 6, 7])
    expect(codes(first)).toContain('stalled')
    expect(first.poller.standing('ethereum')?.halts).toMatchObject([{ shard: 1 }])
    first.poller.save('ethereum')
    const saved = first.kept.saved.slice(-2)
    for (const { name } of endpoints) second.board.put(first.entry(name).health, true)
    second.board.putStanding(first.board.network('ethereum')!.standing, true)
    await second.clock.advance(first.clock.now() - second.clock.now())

    second.poller.adopt('ethereum', saved)
    await pollBoth(second, [8, 9])

    expect(codes(second)).toContain('stalled')
    expect(second.poller.standing('ethereum')?.halts).toMatchObject([{ shard: 1 }])
  })

  test('is forgotten when it polls it again: a poll in flight does not count', async () => {
    const { poller, poll, at, kept, entry } = house()
    await poll(at(1000))
    const { health } = entry()

    const late = poller.poll(KEY, signal)
    poller.leave('ethereum')
    await late

    expect(entry().health).toBe(health)
    expect(kept.polls).toHaveLength(1)
  })

  test('leaves nothing of the latest checks behind, only how many there were', async () => {
    const { poller, poll, entry } = house()
    await poll({ heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })
    expect(headCounts(entry())).toMatchObject({
      lastOk: false,
      consecutiveFailures: 1,
    })

    poller.leave('ethereum')

    const latest = { consecutiveFailures: 0, lastRunAt: null, lastSuccessAt: null, lastDurationMs: null, lastOk: null }
    expect(headCounts(entry())).toMatchObject({
      ...latest,
      runs: 1,
      failures: new Map([['refused', 1]]),
    })
  })
})

describe('events of the chain', () => {
  test('another hash at a known height is counted and kept', async () => {
    const { poll, at, entry, kept, clock } = house()
    await poll(at(1000))

    await poll({ heads: [{ shard: null, outcome: good(head(1000, clock.now(), { hash: '0xother' })) }] })
    await poll(at(998))

    expect(entry().tally.reorgs).toEqual(new Map([[null, 1]]))
    expect(entry().tally.regressions).toEqual(new Map([[null, 1]]))
    expect(kept.hashChanges).toMatchObject([{ endpoint: KEY, height: 1000, hash: '0xother', previousHash: '0x1000' }])
  })
})

describe('a poll that fails by our own fault', () => {
  test('leaves its verdict alone, makes the time unknown, and is counted and logged', async () => {
    const { poll, at, entry, kept, log, clock } = house()
    await poll(at(1000))

    for (let polls = 0; polls < 5; polls++) {
      await poll({ heads: [{ shard: null, outcome: bad({ kind: 'local-resources', code: 'EMFILE' }) }] })
    }

    expect(entry().health.verdict).toBe('up')
    expect(stateAt(entry().health, clock.now())).toBe('unknown')
    expect(kept.polls.map(({ state }) => state)).toEqual(['up', ...Array(5).fill('unknown')])
    expect(headCounts(entry())?.failures).toEqual(new Map([['local-resources', 5]]))
    expect(log.lines.at(-1)?.fields).toMatchObject({ failure: 'local-resources' })
  })
})

describe('reconfiguring', () => {
  test('an endpoint that stays keeps its health and its counters, one that changed is unknown until its next poll', async () => {
    const { poll, at, entry, poller, networks, clock } = house()
    await poll(at(1000))
    await poll(at(1000), endpointKey(other))

    poller.configure(networks, new Set([KEY]))
    await clock.advance(1)

    expect(stateAt(entry('own').health, clock.now())).toBe('up')
    expect(stateAt(entry('other').health, clock.now())).toBe('unknown')
    expect(headCounts(entry('own'))?.runs).toBe(1)
    expect(headCounts(entry('other'))?.runs).toBe(1)
  })

  test('a removed endpoint is removed from the board', async () => {
    const { poll, at, board, poller } = house()
    await poll(at(1000))

    poller.configure(polledOf([other]), new Set([endpointKey(other)]))

    expect(board.entry('ethereum', 'own')).toBeUndefined()
    expect(board.networks()[0]?.endpoints.map(({ key }) => key)).toEqual(['ethereum/other'])
  })

  test('a rate limit is passed on to the schedule', async () => {
    const { poll } = house()

    const { waitMs } = await poll({
      heads: [{ shard: null, outcome: bad({ kind: 'rate-limited', retryAfterMs: 30_000 }) }],
    })

    expect(waitMs).toBe(30_000)
  })
})
