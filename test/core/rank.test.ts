import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Candidate, rank } from '../../src/core/routing/rank.ts'
import { CONDITION_CODES, type Condition, type ConditionCode, STATES } from '../../src/core/verdict/condition.ts'
import { type Health, unpolled } from '../../src/core/verdict/health.ts'
import { endpoint } from '../support/network.ts'

const condition = (code: ConditionCode): Condition => ({ code, verdict: 'degraded', message: code, since: 0 })

function candidate(name: string, codes: readonly ConditionCode[] = [], over: Partial<Candidate> = {}): Candidate {
  const conditions = codes.map(condition)
  const health: Health = { ...unpolled(endpoint(name), 0), verdict: 'up', lastPolledAt: 0, conditions }
  return { endpoint: name, tier: 'primary', state: 'up', health, unverified: false, ...over }
}

function lagging(name: string, lagBlocks: number, over: Partial<Candidate> = {}): Candidate {
  const it = candidate(name, ['lagging'], over)
  const head = { shard: null, height: 1, hash: '', parentHash: '', timestamp: 0, lagMs: 0, advancedAt: 0, readAt: 0 }
  return { ...it, health: { ...it.health, heads: [{ ...head, lagBlocks }] } }
}

const names = (candidates: readonly Candidate[]) => candidates.map((one) => one.endpoint)
const groups = (...candidates: Candidate[]) => rank(candidates).groups.map(names)

describe('the well', () => {
  test('come in the order of the configuration, the fallbacks after the primaries', () => {
    expect(groups(candidate('f', [], { tier: 'fallback' }), candidate('a'), candidate('b'))).toEqual([
      ['a', 'b'],
      ['f'],
    ])
  })

  test('limping ones come after those of their tier, and before the fallbacks', () => {
    const limping = candidate('limping', ['heartbeat-stale'])
    expect(groups(limping, candidate('f', [], { tier: 'fallback' }), candidate('a'))).toEqual([
      ['a'],
      ['limping'],
      ['f'],
    ])
  })

  test.each<ConditionCode>(['slow', 'clock-skewed', 'no-evidence'])('%s is no reason', (code) => {
    expect(groups(candidate('a', [code]), candidate('b'))).toEqual([['a', 'b']])
  })

  test.each<ConditionCode>(['unreachable', 'bad-answer', 'unhealthy', 'forked', 'stalled', 'lagging', 'wrong-network'])(
    '%s is one to leave it out',
    (code) => {
      const { groups, excluded } = rank([candidate('a', [code])])

      expect(groups).toEqual([])
      expect(excluded).toEqual([{ endpoint: 'a', reason: code }])
    },
  )
})

describe('without a healthy endpoint', () => {
  test('the least bad comes first, and those who did not answer stand apart', () => {
    const { unhealthy, unresponsive } = rank([
      candidate('forked', ['forked']),
      candidate('gone', ['unreachable'], { state: 'down' }),
      candidate('planned', [], { state: 'maintenance' }),
      candidate('ill', ['unhealthy'], { state: 'down' }),
      lagging('late', 40),
      lagging('later', 90),
      candidate('unheard', [], { state: 'unknown' }),
    ])

    expect(names(unhealthy)).toEqual(['unheard', 'late', 'later', 'planned', 'ill'])
    expect(names(unresponsive)).toEqual(['gone', 'forked'])
  })

  test.each([
    ['was never polled', null],
    ['failed its first poll', 0],
  ])('one that %s comes after those with a mild fault, and before those known to be down', (_, lastPolledAt) => {
    const fresh = candidate('new', [], { state: 'unknown' })
    const { unhealthy } = rank([
      candidate('ill', ['unhealthy'], { state: 'down' }),
      { ...fresh, health: { ...fresh.health, verdict: null, lastPolledAt } },
      candidate('ill too', ['consensus-down'], { state: 'down' }),
      candidate('outdated', [], { state: 'unknown' }),
      candidate('planned', [], { state: 'maintenance' }),
      candidate('syncing', ['syncing'], { state: 'degraded' }),
      lagging('late', 40),
    ])

    expect(names(unhealthy)).toEqual(['outdated', 'late', 'planned', 'syncing', 'new', 'ill too', 'ill'])
  })

  test('one in maintenance that is known to be gone is as bad as that', () => {
    const { unhealthy, unresponsive, excluded } = rank([candidate('a', ['unreachable'], { state: 'maintenance' })])

    expect([unhealthy, names(unresponsive)]).toEqual([[], ['a']])
    expect(excluded).toEqual([{ endpoint: 'a', reason: 'maintenance' }])
  })

  test('of two equally late endpoints the primary comes first', () => {
    const { unhealthy } = rank([
      lagging('f', 5, { tier: 'fallback' }),
      lagging('p', 5),
      lagging('near', 4, { tier: 'fallback' }),
    ])

    expect(names(unhealthy)).toEqual(['near', 'p', 'f'])
  })
})

describe('never asked', () => {
  test('is who serves another network, even in maintenance', () => {
    const { unhealthy, unresponsive, excluded } = rank([candidate('a', ['wrong-network'], { state: 'maintenance' })])

    expect([...unhealthy, ...unresponsive]).toEqual([])
    expect(excluded).toEqual([{ endpoint: 'a', reason: 'wrong-network' }])
  })

  test('is who did so in its latest poll, before it is a verdict', () => {
    const it = candidate('a')
    const finding = { code: 'wrong-network', verdict: 'down', message: '' } as const
    const traces = [{ finding, since: 0, seen: 1, missed: 0, confirmed: false }]

    expect(groups({ ...it, health: { ...it.health, confirmation: { ...it.health.confirmation, traces } } })).toEqual([])
  })

  test('is an endpoint with an unverified network', () => {
    const { groups, unhealthy, unresponsive, excluded } = rank([candidate('a', [], { unverified: true })])

    expect([groups, unhealthy, unresponsive]).toEqual([[], [], []])
    expect(excluded).toEqual([{ endpoint: 'a', reason: 'unverified' }])
  })

  test.each(['bad-answer', 'unreachable'] as const)(
    'is who could never be verified, and the reason is what the monitor says: %s',
    (code) => {
      const it = candidate('a', [code], { unverified: true, state: 'down' })
      const { groups, unhealthy, unresponsive, excluded } = rank([it])

      expect([groups, unhealthy, unresponsive]).toEqual([[], [], []])
      expect(excluded).toEqual([{ endpoint: 'a', reason: code }])
    },
  )
})

test('every endpoint is in exactly one place, and exclusions have reasons', () => {
  const candidates = fc.uniqueArray(
    fc.record({
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
      codes: fc.uniqueArray(fc.constantFrom(...CONDITION_CODES)),
      state: fc.constantFrom(...STATES),
      tier: fc.constantFrom('primary' as const, 'fallback' as const),
      unverified: fc.boolean(),
    }),
    { selector: ({ name }) => name },
  )
  fc.assert(
    fc.property(candidates, (given) => {
      const { groups, unhealthy, unresponsive, excluded } = rank(
        given.map(({ name, codes, ...over }) => candidate(name, codes, over)),
      )

      const well = groups.flat()
      const asked = names([...well, ...unhealthy, ...unresponsive])
      expect(new Set(asked).size).toBe(asked.length)
      expect([...names(well), ...excluded.map((one) => one.endpoint)].sort()).toEqual(
        given.map(({ name }) => name).sort(),
      )
      for (const { name, codes, unverified } of given) {
        expect(asked.includes(name)).toBe(!unverified && !codes.includes('wrong-network'))
      }
      for (const group of groups) expect(group.length).toBeGreaterThan(0)
    }),
  )
})
