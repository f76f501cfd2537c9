import { describe, expect, onTestFinished, test } from 'vitest'
import { mergeVotes } from '../../src/core/cluster/merge.ts'
import { isBackAt, type Vote } from '../../src/core/cluster/vote.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { locationOf } from '../../src/core/host-location.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import type { Verdict } from '../../src/core/verdict/condition.ts'
import { unpolled } from '../../src/core/verdict/health.ts'
import { createNotifier, type NotifierDeps } from '../../src/notify/notifier.ts'
import { createSilences } from '../../src/notify/silences.ts'
import { beganAt } from '../../src/poll/heard-places.ts'
import { createIncidentRecorder } from '../../src/poll/incident-recorder.ts'
import { createKeeper } from '../../src/poll/keeper.ts'
import { groupMembersOf } from '../../src/poll/polled-endpoints.ts'
import { type Board, createBoard, newTally } from '../../src/state/board.ts'
import { createIncidentLog, type IncidentLog } from '../../src/state/incident-log.ts'
import type { Store } from '../../src/store/store.ts'
import type { MergedRecord } from '../../src/store/writes.ts'
import { createRandom } from '../proof/random.ts'
import { opened } from '../store/setting.ts'
import { until } from '../support/daemon.ts'
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts'
import { incident, incidentRecord, START } from '../support/incident.ts'
import { recordingLog } from '../support/log.ts'
import { endpoint, network } from '../support/network.ts'

const OWN = endpoint('own')
const UNSEEN = { halts: [], fork: null }
const INTERVAL = 10_000

/** A poll that fails by the place's own fault is no verdict, and without a poll the last vote expires. */
type Said = Verdict | 'own fault' | 'no poll'

function notifierOf(
  clock: FakeClock,
  store: Store,
  board: Board,
  incidents: IncidentLog,
  tells: NotifierDeps['tells'],
) {
  const log = recordingLog()
  const polls = () => ({ firstRoundDone: true, lateMs: 0 })
  const silences = createSilences({ clock, store, log })
  const deps = { clock, log, board, incidents, store, silences, tells, polls, trouble: () => [], random: () => 1 }
  const notifier = createNotifier(deps)
  const target = { type: 'alertmanager' as const, urls: [] }
  const channel = { name: 'c', minState: 'degraded' as const, repeatMs: null, groupWaitMs: 0, ca: null, target }
  notifier.configure({ channels: [channel], routes: null, ratePerMinute: 30, heartbeat: null }, null)
  notifier.start()
  onTestFinished(() => notifier.stop())
  return notifier
}

/** A member that shows merged verdicts, and may keep the network. */
async function house({
  clock = createFakeClock(),
  store,
  live = [],
  leaseMs = 0,
  endpoints = [OWN],
  pollMs = 0,
  originOf,
  hasNotifier = false,
}: {
  clock?: FakeClock
  store?: Store
  live?: readonly string[]
  leaseMs?: number
  endpoints?: readonly Endpoint[]
  /** How long a poll takes. */
  pollMs?: number
  /** Host and port of each endpoint, as seen from this member's place. */
  originOf?: (endpoint: Endpoint) => string
  /** Whether messages are written, to a channel that takes none. */
  hasNotifier?: boolean
} = {}) {
  const kept = store ?? (await opened({ path: ':memory:', clock })).store
  const board = createBoard()
  const incidents = createIncidentLog()
  const states: MergedRecord[] = []
  const told: string[] = []
  const notifier = hasNotifier ? notifierOf(clock, kept, board, incidents, (network) => keeper.keeps(network)) : null
  const keeper = createKeeper({
    board,
    incidents,
    store: kept,
    reads: kept,
    saveMerged: (state) => states.push(state),
    liveVantages: () => new Set(live),
    heardMsAgo: () => clock.now() - database.readAt,
    hearsOthers: () => !(database.isAway && database.isNoticed),
    leaseMs,
    notify: (one) => {
      told.push(`${one.state}${one.closedAt === null ? '' : ' closed'}`)
      return []
    },
    notifier: {
      async adopt(names) {
        told.push(`adopts ${[...names].join(', ')}`)
        await notifier?.adopt(names, kept)
      },
      async adoptLate(late) {
        if (database.isAway) throw new Error('away')
        told.push(`adopts ${late.map(({ id }) => id).join(', ')}`)
      },
      leave: async (name) => void told.push(`leaves ${name}`),
    },
    clock,
    log: recordingLog(),
  })
  onTestFinished(() => keeper.stop())
  const since = new Map<string, { verdict: Verdict; at: number }>()
  const database = { isAway: false, isNoticed: true, wasAway: false, readAt: clock.now() }
  const heard = new Map<string, Map<string, Vote>>()
  const written = new Map<string, Vote>()
  const fresh = endpoints.map((of) => ({ health: unpolled(of, clock.now()), tally: newTally(of.checks) }))
  board.configure([{ network: network(), fresh }])
  keeper.configure([polled(endpoints, originOf)])

  function voteOf(of: Endpoint, vantage: string, said: Said): Vote {
    const last = heard.get(of.name)?.get(vantage)
    if (said === 'no poll' && last !== undefined) return last
    const now = clock.now()
    const key = `${of.name} ${vantage}`
    const before = since.get(key)
    const verdict = said === 'own fault' || said === 'no poll' ? (before?.verdict ?? 'up') : said
    const at = before?.verdict === verdict ? before.at : now
    since.set(key, { verdict, at })
    const conditions =
      verdict === 'up' ? [] : [{ code: 'unreachable', verdict, message: 'connection refused', since: at } as const]
    const health = {
      ...unpolled(of, now),
      verdict,
      since: at,
      conditions,
      lastPolledAt: now - pollMs,
      validUntil: said === 'own fault' ? now - pollMs : now + 2 * INTERVAL,
    }
    const own = written.get(key)
    const back = own !== undefined && isBackAt(now, own) ? now : own?.turns.back
    const vote = { vantage, member: vantage, health, turns: { down: at, up: at, back }, isImpaired: false }
    written.set(key, vote)
    return vote
  }

  /** An interval passes, and every place polls every endpoint. While the database is away, only fra1 is heard. */
  async function sayOfAll(verdictsOf: (endpoint: Endpoint) => Record<string, Said>): Promise<void> {
    await clock.advance(INTERVAL)
    database.wasAway ||= database.isAway
    if (!database.isAway) database.readAt = clock.now()
    for (const of of endpoints) {
      // Votes of places that say nothing more expire.
      const votes = new Map(database.wasAway ? heard.get(of.name) : [])
      for (const [vantage, verdict] of Object.entries(verdictsOf(of))) {
        const vote = voteOf(of, vantage, verdict)
        if (!database.isAway || vantage === 'fra1') votes.set(vantage, vote)
      }
      heard.set(of.name, votes)
      const { health, places, confirmedBy } = mergeVotes(of, [...votes.values()], 'majority', clock.now())
      board.put(health, true, { places, confirmedBy })
    }
    keeper.merged('ethereum', UNSEEN)
  }

  const say = (verdicts: Record<string, Said>) => sayOfAll(() => verdicts)

  async function keep(): Promise<void> {
    void keeper.keep('ethereum')
    await until(() => told.includes('adopts ethereum'), 'it keeps the network')
  }

  const stored = async (): Promise<Incident[]> => {
    await kept.flush()
    return (await kept.incidents({ limit: 10 })).map(({ value }) => value as Incident)
  }
  return { clock, store: kept, database, board, incidents, states, told, keeper, say, sayOfAll, keep, stored }
}

const polled = (endpoints: readonly Endpoint[], originOf: (endpoint: Endpoint) => string = () => '127.0.0.1:8545') => ({
  network: network(),
  endpoints: endpoints.map((one) => ({ endpoint: one, at: locationOf('127.0.0.1'), origin: originOf(one) })),
})

test('an endpoint down from one of three places is degraded, and from two the same incident is down and names them', async () => {
  const { keep, say, stored, incidents, told } = await house()
  await keep()
  await say({ fra1: 'up', nyc1: 'up', sin1: 'up' })

  await say({ fra1: 'down', nyc1: 'up', sin1: 'up' })
  const [partial] = incidents.open()
  await say({ fra1: 'down', nyc1: 'down', sin1: 'up' })
  const [whole] = await stored()
  await say({ fra1: 'up', nyc1: 'up', sin1: 'up' })

  expect(partial).toMatchObject({ state: 'degraded', vantages: ['fra1'] })
  expect(partial?.conditions[0]?.message).toBe('down from fra1 only: connection refused; up from nyc1, sin1')
  expect(whole).toMatchObject({ id: partial?.id, state: 'down', vantages: ['fra1', 'nyc1'] })
  expect(await stored()).toMatchObject([{ id: partial?.id, state: 'down', closedAt: expect.any(Number) }])
  expect(told).toEqual(['adopts ethereum', 'degraded', 'down', 'down closed'])
})

test('a halt names the places that see it, not those that see an endpoint unwell', async () => {
  const { keep, say, stored, keeper, clock } = await house()
  await keep()
  await say({ fra1: 'degraded', nyc1: 'up', sin1: 'up' })
  const halts = [{ shard: null, since: clock.now() }]

  keeper.merged('ethereum', { halts, fork: null, seenFrom: { halted: ['nyc1', 'sin1'], forked: [] } })
  expect(await stored()).toMatchObject([{ cause: 'halted', vantages: ['nyc1', 'sin1'] }])
  await clock.advance(INTERVAL)
  keeper.merged('ethereum', { halts, fork: null, seenFrom: { halted: ['fra1', 'nyc1', 'sin1'], forked: [] } })

  expect(await stored()).toMatchObject([{ cause: 'halted', vantages: ['fra1', 'nyc1', 'sin1'] }])
})

test('a place that joins in without a change of the state is named too, without a message', async () => {
  const { keep, say, stored, incidents, told } = await house()
  await keep()
  await say({ fra1: 'down', nyc1: 'down', sin1: 'up' })

  await say({ fra1: 'down', nyc1: 'down', sin1: 'down' })
  expect(incidents.open()).toMatchObject([{ state: 'down', vantages: ['fra1', 'nyc1', 'sin1'] }])
  expect(await stored()).toMatchObject([{ vantages: ['fra1', 'nyc1', 'sin1'] }])
  await say({ fra1: 'up', nyc1: 'up', sin1: 'up' })

  expect(await stored()).toMatchObject([{ vantages: ['fra1', 'nyc1', 'sin1'], closedAt: expect.any(Number) }])
  expect(told).toEqual(['adopts ethereum', 'down', 'down closed'])
})

test('the incident of a partial outage says what each place sees now', async () => {
  const { keep, say, incidents } = await house()
  await keep()
  await say({ fra1: 'down', nyc1: 'up', sin1: 'up' })
  const message = () => incidents.open()[0]?.conditions.find(({ code }) => code === 'partial')?.message
  expect(message()).toBe('down from fra1 only: connection refused; up from nyc1, sin1')

  await say({ fra1: 'up', nyc1: 'down', sin1: 'up' })

  expect(message()).toBe('down from nyc1 only: connection refused; up from fra1, sin1')
})

describe('an endpoint that was down from all places, and that they poll one after the other', () => {
  test('has recovered without being partly down before: the other place is awaited until it has polled', async () => {
    const { keep, say, stored, told } = await house()
    await keep()
    await say({ fra1: 'down', nyc1: 'down' })

    await say({ fra1: 'up', nyc1: 'no poll' })
    await say({ fra1: 'up', nyc1: 'up' })

    expect(await stored()).toMatchObject([{ state: 'down', conditions: [{ code: 'unreachable' }] }])
    expect(told).toEqual(['adopts ethereum', 'down', 'down closed'])
  })

  test('is partly down once the other place has polled and still does not reach it, from the time on at which the first did', async () => {
    const { clock, keep, say, incidents, states } = await house()
    await keep()
    await say({ fra1: 'down', nyc1: 'down' })

    await say({ fra1: 'up', nyc1: 'no poll' })
    const recoveredAt = clock.now()
    expect(incidents.open()[0]?.changes.at(-1)).toMatchObject({ state: 'down' })
    await say({ fra1: 'up', nyc1: 'down' })

    const [open] = incidents.open()
    expect(open?.changes.at(-1)).toMatchObject({ at: recoveredAt, state: 'degraded', codes: ['partial'] })
    expect(open?.conditions).toMatchObject([
      { code: 'unreachable', until: recoveredAt },
      { code: 'partial', since: recoveredAt, until: null },
    ])
    expect(states.at(-1)).toMatchObject({ state: 'degraded', since: recoveredAt })
  })
})

test('an incident that an earlier keeper stored late becomes part of the one that is open', async () => {
  const { keep, keeper, say, stored, incidents, told } = await house()
  await keep()
  await say({ fra1: 'down' })
  const [own] = incidents.open()
  const late = incident({ id: 'late', network: 'ethereum', endpoint: 'own' })

  await keeper.adopt([late])

  expect(told).toEqual(['adopts ethereum', 'down', 'adopts late', 'down closed'])
  expect(incidents.of({ network: 'ethereum', name: 'own' })).toEqual(own)
  expect(incidents.open()).toEqual([own])
  expect(incidents.known('late')).toMatchObject({ absorbedBy: own?.id, closedAt: expect.any(Number) })
  expect(await stored()).toMatchObject([{ id: own?.id, closedAt: null }])
})

test('an incident that an earlier keeper stored late ends when its endpoint is found well', async () => {
  const { keep, keeper, say, stored } = await house()
  await keep()
  await say({ fra1: 'up' })

  await keeper.adopt([incident({ id: 'late', network: 'ethereum', endpoint: 'own' })])
  await say({ fra1: 'up' })

  expect(await stored()).toMatchObject([{ id: 'late', closedAt: expect.any(Number) }])
})

test.each([
  ['while it keeps the network', false],
  ['before those of before are continued', true],
])(
  'an incident that began and ended with an earlier keeper, stored late, has its messages sent and stays closed: %s',
  async (_, isEarly) => {
    const { keep, keeper, say, stored, incidents, told } = await house()
    const late = incident({ id: 'late', network: 'ethereum', endpoint: 'own', closedAt: START + 60_000 })

    const kept = isEarly ? null : await keep()
    if (kept === null) void keeper.keep('ethereum')
    await keeper.adopt([late])
    await until(() => told.includes('adopts late'), 'its messages are loaded')
    expect(incidents.recent()).toEqual([late])
    await say({ fra1: 'down' })

    expect(told).toEqual(['adopts ethereum', 'adopts late', 'down'])
    expect(await stored()).toMatchObject([{ closedAt: null, openedAt: expect.any(Number) }])
    expect(incidents.known('late')).toEqual(late)
  },
)

test('incidents that earlier keepers stored late are read with one query, and again after a failure', async () => {
  const { keep, keeper, incidents, told, clock, database } = await house()
  await keep()
  const late = ['a', 'b', 'c'].map((id) => incident({ id, network: 'ethereum', endpoint: id }))

  database.isAway = true
  const adopted = keeper.adopt(late)
  const next = keeper.adopt([incident({ id: 'd', network: 'ethereum', endpoint: 'd', closedAt: START + 60_000 })])
  await clock.advance(1000)
  expect(incidents.recent()).toEqual([])
  database.isAway = false
  await clock.advance(1000)
  await Promise.all([adopted, next])

  expect(told.slice(0, 2)).toEqual(['adopts ethereum', 'adopts a, b, c, d'])
  expect(incidents.recent().map(({ id }) => id)).toEqual(['d', 'a', 'b', 'c'])
})

test('an incident that is stored late, after those of before were read and before they are continued, goes on too', async () => {
  const { store, keeper, say, stored, incidents } = await house()
  const late = incident({ id: 'late', network: 'ethereum', endpoint: 'own' })
  const { incidents: read, savedHealth } = store
  const areRead = new Promise<void>((resolve) => {
    store.incidents = async (query) => {
      const found = await read(query)
      if (!query.open) resolve()
      return found
    }
  })
  // It is known to those who follow the other members' writes before all has been read.
  store.savedHealth = async () => {
    await areRead
    store.saveIncident(incidentRecord(late))
    void keeper.adopt([late])
    return savedHealth()
  }

  await keeper.keep('ethereum')

  expect(incidents.open()).toMatchObject([{ id: 'late' }])
  await say({ fra1: 'up' })
  expect(await stored()).toMatchObject([{ id: 'late', closedAt: expect.any(Number) }])
})

test('an incident that ended with the keeper before is not told again while what was stored late cannot be read', async () => {
  const clock = createFakeClock()
  const { store } = await opened({ path: ':memory:', clock })
  const open = incident({ network: 'ethereum', endpoint: 'own' })
  const closed = { ...open, closedAt: START + 60_000 }
  store.saveIncident(incidentRecord(closed))
  const { keep, keeper, incidents, database } = await house({ clock, store, hasNotifier: true })
  // Its end reaches those who follow the other members only after this one has begun to keep the network.
  incidents.put(open)

  database.isAway = true
  const kept = keep()
  const adopted = keeper.adopt([closed])
  await kept
  await clock.advance(5000)
  database.isAway = false
  await clock.advance(1000)
  await adopted

  expect(incidents.recent()).toEqual([closed])
  await store.flush()
  expect(await store.notifications({ about: 'latest', limit: 9 })).toEqual([])
})

test('of two open incidents of an endpoint that were stored, the first one goes on', async () => {
  const { keep, say, stored, store, incidents, clock } = await house()
  const begun = { network: 'ethereum', endpoint: 'own' }
  store.saveIncident(incidentRecord(incident({ ...begun, id: 'second', openedAt: clock.now() - 1000 })))
  store.saveIncident(incidentRecord(incident({ ...begun, id: 'first', openedAt: clock.now() - 2000 })))
  await store.flush()

  await keep()
  await say({ fra1: 'down' })

  expect(incidents.open()).toMatchObject([{ id: 'first' }])
  expect(await stored()).toMatchObject([{ id: 'first' }])
})

test('a place that joins in an outage of several endpoints is named too', async () => {
  const endpoints = ['a', 'b'].map((name) => endpoint(name, { provider: 'acme' }))
  const { keep, say, stored } = await house({ endpoints })
  await keep()
  await say({ fra1: 'down', nyc1: 'down', sin1: 'up' })
  await say({ fra1: 'down', nyc1: 'down', sin1: 'up' })

  await say({ fra1: 'down', nyc1: 'down', sin1: 'down' })

  const open = (await stored()).filter(({ closedAt }) => closedAt === null)
  expect(open).toMatchObject([{ cause: 'outage', vantages: ['fra1', 'nyc1', 'sin1'] }])
})

test('opens the same incidents as a daemon alone: one for all endpoints of a provider or host that fail together', async () => {
  const ofProvider = (provider: string | null) => (_: unknown, at: number) =>
    endpoint(`${provider}-${at}`, { provider })
  const endpoints = ['acme', 'node-co', null].flatMap((provider) => Array.from({ length: 4 }, ofProvider(provider)))
  const { keep, sayOfAll, incidents, board, clock } = await house({ endpoints })
  const alone = createIncidentLog()
  const recorder = createIncidentRecorder({
    incidents: alone,
    store: { saveIncident: () => undefined },
    log: recordingLog(),
  })
  const members = groupMembersOf(polled(endpoints))
  recorder.configure(members)
  await keep()
  const steps = createRandom(7)
  const faulty = new Map<string | null, number>()
  let opened = 0

  for (let round = 0; round < 200; round++) {
    for (const provider of ['acme', 'node-co', null]) {
      const left = (faulty.get(provider) ?? 0) - 1
      faulty.set(provider, left > 0 ? left : steps() < 0.03 ? 8 : 0)
    }
    const fails = new Set(endpoints.filter(({ provider }) => (faulty.get(provider) ?? 0) > 0 || steps() < 0.02))
    await sayOfAll((one) => ({ fra1: fails.has(one) ? 'down' : 'up' }))
    const judged = { network: network(), isForked: () => false, fork: () => null }
    for (const { endpoint: one, key } of members) {
      const entry = board.entry('ethereum', one.name) ?? expect.fail('it is configured')
      recorder.judged(judged, entry, clock.now(), clock.now(), key)
    }
    const known = incidents.recent().map((incident) => ({ ...incident, vantages: undefined }))
    expect(known).toEqual(alone.recent())
    opened = Math.max(opened, known.length)
  }

  expect(opened).toBeGreaterThan(20)
  expect(new Set(alone.recent().map(({ cause }) => cause))).toEqual(new Set(['outage', 'endpoint']))
})

test('while a place has not said its word, nothing opens or gets worse, for two intervals', async () => {
  const { keep, say, incidents } = await house({ live: ['fra1', 'nyc1', 'sin1'] })
  await keep()

  await say({ fra1: 'down' })
  expect(incidents.open()).toEqual([])
  await say({ fra1: 'down', nyc1: 'up', sin1: 'up' })
  expect(incidents.open()).toMatchObject([{ state: 'degraded', vantages: ['fra1'] }])
  await say({ fra1: 'down', nyc1: 'down' })
  expect(incidents.open()).toMatchObject([{ state: 'degraded' }])
  await say({ fra1: 'down', nyc1: 'down' })

  expect(incidents.open()).toMatchObject([{ state: 'down', vantages: ['fra1', 'nyc1'] }])
})

test.each(['started', 'heard the places'])(
  'after the clock was set back an hour since it %s, a place is not waited for longer than before',
  async (since) => {
    const clock = createFakeClock()
    const { keep, say, incidents } = await house({ clock, live: ['fra1', 'nyc1'], leaseMs: 30_000 })
    if (since === 'started') clock.stepWall(-3_600_000)
    await keep()
    await say({ fra1: 'up' })
    if (since !== 'started') clock.stepWall(-3_600_000)
    for (let round = 0; round < 3; round++) await say({ fra1: 'up' })

    await say({ fra1: 'down' })

    expect(incidents.open()).toMatchObject([{ state: 'down', vantages: ['fra1'] }])
  },
)

test('a poll that fails by the own fault of its place neither ends an incident nor makes it worse', async () => {
  const { say, keep, told } = await house()
  await keep()
  await say({ fra1: 'up', nyc1: 'up' })
  await say({ fra1: 'down', nyc1: 'up' })
  told.length = 0

  await say({ fra1: 'own fault', nyc1: 'up' })
  await say({ fra1: 'down', nyc1: 'up' })
  await say({ fra1: 'down', nyc1: 'own fault' })
  await say({ fra1: 'down', nyc1: 'up' })
  expect(told).toEqual([])

  // A place that knows nothing for longer leaves it to the others.
  for (let round = 0; round < 3; round++) await say({ fra1: 'own fault', nyc1: 'up' })
  expect(told).toEqual(['degraded closed'])
})

describe('a place whose owner has died is awaited until another of its members can have taken over', () => {
  const deps = { live: ['fra1', 'nyc1'], leaseMs: 3 * INTERVAL }

  test('but not without a live member', async () => {
    const live = [...deps.live]
    const { say, keep, told } = await house({ ...deps, live })
    await keep()
    for (let round = 0; round < 3; round++) await say({ fra1: 'up', nyc1: 'up' })
    await say({ fra1: 'down', nyc1: 'up' })
    told.length = 0

    for (let round = 0; round < 5; round++) await say({ fra1: 'no poll', nyc1: 'up' })
    await say({ fra1: 'down', nyc1: 'up' })
    expect(told).toEqual([])

    live.shift()
    for (let round = 0; round < 3; round++) await say({ fra1: 'no poll', nyc1: 'up' })
    expect(told).toEqual(['degraded closed'])
  })

  test('also if that was the keeper, by the next one', async () => {
    const first = await house(deps)
    await first.keep()
    for (let round = 0; round < 3; round++) await first.say({ fra1: 'up', nyc1: 'up' })
    await first.say({ fra1: 'down', nyc1: 'up' })
    await first.store.flush()
    const { say, keep, told } = await house({ ...deps, store: first.store, clock: first.clock })
    await say({ fra1: 'down', nyc1: 'up' })
    for (let round = 0; round < 3; round++) await say({ fra1: 'no poll', nyc1: 'up' })
    await keep()

    for (let round = 0; round < 2; round++) await say({ fra1: 'no poll', nyc1: 'up' })
    await say({ fra1: 'down', nyc1: 'up' })

    expect(told).toEqual(['adopts ethereum'])
  })
})

test.each(['the same keeper', 'the next one'])(
  'an incident that is open from a place that leaves ends when that no longer counts, not when the others were well again: %s',
  async (who) => {
    const live = ['nyc1', 'sin1']
    const first = await house({ live })
    const { clock, store } = first
    const last = who === 'the next one' ? await house({ clock, store, live }) : first
    await first.keep()
    for (let round = 0; round < 3; round++) await first.say({ fra1: 'down', nyc1: 'down', sin1: 'down' })
    await last.say({ fra1: 'down', nyc1: 'up', sin1: 'up' })
    for (let round = 0; round < 5; round++) await first.say({ fra1: 'down', nyc1: 'up', sin1: 'up' })
    const [opened] = await first.stored()

    if (last !== first) await last.keep()
    while (!last.told.includes('down closed')) await last.say({ nyc1: 'up', sin1: 'up' })

    expect(await first.stored()).toMatchObject([{ id: opened?.id, closedAt: clock.now() }])
  },
)

describe.each(['the same keeper', 'the next one'])('what places see as others come and go, recorded by %s', (who) => {
  /** All members hear the same, and one of them keeps the network. */
  async function setting() {
    const first = await house()
    const next = await house({ store: first.store, clock: createFakeClock() })
    await first.keep()
    const last = who === 'the next one' ? next : first
    const saysBoth = async (verdicts: Record<string, Said>, rounds: number) => {
      for (let round = 0; round < rounds; round++) for (const one of [first, next]) await one.say(verdicts)
    }
    return { first, last, clock: first.clock, saysBoth, takeOver: () => (last === first ? undefined : last.keep()) }
  }

  test('an incident that opens because a place leaves that saw the endpoint up begins then', async () => {
    const { last, clock, saysBoth, takeOver } = await setting()
    await saysBoth({ fra1: 'degraded', nyc1: 'up' }, 6)
    const heardAt = clock.now()
    await takeOver()
    await saysBoth({ fra1: 'degraded', nyc1: 'no poll' }, 6)

    const [opened] = last.incidents.open()
    expect(opened?.openedAt).toBeGreaterThan(heardAt)
    expect(opened).toMatchObject({ state: 'degraded', vantages: ['fra1'] })
  })

  test('an incident that a place still sees after it was gone is another one than that which ended', async () => {
    const { first, last, clock, saysBoth, takeOver } = await setting()
    await saysBoth({ fra1: 'up', nyc1: 'down' }, 6)
    await saysBoth({ fra1: 'up', nyc1: 'no poll' }, 10)
    const [ended] = await first.stored()
    await takeOver()
    const backAt = clock.now() + INTERVAL
    await saysBoth({ fra1: 'up', nyc1: 'down' }, 6)

    const [opened] = last.incidents.open()
    expect(opened?.openedAt).toBe(backAt)
    expect(ended).toMatchObject({ closedAt: expect.any(Number) })
    expect(await last.stored()).toMatchObject([{ id: opened?.id }, ended])
  })

  test('an incident that ends because a place is back that sees the endpoint up ends then', async () => {
    const { first, last, clock, saysBoth, takeOver } = await setting()
    await saysBoth({ fra1: 'degraded', nyc1: 'up' }, 6)
    await saysBoth({ fra1: 'degraded', nyc1: 'no poll' }, 10)
    expect(await first.stored()).toMatchObject([{ closedAt: null }])
    await takeOver()
    const goneAt = clock.now()
    await saysBoth({ fra1: 'degraded', nyc1: 'up' }, 6)

    const [ended] = await last.stored()
    expect(ended?.closedAt).toBeGreaterThan(goneAt)
  })
})

describe('an incident that opens after places have changed', () => {
  const counted = { counted: true, since: 100, back: undefined }
  const [up, degraded, down] = (['up', 'degraded', 'down'] as const).map((said) => ({ ...counted, said }))
  const back = { ...down, back: 200 }
  const left = { said: 'up', counted: false, since: 300, back: undefined }

  test.each([
    [100, 'a place is back that sees what another saw before', [down, back]],
    [200, 'a place is back that sees what no other does', [up, back]],
    [100, 'all places are back', [back, back]],
    [300, 'a place left that saw it up', [degraded, left]],
    [100, 'a place left that was outvoted', [degraded, degraded, left]],
    [300, 'a place left that had outvoted one', [degraded, left, left]],
    [100, 'a place left that saw it up, and another saw it down', [down, left]],
    [100, 'a place left that saw it down', [degraded, { ...left, said: 'down' }]],
    [100, 'a place left before', [degraded, { ...left, since: 50 }]],
  ])('began at %i: %s', (since, _, places) => {
    const entry = { health: { since: 100 }, places } as unknown as Parameters<typeof beganAt>[0]

    expect(beganAt(entry)).toBe(since)
  })
})

test('while the database is away, and until the others were heard again, no place decides alone', async () => {
  const live = ['fra1', 'nyc1', 'sin1']
  const { keep, say, stored, incidents, states, told, board, clock, database } = await house({ live, leaseMs: 30_000 })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'up', sin1: 'up' })
  const before = states.length

  database.isAway = true
  for (let round = 0; round < 10; round++) await say({ fra1: 'down', nyc1: round < 5 ? 'up' : 'down', sin1: 'up' })
  const agreedAt = clock.now() - 4 * INTERVAL
  expect(board.entry('ethereum', 'own')).toMatchObject({ confirmedBy: 1, health: { verdict: 'down' } })
  expect([incidents.recent(), states.slice(before + 2), told]).toEqual([[], [], ['adopts ethereum']])

  // At first the database has not heard of the others either.
  live.splice(1)
  for (const isAway of [false, true, false]) {
    database.isAway = isAway
    await say({ fra1: 'down' })
    expect(incidents.recent()).toEqual([])
  }
  live.push('nyc1', 'sin1')
  await say({ fra1: 'down', nyc1: 'down', sin1: 'up' })
  expect(await stored()).toMatchObject([{ state: 'down', openedAt: agreedAt, vantages: ['fra1', 'nyc1'] }])
  expect(states.at(-1)).toMatchObject({ state: 'down', since: agreedAt })
})

test('while the database hangs, a place whose vote has expired since it answered is not taken for one that is gone', async () => {
  const { keep, say, incidents, board, database } = await house({ live: ['fra1', 'nyc1'] })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'up' })

  Object.assign(database, { isAway: true, isNoticed: false })
  for (let round = 0; round < 3; round++) await say({ fra1: 'down' })
  expect(board.entry('ethereum', 'own')).toMatchObject({ confirmedBy: 1, health: { verdict: 'down' } })
  expect(incidents.open()).toMatchObject([{ state: 'degraded', conditions: [{ code: 'partial' }] }])
  Object.assign(database, { isAway: false, wasAway: true })
  await say({ fra1: 'down' })

  expect(incidents.open()).toMatchObject([{ state: 'down', vantages: ['fra1'] }])
})

test('a vote whose poll took long is awaited from its end on, not from its beginning', async () => {
  const { keep, say, incidents, board, database } = await house({ live: ['fra1', 'nyc1'], pollMs: INTERVAL / 2 })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'up' })
  database.wasAway = true
  for (let round = 0; round < 2; round++) await say({ fra1: 'down' })
  expect(incidents.open()).toMatchObject([{ state: 'degraded', conditions: [{ code: 'partial' }] }])

  Object.assign(database, { isAway: true, isNoticed: false })
  await say({ fra1: 'down' })

  expect(board.entry('ethereum', 'own')).toMatchObject({ confirmedBy: 1, health: { verdict: 'down' } })
  expect(incidents.open()).toMatchObject([{ state: 'degraded', conditions: [{ code: 'partial' }] }])
})

test('while the database is away, and until the others were heard again, no open incident is closed', async () => {
  const { keep, say, stored, told, board, database } = await house({ live: ['fra1', 'nyc1', 'sin1'] })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'down', sin1: 'down' })
  const [open] = await stored()

  database.isAway = true
  for (let round = 0; round < 10; round++) await say({ fra1: 'up', nyc1: 'down', sin1: 'down' })
  expect(board.entry('ethereum', 'own')).toMatchObject({ confirmedBy: 1, health: { verdict: 'up' } })
  database.isAway = false
  await say({ fra1: 'up' })
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'down', sin1: 'down' })

  expect(await stored()).toEqual([open])
  expect(told).toEqual(['adopts ethereum', 'down'])
})

test('a place that died while the database was away is not waited for longer than it would need', async () => {
  const { keep, say, incidents, database } = await house({ live: ['fra1', 'nyc1'] })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up', nyc1: 'up' })
  database.isAway = true
  for (let round = 0; round < 10; round++) await say({ fra1: 'down' })
  database.isAway = false

  for (let round = 0; round < 3; round++) await say({ fra1: 'down' })
  expect(incidents.open()).toEqual([])
  await say({ fra1: 'down' })

  expect(incidents.open()).toMatchObject([{ state: 'down', vantages: ['fra1'] }])
})

test('the only place of a cluster goes on alone while the database is away', async () => {
  const { keep, say, incidents, database } = await house({ live: ['fra1'] })
  await keep()
  for (let round = 0; round < 5; round++) await say({ fra1: 'up' })

  database.isAway = true
  await say({ fra1: 'down' })
  expect(incidents.open()).toMatchObject([{ state: 'down' }])
  await say({ fra1: 'up' })

  expect(incidents.open()).toEqual([])
})

test('who does not keep the network writes nothing', async () => {
  const { say, stored, states, told } = await house()

  await say({ fra1: 'down', nyc1: 'down' })

  expect([await stored(), states, told]).toEqual([[], [], []])
})

test('the next keeper continues the open incident under its id', async () => {
  const first = await house()
  await first.keep()
  await first.say({ fra1: 'down', nyc1: 'down' })
  const [opened] = await first.stored()
  await first.keeper.drop('ethereum')

  const second = await house({ clock: first.clock, store: first.store })
  await second.keep()
  await second.say({ fra1: 'down', nyc1: 'down' })
  await first.say({ fra1: 'up', nyc1: 'up' })
  expect(await second.stored()).toEqual([opened])
  await second.say({ fra1: 'up', nyc1: 'up' })

  expect(await second.stored()).toMatchObject([{ id: opened?.id, closedAt: second.clock.now() }])
  expect(first.told).toEqual(['adopts ethereum', 'down', 'leaves ethereum'])
})

describe('an outage of one host whose endpoints are on several hosts where the next keeper is', () => {
  const endpoints = ['a', 'b', 'c'].map((name) => endpoint(name))
  const allDown = () => ({ fra1: 'down', nyc1: 'down' }) as const

  async function passOn(originOf: (endpoint: Endpoint) => string) {
    const first = await house({ endpoints })
    await first.keep()
    await first.sayOfAll(allDown)
    await first.sayOfAll(allDown)
    const before = await first.stored()
    expect(before.filter(({ closedAt }) => closedAt === null)).toMatchObject([{ affected: ['a', 'b', 'c'] }])
    await first.keeper.drop('ethereum')
    const second = await house({ clock: first.clock, store: first.store, endpoints, originOf })
    await second.keep()
    return { ...second, before }
  }

  test.each([
    ['each on its own', ({ name }: Endpoint) => `${name}.example:443`],
    ['one of them on its own', ({ name }: Endpoint) => (name === 'c' ? 'c.example:443' : 'ab.example:443')],
  ])('goes on under its id until they are well: %s', async (_, originOf) => {
    const { before, keeper, sayOfAll, stored } = await passOn(originOf)

    for (let round = 0; round < 3; round++) await sayOfAll(allDown)
    keeper.configure([polled(endpoints, originOf)])
    await sayOfAll(allDown)
    expect(await stored()).toEqual(before)
    await sayOfAll(() => ({ fra1: 'up', nyc1: 'up' }))

    const after = await stored()
    expect(after.map(({ id }) => id)).toEqual(before.map(({ id }) => id))
    expect(after.filter(({ closedAt }) => closedAt === null)).toEqual([])
  })

  test('ends when only one of them is left, and is not begun again by those that share nothing', async () => {
    const { before, sayOfAll, stored } = await passOn(({ name }) => `${name}.example:443`)
    const onlyDown =
      (...names: string[]) =>
      (one: Endpoint) =>
        ({ fra1: names.includes(one.name) ? 'down' : 'up' }) as const

    await sayOfAll(allDown)
    for (let round = 0; round < 2; round++) await sayOfAll(onlyDown('a'))
    await sayOfAll(onlyDown('a', 'b', 'c'))

    const open = (await stored()).filter(({ closedAt }) => closedAt === null)
    expect(open.map(({ cause, endpoint: name }) => [cause, name])).toEqual([
      ['endpoint', 'c'],
      ['endpoint', 'b'],
      ['endpoint', 'a'],
    ])
    expect(await stored()).toHaveLength(before.length + 3)
  })
})

test('a network that is removed here first leaves its open incidents to the member that keeps it next', async () => {
  const { store, clock, board, keep, keeper, say, stored, told } = await house()
  await keep()
  await say({ fra1: 'down' })
  const [opened] = await stored()

  board.configure([])
  keeper.configure([])
  await keeper.drop('ethereum')
  const next = await house({ clock, store })
  await next.keep()
  await next.say({ fra1: 'down' })

  expect(told).toEqual(['adopts ethereum', 'down', 'leaves ethereum'])
  expect(next.told).toEqual(['adopts ethereum'])
  expect(await stored()).toMatchObject([{ id: opened?.id, closedAt: null, changes: opened?.changes }])
})

test('what is known of its incidents is replaced by what the database has', async () => {
  const { keep, incidents, store } = await house()
  incidents.put(incident({ id: 'refused', network: 'ethereum', endpoint: 'own' }))
  const written = incident({ id: 'written', network: 'ethereum', endpoint: 'own' })
  store.saveIncident(incidentRecord(written))
  await store.flush()

  await keep()

  expect(incidents.open()).toEqual([written])
})

test('networks that are gained together are loaded with one read of each kind', async () => {
  const { store, keeper, told } = await house()
  const reads: string[] = []
  const { incidents, savedHealth } = store
  store.savedHealth = () => {
    reads.push('saved health')
    return savedHealth()
  }
  store.incidents = (query) => {
    reads.push(`${query.open ? 'open' : 'closed'} incidents of ${query.networks?.join(', ')}`)
    return incidents(query)
  }

  await Promise.all([keeper.keep('ethereum'), keeper.keep('bitcoin'), keeper.keep('solana')])

  expect(told).toEqual(['adopts ethereum, bitcoin, solana'])
  expect(reads.sort()).toEqual([
    'closed incidents of ethereum, bitcoin, solana',
    'open incidents of ethereum, bitcoin, solana',
    'saved health',
  ])
})

test('a network that is gained while others are loaded is loaded next', async () => {
  const { keeper, told } = await house()

  const first = keeper.keep('ethereum')
  await Promise.resolve()
  await Promise.resolve()
  await Promise.all([first, keeper.keep('bitcoin')])
  await keeper.keep('solana')

  expect(told).toEqual(['adopts ethereum', 'adopts bitcoin', 'adopts solana'])
})

test.each(['incidents', 'savedHealth'] as const)('while %s cannot be read, it does not begin empty', async (kind) => {
  const { clock, store, keeper, told, say, incidents } = await house()
  const read: () => Promise<readonly never[]> = store[kind].bind(store) as never
  let isAway = true
  store[kind] = async (...asked: []) => (isAway ? Promise.reject(new Error('away')) : read(...asked))

  void keeper.keep('ethereum')
  await say({ fra1: 'down' })
  expect([told, incidents.open()]).toEqual([[], []])
  isAway = false
  await clock.advance(1000)
  await until(() => told.includes('adopts ethereum'), 'they were read')
  await say({ fra1: 'down' })

  expect(incidents.open()).toMatchObject([{ endpoint: 'own', state: 'down' }])
})

test('a merged state is stored at each change, dated back, and once per interval', async () => {
  const { keep, say, states, clock, keeper } = await house()
  await keep()
  await say({ fra1: 'up', nyc1: 'up' })
  const upAt = clock.now()
  keeper.merged('ethereum', UNSEEN)
  await say({ fra1: 'up', nyc1: 'up' })
  await say({ fra1: 'down', nyc1: 'up' })
  const downAt = clock.now()
  await say({ fra1: 'down', nyc1: 'down' })

  expect(states).toEqual([
    { endpoint: 'ethereum/own', at: upAt, since: upAt, state: 'up', fresh: true },
    { endpoint: 'ethereum/own', at: upAt + INTERVAL, since: upAt + INTERVAL, state: 'up', fresh: true },
    { endpoint: 'ethereum/own', at: downAt, since: downAt, state: 'degraded', fresh: true },
    { endpoint: 'ethereum/own', at: downAt + INTERVAL, since: downAt + INTERVAL, state: 'down', fresh: false },
  ])
})

test('the merged state of one place has no gaps, although some of its polls are known a little early or late', async () => {
  const intervalMs = INTERVAL + 500
  const { keep, say, states, clock } = await house({ endpoints: [endpoint('own', { intervalMs })] })
  await keep()

  for (const laterMs of [0, -200, 400, -300, 400, -500, 300]) {
    await clock.advance(500 + laterMs)
    await say({ fra1: 'up' })
  }

  const gaps = states.slice(1).map(({ at }, nth) => at - (states[nth]?.at ?? 0))
  expect(Math.max(...gaps)).toBeLessThanOrEqual(2 * intervalMs)
})

test('several polls in half an interval are one row of the merged state', async () => {
  const { keep, say, states, clock } = await house({ endpoints: [endpoint('own', { intervalMs: 6 * INTERVAL })] })
  await keep()
  const from = clock.now() + INTERVAL

  for (let poll = 0; poll <= 6; poll++) await say({ fra1: 'up' })

  expect(states.map(({ at }) => (at - from) / INTERVAL)).toEqual([0, 3, 6])
})

test('a merged state is not dated back when a place no longer counts', async () => {
  const { keep, say, states, clock } = await house()
  await keep()
  await say({ fra1: 'down', nyc1: 'up', sin1: 'down' })
  for (let poll = 0; poll < 5; poll++) await say({ fra1: 'down', nyc1: 'up', sin1: 'down' })
  const lostAt = clock.now()
  for (let poll = 0; poll < 4; poll++) await say({ fra1: 'down', nyc1: 'up' })

  const degraded = states.filter(({ state }) => state === 'degraded')
  expect(states[0]).toMatchObject({ state: 'down' })
  expect(degraded.length).toBeGreaterThan(0)
  for (const { at, since } of degraded) {
    expect(since).toBe(at)
    expect(since).toBeGreaterThan(lostAt)
  }
})

test('a new keeper rewrites no state that was stored before it', async () => {
  const { keep, say, states, clock } = await house()
  for (let poll = 0; poll < 5; poll++) await say({ fra1: 'down', nyc1: 'down' })
  const keptAt = clock.now()
  await keep()
  await say({ fra1: 'down', nyc1: 'down' })

  expect(states).toEqual([{ endpoint: 'ethereum/own', at: clock.now(), since: keptAt, state: 'down', fresh: false }])
})
