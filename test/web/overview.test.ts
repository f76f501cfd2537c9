import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { templateText } from '../../src/http/template-text.ts'
import type { StripsView, StripView } from '../../src/http/wire/history.ts'

import type { ConditionView, EndpointView, StatusView } from '../../src/http/wire/status.ts'
import { cellSentence } from '../../web/views/charts/strip-cell.ts'
import { frame, markedTitle } from '../../web/views/frame.ts'
import { view } from '../../web/views/overview/overview.ts'
import { DEFAULT_SETTINGS, type Model } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aLiveness, aNetwork, anEndpoint, anIncident, aStatus } from './views.ts'

const NOW = Date.parse('2026-01-01T00:10:00.000Z')

// The view loads them on demand, as the browser does.
const ASKED: Model['route'] = { view: 'overview', params: {}, query: { sort: 'name' } }
await view.prepare?.(modelOf(aStatus([]), { incidents: [anIncident('x')], route: ASKED }))

function modelOf(status: StatusView | null, over: Partial<Model> = {}): Model {
  return {
    route: { view: 'overview', params: {}, query: {} },
    status,
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    access: 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    data: null,
    ...over,
  }
}

function titleOf(model: Model): string {
  return markedTitle(view.title(model), model)
}

function draw(status: StatusView | null, over: Partial<Model> = {}): HTMLElement {
  const model = modelOf(status, over)
  const { document } = new Window()
  document.body.innerHTML = templateText(frame(model, view.draw(model)))
  return document.body as unknown as HTMLElement
}

const all = (page: HTMLElement, selector: string) => [...page.querySelectorAll(selector)]
const text = (element: Element | null | undefined) => element?.textContent?.replace(/\s+/g, ' ').trim()
const rowsOf = (page: HTMLElement) => all(page, 'tbody tr').map((row) => text(row.querySelector('a')))

function aStrip(endpoint: string, states: string, over: Partial<StripView> = {}): StripView {
  return {
    network: 'one',
    endpoint,
    states,
    mixed: [],
    lag_blocks_max: Array.from(states, () => 0),
    latency_p95_seconds: Array.from(states, () => 0.02),
    recent_latency_p95_seconds: 0.045,
    ...over,
  }
}

function strips(...of: StripView[]): StripsView {
  const from = '2025-12-31T23:00:00.000Z'
  return { generated_at: from, from, to: '2026-01-01T00:00:00.000Z', step_seconds: 900, strips: of }
}

function aCondition(code: ConditionView['code']): ConditionView {
  return { code, message: 'as it is', since: '2026-01-01T00:00:00Z' }
}

describe('the overview', () => {
  test('with a halted or forked chain looks healthy nowhere, though no endpoint is at fault', () => {
    for (const trouble of [{ halted: true }, { forked: true }]) {
      const status = aStatus([aNetwork('one', [anEndpoint('a'), anEndpoint('b')], trouble), aNetwork('two', [])])

      const page = draw(status)

      expect(page.querySelector('.verdict')?.className).toBe('verdict degraded')
      expect(page.querySelector('.verdict > .mark')?.getAttribute('class')).toContain('degraded')
      expect(page.querySelector('.network h2 .mark')?.getAttribute('class')).toContain('degraded')
      expect(titleOf(modelOf(status))).toBe('▲ Heartline')
    }
  })

  test('counts the endpoints at the last block of a halted chain', () => {
    const unheard = anEndpoint('b', { state: 'down' })
    const drawn = (of: ReturnType<typeof anEndpoint>[]) =>
      text(draw(aStatus([aNetwork('one', of, { halted: true })])).querySelector('.facts'))

    expect(drawn([anEndpoint('a'), anEndpoint('c')])).toBe('all at the last block')
    expect(drawn([anEndpoint('a'), unheard])).toContain('1 of 2 at the last block')
  })

  test('says of no endpoint of a halted chain that it is at head, as a row or as a tile', async () => {
    const heads = [
      { shard: null, height: 7, hash: '0x', timestamp: '2026-01-01T00:00:00Z', lag_blocks: 0, lag_seconds: 0 },
    ]
    const status = aStatus([aNetwork('one', [anEndpoint('a', { heads })], { halted: true })])
    const route = { view: 'overview', params: {}, query: { view: 'wall' } } as const
    await view.prepare?.(modelOf(status, { route }))

    const [list, wall] = [draw(status), draw(status, { route })]

    expect(textsOf(list, 'td.lag')).toEqual(['last block'])
    expect(wall.querySelector('.tile')?.getAttribute('aria-label')).toBe('a: up, height 7, last block')
    expect(list.innerHTML + wall.innerHTML).not.toContain('at head')
    expect(list.querySelector('.facts span')?.getAttribute('title')).not.toContain('current head')
  })

  test('marks an endpoint that flaps or has an open incident as unstable while it is up', () => {
    const flaps = { flapping: true, incident: 'x', since: '2026-01-01T00:09:50Z' }
    const endpoints = [anEndpoint('a', flaps), anEndpoint('b', { incident: 'y' }), anEndpoint('c')]

    const page = draw(aStatus([aNetwork('one', endpoints)]))

    expect(all(page, '.network .name .mark').map((mark) => mark.getAttribute('aria-label'))).toEqual([
      'Unstable',
      'Unstable',
      'Up',
    ])
    expect(all(page, 'tbody tr').map((row) => row.className)).toEqual(['degraded', 'degraded', 'up'])
    expect(textsOf(page, '.standing')).toEqual(['Unstable : up for 10 s , flapping', 'Unstable : up for 10 min'])
    expect(textsOf(page, '.network .facts .degraded')).toEqual(['2 unstable'])
  })

  test('an incident of an endpoint that is up at the moment is amber, and below those that are down', () => {
    const [condition] = anIncident('x').conditions
    if (condition === undefined) throw new Error('an incident has a condition')
    const past = { ...condition, until: '2026-01-01T00:05:00.000Z' }
    const incidents = [
      anIncident('old', { endpoint: 'b', flapping: true, conditions: [past] }),
      anIncident('now', { opened_at: '2026-01-01T00:09:00.000Z' }),
    ]

    const page = draw(aStatus([aNetwork('one', [anEndpoint('a'), anEndpoint('b')])]), { incidents })

    const marks = (of: HTMLElement) => all(of, '.incidents .mark').map((mark) => mark.getAttribute('aria-label'))
    expect(marks(page)).toEqual(['Down', 'Degraded'])
    expect(page.querySelector('.incidents')?.className).toContain('down')
    const calm = draw(aStatus([aNetwork('one', [anEndpoint('b')])]), { incidents: incidents.slice(0, 1) })
    expect(calm.querySelector('.incidents')?.className).toContain('degraded')
  })

  test('starts with the verdict, then open incidents, then networks, worst first', () => {
    const down = anEndpoint('b', { state: 'down' })
    const page = draw(
      aStatus([aNetwork('fine'), aNetwork('one', [anEndpoint('a'), down], { state: 'degraded' })], {
        state: 'degraded',
      }),
      { incidents: [anIncident('x', { endpoint: 'b' })] },
    )

    expect(text(page.querySelector('h1'))).toBe('1 of 3 endpoints is down: b (ONE).')
    expect(text(page.querySelector('.incidents li p'))).toBe(
      'ONE: b is down: connection refused. Not the chain: the other one is at head.',
    )
    expect(text(page.querySelector('.incidents .when'))).toBe('for 10 min')
    expect(page.querySelector('.incidents a')?.getAttribute('href')).toBe('/incidents/x')
    expect(all(page, '.network h2').map(text)).toEqual(['ONE', 'FINE'])
    expect(rowsOf(page)).toEqual(['b', 'a', 'a'])
  })

  test('is amber, and counts the endpoint as unstable, while an endpoint with an open incident is up', () => {
    const flapping = anEndpoint('a', { flapping: true, incident: 'x' })
    const status = aStatus([aNetwork('one', [flapping, anEndpoint('b')]), aNetwork('two')])
    const incidents = [anIncident('x', { flapping: true })]

    const page = draw(status, { incidents })

    expect(text(page.querySelector('h1'))).toBe('1 of 3 endpoints is unstable: a (ONE), flapping, up now.')
    expect(page.querySelector('.verdict')?.className).toBe('verdict degraded')
    expect(titleOf(modelOf(status))).toBe('▲ Heartline')
    expect(all(page, '.network h2 .mark').map((mark) => mark.getAttribute('aria-label'))).toEqual(['Degraded', 'Up'])
  })

  test('lists open incidents by severity, then age, and those of one cause as one line', () => {
    const names = ['a', 'b', 'c', 'd', 'e']
    const [condition] = anIncident('x').conditions
    if (condition === undefined) throw new Error('an incident has a condition')
    const lagging = { ...condition, code: 'lagging', state: 'degraded', message: '4 blocks behind' } as const
    const status = aStatus([
      aNetwork(
        'one',
        names.map((name) => anEndpoint(name)),
      ),
    ])
    const at = (minute: number) => ({ opened_at: `2026-01-01T00:0${minute}:00.000Z` })

    const page = draw(status, {
      incidents: [
        anIncident('5', { ...at(5), endpoint: 'e', state: 'degraded', conditions: [lagging] }),
        ...['a', 'b', 'c'].map((endpoint, place) => anIncident(endpoint, { ...at(4 - place), endpoint })),
        anIncident('1', { ...at(1), endpoint: 'd', state: 'degraded', conditions: [lagging] }),
      ],
    })

    expect(all(page, '.incidents li p').map((line) => text(line)?.replace(/\. .*/, ''))).toEqual([
      'ONE: 3 of 5 endpoints down: connection refused',
      'ONE: d is degraded: 4 blocks behind',
      'ONE: e is degraded: 4 blocks behind',
    ])
  })

  test('tells the present state of a group, and groups by it', () => {
    const names = ['a', 'b', 'c', 'd']
    const [unreachable] = anIncident('x').conditions
    if (unreachable === undefined) throw new Error('an incident has a condition')
    const over = { ...unreachable, until: '2026-01-01T00:05:00.000Z' }
    const lagging = { ...unreachable, code: 'lagging', state: 'degraded', message: '120 blocks behind' } as const
    const status = aStatus([
      aNetwork(
        'one',
        names.map((name) => anEndpoint(name)),
      ),
    ])

    const page = draw(status, {
      incidents: names.map((endpoint) =>
        anIncident(endpoint, { endpoint, conditions: endpoint === 'd' ? [unreachable] : [over, lagging] }),
      ),
    })

    expect(all(page, '.incidents li p').map((line) => text(line)?.replace(/\. .*/, ''))).toEqual([
      'ONE: d is down: connection refused',
      'ONE: 3 of 4 endpoints degraded: 120 blocks behind',
    ])
  })

  test('open incidents stay where they are while the reader is among them: closed ones say so, new ones come last', () => {
    const status = aStatus([
      aNetwork(
        'one',
        ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => anEndpoint(name)),
      ),
    ])
    const lines = (ids: string, before = ids) => {
      const of = (all: string) =>
        Array.from(all, (id) =>
          anIncident(id, { endpoint: id, state: id === 'f' ? 'down' : 'degraded', conditions: [] }),
        )
      const page = draw(status, { incidents: of(ids), orderedBy: { status, incidents: of(before) } })
      return all(page, '.incidents li').map((line) =>
        `${text(line.querySelector('p'))?.replace(/\. .*/, '')} ${text(line.querySelector('.when')) ?? ''}`.trim(),
      )
    }

    expect(lines('ab')).toEqual(['ONE: a is degraded for 10 min', 'ONE: b is degraded for 10 min'])
    expect(lines('bf', 'ab')).toEqual(['ONE: a closed', 'ONE: b is degraded for 10 min', 'ONE: f is down for 10 min'])
    expect(lines('abcd', 'ab').map((line) => line?.slice(0, 6))).toEqual(['ONE: a', 'ONE: b', 'ONE: c', 'ONE: d'])
    expect(lines('abcd')).toEqual(['ONE: 4 of 6 endpoints degraded for 10 min'])
    expect(lines('d', 'abcd')).toEqual(['ONE: 1 of 6 endpoints degraded for 10 min'])
    expect(lines('', 'abcd')).toEqual(['ONE: 4 incidents closed'])
    expect(lines('')).toEqual([])
  })

  test.each([
    ['a', 'ONE: a is down'],
    ['abc', 'ONE: 3 of 3 endpoints down'],
  ])('open incidents that outlast planned maintenance count from its end: %s', (ids, line) => {
    const status = aStatus([
      aNetwork(
        'one',
        ['a', 'b', 'c'].map((name) => anEndpoint(name)),
      ),
    ])
    const planned_until = '2026-01-01T00:06:00.000Z'
    const incidents = Array.from(ids, (id) => anIncident(id, { endpoint: id, planned_until, conditions: [] }))

    const page = draw(status, { incidents })

    expect(all(page, '.incidents li').map((one) => text(one.querySelector('.when')))).toEqual(['for 4 min'])
    expect(text(page.querySelector('.incidents li'))).toContain(line)
    // From there it ticks on.
    expect(page.querySelector('.incidents time[data-since]')?.getAttribute('datetime')).toBe(planned_until)
  })

  test('describes an open incident by its current condition', () => {
    const message = 'no network message handled for 24 s'
    const now = { code: 'unreachable', message, since: '2026-01-01T00:00:00Z' } as const
    const status = aStatus([aNetwork('one', [anEndpoint('a', { state: 'down', conditions: [now] })])])

    const page = draw(status, { incidents: [anIncident('x')] })

    expect(text(page.querySelector('.incidents li p'))).toContain(`ONE: a is down: ${message}.`)
  })

  test('shows how many endpoints are at head, and the height and age of the head', () => {
    const head = { shard: null, height: 1_234_567, hash: '0x1', timestamp: '2026-01-01T00:09:48.000Z' }
    const lagging = anEndpoint('b', {
      state: 'degraded',
      conditions: [{ code: 'lagging', message: '12 blocks behind', since: '2026-01-01T00:09:00.000Z' }],
      heads: [{ ...head, height: 1_234_555, lag_blocks: 12, lag_seconds: 144 }],
    })
    const well = anEndpoint('a', { heads: [{ ...head, lag_blocks: 0, lag_seconds: 0 }] })

    const page = draw(aStatus([aNetwork('one', [well, lagging], { state: 'degraded', heads: [head] })]))

    expect(text(page.querySelector('.facts'))).toContain('1 of 2 at head')
    expect(text(page.querySelector('.tips'))).toBe('1,234,567 12 s old')
    expect(text(page.querySelector('tr.degraded .lag'))).toBe('12 2 min')
    expect(text(page.querySelector('tr.degraded .why'))).toBe('lagging 12 blocks behind')
    expect(text(page.querySelector('tr.up .lag'))).toBe('at head')
  })

  test('does not show the height of an unreachable endpoint as current', () => {
    const head = {
      shard: null,
      height: 7,
      hash: '0x1',
      timestamp: '2026-01-01T00:00:00Z',
      lag_blocks: 0,
      lag_seconds: 0,
    }
    const conditions = [{ code: 'unreachable', message: 'connection refused', since: '2026-01-01T00:00:00Z' } as const]

    const page = draw(aStatus([aNetwork('one', [anEndpoint('a', { state: 'down', heads: [head], conditions })])]))

    expect(text(page.querySelector('td.height'))).toBe('7 last seen')
    expect(page.querySelector('td.lag')?.textContent).not.toContain('at head')
  })

  test.each([
    ['half known is enough', { ratio: 0.99999, coverage: 0.5, fresh: 1 }, '99.999 % of 50 %'],
    ['less is shown with its time', { ratio: 1, coverage: 0.25, fresh: 1 }, '100 % of 7 d'],
    ['all known needs no remark', { ratio: 1, coverage: 1, fresh: 1 }, '100 %'],
    ['nothing known is no 100 %', { ratio: null, coverage: 0, fresh: null }, 'no data yet'],
  ])('availability: %s', (_claim, availability, sentence) => {
    const endpoint = anEndpoint('a', { availability: { ...anEndpoint('a').availability, '30d': availability } })

    expect(text(draw(aStatus([aNetwork('one', [endpoint])])).querySelector('td.available'))).toBe(sentence)
  })

  test('all percentages have the same number of decimals, and 100 % and 0 % none', () => {
    const endpoints = [0.99903, 0.9988, 0.5, 1, 0.000_001, 0].map((ratio, at) =>
      anEndpoint(`node-${at}`, {
        availability: { ...anEndpoint('a').availability, '30d': { ratio, coverage: 1, fresh: 1 } },
      }),
    )

    expect(all(draw(aStatus([aNetwork('one', endpoints)])), 'td.available').map(text)).toEqual([
      '99.903 %',
      '99.880 %',
      '50.000 %',
      '100 %',
      '0.000 %',
      '0 %',
    ])
  })

  test('looks healthy nowhere when it is stale', () => {
    const page = draw(aStatus([aNetwork('one')]), { contact: { kind: 'stale', forSeconds: 12 } })

    expect(text(page.querySelector('.lamp'))).toBe('Stale for 12 s')
    expect(page.querySelector('main')?.className).toBe('stale')
    expect(page.querySelector('.verdict')?.className).toBe('verdict unknown')
    expect(titleOf(modelOf(aStatus([]), { contact: { kind: 'stale', forSeconds: 12 } }))).toBe('? Heartline')
  })

  test('does not show a network with an unknown endpoint as healthy', () => {
    const page = draw(aStatus([aNetwork('one', [anEndpoint('a'), anEndpoint('b', { state: 'unknown' })])]))

    expect(page.querySelector('.verdict')?.className).toBe('verdict unknown')
    expect(page.querySelector('.network h2 svg')?.getAttribute('aria-label')).toBe('Unknown')
  })

  test('drawn by the daemon has the time of its data', () => {
    const page = draw(aStatus([aNetwork('one')]), { contact: { kind: 'snapshot' } })

    expect(text(page.querySelector('.lamp'))).toBe('As of 1 Jan 2026, 00:10:00 UTC')
  })

  test('has the time of its data when printed', () => {
    const page = draw(aStatus([aNetwork('one')]))

    expect(text(page.querySelector('.printed'))).toBe('As of 1 Jan 2026, 00:10:00 UTC')
  })

  test.each([
    [{ q: 'NODE one' }, ['node-b']],
    [{ q: 'one/node-b' }, ['node-b']],
    [{ show: 'troubled' }, ['a', 'node-b']],
    [{ show: 'lagging' }, ['a']],
    [{ show: 'flapping' }, ['node-b']],
    [{ show: 'state:down' }, ['a']],
    [{ show: 'condition:lagging' }, ['a']],
    [{ q: 'no-such-node' }, []],
  ])('filtered by %o shows only matching endpoints', (query: Record<string, string>, names) => {
    const a = anEndpoint('a', { state: 'down', conditions: [aCondition('lagging')] })
    const status = aStatus([
      aNetwork('one', [a, anEndpoint('node-b', { flapping: true })]),
      aNetwork('two', [anEndpoint('z')]),
    ])

    const page = draw(status, { route: { view: 'overview', params: {}, query } })

    expect(rowsOf(page)).toEqual(names)
    expect(text(page.querySelector('output'))).toBe(`${names.length} of 3 endpoints`)
    expect(page.querySelector('.no-match') !== null).toBe(names.length === 0)
    expect(all(page, '.network').length).toBe(names.length === 0 ? 0 : 1)
  })

  test.each([
    ['lag', ['b', 'c', 'a']],
    ['latency', ['c', 'a', 'b']],
    ['unavailable', ['a', 'c', 'b']],
    ['name', ['a', 'b', 'c']],
  ])('sorted by %s', (sort, names) => {
    const { availability } = anEndpoint('any')
    const at = (lag: number) => [
      { shard: null, height: 9, hash: '0x1', timestamp: '2026-01-01T00:00:00Z', lag_blocks: lag, lag_seconds: lag },
    ]
    const status = aStatus([
      aNetwork('one', [
        anEndpoint('c', { heads: at(1) }),
        anEndpoint('b', { heads: at(7) }),
        anEndpoint('a', {
          heads: at(0),
          availability: { ...availability, '30d': { ...availability['30d'], ratio: 0.5 } },
        }),
      ]),
    ])
    const slow = aStrip('c', 'u', { recent_latency_p95_seconds: 2 })

    const page = draw(status, {
      route: { view: 'overview', params: {}, query: { sort } },
      data: { strips: strips(slow, aStrip('a', 'u')) },
    })

    expect(rowsOf(page)).toEqual(names)
  })

  test('headings sort by their column, keep the filter, and the second time lead back to the worst first', () => {
    const status = aStatus([aNetwork('one')])
    const linksOf = (query: Record<string, string>) =>
      all(draw(status, { route: { view: 'overview', params: {}, query } }), 'thead th')
        .filter((heading) => heading.querySelector('a') !== null)
        .map((heading) => [
          text(heading),
          heading.querySelector('a')?.getAttribute('href'),
          heading.getAttribute('aria-sort'),
        ])

    expect(linksOf({ q: 'one', sort: 'lag' })).toEqual([
      ['Endpoint', '/?q=one&sort=name', null],
      ['Lag', '/?q=one', 'descending'],
      ['p95, 1 h', '/?q=one&sort=latency', null],
      ['30 days', '/?q=one&sort=unavailable', null],
    ])
    // The least available come first.
    expect(linksOf({ sort: 'unavailable' })[3]).toEqual(['30 days', '/?', 'ascending'])
  })

  test('above forty endpoints is a wall: what is not well has a row, the others have tiles', async () => {
    const many = Array.from({ length: 40 }, (_, at) => anEndpoint(`n${at}`))
    const status = aStatus([
      aNetwork('one', [...many, anEndpoint('down', { state: 'down' }), anEndpoint('flaps', { flapping: true })]),
    ])
    await view.prepare?.(modelOf(status))

    const page = draw(status)
    const list = draw(status, { route: { view: 'overview', params: {}, query: { view: 'list' } } })

    expect(rowsOf(page)).toEqual(['down', 'flaps'])
    expect(all(page, '.tile').length).toBe(40)
    expect(page.querySelector('.tile')?.getAttribute('aria-label')).toBe('n0: up')
    expect(text(page.querySelector('.layouts [aria-current]'))).toBe('Wall')
    expect([rowsOf(list).length, all(list, '.tile').length]).toEqual([42, 0])
  })

  test('names all of a network that is down on the wall: the first in rows, with reason and duration, the others as tiles', async () => {
    const conditions = [{ ...aCondition('unreachable'), message: 'connection refused' }]
    const down = Array.from({ length: 9 }, (_, at) => anEndpoint(`x${at}`, { state: 'down', conditions }))
    const status = aStatus([aNetwork('one', [...down, anEndpoint('flaps', { flapping: true }), anEndpoint('up')])])
    const route = { view: 'overview', params: {}, query: { view: 'wall' } } as const
    await view.prepare?.(modelOf(status, { route }))

    const page = draw(status, { route })

    expect(textsOf(page, 'tbody tr')).toHaveLength(6)
    expect(textsOf(page, 'tbody tr')[0]).toBe('x0 unreachable connection refused 10 min')
    expect(all(page, '.tile').map((tile) => tile.className)).toEqual([
      'tile down',
      'tile down',
      'tile down',
      'tile degraded',
      'tile up',
    ])
    expect(page.querySelector('.tile')?.getAttribute('aria-label')).toBe('x6: down, connection refused')
  })

  test('the wall lists fewer open incidents the more endpoints are unwell, and says how many there are', async () => {
    const names = Array.from({ length: 30 }, (_, at) => `x${at}`)
    const route = { view: 'overview', params: {}, query: { view: 'wall' } } as const
    const listed = async (many: number) => {
      const sick = names.slice(0, many).map((name) => anEndpoint(name, { state: 'down' }))
      const status = aStatus(sick.map((one, at) => aNetwork(`n${at}`, [one])))
      const incidents = sick.map(({ name }, at) => anIncident(name, { network: `n${at}`, endpoint: name }))
      await view.prepare?.(modelOf(status, { route, incidents }))
      const page = draw(status, { route, incidents })
      return [textsOf(page, '.incidents h2'), all(page, '.incidents li').length]
    }

    expect(await listed(4)).toEqual([['Open incidents'], 4])
    expect(await listed(15)).toEqual([['Open incidents all 15'], 2])
    expect(await listed(30)).toEqual([['Open incidents all 30'], 0])
  })

  test('filters by provider and label, which are offered once an endpoint has one', async () => {
    const endpoints = [
      anEndpoint('a', { provider: 'acme', labels: { region: 'fra', rack: '7' } }),
      anEndpoint('b', { labels: { region: 'hel' } }),
      anEndpoint('c'),
    ]
    const status = aStatus([aNetwork('one', endpoints)])
    const shown = async (query: Record<string, string>) => {
      const route = { view: 'overview', params: {}, query } as const
      await view.prepare?.(modelOf(status, { route }))
      return draw(status, { route })
    }
    const names = (page: HTMLElement) => textsOf(page, 'tbody th a')

    expect(names(await shown({ provider: 'acme' }))).toEqual(['a'])
    expect(names(await shown({ label: 'region:hel' }))).toEqual(['b'])
    expect(names(await shown({ label: 'region:fra', provider: 'other' }))).toEqual([])
    expect(names(await shown({ q: 'rack:7' }))).toEqual(['a'])
    const page = await shown({ label: 'region:hel' })
    expect(textsOf(page, '[data-ask=label] option')).toEqual([
      'All labels',
      'rack:7 (1)',
      'region:fra (1)',
      'region:hel (1)',
    ])
    expect(page.querySelector('[data-ask=label] [selected]')?.textContent).toBe('region:hel (1)')
    expect(textsOf(page, '[data-ask=provider] option')).toEqual(['All providers', 'acme (1)'])
    expect(page.querySelector('output')?.textContent).toBe('1 of 3 endpoints')
  })

  test('says of each filter how many endpoints it shows', async () => {
    const lagging = { code: 'lagging', message: '9 blocks behind', since: '2026-01-01T00:09:00.000Z' } as const
    const endpoints = [
      anEndpoint('a', { labels: { region: 'fra' } }),
      anEndpoint('b', { state: 'degraded', conditions: [lagging] }),
      anEndpoint('c', { state: 'down', flapping: true }),
      anEndpoint('d', { state: 'down' }),
    ]
    const status = aStatus([aNetwork('one', endpoints)])
    await view.prepare?.(modelOf(status))

    const offered = textsOf(draw(status), '#filter option')

    expect(offered.slice(0, 4)).toEqual(['All endpoints', 'Unhealthy (3)', 'Lagging (3)', 'Flapping (1)'])
    expect(offered.slice(4)).toEqual([
      'Up (1)',
      'Degraded (1)',
      'Down (2)',
      'Maintenance (0)',
      'Unknown (0)',
      'lagging (1)',
    ])
  })

  test('collapses a network and still shows its state', () => {
    const page = draw(aStatus([aNetwork('one', [anEndpoint('a'), anEndpoint('b')])]), {
      settings: { ...DEFAULT_SETTINGS, folded: ['one'] },
    })

    expect(all(page, 'tbody tr')).toEqual([])
    expect(text(page.querySelector('.folded'))).toBe('2 endpoints hidden')
    expect(page.querySelector('.fold')?.getAttribute('aria-expanded')).toBe('false')
    expect(text(page.querySelector('.facts'))).toContain('2 of 2 at head')
  })

  test('omits private columns for the public', () => {
    const status = aStatus([aNetwork('one')])

    expect(draw(status, { access: 'public' }).querySelector('table')?.className).toBe('bare')
    expect(draw(status, { access: 'open' }).querySelector('table')?.className).not.toBe('bare')
  })

  test('leaves out the columns that no endpoint of a network fills', () => {
    const classOf = (...endpoints: EndpointView[]) =>
      draw(aStatus([aNetwork('one', endpoints)])).querySelector('table')?.className
    const asked = aLiveness({ syncing: false, heartbeat_lag_seconds: null })

    expect(classOf(anEndpoint('a'))).toBe('no-beat no-failures')
    expect(classOf(anEndpoint('a'), anEndpoint('b', { liveness: asked }))).toBe('no-beat')
    expect(classOf(anEndpoint('a'), anEndpoint('b', { liveness: aLiveness() }))).toBe('')
  })

  const bad = anEndpoint('a', { state: 'degraded', conditions: [aCondition('lagging')] })
  const behind = anEndpoint('c', { conditions: [aCondition('stalled')] })
  test.each([
    ['the others are at head', {}, [anEndpoint('b'), anEndpoint('c')], 'Not the chain: the other 2 are at head.'],
    ['some are', {}, [anEndpoint('b'), behind], 'Not the chain: 1 of the other 2 is at head.'],
    ['no other endpoint is', {}, [behind], 'No other endpoint is at head either.'],
    ['there is no other endpoint', {}, [], 'There is no other endpoint to compare with.'],
    ['the chain itself is halted', { halted: true }, [anEndpoint('b')], ''],
  ])('says whether the chain is at fault: %s', (_when, over, others, sentence) => {
    const status = aStatus([aNetwork('one', [bad, ...others], over)])

    const page = draw(status, { incidents: [anIncident('1')] })

    expect(text(page.querySelector('.incidents li p small')) ?? '').toBe(sentence)
  })

  test('an endpoint on another branch is at no head', () => {
    const forked = anEndpoint('a', {
      state: 'degraded',
      heads: [{ shard: null, height: 7, hash: '0x', timestamp: '2026-01-01T00:00:00Z', lag_blocks: 0, lag_seconds: 0 }],
      conditions: [{ code: 'forked', message: 'different block', since: '2026-01-01T00:00:00Z' }],
    })

    expect(textsOf(draw(aStatus([aNetwork('one', [forked])])), 'td.lag')).toEqual(['other branch'])
  })

  test('says that an endpoint is at head again before its recovery is confirmed', () => {
    const head = {
      shard: null,
      height: 7,
      hash: '0x1',
      timestamp: '2026-01-01T00:00:00Z',
      lag_blocks: 0,
      lag_seconds: 0,
    }

    const page = draw(aStatus([aNetwork('one', [{ ...bad, heads: [head] }, anEndpoint('b', { heads: [head] })])]))

    expect(all(page, 'td.lag').map(text)).toEqual(['at head again', 'at head'])
  })

  test('leads to sign-in with the address to come back to, its query too', () => {
    const at = (path: string, query: Record<string, string>, name: 'overview' | 'incidents' | 'sign-in' = 'overview') =>
      draw(aStatus([]), { access: 'public', route: { view: name, path, params: {}, query } })
        .querySelector('nav a[href^="/sign-in"]')
        ?.getAttribute('href')

    expect(at('/', {})).toBe('/sign-in')
    expect(at('/', { q: 'a b', show: 'state:down' })).toBe('/sign-in?to=%2F%3Fq%3Da%2Bb%26show%3Dstate%253Adown')
    expect(at('/incidents', { open: 'true' }, 'incidents')).toBe('/sign-in?to=%2Fincidents%3Fopen%3Dtrue')
    expect(at('/sign-in', { to: '/incidents?open=true' }, 'sign-in')).toBe('/sign-in?to=%2Fincidents%3Fopen%3Dtrue')
  })

  test('parts the links of the footer', () => {
    const page = draw(aStatus([]), { access: 'public', version: '1.2.3' })

    expect(text(page.querySelector('.foot p:last-child'))).toBe('Runbooks API Incident feed Badge Heartline 1.2.3')
    const open = draw(aStatus([]), { access: 'open', version: '1.2.3' })
    expect(text(open.querySelector('.foot p:last-child'))).toBe(
      'Runbooks API Metrics Incident feed Badge Heartline 1.2.3',
    )
  })

  test('leads the public to what it may see and to sign-in, others to every view, and offers sign-out', () => {
    const links = (access: Model['access']) => textsOf(draw(aStatus([]), { access }), 'nav a')
    const foot = (access: Model['access']) => text(draw(aStatus([]), { access }).querySelector('.foot'))
    const all = ['Overview', 'Incidents', 'Gateway', 'Notifications', 'Observer']

    expect(links('public')).toEqual(['Overview', 'Incidents', 'Observer', 'Sign in'])
    expect([links('open'), links('signed-in')]).toEqual([all, all])
    expect(foot('signed-in')).toContain('Sign out')
    expect([foot('open'), foot('public')].join()).not.toContain('Sign')
  })
})

describe('a strip', () => {
  const one = (strip: StripView) =>
    draw(aStatus([aNetwork('one')]), { data: { strips: strips(strip) } }).querySelector('.strip')

  test('draws a healthy day as one shape, and bad states as shapes of their own', () => {
    const calm = one(aStrip('a', 'uuuu'))
    const troubled = one(aStrip('a', 'uudgu', { lag_blocks_max: [0, 0, null, 12, 1] }))

    expect(calm?.querySelectorAll('path').length).toBe(2)
    expect(calm?.querySelector('.up')?.getAttribute('d')).toBe('M0 4h4v10h-4z')
    expect(troubled?.querySelector('.down')?.getAttribute('d')).toBe('M2 0h1v14h-1z')
    expect(troubled?.querySelector('.up')?.getAttribute('d')).toBe('M0 4h2v10h-2zM4 4h1v10h-1z')
    expect(troubled?.querySelector('.lag-much')?.getAttribute('d')).toBe('M3 16h1v6h-1z')
  })

  test('draws a bad state as tall as its share of the cell, and sums up its true time', () => {
    const strip = one(
      aStrip('a', 'ugdd', {
        mixed: [
          [1, 30, 0, 0, 0],
          [2, 0, 450, 0, 0],
        ],
      }),
    )

    expect(strip?.querySelector('.degraded')?.getAttribute('d')).toBe('M1 10h1v4h-1z')
    expect([...(strip?.querySelectorAll('.down') ?? [])].map((path) => path.getAttribute('d'))).toEqual([
      'M2 0h1v10h-1z',
      'M3 0h1v14h-1z',
    ])
    expect(strip?.querySelector('.up')?.getAttribute('d')).toBe('M0 4h3v10h-3z')
    expect(strip?.getAttribute('aria-valuetext')).toBe('up 37 min, degraded 30 s, down 22 min 30 s')
  })

  test('draws each bad state of a cell by its share, and fills a cell only with what lasted all of it', () => {
    const strip = one(
      aStrip('a', 'ddg', {
        mixed: [
          [0, 60, 60, 0, 0],
          [1, 840, 60, 0, 0],
          [2, 700, 0, 0, 0],
        ],
      }),
    )
    const shapes = (state: string) =>
      [...(strip?.querySelectorAll(`.${state}`) ?? [])].map((path) => path.getAttribute('d'))

    expect(shapes('down')).toEqual(['M0 0h2v4h-2z'])
    expect(shapes('degraded')).toEqual(['M0 10h1v4h-1z', 'M1 2h2v12h-2z'])
    expect(shapes('up')).toEqual(['M0 4h1v10h-1zM2 4h1v10h-1z'])
  })

  test('draws a cell by the longer of up and maintenance, whatever else was in it', () => {
    const strip = one(aStrip('a', 'dm', { mixed: [[0, 0, 60, 800, 0]] }))

    expect(strip?.querySelector('.up')).toBeNull()
    expect(strip?.querySelector('.maintenance')?.getAttribute('d')).toBe('M0 7h2v4h-2z')
  })

  test('draws no part of a cell as up if more of it is unknown', () => {
    const upOf = (unknown: number) =>
      one(aStrip('a', 'ud', { mixed: [[1, 0, 60, 0, unknown]] }))
        ?.querySelector('.up')
        ?.getAttribute('d')

    expect(upOf(400)).toBe('M0 4h2v10h-2z')
    expect(upOf(500)).toBe('M0 4h1v10h-1z')
  })

  test('leaves no hatch, and counts no time, before the first poll of a new endpoint', () => {
    const strip = aStrip('a', '..u-')

    expect(one(strip)?.querySelector('.before')?.getAttribute('d')).toBe('M0 0h2v22h-2z')
    expect(one(strip)?.getAttribute('aria-valuetext')).toBe('up 15 min, unknown 15 min')
    expect(cellSentence(strip, 0, strips(strip), 'utc')).toMatch(/: not monitored yet/)
  })

  test('leaves unknown time hatched', () => {
    const strip = one(aStrip('a', '--u-'))

    expect([...(strip?.querySelectorAll('path') ?? [])].map((path) => path.getAttribute('d'))).toEqual([
      'M2 0h1v22h-1z',
      'M2 4h1v10h-1z',
    ])
  })

  test('is one tab stop, and has a summary sentence', () => {
    const strip = one(aStrip('a', 'uud-', { lag_blocks_max: [0, 3, 12, null] }))

    expect(strip?.getAttribute('role')).toBe('slider')
    expect(strip?.getAttribute('aria-valuetext')).toBe('up 30 min, down 15 min, unknown 15 min, up to 12 blocks behind')
    expect(strip?.getAttribute('aria-valuemax')).toBe('4')
  })

  test('describes a cell by the time in each state and its worst values', () => {
    const strip = aStrip('a', 'ud-', {
      mixed: [[1, 0, 120, 0, 60]],
      lag_blocks_max: [0, 3, null],
      latency_p95_seconds: [0.02, null, null],
    })
    const say = (at: number) => cellSentence(strip, at, strips(strip), 'utc')

    expect(say(0)).toBe('23:00 to 23:15: up, p95 20 ms')
    expect(say(1)).toBe('23:15 to 23:30: up 12 min, down 2 min, unknown 1 min, up to 3 blocks behind')
    expect(say(2)).toBe('23:30 to 23:45: no data')
  })

  test('is empty while the history is not loaded', () => {
    const page = draw(aStatus([aNetwork('one')]))

    expect(page.querySelector('[role=slider]')).toBeNull()
    expect(page.querySelector('td.latency .none')).not.toBeNull()
  })
})

test('announcements stand on top as text with links, each between its times', () => {
  const at = (minutes: number) => new Date(NOW + 60_000 * minutes).toISOString()
  const announcements = [
    { text: 'Now <b>and</b> always', links: [], from: null, until: null },
    { text: 'Later', links: [], from: at(1), until: null },
    { text: 'Over', links: [], from: null, until: at(-1) },
    { text: 'Until noon', links: [{ text: 'What <i>to</i> do', url: '/"><script>' }], from: at(-1), until: at(1) },
  ]
  const page = draw(aStatus([aNetwork('one', [anEndpoint('a')])], { announcements }))

  expect(all(page, '.announcement').map(text)).toEqual(['Now <b>and</b> always', 'Until noon What <i>to</i> do'])
  expect(page.querySelector('.announcement a')?.getAttribute('href')).toBe('/"><script>')
})

describe('a member of a cluster', () => {
  const cluster = { vantage: 'fra1', own_view_since: null, networks_differ: false }
  const notesOf = (over: Partial<typeof cluster> | { own_view_since: string }) =>
    textsOf(draw(aStatus([aNetwork('one')], { cluster: { ...cluster, ...over } })), '.announcement')

  test('says nothing of it while it shows the view of all places', () => {
    expect(notesOf({})).toEqual([])
  })

  test('says on every view since when it shows only what it sees itself', () => {
    expect(notesOf({ own_view_since: '2026-01-01T00:08:00.000Z' })).toEqual([
      'The database cannot be reached since 1 Jan 2026, 00:08:00 UTC. This page shows only what fra1 sees.',
    ])
  })

  test('says that other members monitor other networks, and where to see which', () => {
    const page = draw(aStatus([aNetwork('one')], { cluster: { ...cluster, networks_differ: true } }))

    expect(textsOf(page, '.announcement')).toEqual(['The members of this cluster monitor different networks. Observer'])
    expect(page.querySelector('.announcement a')?.getAttribute('href')).toBe('/observer')
  })
})
