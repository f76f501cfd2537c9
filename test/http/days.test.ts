import { describe, expect, test } from 'vitest'
import { DaysView, type StripView } from '../../src/http/wire/history.ts'
import { Secret } from '../../src/secret.ts'
import { Unreadable } from '../../src/store/reads.ts'
import type { HistoryQuery } from '../../src/store/store.ts'
import { daySentence, knownDays } from '../../web/views/charts/day-bars.ts'
import { cellsIn, summary } from '../../web/views/charts/strip.ts'
import { condition, incident, START } from '../support/incident.ts'
import { historyBucket } from '../support/world.ts'
import { setUp } from './setting.ts'

const DAY_MS = 86_400_000
const TOKEN = { options: { token: new Secret('a-token-of-the-operator') } }

/** A store in which `own-1` is known for 30 days and was down for a minute of each fifth one. */
function storeOf() {
  const asked: HistoryQuery[] = []
  return {
    asked,
    async history(query: HistoryQuery) {
      asked.push(query)
      const { endpoint, from, to, stepMs } = query
      const count = Math.ceil((to - from) / stepMs)
      return Array.from({ length: count }, (_, at) => {
        const widthMs = Math.min(stepMs, to - from - at * stepMs)
        const isKnown = endpoint === 'avalanche/own-1' && at >= count - 30
        const downMs = isKnown && at % 5 === 0 ? 60_000 : 0
        const times = { upMs: isKnown ? widthMs - downMs : 0, downMs, unknownMs: isKnown ? 0 : widthMs }
        return historyBucket({ start: from + at * stepMs, ...times, polls: 1, lagBlocksMax: 7 })
      })
    },
  }
}

interface Polled {
  readonly downMs?: number
  /** From 15 minutes after the first poll on. */
  readonly gapMs?: number
  readonly to: number
}

/** A store in which `own-1` was polled from the first time on, up except for the last `downMs` and a gap. */
function polledSince(first: number, { downMs = 0, gapMs = 0, to: now }: Polled) {
  const gapFrom = first + 900_000
  return {
    async history({ endpoint, from, to, stepMs }: HistoryQuery) {
      return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => {
        const start = from + at * stepMs
        const end = Math.min(to, start + stepMs)
        const gap = Math.max(0, Math.min(end, gapFrom + gapMs) - Math.max(start, gapFrom))
        const known = endpoint === 'avalanche/own-1' ? Math.max(0, end - Math.max(start, first) - gap) : 0
        const down = Math.min(known, Math.max(0, end - Math.max(start, now - downMs)))
        const times = { upMs: known - down, downMs: down, unknownMs: end - start - known }
        return historyBucket({ start, ...times, polls: 1, lagBlocksMax: 7 })
      })
    },
  }
}

describe('/api/v1/days', () => {
  test('has 90 days of every endpoint for the public, with incidents and without figures', async () => {
    const { server, incidents, clock } = setUp({ ...TOKEN, store: storeOf() })
    await clock.advance(10 * 3_600_000)
    const conditions = [condition({ since: START + 1000, until: START + 61_000 })]
    incidents.put(incident({ id: 'a', openedAt: START + 1000, closedAt: START + 61_000, conditions }))

    const answer = await server.inject('/api/v1/days')

    const view = DaysView.strict().parse(answer.json())
    const [own, other] = view.strips
    expect(view.step_seconds).toBe(86_400)
    expect((Date.parse(view.to) - Date.parse(view.from)) / DAY_MS).toBeCloseTo(89 + 10 / 24)
    expect(own?.states).toMatch(/^\.{60}[ud]{30}$/)
    expect(own?.states.match(/d/g)).toHaveLength(6)
    expect(own?.mixed[0]).toEqual([60, 0, 60, 0, 0])
    expect(own?.lag_blocks_max).toEqual([])
    expect(other?.states).toBe('.'.repeat(90))
    expect(view.incidents).toEqual([
      {
        id: 'a',
        network: 'avalanche',
        endpoint: 'own-1',
        cause: 'endpoint',
        affected: [],
        state: 'down',
        state_seconds: 60,
        opened_at: '2026-01-01T00:00:01.000Z',
        closed_at: '2026-01-01T00:01:01.000Z',
      },
    ])
    expect(answer.body).not.toContain('connection refused')
  })

  test('tells for how long an endpoint was in the worst state of its incident, without planned maintenance', async () => {
    const { server, incidents, clock } = setUp({ store: storeOf() })
    await clock.advance(10 * 3_600_000)
    const minutes = (from: number, to: number) => ({ since: START + from * 60_000, until: START + to * 60_000 })
    const closedAt = START + 47 * 60_000
    const flapping = [condition(minutes(0, 6)), condition(minutes(43, 47))]
    incidents.put(incident({ id: 'flapping', closedAt, conditions: flapping }))
    incidents.put(
      incident({ id: 'planned', closedAt, plannedUntil: START + 45 * 60_000, conditions: [condition(minutes(0, 47))] }),
    )
    incidents.put(incident({ id: 'halted', cause: 'halted', endpoint: null, closedAt, conditions: [] }))

    const { incidents: told } = DaysView.parse((await server.inject('/api/v1/days')).json())

    const seconds = Object.fromEntries(told.map(({ id, state_seconds }) => [id, state_seconds]))
    expect(seconds).toEqual({ flapping: 600, planned: 120, halted: 2820 })
  })

  test.each([
    { hours: 21, states: 'u', mixed: [89, 0, 0, 0, 0, 73_537], said: '1 Jan: up 34 min 23 s', sum: 'up 34 min 23 s' },
    {
      hours: 21,
      downMs: 60_000,
      states: 'd',
      mixed: [89, 0, 60, 0, 0, 73_537],
      said: '1 Jan: up 33 min 23 s, down 1 min',
      sum: 'up 33 min 23 s, down 1 min',
    },
    {
      hours: 21,
      gapMs: 300_000,
      states: 'u',
      mixed: [89, 0, 0, 0, 300, 73_537],
      said: '1 Jan: up 29 min 23 s, unknown 5 min',
      sum: 'up 29 min 23 s, unknown 5 min',
    },
    { hours: 30, states: 'uu', mixed: [88, 0, 0, 0, 0, 73_537], said: '1 Jan: up 3 h 34 min', sum: 'up 9 h 34 min' },
  ])(
    'tells the time before the first poll, at 20:25:37, from a gap: $said',
    async ({ hours, downMs = 0, gapMs = 0, states, ...told }) => {
      const first = START + (20 * 60 + 25) * 60_000 + 37_000
      const { server, clock } = setUp({ store: polledSince(first, { downMs, gapMs, to: START + hours * 3_600_000 }) })
      await clock.advance(hours * 3_600_000)

      const view = DaysView.strict().parse((await server.inject('/api/v1/days')).json())

      const [own] = view.strips
      expect(own?.states.replaceAll('.', '')).toBe(states)
      expect(own?.mixed).toEqual([told.mixed])
      const known = knownDays(view)
      const strip = known.strips[0] as StripView
      expect(daySentence(strip, 0, known)).toBe(told.said)
      expect(summary(cellsIn(strip, known), strip)).toBe(told.sum)
    },
  )

  test('is read every five minutes, for all readers', async () => {
    const store = storeOf()
    const { server, clock } = setUp({ store })
    const first = await server.inject('/api/v1/days')
    const headers = { 'if-none-match': first.headers.etag }

    expect((await server.inject({ url: '/api/v1/days', headers })).statusCode).toBe(304)
    expect(store.asked).toHaveLength(3)
    await clock.advance(301_000)
    await server.inject({ url: '/api/v1/days', headers })
    expect(store.asked).toHaveLength(6)
  })

  test('stay on the page for a while when the history cannot be read, and then are gone', async () => {
    let broken = false
    const store = storeOf()
    const history = (query: HistoryQuery) =>
      broken ? Promise.reject(new Unreadable('the history', 'canary')) : store.history(query)
    const { server, clock } = setUp({ ...TOKEN, store: { history } })
    await server.inject('/api/v1/days')
    const hasBars = async () => (await server.inject('/networks/avalanche')).body.includes('strip bars')

    broken = true
    await clock.advance(20 * 60_000)
    expect([await hasBars(), (await server.inject('/api/v1/days')).statusCode]).toEqual([true, 200])
    await clock.advance(6 * 60_000)

    expect([await hasBars(), (await server.inject('/api/v1/days')).statusCode]).toEqual([false, 503])
  })

  test('is a problem while the history cannot be read', async () => {
    const { server } = setUp({ store: { history: () => Promise.reject(new Unreadable('the history', 'canary')) } })

    const answer = await server.inject('/api/v1/days')

    expect(answer.statusCode).toBe(503)
    expect(answer.body).not.toContain('canary')
  })
})
