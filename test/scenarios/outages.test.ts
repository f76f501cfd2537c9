import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { subjectOf } from '../../src/core/incident/incident.ts'
import { othersOf } from '../../src/notify/other-endpoints.ts'
import { network } from '../support/network.ts'
import { createStage, type Stage, type StageEndpoint, type StageOptions } from '../support/stage.ts'

/** Endpoints of one host or of one provider that fail together are one incident, not one for each. */
const SECOND = 1000
const MINUTE = 60 * SECOND
const INTERVAL_MS = 10 * SECOND

const shared = (count: number, over: Partial<StageEndpoint>) =>
  Array.from({ length: count }, (_, at) => ({ name: `s${String(at).padStart(3, '0')}`, ...over }))
const ELSEWHERE = ['x', 'y', 'z']

function stageOf(endpoints: readonly StageEndpoint[], options: StageOptions = {}): Stage {
  return createStage({ ...options, networks: networksOf(endpoints) })
}
const networksOf = (endpoints: readonly StageEndpoint[]) => [
  { name: 'ethereum', endpoints: [...endpoints, ...ELSEWHERE], endpoint: { intervalMs: INTERVAL_MS } },
]
const key = (name: string) => `ethereum/${name}`
const fail = (stage: Stage, endpoints: readonly { readonly name: string }[]) => {
  for (const { name } of endpoints) stage.set(key(name), { failure: { kind: 'http', status: 503 } })
}
const heal = (stage: Stage, endpoints: readonly { readonly name: string }[]) => {
  for (const { name } of endpoints) stage.set(key(name))
}
const listed = (stage: Stage) => stage.incidents().filter(({ absorbedBy }) => absorbedBy === null)
const names = (endpoints: readonly { readonly name: string }[]) => endpoints.map(({ name }) => name)

describe.each([
  { what: 'one host', over: { origin: 'rpc.example.org:443' }, provider: null },
  { what: 'one provider', over: { provider: 'acme' }, provider: 'acme' },
])('endpoints of $what', ({ over, provider }) => {
  test.each([2, 3, 12])(
    'of which all %i fail together are one incident with all of them, from first to last',
    async (count) => {
      const endpoints = shared(count, over)
      const stage = stageOf(endpoints)
      await stage.pass(2 * MINUTE)

      fail(stage, endpoints)
      await stage.pass(2 * MINUTE)
      expect(stage.open()).toMatchObject([
        { endpoint: null, cause: 'outage', provider, state: 'down', affected: names(endpoints) },
      ])
      heal(stage, endpoints)
      await stage.pass(2 * MINUTE)

      expect(stage.open()).toEqual([])
      expect(listed(stage)).toMatchObject([{ cause: 'outage', closedAt: expect.any(Number) }])
      expect(new Set(stage.accused().map((one) => one.key))).toEqual(new Set(names(endpoints).map(key)))
    },
  )

  test('of which one of twelve fails: its own incident', async () => {
    const endpoints = shared(12, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    fail(stage, endpoints.slice(0, 1))
    await stage.pass(5 * MINUTE)

    expect(stage.open()).toMatchObject([{ endpoint: 's000', cause: 'endpoint' }])
  })

  test('that fail ten minutes apart are incidents of their own', async () => {
    const endpoints = shared(3, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    for (const one of endpoints) {
      fail(stage, [one])
      await stage.pass(10 * MINUTE)
    }

    expect(stage.open().map(({ endpoint }) => endpoint)).toEqual(names(endpoints).reverse())
  })

  test('that fail together again and again are flapping: no new incident each time, until they stay up', async () => {
    const endpoints = shared(3, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    for (let times = 1; times <= 8; times++) {
      fail(stage, endpoints)
      await stage.pass(MINUTE)
      heal(stage, endpoints)
      await stage.pass(MINUTE)
    }

    expect(stage.open()).toMatchObject([{ cause: 'outage', flapping: true }])
    expect(listed(stage)).toHaveLength(3)
    const [healed] = [stage.clock.now() - MINUTE]
    await stage.pass(5 * MINUTE)
    expect(stage.open()).toEqual([])
    expect((listed(stage).at(-1)?.closedAt ?? 0) - healed).toBeLessThan(MINUTE)
    fail(stage, endpoints)
    await stage.pass(MINUTE)
    expect(stage.open()).toMatchObject([{ id: listed(stage).at(-1)?.id, flapping: true }])
    expect(listed(stage)).toHaveLength(3)
  })

  test('that are removed from the configuration have no outage any more', async () => {
    const endpoints = shared(3, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints)
    await stage.pass(2 * MINUTE)

    stage.reconfigure(networksOf([]))
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toEqual([])
    expect(listed(stage)).toHaveLength(1)
  })

  test('in planned maintenance have no incident, and do not join the outage of the others', async () => {
    const endpoints = shared(5, over)
    const start = Date.UTC(2026, 0, 1)
    const when = { kind: 'once', from: start, until: start + 60 * MINUTE } as const
    const window = { name: 'upgrade', networks: ['ethereum'], endpoints: ['s000', 's001'], when }
    const stage = stageOf(endpoints, { now: start, windows: [window] })
    await stage.pass(2 * MINUTE)

    fail(stage, endpoints)
    await stage.pass(5 * MINUTE)

    expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints.slice(2)) }])
  })

  test.each([2, 3, 5, 12])(
    'of which all %i fail in planned maintenance and stay down are one incident at its end, dated back to the first bad poll',
    async (count) => {
      const endpoints = shared(count, over)
      const start = Date.UTC(2026, 0, 1)
      const until = start + 30 * MINUTE
      const when = { kind: 'once', from: start + 10 * MINUTE, until } as const
      const window = { name: 'upgrade', networks: ['ethereum'], endpoints: names(endpoints), when }
      const stage = stageOf(endpoints, { now: start, windows: [window] })
      await stage.pass(20 * MINUTE)

      const failedAt = stage.clock.now()
      fail(stage, endpoints)
      await stage.pass(15 * MINUTE)
      const firstBad = Math.min(
        ...names(endpoints).map((name) => stage.pollsOf(key(name)).find((at) => at > failedAt) ?? 0),
      )
      expect(stage.open()).toMatchObject([
        { cause: 'outage', affected: names(endpoints), openedAt: firstBad, plannedUntil: until },
      ])
      heal(stage, endpoints)
      await stage.pass(2 * MINUTE)

      expect(stage.open()).toEqual([])
      expect(listed(stage)).toHaveLength(1)
    },
  )

  test('of which some failed in planned maintenance and the others at its end are one incident', async () => {
    const endpoints = shared(6, over)
    const start = Date.UTC(2026, 0, 1)
    const when = { kind: 'once', from: start + 10 * MINUTE, until: start + 30 * MINUTE } as const
    const window = { name: 'upgrade', networks: ['ethereum'], endpoints: ['s000', 's001'], when }
    const stage = stageOf(endpoints, { now: start, windows: [window] })
    await stage.pass(20 * MINUTE)

    fail(stage, endpoints.slice(0, 2))
    await stage.pass(10 * MINUTE)
    fail(stage, endpoints.slice(2))
    await stage.pass(5 * MINUTE)

    expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints), plannedUntil: null }])
    expect(stage.open()[0]?.openedAt).toBeGreaterThanOrEqual(when.until)
  })

  test('of which one stays down: the outage ends, and that one has an incident of its own', async () => {
    const endpoints = shared(5, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints)
    await stage.pass(2 * MINUTE)

    heal(stage, endpoints.slice(1))
    while (stage.open()[0]?.endpoint === null) await stage.pass(SECOND)

    expect(stage.open()).toMatchObject([{ endpoint: 's000', cause: 'endpoint' }])
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toHaveLength(1)
    expect(listed(stage)).toHaveLength(2)
  })

  test('that are down over a restart stay in the same incident until they are back', async () => {
    const endpoints = shared(5, over)
    const before = stageOf(endpoints)
    await before.pass(2 * MINUTE)
    fail(before, endpoints)
    await before.pass(2 * MINUTE)
    const [open] = before.open()

    const stage = stageOf(endpoints, { saved: before.saved(), world: before.world })
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toMatchObject([{ id: open?.id, cause: 'outage', affected: names(endpoints) }])
    heal(stage, endpoints)
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toEqual([])
    expect(listed(stage)).toHaveLength(1)
  })
})

describe('only endpoints that fail now count:', () => {
  const over = { provider: 'acme' }

  test('two that are flapping, and up at the moment, are no outage', async () => {
    const endpoints = shared(2, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    for (let times = 1; times <= 5; times++) {
      for (const one of endpoints) {
        fail(stage, [one])
        await stage.pass(30 * SECOND)
        heal(stage, [one])
        await stage.pass(30 * SECOND)
      }
    }

    fail(stage, endpoints.slice(0, 1))
    await stage.pass(MINUTE)
    fail(stage, endpoints.slice(1))
    await stage.pass(30 * SECOND)
    heal(stage, endpoints)
    await stage.pass(MINUTE)

    expect(stage.open()).toMatchObject([
      { flapping: true, endpoint: 's001' },
      { flapping: true, endpoint: 's000' },
    ])
    expect(stage.incidents().filter(({ cause }) => cause === 'outage')).toEqual([])
    expect(stage.log.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('one without a verdict yet does not join', async () => {
    const endpoints = shared(3, over)
    const networksWith = (more: readonly StageEndpoint[]) => [
      {
        name: 'ethereum',
        endpoints: [...endpoints, ...more, ...ELSEWHERE],
        endpoint: { intervalMs: INTERVAL_MS },
        thresholds: { failAfter: 5 },
      },
    ]
    const stage = createStage({ networks: networksWith([]) })
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints)
    await stage.pass(2 * MINUTE)

    stage.reconfigure(networksWith([{ name: 'added', ...over }]))
    let answers = 0
    stage.set(key('added'), { failure: () => (answers++ < 4 ? { kind: 'http', status: 503 } : null) })
    await stage.pass(2 * MINUTE)

    expect(answers).toBeGreaterThan(5)
    expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints) }])
  })

  test('one that was degraded for long and goes down beside another keeps its own incident', async () => {
    const endpoints = shared(4, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    stage.set(key('s000'), { behind: 10 })
    await stage.pass(10 * MINUTE)

    fail(stage, endpoints.slice(0, 2))
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toMatchObject([
      { endpoint: 's001', cause: 'endpoint' },
      { endpoint: 's000', cause: 'endpoint', state: 'down' },
    ])
  })
})

describe('while an outage is open', () => {
  const over = { provider: 'acme' }

  test('an endpoint that fails later has an incident of its own, also after a restart', async () => {
    const endpoints = shared(5, over)
    const before = stageOf(endpoints)
    await before.pass(2 * MINUTE)
    fail(before, endpoints.slice(0, 3))
    await before.pass(10 * MINUTE)

    fail(before, endpoints.slice(3, 4))
    await before.pass(2 * MINUTE)
    const stage = stageOf(endpoints, { saved: before.saved(), world: before.world })
    await stage.pass(MINUTE)
    fail(stage, endpoints.slice(4))
    await stage.pass(2 * MINUTE)

    const [last, later, outage] = stage.open()
    expect(outage).toMatchObject({ cause: 'outage', affected: names(endpoints.slice(0, 3)) })
    expect([later?.endpoint, last?.endpoint]).toEqual(['s003', 's004'])
    heal(stage, endpoints)
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toEqual([])
    expect(listed(stage)).toHaveLength(3)
  })

  test('that gets worse by another condition has both, each in its own state and with its own message', async () => {
    const endpoints = shared(3, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    for (const { name } of endpoints) stage.set(key(name), { behind: 10 })
    await stage.pass(5 * MINUTE)
    fail(stage, endpoints)
    await stage.pass(5 * MINUTE)

    const [outage] = listed(stage)
    const [lagging, failing] = outage?.conditions ?? []
    expect(outage).toMatchObject({ cause: 'outage', state: 'down', affected: names(endpoints) })
    expect(outage?.conditions).toMatchObject([
      { code: 'lagging', state: 'degraded', message: 'its newest block is 2 min old' },
      { code: 'bad-answer', state: 'down', message: 'answered HTTP 503', until: null },
    ])
    expect(lagging?.until).toBe(failing?.since)
    expect(outage?.changes.at(0)).toMatchObject({ state: 'degraded', codes: ['lagging'] })
    expect(outage?.changes.at(-1)).toMatchObject({ at: failing?.since, state: 'down', codes: ['bad-answer'] })
  })

  test('an endpoint that joins while all fail in another way leaves reason and message as they were', async () => {
    const endpoints = shared(3, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    fail(stage, endpoints.slice(0, 2))
    await stage.pass(18 * SECOND)
    for (const { name } of endpoints) stage.set(key(name), { failure: { kind: 'refused' } })
    await stage.pass(2 * MINUTE)

    expect(listed(stage)).toMatchObject([
      { affected: names(endpoints), conditions: [{ code: 'bad-answer', message: 'answered HTTP 503' }] },
    ])
  })

  test('one that fails within two intervals joins', async () => {
    const endpoints = shared(5, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)

    fail(stage, endpoints.slice(0, 3))
    await stage.pass(5 * SECOND)
    fail(stage, endpoints.slice(3))
    await stage.pass(2 * MINUTE)

    expect(listed(stage)).toMatchObject([{ cause: 'outage', affected: names(endpoints) }])
  })

  test('one of it that recovers and fails at once stays part of it; after a while it is an incident of its own', async () => {
    const endpoints = shared(5, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints)
    await stage.pass(5 * MINUTE)

    for (const goodFor of [MINUTE, 5 * MINUTE]) {
      heal(stage, endpoints.slice(0, 1))
      await stage.pass(goodFor)
      fail(stage, endpoints.slice(0, 1))
      await stage.pass(2 * MINUTE)
      const own = stage.open().filter(({ endpoint }) => endpoint !== null)
      expect(own.map(({ endpoint }) => endpoint)).toEqual(goodFor === MINUTE ? [] : ['s000'])
    }

    heal(stage, endpoints)
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toEqual([])
  })

  test('the others that fail together an hour later are a second outage', async () => {
    const endpoints = shared(40, over)
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints.slice(0, 12))
    await stage.pass(60 * MINUTE)

    fail(stage, endpoints.slice(12))
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toMatchObject([
      { cause: 'outage', affected: names(endpoints.slice(12)) },
      { cause: 'outage', affected: names(endpoints.slice(0, 12)) },
    ])
    heal(stage, endpoints.slice(12))
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints.slice(0, 12)) }])
    heal(stage, endpoints)
    await stage.pass(2 * MINUTE)
    expect(stage.open()).toEqual([])
    expect(listed(stage)).toHaveLength(2)
  })

  const plannedFor = (endpoints: readonly string[], fromMs: number, untilMs: number) => {
    const now = Date.UTC(2026, 0, 1)
    const when = { kind: 'once', from: now + fromMs, until: now + untilMs } as const
    return { now, windows: [{ name: 'upgrade', networks: ['ethereum'], endpoints, when }] }
  }

  test.each([1, 2, 3])(
    '%i of its endpoints join it when their maintenance ends and they are still down',
    async (count) => {
      const endpoints = shared(6, over)
      const planned = plannedFor(names(endpoints.slice(0, count)), 0, 20 * MINUTE)
      const stage = stageOf(endpoints, planned)
      await stage.pass(2 * MINUTE)
      fail(stage, endpoints)
      await stage.pass(10 * MINUTE)
      expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints.slice(count)) }])

      await stage.pass(10 * MINUTE)

      expect(listed(stage)).toMatchObject([{ cause: 'outage', affected: names(endpoints), plannedUntil: null }])
      heal(stage, endpoints)
      await stage.pass(2 * MINUTE)
      expect(stage.open()).toEqual([])
      expect(listed(stage)).toHaveLength(1)
    },
  )

  test('an endpoint that fails in maintenance on its own has its own incident at the end', async () => {
    const endpoints = shared(6, over)
    const planned = plannedFor(['s000'], 0, 30 * MINUTE)
    const stage = stageOf(endpoints, planned)
    await stage.pass(2 * MINUTE)
    fail(stage, endpoints.slice(1))
    await stage.pass(10 * MINUTE)
    fail(stage, endpoints.slice(0, 1))
    await stage.pass(20 * MINUTE)

    const [own, outage] = ['endpoint', 'outage'].map((cause) => stage.open().filter((one) => one.cause === cause))
    expect(own).toMatchObject([{ endpoint: 's000', plannedUntil: planned.now + 30 * MINUTE }])
    expect(outage).toMatchObject([{ affected: names(endpoints.slice(1)) }])
  })

  test('an endpoint that failed before its maintenance and outlasts both began before it', async () => {
    const endpoints = shared(5, over)
    const planned = plannedFor(['s000'], 20 * MINUTE, 40 * MINUTE)
    const first = stageOf(endpoints, planned)
    await first.pass(2 * MINUTE)
    fail(first, endpoints)
    await first.pass(30 * MINUTE)
    await first.stop()
    const stage = stageOf(endpoints, { ...planned, saved: first.saved(), world: first.world })
    await stage.pass(15 * MINUTE)
    heal(stage, endpoints.slice(1))
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toMatchObject([{ endpoint: 's000', cause: 'endpoint', plannedUntil: null }])
    expect(stage.open()[0]?.openedAt).toBeLessThan(planned.now + 6 * MINUTE)
  })
})

describe('an endpoint that is flapping', () => {
  const endpoints = shared(5, { provider: 'acme' })
  const [first = { name: '' }] = endpoints

  /** Its third failure is flapping; it is up at the end. */
  async function flapping(): Promise<Stage> {
    const stage = stageOf(endpoints)
    await stage.pass(2 * MINUTE)
    for (let times = 1; times <= 3; times++) {
      fail(stage, [first])
      await stage.pass(30 * SECOND)
      heal(stage, [first])
      await stage.pass(30 * SECOND)
    }
    expect(stage.open()).toMatchObject([{ endpoint: 's000', flapping: true }])
    return stage
  }

  test('when the outage of its provider begins keeps its incident, which was opened before, and opens no other', async () => {
    const stage = await flapping()
    const [own] = stage.open()
    const count = stage.incidents().length

    fail(stage, endpoints)
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toMatchObject([
      { cause: 'outage', affected: names(endpoints.slice(1)) },
      { id: own?.id, flapping: true },
    ])
    heal(stage, endpoints)
    await stage.pass(5 * MINUTE)
    expect(stage.open()).toEqual([])
    // The outage, and the first incidents of its endpoints, which it absorbed.
    expect(listed(stage).length).toBe(count + 1)
  })

  test('is part of an outage that begins after its incident was closed', async () => {
    const stage = await flapping()
    await stage.pass(5 * MINUTE)
    expect(stage.open()).toEqual([])

    fail(stage, endpoints.slice(1))
    await stage.pass(15 * SECOND)
    fail(stage, [first])
    await stage.pass(2 * MINUTE)

    expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints) }])
  })
})

test('five hundred endpoints of one provider are one incident, and at most a dozen incidents are opened before it', async () => {
  const endpoints = shared(500, { provider: 'acme' })
  const stage = stageOf(endpoints)
  await stage.pass(MINUTE)

  fail(stage, endpoints)
  await stage.pass(2 * MINUTE)

  expect(stage.open()).toMatchObject([{ cause: 'outage', affected: names(endpoints) }])
  expect(stage.incidents().length).toBeLessThanOrEqual(12)
})

test('a provider that is added by a reload keeps the endpoints as they are, and makes them a group', async () => {
  const stage = stageOf(shared(3, {}))
  await stage.pass(2 * MINUTE)
  const endpoints = shared(3, { provider: 'acme' })

  stage.reconfigure([{ name: 'ethereum', endpoints, endpoint: { intervalMs: INTERVAL_MS } }])
  expect(endpoints.map(({ name }) => stage.state(key(name)))).toEqual(['up', 'up', 'up'])
  fail(stage, endpoints)
  await stage.pass(2 * MINUTE)

  expect(stage.open()).toMatchObject([{ cause: 'outage', provider: 'acme', affected: names(endpoints) }])
})

test('an outage whose endpoints a reload splits goes on with the most of them', async () => {
  const endpoints = shared(5, { provider: 'acme' })
  const stage = stageOf(endpoints)
  await stage.pass(2 * MINUTE)
  fail(stage, endpoints)
  await stage.pass(2 * MINUTE)
  const [outage] = stage.open()

  const [moved, ...others] = shared(5, { provider: 'zeta' }) as [StageEndpoint, ...StageEndpoint[]]
  stage.reconfigure(networksOf([{ ...moved, provider: 'acme' }, ...others]))
  await stage.pass(2 * MINUTE)

  expect(stage.open().filter(({ cause }) => cause === 'outage')).toMatchObject([{ id: outage?.id }])
  expect(stage.open().filter(({ cause }) => cause === 'endpoint')).toMatchObject([{ endpoint: moved.name }])
  heal(stage, endpoints)
  await stage.pass(2 * MINUTE)
  expect(stage.open()).toEqual([])
  expect(listed(stage)).toHaveLength(2)
})

describe('whatever fails, recovers and restarts,', () => {
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('fail' as const), of: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({ kind: fc.constant('heal' as const), of: fc.subarray([0, 1, 2, 3, 4, 5, 6, 7]) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), of: fc.constant<number[]>([]) }) },
  )
  const script = fc.array(fc.tuple(step, fc.constantFrom(5, 20, 45, 90, 150, 600)), { minLength: 3, maxLength: 12 })

  test('every unhealthy endpoint has an open incident or is in an outage, no other has one, and outages have at least two endpoints', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (steps) => {
        const endpoints = shared(8, { provider: 'acme' })
        let stage = stageOf(endpoints)
        await stage.pass(2 * MINUTE)
        const logs = [stage.log]
        for (const [{ kind, of }, seconds] of steps) {
          const some = of.flatMap((at) => endpoints[at] ?? [])
          if (kind === 'fail') fail(stage, some)
          if (kind === 'heal') heal(stage, some)
          if (kind === 'restart') {
            stage = stageOf(endpoints, { saved: stage.killed(0), world: stage.world })
            logs.push(stage.log)
          }
          await stage.pass(seconds * SECOND)
          // What is under way needs two polls and a look at the group.
          await stage.pass(4 * INTERVAL_MS)
          for (const { name } of endpoints) {
            const state = stage.state(key(name))
            const own = stage.open().filter(({ endpoint }) => endpoint === name)
            const outages = stage
              .open()
              .filter(({ endpoint, affected }) => endpoint === null && affected.includes(name))
            // An outage keeps the name of an endpoint that recovered and failed again on its own.
            if (state === 'down') expect([name, own.length || Math.min(1, outages.length)]).toEqual([name, 1])
            else expect([name, own.filter(({ flapping }) => !flapping)]).toEqual([name, []])
          }
        }
        for (const { cause, affected } of stage.incidents())
          expect(cause === 'outage' && affected.length < 2).toBe(false)
        heal(stage, endpoints)
        await stage.pass(10 * MINUTE)
        expect(stage.open()).toEqual([])
        expect(logs.flat().filter(({ level }) => level === 'error')).toEqual([])
        await stage.stop()
      }),
      { numRuns: 12, seed: 20_261_122, endOnFailure: true },
    )
  }, 60_000)
})

test('the log names the endpoints of an outage, at most eight of them', async () => {
  const endpoints = shared(10, { provider: 'acme' })
  const stage = stageOf(endpoints)
  await stage.pass(2 * MINUTE)

  fail(stage, endpoints)
  await stage.pass(2 * MINUTE)

  const opened = stage.log.filter(({ message, fields }) => message === 'incident opened' && fields.cause === 'outage')
  expect(opened[0]?.fields.endpoints).toMatch(/^s\d+, s\d+/)
  const [outage] = stage.open()
  if (outage === undefined) throw new Error('no outage')
  expect(subjectOf(outage)).toBe('ethereum: 10 endpoints of provider acme (s000, s001, s002 and 7 more)')
  const standing = { network: network(), heads: [], haltedShards: [], forked: false }
  expect(othersOf(outage, { standing, endpoints: [] }, () => expect.fail('no states are needed'))).toContain(
    `together: ${names(endpoints).join(', ')}.`,
  )
})

test('endpoints without a common host or provider that fail together are incidents of their own', async () => {
  const stage = stageOf([])
  await stage.pass(2 * MINUTE)

  fail(stage, [{ name: 'x' }, { name: 'y' }])
  await stage.pass(2 * MINUTE)

  expect(stage.open().map(({ endpoint }) => endpoint)).toEqual(['x', 'y'])
})

test('an outage stays open over a reload that forgets its endpoints, until good polls confirm that they recovered', async () => {
  const endpoints = shared(2, { origin: 'rpc.example.org:443' })
  const stage = stageOf(endpoints)
  await stage.pass(2 * MINUTE)
  fail(stage, endpoints)
  await stage.pass(2 * MINUTE)
  const before = stage.open()

  stage.reconfigure(networksOf(endpoints), [], { keeps: false })
  for (const { name } of endpoints) {
    let asked = 0
    stage.set(key(name), { failure: () => (asked++ === 0 ? null : { kind: 'http', status: 503 }) })
  }
  await stage.pass(2 * MINUTE)

  expect(listed(stage)).toMatchObject([{ id: before[0]?.id, cause: 'outage', closedAt: null }])
  heal(stage, endpoints)
  await stage.pass(2 * MINUTE)
  expect(listed(stage)).toMatchObject([{ id: before[0]?.id, closedAt: expect.any(Number) }])
})
