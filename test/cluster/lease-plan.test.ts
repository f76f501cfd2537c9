import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { candidatesFor, planLeases, type Situation } from '../../src/cluster/lease-plan.ts'
import type { ClusterLease } from '../../src/core/cluster/report.ts'
import type { MemberRow } from '../../src/store/cluster-tables.ts'

const NOW = 100_000

const lease = (network: string, member: string | null, expiresAt = NOW + 1000): ClusterLease => ({
  kind: 'poll',
  vantage: 'fra1',
  network,
  member,
  token: 1,
  expiresAt,
})

const plan = (over: Partial<Situation>) =>
  planLeases({
    self: 'a',
    now: NOW,
    candidates: ['a', 'b'],
    isReplaying: false,
    networks: [],
    leases: [],
    mayTakeOver: true,
    isOverdue: () => false,
    ...over,
  })

const networks = (...weights: number[]) => weights.map((weight, at) => ({ name: `n${at}`, weight }))

describe('claiming', () => {
  test('members that start together claim different networks, and all of them', () => {
    const all = networks(1, 1, 1, 1, 1)

    const [a, b] = ['a', 'b'].map((self) => plan({ self, networks: all }).claim)

    expect([a, b]).toEqual([
      ['n0', 'n2', 'n4'],
      ['n1', 'n3'],
    ])
  })

  test('heavy networks are shared by their work, not by their number', () => {
    const { claim } = plan({ networks: networks(10, 1, 1, 1) })

    expect(claim).toEqual(['n0'])
  })

  test('an expired lease goes to the member with the least work', () => {
    const leases = [lease('n0', 'a'), lease('n1', 'gone', NOW)]

    expect(plan({ networks: networks(1, 1), leases })).toMatchObject({ claim: [], left: 1 })
    expect(plan({ self: 'b', networks: networks(1, 1), leases })).toMatchObject({ claim: ['n1'], left: 0 })
  })

  test('anyone claims what the member whose share it is does not', () => {
    const leases = [lease('n0', 'a'), lease('n1', null)]

    expect(plan({ networks: networks(1, 1), leases, isOverdue: (name) => name === 'n1' }).claim).toEqual(['n1'])
  })

  test('an own lease that has expired is renewed, not claimed', () => {
    expect(plan({ networks: networks(1), leases: [lease('n0', 'a', NOW - 1)] }).claim).toEqual([])
  })

  test('after the database was away, what others held is left to them, and what was free is claimed', () => {
    const leases = [lease('n0', 'b', NOW - 1), lease('n1', null)]

    const { claim } = plan({ networks: networks(1, 1), candidates: ['a'], leases, mayTakeOver: false })

    expect(claim).toEqual(['n1'])
  })
})

describe('giving back', () => {
  const held = (count: number, member: string) =>
    networks(...Array(count).fill(1)).map(({ name }) => lease(name, member))

  test('a member that holds all gives a new one some of it, a tenth at once', () => {
    expect(plan({ networks: networks(1, 1, 1), leases: held(3, 'a') }).release).toEqual(['n0'])
    expect(plan({ networks: networks(...Array(40).fill(1)), leases: held(40, 'a') }).release).toHaveLength(4)
  })

  test('nothing is given that would only change places', () => {
    expect(plan({ networks: networks(1), leases: held(1, 'a') }).release).toEqual([])
    expect(plan({ networks: networks(1, 1), leases: [lease('n0', 'a'), lease('n1', 'b')] }).release).toEqual([])
  })

  test('only the member with the most work gives', () => {
    const all = networks(1, 1, 1, 1, 1)
    const leases = [lease('n0', 'a'), lease('n1', 'a'), lease('n2', 'b'), lease('n3', 'b'), lease('n4', 'b')]

    const of = (self: string) => plan({ self, networks: all, leases, candidates: ['a', 'b', 'c'] }).release

    expect([of('a'), of('b'), of('c')]).toEqual([[], ['n2'], []])
  })

  test('while a network waits for its next member, nothing more is given', () => {
    const leases = [lease('n0', 'a'), lease('n1', 'a'), lease('n2', 'a'), lease('n3', null)]

    expect(plan({ networks: networks(1, 1, 1, 1), leases }).release).toEqual([])
  })

  test('a member that is no longer suited gives all it has, little by little', () => {
    expect(plan({ networks: networks(1, 1), leases: held(2, 'a'), candidates: ['b'] }).release).toHaveLength(1)
  })

  test('any situation settles: members that follow the plan end with shares that differ by one network at most', () => {
    const holders = fc.array(fc.constantFrom('a', 'b', 'c', 'd', null), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(holders, fc.integer({ min: 1, max: 4 }), (initial, count) => {
        const candidates = ['a', 'b', 'c', 'd'].slice(0, count)
        const all = networks(...initial.map(() => 1))
        let leases = initial.map((holder, at) =>
          lease(`n${at}`, holder !== null && candidates.includes(holder) ? holder : null),
        )

        for (let round = 0; round < 40; round++) {
          for (const self of candidates) {
            const { claim, release } = plan({ self, networks: all, candidates, leases })
            leases = leases.map((row) =>
              claim.includes(row.network)
                ? { ...row, member: self }
                : release.includes(row.network)
                  ? { ...row, member: null }
                  : row,
            )
          }
        }

        const shares = candidates.map((one) => leases.filter(({ member }) => member === one).length)
        expect(shares.reduce((sum, share) => sum + share, 0)).toBe(all.length)
        expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
        expect(candidates.flatMap((self) => plan({ self, networks: all, candidates, leases }).release)).toEqual([])
      }),
    )
  })
})

describe('who shares leases', () => {
  const member = (id: string, over: Partial<MemberRow> = {}): MemberRow => ({
    id,
    vantage: 'fra1',
    version: '1',
    url: null,
    networksDigest: 'same',
    impaired: false,
    replaying: false,
    startedAt: 0,
    seenAt: NOW,
    ...over,
  })

  const others = [
    member('b'),
    member('dead', { seenAt: NOW - 1000 }),
    member('impaired', { impaired: true }),
    member('nyc', { vantage: 'nyc1' }),
    member('other', { networksDigest: 'other' }),
  ]

  test('live members of the vantage with the same networks poll, those of all vantages keep', () => {
    expect(candidatesFor('poll', member('a'), others, NOW - 1000)).toEqual(['a', 'b'])
    expect(candidatesFor('keep', member('a'), others, NOW - 1000)).toEqual(['a', 'b', 'nyc'])
  })

  test('impaired members share only among themselves', () => {
    const impaired = member('a', { impaired: true })

    expect(candidatesFor('poll', impaired, others, NOW - 1000)).toEqual(['b'])
    expect(candidatesFor('poll', impaired, others.slice(1), NOW - 1000)).toEqual(['a', 'impaired'])
  })

  test('members whose spool is not in the database yet poll, and keep only if no other member can', () => {
    const replaying = member('a', { replaying: true })

    expect(candidatesFor('poll', replaying, others, NOW - 1000)).toEqual(['a', 'b'])
    expect(candidatesFor('keep', replaying, others, NOW - 1000)).toEqual(['b', 'nyc'])
    expect(candidatesFor('keep', replaying, [member('impaired', { impaired: true })], NOW - 1000)).toEqual(['impaired'])
    expect(candidatesFor('keep', replaying, [member('b', { replaying: true })], NOW - 1000)).toEqual(['a', 'b'])
  })
})
