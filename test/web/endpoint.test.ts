import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { DASHBOARDS } from '../../grafana/uids.ts'
import { templateText } from '../../src/http/template-text.ts'
import type { DaysView, HistoryBucketView, PollView, RulesView, StripsView } from '../../src/http/wire/history.ts'
import type { IncidentSummaryView } from '../../src/http/wire/incidents.ts'
import type { EndpointView, NetworkView } from '../../src/http/wire/status.ts'
import { view } from '../../web/views/endpoint/endpoint.ts'
import type { Route } from '../../web/views/route.ts'
import { DEFAULT_SETTINGS, type Model, type Sources } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aLiveness, aNetwork, anEndpoint, anIncident, aStatus, aVantage } from './views.ts'

const NOW = Date.parse('2026-01-02T12:00:00.000Z')
const MINUTE = 60_000
const LOCKED = { ok: false, why: 'locked' } as const

function aBucket(startMs: number, lasted: Partial<HistoryBucketView>, over: Partial<HistoryBucketView> = {}) {
  const nothing = { up_seconds: 0, degraded_seconds: 0, down_seconds: 0, maintenance_seconds: 0, unknown_seconds: 0 }
  return {
    start: new Date(startMs).toISOString(),
    ...nothing,
    ...lasted,
    polls: 20,
    latency_p50_seconds: 0.01,
    latency_p95_seconds: 0.02,
    latency_max_seconds: 0.03,
    height: 1000,
    lag_blocks_max: 0,
    heartbeat_lag_seconds_max: null,
    contiguous_failures_max: null,
    ...over,
  } satisfies HistoryBucketView
}

function aPoll(atMs: number, over: Partial<PollView> = {}): PollView {
  const measured = { latency_seconds: 0.012, height: 1000, lag_blocks: 0 }
  const rest = { heartbeat_lag_seconds: null, contiguous_failures: null, failure: null }
  return { at: new Date(atMs).toISOString(), vantage: null, state: 'up', ...measured, ...rest, ...over }
}

const RULES: RulesView = {
  network: 'one',
  endpoint: 'a',
  tier: 'primary',
  checks: ['liveness', 'head'],
  interval_seconds: 15,
  liveness_interval_seconds: 60,
  block_time_seconds: 12,
  thresholds: {
    lag_blocks: 3,
    lag_recover_blocks: 1,
    lag_blocks_down: 100,
    stall_seconds: 60,
    heartbeat_seconds: 60,
    contiguous_failures: 3,
    min_peers: 1,
    latency_seconds: 2,
    clock_skew_seconds: 10,
    fail_after: 2,
    recover_after: 2,
  },
}

interface Told {
  readonly endpoint?: Partial<EndpointView>
  readonly network?: Partial<NetworkView>
  readonly rules?: Partial<RulesView>
  readonly buckets?: (startMs: number) => HistoryBucketView
  readonly polls?: readonly PollView[]
  readonly nextFrom?: string
  readonly incidents?: readonly IncidentSummaryView[]
  /** Incidents of its own cannot be read. */
  readonly incidentsAway?: true
  /** What events have told since. */
  readonly events?: Partial<Pick<Model, 'incidents' | 'ended'>>
  readonly strips?: StripsView
  readonly days?: DaysView
  readonly access?: Model['access']
  readonly query?: Record<string, string>
}

/** What the daemon tells; `asked` is what it was asked for. */
function sourcesOf(told: Told) {
  const { endpoint, buckets, polls = [], nextFrom, incidents = [], strips, days, rules, access = 'open' } = told
  const asked: string[] = []
  const isOpen = access !== 'public'
  const sources = {
    endpoint: async () => ({ ok: true, value: anEndpoint('a', { title: 'Node A', ...endpoint }) }),
    rules: async () => (isOpen ? { ok: true, value: { ...RULES, ...rules } } : LOCKED),
    async history({ fromMs, toMs, stepSeconds }: { fromMs: number; toMs: number; stepSeconds: number }) {
      asked.push('history')
      if (!isOpen) return LOCKED
      const step = stepSeconds * 1000
      const starts = Array.from({ length: Math.ceil((toMs - fromMs) / step) }, (_, at) => fromMs + at * step)
      const value = { buckets: starts.map(buckets ?? ((start) => aBucket(start, { up_seconds: stepSeconds }))) }
      return { ok: true, value }
    },
    async polls() {
      asked.push('polls')
      return { ok: true, value: { polls, next_from: nextFrom ?? null } }
    },
    incidents: async ({ endpoint }: { endpoint?: string }) => {
      if (endpoint !== undefined && told.incidentsAway) return { ok: false, why: 'away' }
      const found = incidents.filter((one) => endpoint === undefined || one.endpoint === endpoint)
      return { ok: true, value: { incidents: found, next_cursor: null } }
    },
    strips: async () => ({ ok: true, value: strips ?? null }),
    days: async () => ({ ok: true, value: days ?? null }),
    silences: async () => LOCKED,
  }
  return { asked, sources: sources as unknown as Sources }
}

async function show(given: Told = {}): Promise<{ page: HTMLElement; model: Model; asked: string[] }> {
  const route: Route = { view: 'endpoint', params: { network: 'one', endpoint: 'a' }, query: given.query ?? {} }
  const { sources, asked } = sourcesOf(given)
  const answer = await view.load(sources, route, NOW)
  if (!answer.ok) throw new Error(answer.why)
  const model: Model = {
    route,
    status: aStatus([aNetwork('one', [anEndpoint('a', { title: 'Node A', ...given.endpoint })], given.network)]),
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    access: given.access ?? 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    origin: 'https://status.example.org',
    ...given.events,
    data: answer.value,
  }
  const { document } = new Window()
  document.body.innerHTML = templateText(view.draw(model))
  return { page: document.body as unknown as HTMLElement, model, asked }
}

const HEAD = { shard: null, height: 988, hash: '0x1', timestamp: '2026-01-02T11:59:30.000Z' }

describe('an endpoint', () => {
  test('shows both statements if its node reports itself healthy but is far behind', async () => {
    const { page } = await show({
      endpoint: {
        state: 'degraded',
        since: '2026-01-02T11:50:00.000Z',
        conditions: [{ code: 'lagging', message: '12,300 blocks (41 h) behind', since: '2026-01-02T11:50:00.000Z' }],
        liveness: aLiveness(),
        heads: [{ ...HEAD, lag_blocks: 12_300, lag_seconds: 147_600 }],
      },
    })

    expect(textsOf(page, '.disagree')).toEqual([
      'The node reports itself healthy, but it is not Node reports itself healthy ' +
        'Heartline Degraded for 10 min : 12,300 blocks (41 h) behind',
    ])
    expect(textsOf(page, '.now .bad')).toEqual(['Lag 12,300 (41 h) limit 3'])
  })

  test('fills a step of the timeline only with a state that lasted all of it, and shows every state in it', async () => {
    const { page } = await show({
      buckets(start) {
        if (start === NOW - 3_600_000) return aBucket(start, { up_seconds: 90, down_seconds: 210 })
        if (start === NOW - 7_200_000) return aBucket(start, { degraded_seconds: 280, down_seconds: 20 })
        return aBucket(start, { up_seconds: 300 })
      },
    })

    const rects = (state: string) =>
      [...page.querySelectorAll(`.past-states .${state}`)].map((rect) => rect.getAttribute('height'))
    expect(rects('down')).toEqual(['25%', '68%'])
    expect(rects('degraded')).toEqual([`${86 * 0.78}%`])
    // Up in three stretches and in the mixed step, but not where it was not up at all.
    expect(page.querySelectorAll('.past-states .up')).toHaveLength(4)
    expect(textsOf(page, '.of-states .chart-legend span')).toEqual(['Up', 'Degraded', 'Down'])
  })

  test('of a halted chain is at its last block, not at head', async () => {
    const heads = [0, 1].map((shard) => ({ ...HEAD, shard, lag_blocks: 0, lag_seconds: 0 }))
    const places = ['fra1', 'nyc1'].map((vantage) => aVantage(vantage, { heads }))

    const { page } = await show({ endpoint: { heads, vantages: places }, network: { halted: true } })

    expect(textsOf(page, '.now > div')[1]).toBe('Lag last block limit 3')
    expect(textsOf(page, '.heads td:nth-child(3)')).toEqual(['last block', 'last block'])
    expect(textsOf(page, '.vantages tbody tr')[0]).toContain('last block')
    expect(page.querySelector('.endpoint .now')?.textContent).not.toContain('at head')
  })

  test('is unstable, not up, while it flaps', async () => {
    const { page } = await show({ endpoint: { flapping: true, incident: 'x', since: '2026-01-02T11:50:00.000Z' } })

    expect(page.querySelector('.subject')?.className).toContain('degraded')
    expect(page.querySelector('h1 .mark')?.getAttribute('aria-label')).toBe('Unstable')
    expect(textsOf(page, '.state')).toEqual(['Unstable : up for 10 min , flapping'])
  })

  const since = '2026-01-02T11:50:00.000Z'
  const polled = { since, last_polled_at: '2026-01-02T11:59:52.000Z' }
  const conditions = [{ code: 'unreachable', message: 'connection refused', since } as const]
  const current = { ...HEAD, height: 1000, lag_blocks: 0, lag_seconds: 0 }
  const vantages = [
    aVantage('fra1', {
      ...polled,
      state: 'down',
      conditions,
      latency_seconds: null,
      heads: [{ ...HEAD, lag_blocks: 12, lag_seconds: 144 }],
    }),
    aVantage('nyc1', { ...polled, heads: [current] }),
    aVantage('sin1', {
      ...polled,
      state: 'unknown',
      counted: false,
      heads: [{ ...current, lag_blocks: null, lag_seconds: null }],
    }),
  ]

  test('shows what several places see side by side, and which of them count', async () => {
    const { page } = await show({ endpoint: { state: 'degraded', vantages, confirmed_by: 1 } })

    expect(textsOf(page, '.vantages h2')).toEqual(['Places 1 of 3 stands behind the state'])
    expect(textsOf(page, '.vantages thead th')).toEqual([
      'Place',
      'State',
      'Duration',
      'Latency',
      'Height',
      'Lag',
      'Last poll',
      'Counted',
    ])
    expect(textsOf(page, '.vantages tbody tr')).toEqual([
      'fra1 Down connection refused 10 min – 988 12 8 s ago yes',
      'nyc1 Up 10 min 12 ms 1,000 at head 8 s ago yes',
      'sin1 Unknown 10 min 12 ms 1,000 – 8 s ago no: not polled lately, or impaired',
    ])
  })

  test('shows the public no columns of figures for its places', async () => {
    const seen = vantages.map((of) => ({ ...of, heads: [], latency_seconds: null }))

    const { page } = await show({ endpoint: { state: 'degraded', vantages: seen }, access: 'public' })

    expect(textsOf(page, '.vantages thead th')).toEqual(['Place', 'State', 'Duration', 'Last poll', 'Counted'])
    expect(textsOf(page, '.vantages tbody tr')[1]).toBe('nyc1 Up 10 min 8 s ago yes')
  })

  test('has no places if there is only one', async () => {
    const { page } = await show()

    expect(page.querySelector('.vantages')).toBeNull()
  })

  test('that is down from some places only shows no disagreement: its node may be right', async () => {
    const partial = {
      code: 'partial',
      message: 'down from fra1 only: connection refused; up from nyc1',
      since,
    } as const

    const { page } = await show({ endpoint: { state: 'degraded', conditions: [partial], liveness: aLiveness() } })

    expect(page.querySelector('.disagree')).toBeNull()
    expect(textsOf(page, '.reasons-now')).toEqual([
      'partial down from fra1 only: connection refused; up from nyc1 Compare what the places see, and check path and firewall between the node and those that see it down.',
    ])
  })

  test.each(['up', 'maintenance', 'unknown'] as const)('that is %s shows no disagreement', async (state) => {
    const liveness = aLiveness()

    const { page } = await show({ endpoint: { state, liveness } })

    expect(page.querySelector('.disagree')).toBeNull()
  })

  test('lists the checks of its node, failing ones first, with their start and message', async () => {
    const check = {
      healthy: true,
      contiguous_failures: 0,
      failing_since: null,
      checked_at: '2026-01-02T11:59:50.000Z',
    }
    const failing = {
      healthy: false,
      contiguous_failures: 5,
      failing_since: '2026-01-02T11:55:00.000Z',
      message: 'no peers <b>',
    }
    const { page } = await show({
      endpoint: {
        state: 'degraded',
        conditions: [
          { code: 'check-failing', message: 'network failed 5 times in a row', since: '2026-01-02T11:55:00.000Z' },
        ],
        liveness: aLiveness({
          healthy: false,
          heartbeat_lag_seconds: null,
          contiguous_failures: 5,
          checks: [
            { ...check, name: 'database' },
            { ...check, ...failing, name: 'network' },
          ],
        }),
      },
    })

    expect(textsOf(page, '.checks tbody tr')).toEqual([
      'network “no peers <b>” ✕ fails 5 5 min 10 s ago',
      'database ✓ passes 0 – 10 s ago',
    ])
  })

  test('shows availability and coverage for every range, in grey and with its time where little is known', async () => {
    const { page } = await show({
      endpoint: {
        availability: {
          '24h': { ratio: 0.98754, coverage: 0.94, fresh: 0.9 },
          '7d': { ratio: 1, coverage: 0.499, fresh: 1 },
          '30d': { ratio: null, coverage: 0, fresh: null },
          '90d': { ratio: 0.9999, coverage: 1, fresh: 0.999 },
        },
      },
    })

    expect(textsOf(page, '.ranges p')).toEqual([
      '24 hours 98.754 % at head 90.000 % of the time , 94 % covered',
      '7 days 100 % of 3 d 49 % covered',
      '30 days no data yet 0 % covered',
      '90 days 99.990 % at head 99.900 % of the time , 100 % covered',
    ])
    expect(textsOf(page, '.ranges .quiet')).toEqual(['100 % of 3 d', 'no data yet'])
  })

  test.each(['open', 'public'] as const)('has a bar for each of its own known days, for %s readers', async (access) => {
    const of = (endpoint: string, states: string, mixed: DaysView['strips'][number]['mixed'] = []) => ({
      network: 'one',
      endpoint,
      states,
      mixed,
      lag_blocks_max: [],
      latency_p95_seconds: [],
      recent_latency_p95_seconds: null,
    })
    const days: DaysView = {
      generated_at: '2026-01-02T12:00:00Z',
      from: '2025-12-30T00:00:00Z',
      to: '2026-01-02T12:00:00Z',
      step_seconds: 86_400,
      strips: [of('b', 'uuuu'), of('a', '.udu', [[2, 0, 43_200, 0, 0]])],
      incidents: [],
    }

    const { page, model } = await show({ access, days })
    const none = await show({ access })

    expect(textsOf(page, '.days h3')).toEqual(['Last 3 days'])
    expect(page.querySelector('.days .bars')?.getAttribute('data-days')).toBe('one/a')
    expect(page.querySelector('.days .bars')?.getAttribute('aria-valuetext')).toBe('up 2 d, down 12 h')
    expect(page.querySelector('.days .down')?.getAttribute('d')).toBe('M3 0h2v12h-2z')
    // The cursor reads the same days as are drawn.
    expect((model.data as { days: DaysView }).days.from).toBe('2025-12-31T00:00:00.000Z')
    expect(none.page.querySelector('.days')).toBeNull()
  })

  test('has a picker of time ranges, from an hour to 90 days, and of any other', async () => {
    const { page } = await show()
    const past = await show({ query: { from: '1767300000', to: '1767303600' } })

    expect(textsOf(page, '.picker a')).toEqual(['1 hour', '6 hours', '24 hours', '7 days', '30 days', '90 days'])
    expect(page.querySelector('.picker [aria-current]')?.getAttribute('href')).toBe('/endpoints/one/a?range=24h')
    expect(textsOf(page, '.steps a')).not.toContain('Now')
    expect(textsOf(past.page, '.steps a')).toContain('Now')
  })

  test('replaces a chart that would only show zeros with one line', async () => {
    const all = (lag: number) => (start: number) =>
      aBucket(start, { up_seconds: 300 }, { lag_blocks_max: lag, contiguous_failures_max: 0 })
    const calm = await show({ buckets: all(0) })
    const behind = await show({ buckets: all(1) })

    expect(calm.page.querySelector('[data-chart=lag]')).toBeNull()
    expect(textsOf(calm.page, '.history > .note')).toEqual([
      'Lag: 0 in this time range. Consecutive failures of a liveness check: 0 in this time range.',
    ])
    expect(behind.page.querySelector('[data-chart=lag]')).not.toBeNull()
    expect(textsOf(behind.page, '.history > .note')).toEqual([
      'Consecutive failures of a liveness check: 0 in this time range.',
    ])
  })

  test('draws nothing for unknown time, and no incident longer than it was', async () => {
    const { page, model } = await show({
      buckets: (start) =>
        start < NOW - 6 * 3_600_000
          ? aBucket(start, { unknown_seconds: 300 }, { polls: 0 })
          : aBucket(start, { up_seconds: 300 }),
      incidents: [anIncident('i1', { opened_at: '2026-01-02T10:00:00.000Z', closed_at: '2026-01-02T11:00:00.000Z' })],
    })

    const rects = [...page.querySelectorAll('.past-states rect')]
    expect(rects.map((one) => one.getAttribute('class'))).toEqual(['ground', 'up'])
    for (const one of rects) expect([one.getAttribute('x'), one.getAttribute('width')]).toEqual(['75.000%', '25.000%'])
    const lane = page.querySelector('.past-incidents a')
    expect(lane?.getAttribute('href')).toBe('/incidents/i1')
    expect(lane?.querySelector('rect')?.getAttribute('width')).toBe('4.167%')
    expect(view.charts?.(model).bands.map(({ kind, fromMs, toMs }) => [kind, (toMs - fromMs) / MINUTE])).toEqual([
      ['unknown', 18 * 60],
    ])
    expect(textsOf(page, '.of-states tbody tr')).toEqual([
      '1 Jan, 12:00 to 2 Jan, 06:00 Unknown no data',
      '2 Jan, 06:00 to 12:00 Up up',
    ])
  })

  test('marks bad states by position, a bad minute as wide as a minute, and shades charts by state, not by incident', async () => {
    const { page, model } = await show({
      incidents: [anIncident('i1', { opened_at: '2026-01-02T08:00:00.000Z', closed_at: '2026-01-02T11:30:00.000Z' })],
      buckets(start) {
        if (start === NOW - 3_600_000) return aBucket(start, { up_seconds: 290, down_seconds: 10 })
        if (start === NOW - 7_200_000) return aBucket(start, { degraded_seconds: 300 })
        return aBucket(start, { up_seconds: 300 })
      },
    })

    const [down] = page.querySelectorAll('.past-states .down')
    const [degraded] = page.querySelectorAll('.past-states .degraded')
    expect([down?.getAttribute('y'), down?.getAttribute('height')]).toEqual(['0%', '25%'])
    expect([degraded?.getAttribute('y'), degraded?.getAttribute('height')]).toEqual(['22%', '78%'])
    expect(view.charts?.(model).bands.map(({ kind, fromMs, isBrief }) => [kind, NOW - fromMs, isBrief])).toEqual([
      ['degraded', 7_200_000, false],
      ['down', 3_600_000, true],
    ])
  })

  test('a label at the end of the time axis stands before its moment, so that it stays on the chart', async () => {
    const { page } = await show()
    const labels = [...page.querySelectorAll('.past-axis text')].map((label) => [
      Number.parseFloat(label.getAttribute('x') ?? ''),
      label.getAttribute('text-anchor'),
    ])

    expect(labels.at(-1)).toEqual([100, 'end'])
    expect(labels.filter(([x]) => Number(x) < 90).map(([, anchor]) => anchor)).toEqual(
      Array.from({ length: labels.length - 1 }, () => 'start'),
    )
  })

  test('says of a limit that it is off the chart', async () => {
    const at = async (lag: number) => {
      const { page } = await show({ buckets: (start) => aBucket(start, { up_seconds: 300 }, { lag_blocks_max: lag }) })
      const figure = page.querySelector('[data-chart=lag]')?.parentElement as unknown as HTMLElement
      return textsOf(figure, '.chart-legend span')
    }

    expect(await at(1)).toEqual(['degraded from 3', 'down from 100 (off the chart)'])
    expect(await at(120)).toEqual(['degraded from 3', 'down from 100'])
  })

  test('has a table for every chart, with equal neighbours in one row', async () => {
    const { page } = await show({
      buckets: (start) => aBucket(start, { up_seconds: 300 }, { lag_blocks_max: start === NOW - 3_600_000 ? 4 : 0 }),
    })

    expect(textsOf(page, 'figure h3')).toEqual(['States', 'Latency', 'Lag', 'Height'])
    for (const figure of page.querySelectorAll('figure')) {
      expect(figure.querySelectorAll('[role=slider][tabindex="0"]')).toHaveLength(1)
      expect(figure.querySelectorAll('details tbody tr').length).toBeGreaterThan(0)
    }
    const lag = [...page.querySelectorAll('figure')][2] as unknown as HTMLElement
    expect(textsOf(lag, 'tbody tr')).toEqual([
      '1 Jan, 12:00 to 2 Jan, 11:00 0',
      '2 Jan, 11:00 to 11:05 4',
      '2 Jan, 11:05 to 12:00 0',
    ])
    expect(lag.querySelector('[role=slider]')?.getAttribute('aria-valuetext')).toBe('Lag: from 0 to 4')
    expect(textsOf(lag, '.chart-legend span')).toEqual(['degraded from 3', 'down from 100 (off the chart)'])
  })

  test('shows single polls when zoomed in, without a line across gaps', async () => {
    const from = NOW - 3_600_000
    const query = { from: String(from / 1000), to: String(NOW / 1000) }
    const polls = [
      aPoll(from),
      aPoll(from + 15_000),
      aPoll(from + 600_000, { latency_seconds: null, failure: 'timeout' }),
    ]

    const { page, model, asked } = await show({ query, polls })

    expect(asked).toEqual(['history', 'polls'])
    const latency = view.charts?.(model).charts.find(({ key }) => key === 'latency')
    expect(latency?.series.map(({ values }) => values)).toEqual([[0.012, 0.012, null, null]])
    expect(textsOf(page, '.where')).toEqual(['2 Jan, 11:00 to 12:00 one point per poll'])
  })

  test('shows the polls of each place as a line of its own', async () => {
    const from = NOW - 3_600_000
    const query = { from: String(from / 1000), to: String(NOW / 1000) }
    const poll = (place: string, second: number, over: Partial<PollView> = {}) =>
      aPoll(from + second * 1000, { vantage: place, ...over })
    const polls = [
      poll('fra1', 0, { height: 1000 }),
      poll('nyc1', 5, { height: 990, latency_seconds: 0.2 }),
      poll('fra1', 15, { height: 1001 }),
      poll('nyc1', 20, { height: 991, latency_seconds: 0.3 }),
      poll('nyc1', 60, { height: 993, latency_seconds: null, failure: 'timeout' }),
    ]

    const { page, model } = await show({ query, polls })

    const charts = new Map(view.charts?.(model).charts.map((chart) => [chart.key, chart.series]))
    expect(charts.get('latency')).toEqual([
      { label: 'fra1', look: 'stepped', values: [0.012, 0.012, 0.012, 0.012, null, null, null] },
      { label: 'nyc1', look: 'second', values: [null, 0.2, 0.2, 0.3, 0.3, null, null] },
    ])
    expect(charts.get('height')?.map(({ values }) => values)).toEqual([
      [1000, 1000, 1001, 1001, null, null, null],
      [null, 990, 990, 991, 991, null, 993],
    ])
    const heading = textsOf(page, '[data-chart=height] ~ details th[scope=col]')
    expect(heading).toEqual(['Time', 'fra1', 'nyc1'])
  })

  test('that is new is shown since its first poll, unless the address asks for a day', async () => {
    const buckets = (start: number) =>
      start < NOW - 20 * MINUTE
        ? aBucket(start, { unknown_seconds: 300 }, { polls: 0 })
        : aBucket(start, { up_seconds: 300 })
    const polls = [aPoll(NOW - 20 * MINUTE), aPoll(NOW - 15_000)]

    const young = await show({ buckets, polls })
    const asked = await show({ buckets, polls, query: { range: '24h' } })

    expect(textsOf(young.page, '.where')).toEqual(['2 Jan, 11:40 to 12:00 one point per poll'])
    expect(young.asked).toEqual(['history', 'history', 'polls'])
    expect(textsOf(asked.page, '.where b')).toEqual(['The last 24 hours'])
  })

  test.each([
    ['from afar', {}, []],
    ['where there are too many', { from: String(NOW / 1000 - 3600), to: String(NOW / 1000) }, [aPoll(NOW - 1000)]],
    ['where they are no longer kept', { from: String(NOW / 1000 - 3600), to: String(NOW / 1000) }, []],
  ])('is shown in steps %s', async (_, query, polls) => {
    const { page } = await show({ query, polls, nextFrom: '2026-01-02T11:59:59.000Z' })

    expect(textsOf(page, '.where')[0]).toMatch(/in steps of/)
  })

  test('has links that zoom in without a script', async () => {
    const { page } = await show()

    const parts = [...page.querySelectorAll('.parts a')]
    expect(textsOf(page, '.parts a')).toEqual(['12:00', '15:00', '18:00', '21:00', '00:00', '03:00', '06:00', '09:00'])
    const at = Date.parse('2026-01-01T12:00:00.000Z') / 1000
    expect(parts[0]?.getAttribute('href')).toBe(`/endpoints/one/a?from=${at}&to=${at + 10_800}`)
  })

  test('lists its incidents and those of its whole network, newest first', async () => {
    const opened = (hour: number) => ({ opened_at: `2026-01-02T0${hour}:00:00.000Z` })
    const { page } = await show({
      incidents: [
        anIncident('i2', opened(2)),
        anIncident('i3', { ...opened(3), endpoint: null, cause: 'halted', scope: 'network' }),
        anIncident('i5', { ...opened(5), endpoint: null, cause: 'outage', scope: 'host', affected: ['b', 'c'] }),
        anIncident('i1', opened(1)),
        anIncident('other', { ...opened(4), endpoint: 'b' }),
      ],
    })

    expect([...page.querySelectorAll('.happened a')].map((one) => one.getAttribute('href'))).toEqual([
      '/incidents/i3',
      '/incidents/i2',
      '/incidents/i1',
    ])
  })

  test('that does not respond has no lag: its head is the one that was seen last', async () => {
    const condition = { code: 'unreachable' as const, message: 'connection refused', since: '2026-01-02T11:59:50.000Z' }
    const heads = [0, 1].map((shard) => ({ ...HEAD, shard, lag_blocks: 0, lag_seconds: 0 }))

    const { page } = await show({ endpoint: { state: 'down', conditions: [condition], heads } })

    expect(textsOf(page, '.now > div')[1]).toBe('Lag – last seen')
    expect(textsOf(page, '.heads tbody td:nth-child(3)')).toEqual(['last seen', 'last seen'])
  })

  test('lists its incidents as events have opened and closed them since they were loaded', async () => {
    const open = anIncident('old', { opened_at: '2026-01-02T11:00:00.000Z' })
    const closed = { ...open, closed_at: '2026-01-02T11:02:00.000Z' }
    const news = anIncident('new', { opened_at: '2026-01-02T11:59:00.000Z' })
    const others = [anIncident('b', { endpoint: 'b' }), anIncident('two', { network: 'two' })]

    const { page } = await show({ incidents: [open], events: { incidents: [news, ...others], ended: [closed] } })

    expect(textsOf(page, '.happened .when')).toEqual(['open, 1 min', '2 min'])
  })

  test('says that its incidents cannot be read, also where those of its network can', async () => {
    const halted = anIncident('all', { endpoint: null, cause: 'halted', scope: 'network' })

    const { page } = await show({ incidentsAway: true, incidents: [halted] })

    expect(textsOf(page, '[aria-labelledby=incidents] > p')[0]).toBe('Not all incidents can be read at the moment.')
    expect(page.querySelectorAll('.happened li')).toHaveLength(1)
  })

  test('of a halted chain says so at the top, though the endpoint is up', async () => {
    const { page } = await show({ network: { halted: true } })

    expect(textsOf(page, '.subject .alarm')).toEqual(['Chain halted'])
  })

  test('links each chart to the same time on the dashboard, where one is configured', async () => {
    const plain = await show({})
    const { page } = await show({ rules: { grafana_url: 'https://grafana.example.org/sub' }, query: { range: '24h' } })

    expect(plain.page.querySelector('.grafana')).toBeNull()
    const links = [...page.querySelectorAll('.grafana')]
    expect(links).toHaveLength(page.querySelectorAll('[data-chart]').length)
    const url = new URL(links[0]?.getAttribute('href') ?? '')
    expect(url.href).toMatch(/^https:\/\/grafana\.example\.org\/sub\/d\/heartline-endpoint\?/)
    expect(url.pathname.endsWith(DASHBOARDS.endpoint)).toBe(true)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      'var-network': 'one',
      'var-endpoint': 'a',
      from: String(NOW - 86_400_000),
      to: String(NOW),
    })
  })

  test('links its height to the block explorer of the network, if one is configured', async () => {
    const head = { ...HEAD, hash: `0x${'a'.repeat(64)}`, lag_blocks: 0, lag_seconds: 0 }
    const linkOf = (of: HTMLElement) => of.querySelector('.now a.explorer')

    const { page } = await show({ endpoint: { heads: [head] }, network: { explorer_url: 'https://etherscan.io' } })
    const { page: plain } = await show({ endpoint: { heads: [head] } })

    expect(linkOf(page)?.getAttribute('href')).toBe(`https://etherscan.io/block/${head.hash}`)
    expect(linkOf(page)?.textContent).toBe('988')
    expect(linkOf(plain)).toBeNull()
  })

  test('lists its thresholds', async () => {
    const { page } = await show()

    expect(textsOf(page, '.rules dd')[1]).toBe('from 3 blocks behind, until 1; down from 100')
    expect(textsOf(page, '.rules dt')).toContain('Heartbeat stale')
  })

  test('has embed code for badges, with titles escaped', async () => {
    const { page } = await show({ endpoint: { title: 'A "quick" [node] <b>' } })

    const html = page.querySelector('#embed-lag-html')?.textContent ?? ''
    const { document } = new Window()
    document.body.innerHTML = html
    const image = document.querySelector('a[href="https://status.example.org/endpoints/one/a"] img')
    expect(image?.getAttribute('src')).toBe('https://status.example.org/badge/one/a.svg?type=lag')
    expect(image?.getAttribute('alt')).toBe('A "quick" [node] <b>: lag')
    expect(page.querySelector('#embed-state-markdown')?.textContent).toBe(
      '[![A "quick" \\[node\\] <b>: state](https://status.example.org/badge/one/a.svg)](https://status.example.org/endpoints/one/a)',
    )
  })

  test('shows the states of one day and a sign-in link to the public', async () => {
    const from = '2026-01-01T12:00:00.000Z'
    const strip: StripsView['strips'][number] = {
      network: 'one',
      endpoint: 'a',
      states: `${'u'.repeat(95)}d`,
      mixed: [[95, 0, 60, 0, 0]],
      lag_blocks_max: [],
      latency_p95_seconds: [],
      recent_latency_p95_seconds: null,
    }
    const { page, model } = await show({
      access: 'public',
      endpoint: { latency_seconds: null },
      strips: {
        generated_at: from,
        from,
        to: new Date(NOW).toISOString(),
        step_seconds: 900,
        strips: [strip],
      },
    })

    expect(textsOf(page, 'figure h3')).toEqual(['States'])
    expect(textsOf(page, '.of-states tbody tr')).toEqual([
      '1 Jan, 12:00 to 2 Jan, 11:45 Up up',
      '2 Jan, 11:45 to 12:00 Down up 14 min, down 1 min',
    ])
    expect(page.querySelector('.note a')?.getAttribute('href')).toBe('/sign-in?to=%2Fendpoints%2Fone%2Fa')
    expect(page.querySelector('.now, .rules, .checks, .places')).toBeNull()
    expect(view.charts?.(model).closer(NOW - MINUTE)).toBeNull()
  })
})
