import { describe, expect, test } from 'vitest'
import { createNetworkVotes } from '../../src/cluster/network-votes.ts'
import { writeHealth } from '../../src/cluster/vote-codec.ts'
import type { Verdict } from '../../src/core/verdict/condition.ts'
import { stateAt } from '../../src/core/verdict/health.ts'
import { createRandom } from '../proof/random.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { network } from '../support/network.ts'
import {
  advance,
  createSimulatedDatabase,
  createSimulatedMember,
  type SimulatedMember,
  type SimulatedMemberOptions,
} from '../support/simulated-cluster.ts'
import { aVote, condition, VOTED } from '../support/votes.ts'

const LEASE_MS = 4000

function createWorld() {
  const world = createFakeClock()
  const database = createSimulatedDatabase(() => world.now())
  let isAway = false
  const pass = (ms: number) => advance(world, ms, 20, () => undefined)

  function member(id: string, vantage: string, over: Partial<SimulatedMemberOptions> = {}): SimulatedMember {
    const created = createSimulatedMember({
      id,
      vantage,
      world,
      database,
      leaseMs: LEASE_MS,
      wallOffsetMs: 0,
      travel: () => ({ thereMs: 2, backMs: 2, lost: isAway ? 'statement' : 'no' }),
      networks: ['n'],
      ...over,
    })
    created.start()
    return created
  }

  return {
    world,
    database,
    pass,
    member,
    setAway(is: boolean) {
      isAway = is
    },
    /** What a member shows of the only endpoint. */
    shows(of: SimulatedMember, name = 'n') {
      const entry = of.shown.entry(name, 'own-1')
      if (entry === undefined) throw new Error('no endpoint')
      return { ...entry, state: stateAt(entry.health, world.now()) }
    },
  }
}

const down = (since: number) => ({
  verdict: 'down' as Verdict,
  since,
  conditions: [condition('unreachable', 'down', since, 'connection refused')],
})

describe('what members show', () => {
  test('an endpoint that one place of three does not reach is degraded on the page of each member, and says from where', async () => {
    const { pass, member, shows, world } = createWorld()
    const members = [member('a', 'fra1'), member('b', 'nyc1'), member('c', 'sin1')]
    await pass(4000)
    members[0]?.says('n', down(world.now()))
    await pass(3000)

    for (const one of members) {
      const { state, health, confirmedBy, places } = shows(one)
      expect(state).toBe('degraded')
      expect(health.conditions[0]).toMatchObject({
        code: 'partial',
        message: 'down from fra1 only: connection refused; up from nyc1, sin1',
      })
      expect([confirmedBy, places.map((place) => place.state)]).toEqual([1, ['down', 'up', 'up']])
    }

    members[1]?.says('n', down(world.now()))
    await pass(3000)

    for (const one of members) expect(shows(one)).toMatchObject({ state: 'down', confirmedBy: 2 })
    members[0]?.says('n', { verdict: 'up', since: world.now(), conditions: [] })
    members[1]?.says('n', { verdict: 'up', since: world.now(), conditions: [] })
    await pass(3000)
    for (const one of members) expect(shows(one)).toMatchObject({ state: 'up', confirmedBy: 3 })
  })

  test('a changed verdict reaches the others long before the next second', async () => {
    const { pass, member, shows, world } = createWorld()
    const [a, b] = [member('a', 'fra1'), member('b', 'nyc1')]
    await pass(4000)
    // Right after an exchange, so that the next regular one is almost a second away.
    await pass(20)
    a.says('n', down(world.now()))
    a.pollNow()

    await pass(200)

    expect(shows(b).health.conditions[0]?.code).toBe('partial')
  })

  test.each([
    ['a second', 1000, true],
    ['two seconds if notifications are lost', 2000, false],
  ] as const)('a changed verdict is shown by all ten members within %s', async (_, withinMs, hearsHints) => {
    const { pass, member, shows, world } = createWorld()
    const random = createRandom(3)
    const upTo = (most: number) => Math.floor(random() * most)
    const travel = () => ({ thereMs: upTo(50), backMs: upTo(50), lost: 'no' }) as const
    const members = Array.from({ length: 10 }, (_, at) => member(`m${at}`, `v${at}`, { travel, hearsHints }))
    await pass(6000)

    for (let change = 0; change < 40; change++) {
      await pass(20 * upTo(100))
      const polled = members[upTo(members.length)] ?? expect.fail('there are ten')
      const isUp = shows(polled).places.find(({ vantage }) => vantage === polled.vantage)?.state === 'up'
      polled.says('n', isUp ? down(world.now()) : { verdict: 'up', since: world.now(), conditions: [] })
      polled.pollNow()

      await pass(withinMs)

      for (const one of members) {
        const place = shows(one).places.find(({ vantage }) => vantage === polled.vantage)
        expect([change, one.id, place?.state]).toEqual([change, one.id, isUp ? 'down' : 'up'])
      }
    }
  })

  test('members of one place share its networks, and each sees the polls of the other', async () => {
    const { pass, member, shows } = createWorld()
    const [a, b] = [member('a', 'fra1', { networks: ['n', 'o'] }), member('b', 'fra1', { networks: ['n', 'o'] })]

    await pass(6000)

    expect([a, b].map((one) => ['n', 'o'].filter((name) => one.polls(name)).length)).toEqual([1, 1])
    for (const one of [a, b])
      for (const name of ['n', 'o']) {
        expect(shows(one, name)).toMatchObject({ state: 'up', confirmedBy: 1 })
        expect(one.local.entry(name, 'own-1')?.health.verdict).toBe('up')
      }
  })

  test('the gateway of a member sees what another one of its place polls each second as long as its votes count', async () => {
    const { pass, member, world } = createWorld()
    // Polls, votes and reads come at different times of a second.
    const owner = member('a', 'fra1')
    await pass(1300)
    const travel = () => ({ thereMs: 150, backMs: 150, lost: 'no' }) as const
    const other = member('b', 'fra1', { travel, pollsFrom: Number.POSITIVE_INFINITY })
    await pass(4000)
    expect([owner.polls('n'), other.polls('n')]).toEqual([true, false])
    const seen = () => stateAt(other.local.entry('n', 'own-1')?.health ?? expect.fail('it is configured'), world.now())

    for (let step = 0; step < 100; step++) {
      await pass(40)
      expect([step, seen()]).toEqual([step, 'up'])
    }

    // A poll that failed by the own fault of its place.
    owner.says('n', { validUntil: 0 })
    await pass(2500)
    expect(seen()).toBe('unknown')
  })

  test('a wall clock that is an hour off changes neither leases nor votes', async () => {
    const { pass, member, shows } = createWorld()
    const [a, b] = [member('a', 'fra1', { wallOffsetMs: 3_600_000 }), member('b', 'nyc1', { wallOffsetMs: -3_600_000 })]

    await pass(5000)

    for (const one of [a, b]) expect(shows(one)).toMatchObject({ state: 'up', confirmedBy: 2 })
  })

  test('a member whose machine was suspended keeps nothing until the database has renewed its lease', async () => {
    const { pass, member, world } = createWorld()
    const { cluster } = member('a', 'fra1')
    await pass(5000)
    expect(cluster.mayKeep('n')).toBe(true)

    // Its monotonic clock stood still meanwhile.
    world.stepWall(60_000)

    expect(cluster.mayKeep('n')).toBe(false)
    await pass(1100)
    expect(cluster.mayKeep('n')).toBe(true)
  })

  test('votes of an impaired member do not count: a place without network makes nothing down', async () => {
    const { pass, member, shows, world } = createWorld()
    let isImpaired = false
    const [a, b] = [member('a', 'fra1', { isImpaired: () => isImpaired }), member('b', 'nyc1')]
    await pass(4000)
    isImpaired = true
    a.says('n', down(world.now()))

    await pass(3000)

    for (const one of [a, b]) {
      expect(shows(one)).toMatchObject({ state: 'up', confirmedBy: 1 })
      expect(shows(one).places.map(({ counted }) => counted)).toEqual([false, true])
    }
  })

  test('a vote of another version that cannot be read changes nothing', async () => {
    const { pass, member, shows, database } = createWorld()
    const a = member('a', 'fra1')
    await pass(3000)
    const foreign = { kind: 'poll', vantage: 'nyc1', network: 'n' } as const
    const [lease] = database.tables.claim('x', [foreign], 60_000)

    for (const value of [null, 'text', [], { verdict: 'sideways' }, { verdict: 'down', since: 'yesterday' }]) {
      for (const endpoint of ['own-1', '', 'unknown', '__proto__'])
        database.tables.writeVotes(
          'x',
          'nyc1',
          [{ network: 'n', endpoint, token: lease?.token ?? 0, polledAt: 1e15, value }],
          false,
        )
      await pass(1000)
    }

    expect(shows(a)).toMatchObject({ state: 'up', confirmedBy: 1 })
    expect(shows(a).places).toHaveLength(1)
  })

  test('a member whose votes the database refuses shows those of the others', async () => {
    const { pass, member, shows, world } = createWorld()
    const [a, b] = [member('a', 'fra1', { hasVotesRefused: true }), member('b', 'nyc1')]
    await pass(4000)
    b.says('n', down(world.now()))

    await pass(3000)

    expect(shows(a).places.map(({ vantage, state }) => [vantage, state])).toEqual([
      ['fra1', 'up'],
      ['nyc1', 'down'],
    ])
  })

  test('a member that loses the database does not know whether others live, and calls only those gone that were before', async () => {
    const { pass, member, setAway } = createWorld()
    const [a, b, c] = [member('a', 'fra1'), member('b', 'nyc1'), member('c', 'sin1')]
    const liveOf = (of: SimulatedMember) => of.cluster.report().members.map(({ isLive }) => isLive)
    await pass(3000)
    c.kill()
    await pass(LEASE_MS + 2000)
    expect(liveOf(a)).toEqual([true, true, false])

    setAway(true)
    await pass(LEASE_MS + 5000)

    expect([liveOf(a), liveOf(b)]).toEqual([
      [true, null, false],
      [null, true, false],
    ])
    setAway(false)
    await pass(4000)
    expect(liveOf(a)).toEqual([true, true, false])
  })

  test('what a member polled for itself during an outage of the database is not replaced by an older vote', () => {
    const self = { vantage: 'fra1', member: 'b' }
    const of = network()
    const votes = createNetworkVotes({ network: of, endpoints: [VOTED], self, earlier: undefined })
    const [before, now] = [1_000_000, 1_120_000]
    const storedAt = (at: number) => {
      const { health, turns } = aVote('fra1', 'up', 0, at)
      const value = JSON.parse(JSON.stringify(writeHealth(health, turns)))
      return { vantage: 'fra1', network: of.name, endpoint: VOTED.name, member: 'a', polledAt: at, value }
    }
    votes.readHealth(storedAt(before), now)
    votes.polled(aVote('fra1', 'down', now, now).health)

    expect(votes.readHealth(storedAt(before), now)).toBeNull()
    expect(votes.slots.get(VOTED.name)?.votes.get('fra1')?.health).toMatchObject({ verdict: 'down', lastPolledAt: now })
    expect(votes.readHealth(storedAt(now + 1), now + 1)).toMatchObject({ verdict: 'up' })
  })

  test('a poll from before the clock of the database was known does not keep votes out', () => {
    const self = { vantage: 'fra1', member: 'b' }
    const votes = createNetworkVotes({ network: network(), endpoints: [VOTED], self, earlier: undefined })
    const { health, turns } = aVote('fra1', 'up', 0, 1_000_000)
    const value = JSON.parse(JSON.stringify(writeHealth(health, turns)))
    const vote = { vantage: 'fra1', network: 'ethereum', endpoint: VOTED.name, member: 'a', polledAt: 1_000_000, value }
    votes.polled(aVote('fra1', 'down', 0, 4_600_000).health)

    expect(votes.readHealth(vote, 1_000_000)).toMatchObject({ verdict: 'up' })
  })

  test('a network that only some members monitor is polled by those, and each sees that the others differ', async () => {
    const { pass, member } = createWorld()
    const [a, b] = [member('a', 'fra1', { networks: ['n', 'o'] }), member('b', 'fra1', { networks: ['n', 'p'] })]

    await pass(6000)

    expect([a.polls('o'), b.polls('p'), a.polls('n') !== b.polls('n')]).toEqual([true, true, true])
    for (const one of [a, b])
      expect(one.cluster.report().members.map(({ isSelf, differs }) => differs !== isSelf)).toEqual([true, true])
  })
})

describe('a change of the owner', () => {
  test('the new one shows the last vote, and writes none before its first poll', async () => {
    const { pass, member, shows, world, database } = createWorld()
    const a = member('a', 'fra1')
    await pass(3000)
    a.says('n', down(world.now()))
    await pass(2000)
    const since = shows(a).health.since
    const b = member('b', 'fra1', { pollsFrom: Number.POSITIVE_INFINITY })
    await pass(1000)
    a.kill()

    await pass(LEASE_MS + 1500)

    expect(b.polls('n')).toBe(true)
    expect(database.accepted.filter((write) => write.member === 'b')).toEqual([])
    expect(shows(b).health).toMatchObject({ verdict: 'down', since })
  })

  test('a member that starts once the lease has expired continues from the last vote of its place', async () => {
    const { pass, member, shows, world } = createWorld()
    const a = member('a', 'fra1')
    await pass(3000)
    const since = world.now()
    a.says('n', down(since))
    await pass(2000)
    a.kill()
    await pass(LEASE_MS + 1000)

    const b = member('b', 'fra1', { pollsFrom: Number.POSITIVE_INFINITY })
    await pass(1000)

    expect(b.polls('n')).toBe(true)
    expect(b.local.entry('n', 'own-1')?.health).toMatchObject({ verdict: 'down', since })
    expect(shows(b).places).toMatchObject([{ vantage: 'fra1', counted: false }])
  })

  test('the first vote of a place that was gone tells all members since when it is back', async () => {
    const { pass, member, shows, world } = createWorld()
    const a = member('a', 'fra1')
    const other = member('c', 'nyc1')
    await pass(3000)
    a.says('n', down(world.now()))
    await pass(2000)
    expect(shows(other).places[0]).toMatchObject({ vantage: 'fra1', said: 'down', back: undefined })
    a.kill()
    const { intervalMs } = shows(other).health.endpoint
    await pass(4 * intervalMs + 6000)
    expect(shows(other).places[0]).toMatchObject({ counted: false, said: 'down' })

    const goneUntil = world.now()
    const b = member('b', 'fra1')
    await pass(3000)

    const [place] = shows(other).places
    expect(place).toMatchObject({ vantage: 'fra1', counted: true })
    expect(place?.back).toBeGreaterThanOrEqual(goneUntil)
    expect(shows(b).places[0]?.back).toBe(place?.back)
  })

  test('a fork goes on while the new one has not seen both sides twice, and ends if its polls show none by then', async () => {
    const { pass, member, world } = createWorld()
    const fork = { since: world.now(), height: 7, shard: null, branches: [] }
    const a = member('a', 'fra1')
    const other = member('c', 'nyc1')
    for (const one of [a, other]) one.seesFork(fork)
    await pass(3000)
    const b = member('b', 'fra1')
    await pass(2000)
    const isForked = () => [b, other].map(({ shown }) => shown.network('n')?.standing.forked)
    expect([a.polls('n'), isForked()]).toEqual([true, [true, true]])

    void a.leave()
    for (let second = 0; second < 4; second++) {
      await pass(1000)
      expect([b.polls('n'), isForked()]).toEqual([true, [true, true]])
    }
    await pass(3000)

    expect(isForked()).toEqual([false, false])
  })

  test('the last holder learns whether it gives the network back or another member has taken it', async () => {
    const { pass, member } = createWorld()
    const both = { networks: ['n', 'o'] }
    const a = member('a', 'fra1', both)
    await pass(2000)
    const b = member('b', 'fra1', both)
    await pass(4000)
    const [given, left] = b.polls('n') ? ['n', 'o'] : ['o', 'n']
    expect(a.released).toEqual([[given, true]])

    a.pause()
    await pass(LEASE_MS + 2000)
    expect(b.polls(left)).toBe(true)
    a.resume()
    await pass(100)

    expect(a.released).toEqual([
      [given, true],
      [left, false],
    ])
  })

  test('a member that stops frees its leases, and another polls within a second', async () => {
    const { pass, member } = createWorld()
    const a = member('a', 'fra1')
    await pass(2000)
    const b = member('b', 'fra1')
    await pass(2000)
    expect([a.polls('n'), b.polls('n')]).toEqual([true, false])

    void a.leave()
    await pass(300)

    expect([b.polls('n'), b.keeps('n')]).toEqual([true, true])
    expect(b.cluster.report().members.map(({ id }) => id)).toEqual(['b'])
  })
})

describe('a member whose earlier run has left a spool', () => {
  const networks = ['n0', 'n1', 'n2', 'n3', 'n4', 'n5']
  const kept = (of: SimulatedMember) => networks.filter((name) => of.keeps(name))

  test('polls, and leaves the incidents to others until the spool is in the database', async () => {
    const { pass, member } = createWorld()
    let isReplaying = true
    const a = member('a', 'fra1', { networks, isReplaying: () => isReplaying })
    const b = member('b', 'nyc1', { networks })
    await pass(5000)
    expect([kept(a), kept(b)]).toEqual([[], networks])
    expect(networks.every((name) => a.polls(name))).toBe(true)

    isReplaying = false
    await pass(20_000)

    expect([kept(a).length, kept(b).length]).toEqual([3, 3])
  })

  test('keeps incidents while no other member can, and gives all of them to the first one that can', async () => {
    const { pass, member } = createWorld()
    const a = member('a', 'fra1', { networks, isReplaying: () => true })
    await pass(3000)
    expect(kept(a)).toEqual(networks)

    const b = member('b', 'nyc1', { networks })
    await pass(3000)
    expect([kept(a), kept(b)]).toEqual([[], networks])
    b.kill()
    await pass(LEASE_MS + 2000)

    expect(kept(a)).toEqual(networks)
  })
})

test('a database that takes half a second for each answer is not away', async () => {
  const { world, pass, member } = createWorld()
  const slow = { travel: () => ({ thereMs: 250, backMs: 250, lost: 'no' }) as const }
  const [a] = [member('a', 'fra1', slow), member('b', 'nyc1', slow)]
  await pass(10_000)

  const heard: boolean[] = []
  await advance(world, 10_000, 20, () => heard.push(a.cluster.hearsOthers()))

  expect(new Set(heard)).toEqual(new Set([true]))
})

describe('while the database is away', () => {
  test('owned networks go on, those of others are polled without a lease once their votes have expired', async () => {
    const { pass, member, setAway, shows } = createWorld()
    const both = { networks: ['n', 'o'] }
    const [a, b] = [member('a', 'fra1', both), member('b', 'fra1', both)]
    await pass(5000)
    const owned = ['n', 'o'].filter((name) => a.polls(name))

    expect(a.cluster.hearsOthers()).toBe(true)
    setAway(true)
    await pass(2100)
    expect(['n', 'o'].filter((name) => a.polls(name))).toEqual(owned)
    expect(a.cluster.hearsOthers()).toBe(false)
    await pass(7900)

    for (const one of [a, b]) for (const name of ['n', 'o']) expect([name, one.polls(name)]).toEqual([name, true])
    expect(['n', 'o'].map((name) => a.cluster.pollToken(name) !== null)).toEqual(
      ['n', 'o'].map((name) => owned.includes(name)),
    )
    setAway(false)
    await pass(LEASE_MS + 4000)
    for (const name of ['n', 'o']) expect(Number(a.polls(name)) + Number(b.polls(name))).toBe(1)
    expect(['n', 'o'].filter((name) => a.polls(name))).toEqual(owned)
    expect(shows(a)).toMatchObject({ state: 'up' })
    expect(a.cluster.hearsOthers()).toBe(true)
  })
})
