import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { PollResult } from '../../src/core/poll-result.ts'
import { type Health, unpolled } from '../../src/core/verdict/health.ts'
import { createNetworkView } from '../../src/core/verdict/network-view.ts'
import { judgeRound, judgeSinglePoll, type NetworkContext } from '../../src/core/verdict/single-poll.ts'
import { bad, endpoint, good, head, liveness, network, nodeCheck, pollResult } from '../support/network.ts'

const NOW = Date.UTC(2026, 0, 1)
const OWN = endpoint('own-1')
const UNPOLLED = unpolled(OWN, NOW - 100_000)
const CONTEXT: NetworkContext = {
  network: network(),
  heads: [{ shard: null, height: 1000, confirmedHeight: 1000, blockTimeMs: null }],
  alone: new Set(),
}

function judged(
  height: number,
  { known = UNPOLLED, context = CONTEXT }: { known?: Health; context?: NetworkContext } = {},
): Health {
  const heads = [{ shard: null, outcome: good(head(height, NOW - 3000)) }]
  return judgeSinglePoll(pollResult(OWN, NOW, { heads }), known, context, NOW)
}

/** The health that the schedule's polls found a while ago. */
const knownAt = (height: number, agoMs: number, over: Partial<Health> = {}): Health => ({
  ...UNPOLLED,
  verdict: 'up',
  heads: [
    { shard: null, ...head(height, NOW - agoMs), lagBlocks: 0, lagMs: 0, advancedAt: NOW - agoMs, readAt: NOW - 1000 },
  ],
  ...over,
})
const codes = ({ conditions }: Health) => conditions.map(({ code }) => code)

test('a single good poll is up, a single bad one down, without confirmation', () => {
  const failed = pollResult(OWN, NOW, { heads: [{ shard: null, outcome: bad({ kind: 'refused' }) }] })

  expect(judged(1000)).toMatchObject({ verdict: 'up', conditions: [] })
  expect(judgeSinglePoll(failed, knownAt(1000, 5000), CONTEXT, NOW)).toMatchObject({
    verdict: 'down',
    conditions: [{ code: 'unreachable' }],
    heads: [],
  })
})

test('a height is compared with what the others have reached', () => {
  expect(judged(997)).toMatchObject({ verdict: 'degraded', heads: [{ lagBlocks: 3, lagMs: 36_000 }] })
  expect(judged(900)).toMatchObject({ verdict: 'down' })
  expect(judged(1004)).toMatchObject({ verdict: 'up', heads: [{ lagBlocks: 0 }] })
})

test('a lagging endpoint lags until it is nearer, as in the schedule', () => {
  expect(codes(judged(998))).toEqual([])
  expect(codes(judged(998, { known: knownAt(990, 5000, { laggingShards: [null] }) }))).toEqual(['lagging'])
  expect(codes(judged(999, { known: knownAt(990, 5000, { laggingShards: [null] }) }))).toEqual([])
})

test('an endpoint that did not advance while the others did is stalled; one that advanced since is not', () => {
  expect(codes(judged(998, { known: knownAt(998, 61_000) }))).toEqual(['stalled'])
  expect(codes(judged(998, { known: knownAt(998, 59_000) }))).toEqual([])
  expect(codes(judged(998, { known: knownAt(997, 61_000) }))).toEqual([])
})

test('without another endpoint the age of its block decides', () => {
  const alone = { ...CONTEXT, heads: [], alone: new Set([null]) }
  const old = pollResult(OWN, NOW, { heads: [{ shard: null, outcome: good(head(1000, NOW - 3_600_000)) }] })

  expect(judgeSinglePoll(old, UNPOLLED, alone, NOW).verdict).toBe('down')
  expect(judged(1000, { context: alone }).verdict).toBe('up')
})

test('a fork that the schedule found stays, since one poll cannot decide it', () => {
  const forked = { code: 'forked', verdict: 'degraded', message: 'another block', since: NOW - 9000 } as const

  const health = judged(1000, { known: knownAt(1000, 5000, { verdict: 'degraded', conditions: [forked] }) })

  expect(health).toMatchObject({ verdict: 'degraded', conditions: [{ code: 'forked', since: NOW - 9000 }] })
})

test('a poll that failed because our machine is out of resources says nothing about the node', () => {
  const outcome = bad({ kind: 'local-resources', code: 'EMFILE' })

  const health = judgeSinglePoll(pollResult(OWN, NOW, { heads: [{ shard: null, outcome }] }), UNPOLLED, CONTEXT, NOW)

  expect(health.verdict).toBeNull()
})

test('a single poll and the schedule judge the lag of the same heads alike', () => {
  const names = ['a', 'b', 'c', 'd', 'e']
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 995, max: 1003 }), { minLength: 2, maxLength: 5 }),
      fc.integer({ min: 995, max: 1003 }),
      (heights, before) => {
        const endpoints = heights.map((_, at) => endpoint(names[at]!))
        const view = createNetworkView(network(), endpoints, NOW)
        const pollAt = (at: number, height: number) =>
          pollResult(endpoints[at]!, NOW, { heads: [{ shard: null, outcome: good(head(height, NOW - 3000)) }] })
        const polls = heights.map((height, at) => pollAt(at, height))
        for (const poll of [pollAt(0, before), ...polls, ...polls]) view.judge(poll, NOW)
        const [poll] = polls as [PollResult]
        const context = { network: network(), heads: view.references(NOW), alone: new Set<null>() }

        const single = judgeSinglePoll(poll, view.health('a')!, context, NOW)
        const scheduled = view.judge(poll, NOW)?.health

        expect(single.laggingShards).toEqual(scheduled?.laggingShards)
        expect(single.heads).toEqual(scheduled?.heads)
      },
    ),
    { numRuns: 1000, examples: [[[999, 1000, 1001, 1002], 999]] },
  )
})

const polled = (name: string, height: number) =>
  pollResult(endpoint(name), NOW, { heads: [{ shard: null, outcome: good(head(height, NOW - 3000)) }] })

test('a single round decides, and compares every endpoint with all others, in any order', () => {
  const healths = judgeRound(network(), [polled('late', 988), polled('a', 1000), polled('b', 1000)], NOW)

  expect(healths.map(({ endpoint: { name }, verdict }) => [name, verdict])).toEqual([
    ['late', 'degraded'],
    ['a', 'up'],
    ['b', 'up'],
  ])
})

test('a round judges endpoints that are a few blocks apart alike in any order', () => {
  const anyRound = fc.array(fc.integer({ min: 995, max: 1003 }), { minLength: 2, maxLength: 5 }).chain((heights) => {
    const polls = heights.map((height, at) => polled(`${at}`, height))
    return fc.tuple(fc.constant(polls), fc.shuffledSubarray(polls, { minLength: polls.length }))
  })
  const codesByName = (polls: readonly PollResult[]) =>
    new Map(judgeRound(network(), polls, NOW).map((health) => [health.endpoint.name, codes(health)]))

  fc.assert(
    fc.property(anyRound, ([polls, shuffled]) => {
      expect(codesByName(shuffled)).toEqual(codesByName(polls))
    }),
    { numRuns: 1000 },
  )
})

test('a round finds no lag of fewer than lag_blocks', () => {
  const round = [103, 100, 101, 101, 101].map((height, at) => polled(`${at}`, height))

  expect(judgeRound(network(), round, NOW).map(codes)).toEqual([[], [], [], [], []])
})

test('an endpoint that was not polled because our machine is out of resources is neither up nor down', () => {
  const outcome = bad({ kind: 'local-resources', code: 'EMFILE' })
  const unasked = pollResult(endpoint('unasked'), NOW, { heads: [{ shard: null, outcome }] })

  const healths = judgeRound(network(), [unasked, polled('a', 1000)], NOW)

  expect(healths.map(({ verdict }) => verdict)).toEqual([null, 'up'])
})

test('a round counts a failed check once', () => {
  const { thresholds } = network()
  const twice = network({ thresholds: { ...thresholds, contiguousFailures: 2 } })
  const asked = endpoint('own-1', { checks: ['liveness', 'head'] })
  const failed = nodeCheck('peers', { healthy: false, contiguousFailures: 1, failingSince: NOW })
  const report = { sync: null, peers: null, client: null, consensus: null }
  const outcome = good(liveness(null, { healthy: false, checks: [failed], report }))
  const heads = [{ shard: null, outcome: good(head(1000, NOW - 3000)) }]

  const [found] = judgeRound(twice, [pollResult(asked, NOW, { heads, liveness: outcome })], NOW)

  expect(found?.liveness?.checks.map(({ contiguousFailures }) => contiguousFailures)).toEqual([1])
  expect(codes(found as Health)).not.toContain('check-failing')
})
