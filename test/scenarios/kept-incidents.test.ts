import { expect, onTestFinished, test } from 'vitest'
import { repeat } from '../../src/clock.ts'
import { createVotes } from '../../src/cluster/votes.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { unpolled } from '../../src/core/verdict/health.ts'
import { createKeeper } from '../../src/poll/keeper.ts'
import type { PlannedWindow } from '../../src/poll/maintenance-calendar.ts'
import { createBoard, newTally } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import type { StoredVote } from '../../src/store/cluster-tables.ts'
import { createRandom } from '../proof/random.ts'
import { silentLog } from '../support/log.ts'
import { createStage, type Node, type StageNetwork } from '../support/stage.ts'

/**
 * Members of a cluster poll; another one reads their votes once a second and keeps the incidents, which must be those of a
 * daemon that polls for itself.
 */
const SECOND = 1000
const MINUTE = 60 * SECOND
const START = Date.UTC(2026, 0, 1)
const REFUSED: Node = { failure: { kind: 'refused' } }
const SLOW: Node = { latencyMs: 3000 }
const NETWORK: StageNetwork = { name: 'ethereum', endpoints: ['a', 'b', 'c'] }
const WINDOW: PlannedWindow = {
  name: 'upgrade',
  networks: ['ethereum'],
  endpoints: null,
  when: { kind: 'once', from: START + 10 * MINUTE, until: START + 70 * MINUTE },
}

/** The same nodes, polled from each of these places. `asRead`: what the keeper's version finds in a vote. */
async function createCluster(vantages: readonly string[], asRead: (value: unknown) => unknown = (value) => value) {
  const first = createStage({ networks: [NETWORK], windows: [WINDOW], now: START })
  const stages = vantages.map((_, at) =>
    at === 0
      ? first
      : createStage({
          networks: [NETWORK],
          windows: [WINDOW],
          world: first.world,
          clock: first.clock,
        }),
  )
  const { clock } = first
  const shown = createBoard()
  const incidents = createIncidentLog()
  const nothing = async () => []
  const keeper = createKeeper({
    board: shown,
    incidents,
    store: { saveIncident: () => undefined },
    reads: { incidents: nothing, savedHealth: nothing },
    saveMerged: () => undefined,
    liveVantages: () => new Set(vantages),
    heardMsAgo: () => 0,
    hearsOthers: () => true,
    leaseMs: 0,
    notify: () => [],
    notifier: { adopt: async () => undefined, adoptLate: async () => undefined, leave: async () => undefined },
    clock,
    log: silentLog,
  })
  const [onBoard] = first.board.networks()
  if (onBoard === undefined) throw new Error('no network')
  const { network } = onBoard.standing
  const endpoints = onBoard.endpoints.map(({ health }) => health.endpoint)
  shown.configure([
    { network, fresh: endpoints.map((of) => ({ health: unpolled(of, START), tally: newTally(of.checks) })) },
  ])
  shown.putMaintenance(first.board.maintenance())
  const ofKeeper = createVotes({
    self: { vantage: 'of the keeper', member: 'keeper' },
    local: createBoard(),
    shown,
    standingOf: () => null,
    onMerged: keeper.merged,
  })
  const voters = stages.map(({ board }, at) => {
    const vantage = vantages[at] ?? ''
    const votes = createVotes({
      self: { vantage, member: vantage },
      local: { ...board, put: () => undefined, putStanding: () => undefined },
      shown: { put: () => undefined, putStanding: () => undefined },
      standingOf: () => null,
      onMerged: () => undefined,
    })
    votes.configure([{ network, endpoints }], 'majority', () => true)
    board.subscribe(({ endpoint }) => {
      if (endpoint !== null) votes.polled(network.name, endpoint, START)
    })
    return { vantage, votes }
  })
  ofKeeper.configure([{ network, endpoints }], 'majority', () => false)
  keeper.configure([{ network, endpoints: [] }])
  await keeper.keep(network.name)

  const timer = repeat(clock, SECOND, () => {
    if (shown.maintenance() !== first.board.maintenance()) shown.putMaintenance(first.board.maintenance())
    for (const { vantage, votes } of voters) {
      const written = JSON.parse(JSON.stringify(votes.take(() => 1))) as StoredVote[]
      const read = written.map((vote) => ({ ...vote, value: asRead(vote.value), vantage, member: vantage }))
      ofKeeper.read(read, () => false, clock.now())
    }
    ofKeeper.merge(new Set(), clock.now())
  })
  onTestFinished(async () => {
    timer.cancel()
    keeper.stop()
    for (const stage of stages) await stage.stop()
  })
  return { stages, alone: first, incidents, passTo: (ms: number) => clock.advance(START + ms - clock.now()) }
}

/** What a reader sees of an incident. */
function storyOf({ id, endpoint, state, openedAt, plannedUntil, closedAt, conditions, changes }: Incident) {
  return { id, endpoint, state, openedAt, plannedUntil, closedAt, conditions, changes }
}

const storiesOf = (incidents: readonly Incident[]) =>
  incidents.map(storyOf).sort((a, b) => a.openedAt - b.openedAt || (a.id < b.id ? -1 : 1))

test.each([
  ['of this version', (value: unknown) => value],
  ['of an older version', (value: unknown) => ({ ...(value as object), recent: undefined })],
])('a fault that got worse in planned maintenance began with the first bad poll: votes %s', async (_, asRead) => {
  const { alone, incidents, passTo } = await createCluster(['fra1'], asRead)
  await passTo(30 * MINUTE)
  alone.set('ethereum/a', SLOW)
  await passTo(50 * MINUTE)
  alone.set('ethereum/a', REFUSED)
  await passTo(75 * MINUTE)

  expect(alone.open()).toMatchObject([{ state: 'down', plannedUntil: START + 70 * MINUTE }])
  expect(alone.open()[0]?.openedAt).toBeLessThan(START + 31 * MINUTE)
  expect(storiesOf(incidents.open())).toEqual(storiesOf(alone.open()))
})

test.each([['fra1'], ['fra1, nyc1'], ['fra1, nyc1, sin1']])(
  'planned work that ended well just before its end is no incident: %s',
  async (vantages) => {
    const { alone, incidents, passTo } = await createCluster(vantages.split(', '))
    await passTo(30 * MINUTE)
    alone.set('ethereum/a', REFUSED)
    await passTo(70 * MINUTE - 500)
    alone.set('ethereum/a')
    await passTo(80 * MINUTE)

    expect(alone.incidents()).toEqual([])
    expect(incidents.recent()).toEqual([])
  },
)

test('several places date a fault in planned maintenance back to when the first of them could not reach it', async () => {
  const { alone, incidents, passTo } = await createCluster(['fra1', 'nyc1', 'sin1'])
  await passTo(30 * MINUTE)
  alone.set('ethereum/a', SLOW)
  await passTo(50 * MINUTE)
  alone.set('ethereum/a', REFUSED)
  await passTo(75 * MINUTE)

  const [own] = alone.open()
  expect(incidents.open()).toMatchObject([
    { state: 'down', openedAt: own?.openedAt, plannedUntil: START + 70 * MINUTE, vantages: ['fra1', 'nyc1', 'sin1'] },
  ])
})

test('faults that come and go, in maintenance or not, are the incidents of a daemon alone', async () => {
  const { alone, incidents, passTo } = await createCluster(['fra1'])
  const random = createRandom(11)
  const faults: readonly (Node | undefined)[] = [undefined, undefined, REFUSED, SLOW, { behind: 40 }]
  for (let at = MINUTE; at < 3 * 60 * MINUTE; at += SECOND * Math.floor(5 + 300 * random())) {
    await passTo(at)
    const name = ['a', 'b', 'c'][Math.floor(3 * random())] ?? 'a'
    alone.set(`ethereum/${name}`, faults[Math.floor(faults.length * random())])
  }
  for (const name of ['a', 'b', 'c']) alone.set(`ethereum/${name}`)
  await passTo(200 * MINUTE)

  const planned = alone.incidents().filter(({ plannedUntil }) => (plannedUntil ?? null) !== null)
  expect([alone.incidents().length > 10, planned.length > 0]).toEqual([true, true])
  expect(storiesOf(incidents.recent())).toEqual(storiesOf(alone.incidents()))
})
