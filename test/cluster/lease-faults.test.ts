import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFakeClock } from '../support/fake-clock.ts'
import {
  advance,
  createSimulatedDatabase,
  createSimulatedMember,
  type SimulatedMember,
  type Travel,
} from '../support/simulated-cluster.ts'

const LEASE_MS = 4000
const INTERVAL_MS = 1000
const STEP_MS = 50
/** So many random scenarios; by default a few, always the same. */
const RUNS = process.env['HEARTLINE_TEST_RUNS']

/** A deterministic source of numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const Fault = fc.record({
  at: fc.integer({ min: 0, max: 25_000 }),
  kind: fc.constantFrom('kill', 'join', 'leave', 'pause', 'cut', 'lossy', 'outage'),
  member: fc.nat(9),
  forMs: fc.integer({ min: 100, max: 4 * LEASE_MS }),
})
type FaultKind = 'kill' | 'join' | 'leave' | 'pause' | 'cut' | 'lossy' | 'outage'

const Scenario = fc.record({
  vantages: fc.integer({ min: 1, max: 2 }),
  members: fc.integer({ min: 1, max: 4 }),
  networks: fc.integer({ min: 1, max: 5 }),
  seed: fc.integer({ min: 1, max: 2 ** 31 }),
  faults: fc.array(Fault, { maxLength: 12 }),
})

type Given = typeof Scenario extends fc.Arbitrary<infer Value> ? Value : never

/** Scenarios in which random search found a defect. */
const FOUND: [Given][] = [
  // A member that starts while the database is away, with a clock that is ahead.
  [
    {
      vantages: 1,
      members: 1,
      networks: 1,
      seed: 1,
      faults: [
        { at: 11_145, kind: 'kill', member: 7, forMs: 100 },
        { at: 0, kind: 'outage', member: 0, forMs: 10_018 },
        { at: 7018, kind: 'join', member: 0, forMs: 100 },
        { at: 13_018, kind: 'outage', member: 0, forMs: 100 },
      ],
    },
  ],
]

interface Trouble {
  isDatabaseAway: boolean
  /** By member: nothing arrives, or some is lost or late. */
  readonly links: Map<string, 'cut' | 'lossy'>
}

function createScenario({ vantages, members: count, networks: networkCount, seed, faults }: Given) {
  const world = createFakeClock()
  const database = createSimulatedDatabase(() => world.now())
  const random = numbers(seed)
  const trouble: Trouble = { isDatabaseAway: false, links: new Map() }
  const networks = Array.from({ length: networkCount }, (_, at) => `n${at}`)
  const members: SimulatedMember[] = []
  let lastFaultAt = world.monotonic()

  function travelOf(id: string): Travel {
    const link = trouble.links.get(id)
    if (trouble.isDatabaseAway || link === 'cut') return { thereMs: 0, backMs: 0, lost: 'statement' }
    const [thereMs, backMs] = [random() * 20, random() * 20]
    if (link !== 'lossy') return { thereMs, backMs, lost: 'no' }
    const fate = random()
    // Also later than the member waits: it happens when it is not expected any more.
    const late = fate > 0.7 ? random() * 6000 : 0
    return { thereMs: thereMs + late, backMs, lost: fate < 0.2 ? 'statement' : fate < 0.4 ? 'answer' : 'no' }
  }

  function join(): void {
    const at = members.length
    const id = `m${at}`
    const member = createSimulatedMember({
      id,
      vantage: `v${at % vantages}`,
      world,
      database,
      leaseMs: LEASE_MS,
      // Up to two hours wrong, in either direction.
      wallOffsetMs: Math.round((random() - 0.5) * 4 * 3_600_000),
      travel: () => travelOf(id),
      networks,
    })
    members.push(member)
    member.start()
  }

  function happen(kind: FaultKind, which: number, forMs: number): void {
    const alive = members.filter((member) => !member.isDead())
    const member = alive[which % Math.max(1, alive.length)]
    const until = (end: () => void) => {
      world.after(forMs, () => {
        lastFaultAt = world.monotonic()
        end()
      })
    }
    lastFaultAt = world.monotonic()
    switch (kind) {
      case 'join':
        return members.length < 12 ? join() : undefined
      case 'kill':
        return member?.kill()
      case 'leave':
        return void member?.leave()
      case 'pause':
        member?.pause()
        return until(() => member?.resume())
      case 'cut':
      case 'lossy':
        if (member === undefined) return
        trouble.links.set(member.id, kind)
        return until(() => trouble.links.delete(member.id))
      case 'outage':
        trouble.isDatabaseAway = true
        return until(() => {
          trouble.isDatabaseAway = false
        })
    }
  }

  for (let at = 0; at < count; at++) join()
  for (const { at, kind, member, forMs } of faults) world.after(at, () => happen(kind, member, forMs))

  const isWell = (member: SimulatedMember) =>
    member.isRunning() && !trouble.isDatabaseAway && trouble.links.get(member.id) === undefined
  return { world, database, members, networks, isWell, lastFaultAt: () => lastFaultAt }
}

/** What no scenario may end with: a network without or with two pollers in a place, unfair shares, or no keeper. */
function expectSettled(members: readonly SimulatedMember[], networks: readonly string[]): void {
  const alive = members.filter((member) => !member.isDead())
  for (const vantage of new Set(alive.map((member) => member.vantage))) {
    const here = alive.filter((member) => member.vantage === vantage)
    const pollers = networks.map((network) => here.filter((member) => member.polls(network)).length)
    expect(pollers).toEqual(networks.map(() => 1))
    const shares = here.map((member) => networks.filter((network) => member.polls(network)).length)
    expect(Math.max(...shares) - Math.min(...shares)).toBeLessThanOrEqual(1)
  }
  const keepers = networks.map((network) => alive.filter((member) => member.keeps(network)).length)
  expect(keepers).toEqual(networks.map(() => (alive.length === 0 ? 0 : 1)))
}

test('ten members that join and leave within a minute leave no network unpolled for longer than a moment', async () => {
  const faults = Array.from({ length: 20 }, (_, at) => ({
    at: at * 2900,
    kind: at % 2 === 0 ? ('join' as const) : ('leave' as const),
    member: at * 7,
    forMs: 0,
  }))
  const given = { vantages: 1, members: 2, networks: 12, seed: 1, faults }
  const { world, members, networks } = createScenario(given)
  let longest = 0
  const lastPolled = new Map(networks.map((network) => [network, Number.POSITIVE_INFINITY]))

  await advance(world, 80_000, STEP_MS, () => {
    for (const network of networks) {
      if (members.some((member) => member.polls(network))) lastPolled.set(network, world.monotonic())
      longest = Math.max(longest, world.monotonic() - (lastPolled.get(network) ?? 0))
    }
  })

  expect(members).toHaveLength(12)
  expect(longest).toBeLessThan(INTERVAL_MS)
  expectSettled(members, networks)
})

test('leases of a dead member are taken over although the database is slow', async () => {
  const world = createFakeClock()
  const database = createSimulatedDatabase(() => world.now())
  const networks = ['n0', 'n1', 'n2', 'n3']
  const [first, second] = ['m0', 'm1'].map((id) => {
    const travel = () => ({ thereMs: 400, backMs: 400, lost: 'no' as const })
    const options = { id, vantage: 'v0', world, database, leaseMs: LEASE_MS, wallOffsetMs: 0, travel, networks }
    return createSimulatedMember(options)
  })
  for (const member of [first, second]) member?.start()
  await advance(world, 60_000, STEP_MS)
  expect(networks.filter((network) => first?.keeps(network))).toHaveLength(2)

  first?.kill()
  await advance(world, 6 * LEASE_MS, STEP_MS)

  expect(networks.filter((network) => second?.polls(network) && second.keeps(network))).toEqual(networks)
})

test('a member that joins gets its share, one network at a time, although all takes long', async () => {
  const world = createFakeClock()
  const database = createSimulatedDatabase(() => world.now())
  const networks = Array.from({ length: 6 }, (_, at) => `n${at}`)
  const leaseMs = 2000
  const [first, second] = ['m0', 'm1'].map((id) => {
    const travel = () => ({ thereMs: 175, backMs: 175, lost: 'no' as const })
    const options = { id, vantage: 'v0', world, database, leaseMs, wallOffsetMs: 0, travel, networks }
    return createSimulatedMember({ ...options, handsOverInMs: 1000 })
  }) as [SimulatedMember, SimulatedMember]
  first.start()
  await advance(world, 20_000, STEP_MS)
  const polled = (member: SimulatedMember) => networks.filter((network) => member.polls(network)).length

  second.start()
  const shares: string[] = []
  await advance(world, 60_000, STEP_MS, () => {
    const now = `${polled(first)}+${polled(second)}`
    if (shares.at(-1) !== now) shares.push(now)
  })

  expect(shares).toEqual(['6+0', '5+0', '5+1', '4+1', '4+2', '3+2', '3+3'])
  expectSettled([first, second], networks)
})

test('a member that is impaired as soon as it polls is given a network once a minute, and its share when it is well', async () => {
  const world = createFakeClock()
  const database = createSimulatedDatabase(() => world.now())
  const networks = ['n0', 'n1', 'n2', 'n3']
  const pollsAny = (member: SimulatedMember) => networks.some((network) => member.polls(network))
  let isCut = false
  const [first, second] = ['m0', 'm1'].map((id): SimulatedMember => {
    const travel = () => ({ thereMs: 10, backMs: 10, lost: 'no' as const })
    const options = { id, vantage: 'v0', world, database, leaseMs: LEASE_MS, wallOffsetMs: 0, travel, networks }
    const isImpaired = (): boolean => isCut && id === 'm0' && pollsAny(member)
    const member: SimulatedMember = createSimulatedMember({ ...options, isImpaired })
    return member
  }) as [SimulatedMember, SimulatedMember]
  for (const member of [first, second]) member.start()
  await advance(world, 30_000, STEP_MS)

  isCut = true
  let wasPolling = true
  let times = 0
  await advance(world, 10 * 60_000, STEP_MS, () => {
    if (pollsAny(first) && !wasPolling) times++
    wasPolling = pollsAny(first)
  })
  expect([times > 5, times <= 10]).toEqual([true, true])

  isCut = false
  await advance(world, 75_000, STEP_MS)
  expectSettled([first, second], networks)
})

test('members that die, pause and lose statements never write with one token, and leave no network unpolled', async () => {
  await fc.assert(
    fc.asyncProperty(Scenario, async (given) => {
      const { world, database, members, networks, isWell, lastFaultAt } = createScenario(given)
      const lastPolled = new Map<string, number>()
      const gaps: string[] = []

      function look(): void {
        const now = world.monotonic()
        for (const vantage of new Set(members.map((member) => member.vantage))) {
          const here = members.filter((member) => member.vantage === vantage)
          for (const network of networks) {
            const key = `${vantage} ${network}`
            if (here.some((member) => member.polls(network)) || !here.some(isWell)) lastPolled.set(key, now)
            const since = Math.max(lastFaultAt(), lastPolled.get(key) ?? now)
            if (now - since > LEASE_MS + INTERVAL_MS && gaps.length === 0) gaps.push(`${key} unpolled at ${now}`)
          }
        }
      }

      await advance(world, 70_000, STEP_MS, look)

      expect(gaps).toEqual([])
      // By its own monotonic clock, each member stopped writing before another could claim.
      expect(members.flatMap(({ staleSends }) => staleSends)).toEqual([])
      // Tokens only grow, and each has one writer.
      const writers = new Map<string, string>()
      const newest = new Map<string, number>()
      for (const { member, vantage, network, token } of database.accepted) {
        const key = `${vantage} ${network}`
        expect(writers.get(`${key} ${token}`) ?? member).toBe(member)
        writers.set(`${key} ${token}`, member)
        expect(token).toBeGreaterThanOrEqual(newest.get(key) ?? 0)
        newest.set(key, token)
      }
      expectSettled(members, networks)
    }),
    { numRuns: Number(RUNS ?? 25), examples: FOUND, ...(RUNS === undefined && { seed: 20_261_122 }) },
  )
})
