import { describe, expect, test } from 'vitest'
import { age, duration, latency, unbroken } from '../../web/format.ts'
import { applyEvent, networksWorstFirst, worstFirst, worstHead } from '../../web/model.ts'
import { verdictSentence } from '../../web/words.ts'
import { aNetwork, anEndpoint, aStatus } from './things.ts'

describe('an event', () => {
  test('that is complete takes the place of all that was known', () => {
    const next = applyEvent(aStatus([aNetwork('old')]), { ...aStatus([aNetwork('new')]), complete: true })

    expect(next).toEqual(aStatus([aNetwork('new')]))
  })

  test('changes the endpoints that it names, and leaves the others and their order', () => {
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

  test('of changes to what is not known yet says nothing', () => {
    expect(applyEvent(null, { ...aStatus([]), complete: false })).toBeNull()
  })
})

test('the worst comes first, and the unknown before the healthy', () => {
  const states = ['up', 'unknown', 'maintenance', 'down', 'degraded'] as const

  expect(worstFirst(states.map((state) => ({ state }))).map(({ state }) => state)).toEqual([
    'down',
    'degraded',
    'unknown',
    'maintenance',
    'up',
  ])
})

test('of degraded networks the one with an endpoint down comes first, and a halted chain before both', () => {
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

test('a sharded endpoint is told by the shard that is the furthest behind', () => {
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
  const down = anEndpoint('c', { state: 'down' })
  const up = anEndpoint('a')
  const unknown = anEndpoint('d', { state: 'unknown' })

  test.each([
    ['nothing to watch', aStatus([]), 'Nothing is configured to be watched.'],
    ['all well', aStatus([aNetwork('one', [up, up])]), 'All 2 endpoints are up.'],
    ['some not known', aStatus([aNetwork('one', [up, unknown])]), '1 of 2 endpoints are up; the others are not known.'],
    [
      'nothing known',
      aStatus([aNetwork('one', [unknown], { state: 'unknown' })], { state: 'unknown' }),
      'Nothing is known yet: the first polls are under way.',
    ],
    [
      'one lagging',
      aStatus([aNetwork('ok', [up]), aNetwork('one', [up, lagging], { state: 'degraded' })], { state: 'degraded' }),
      'ONE: 1 of 2 endpoints is degraded, 12 blocks (24 s) behind; the other network is well.',
    ],
    [
      'several bad',
      aStatus([aNetwork('one', [up, lagging, down], { state: 'degraded' })], { state: 'degraded' }),
      'ONE: 1 of 3 endpoints is down, 1 degraded.',
    ],
    [
      'trouble in two networks',
      aStatus(
        [
          aNetwork('first', [up, lagging], { state: 'degraded' }),
          aNetwork('second', [up, down], { state: 'degraded' }),
          aNetwork('ok'),
        ],
        { state: 'degraded' },
      ),
      'SECOND: 1 of 2 endpoints is down; trouble in FIRST too; the other network is well.',
    ],
    [
      'a halted chain before its nodes',
      aStatus([aNetwork('one', [up, up], { halted: true })]),
      'ONE: the chain is halted, no endpoint advances.',
    ],
  ])('on %s is a sentence', (_situation, status, sentence) => {
    expect(verdictSentence(status)).toBe(sentence)
  })
})

test.each([
  [0.44, '0.4 s', '0 s'],
  [12.9, '12 s', '12 s'],
  [200, '3 min 20 s', '3 min'],
  [7500, '2 h 5 min', '2 h'],
  [266_400, '3 d 2 h', '3 d'],
])('%d seconds read %s, or %s where there is little room', (seconds, long, short) => {
  expect([duration(seconds), age(seconds)]).toEqual([long, short])
})

test('a latency keeps three digits at most', () => {
  expect([latency(0.00123), latency(0.0123), latency(1.234)]).toEqual(['1.2 ms', '12 ms', '1.2 s'])
})

test('a number and its unit stay on one line', () => {
  expect(unbroken('12 blocks (3 min 20 s) behind, 3 checks')).toBe(
    '12\u00a0blocks (3\u00a0min 20\u00a0s) behind, 3 checks',
  )
})
