import { describe, expect, test } from 'vitest'
import { CONDITION_CODES, isRelative } from '../../src/core/verdict/condition.ts'
import { publicMessage } from '../../src/http/status-views.ts'
import { planAt } from '../../web/views/events.ts'
import { age, duration, latency, unbroken } from '../../web/views/format.ts'
import { incidentSentence, incidentTime } from '../../web/views/incident-sentence.ts'
import {
  applyEnd,
  applyEvent,
  applyIncident,
  atHead,
  networksWorstFirst,
  worstFirst,
  worstHead,
} from '../../web/views/model.ts'
import { verdictSentence } from '../../web/views/overview/verdict-sentence.ts'
import { titleOf } from '../../web/views/words.ts'
import { aNetwork, anEndpoint, anIncident, aStatus } from './views.ts'

describe('an event', () => {
  test('that is complete replaces the whole status', () => {
    const next = applyEvent(aStatus([aNetwork('old')]), { ...aStatus([aNetwork('new')]), complete: true })

    expect(next).toEqual(aStatus([aNetwork('new')]))
  })

  test('changes the endpoints that it names, and keeps the others and their order', () => {
    const a = anEndpoint('a')
    const b = anEndpoint('b')
    const down = anEndpoint('b', { state: 'down' })
    const known = aStatus([aNetwork('one', [a, b]), aNetwork('two', [a])])

    const next = applyEvent(known, {
      ...aStatus([aNetwork('one', [down], { state: 'degraded' })], { state: 'degraded' }),
      complete: false,
    })

    expect(next?.state).toBe('degraded')
    expect(next?.networks[0]).toEqual(aNetwork('one', [a, down], { state: 'degraded' }))
    expect(next?.networks[1]).toBe(known.networks[1])
  })

  test('without changes keeps every network', () => {
    const known = aStatus([aNetwork('one')])

    const next = applyEvent(known, { ...aStatus([]), generated_at: '2026-01-01T00:00:05.000Z', complete: false })

    expect(next).toEqual({ ...known, generated_at: '2026-01-01T00:00:05.000Z' })
  })

  test('keeps the known maintenance, unless it brings a new plan', () => {
    const plan = [
      { name: 'upgrade', network: 'one', endpoints: null, from: '2026-01-01T01:00:00Z', until: '2026-01-01T02:00:00Z' },
    ]
    const { maintenance: _, ...quiet } = aStatus([])
    const known = aStatus([aNetwork('one')], { maintenance: plan })

    expect(applyEvent(known, { ...quiet, complete: false })?.maintenance).toBe(plan)
    expect(applyEvent(known, { ...quiet, maintenance: [], complete: false })?.maintenance).toEqual([])
  })

  test('with changes is ignored before a complete one', () => {
    expect(applyEvent(null, { ...aStatus([]), complete: false })).toBeNull()
  })
})

test.each(CONDITION_CODES)(
  'an endpoint that is %s is at head unless the condition compares it with the others',
  (code) => {
    const conditions = [{ code, message: code, since: '2026-01-01T00:00:00.000Z' }]

    expect(atHead([anEndpoint('a', { conditions })])).toBe(isRelative(code) ? 0 : 1)
  },
)

test.each(CONDITION_CODES)('what the public reads of %s goes on with "is degraded: "', (code) => {
  expect(publicMessage({ code, message: 'down from fra1 only: connection refused' })).not.toMatch(
    /^(?:is|was|has|had|took|answers?|answered)\b|[.:]$/,
  )
})

test('an incident is sorted by time, updated in place, and removed once closed or absorbed', () => {
  const old = anIncident('old', { opened_at: '2026-01-01T00:00:00.000Z' })
  const young = anIncident('young', { opened_at: '2026-01-01T00:05:00.000Z' })
  const worse = { ...old, flapping: true }

  expect(applyIncident([young], old)).toEqual([young, old])
  expect(applyIncident([young, old], worse)).toEqual([young, worse])
  expect(applyIncident([young, old], { ...old, closed_at: '2026-01-01T00:06:00.000Z' })).toEqual([young])
  expect(applyIncident([young, old], { ...young, absorbed_by: 'x' })).toEqual([old])
})

test('an incident that has ended is kept aside until it is open again', () => {
  const closed = anIncident('a', { closed_at: '2026-01-01T00:05:00.000Z' })
  const absorbed = anIncident('b', { absorbed_by: 'a' })

  const ended = applyEnd(applyEnd(applyEnd([], closed), anIncident('c')), absorbed)

  expect(ended).toEqual([absorbed, closed])
  expect(applyEnd(ended, anIncident('a'))).toEqual([absorbed])
})

test('maintenance runs from its first moment up to its last', () => {
  const period = {
    name: 'upgrade',
    network: 'one',
    endpoints: null,
    from: '2026-01-01T01:00:00Z',
    until: '2026-01-01T02:00:00Z',
  }
  const at = (time: string) => {
    const { running, ahead } = planAt([period], Date.parse(time))
    return [running.length, ahead.length]
  }

  expect(at('2026-01-01T00:59:59Z')).toEqual([0, 1])
  expect(at('2026-01-01T01:00:00Z')).toEqual([1, 0])
  expect(at('2026-01-01T02:00:00Z')).toEqual([0, 0])
})

test('only the next occurrence of a recurring window is listed', () => {
  const night = { name: 'night', network: 'one', endpoints: null }
  const first = { ...night, from: '2026-01-01T03:00:00Z', until: '2026-01-01T04:00:00Z' }
  const other = { ...first, name: 'upgrade' }
  const second = { ...night, from: '2026-01-02T03:00:00Z', until: '2026-01-02T04:00:00Z' }

  expect(planAt([first, other, second], Date.parse('2026-01-01T00:00:00Z')).ahead).toEqual([first, other])
  expect(planAt([first, other, second], Date.parse('2026-01-01T03:30:00Z')).ahead).toEqual([second])
})

describe('an incident', () => {
  const since = '2026-01-01T00:00:00.000Z'
  const down = { code: 'unreachable', state: 'down', message: 'connection refused', since, until: null } as const
  const lagging = { ...down, code: 'lagging', state: 'degraded', message: '3 blocks behind' } as const
  const over = { ...down, until: '2026-01-01T00:01:00.000Z' }
  const sentence = (change: Parameters<typeof anIncident>[1]) => incidentSentence(anIncident('a', change))
  const closed = { closed_at: '2026-01-01T00:10:00.000Z' }
  const ACME: Parameters<typeof anIncident>[1] = {
    endpoint: null,
    cause: 'outage',
    scope: 'provider',
    provider: 'acme',
    affected: ['a', 'b', 'c'],
  }

  test.each([
    ['that holds', {}, 'is down: connection refused'],
    ['that became better', { conditions: [over, lagging] }, 'is degraded: 3 blocks behind'],
    ['without a condition', { conditions: [] }, 'is down'],
    ['of a chain', { cause: 'halted', state: 'degraded' }, 'is halted: connection refused'],
    ['of a provider', ACME, 'has 3 endpoints of acme that are down: connection refused'],
    [
      'of a host, which is not named',
      { ...ACME, provider: null },
      'has 3 endpoints on one host that are down: connection refused',
    ],
    [
      'of a provider that flaps',
      { ...ACME, flapping: true },
      'has 3 endpoints of acme that are flapping, down at worst: connection refused',
    ],
    [
      'of a provider that is over',
      { ...ACME, ...closed, conditions: [over] },
      'had 3 endpoints of acme that were down: connection refused',
    ],
    ['that flaps', { flapping: true }, 'is flapping, down now: connection refused'],
    [
      'that flaps, by what holds now',
      { flapping: true, conditions: [over, lagging] },
      'is flapping, degraded now: 3 blocks behind',
    ],
    [
      'that flaps and is up now',
      { flapping: true, conditions: [{ ...lagging, until: over.until }, over] },
      'is flapping, up now; down at worst: connection refused',
    ],
    [
      'that is closed, by its worst',
      { ...closed, conditions: [over, { ...lagging, until: closed.closed_at }] },
      'was down: connection refused',
    ],
    [
      'that is closed and flapped',
      { ...closed, flapping: true, conditions: [over] },
      'was flapping, down at worst: connection refused',
    ],
  ] as const)('%s is described with the state that its reason caused', (_which, change, expected) => {
    expect(sentence({ ...change, conditions: 'conditions' in change ? [...change.conditions] : [down] })).toBe(expected)
  })

  test.each([
    ['all of it bad', { conditions: [down] }, '10 min'],
    [
      'down in parts of it',
      { conditions: [over, { ...down, since: '2026-01-01T00:05:00.000Z', until: '2026-01-01T00:06:00.000Z' }] },
      '10 min, of which down 2 min, 2 times',
    ],
    [
      'degraded, then down',
      {
        conditions: [
          { ...lagging, until: '2026-01-01T00:04:00.000Z' },
          { ...down, since: '2026-01-01T00:04:00.000Z' },
        ],
      },
      '10 min, of which down 6 min; degraded 4 min',
    ],
    ['down and degraded at the same time', { conditions: [down, lagging] }, '10 min'],
    ['planned at first', { conditions: [down], planned_until: '2026-01-01T00:04:00.000Z' }, '6 min'],
    ['to the nearest second', { conditions: [down], planned_until: '2026-01-01T00:09:20.400Z' }, '40 s'],
  ] as const)('%s lasts as long as its state did', (_which, { conditions, ...over }, expected) => {
    const incident = anIncident('a', { ...over, conditions: [...conditions] })
    expect(incidentTime(incident, Date.parse(closed.closed_at))).toBe(expected)
  })
})

test('a network or endpoint that is no longer configured is called by its name', () => {
  const status = aStatus([aNetwork('one', [anEndpoint('a', { title: 'Node A' })])])

  expect(titleOf(status, 'one', ['a', 'gone'])).toBe('ONE: Node A, gone')
  expect(titleOf(status, 'one', null)).toBe('ONE')
  expect(titleOf(status, 'gone', null)).toBe('gone')
})

test('the worst comes first, and unknown before healthy', () => {
  const states = ['up', 'unknown', 'maintenance', 'down', 'degraded'] as const

  expect(worstFirst(states.map((state) => ({ state }))).map(({ state }) => state)).toEqual([
    'down',
    'degraded',
    'unknown',
    'maintenance',
    'up',
  ])
})

test('among degraded networks one with a down endpoint comes first, and a halted chain before both', () => {
  const degraded = aNetwork('degraded', [anEndpoint('a', { state: 'degraded' })], { state: 'degraded' })
  const partlyDown = aNetwork('partly-down', [anEndpoint('a'), anEndpoint('b', { state: 'down' })], {
    state: 'degraded',
  })
  const halted = aNetwork('halted', [anEndpoint('a')], { halted: true })
  const down = aNetwork('down', [anEndpoint('a', { state: 'down' })], { state: 'down' })
  const up = aNetwork('up')

  const names = networksWorstFirst([up, degraded, partlyDown, halted, down]).map(({ name }) => name)

  expect(names).toEqual(['down', 'halted', 'partly-down', 'degraded', 'up'])
})

test('a larger share of sick endpoints comes before a smaller one', () => {
  const of = (name: string, down: number, many: number) =>
    aNetwork(
      name,
      Array.from({ length: many }, (_, at) => anEndpoint(`${at}`, { state: at < down ? 'down' : 'up' })),
      { state: 'degraded' },
    )

  const names = networksWorstFirst([of('few', 2, 60), of('one', 2, 30), of('many', 11, 30)]).map(({ name }) => name)

  expect(names).toEqual(['many', 'one', 'few'])
})

test('a sharded endpoint is represented by its furthest lagging shard', () => {
  const head = { hash: '0x1', timestamp: '2026-01-01T00:00:00Z', height: 1, lag_seconds: 0 }
  const heads = [
    { ...head, shard: 0, lag_blocks: null },
    { ...head, shard: 1, lag_blocks: 7 },
    { ...head, shard: 2, lag_blocks: 0 },
  ]

  expect(worstHead(anEndpoint('proxy', { heads }))?.shard).toBe(1)
})

describe('the verdict', () => {
  const lagging = anEndpoint('b', {
    state: 'degraded',
    conditions: [{ code: 'lagging', message: '12 blocks (24 s) behind', since: '2026-01-01T00:00:00Z' }],
  })
  const laggingShard = anEndpoint('m', {
    state: 'degraded',
    conditions: [{ code: 'lagging', message: 'shard 1: 8 blocks (48 s) behind', since: '2026-01-01T00:00:00Z' }],
  })
  const down = anEndpoint('c', { state: 'down' })
  const up = anEndpoint('a')
  const unknown = anEndpoint('d', { state: 'unknown' })
  const neverPolled = anEndpoint('n', { state: 'unknown', last_polled_at: null })
  const expired = anEndpoint('e', { state: 'unknown', since: '2026-01-01T00:00:20.000Z' })
  const limiting = anEndpoint('l', {
    state: 'degraded',
    conditions: [{ code: 'rate-limited', message: 'the node limits our request rate', since: '2026-01-01T00:00:00Z' }],
  })
  const slow = anEndpoint('s', {
    state: 'degraded',
    conditions: [{ code: 'slow', message: 'took 5 s to answer', since: '2026-01-01T00:00:00Z' }],
  })

  const partial = anEndpoint('p', {
    state: 'degraded',
    conditions: [
      {
        code: 'partial',
        message: 'down from fra1 only: connection refused; up from nyc1, sin1',
        since: '2026-01-01T00:00:00Z',
      },
    ],
  })

  test.each([
    ['no endpoints', aStatus([]), 'No endpoints are configured.'],
    ['all up', aStatus([aNetwork('one', [up, up])]), 'All 2 endpoints are up.'],
    [
      'one in maintenance',
      aStatus([aNetwork('one', [up, anEndpoint('m', { state: 'maintenance' })])]),
      '1 of 2 endpoints are up; 1 is in maintenance.',
    ],
    [
      'a mix of up and unknown',
      aStatus([aNetwork('one', [up, unknown])]),
      '1 of 2 endpoints are up; the state of the others is unknown.',
    ],
    [
      'no data',
      aStatus([aNetwork('one', [unknown, neverPolled], { state: 'unknown' })], { state: 'unknown' }),
      'No data yet: the first polls are under way.',
    ],
    [
      'polled but unconfirmed endpoints',
      aStatus([aNetwork('one', [unknown], { state: 'unknown' })], { state: 'unknown' }),
      'No data yet: the first answers are being confirmed.',
    ],
    [
      'results that have all expired',
      aStatus([aNetwork('one', [expired, unknown, neverPolled], { state: 'unknown' })], { state: 'unknown' }),
      'The state of all 3 endpoints is unknown; the last poll was on 1 Jan 2026, 00:00:00 UTC.',
    ],
    [
      'an expired result beside maintenance',
      aStatus([aNetwork('one', [expired, anEndpoint('m', { state: 'maintenance' })], { state: 'unknown' })], {
        state: 'unknown',
      }),
      'The state of 1 of 2 endpoints is unknown; the last poll was on 1 Jan 2026, 00:00:00 UTC.',
    ],
    [
      'polls that do not count',
      aStatus([aNetwork('one', [unknown], { state: 'unknown' })], {
        state: 'unknown',
        observer: { impaired: true, judging: false, reasons: [] },
      }),
      'The state of the endpoint is unknown.',
    ],
    [
      'first answers while the disk is full',
      aStatus([aNetwork('one', [unknown], { state: 'unknown' })], {
        state: 'unknown',
        observer: { impaired: true, judging: true, reasons: [] },
      }),
      'No data yet: the first answers are being confirmed.',
    ],
    [
      'one that is rate limited',
      aStatus([aNetwork('one', [up, limiting], { state: 'degraded' })], { state: 'degraded' }),
      '1 of 2 endpoints is degraded: l (ONE), the node limits our request rate.',
    ],
    [
      'one that is slow',
      aStatus([aNetwork('one', [up, slow], { state: 'degraded' })], { state: 'degraded' }),
      '1 of 2 endpoints is degraded: s (ONE), took 5 s to answer.',
    ],
    [
      'one lagging',
      aStatus([aNetwork('ok', [up]), aNetwork('one', [up, lagging], { state: 'degraded' })], { state: 'degraded' }),
      '1 of 3 endpoints is degraded: b (ONE), 12 blocks (24 s) behind.',
    ],
    [
      'one lagging on a shard',
      aStatus([aNetwork('one', [up, laggingShard], { state: 'degraded' })], { state: 'degraded' }),
      '1 of 2 endpoints is degraded: m (ONE), shard 1: 8 blocks (48 s) behind.',
    ],
    [
      'several bad',
      aStatus([aNetwork('one', [up, lagging, down], { state: 'degraded' })], { state: 'degraded' }),
      '1 down, 1 degraded, 1 up: ONE (1 down, 1 degraded).',
    ],
    [
      'two unhealthy networks',
      aStatus(
        [
          aNetwork('first', [up, lagging], { state: 'degraded' }),
          aNetwork('second', [up, down], { state: 'degraded' }),
          aNetwork('ok'),
        ],
        { state: 'degraded' },
      ),
      '1 down, 1 degraded, 3 up: SECOND (1 down) and FIRST (1 degraded).',
    ],
    [
      'more unhealthy networks than two',
      aStatus(
        ['first', 'second', 'third', 'fourth'].map((name) => aNetwork(name, [up, down], { state: 'degraded' })),
        { state: 'degraded' },
      ),
      '4 down, 4 up: FIRST (1 down), SECOND (1 down) and 2 more networks.',
    ],
    [
      'one that is down from one of three places',
      aStatus([aNetwork('one', [up, partial], { state: 'degraded' })], { state: 'degraded' }),
      '1 of 2 endpoints is degraded: p (ONE), down from fra1 only: connection refused; up from nyc1, sin1.',
    ],
    [
      'several that are down from the same place only',
      aStatus(
        [
          aNetwork('one', [up, partial, partial], { state: 'degraded' }),
          aNetwork('two', [partial], { state: 'degraded' }),
        ],
        {
          state: 'degraded',
        },
      ),
      '3 of 4 endpoints are down from fra1 only: TWO (1 degraded) and ONE (2 degraded).',
    ],
    [
      'several of which one is degraded from everywhere',
      aStatus([aNetwork('one', [up, partial, slow], { state: 'degraded' })], { state: 'degraded' }),
      '2 degraded, 1 up: ONE (2 degraded).',
    ],
    [
      'a halted chain before its nodes',
      aStatus([aNetwork('one', [up, up], { halted: true })]),
      'ONE: chain halted; no endpoint is at fault.',
    ],
  ])('for %s is one sentence', (_situation, status, sentence) => {
    expect(verdictSentence(status, 'utc')).toBe(sentence)
  })
})

test.each([
  [0.44, '0.4 s', '0 s'],
  [12.9, '12 s', '12 s'],
  [200, '3 min 20 s', '3 min'],
  [7500, '2 h 5 min', '2 h'],
  [266_400, '3 d 2 h', '3 d'],
])('%d seconds are written %s, or %s in little space', (seconds, long, short) => {
  expect([duration(seconds), age(seconds)]).toEqual([long, short])
})

test('a latency has at most three digits', () => {
  expect([latency(0.00123), latency(0.0123), latency(1.234)]).toEqual(['1.2 ms', '12 ms', '1.2 s'])
})

test('heights have separators, also that of a fork', () => {
  expect(unbroken('different block at height 108739312, since block 108739309')).toBe(
    'different block at height 108,739,312, since block 108,739,309',
  )
})

test('a number and its unit stay on one line', () => {
  expect(unbroken('12 blocks (3 min 20 s) behind, 3 checks')).toBe(
    '12\u00a0blocks (3\u00a0min 20\u00a0s) behind, 3 checks',
  )
})

test.each([
  ['another block than the majority at height 23456789', 'another block than the majority at height 23,456,789'],
  ['1200 blocks (40 min) behind', '1,200\u00a0blocks (40\u00a0min) behind'],
  ['1,200 blocks behind', '1,200\u00a0blocks behind'],
  ['error 32000 of 2026', 'error 32000 of 2026'],
])('in "%s" only heights and blocks get separators', (told, drawn) => {
  expect(unbroken(told)).toBe(drawn)
})
