import { describe, expect, test } from 'vitest'
import { badTime } from '../../src/core/incident/bad-time.ts'
import { type Incident, MAX_CHANGES } from '../../src/core/incident/incident.ts'
import type { Liveness } from '../../src/core/poll-result.ts'
import { createStage, type Node, type Stage, type StageNetwork } from '../support/stage.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const INTERVAL = 10 * SECOND
/** Two good polls for `recover_after`, and one for the moment within the interval. */
const RECOVERED = 3 * INTERVAL

const REFUSED: Node = { failure: { kind: 'refused' } }
const UNHEALTHY: Node = {
  liveness: (now): Liveness => ({ healthy: false, checks: [], heartbeatAt: now }),
}
const AVALANCHE: StageNetwork = {
  name: 'avalanche',
  network: { family: 'avalanche', blockTimeMs: 2000 },
  endpoint: { checks: ['liveness', 'head'] },
  endpoints: ['a', 'b', 'c'],
}

const FIVE = ['a', 'b', 'c', 'd', 'e']
const SHARDED: StageNetwork = {
  name: 'multiversx',
  network: { family: 'multiversx', blockTimeMs: 6000 },
  endpoint: { shards: [0, 1, 4294967295] },
  endpoints: FIVE,
}

/** When this endpoint was first polled from then on. */
function firstPoll(stage: Stage, key: string, from: number): number {
  return stage.pollsOf(key).find((at) => at > from) ?? Number.NaN
}

function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1)
  return items[0] as T
}

const spans = (incident: Incident) => incident.conditions.map(({ code, since, until }) => [code, since, until] as const)
const closings = (stage: Stage) => stage.log.filter(({ message }) => message === 'incident closed').length

/** All endpoints are up at first, for a while. */
async function wellFor(ms: number, stage = createStage()): Promise<Stage> {
  await stage.pass(ms)
  expect(stage.incidents()).toEqual([])
  return stage
}

describe('an incident of one endpoint', () => {
  test('counts a condition that gets worse and better in each state for as long as it was in it', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', { behind: 5 })
    await stage.pass(20 * MINUTE)
    const worseFrom = stage.clock.now()
    stage.set('ethereum/a', { behind: 200 })
    await stage.pass(10 * MINUTE)
    const open = only(stage.open())
    stage.set('ethereum/a', { behind: 5 })
    await stage.pass(10 * MINUTE)

    const worse = firstPoll(stage, 'ethereum/a', worseFrom)
    const better = firstPoll(stage, 'ethereum/a', worseFrom + 10 * MINUTE)
    expect(open.conditions).toMatchObject([
      { code: 'lagging', state: 'degraded', since: open.openedAt, until: worse, message: expect.stringMatching(/^5 /) },
      { code: 'lagging', state: 'down', since: worse, until: null },
    ])
    const { conditions, changes } = only(stage.open())
    expect(conditions.slice(1)).toMatchObject([
      { state: 'down', since: worse, until: better, message: expect.stringMatching(/^20\d /) },
      { state: 'degraded', since: better, until: null, message: expect.stringMatching(/^\d /) },
    ])
    expect(changes.map(({ at, state }) => [at, state])).toEqual(conditions.map(({ since, state }) => [since, state]))
    const now = stage.clock.now()
    expect(badTime({ ...open, conditions, closedAt: null }, now)).toEqual({
      downMs: better - worse,
      downTimes: 1,
      degradedMs: worse - open.openedAt + now - better,
    })
  })

  test('is as bad as what is confirmed, not as the latest poll', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', { behind: 5 })
    await stage.pass(5 * MINUTE)
    stage.set('ethereum/a', { behind: 200 })
    await stage.until(() => stage.message('ethereum/a', 'lagging')?.startsWith('20') === true, MINUTE)

    expect(only(stage.open()).conditions).toMatchObject([{ code: 'lagging', state: 'degraded' }])
  })

  test('lasts from its first bad poll to its first good one', async () => {
    const stage = await wellFor(5 * MINUTE)
    const diedAt = stage.clock.now()
    stage.set('ethereum/a', REFUSED)
    await stage.pass(47 * MINUTE)
    const open = only(stage.open())
    const backAt = stage.clock.now()
    stage.set('ethereum/a')
    await stage.pass(RECOVERED)

    const incident = only(stage.incidents())
    const [first = 0, second] = stage.pollsOf('ethereum/a').filter((at) => at > diedAt)
    const good = firstPoll(stage, 'ethereum/a', backAt)
    expect(incident).toMatchObject({
      id: open.id,
      network: 'ethereum',
      endpoint: 'a',
      cause: 'endpoint',
      state: 'down',
      openedAt: first,
      confirmedAt: second,
      closedAt: good,
      flaps: 0,
      flapping: false,
      absorbedBy: null,
    })
    expect(spans(incident)).toEqual([['unreachable', first, good]])
    expect(incident.changes.map(({ at, state }) => [at, state])).toEqual([
      [first, 'down'],
      [good, 'up'],
    ])
    expect(first - diedAt).toBeLessThanOrEqual(INTERVAL)
    expect(stage.open()).toEqual([])
  })

  test('is not opened by one failed poll in three, nor by alternating good and bad polls', async () => {
    const stage = createStage()
    let asked = 0
    stage.set('ethereum/a', { failure: () => (asked++ % 3 === 0 ? { kind: 'timeout', afterMs: 5000 } : null) })
    let turns = 0
    stage.set('ethereum/b', { failure: () => (turns++ % 2 === 0 ? { kind: 'reset' } : null) })

    await stage.pass(3 * HOUR)

    expect(stage.incidents()).toEqual([])
    expect(stage.accused()).toEqual([])
    expect(turns).toBeGreaterThan(1000)
  })

  test('stays one while it worsens, has every condition with its time, and the worst state', async () => {
    const stage = await wellFor(5 * MINUTE, createStage({ networks: [AVALANCHE] }))
    const times: number[] = []
    for (const ill of [{ behind: 10 }, REFUSED, UNHEALTHY]) {
      times.push(stage.clock.now())
      stage.set('avalanche/a', ill)
      await stage.pass(10 * MINUTE)
    }
    times.push(stage.clock.now())
    stage.set('avalanche/a')
    await stage.pass(RECOVERED)

    const incident = only(stage.incidents())
    const [late, gone, sick, well] = times.map((at) => firstPoll(stage, 'avalanche/a', at))
    expect(incident).toMatchObject({ state: 'down', openedAt: late, closedAt: well, flapping: false, flaps: 0 })
    expect(spans(incident)).toEqual([
      ['lagging', late, gone],
      ['unreachable', gone, sick],
      ['unhealthy', sick, well],
    ])
    expect(incident.changes.map(({ at, state, codes }) => [at, state, ...codes])).toEqual([
      [late, 'degraded', 'lagging'],
      [gone, 'down', 'unreachable'],
      [sick, 'down', 'unhealthy'],
      [well, 'up'],
    ])
  })

  test('is not closed by a better state that is not up', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(10 * MINUTE)
    const betterAt = stage.clock.now()
    stage.set('ethereum/a', { behind: 20 })
    await stage.pass(20 * MINUTE)
    const still = only(stage.open())
    const backAt = stage.clock.now()
    stage.set('ethereum/a')
    await stage.pass(RECOVERED)

    const better = firstPoll(stage, 'ethereum/a', betterAt)
    expect(spans(still)).toEqual([
      ['unreachable', still.openedAt, better],
      ['lagging', better, null],
    ])
    expect(still.changes.at(-1)).toMatchObject({ at: better, state: 'degraded', codes: ['lagging'] })
    expect(only(stage.incidents())).toMatchObject({ state: 'down', closedAt: firstPoll(stage, 'ethereum/a', backAt) })
  })

  test('keeps the measurements of every change', async () => {
    const stage = await wellFor(5 * MINUTE)
    const stuckAt = stage.height('ethereum')
    stage.set('ethereum/a', { stuckAt })
    await stage.until(() => stage.codes('ethereum/a').includes('lagging'), 5 * MINUTE)
    await stage.pass(2 * MINUTE)
    stage.set('ethereum/a')
    await stage.pass(RECOVERED)

    const incident = only(stage.incidents())
    const [first, last] = [incident.changes[0]?.samples[0], incident.changes.at(-1)?.samples[0]]
    expect(first).toMatchObject({ endpoint: 'a', height: stuckAt })
    expect(first?.lagBlocks).toBeGreaterThanOrEqual(3)
    expect(last).toMatchObject({ endpoint: 'a', lagBlocks: 0, latencyMs: 20 })
    expect(last?.height).toBeGreaterThan(stuckAt)
  })

  test('is closed by a reload that removes the endpoint, and goes on over one that does not', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    stage.set('ethereum/b', REFUSED)
    await stage.pass(10 * MINUTE)
    const [before, removedAt] = [stage.open(), stage.clock.now()]
    stage.reconfigure([{ name: 'ethereum', endpoints: ['b', 'c'] }])
    await stage.pass(10 * MINUTE)

    const ofB = only(stage.open())
    expect(before).toContainEqual(ofB)
    const ofA = stage.incidents().find(({ endpoint }) => endpoint === 'a')
    expect(ofA).toMatchObject({ closedAt: removedAt, conditions: [{ until: removedAt }] })
    expect(stage.incidents()).toHaveLength(2)
  })

  test('two outages that are hours apart are two', async () => {
    const stage = await wellFor(5 * MINUTE)
    for (let outage = 0; outage < 2; outage++) {
      stage.set('ethereum/a', REFUSED)
      await stage.pass(5 * MINUTE)
      stage.set('ethereum/a')
      await stage.pass(3 * HOUR)
    }

    const [first, second, ...rest] = stage.incidents()
    expect(rest).toEqual([])
    expect(second?.id).not.toBe(first?.id)
    expect([first, second].map((one) => one?.flapping)).toEqual([false, false])
    expect((second?.openedAt ?? 0) - (first?.closedAt ?? 0)).toBeGreaterThan(2 * HOUR)
  })
})

describe('an endpoint that flaps', () => {
  /** Patterns of failing and recovering: from every poll or two to once in twenty minutes. */
  const PATTERNS = [
    { ill: 20 * SECOND, well: 20 * SECOND },
    { ill: 30 * SECOND, well: MINUTE },
    { ill: MINUTE, well: 2 * MINUTE },
    { ill: MINUTE, well: 4 * MINUTE },
    { ill: 2 * MINUTE, well: 8 * MINUTE },
    { ill: 2 * MINUTE, well: 15 * MINUTE },
    { ill: 5 * MINUTE, well: 20 * MINUTE },
  ]

  async function flap(stage: Stage, key: string, { ill, well }: (typeof PATTERNS)[number], forMs: number) {
    const end = stage.clock.now() + forMs
    while (stage.clock.now() < end) {
      stage.set(key, REFUSED)
      await stage.pass(ill)
      stage.set(key)
      await stage.pass(well)
    }
  }

  test.each(PATTERNS)('makes three incidents in an hour at most: $ill ms ill, $well ms well', async (pattern) => {
    const stage = await wellFor(5 * MINUTE)
    const began = stage.clock.now()

    await flap(stage, 'ethereum/a', pattern, HOUR)

    const incidents = stage.incidents()
    expect(incidents.length).toBeLessThanOrEqual(3)
    expect(incidents.length).toBeGreaterThan(0)
    const outages = Math.ceil(HOUR / (pattern.ill + pattern.well))
    // A failure without an incident of its own counts as a flap, unless it is too short to be seen.
    if (pattern.ill >= MINUTE && outages > 3) {
      expect(incidents.at(-1)).toMatchObject({ flapping: true, flaps: outages - 1 })
      expect(incidents.every(({ openedAt }) => openedAt >= began)).toBe(true)
    }
  })

  test('is reported once, as flapping, and closed at its recovery once it is stable', async () => {
    const stage = await wellFor(5 * MINUTE)
    await flap(stage, 'ethereum/a', { ill: MINUTE, well: MINUTE }, 30 * MINUTE)
    const lastWellFrom = stage.clock.now() - MINUTE
    const open = only(stage.open())
    const opened = stage.log.filter(({ message }) => message === 'incident opened').length
    await stage.pass(10 * MINUTE)

    expect(open).toMatchObject({ flapping: true, closedAt: null })
    expect(opened).toBe(3)
    expect(stage.open()).toEqual([])
    const closed = stage.incidents().find(({ id }) => id === open.id)
    expect(closed).toMatchObject({
      flapping: true,
      flaps: 14,
      closedAt: firstPoll(stage, 'ethereum/a', lastWellFrom),
    })
    expect(closed?.conditions.every(({ until }) => until !== null)).toBe(true)
  })

  test('closes as soon when the clock is set back in the meantime', async () => {
    const stage = await wellFor(5 * MINUTE, createStage({ watched: true }))
    await flap(stage, 'ethereum/a', { ill: MINUTE, well: MINUTE }, 30 * MINUTE)
    expect(only(stage.open())).toMatchObject({ flapping: true })

    stage.clock.stepWall(-HOUR)
    await stage.pass(10 * MINUTE)

    expect(stage.open()).toEqual([])
  })

  test('again within the hour continues the same incident', async () => {
    const stage = await wellFor(5 * MINUTE)
    await flap(stage, 'ethereum/a', { ill: MINUTE, well: MINUTE }, 10 * MINUTE)
    await stage.pass(15 * MINUTE)
    const calm = stage.incidents().at(-1)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(5 * MINUTE)

    const again = only(stage.open())
    expect(calm?.closedAt).not.toBeNull()
    expect(again).toMatchObject({ id: calm?.id, flapping: true, flaps: (calm?.flaps ?? 0) + 1 })
    expect(stage.incidents()).toHaveLength(3)
  })

  test('for days keeps only the first and the latest changes', async () => {
    const stage = await wellFor(5 * MINUTE)
    await flap(stage, 'ethereum/a', { ill: MINUTE, well: MINUTE }, 12 * HOUR)

    const incident = only(stage.open())
    expect(incident.flaps).toBe(359)
    expect(incident.changes).toHaveLength(MAX_CHANGES)
    expect(incident.conditions.length).toBeLessThanOrEqual(MAX_CHANGES)
    expect(JSON.stringify(incident).length).toBeLessThan(64 * 1024)
    const times = incident.changes.map(({ at }) => at)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
    expect((times[MAX_CHANGES / 2 - 1] ?? 0) - incident.openedAt).toBeLessThan(HOUR)
    expect(stage.clock.now() - (times[MAX_CHANGES / 2] ?? 0)).toBeLessThan(HOUR)
  })

  test('a slow succession of different faults is no flapping', async () => {
    const stage = await wellFor(5 * MINUTE, createStage({ networks: [AVALANCHE] }))
    for (const ill of [{ behind: 10 }, REFUSED, UNHEALTHY, { latencyMs: 3000 }, { failure: { kind: 'not-json' } }]) {
      stage.set('avalanche/a', ill as Node)
      await stage.pass(5 * MINUTE)
      stage.set('avalanche/a')
      await stage.pass(10 * MINUTE)
    }

    const incidents = stage.incidents()
    expect(incidents.map(({ conditions }) => conditions.map(({ code }) => code))).toEqual([
      ['lagging'],
      ['unreachable'],
      ['unhealthy'],
      ['slow'],
      ['bad-answer'],
    ])
    expect(incidents.filter(({ flapping }) => flapping)).toEqual([])
    expect(stage.open()).toEqual([])
  })
})

describe('a halt of the whole chain', () => {
  test('is one incident of the network, from the last block to the next, and none of its endpoints', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    const haltedAt = stage.clock.now()
    await stage.pass(2 * HOUR)
    const open = only(stage.open())
    const height = stage.height('ethereum')
    stage.halt('ethereum', false)
    await stage.until(() => stage.height('ethereum') > height, MINUTE)
    const onAt = stage.clock.now()
    await stage.pass(5 * MINUTE)

    const incident = only(stage.incidents())
    expect(open).toMatchObject({ endpoint: null, cause: 'halted', state: 'degraded', affected: ['a', 'b', 'c'] })
    expect(incident.id).toBe(open.id)
    // The last block came in the interval before the halt, and the next poll of any endpoint saw it.
    expect(Math.abs(haltedAt - incident.openedAt)).toBeLessThan(12 * SECOND + INTERVAL)
    expect(incident.confirmedAt - incident.openedAt).toBeLessThan(MINUTE + INTERVAL)
    expect((incident.closedAt ?? 0) - onAt).toBeLessThan(INTERVAL)
    expect(incident.closedAt).toBeGreaterThanOrEqual(onAt)
    expect(spans(incident)).toEqual([['halted', incident.openedAt, incident.closedAt]])
    expect(stage.accused()).toEqual([])
  })

  test('describes the chain, not an age that was true only at the opening', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(2 * HOUR)

    expect(only(stage.open()).conditions[0]?.message).toBe('no new block on any of 3 endpoints')
  })

  test('and an endpoint that really dies during it are two incidents', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(20 * MINUTE)
    const diedAt = stage.clock.now()
    stage.set('ethereum/b', REFUSED)
    await stage.pass(20 * MINUTE)
    const [own, wide] = stage.open()
    stage.halt('ethereum', false)
    await stage.pass(5 * MINUTE)

    expect(stage.incidents()).toHaveLength(2)
    expect(wide).toMatchObject({ endpoint: null, cause: 'halted' })
    expect(own).toMatchObject({
      endpoint: 'b',
      state: 'down',
      openedAt: firstPoll(stage, 'ethereum/b', diedAt),
      absorbedBy: null,
    })
    expect(only(stage.open()).endpoint).toBe('b')
  })

  test('is not shown by an endpoint that is down all the time', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/b', REFUSED)
    await stage.pass(10 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(10 * MINUTE)

    const [wide] = stage.open().filter(({ endpoint }) => endpoint === null)
    expect(wide).toMatchObject({ affected: ['a', 'c'] })
    expect(wide?.conditions[0]?.message).toBe('no new block on any of 2 endpoints')
  })

  test('leaves an endpoint that failed before it its own incident', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/b', { behind: 5 })
    await stage.pass(10 * MINUTE)
    const before = only(stage.open())
    stage.halt('ethereum', true)
    await stage.pass(20 * MINUTE)
    const during = stage.open().find(({ endpoint }) => endpoint === 'b')
    stage.set('ethereum/b')
    stage.halt('ethereum', false)
    await stage.pass(5 * MINUTE)

    expect(during).toMatchObject({ id: before.id, absorbedBy: null })
    expect(stage.incidents().map(({ cause, absorbedBy }) => [cause, absorbedBy])).toEqual([
      ['endpoint', null],
      ['halted', null],
    ])
    expect(stage.open()).toEqual([])
  })

  test('absorbs incidents of single endpoints from before it was known', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(20 * SECOND)
    stage.set('ethereum/b', { behind: 5 })
    await stage.pass(25 * SECOND)
    const early = only(stage.open())
    await stage.pass(20 * MINUTE)

    const wide = only(stage.open())
    expect(early).toMatchObject({ endpoint: 'b' })
    expect(wide).toMatchObject({ cause: 'halted' })
    expect(stage.incidents().find(({ id }) => id === early.id)).toMatchObject({ absorbedBy: wide.id })
  })

  test('goes on while no endpoint answers, and ends with a new block', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(10 * MINUTE)
    const before = only(stage.open())
    for (const name of ['a', 'b', 'c']) stage.set(`ethereum/${name}`, { failure: { kind: 'http', status: 502 } })
    await stage.pass(20 * MINUTE)
    const during = stage.open().find(({ endpoint }) => endpoint === null)
    for (const name of ['a', 'b', 'c']) stage.set(`ethereum/${name}`)
    await stage.pass(10 * MINUTE)
    const after = only(stage.open())
    stage.halt('ethereum', false)
    await stage.pass(5 * MINUTE)

    expect([during?.id, after.id]).toEqual([before.id, before.id])
    expect(during?.closedAt).toBeNull()
    expect(stage.open()).toEqual([])
    expect(stage.incidents().filter(({ cause }) => cause === 'halted')).toHaveLength(1)
  })

  test('continues over a reload', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(10 * MINUTE)
    const before = only(stage.open())
    stage.reconfigure([{ name: 'ethereum', endpoints: ['a', 'b', 'c'] }])
    await stage.pass(10 * MINUTE)

    expect(only(stage.open()).id).toBe(before.id)
    expect(closings(stage)).toBe(0)
    expect(stage.incidents()).toHaveLength(1)
  })

  test('of a single shard is one too, and ends when that shard advances', async () => {
    const stage = createStage({ networks: [SHARDED] })
    await stage.pass(10 * MINUTE)
    const stuckAt = stage.height('multiversx')
    for (const name of FIVE) stage.set(`multiversx/${name}`, { shard: 1, stuckAt })
    await stage.pass(20 * MINUTE)
    const open = only(stage.open())
    stage.reconfigure([SHARDED])
    await stage.pass(10 * MINUTE)
    const still = only(stage.open())
    for (const name of FIVE) stage.set(`multiversx/${name}`)
    await stage.pass(5 * MINUTE)

    expect(open).toMatchObject({ cause: 'halted', endpoint: null })
    expect(open.conditions[0]?.message).toBe('no new block on shard 1, on any of 5 endpoints')
    expect(still.id).toBe(open.id)
    expect(stage.open()).toEqual([])
    expect(stage.incidents()).toHaveLength(1)
    expect(stage.accused()).toEqual([])
  })
})

describe('an event of one shard', () => {
  const key = (name: string) => `multiversx/${name}`
  const ofEndpoints = (stage: Stage) => stage.open().filter(({ endpoint }) => endpoint !== null)
  const ofNetwork = (stage: Stage) => stage.open().filter(({ endpoint }) => endpoint === null)

  async function sharded(): Promise<Stage> {
    return await wellFor(5 * MINUTE, createStage({ networks: [SHARDED] }))
  }

  function halt(stage: Stage): void {
    for (const name of FIVE) stage.set(key(name), { shard: 1, stuckAt: stage.height('multiversx') })
  }

  test('hides no endpoint that lags on another shard, before and after a halt is known', async () => {
    for (const laterMs of [0, 10 * SECOND, 20 * MINUTE]) {
      const stage = await sharded()
      const stuckAt = stage.height('multiversx')
      halt(stage)
      await stage.pass(laterMs)
      stage.set(key('a'), { stuckAt })
      await stage.pass(15 * MINUTE)

      expect(only(ofNetwork(stage))).toMatchObject({ cause: 'halted', conditions: [{ shards: [1] }] })
      expect(only(ofEndpoints(stage))).toMatchObject({ endpoint: 'a', state: 'down' })
      expect(only(ofEndpoints(stage)).conditions[0]?.shards).toContain(0)
    }
  })

  test('hides no endpoint that lags on another shard during a fork', async () => {
    const stage = await sharded()
    const from = stage.height('multiversx') + 1
    for (const name of ['d', 'e']) stage.set(key(name), { shard: 1, branch: { from, name: 'other' } })
    stage.set(key('a'), { stuckAt: from - 1 })
    await stage.pass(10 * MINUTE)

    expect(only(ofNetwork(stage))).toMatchObject({ cause: 'forked', conditions: [{ shards: [1] }] })
    expect(only(ofEndpoints(stage))).toMatchObject({ endpoint: 'a', conditions: [{ code: 'lagging' }, {}] })
  })

  test('of an endpoint names the shard that it lags on now', async () => {
    const stage = await sharded()
    stage.set(key('a'), { shard: 0, behind: 100 })
    await stage.pass(5 * MINUTE)
    expect(only(stage.open()).conditions).toMatchObject([{ code: 'lagging', shards: [0] }])

    stage.set(key('a'), { shard: 1, behind: 100 })
    await stage.pass(5 * MINUTE)

    const lagging = only(stage.open()).conditions.filter(({ code, until }) => code === 'lagging' && until === null)
    expect(lagging).toMatchObject([{ shards: [1], message: expect.stringContaining('shard 1') }])
  })

  test('is the only incident while an endpoint lags on no other shard, also over a restart', async () => {
    const first = await sharded()
    halt(first)
    await first.pass(10 * MINUTE)
    first.set(key('a'), { shard: 1, stuckAt: first.height('multiversx') - 300 })
    await first.pass(10 * MINUTE)
    const before = only(first.open())
    expect(first.state(key('a'))).toBe('down')
    const saved = first.saved()
    await first.stop()

    const second = createStage({ networks: [SHARDED], world: first.world, saved })
    await second.pass(10 * MINUTE)

    expect(second.state(key('a'))).toBe('down')
    expect(only(second.open()).id).toBe(before.id)
    expect(second.incidents()).toHaveLength(1)
  })

  test('of a chain that has halted names only the endpoints of its shard', async () => {
    const observers: StageNetwork = {
      ...SHARDED,
      endpoints: ['a', 'b', { name: 'observer-0', shards: [0] }, { name: 'observer-1', shards: [1] }],
    }
    const stage = await wellFor(5 * MINUTE, createStage({ networks: [observers] }))
    const stuckAt = stage.height('multiversx')
    for (const name of ['a', 'b', 'observer-1']) stage.set(key(name), { shard: 1, stuckAt })
    await stage.pass(10 * MINUTE)

    const halted = only(stage.open())
    expect(halted.affected).toEqual(['a', 'b', 'observer-1'])
    expect(halted.conditions[0]?.message).toBe('no new block on shard 1, on any of 3 endpoints')
  })

  test('names all shards that it is about, once others halt too', async () => {
    const stage = await sharded()
    const stuckAt = stage.height('multiversx')
    halt(stage)
    await stage.until(() => stage.halted('multiversx'), 5 * MINUTE)
    const first = only(stage.open())
    for (const name of FIVE) stage.set(key(name), { stuckAt })
    await stage.pass(5 * MINUTE)

    expect(only(stage.open())).toMatchObject({ id: first.id, conditions: [{ shards: [0, 1, 4294967295] }] })
    expect(only(stage.open()).conditions[0]?.message).toContain('on shard 0, shard 1, metachain,')
  })
})

describe('a fork without a majority', () => {
  const TWO: StageNetwork = { name: 'ethereum', endpoints: ['a', 'b'] }

  async function forked(): Promise<Stage> {
    const stage = await wellFor(5 * MINUTE, createStage({ networks: [TWO] }))
    stage.set('ethereum/b', { branch: { from: stage.height('ethereum') + 1, name: 'other' } })
    await stage.pass(10 * MINUTE)
    return stage
  }

  test('is one incident of the network that names both sides, and none of its endpoints', async () => {
    const stage = await forked()
    const open = only(stage.open())
    stage.set('ethereum/b')
    await stage.pass(5 * MINUTE)

    expect(open).toMatchObject({ cause: 'forked', endpoint: null, state: 'degraded', affected: ['a', 'b'] })
    expect(open.conditions[0]?.message).toMatch(/^2 different blocks at height \d+, none of them a majority's: .*\(a\)/)
    expect(only(stage.incidents())).toMatchObject({ id: open.id, absorbedBy: null })
    expect(stage.open()).toEqual([])
    expect(stage.accused()).toEqual([])
  })

  test('continues over a reload, and while one side does not answer', async () => {
    const stage = await forked()
    const before = only(stage.open())
    stage.reconfigure([TWO])
    await stage.pass(10 * MINUTE)
    const reloaded = only(stage.open())
    const branch = { from: stage.height('ethereum') - 50, name: 'other' }
    stage.set('ethereum/b', { branch, failure: { kind: 'http', status: 502 } })
    await stage.pass(10 * MINUTE)
    const silent = stage.open().find(({ cause }) => cause === 'forked')
    stage.set('ethereum/b', { branch })
    await stage.pass(10 * MINUTE)

    expect([reloaded.id, silent?.id, only(stage.open()).id]).toEqual([before.id, before.id, before.id])
    expect(stage.incidents().filter(({ cause }) => cause === 'forked')).toHaveLength(1)
  })
})

describe('while our own network is down', () => {
  const UNREACHED: Node = { failure: { kind: 'unroutable', code: 'ENETUNREACH' } }

  test('no incident opens, and open ones continue and are closed afterwards', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(10 * MINUTE)
    const before = only(stage.open())
    for (const name of ['a', 'b', 'c']) stage.set(`ethereum/${name}`, UNREACHED)
    await stage.pass(HOUR)
    const during = stage.open()
    const backAt = stage.clock.now()
    for (const name of ['a', 'b', 'c']) stage.set(`ethereum/${name}`)
    await stage.pass(RECOVERED)

    expect(during.map(({ id }) => id)).toEqual([before.id])
    expect(only(stage.incidents())).toMatchObject({
      id: before.id,
      closedAt: firstPoll(stage, 'ethereum/a', backAt),
    })
  })

  test('an endpoint that recovers between two failures of ours is never down without a condition', async () => {
    const stage = await wellFor(5 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(10 * MINUTE)
    let asked = 0
    // Healthy, but every second poll fails because our machine is out of resources.
    stage.set('ethereum/a', { failure: () => (asked++ % 2 === 1 ? { kind: 'local-resources', code: 'EMFILE' } : null) })
    for (let poll = 0; poll < 12; poll++) {
      await stage.pass(INTERVAL / 2)
      if (stage.state('ethereum/a') === 'down') expect(stage.codes('ethereum/a')).toEqual(['unreachable'])
    }
    stage.set('ethereum/a')
    await stage.pass(RECOVERED)

    const incident = only(stage.incidents())
    expect(incident.changes.filter(({ state, codes }) => state !== 'up' && codes.length === 0)).toEqual([])
    expect(incident.closedAt).not.toBeNull()
  })
})
