import { describe, expect, test } from 'vitest'
import type { PlannedWindow } from '../../src/poll/maintenance-calendar.ts'
import { createStage, type Node, type Stage, type StageNetwork } from '../support/stage.ts'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const INTERVAL = 10 * SECOND
const RECOVERED = 3 * INTERVAL
/** Ten minutes after this moment every endpoint here is up and polled regularly. */
const START = Date.UTC(2026, 0, 1)

const REFUSED: Node = { failure: { kind: 'refused' } }
const THREE: StageNetwork = { name: 'ethereum', endpoints: ['a', 'b', 'c'] }

function once(
  from: number,
  until: number,
  endpoints: readonly string[] | null = ['a'],
  name = 'upgrade',
): PlannedWindow {
  return { name, networks: ['ethereum'], endpoints, when: { kind: 'once', from: START + from, until: START + until } }
}

function stageWith(...windows: readonly PlannedWindow[]): Stage {
  return createStage({ networks: [THREE], windows, now: START })
}

/** Advances to this long after the start. */
async function passTo(stage: Stage, ms: number): Promise<void> {
  await stage.pass(START + ms - stage.clock.now())
}

function firstPoll(stage: Stage, key: string, from: number): number {
  return stage.pollsOf(key).find((at) => at > from) ?? Number.NaN
}

/** When the only open incident began, and the end of the maintenance in which it did. */
function planned(stage: Stage): readonly unknown[] {
  const { openedAt, plannedUntil } = only(stage.open())
  return [openedAt, plannedUntil]
}

function only<T>(items: readonly T[]): T {
  expect(items).toHaveLength(1)
  return items[0] as T
}

describe('in planned maintenance', () => {
  test('no incident opens, and an endpoint that has recovered by its end never has one', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 11 * MINUTE)
    const state = stage.state('ethereum/a')
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 60 * MINUTE)
    const during = stage.state('ethereum/a')
    stage.set('ethereum/a')
    await passTo(stage, 2 * 60 * MINUTE)

    expect([state, during, stage.state('ethereum/a')]).toEqual(['maintenance', 'maintenance', 'up'])
    expect(stage.incidents()).toEqual([])
  })

  test('an endpoint that answers again just before its end never has one, although that is confirmed only after it', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 30 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 70 * MINUTE - 500)
    stage.set('ethereum/a')
    await passTo(stage, 2 * 60 * MINUTE)

    expect(stage.state('ethereum/a')).toBe('up')
    expect(stage.incidents()).toEqual([])
  })

  describe('that begins between the first failed poll and the second', () => {
    /** Planned for an hour, from a second after the first failed poll. */
    async function failedBefore(): Promise<{ stage: Stage; bad: number; until: number }> {
      const rehearsal = stageWith()
      await passTo(rehearsal, 10 * MINUTE)
      const bad = firstPoll(rehearsal, 'ethereum/a', START + 9 * MINUTE)
      const until = bad - START + SECOND + HOUR
      const stage = stageWith(once(until - HOUR, until))
      await passTo(stage, 9 * MINUTE)
      stage.set('ethereum/a', REFUSED)
      await passTo(stage, until - 500)
      expect(stage.pollsOf('ethereum/a').filter((at) => at >= bad && at < START + until - HOUR)).toEqual([bad])
      return { stage, bad, until }
    }

    test('work that ends well has no incident', async () => {
      const { stage } = await failedBefore()
      stage.set('ethereum/a')
      await passTo(stage, 2 * HOUR)

      expect(stage.incidents()).toEqual([])
    })

    test('a failure that lasts longer is planned until its end', async () => {
      const { stage, bad, until } = await failedBefore()
      await passTo(stage, until + 5 * MINUTE)

      expect(planned(stage)).toEqual([bad, START + until])
    })

    test('and so it is over a restart across its end', async () => {
      const { stage, bad, until } = await failedBefore()
      const windows = [once(until - HOUR, until)]
      const saved = stage.killed()
      await passTo(stage, until + MINUTE)
      const second = createStage({ networks: [THREE], windows, world: stage.world, saved })
      await passTo(second, until + 5 * MINUTE)

      expect(planned(second)).toEqual([bad, START + until])
    })
  })

  test('an incident from before it is none of it, over a restart across its end', async () => {
    const windows = [once(10 * MINUTE, 70 * MINUTE)]
    const first = stageWith(...windows)
    await passTo(first, 9 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await passTo(first, 69 * MINUTE)
    const { id } = only(first.open())
    const saved = first.killed()
    await passTo(first, 71 * MINUTE)
    const second = createStage({ networks: [THREE], windows, world: first.world, saved })
    await passTo(second, 75 * MINUTE)

    expect(only(second.open())).toMatchObject({ id, plannedUntil: null })
  })

  test('a failure that lasts longer opens an incident at its end', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 30 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 70 * MINUTE - 1)
    const before = stage.incidents()
    await passTo(stage, 70 * MINUTE + INTERVAL)

    expect(before).toEqual([])
    expect(only(stage.open())).toMatchObject({
      endpoint: 'a',
      openedAt: firstPoll(stage, 'ethereum/a', START + 30 * MINUTE),
      plannedUntil: START + 70 * MINUTE,
      confirmedAt: firstPoll(stage, 'ethereum/a', START + 70 * MINUTE - 1),
      conditions: [{ code: 'unreachable', since: firstPoll(stage, 'ethereum/a', START + 30 * MINUTE) }],
    })
    expect(stage.state('ethereum/a')).toBe('down')
  })

  test('a fault that got worse in it began when the endpoint was last up', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 30 * MINUTE)
    stage.set('ethereum/a', { latencyMs: 3000 })
    await passTo(stage, 50 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 75 * MINUTE)

    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', START + 30 * MINUTE), START + 70 * MINUTE])
    expect(only(stage.open())).toMatchObject({ state: 'down', changes: [{ state: 'down', codes: ['unreachable'] }] })
  })

  test('a poll that begins in it and fails after it does not count before its end', async () => {
    const until = 70 * MINUTE + 2500
    const stage = stageWith(once(10 * MINUTE, until))
    await passTo(stage, 30 * MINUTE)
    // One of them is being polled whenever the window ends.
    stage.set('ethereum/a', { failure: { kind: 'timeout', afterMs: 5000 } })
    await passTo(stage, until + 2 * INTERVAL)

    const incident = only(stage.open())
    expect(stage.pollsOf('ethereum/a').some((at) => at < START + until && at + 5000 > START + until)).toBe(true)
    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', START + 30 * MINUTE), START + until])
    expect(incident.confirmedAt).toBeGreaterThanOrEqual(incident.openedAt)
  })

  test('an earlier open incident continues, and may be closed', async () => {
    const stage = stageWith(once(20 * MINUTE, 80 * MINUTE))
    await passTo(stage, 15 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    stage.set('ethereum/b', REFUSED)
    await passTo(stage, 40 * MINUTE)
    const [ofA] = stage.open().filter(({ endpoint }) => endpoint === 'a')
    const backAt = stage.clock.now()
    stage.set('ethereum/a')
    await stage.pass(RECOVERED)

    expect(ofA?.openedAt).toBeLessThan(START + 20 * MINUTE)
    const closed = stage.incidents().find(({ id }) => id === ofA?.id)
    expect(closed?.closedAt).toBe(firstPoll(stage, 'ethereum/a', backAt))
    expect(stage.incidents()).toHaveLength(2)
  })

  test('outages of other endpoints are not hidden', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 20 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    stage.set('ethereum/b', REFUSED)
    await passTo(stage, 30 * MINUTE)

    expect(only(stage.open()).endpoint).toBe('b')
    expect([stage.state('ethereum/a'), stage.state('ethereum/b'), stage.state('ethereum/c')]).toEqual([
      'maintenance',
      'down',
      'up',
    ])
  })

  test('as long as one of two windows runs that overlap', async () => {
    const stage = stageWith(
      once(10 * MINUTE, 40 * MINUTE, ['a'], 'first'),
      once(30 * MINUTE, 60 * MINUTE, ['a'], 'second'),
      once(35 * MINUTE, 38 * MINUTE, null, 'within'),
    )
    await passTo(stage, 20 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 60 * MINUTE - 1)
    const before = stage.incidents()
    await passTo(stage, 65 * MINUTE)

    expect(before).toEqual([])
    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', START + 20 * MINUTE), START + 60 * MINUTE])
  })

  test('every night at the local hour, over both changes of clocks', async () => {
    // Bucharest goes to summer time on 29 March 2026 at 03:00, and back on 25 October at 04:00.
    for (const [night, hourUtc] of [
      [Date.UTC(2026, 2, 27), 2],
      [Date.UTC(2026, 2, 30), 1],
      [Date.UTC(2026, 9, 24), 1],
      [Date.UTC(2026, 9, 26), 2],
    ] as const) {
      const from = night + hourUtc * HOUR
      const when = { kind: 'repeated', schedule: '0 4 * * *', durationMs: HOUR, timeZone: 'Europe/Bucharest' } as const
      const window: PlannedWindow = { name: 'backup', networks: ['ethereum'], endpoints: null, when }
      const stage = createStage({ networks: [THREE], windows: [window], now: from - HOUR })
      await stage.pass(30 * MINUTE)
      expect(stage.state('ethereum/a')).toBe('up')
      await stage.pass(30 * MINUTE + SECOND)
      expect(stage.state('ethereum/a')).toBe('maintenance')
      stage.set('ethereum/a', REFUSED)
      await stage.pass(HOUR + INTERVAL)

      expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', from + SECOND), from + HOUR])
    }
  })

  test('a window across the change of clocks has its configured duration', async () => {
    // 29 March 2026 in Bucharest: 03:00 becomes 04:00. Two hours from 02:30 end at 05:30 local time.
    const from = Date.UTC(2026, 2, 29, 0, 30)
    const when = {
      kind: 'repeated',
      schedule: '30 2 29 3 *',
      durationMs: 2 * HOUR,
      timeZone: 'Europe/Bucharest',
    } as const
    const window: PlannedWindow = { name: 'spring', networks: ['ethereum'], endpoints: ['a'], when }
    const stage = createStage({ networks: [THREE], windows: [window], now: from - 10 * MINUTE })
    await stage.pass(30 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await stage.pass(3 * HOUR)

    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', from + 20 * MINUTE), from + 2 * HOUR])
  })
})

describe('a window over a whole network', () => {
  test('lets neither its endpoints nor the network open an incident until its end', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE, null))
    await passTo(stage, 20 * MINUTE)
    stage.halt('ethereum', true)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 70 * MINUTE - 1)
    const before = stage.incidents()
    await passTo(stage, 75 * MINUTE)

    expect(before).toEqual([])
    for (const { openedAt } of stage.open()) expect(Math.abs(openedAt - START - 20 * MINUTE)).toBeLessThan(MINUTE)
    expect(stage.open().map(({ endpoint, cause, plannedUntil }) => [endpoint, cause, plannedUntil])).toEqual(
      expect.arrayContaining([
        ['a', 'endpoint', START + 70 * MINUTE],
        [null, 'halted', START + 70 * MINUTE],
      ]),
    )
    expect(stage.open()).toHaveLength(2)
  })

  test('counts a halt from its end although the last block is older than the window', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE, null))
    await passTo(stage, 10 * MINUTE - INTERVAL)
    stage.halt('ethereum', true)
    await passTo(stage, 75 * MINUTE)

    expect(only(stage.open()).openedAt).toBeLessThan(START + 10 * MINUTE)
    expect(only(stage.open())).toMatchObject({ cause: 'halted', plannedUntil: START + 70 * MINUTE })
  })

  test('during which a halt ends makes no incident of it', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE, null))
    await passTo(stage, 20 * MINUTE)
    stage.halt('ethereum', true)
    await passTo(stage, 50 * MINUTE)
    stage.halt('ethereum', false)
    await passTo(stage, 2 * HOUR)

    expect(stage.incidents()).toEqual([])
  })

  test('hides no halt that outlasts it', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE, ['a']))
    await passTo(stage, 20 * MINUTE)
    stage.halt('ethereum', true)
    await passTo(stage, 30 * MINUTE)

    expect(only(stage.open())).toMatchObject({ cause: 'halted', affected: ['a', 'b', 'c'] })
    expect(only(stage.open()).openedAt).toBeLessThan(START + 21 * MINUTE)
  })
})

test('an endpoint on another branch during maintenance forks no network', async () => {
  const networks = [{ name: 'ethereum', endpoints: ['a', 'b'] }]
  const stage = createStage({ networks, windows: [once(10 * MINUTE, 70 * MINUTE)], now: START })
  await passTo(stage, 20 * MINUTE)
  stage.set('ethereum/a', { branch: { from: stage.height('ethereum') + 1, name: 'rehearsal' } })
  await passTo(stage, 70 * MINUTE - 1)
  const before = stage.incidents()
  await passTo(stage, 75 * MINUTE)

  expect(before).toEqual([])
  expect(only(stage.open())).toMatchObject({ cause: 'forked', plannedUntil: START + 70 * MINUTE })
})

describe('a reload', () => {
  test('that ends a window early opens incidents from then on', async () => {
    const stage = stageWith(once(10 * MINUTE, 70 * MINUTE))
    await passTo(stage, 20 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    await passTo(stage, 40 * MINUTE)
    stage.reconfigure([THREE], [])
    const state = stage.state('ethereum/a')
    await passTo(stage, 45 * MINUTE)

    expect(state).toBe('down')
    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', START + 20 * MINUTE), START + 40 * MINUTE])
  })

  test('that extends a window opens no incident before its new end', async () => {
    const stage = stageWith(once(10 * MINUTE, 30 * MINUTE))
    await passTo(stage, 20 * MINUTE)
    stage.set('ethereum/a', REFUSED)
    stage.reconfigure([THREE], [once(10 * MINUTE, 60 * MINUTE)])
    await passTo(stage, 60 * MINUTE - 1)
    const before = stage.incidents()
    await passTo(stage, 65 * MINUTE)

    expect(before).toEqual([])
    expect(planned(stage)).toEqual([firstPoll(stage, 'ethereum/a', START + 20 * MINUTE), START + 60 * MINUTE])
  })
})

describe('a restart', () => {
  test('within the window changes nothing', async () => {
    const windows = [once(10 * MINUTE, 70 * MINUTE)]
    const first = stageWith(...windows)
    await passTo(first, 20 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await passTo(first, 40 * MINUTE)
    const second = createStage({ networks: [THREE], windows, world: first.world, saved: first.killed() })
    await passTo(second, 70 * MINUTE - 1)
    const before = second.incidents()
    await passTo(second, 75 * MINUTE)

    expect(before).toEqual([])
    expect(planned(second)).toEqual([firstPoll(first, 'ethereum/a', START + 20 * MINUTE), START + 70 * MINUTE])
  })

  test('over its end opens an incident for a lasting failure, from the end on', async () => {
    const windows = [once(10 * MINUTE, 70 * MINUTE)]
    const first = stageWith(...windows)
    await passTo(first, 20 * MINUTE)
    first.set('ethereum/a', REFUSED)
    await passTo(first, 69 * MINUTE)
    const saved = first.killed()
    await passTo(first, 71 * MINUTE)
    const second = createStage({ networks: [THREE], windows, world: first.world, saved })
    await passTo(second, 75 * MINUTE)

    expect(planned(second)).toEqual([firstPoll(first, 'ethereum/a', START + 20 * MINUTE), START + 70 * MINUTE])
  })
})
