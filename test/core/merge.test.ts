import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { mergeVotes, neededOf } from '../../src/core/cluster/merge.ts'
import { mergeStandings } from '../../src/core/cluster/merge-standings.ts'
import { type NetworkVote, turnsAfter, type Vote } from '../../src/core/cluster/vote.ts'
import { CONDITION_CODES, severity, VERDICTS, type Verdict } from '../../src/core/verdict/condition.ts'
import { stateAt, stateSince } from '../../src/core/verdict/health.ts'
import { aVote, condition, VOTED } from '../support/votes.ts'

const NOW = 1_000_000

const merge = (votes: readonly Vote[], quorum: 'majority' | number = 'majority', now = NOW) =>
  mergeVotes(VOTED, votes, quorum, now)
const said = (vantage: string, verdict: Verdict | null, since = NOW - 60_000, over = {}) =>
  aVote(vantage, verdict, since, NOW, over)

describe('a quorum', () => {
  test('of the majority is at least two vantages where there are two, and more than half of more', () => {
    expect([0, 1, 2, 3, 4, 5, 6].map((counted) => neededOf('majority', counted))).toEqual([1, 1, 2, 2, 3, 3, 4])
  })

  test('as a number is never more than the vantages that count', () => {
    expect([1, 2, 3, 4].map((counted) => neededOf(3, counted))).toEqual([1, 2, 3, 3])
  })
})

describe('the merged state', () => {
  test('an endpoint that one of three places does not reach is degraded, and the condition says from where', () => {
    const { health, confirmedBy, places } = merge([
      said('nyc1', 'up'),
      said('fra1', 'down', 900_000),
      said('sin1', 'up'),
    ])

    expect(health.verdict).toBe('degraded')
    expect(health.since).toBe(Math.max(900_000, NOW - 60_000))
    expect(health.conditions).toEqual([
      condition('partial', 'degraded', health.since, 'down from fra1 only: connection refused; up from nyc1, sin1'),
    ])
    expect(confirmedBy).toBe(1)
    expect(places.map(({ vantage, state, counted }) => [vantage, state, counted])).toEqual([
      ['fra1', 'down', true],
      ['nyc1', 'up', true],
      ['sin1', 'up', true],
    ])
  })

  test('an endpoint that two of three places do not reach is down since the second lost it, and the reason names both', () => {
    const { health, confirmedBy } = merge([
      said('fra1', 'down', 900_000),
      said('nyc1', 'down', 910_000),
      said('sin1', 'up'),
    ])

    expect(health).toMatchObject({ verdict: 'down', since: 910_000 })
    expect(health.conditions).toEqual([
      condition('unreachable', 'down', 910_000, 'connection refused (from fra1, nyc1)'),
    ])
    expect(confirmedBy).toBe(2)
  })

  test('places that see it down for different reasons give all of them', () => {
    const bad = { health: { conditions: [condition('bad-answer', 'down', 920_000, 'invalid JSON')] } }

    const { health } = merge([said('fra1', 'down', 900_000), said('nyc1', 'down', 920_000, bad)])

    expect(health.conditions.map(({ message }) => message)).toEqual([
      'connection refused (from fra1)',
      'invalid JSON (from nyc1)',
    ])
  })

  test('places that see the same condition, but not alike, are each named with what they see', () => {
    const lagging = (verdict: Verdict, message: string) => {
      return { health: { conditions: [condition('lagging', verdict, 900_000, message)] } }
    }
    const { health } = merge([
      said('fra1', 'degraded', 900_000, lagging('degraded', '12 blocks behind')),
      said('nyc1', 'down', 900_000, lagging('down', '120 blocks behind')),
      said('sin1', 'degraded', 900_000, lagging('degraded', '12 blocks behind')),
    ])

    expect(health.conditions.map(({ code, message }) => [code, message])).toEqual([
      ['partial', 'down from nyc1 only: 120 blocks behind; degraded from fra1, sin1'],
      ['lagging', '12 blocks behind (from fra1, sin1), 120 blocks behind (from nyc1)'],
    ])
  })

  test('places that do not reach an endpoint for different reasons are each named with theirs, also if they are too few', () => {
    const because = (message: string) => ({
      health: { conditions: [condition('unreachable', 'down', 900_000, message)] },
    })
    const { health } = merge(
      [
        said('fra1', 'down', 900_000, because('connection refused')),
        said('nyc1', 'down', 900_000, because('no complete answer within 1 s')),
        said('sin1', 'up'),
      ],
      3,
    )

    expect(health.conditions[0]?.message).toBe(
      'down from fra1, nyc1 only: connection refused (from fra1), no complete answer within 1 s (from nyc1); up from sin1',
    )
  })

  test('one of two places is not enough for down, unless only one is required', () => {
    const votes = [said('fra1', 'down'), said('nyc1', 'up')]

    expect(merge(votes).health.verdict).toBe('degraded')
    expect(merge(votes, 1).health.verdict).toBe('down')
  })

  test('degraded from one of three places is up', () => {
    const { health, confirmedBy } = merge([said('fra1', 'degraded'), said('nyc1', 'up'), said('sin1', 'up')])

    expect([health.verdict, health.conditions, confirmedBy]).toEqual(['up', [], 2])
  })

  test('what does not count: an impaired member, an old poll, a poll that failed by our own fault, no verdict yet', () => {
    const lastPolledAt = NOW - 2 * VOTED.intervalMs - 2001
    const old = { health: { lastPolledAt, validUntil: lastPolledAt + 2 * VOTED.intervalMs } }
    const discarded = { health: { validUntil: NOW } }

    const { health, confirmedBy, places } = merge([
      said('ams1', 'down', NOW - 60_000, { isImpaired: true }),
      said('fra1', 'down', NOW - 60_000, old),
      said('lon1', 'down', NOW - 60_000, discarded),
      said('nyc1', null),
      said('sin1', 'up'),
    ])

    expect([health.verdict, confirmedBy]).toEqual(['up', 1])
    expect(places.map(({ state }) => state)).toEqual(['unknown', 'unknown', 'unknown', 'unknown', 'up'])
  })

  test('a vote counts for two intervals and two seconds after its poll', () => {
    const vote = said('fra1', 'up')
    const end = NOW + 2 * VOTED.intervalMs + 2000

    expect(stateAt(merge([vote], 'majority', end).health, end)).toBe('up')
    expect(stateAt(merge([vote], 'majority', end + 1).health, end + 1)).toBe('unknown')
    expect(stateSince(merge([vote], 'majority', end + 9000).health, end + 9000)).toBe(end)
  })

  test('without a vote, or with none that counts, the state is unknown', () => {
    for (const votes of [[], [said('fra1', null)], [said('fra1', 'down', 900_000, { isImpaired: true })]]) {
      const { health, confirmedBy } = merge(votes)

      expect([stateAt(health, NOW), confirmedBy]).toEqual(['unknown', 0])
    }
  })

  test('an endpoint that recovers from its last place is up since then, not since the others saw it up', () => {
    const { health } = merge([said('fra1', 'up', 990_000), said('nyc1', 'up', 100_000), said('sin1', 'up', 200_000)])

    expect(health.since).toBe(990_000)
  })

  test('a place that is degraded for a while does not make the others up again', () => {
    const turns = { down: 100_000, up: 990_000 }

    const { health } = merge([
      said('fra1', 'up', 990_000, { turns }),
      said('nyc1', 'up', 200_000),
      said('sin1', 'up', 300_000),
    ])

    expect(health.since).toBe(300_000)
  })

  test.each([
    ['up', ['up', 'up'], 'up'],
    ['partly down', ['down', 'up'], 'up'],
    ['down', ['down', 'down'], 'up'],
    ['degraded', ['degraded', 'degraded'], 'degraded'],
  ] as const)('the state %s began before another place joined in that did not change it', (_, [a, b], joined) => {
    const joinedAt = { turns: { down: 950_000, up: 950_000, first: 950_000 } }
    const before = [said('fra1', a, 900_000), said('nyc1', b, 800_000)]

    const { health } = mergeVotes(VOTED, before, 'majority', NOW)
    const after = mergeVotes(VOTED, [...before, said('sin1', joined, 950_000, joinedAt)], 'majority', NOW).health

    expect(health.since).toBe(900_000)
    expect([after.verdict, after.since]).toEqual([health.verdict, health.since])
  })

  // The first of its polls is the one with which it was back.
  test.each<[string, Verdict, Verdict[], Verdict, Verdict, boolean]>([
    ['down, and now reaches it', 'down', ['up'], 'up', 'up', false],
    ['down, and now finds it lagging', 'down', ['degraded'], 'up', 'up', false],
    ['down, as do the others, and now reaches it', 'down', ['up'], 'down', 'down', false],
    ['down, and does not reach it', 'down', ['down'], 'up', 'degraded', true],
    ['down, and has not reached it until its latest poll', 'down', ['down', 'up'], 'up', 'degraded', true],
    ['up, and does not reach it', 'up', ['down'], 'down', 'down', false],
    ['up, and has reached it until its latest poll', 'up', ['up', 'down'], 'down', 'down', true],
  ])('a place that was away and said before that it is %s', (_, verdict, polls, others, state, counted) => {
    const back = NOW - polls.length
    const before = { at: back - 60_000, verdict }
    const recent = [before, ...polls.map((one, at) => ({ at: back + at, verdict: one }))]
    const confirmation = { verdict, since: 900_000, recent, traces: [] }
    const turns = { down: 900_000, up: 900_000, back }

    const { health, places } = merge([
      said('fra1', verdict, 900_000, { turns, health: { confirmation } }),
      said('nyc1', others),
      said('sin1', others),
    ])

    expect([health.verdict, places[0]?.counted]).toEqual([state, counted])
    expect(health.conditions.some(({ code }) => code === 'partial')).toBe(state === 'degraded')
  })

  test.each<[Verdict, Verdict, Verdict, string]>([
    ['down', 'up', 'up', 'has never been away'],
    ['down', 'up', 'up', 'was back before the polls that it remembers'],
    ['up', 'down', 'down', 'has never been away'],
    ['up', 'down', 'down', 'was back before the polls that it remembers'],
  ])(
    'a place that said %s keeps its word at one poll that finds it %s, where another one says %s, if it %s',
    (verdict, found, other, when) => {
      const confirmation = { verdict, since: 1, recent: [{ at: NOW, verdict: found }], traces: [] }
      const turns = { down: 1, up: 1, back: when.startsWith('was') ? NOW - 60_000 : undefined }

      const { health, places } = merge([
        said('fra1', other),
        said('nyc1', verdict, 1, { turns, health: { confirmation } }),
      ])

      expect([health.verdict, places.map((place) => place.counted)]).toEqual(['degraded', [true, true]])
    },
  )

  test('a place that was away decides alone, also before it is sure that the endpoint is back', () => {
    const recent = [{ at: NOW, verdict: 'up' as const }]
    const confirmation = { verdict: 'down' as const, since: 900_000, recent, traces: [] }

    const turns = { down: 900_000, up: 900_000, back: NOW }

    const { health, confirmedBy } = merge([said('fra1', 'down', 900_000, { turns, health: { confirmation } })])

    expect([health.verdict, confirmedBy]).toEqual(['down', 1])
  })

  test('a place that joins in and changes the state begins it', () => {
    const joinedAt = { turns: { down: 950_000, up: 950_000, first: 950_000 } }
    const votes = [said('fra1', 'up', 900_000), said('nyc1', 'up', 800_000), said('sin1', 'down', 950_000, joinedAt)]

    expect(mergeVotes(VOTED, votes, 'majority', NOW).health).toMatchObject({ verdict: 'degraded', since: 950_000 })
  })

  test('heads are those of the latest poll of the places that say the state', () => {
    const at = (height: number) => [
      {
        shard: null,
        height,
        hash: `0x${height}`,
        parentHash: '0x0',
        timestamp: 1,
        lagBlocks: 0,
        lagMs: 0,
        advancedAt: 1,
        readAt: 1,
      },
    ]
    const earlier = { health: { heads: at(100), lastPolledAt: NOW - 4000 } }

    const { health } = merge([
      said('fra1', 'up', 1, earlier),
      said('nyc1', 'up', 1, { health: { heads: at(101), lastPolledAt: NOW - 1000 } }),
      said('sin1', 'down', 1, { health: { heads: at(90) } }),
    ])

    expect(health.heads.map(({ height }) => height)).toEqual([101])
    expect(health.lastPolledAt).toBe(NOW)
  })
})

describe('turns', () => {
  const turns = { down: 10, up: 20, first: 5 }

  test.each([
    ['up', 'degraded', { down: 10, up: 99, first: 5 }],
    ['up', 'down', { down: 99, up: 99, first: 5 }],
    ['degraded', 'down', { down: 99, up: 20, first: 5 }],
    ['down', 'degraded', { down: 99, up: 20, first: 5 }],
    ['down', 'up', { down: 99, up: 99, first: 5 }],
    ['down', 'down', { down: 10, up: 20, first: 5 }],
    [null, 'down', { down: 99, up: 99, first: 99 }],
  ] as const)('from %s to %s', (before, verdict, expected) => {
    expect(turnsAfter({ verdict: before, turns }, { verdict, since: 99 })).toEqual(expected)
  })
})

const Change = fc.record({
  vantage: fc.nat(4),
  verdict: fc.constantFrom(...VERDICTS),
})

/** Any vote, as any version may write it. */
const AnyVote: fc.Arbitrary<Vote> = fc
  .record({
    vantage: fc.constantFrom('ams1', 'fra1', 'lon1', 'nyc1', 'sin1'),
    verdict: fc.option(fc.constantFrom(...VERDICTS)),
    since: fc.integer({ min: 0, max: NOW }),
    polledMsAgo: fc.integer({ min: 0, max: 40_000 }),
    isDiscarded: fc.boolean(),
    isImpaired: fc.boolean(),
    latencyMs: fc.option(fc.integer({ min: 1, max: 9999 })),
    conditions: fc.uniqueArray(
      fc.record({
        code: fc.constantFrom(...CONDITION_CODES.filter((code) => code !== 'partial')),
        verdict: fc.constantFrom(...VERDICTS),
        message: fc.constantFrom('a', 'b'),
        since: fc.integer({ min: 0, max: NOW }),
      }),
      { maxLength: 3, selector: ({ code }) => code },
    ),
  })
  .map(({ vantage, verdict, since, polledMsAgo, isDiscarded, isImpaired, latencyMs, conditions }) => {
    const lastPolledAt = NOW - polledMsAgo
    const validUntil = isDiscarded ? lastPolledAt : lastPolledAt + 2 * VOTED.intervalMs
    return aVote(vantage, verdict, since, NOW, {
      isImpaired,
      health: { lastPolledAt, validUntil, latencyMs, conditions },
    })
  })

const Votes = fc.uniqueArray(AnyVote, { maxLength: 5, selector: ({ vantage }) => vantage })
const AnyQuorum = fc.oneof(fc.constant('majority' as const), fc.integer({ min: 1, max: 6 }))

const countedOf = (votes: readonly Vote[]) => {
  const names = merge(votes).places.flatMap(({ vantage, counted }) => (counted ? [vantage] : []))
  return votes.filter(({ vantage }) => names.includes(vantage))
}

describe('any votes', () => {
  test('each condition is named once, also one that places judge differently', () => {
    const of = (verdict: Verdict) => ({ health: { conditions: [condition('slow', verdict, 1)] } })

    const { health } = merge([said('fra1', 'degraded', 1, of('degraded')), said('nyc1', 'up', 1, of('up'))], 1)

    expect(health.conditions).toEqual([condition('slow', 'degraded', 1, 'slow (from fra1)')])
  })

  test('their order does not matter', () => {
    const shuffled = Votes.chain((votes) =>
      fc.tuple(fc.constant(votes), fc.shuffledSubarray(votes, { minLength: votes.length })),
    )
    fc.assert(
      fc.property(shuffled, AnyQuorum, ([votes, others], quorum) => {
        expect(merge(others, quorum)).toEqual(merge(votes, quorum))
      }),
    )
  })

  test('an endpoint is down only if a quorum of the counted vantages say so', () => {
    fc.assert(
      fc.property(Votes, AnyQuorum, (votes, quorum) => {
        const counted = countedOf(votes)
        const downs = counted.filter(({ health }) => health.verdict === 'down').length

        const { health } = merge(votes, quorum)

        const isDown = stateAt(health, NOW) === 'down'
        expect(isDown).toBe(counted.length > 0 && downs >= neededOf(quorum, counted.length))
        expect(stateAt(health, NOW) === 'up' && downs > 0).toBe(false)
      }),
    )
  })

  test('a vote that does not count changes nothing but its own place', () => {
    const uncounted = AnyVote.map((vote) => ({ ...vote, vantage: 'zrh1', isImpaired: true }))
    fc.assert(
      fc.property(Votes, uncounted, AnyQuorum, (votes, extra, quorum) => {
        fc.pre(countedOf(votes).length > 0)

        const { places, ...merged } = merge([...votes, extra], quorum)

        const { places: before, ...without } = merge(votes, quorum)
        expect(merged).toEqual(without)
        expect(places.slice(0, -1)).toEqual(before)
        expect(places.at(-1)).toMatchObject({ vantage: 'zrh1', state: 'unknown', counted: false })
      }),
    )
  })

  test('a worse vote never makes the merged state better', () => {
    fc.assert(
      fc.property(Votes, fc.nat(4), fc.constantFrom(...VERDICTS), AnyQuorum, (votes, which, verdict, quorum) => {
        const vote = countedOf(votes)[which]
        fc.pre(vote !== undefined && severity(verdict) >= severity(vote.health.verdict ?? 'up'))
        const worse = votes.map((other) => (other === vote ? { ...vote, health: { ...vote.health, verdict } } : other))

        const [before, after] = [merge(votes, quorum).health.verdict, merge(worse, quorum).health.verdict]

        expect(severity(after ?? 'up')).toBeGreaterThanOrEqual(severity(before ?? 'up'))
      }),
    )
  })

  test('one vote that counts is the merged word', () => {
    fc.assert(
      fc.property(Votes, AnyQuorum, (votes, quorum) => {
        const counted = countedOf(votes)
        const [vote] = counted
        fc.pre(counted.length === 1 && vote !== undefined)

        const { health, confirmedBy } = merge(votes, quorum)

        expect({ ...health, validUntil: 0 }).toEqual({ ...vote.health, validUntil: 0 })
        expect([stateAt(health, NOW), confirmedBy]).toEqual([vote.health.verdict, 1])
      }),
    )
  })

  test('no condition is worse than the state, each is named once, and a state that is not up has a reason', () => {
    fc.assert(
      fc.property(Votes, AnyQuorum, (votes, quorum) => {
        fc.pre(countedOf(votes).length > 1)
        // As confirmation leaves it: a bad verdict has a condition.
        const whole = votes.map((vote) => {
          const { verdict, since, conditions } = vote.health
          if (verdict === null || verdict === 'up') return vote
          return {
            ...vote,
            health: {
              ...vote.health,
              conditions: [...conditions.filter(({ code }) => code !== 'slow'), condition('slow', verdict, since)],
            },
          }
        })

        const { verdict, conditions } = merge(whole, quorum).health

        const codes = conditions.map(({ code }) => code)
        expect(new Set(codes).size).toBe(codes.length)
        expect(conditions.every((one) => severity(one.verdict) <= severity(verdict ?? 'up'))).toBe(true)
        expect(verdict === 'up' || conditions.some((one) => one.verdict === verdict)).toBe(true)
      }),
    )
  })

  test('the state began when the votes last made it so', () => {
    const history = fc.array(Change, { minLength: 5, maxLength: 30 })
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 5 }), history, AnyQuorum, (vantages, changes, quorum) => {
        let votes = Array.from({ length: vantages }, (_, at) => said(`place${at}`, 'up', 0))
        let began = 0
        let state: Verdict | null = 'up'
        changes.forEach(({ vantage, verdict }, index) => {
          const since = (index + 1) * 1000
          votes = votes.map((vote, at) => {
            if (at !== vantage || vote.health.verdict === verdict) return vote
            const turns = turnsAfter({ verdict: vote.health.verdict, turns: vote.turns }, { verdict, since })
            return said(vote.vantage, verdict, since, { turns })
          })

          const { health } = merge(votes, quorum)

          if (health.verdict !== state) began = since
          state = health.verdict
          expect(health.since).toBeLessThanOrEqual(since)
          // A change of the quorum's members may move it, but never before the state began.
          expect(health.since).toBeGreaterThanOrEqual(began)
        })
      }),
    )
  })
})

describe('the standing of a network', () => {
  const reference = (height: number, shard: number | null = null) => ({
    shard,
    height,
    confirmedHeight: height,
    hash: `0x${height}`,
    timestamp: 1,
    branches: 1,
    blockTimeMs: null,
  })
  const word = (vantage: string, over: Partial<NetworkVote> = {}): NetworkVote => ({
    vantage,
    member: `${vantage}-a`,
    heads: [],
    halts: [],
    fork: null,
    validUntil: NOW,
    isImpaired: false,
    ...over,
  })

  test('has the highest head that a quorum has reached', () => {
    const votes = [100, 999, 101].map((height, at) => word(`place${at}`, { heads: [reference(height)] }))

    expect(mergeStandings(votes, 'majority', NOW).heads).toEqual([reference(101)])
  })

  test('has each shard once, also those that one vantage alone knows', () => {
    const votes = [
      word('fra1', { heads: [reference(5, 1), reference(7, 0)] }),
      word('nyc1', { heads: [reference(6, 0)] }),
    ]

    expect(mergeStandings(votes, 'majority', NOW).heads).toEqual([reference(6, 0), reference(5, 1)])
  })

  test('is halted if a quorum says so, since the last of them that was needed', () => {
    const halted = (since: number) => ({ halts: [{ shard: null, since }] })
    const votes = [word('fra1', halted(500)), word('nyc1', halted(400)), word('sin1')]

    expect(mergeStandings(votes, 'majority', NOW).halts).toEqual([{ shard: null, since: 500 }])
    expect(mergeStandings(votes.slice(1), 'majority', NOW).halts).toEqual([])
  })

  test('is forked if a quorum says so', () => {
    const forked = (since: number, height: number) => ({ fork: { shard: null, height, since, branches: [] } })
    const votes = [word('fra1', forked(500, 10)), word('nyc1', forked(400, 12)), word('sin1')]

    expect(mergeStandings(votes, 'majority', NOW).fork).toEqual({ shard: null, height: 12, since: 500, branches: [] })
    expect(mergeStandings(votes, 3, NOW).fork).toBeNull()
  })

  test('names the places that see a halt or a fork', () => {
    const [halts, fork] = [[{ shard: 1, since: 400 }], { shard: 0, height: 10, since: 400, branches: [] }]
    const votes = [
      word('fra1', { halts }),
      word('nyc1', { halts, fork }),
      word('sin1', { fork }),
      word('tok1', { halts }),
    ]

    expect(mergeStandings(votes, 2, NOW).seenFrom).toEqual({
      halted: ['fra1', 'nyc1', 'tok1'],
      forked: ['nyc1', 'sin1'],
    })
    expect(mergeStandings(votes, 'majority', NOW).seenFrom).toEqual({ halted: ['fra1', 'nyc1', 'tok1'], forked: [] })
    expect(mergeStandings(votes.slice(2), 'majority', NOW).seenFrom).toBeUndefined()
  })

  test('leaves out what is too old or said by an impaired member', () => {
    const heads = [reference(100)]
    const votes = [word('fra1', { heads, validUntil: NOW - 1 }), word('nyc1', { heads, isImpaired: true })]

    expect(mergeStandings(votes, 'majority', NOW)).toEqual({ heads: [], halts: [], fork: null })
  })
})
