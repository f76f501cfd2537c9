import { describe, expect, test } from 'vitest'
import { endpointKey } from '../../src/core/endpoint.ts'
import type { Incident } from '../../src/core/incident/incident.ts'
import { headHolds } from '../../src/core/verdict/health.ts'
import { previewOf } from '../../src/gateway/failover/routing-order.ts'
import { createRandom } from '../proof/random.ts'
import {
  createStage,
  type Node,
  type Saved,
  type Stage,
  type StageNetwork,
  type StageOptions,
} from '../support/stage.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const INTERVAL = 10 * SECOND
const RECOVERED = 3 * INTERVAL

const REFUSED: Node = { failure: { kind: 'refused' } }

function firstPoll(stage: Stage, key: string, from: number): number {
  return stage.pollsOf(key).find((at) => at > from) ?? Number.NaN
}

function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1)
  return items[0] as T
}

/** Stops the daemon normally and starts it again `offMs` later. */
async function restarted(stage: Stage, offMs: number, options: StageOptions = {}): Promise<Stage> {
  const saved = stage.saved()
  await stage.stop()
  return startedAgain(stage, saved, offMs, options)
}

/** kill -9: the last 250 ms never reached the disk. */
async function killed(stage: Stage, offMs: number, options: StageOptions = {}): Promise<Stage> {
  return startedAgain(stage, stage.killed(), offMs, options)
}

async function startedAgain(stage: Stage, saved: Saved, offMs: number, options: StageOptions): Promise<Stage> {
  await stage.pass(offMs)
  return createStage({ ...options, world: stage.world, saved })
}

const lately = (stage: Stage, message: string) => stage.log.filter((line) => line.message === message).length

describe('an incident that is open when the daemon stops', () => {
  test('continues after the restart with the same id, and is closed at the first good poll', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const before = only(first.open())

    const second = await restarted(first, 30 * MINUTE)
    const atOnce = only(second.open())
    await second.pass(10 * MINUTE)
    const still = only(second.open())
    const backAt = second.clock.now()
    second.set('ethereum/a')
    await second.pass(RECOVERED)

    expect(atOnce).toEqual(before)
    expect(still.id).toBe(before.id)
    expect(only(second.incidents())).toMatchObject({
      id: before.id,
      openedAt: before.openedAt,
      confirmedAt: before.confirmedAt,
      closedAt: firstPoll(second, 'ethereum/a', backAt),
    })
    expect(lately(second, 'incident opened')).toBe(0)
  })

  test('is closed at the first poll after the start if the node recovered meanwhile', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const before = only(first.open())
    const saved = first.saved()
    await first.stop()
    first.set('ethereum/a')

    const startedAt = first.clock.now() + 5 * HOUR
    const second = await startedAgain(first, saved, 5 * HOUR, {})
    await second.pass(MINUTE)

    const good = second.pollsOf('ethereum/a').find((at) => at >= startedAt)
    expect(only(second.incidents())).toMatchObject({ id: before.id, closedAt: good })
  })

  test('is closed if the endpoint is no longer configured', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const before = only(first.open())

    const second = await restarted(first, MINUTE, { networks: [{ name: 'ethereum', endpoints: ['b', 'c'] }] })

    expect(only(second.incidents())).toMatchObject({ id: before.id, closedAt: second.clock.now() })
  })

  test.each(['a reload', 'a restart'])(
    'does not go on when the endpoint, removed by %s, is configured again',
    async (how) => {
      const without = [{ name: 'ethereum', endpoints: ['b', 'c'] }]
      const first = createStage()
      await first.pass(5 * MINUTE)
      first.set('ethereum/a', REFUSED)
      await first.pass(10 * MINUTE)
      if (how === 'a reload') first.reconfigure(without)
      const second = how === 'a reload' ? first : await restarted(first, MINUTE, { networks: without })
      await second.pass(5 * MINUTE)
      const before = only(second.incidents())

      const third = await restarted(second, 24 * HOUR, {})
      third.set('ethereum/a')
      await third.pass(MINUTE)
      expect([third.open(), only(third.incidents())]).toEqual([[], before])
      third.set('ethereum/a', REFUSED)
      const failedAt = third.clock.now()
      await third.until(() => third.open().length > 0, MINUTE)

      expect(only(third.open()).openedAt).toBe(firstPoll(third, 'ethereum/a', failedAt))
    },
  )

  test('stays open if the saved health cannot be read: the endpoint is unknown until it is polled', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const saved = first.saved()
    await first.stop()
    const garbled = { ...saved, healths: saved.healths.map((health) => ({ ...health, value: { version: 9 } })) }

    const second = await startedAgain(first, garbled, MINUTE, {})
    const atOnce = second.state('ethereum/a')
    await second.pass(MINUTE)

    expect(atOnce).toBe('unknown')
    expect(only(second.open())).toMatchObject({ id: only(saved.incidents).id, endpoint: 'a' })
  })
})

describe('kill -9', () => {
  test('while an outage is confirmed loses nothing: it is confirmed again, and dated back to its first bad poll', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    const diedAt = first.clock.now()
    first.set('ethereum/a', REFUSED)
    await first.until(() => first.open().length > 0, MINUTE)
    const lost = only(first.open())

    const second = await killed(first, 3 * SECOND)
    const found = second.open()
    await second.pass(MINUTE)

    expect(found).toEqual([])
    expect(only(second.open())).toMatchObject({ id: lost.id, openedAt: firstPoll(first, 'ethereum/a', diedAt) })
  })

  test('while a recovery is confirmed leaves the incident open until it is confirmed again', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const before = only(first.open())
    const backAt = first.clock.now()
    first.set('ethereum/a')
    await first.until(() => first.open().length === 0, MINUTE)

    const second = await killed(first, 3 * SECOND)
    const found = only(second.open())
    await second.pass(MINUTE)

    expect(found.id).toBe(before.id)
    expect(only(second.incidents())).toMatchObject({
      id: before.id,
      closedAt: firstPoll(first, 'ethereum/a', backAt),
    })
  })

  test('at any moment of an outage leaves one incident, which never begins before the outage', async () => {
    for (let moment = 0; moment < 7; moment++) {
      const first = createStage()
      await first.pass(5 * MINUTE)
      const diedAt = first.clock.now()
      first.set('ethereum/a', REFUSED)
      await first.pass(moment * 2900)
      const second = await killed(first, moment % 2 === 0 ? SECOND : HOUR)
      await second.pass(5 * MINUTE)
      const third = await killed(second, SECOND)
      await third.pass(5 * MINUTE)
      const backAt = third.clock.now()
      third.set('ethereum/a')
      await third.pass(MINUTE)

      const incident = only(third.incidents())
      expect(incident.openedAt).toBeGreaterThanOrEqual(diedAt)
      expect(incident.closedAt).toBe(firstPoll(third, 'ethereum/a', backAt))
    }
  })

  test('between the two writes closes nothing in the past', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    const well = first.saved()
    first.set('ethereum/a', REFUSED)
    await first.pass(10 * MINUTE)
    const { incidents } = first.saved()
    first.killed()
    first.set('ethereum/a')

    const startedAt = first.clock.now() + SECOND
    const second = await startedAgain(first, { healths: well.healths, incidents }, SECOND, {})
    await second.pass(MINUTE)

    expect(only(second.incidents()).closedAt).toBeGreaterThanOrEqual(startedAt)
  })

  test('before the incident of a confirmed outage was stored loses nothing: it is known though the node is back', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    const diedAt = first.clock.now()
    first.set('ethereum/a', REFUSED)
    await first.until(() => first.open().length > 0, MINUTE)
    const { healths } = first.saved()
    first.killed()
    first.set('ethereum/a')

    const startedAt = first.clock.now() + SECOND
    const second = await startedAgain(first, { healths, incidents: [] }, SECOND, {})
    await second.pass(MINUTE)

    expect(only(second.incidents())).toMatchObject({
      endpoint: 'a',
      state: 'down',
      openedAt: firstPoll(first, 'ethereum/a', diedAt),
      closedAt: firstPoll(second, 'ethereum/a', startedAt - 1),
    })
  })
})

describe('flapping', () => {
  async function flap(stage: Stage, times: number): Promise<void> {
    for (let time = 0; time < times; time++) {
      stage.set('ethereum/a', REFUSED)
      await stage.pass(MINUTE)
      stage.set('ethereum/a')
      await stage.pass(MINUTE)
    }
  }

  test('is still known after a restart: the third failure is flapping', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    await flap(first, 2)
    const second = await restarted(first, 10 * SECOND)
    await flap(second, 1)

    const [, , third, ...more] = second.incidents()
    expect(more).toEqual([])
    expect(third).toMatchObject({ flapping: true, flaps: 2, closedAt: null })
  })

  test('continues over a restart as the same incident, open or closed', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    await flap(first, 5)
    const open = only(first.open())
    const second = await restarted(first, 10 * SECOND)
    await flap(second, 2)
    const goesOn = only(second.open())
    await second.pass(10 * MINUTE)
    const calm = second.incidents().find(({ id }) => id === open.id)
    const third = await killed(second, MINUTE)
    await flap(third, 1)

    expect(goesOn).toMatchObject({ id: open.id, flaps: open.flaps + 2 })
    expect(calm?.closedAt).not.toBeNull()
    expect(only(third.open())).toMatchObject({ id: open.id, flaps: open.flaps + 3 })
    expect(third.incidents()).toHaveLength(3)
  })
})

describe('an endpoint on another branch than the majority', () => {
  /** Whenever it comes within a round of polls and between two blocks. */
  const WHENEVER = Array.from({ length: 12 }, (_, at) => at * 3 * SECOND)

  async function forked(forMs: number): Promise<Stage> {
    const stage = createStage()
    await stage.pass(5 * MINUTE)
    stage.set('ethereum/c', { branch: { from: stage.height('ethereum') + 1, name: 'other' } })
    await stage.pass(10 * MINUTE + forMs)
    return stage
  }

  test.each(WHENEVER)('is forked all the time over a reload, %i ms later', async (ms) => {
    const stage = await forked(ms)
    const { id } = only(stage.open())

    stage.reconfigure([{ name: 'ethereum', endpoints: ['a', 'b', 'c', 'd'] }])
    await stage.pass(5 * MINUTE)

    expect(only(stage.incidents())).toMatchObject({ id, closedAt: null })
    expect(stage.told('ethereum/c')).toHaveLength(2)
  })

  test.each(WHENEVER)('is forked all the time over a restart, %i ms later', async (ms) => {
    const first = await forked(ms)
    const { id } = only(first.open())

    const second = await restarted(first, ms)
    await second.pass(5 * MINUTE)

    expect(only(second.incidents())).toMatchObject({ id, closedAt: null })
    expect(second.told('ethereum/c')).toEqual([])
  })

  test.each(WHENEVER)('and back on theirs when the daemon starts again is up again, %i ms later', async (ms) => {
    const first = await forked(ms)
    const saved = first.saved()
    await first.stop()
    first.set('ethereum/c')

    const second = await startedAgain(first, saved, ms, {})
    await second.pass(5 * INTERVAL)

    expect(second.state('ethereum/c')).toBe('up')
    expect(second.open()).toEqual([])
  })
})

describe('an event of the whole network', () => {
  function same(incidents: readonly Incident[], id: string): Incident {
    const found = incidents.filter(({ endpoint }) => endpoint === null)
    expect(only(found).id).toBe(id)
    return only(found)
  }

  test.each([
    { what: 'halted', said: ['network halted'] },
    { what: 'forked', said: ['network forked'] },
  ])('is known all the time over a reload: $what', async ({ what, said }) => {
    const stage = createStage({ networks: [{ name: 'ethereum', endpoints: ['a', 'b', 'c', 'd'] }] })
    await stage.pass(5 * MINUTE)
    if (what === 'halted') stage.halt('ethereum', true)
    else for (const name of ['c', 'd']) stage.set(`ethereum/${name}`, { branch: { from: 1050, name: 'other' } })
    await stage.pass(10 * MINUTE)

    stage.reconfigure([{ name: 'ethereum', endpoints: ['a', 'c'] }])
    await stage.pass(5 * MINUTE)
    stage.reconfigure([{ name: 'ethereum', endpoints: ['a', 'new', 'c'] }])
    await stage.pass(3 * SECOND)

    expect({ halted: stage.halted('ethereum'), forked: stage.forked('ethereum') }).toMatchObject({ [what]: true })
    expect(stage.log.map(({ message }) => message).filter((message) => message.startsWith('network'))).toEqual(said)
  })

  test('a halt continues over restarts as one incident, and ends at the next block', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(10 * MINUTE)
    const { id } = only(first.open())

    const second = await restarted(first, 10 * MINUTE)
    await second.pass(5 * MINUTE)
    same(second.open(), id)
    const third = await killed(second, 2 * HOUR)
    await third.pass(5 * MINUTE)
    same(third.open(), id)
    third.halt('ethereum', false)
    await third.pass(5 * MINUTE)

    expect(same(third.incidents(), id).closedAt).not.toBeNull()
    expect(lately(second, 'incident closed') + lately(second, 'incident opened')).toBe(0)
    expect(lately(third, 'incident opened')).toBe(0)
    expect([...second.accused(), ...third.accused()]).toEqual([])
  })

  test('a halt continues over a restart while an endpoint catches up to where the others stand', async () => {
    const first = createStage()
    let behind = 500
    first.set('ethereum/c', { behind: () => --behind })
    await first.pass(10 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(10 * MINUTE)
    const { id } = only(first.open().filter(({ endpoint }) => endpoint === null))

    for (let offMs = 0; offMs < INTERVAL; offMs += SECOND) {
      const second = await startedAgain(first, first.killed(), INTERVAL + offMs, {})
      await second.pass(MINUTE)
      expect(same(second.incidents(), id)).toMatchObject({ closedAt: null })
      second.killed()
    }
  })

  test.each([
    ['a', 'b', 'c'],
    ['c', 'a', 'b'],
  ])(
    'two endpoints that stand still while the third advances are stalled after a restart too: %s, %s, %s',
    async (...endpoints) => {
      const networks = [{ name: 'ethereum', endpoints }]
      const first = createStage({ networks })
      await first.pass(5 * MINUTE)
      for (const key of ['ethereum/a', 'ethereum/b']) first.set(key, { stuckAt: first.height('ethereum') })
      await first.pass(3 * HOUR)
      const before = first.open()

      const second = await restarted(first, MINUTE, { networks })
      await second.pass(20 * MINUTE)

      expect(new Set(before.map(({ endpoint }) => endpoint))).toEqual(new Set(['a', 'b']))
      expect(second.open().map(({ id }) => id)).toEqual(before.map(({ id }) => id))
      expect(second.incidents()).toHaveLength(2)
    },
  )

  test('a halt that ended while the daemon was stopped ends at the first poll that shows it', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(10 * MINUTE)
    const { id } = only(first.open())
    const saved = first.saved()
    await first.stop()
    first.halt('ethereum', false)

    const second = await startedAgain(first, saved, HOUR, {})
    await second.pass(MINUTE)

    const [startedAt = 0] = second.pollsOf('ethereum/a')
    const { closedAt } = same(second.incidents(), id)
    expect((closedAt ?? 0) - startedAt).toBeLessThan(INTERVAL)
  })

  test('a fork continues over a restart as one incident, and ends when all endpoints agree', async () => {
    const networks: StageNetwork[] = [{ name: 'ethereum', endpoints: ['a', 'b'] }]
    const first = createStage({ networks })
    await first.pass(5 * MINUTE)
    first.set('ethereum/b', { branch: { from: first.height('ethereum') + 1, name: 'other' } })
    await first.pass(10 * MINUTE)
    const { id } = only(first.open())

    const second = await restarted(first, 10 * MINUTE, { networks })
    await second.pass(10 * MINUTE)
    same(second.open(), id)
    second.set('ethereum/b')
    await second.pass(5 * MINUTE)

    expect(same(second.incidents(), id).closedAt).not.toBeNull()
    expect(lately(second, 'incident opened')).toBe(0)
  })
})

test.each<[string, Node]>([
  ['forked', { branch: { from: 1020, name: 'other' } }],
  ['lagging', { behind: 5 }],
  ['stalled', { stuckAt: 1020 }],
])('an endpoint that is %s stays so over a reload of thresholds', async (_, node) => {
  const of = (stallMs: number) => [{ name: 'ethereum', endpoints: ['a', 'b', 'c'], thresholds: { stallMs } }]
  const stage = createStage({ networks: of(MINUTE) })
  await stage.pass(5 * MINUTE)
  stage.set('ethereum/a', node)
  await stage.pass(10 * MINUTE)
  const { id } = only(stage.open())
  const codes = () => ['a', 'b', 'c'].map((name) => stage.told(`ethereum/${name}`).map((one) => one.codes))
  const told = codes()

  stage.reconfigure(of(MINUTE + 1))
  expect(stage.state('ethereum/a')).toBe('degraded')
  await stage.pass(5 * MINUTE)

  expect(codes()).toEqual(told)
  expect(stage.incidents().map((incident) => [incident.id, incident.closedAt])).toEqual([[id, null]])
})

describe('a reload that changes polling', () => {
  const thresholds = { lagBlocks: 10, lagRecoverBlocks: 1 }
  const of = (intervalMs: number) => [
    { name: 'ethereum', endpoints: ['a', 'b', 'c'], endpoint: { intervalMs }, thresholds },
  ]
  const reloads: readonly [string, from: number, to: number, keeps: boolean][] = [
    ['URLs', INTERVAL, INTERVAL, false],
    ['URLs and the interval', INTERVAL, INTERVAL / 2, false],
    ['the interval to a shorter one', MINUTE, INTERVAL / 2, true],
    ['the interval to a longer one', INTERVAL, MINUTE, true],
  ]
  const faults: readonly [string, Node, Node?][] = [
    ['unreachable', REFUSED],
    ['forked', { branch: { from: 1020, name: 'other' } }],
    ['lagging, though less than before', { behind: 40 }, { behind: 5 }],
    ['stalled', { stuckAt: 1020 }],
  ]
  const cases = reloads.flatMap(([what, from, to, keeps]) =>
    faults.map(([fault, first, later = first]) => ({ fault, what, first, later, from, to, keeps })),
  )
  const left = (stage: Stage) => {
    const [standing] = stage.board.networks()
    const order = standing === undefined ? [] : previewOf(standing, stage.clock.now())
    return order.find(({ endpoint }) => endpoint === 'a')?.excluded
  }

  test.each(cases)('leaves an incident open and requests away from a node that is $fault: $what', async (one) => {
    const { fault, first, later, from, to, keeps } = one
    for (const ms of [0, 3 * SECOND, 7 * SECOND]) {
      const stage = createStage({ networks: of(from) })
      await stage.pass(6 * MINUTE)
      stage.set('ethereum/a', first)
      await stage.pass(10 * MINUTE)
      stage.set('ethereum/a', later)
      await stage.pass(5 * MINUTE + ms)
      const { id } = only(stage.open())
      const told = stage.told('ethereum/a').length
      const [code = ''] = fault.split(',')

      stage.reconfigure(of(to), [], { keeps })
      if (ms === 7 * SECOND) stage.reconfigure(of(to))
      const states = new Set<string>()
      const reasons = new Set([left(stage)])
      for (let seconds = 0; seconds < 5 * 60; seconds++) {
        await stage.pass(SECOND)
        for (const name of ['b', 'c']) states.add(stage.state(`ethereum/${name}`))
        reasons.add(left(stage))
      }

      expect(stage.incidents().map((incident) => [incident.id, incident.closedAt])).toEqual([[id, null]])
      for (const { codes } of stage.told('ethereum/a').slice(told)) expect(codes).toContain(code)
      expect([...states].filter((state) => state !== 'unknown')).toEqual(['up'])
      expect(reasons).not.toContain(null)
      stage.set('ethereum/a')
      await stage.pass(5 * MINUTE)
      expect([stage.state('ethereum/a'), left(stage)]).toEqual(['up', null])
      expect(only(stage.incidents())).toMatchObject({ id, closedAt: expect.any(Number) })
    }
  })

  test('to a longer interval leaves states known until the next poll', async () => {
    const stage = createStage({ networks: of(INTERVAL) })
    await stage.pass(5 * MINUTE)
    stage.reconfigure(of(5 * MINUTE))
    const states = new Set<string>()
    for (let seconds = 0; seconds < 15 * 60; seconds++) {
      await stage.pass(SECOND)
      for (const name of ['a', 'b', 'c']) states.add(stage.state(`ethereum/${name}`))
    }
    expect([...states]).toEqual(['up'])
  })

  test('to a shorter interval leaves states and heads known until the next poll', async () => {
    const stage = createStage({ networks: of(5 * MINUTE) })
    await stage.pass(29 * MINUTE)
    stage.reconfigure(of(INTERVAL))
    const known = new Set<string>()
    for (let seconds = 0; seconds < 30; seconds++) {
      for (const { health } of stage.board.network('ethereum')?.endpoints ?? []) {
        const isHeadKnown = health.heads.every((head) => headHolds(head, health, stage.clock.now()))
        known.add(`${stage.state(endpointKey(health.endpoint))} ${isHeadKnown}`)
      }
      await stage.pass(SECOND)
    }
    expect([...known]).toEqual(['up true'])
  })

  test('to a shorter interval keeps no head of a node that is gone, however long its result is held', async () => {
    const polled = (intervalMs: number): StageNetwork[] => [
      {
        name: 'ethereum',
        endpoints: [
          { name: 'a', intervalMs },
          { name: 'b', intervalMs: 10 * MINUTE },
        ],
      },
    ]
    const stage = createStage({ networks: polled(5 * MINUTE) })
    await stage.pass(HOUR)
    stage.set('ethereum/a', REFUSED)
    stage.reconfigure(polled(INTERVAL))
    await stage.until(() => stage.state('ethereum/a') === 'down', HOUR)
    await stage.pass(2 * INTERVAL)
    for (let seconds = 0; seconds < 20 * 60; seconds++) {
      await stage.pass(SECOND)
      const health = stage.board.entry('ethereum', 'a')?.health
      const heads = health?.heads.filter((head) => headHolds(head, health, stage.clock.now()))
      expect([stage.state('ethereum/a'), heads]).toEqual(['down', []])
    }
  })

  test('to other URLs leaves states unknown until the next poll, and one that works there has recovered', async () => {
    const stage = createStage({ networks: of(INTERVAL) })
    await stage.pass(5 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(MINUTE)
    const { id } = only(stage.open())

    stage.set('ethereum/a')
    stage.reconfigure(of(INTERVAL), [], { keeps: false })
    const reloadedAt = stage.clock.now()
    expect(['a', 'b', 'c'].map((name) => stage.state(`ethereum/${name}`))).toEqual(Array(3).fill('unknown'))
    expect(stage.board.entry('ethereum', 'b')?.health.heads).toEqual([])
    await stage.pass(MINUTE)

    expect(only(stage.incidents())).toMatchObject({ id, closedAt: firstPoll(stage, 'ethereum/a', reloadedAt) })
    expect(['a', 'b', 'c'].map((name) => stage.state(`ethereum/${name}`))).toEqual(Array(3).fill('up'))
  })

  test.each(reloads)('leaves the network halted: %s', async (_, from, to, keeps) => {
    const stage = createStage({ networks: of(from) })
    await stage.pass(5 * MINUTE)
    stage.halt('ethereum', true)
    await stage.pass(10 * MINUTE)
    const { id } = only(stage.open())

    stage.reconfigure(of(to), [], { keeps })
    for (let seconds = 0; seconds < 5 * 60; seconds++) {
      await stage.pass(SECOND)
      expect(stage.halted('ethereum')).toBe(true)
    }

    expect(only(stage.incidents())).toMatchObject({ id, closedAt: null })
    stage.halt('ethereum', false)
    await stage.pass(3 * MINUTE)
    expect(only(stage.incidents()).closedAt).not.toBeNull()
  })

  test.each(reloads)('leaves the end of a flapping incident at the recovery: %s', async (_, from, to, keeps) => {
    const stage = createStage({ networks: of(from) })
    await stage.pass(5 * MINUTE)
    for (let outages = 0; outages < 3; outages++) {
      stage.set('ethereum/a', REFUSED)
      await stage.pass(4 * from)
      stage.set('ethereum/a')
      await stage.pass(4 * from)
    }
    const flapping = only(stage.open())
    const recoveredAt = flapping.changes.at(-1)?.at

    stage.reconfigure(of(to), [], { keeps })
    await stage.pass(15 * MINUTE)

    expect(stage.incidents().at(-1)).toMatchObject({ id: flapping.id, flapping: true, closedAt: recoveredAt })
  })

  test('to another chain keeps no head of the earlier one', async () => {
    const networks = (chainId: number) => of(INTERVAL).map((one) => ({ ...one, network: { chainId } }))
    const stage = createStage({ networks: networks(1) })
    stage.set('ethereum/b', { behind: -1_000_000 })
    stage.set('ethereum/c', { behind: -1_000_000 })
    await stage.pass(5 * MINUTE)
    const reference = stage.reference('ethereum')
    for (const name of ['a', 'b', 'c']) stage.set(`ethereum/${name}`)

    stage.reconfigure(networks(5), [], { keeps: false })
    await stage.pass(2 * INTERVAL)

    expect(reference).toBeGreaterThan(1_000_000)
    expect(stage.reference('ethereum')).toBeLessThan(10_000)
    expect(stage.counted('ethereum/b')).toEqual({ reorgs: 0, regressions: 0 })
  })
})

test('a raised threshold ends what it no longer finds, a lowered one finds it, after the usual number of polls', async () => {
  const of = (lagBlocks: number) => [{ name: 'ethereum', endpoints: ['a', 'b', 'c'], thresholds: { lagBlocks } }]
  const stage = createStage({ networks: of(3) })
  stage.set('ethereum/a', { behind: 5 })
  await stage.pass(5 * MINUTE)

  stage.reconfigure(of(10))
  expect(stage.codes('ethereum/a')).toEqual(['lagging'])
  await stage.pass(MINUTE)
  expect(stage.codes('ethereum/a')).toEqual([])
  expect(only(stage.incidents()).closedAt).not.toBeNull()

  stage.reconfigure(of(5))
  await stage.pass(MINUTE)
  expect(stage.codes('ethereum/a')).toEqual(['lagging'])
})

test.each([0, 1])('reloads change no verdict, halt or fork, whatever happens to the nodes (%i)', async (moreMs) => {
  async function story(seed: number, reloads: boolean) {
    const random = createRandom(seed)
    const names = 'abcdef'.slice(0, 2 + (seed % 4)).split('')
    const networks = [{ name: 'ethereum', endpoints: names, network: { blockTimeMs: 2 * SECOND * (1 + random()) } }]
    const stage = createStage({ networks })
    await stage.pass(5 * MINUTE)
    for (let time = 0; time < 12; time++) {
      const height = stage.height('ethereum')
      const behaviours: Node[] = [
        {},
        {},
        REFUSED,
        { behind: 5 },
        { behind: -1e9 },
        { stuckAt: height },
        { branch: { from: height, name: `other${time}` } },
      ]
      const name = names[Math.floor(random() * names.length)]
      stage.set(`ethereum/${name}`, behaviours[Math.floor(random() * behaviours.length)])
      stage.halt('ethereum', random() < 0.2)
      await stage.pass(random() * 3 * MINUTE)
      const thresholds = { stallMs: MINUTE + time * moreMs }
      if (reloads) stage.reconfigure(networks.map((one) => ({ ...one, thresholds })))
      await stage.pass(MINUTE)
    }
    const ofNetwork = stage.log.flatMap(({ message }) => (message.startsWith('network') ? [message] : []))
    await stage.stop()
    return { accused: stage.accused().map(({ key, codes }) => [key, ...codes]), ofNetwork }
  }

  for (let seed = 0; seed < 6; seed++) expect([seed, await story(seed, true)]).toEqual([seed, await story(seed, false)])
})

describe('a restart while the chain is halted', () => {
  const order = [
    ['a', 'b', 'c'],
    ['b', 'a', 'c'],
  ]

  test.each(order)(
    'blames no endpoint that is a block behind, and keeps when it halted: %s first',
    async (...names) => {
      const networks = [{ name: 'ethereum', endpoints: names }]
      const first = createStage({ networks, nodes: { 'ethereum/a': { behind: 1 } } })
      await first.pass(2 * MINUTE)
      first.halt('ethereum', true)
      const haltedAt = first.clock.now()
      await first.pass(30 * SECOND)

      const second = await restarted(first, 90 * SECOND, { networks })
      await second.pass(5 * MINUTE)

      expect(names.map((name) => second.codes(`ethereum/${name}`))).toEqual([[], [], []])
      const halt = only(second.incidents())
      expect(halt.cause).toBe('halted')
      expect(Math.abs(halt.openedAt - haltedAt)).toBeLessThan(INTERVAL)
    },
  )

  test.each(['a', 'b', 'c'])(
    'blames no endpoint that answers while others have not yet, nor after a poll of %s failed',
    async (dead) => {
      for (const haltedMs of [30 * SECOND, 10 * MINUTE]) {
        const first = createStage()
        await first.pass(5 * MINUTE)
        first.set(`ethereum/${dead}`, REFUSED)
        first.halt('ethereum', true)
        await first.pass(haltedMs)

        const second = await killed(first, 10 * MINUTE)
        await second.pass(5 * MINUTE)

        expect(second.accused().filter(({ key }) => key !== `ethereum/${dead}`)).toEqual([])
        expect(second.halted('ethereum')).toBe(true)
      }
    },
  )

  test('is known in time, though an endpoint has caught up with the others meanwhile', async () => {
    const first = createStage({ networks: [{ name: 'ethereum', endpoints: ['a', 'b', 'c'] }] })
    await first.pass(5 * MINUTE)
    first.set('ethereum/c', { behind: 5 })
    await first.pass(MINUTE)
    first.halt('ethereum', true)
    const haltedAt = first.clock.now()
    await first.pass(40 * SECOND)
    first.set('ethereum/c')
    await first.pass(INTERVAL)
    const saved = first.saved()
    first.killed()
    const second = await startedAgain(first, saved, 0, {})
    await second.until(() => second.halted('ethereum'), 10 * MINUTE)
    expect(second.clock.now() - haltedAt).toBeLessThan(MINUTE + 2 * INTERVAL)
  })

  test('does not count the halt against a pool that is two blocks behind when it ends', async () => {
    const first = createStage()
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(10 * MINUTE)
    const saved = first.killed()
    first.set('ethereum/b', { behind: 2 })
    first.halt('ethereum', false)

    const second = await startedAgain(first, saved, 15 * SECOND, {})
    await second.pass(5 * MINUTE)

    expect(second.accused()).toEqual([])
  })

  test('does not blame the only endpoint that still answers', async () => {
    const first = createStage()
    await first.pass(2 * MINUTE)
    first.halt('ethereum', true)
    await first.pass(10 * MINUTE)
    for (const name of ['b', 'c']) first.set(`ethereum/${name}`, { failure: { kind: 'http', status: 502 } })
    await first.pass(30 * MINUTE)
    expect([first.state('ethereum/a'), first.halted('ethereum')]).toEqual(['up', true])

    const second = await restarted(first, MINUTE)
    await second.pass(10 * MINUTE)

    expect([second.state('ethereum/a'), second.halted('ethereum')]).toEqual(['up', true])
    second.halt('ethereum', false)
    await second.pass(5 * MINUTE)
    expect([second.state('ethereum/a'), second.halted('ethereum')]).toEqual(['up', false])
  })
})

describe('until all endpoints were polled after a restart', () => {
  const atOnce = { failAfter: 1, recoverAfter: 1 }

  async function over(nodes: Readonly<Record<string, Node>>, names: readonly string[], offMs: number): Promise<Stage> {
    const networks = [{ name: 'ethereum', endpoints: names, thresholds: atOnce }]
    const first = createStage({ networks })
    await first.pass(5 * MINUTE)
    for (const [name, node] of Object.entries(nodes)) first.set(`ethereum/${name}`, node)
    await first.pass(5 * MINUTE)
    return killed(first, offMs, { networks })
  }

  test('the first two of three do not make a liar of the first one’s height', async () => {
    let ahead = 0
    const second = await over({ a: { behind: () => -++ahead } }, ['a', 'b', 'c'], SECOND)
    await second.pass(5 * MINUTE)

    expect(second.accused()).toEqual([])
    expect(second.incidents()).toEqual([])
  })

  test('one that lags goes on to lag, though it is ahead of where the others were', async () => {
    const second = await over({ a: { behind: 20 } }, ['a', 'b', 'c'], HOUR)
    await second.pass(5 * MINUTE)

    expect(second.told('ethereum/a')).toEqual([])
    expect(second.codes('ethereum/a')).toEqual(['lagging'])
    expect(only(second.incidents())).toMatchObject({ endpoint: 'a', closedAt: null })
  })

  test('one on a branch of its own stays there', async () => {
    const second = await over({ a: { branch: { from: 1020, name: 'other' } } }, ['a', 'b', 'c'], MINUTE)
    await second.pass(5 * MINUTE)

    expect(second.told('ethereum/a')).toEqual([])
    expect(second.codes('ethereum/a')).toEqual(['forked'])
    expect(only(second.incidents())).toMatchObject({ endpoint: 'a', closedAt: null })
  })

  test('one whose first block of its own has a parent that all have stays on its branch', async () => {
    const slow = { network: { blockTimeMs: 5 * MINUTE }, thresholds: { ...atOnce, stallMs: HOUR } }
    const networks = [{ name: 'ethereum', endpoints: ['a', 'b', 'c', 'd'], ...slow }]
    const first = createStage({ networks })
    await first.pass(18 * MINUTE)
    first.set('ethereum/a', { branch: { from: first.height('ethereum') + 1, name: 'other' } })
    await first.until(() => first.codes('ethereum/a').includes('forked'), 10 * MINUTE)
    await first.pass(SECOND)
    for (const name of ['b', 'c']) first.set(`ethereum/${name}`, { behind: 1 })
    const second = await killed(first, SECOND, { networks })
    await second.pass(10 * MINUTE)

    expect(second.told('ethereum/a')).toEqual([])
    expect(second.codes('ethereum/a')).toEqual(['forked'])
  })

  test('the higher half of the endpoints of a halted chain makes no other late', async () => {
    const networks = [{ name: 'ethereum', endpoints: ['a', 'b', 'c', 'd'], thresholds: atOnce }]
    const first = createStage({ networks })
    await first.pass(5 * MINUTE)
    first.halt('ethereum', true)
    for (const name of ['c', 'd']) first.set(`ethereum/${name}`, { stuckAt: first.height('ethereum') - 3 })
    await first.pass(10 * MINUTE)
    const second = await killed(first, MINUTE, { networks })
    await second.pass(5 * MINUTE)

    expect(second.accused()).toEqual([])
  })
})
