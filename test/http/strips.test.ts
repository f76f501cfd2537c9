import { describe, expect, test } from 'vitest'
import { StripsView } from '../../src/http/wire/history.ts'
import { Secret } from '../../src/secret.ts'
import { Unreadable } from '../../src/store/reads.ts'
import type { HistoryBucket, HistoryQuery } from '../../src/store/store.ts'
import { historyBucket } from '../support/world.ts'
import { NETWORKS, OWN, setUp } from './setting.ts'

const CELL_MS = 900_000

/** A store with the buckets of `own-1` that `history` makes, and no others; it records its queries. */
function storeOf(history: (start: number) => Partial<HistoryBucket>) {
  const asked: HistoryQuery[] = []
  return {
    asked,
    async history(query: HistoryQuery) {
      asked.push(query)
      if (query.endpoint !== 'avalanche/own-1') return []
      const count = Math.ceil((query.to - query.from) / query.stepMs)
      return Array.from({ length: count }, (_, at) => {
        const start = query.from + at * query.stepMs
        return historyBucket({ start, upMs: CELL_MS, ...history(start) })
      })
    },
  }
}

const MINUTE_MS = 60_000
const NOW = Date.UTC(2026, 0, 1)

/** A store in which each endpoint was up in these times, in minutes before now, and was not polled in all others. */
function upIn(times: Readonly<Record<string, readonly (readonly [from: number, to: number])[]>>) {
  return {
    async history({ endpoint, from, to, stepMs }: HistoryQuery) {
      return Array.from({ length: Math.ceil((to - from) / stepMs) }, (_, at) => {
        const start = from + at * stepMs
        const end = Math.min(to, start + stepMs)
        const upMs = (times[endpoint] ?? [])
          .map(([a, b]) => Math.min(end, NOW - b * MINUTE_MS) - Math.max(start, NOW - a * MINUTE_MS))
          .reduce((sum, ms) => sum + Math.max(0, ms), 0)
        return historyBucket({ start, upMs, unknownMs: end - start - upMs })
      })
    },
  }
}

async function stripsOf(times: Parameters<typeof upIn>[0], query = ''): Promise<StripsView> {
  const { server } = setUp({ store: upIn(times) })
  return StripsView.strict().parse((await server.inject(`/api/v1/strips${query}`)).json())
}

describe('strips without a past', () => {
  test.each([
    [12, 60, 12],
    [59, 60, 59],
    [150, 300, 30],
    [480, 300, 96],
    [600, 900, 40],
    [5000, 900, 96],
  ])('are as long as what is known: %i min are cells of %i s', async (minutes, step, cells) => {
    const view = await stripsOf({ 'avalanche/own-1': [[minutes, 0]] })

    expect(view.step_seconds).toBe(step)
    expect(view.strips[0]?.states).toBe('u'.repeat(cells))
    expect(Date.parse(view.to) - Date.parse(view.from)).toBe(cells * step * 1000)
  })

  test('tell the time before the first poll of a new endpoint from a gap', async () => {
    const view = await stripsOf({
      'avalanche/own-1': [[50, 0]],
      'avalanche/own-2': [
        [30, 20],
        [10, 0],
      ],
    })

    expect(view.strips[0]?.states).toBe('u'.repeat(50))
    expect(view.strips[1]?.states).toBe('.'.repeat(20) + 'u'.repeat(10) + '-'.repeat(10) + 'u'.repeat(10))
    expect(view.strips[1]?.mixed).toEqual([])
    expect(view.strips[2]?.states).toBe('.'.repeat(50))
  })

  test('are a whole day, with a gap at its start, if something is known of an earlier one', async () => {
    const days = 1440 * 3

    const view = await stripsOf({
      'avalanche/own-1': [
        [days, days - 60],
        [30, 0],
      ],
    })

    expect(view.step_seconds).toBe(900)
    expect(view.strips[0]?.states).toBe(`${'-'.repeat(94)}uu`)
  })

  test('are cut to the requested hours in their own cells', async () => {
    const view = await stripsOf({ 'avalanche/own-1': [[150, 0]] }, '?hours=1')

    expect([view.step_seconds, view.strips[0]?.states]).toEqual([300, 'u'.repeat(12)])
    expect(Date.parse(view.to) - Date.parse(view.from)).toBe(3_600_000)
  })

  test('grow with what is known, in longer cells', async () => {
    const { server, clock } = setUp({ store: upIn({ 'avalanche/own-1': [[55, -600]] }) })
    const read = async () => StripsView.parse((await server.inject('/api/v1/strips')).json())

    const first = await read()
    await clock.advance(10 * MINUTE_MS)
    const later = await read()

    expect([first.step_seconds, first.strips[0]?.states]).toEqual([60, 'u'.repeat(55)])
    expect([later.step_seconds, later.strips[0]?.states]).toEqual([300, 'u'.repeat(13)])
  })
})

describe('/api/v1/strips', () => {
  test('shows a day of every endpoint in 96 letters, the worst state of each quarter of an hour', async () => {
    const store = storeOf((start) => {
      const hour = new Date(start).getUTCHours()
      if (hour === 3) return { upMs: CELL_MS - 1000, downMs: 1000, lagBlocksMax: 7 }
      if (hour === 4) return { upMs: 0, degradedMs: CELL_MS }
      if (hour === 5) return { upMs: 1000, unknownMs: CELL_MS - 1000 }
      return hour === 6 ? { upMs: 0, maintenanceMs: CELL_MS } : {}
    })
    const { server, clock } = setUp({ store })

    const view = StripsView.strict().parse((await server.inject('/api/v1/strips')).json())

    const [own, other, node] = view.strips
    expect([own?.endpoint, other?.endpoint, node?.network]).toEqual(['own-1', 'own-2', 'ethereum'])
    expect(own?.states).toHaveLength(96)
    const at = (time: string) => (Date.parse(time) - Date.parse(view.from)) / CELL_MS
    const day = new Date(clock.now()).toISOString().slice(0, 10)
    const cells = ['03:00', '04:00', '05:00', '06:00'].map((hour) => (at(`${day}T${hour}:00Z`) + 96) % 96)
    expect(cells.map((cell) => own?.states[cell])).toEqual(['d', 'g', '-', 'm'])
    expect(own?.states.replace(/[dgm-]/g, '')).toBe('u'.repeat(80))
    expect(own?.mixed).toContainEqual([cells[0], 0, 1, 0, 0])
    expect(own?.mixed).toContainEqual([cells[2], 0, 0, 0, 899])
    expect(own?.mixed).toHaveLength(8)
    expect(own?.lag_blocks_max[cells[0] ?? -1]).toBe(7)
    expect(own?.recent_latency_p95_seconds).toBe(0.02)
    expect(other?.states).toBe('.'.repeat(96))
  })

  test('shows the latest hours where fewer are requested', async () => {
    const { server } = setUp({
      store: storeOf((start) => (start % 3_600_000 === 0 ? { upMs: 0, downMs: CELL_MS } : {})),
    })

    const view = StripsView.strict().parse((await server.inject('/api/v1/strips?hours=2')).json())

    expect(view.strips[0]?.states).toHaveLength(8)
    expect(view.strips[0]?.states.match(/d/g)).toHaveLength(2)
    expect(Date.parse(view.to) - Date.parse(view.from)).toBeLessThanOrEqual(2 * 3_600_000)
  })

  test('is read once a minute for all requests, and then only the latest cells', async () => {
    const store = storeOf(() => ({}))
    const { server, clock } = setUp({ store })

    const first = await server.inject('/api/v1/strips')
    const again = await server.inject({ url: '/api/v1/strips', headers: { 'if-none-match': first.headers.etag } })
    const before = store.asked.length
    await clock.advance(61_000)
    const later = await server.inject({ url: '/api/v1/strips', headers: { 'if-none-match': first.headers.etag } })

    expect(again.statusCode).toBe(304)
    expect(before).toBe(8)
    expect(later.statusCode).toBe(200)
    const longest = Math.max(...store.asked.slice(before).map(({ from, to }) => to - from))
    expect(longest).toBeLessThanOrEqual(3_600_000 + 2 * CELL_MS)
    expect(StripsView.parse(later.json()).strips[0]?.states).toMatch(/^u+$/)
  })

  test('shows polls of hours ago that were written only now, after a disk was full', async () => {
    let isFull = true
    const fullFrom = NOW - 2 * 3_600_000
    const gone = { upMs: 0, unknownMs: CELL_MS, polls: 0 }
    const store = storeOf((start) => (isFull && start >= fullFrom ? gone : {}))
    const { server, clock } = setUp({ store })
    const states = async () => StripsView.parse((await server.inject('/api/v1/strips')).json()).strips[0]?.states
    expect(await states()).toMatch(/^u{88}-{8}$/)
    for (let minute = 0; minute < 120; minute += 2) {
      await clock.advance(2 * MINUTE_MS)
      await states()
    }

    isFull = false
    await clock.advance(2 * MINUTE_MS)

    expect(await states()).toMatch(/^u+$/)
  })

  test('shows states that were confirmed hours later, where polls are rare', async () => {
    let isConfirmed = false
    const store = storeOf((start) => (isConfirmed && start >= NOW ? { upMs: 0, downMs: CELL_MS } : {}))
    const rare = { ...OWN, intervalMs: 4 * 3_600_000 }
    const [{ network: of } = {}] = NETWORKS
    const { server, clock } = setUp({ store, networks: of === undefined ? [] : [{ network: of, endpoints: [rare] }] })
    const states = async () => StripsView.parse((await server.inject('/api/v1/strips')).json()).strips[0]?.states
    for (let minute = 0; minute < 240; minute += 10) {
      await states()
      await clock.advance(10 * MINUTE_MS)
    }

    isConfirmed = true
    await clock.advance(2 * MINUTE_MS)

    expect(await states()).toMatch(/^u+d{16,17}$/)
  })

  test('is read again in full when maintenance is announced, also late', async () => {
    let isPlanned = false
    const store = storeOf(() => (isPlanned ? { upMs: 0, maintenanceMs: CELL_MS } : { upMs: 0, downMs: CELL_MS }))
    const { server, clock, world } = setUp({ store })
    const states = async () => StripsView.parse((await server.inject('/api/v1/strips')).json()).strips[0]?.states
    expect(await states()).toMatch(/^d+$/)

    isPlanned = true
    world.board.putMaintenance([])
    await clock.advance(61_000)

    expect(await states()).toMatch(/^m+$/)
  })

  test('shows the public states, and no figures', async () => {
    const { server } = setUp({
      store: storeOf(() => ({ lagBlocksMax: 7 })),
      options: { token: new Secret('a-token-of-the-operator') },
    })

    const view = StripsView.strict().parse((await server.inject('/api/v1/strips')).json())

    expect(view.strips[0]?.states).toMatch(/^u+$/)
    expect(view.strips[0]?.lag_blocks_max).toEqual([])
    expect(view.strips[0]?.latency_p95_seconds).toEqual([])
    expect(view.strips[0]?.recent_latency_p95_seconds).toBeNull()
  })

  test('stays for a while when the history cannot be read, and then is a problem', async () => {
    let broken = false
    const store = storeOf(() => ({}))
    const { server, clock } = setUp({
      store: {
        history: (query) => (broken ? Promise.reject(new Unreadable('the history', 'canary')) : store.history(query)),
      },
    })
    const first = await server.inject('/api/v1/strips')

    broken = true
    await clock.advance(61_000)
    const kept = await server.inject('/api/v1/strips')
    await clock.advance(300_000)
    const gone = await server.inject('/api/v1/strips')

    expect(kept.body).toBe(first.body)
    expect(gone.statusCode).toBe(503)
    expect(gone.body).not.toContain('canary')
  })

  test.each(['hours=0', 'hours=25', 'hours=x', 'minutes=5'])('rejects %s', async (query) => {
    expect((await setUp().server.inject(`/api/v1/strips?${query}`)).statusCode).toBe(400)
  })

  test('is compressed for clients that accept it', async () => {
    const { server } = setUp({ store: storeOf(() => ({})) })

    const { headers, rawPayload } = await server.inject({
      url: '/api/v1/strips',
      headers: { 'accept-encoding': 'gzip' },
    })

    expect(headers['content-encoding']).toBe('gzip')
    expect(headers.vary).toContain('Accept-Encoding')
    expect(rawPayload.length).toBeLessThan(800)
  })

  test('has a weak tag, because every encoding has the same, and varies where nothing changed, too', async () => {
    const { server } = setUp({ store: storeOf(() => ({})) })
    const { headers } = await server.inject('/api/v1/strips')
    const known = await server.inject({ url: '/api/v1/strips', headers: { 'if-none-match': headers.etag } })

    expect(headers.etag).toMatch(/^W\/"[^"]+"$/)
    expect([known.statusCode, known.headers.etag, known.headers.vary]).toEqual([304, headers.etag, headers.vary])
    expect(headers.vary).toBe('Accept-Encoding')
  })
})
