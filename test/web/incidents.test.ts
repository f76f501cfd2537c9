import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { DASHBOARDS } from '../../grafana/uids.ts'
import { templateText } from '../../src/http/template-text.ts'
import type { HistoryView } from '../../src/http/wire/history.ts'
import type { IncidentSummaryView, IncidentView } from '../../src/http/wire/incidents.ts'
import { view as page } from '../../web/views/incidents/incident.ts'
import { view as list } from '../../web/views/incidents/incidents.ts'
import { DEFAULT_SETTINGS, type Model, type Sources } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aNetwork, anEndpoint, anIncident, aStatus } from './views.ts'

const NOW = Date.parse('2026-01-02T00:10:00.000Z')
const LOCKED = { ok: false, why: 'locked' } as const
const STATUS = aStatus([aNetwork('one', [anEndpoint('a', { title: 'Node A' }), anEndpoint('b')])])
const OVER = anIncident('over', {
  opened_at: '2026-01-01T23:00:00.000Z',
  closed_at: '2026-01-01T23:02:03.000Z',
  duration_seconds: 123,
})

function modelOf(data: unknown, over: Partial<Model> = {}): Model {
  return {
    route: { view: 'incidents', params: {}, query: {} },
    status: STATUS,
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    access: 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    ...over,
    data,
  }
}

function drawn(html: unknown): HTMLElement {
  const { document } = new Window()
  document.body.innerHTML = templateText(html)
  return document.body as unknown as HTMLElement
}

function drawList(incidents: IncidentSummaryView[], over: Partial<Model> = {}, next: string | null = null) {
  return drawn(list.draw(modelOf({ incidents, next_cursor: next }, over)))
}

describe('the incident list', () => {
  test('lists open incidents first, in the present tense, then closed ones by day, in the past tense', () => {
    const open = anIncident('open', {
      opened_at: '2026-01-02T00:08:00.000Z',
      state: 'degraded',
      flapping: true,
      flaps: 4,
    })

    const of = drawList([open, OVER], { incidents: [open] })

    // With a comma or without: browsers and versions of Node.js differ.
    expect(textsOf(of, '.day h2').map((day) => day.replace(',', ''))).toEqual([
      'Open 1 incident',
      'Thursday 1 January 2026 1 incident',
    ])
    expect(textsOf(of, '.what')).toEqual([
      'ONE: Node A is flapping, down now: connection refused unreachable',
      'ONE: Node A was down: connection refused unreachable',
    ])
    expect(textsOf(of, '.incident .span')).toEqual(['00:08:00 for 2 min', '23:00:00 – 23:02:03 2 min 3 s'])
    expect(textsOf(of, '.axis')).toEqual(['0 6 12 18 24', '0 6 12 18 24'])
  })

  test('an incident that has been open since another day says which', () => {
    const open = anIncident('open', { opened_at: '2026-01-01T22:08:00.000Z' })

    expect(textsOf(drawList([open]), '.incident .span')).toEqual(['1 Jan, 22:08 for 2 h 2 min'])
  })

  test('of a large fleet lists endpoints once a network is chosen', () => {
    const many = Array.from({ length: 41 }, (_, at) => anEndpoint(`n${at}`))
    const status = aStatus([aNetwork('one', many), aNetwork('two')])
    const menus = (query: Record<string, string>) =>
      textsOf(drawList([OVER], { status, route: { view: 'incidents', params: {}, query } }), 'summary')

    expect(menus({})).toEqual(['Network: All', 'Time: All', 'Condition: All'])
    expect(menus({ network: 'one' })).toContain('Endpoint: All')
  })

  test('includes incidents from later events if they match the filter', () => {
    const news = anIncident('news', { opened_at: '2026-01-02T00:09:00.000Z' })
    const route = (query: Record<string, string>) => ({ view: 'incidents', params: {}, query }) as const

    const shown = (query: Record<string, string>) =>
      textsOf(drawList([OVER], { incidents: [news], route: route(query) }), '.what').length

    expect(shown({})).toBe(2)
    expect(shown({ network: 'one' })).toBe(2)
    expect(shown({ network: 'two' })).toBe(1)
    expect(shown({ open: 'false' })).toBe(1)
    expect(shown({ cursor: 'x' })).toBe(1)
    expect(shown({ condition: 'unreachable', range: '7d' })).toBe(2)
    expect(shown({ condition: 'lagging' })).toBe(1)
    expect(shown({ from: '1767222000', to: '1767312000' })).toBe(1)
  })

  test('shows one that has ended since as over, and not among the open ones', () => {
    const route = { view: 'incidents', params: {}, query: { open: 'true' } } as const
    const open = { ...OVER, closed_at: null, duration_seconds: null }

    expect(textsOf(drawList([open], { ended: [OVER] }), '.incident.over .span')).toHaveLength(1)
    expect(textsOf(drawList([open], { ended: [OVER], route }), '.incident')).toEqual([])
  })

  test.each([{ kind: 'snapshot' }, { kind: 'connecting' }, { kind: 'stale', forSeconds: 12 }] as const)(
    'includes an open one that began before its first page, also when $kind',
    (contact) => {
      const old = anIncident('old', { opened_at: '2025-10-01T00:00:00.000Z' })
      const before = anIncident('over', { opened_at: OVER.opened_at })

      const of = drawList([OVER], { contact, incidents: contact.kind === 'stale' ? [before, old] : [old] }, 'cursor')

      expect(textsOf(of, '.day h2').map((day) => day.replace(',', ''))).toEqual([
        'Open 1 incident',
        'Thursday 1 January 2026 1 incident',
      ])
    },
  )

  test('loads what its address asks for', async () => {
    const asked: unknown[] = []
    const sources = { incidents: async (filter: unknown) => void asked.push(filter) } as unknown as Sources
    const query = { network: 'one', endpoint: 'a', open: 'true', cursor: 'x', other: 'y' }

    await list.load(sources, { view: 'incidents', params: {}, query }, NOW)

    expect(asked).toEqual([{ network: 'one', endpoint: 'a', open: true, cursor: 'x' }])
  })

  test('is filtered by time and by condition, in its address', async () => {
    const asked: unknown[] = []
    const sources = { incidents: async (filter: unknown) => void asked.push(filter) } as unknown as Sources
    const load = (query: Record<string, string>) => list.load(sources, { view: 'incidents', params: {}, query }, NOW)

    await load({ range: '7d', condition: 'lagging' })
    await load({ from: '1767200000', to: '1767300000' })
    await load({ range: '8d', condition: 'no-such', from: 'yesterday' })

    const nowSeconds = NOW / 1000
    expect(asked).toEqual([
      { condition: 'lagging', from: nowSeconds - 7 * 86_400 },
      { from: 1_767_200_000, to: 1_767_300_000 },
      {},
    ])
    const query = { from: '1767200000', to: '1767300000', condition: 'lagging' }
    const of = drawList([OVER], { route: { view: 'incidents', params: {}, query } })
    expect(textsOf(of, 'summary').slice(2)).toEqual(['Time: 31 Dec, 16:53 to 1 Jan, 20:40', 'Condition: lagging'])
    const links = [...of.querySelectorAll('a')].map((link) => link.getAttribute('href'))
    expect(links).toContain('/incidents?condition=lagging&range=30d')
    expect(links).toContain('/incidents?from=1767200000&to=1767300000&condition=slow')
  })

  test('has filter links that keep other filters, and links to older and newest', () => {
    const query = { network: 'one', cursor: 'here' }

    const of = drawList([OVER], { route: { view: 'incidents', params: {}, query } }, 'there')

    const links = [...of.querySelectorAll('a')].map((link) => link.getAttribute('href'))
    expect(links).toContain('/incidents?network=one&open=true')
    expect(links).toContain('/incidents?network=one&endpoint=a')
    expect(links).toContain('/incidents?network=one&cursor=there')
    expect(links).toContain('/incidents?network=one')
    expect(textsOf(of, 'summary')).toEqual(['Network: ONE', 'Endpoint: All', 'Time: All', 'Condition: All'])
  })

  test('of an endpoint includes outages of its host or provider, and calls none of them the whole network', () => {
    const outage = { endpoint: null, cause: 'outage', provider: 'acme', scope: 'provider' } as const
    const ours = anIncident('ours', { ...outage, affected: ['a', 'b'] })
    const others = anIncident('others', { ...outage, affected: ['b', 'c'] })
    const halt = anIncident('halt', { endpoint: null, cause: 'halted', scope: 'network', affected: ['a'] })
    const route = { view: 'incidents', params: {}, query: { network: 'one', endpoint: 'a' } } as const

    const of = drawList([], { incidents: [ours, others, halt], route })

    expect(textsOf(of, '.incident .codes')).toEqual(['unreachable endpoints of one provider'])
    expect(textsOf(drawList([halt]), '.incident .codes')).toEqual(['unreachable whole network'])
  })

  test('says why it is empty', () => {
    expect(textsOf(drawList([]), '.no-match')).toEqual(['No incidents recorded.'])
    const route = { view: 'incidents', params: {}, query: { open: 'true' } } as const
    expect(textsOf(drawList([], { route }), '.no-match')).toEqual(['No matching incidents. Clear filters'])
  })
})

const HISTORY: HistoryView = {
  network: 'one',
  endpoint: 'a',
  from: '2026-01-01T22:50:00.000Z',
  to: '2026-01-01T22:52:00.000Z',
  step_seconds: 60,
  buckets: [bucket('22:50', { up_seconds: 60, height: 100 }), bucket('22:51', { down_seconds: 60 })],
}

function bucket(at: string, over: Partial<HistoryView['buckets'][number]>): HistoryView['buckets'][number] {
  return {
    start: `2026-01-01T${at}:00.000Z`,
    up_seconds: 0,
    degraded_seconds: 0,
    down_seconds: 0,
    maintenance_seconds: 0,
    unknown_seconds: 0,
    polls: 4,
    latency_p50_seconds: 0.01,
    latency_p95_seconds: 0.02,
    latency_max_seconds: 0.03,
    height: null,
    lag_blocks_max: 0,
    heartbeat_lag_seconds_max: null,
    contiguous_failures_max: null,
    ...over,
  }
}

const CHANGED: IncidentView = {
  silences: [],
  notes: [],
  ...OVER,
  changes: [
    {
      at: OVER.opened_at,
      state: 'down',
      codes: ['unreachable'],
      samples: [
        { endpoint: 'a', shard: 0, height: 1222, lag_blocks: 12, latency_seconds: 0.034 },
        { endpoint: 'a', shard: 1, height: 1200, lag_blocks: 0, latency_seconds: null },
      ],
    },
    { at: '2026-01-01T23:02:03.000Z', state: 'up', codes: [], samples: [] },
  ],
}

function sourcesOf(incident: IncidentView, over: Partial<Sources> = {}): Sources {
  return {
    incident: async () => ({ ok: true, value: incident }),
    incidents: async () => ({ ok: true, value: { incidents: [], next_cursor: null } }),
    postMortem: async () => ({ ok: true, value: 'one/a down for 2 min' }),
    history: async () => ({ ok: true, value: HISTORY }),
    rules: async () => LOCKED,
    ...over,
  } as unknown as Sources
}

async function drawPage(sources: Sources, over: Partial<Model> = {}): Promise<HTMLElement> {
  const route = { view: 'incident', params: { id: 'over' }, query: {} } as const
  const answer = await page.load(sources, route, NOW)
  if (!answer.ok) throw new Error(answer.why)
  return drawn(page.draw(modelOf(answer.value, { route, ...over })))
}

describe('the incident page', () => {
  test('shows summary, conditions, timeline with measurements, and the post-mortem', async () => {
    const of = await drawPage(sourcesOf(CHANGED))

    expect(textsOf(of, 'h1')).toEqual(['ONE: Node A was down: connection refused'])
    expect(textsOf(of, '.changes > li')).toEqual([
      '23:00:00 0 s down: unreachable shard 0 height 1,222, 12 blocks behind, 34 ms shard 1 no valid response, last height 1,200',
      '23:00:00 0 s Confirmed',
      '23:02:03 +2 min 3 s up',
    ])
    expect(textsOf(of, 'pre')).toEqual(['one/a down for 2 min'])
    expect(of.querySelector('[data-act=copy]')?.getAttribute('data-copy')).toBe('post-mortem')
    expect(textsOf(of, '.small-charts tbody tr')).toEqual([
      '22:50 up 0 blocks 100 20 ms',
      '22:51 down 0 blocks – 20 ms',
    ])
  })

  test.each([
    ['of an endpoint that recovered', {}, 'Recovered'],
    [
      'of one that is not in the configuration any more',
      { changes: CHANGED.changes.slice(0, 1) },
      'No longer monitored',
    ],
    [
      'that is part of another one',
      { changes: CHANGED.changes.slice(0, 1), absorbed_by: 'outage' },
      'Part of a larger incident',
    ],
  ])('%s says how it ended', async (_what, over, expected) => {
    const of = await drawPage(sourcesOf({ ...CHANGED, ...over }))

    expect(textsOf(of, 'dt')).toContain(expected)
  })

  test('links its charts to the same time in Grafana, where one is configured', async () => {
    const rules = async () => ({
      ok: true,
      value: { grafana_url: 'https://grafana.example.org', interval_seconds: 15 },
    })

    const of = await drawPage(sourcesOf(CHANGED, { rules } as unknown as Sources))

    const url = new URL(of.querySelector('.grafana')?.getAttribute('href') ?? '')
    expect(url.pathname).toBe(`/d/${DASHBOARDS.endpoint}`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      'var-network': 'one',
      'var-endpoint': 'a',
      from: String(Date.parse(HISTORY.from)),
      to: String(Date.parse(HISTORY.to)),
    })
  })

  test('says that recoveries which its timeline does not show belong to earlier incidents', async () => {
    const of = await drawPage(sourcesOf({ ...CHANGED, flaps: 1 }))

    expect(textsOf(of, '[aria-labelledby=facts] dl').join()).toContain(
      'Recovered, failed again once, including earlier related incidents',
    )
  })

  test('shows each condition once, with all times that it held', async () => {
    const [condition] = OVER.conditions
    if (condition === undefined) throw new Error('no condition')
    const at = (minute: string) => `2026-01-01T23:${minute}.000Z`
    const conditions = [
      { ...condition, since: at('00:00'), until: at('00:30') },
      { ...condition, code: 'slow' as const, state: 'degraded' as const, message: 'took 3 s', until: at('02:00') },
      { ...condition, message: 'reset', since: at('01:00'), until: at('02:03') },
    ]

    const of = await drawPage(sourcesOf({ ...CHANGED, conditions: conditions.map((one) => ({ ...one })) }))

    expect(textsOf(of, '.reasons li')).toEqual([
      'unreachable reset Check that the node runs, and that this machine can connect to its port. down, 2 times, 1 min 33 s in total, most recently, 23:01:00 – 23:02:03',
      'slow took 3 s Compare latency with the other endpoints: if all are slow, look at the path from here. degraded, 23:00:00 – 23:02:00 , 2 min',
    ])
    expect(of.querySelectorAll('.reasons li:first-child rect.down')).toHaveLength(2)
  })

  test('of more than a day says on which day each of its times was', async () => {
    const [condition] = OVER.conditions
    const [opened] = CHANGED.changes
    if (condition === undefined || opened === undefined) throw new Error('no condition')
    const openedAt = '2025-12-30T22:00:00.000Z'
    const long = {
      ...CHANGED,
      opened_at: openedAt,
      confirmed_at: openedAt,
      conditions: [{ ...condition, since: openedAt, until: OVER.closed_at }],
      changes: [{ ...opened, at: openedAt, samples: [] }],
    }
    const buckets = ['2025-12-30T20:00:00.000Z', '2026-01-01T20:00:00.000Z'].map((start) => ({
      ...bucket('22:50', {}),
      start,
    }))
    const history = async () => ({ ok: true as const, value: { ...HISTORY, step_seconds: 172_800, buckets } })

    const of = await drawPage(sourcesOf(long, { history }))

    expect(textsOf(of, '.changes .at')[0]).toBe('30 Dec, 22:00:00 0 s')
    expect(textsOf(of, '.reasons li time')).toEqual(['30 Dec, 22:00:00', '1 Jan, 23:02:03'])
    expect(textsOf(of, '.small-charts tbody th')).toEqual(['30 Dec, 20:00', '1 Jan, 20:00'])
    expect(textsOf(of, '.small-charts .axis')).toEqual(['30 Dec, 20:00 1 Jan, 20:00 3 Jan, 20:00 UTC'])
    expect(textsOf(drawList([long]), '.span time')).toEqual(['22:00', '1 Jan, 23:02'])
  })

  test('loads its own length of history on both sides, at least ten minutes, in steps of at least two polls', async () => {
    const asked: { fromMs: number; toMs: number; stepSeconds: number }[] = []
    const history: Sources['history'] = async (of) => {
      asked.push(of)
      return { ok: true, value: HISTORY }
    }
    const rules = (async () => ({
      ok: true,
      value: { interval_seconds: 20, thresholds: { lag_blocks: 3, latency_seconds: 2, heartbeat_seconds: 60 } },
    })) as unknown as Sources['rules']

    await drawPage(sourcesOf(CHANGED, { history, rules }))

    expect(asked).toMatchObject([
      { fromMs: Date.parse('2026-01-01T22:50:00Z'), toMs: Date.parse('2026-01-01T23:12:03Z'), stepSeconds: 60 },
    ])
  })

  test('of a whole network names the affected endpoints and the incidents that are part of it', async () => {
    const whole = {
      ...CHANGED,
      endpoint: null,
      cause: 'halted' as const,
      scope: 'network' as const,
      affected: ['a', 'b'],
    }
    const part = anIncident('part', { endpoint: 'b', absorbed_by: 'over' })
    const incidents: Sources['incidents'] = async () => ({ ok: true, value: { incidents: [part], next_cursor: null } })

    const of = await drawPage(sourcesOf(whole, { incidents }))

    expect(textsOf(of, 'h1')).toEqual(['ONE was halted: connection refused'])
    expect(textsOf(of, '[aria-labelledby=affected] li')).toEqual(['Node A', 'b', 'b is down: connection refused'])
    expect(of.querySelectorAll('.small-charts')).toHaveLength(2)
  })

  test.each([
    ['halted', 'Last block before', 'Next block'],
    ['forked', 'First detected', 'Resolved'],
  ] as const)('of a chain that %s tells its own beginning and end', async (cause, begins, ends) => {
    const whole = { ...CHANGED, endpoint: null, cause, scope: 'network' as const, affected: ['a', 'b'] }

    const terms = textsOf(await drawPage(sourcesOf(whole)), '[aria-labelledby=facts] dt')

    expect([terms[0], terms[2]]).toEqual([begins, ends])
  })

  test('of a provider tells failed polls, not blocks', async () => {
    const outage = {
      ...CHANGED,
      endpoint: null,
      cause: 'outage' as const,
      scope: 'provider' as const,
      provider: 'acme',
    }

    const terms = textsOf(await drawPage(sourcesOf({ ...outage, affected: ['a', 'b'] })), '[aria-labelledby=facts] dt')

    expect(terms).toContain('First failed poll')
    expect(terms).toContain('Recovered')
  })

  test('names the places that saw it in a cluster, and none for a daemon alone', async () => {
    const seen = { ...CHANGED, vantages: ['fra1', 'nyc1'] }
    const status = { ...STATUS, cluster: { vantage: 'fra1', own_view_since: null, networks_differ: false } }
    const factsOf = async (over: Partial<Model> = {}, incident = seen) =>
      textsOf(await drawPage(sourcesOf(incident), over), '[aria-labelledby=facts] dl').join()

    expect(await factsOf({ status })).toContain('Seen from fra1, nyc1')
    expect(await factsOf()).not.toContain('Seen from')
    expect(await factsOf({ status }, { ...seen, vantages: [] })).not.toContain('Seen from')
  })

  test('blames no node that is down from some places only', async () => {
    const [condition] = OVER.conditions
    if (condition === undefined) throw new Error('no condition')
    const partial = { ...condition, code: 'partial' as const, state: 'degraded' as const, until: null }

    const of = await drawPage(sourcesOf({ ...CHANGED, closed_at: null, state: 'degraded', conditions: [partial] }))

    expect(textsOf(of, '.subject small')).toEqual(['Other places reach it.'])
  })

  test('links to the incident that it is part of', async () => {
    const of = await drawPage(sourcesOf({ ...CHANGED, absorbed_by: 'whole' }))

    expect(of.querySelector('.part a')?.getAttribute('href')).toBe('/incidents/whole')
  })

  test('of an endpoint that was removed links to no page that is gone, and blames no store', async () => {
    const sources = sourcesOf(
      { ...CHANGED, endpoint: 'gone' },
      { history: async () => ({ ok: false, why: 'missing' }) },
    )

    const of = await drawPage(sources)

    expect(textsOf(of, 'h1')).toEqual(['ONE: gone was down: connection refused'])
    expect(of.querySelector('h1 a')).toBeNull()
    expect(textsOf(of, '[aria-labelledby=charts] p')).toEqual(['What is no longer monitored is not charted.'])
  })

  test('shows no figures to the public, and none if the history cannot be read', async () => {
    const locked = await drawPage(sourcesOf(CHANGED, { history: async () => LOCKED }))
    const away = await drawPage(sourcesOf(CHANGED, { history: async () => ({ ok: false, why: 'away' }) }))

    expect(locked.textContent).toContain('Sign in to see heights, lag and latency.')
    expect(away.textContent).toContain('The history of that time cannot be read.')
    for (const of of [locked, away]) expect(of.querySelector('.small-charts')).toBeNull()
  })

  test('follows events while it is open', async () => {
    const open = { ...CHANGED, closed_at: null, duration_seconds: null }
    const worse = anIncident('over', { opened_at: OVER.opened_at, state: 'degraded' })

    const of = await drawPage(sourcesOf(open), { incidents: [worse] })

    expect(textsOf(of, 'h1')).toEqual(['ONE: Node A is down: connection refused'])
    expect(textsOf(of, '.subject p')).toEqual(['still open, for 1 h 10 min. Not the chain: the other one is at head.'])
    expect(textsOf(of, '[aria-labelledby=facts] dl').join()).toContain('Recovered not yet')
  })

  test('that becomes part of another one while it is shown did not recover', async () => {
    const open = { ...CHANGED, closed_at: null, duration_seconds: null }
    const part = { ...OVER, absorbed_by: 'outage' }

    const of = await drawPage(sourcesOf(open), { ended: [part] })

    expect(textsOf(of, '[aria-labelledby=facts] dt')).toContain('Part of a larger incident')
  })
})
