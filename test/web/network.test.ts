import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { templateText } from '../../src/http/template-text.ts'
import type { BlocksView, BlockView, BlockWitnessView } from '../../src/http/wire/blocks.ts'
import type { RoutingView } from '../../src/http/wire/gateway.ts'
import type { DaysView, StripsView } from '../../src/http/wire/history.ts'
import type { NetworkView } from '../../src/http/wire/status.ts'
import { daySentence, knownDays } from '../../web/views/charts/day-bars.ts'
import type { TemplateResult } from '../../web/views/lit.ts'
import { arrivalsOf, intervalsOf, sinceLastBlock } from '../../web/views/network/block-arrival-figures.ts'
import { blockHashes } from '../../web/views/network/block-hashes.ts'
import { view } from '../../web/views/network/network.ts'
import { type Answer, DEFAULT_SETTINGS, type Model, type Sources } from '../../web/views/view.ts'
import { textsOf } from './texts.ts'
import { aNetwork, anEndpoint, anIncident, aStatus } from './views.ts'

const NOW = Date.parse('2026-01-01T00:10:00.000Z')
const LAG_BLOCKS = 3
const at = (secondsAgo: number) => new Date(NOW - secondsAgo * 1000).toISOString()

/** A block every 10 s, the last one 5 s ago. */
function aBlock(height: number, over: Partial<BlockView> = {}): BlockView {
  const ago = 5 + (104 - height) * 10
  return { height, timestamp: at(ago), first_seen_at: at(ago - 1), hashes: [`0x${height}abcdef`], ...over }
}

const BLOCKS = [100, 101, 102, 103, 104].map((height) => aBlock(height))

function aWitness(name: string, over: Partial<BlockWitnessView> = {}): BlockWitnessView {
  return {
    name,
    interval_seconds: 2,
    height: 104,
    advanced_at: at(4),
    answered_at: at(0),
    told: [0, 0, 0, 0, 0],
    later_seconds: [0, 0, 0, 0, 0],
    within_seconds: [2, 2, 2, 2, 2],
    ...over,
  }
}

type Shard = BlocksView['shards'][number]

function aShard(endpoints: BlockWitnessView[], over: Partial<Shard> = {}): Shard {
  const block_time = { expected_seconds: 10, measured_seconds: 10 }
  return { shard: null, block_time, blocks: BLOCKS, endpoints, endpoints_left_out: 0, ...over }
}

function headAt(height: number, lag: number): NetworkView['endpoints'][number]['heads'] {
  return [{ shard: null, height, hash: '0x', timestamp: at(5), lag_blocks: lag, lag_seconds: lag * 10 }]
}

const ENDPOINTS = [
  anEndpoint('a', { title: 'Node A', heads: headAt(104, 0) }),
  anEndpoint('b', { title: 'Node B', heads: headAt(104, 0) }),
  anEndpoint('c', { title: 'Node C', heads: headAt(101, 3) }),
]
/** Of Node A: unknown, a minute down, half a day down, up. */
const DAYS: DaysView = {
  generated_at: '2026-01-02T00:00:00Z',
  from: '2025-12-29T00:00:00Z',
  to: '2026-01-02T00:00:00Z',
  step_seconds: 86_400,
  strips: [
    {
      network: 'one',
      endpoint: 'a',
      states: '.ddu',
      mixed: [
        [1, 0, 60, 0, 0],
        [2, 0, 43_200, 0, 0],
      ],
      lag_blocks_max: [],
      latency_p95_seconds: [],
      recent_latency_p95_seconds: null,
    },
  ],
  incidents: [
    anOld('x', '2025-12-30T10:00:00Z', '2025-12-30T10:01:00Z'),
    anOld('y', '2025-12-31T00:00:00Z', '2025-12-31T12:00:00Z'),
    { ...anOld('h', '2025-12-31T20:00:00Z', '2025-12-31T20:05:00Z'), endpoint: null, cause: 'halted', affected: ['b'] },
    { ...anOld('o', '2025-12-31T20:00:00Z', '2025-12-31T20:05:00Z'), endpoint: null, cause: 'outage', affected: ['b'] },
    { ...anOld('z', '2025-12-31T20:00:00Z', null), network: 'two' },
    { ...anOld('b', '2025-12-31T20:00:00Z', null), endpoint: 'b' },
  ],
}

function anOld(id: string, opened_at: string, closed_at: string | null): DaysView['incidents'][number] {
  const about = { network: 'one', endpoint: 'a', cause: 'endpoint', affected: [], state: 'down' } as const
  const state_seconds = (Date.parse(closed_at ?? '2026-01-02T00:00:00Z') - Date.parse(opened_at)) / 1000
  return { id, ...about, affected: [], state_seconds, opened_at, closed_at }
}

const ROUTING: RoutingView = {
  network: 'one',
  enabled: true,
  endpoints: [
    { name: 'b', tier: 'primary', left_out: null, latency_seconds: 0.012 },
    { name: 'a', tier: 'fallback', left_out: null, latency_seconds: null },
    { name: 'c', tier: 'primary', left_out: 'lagging', latency_seconds: 0.004 },
  ],
}

interface Shown {
  readonly network?: NetworkView
  readonly shards?: Shard[]
  readonly routing?: RoutingView | null
  readonly strips?: StripsView | null
  readonly days?: DaysView | null
  readonly incidents?: Model['incidents']
  readonly isPublic?: boolean
  readonly origin?: string
}

function draw({
  network = aNetwork('one', ENDPOINTS),
  shards,
  routing = ROUTING,
  strips = null,
  days = null,
  incidents = [],
  isPublic,
  origin = '',
}: Shown = {}): HTMLElement {
  const blocks: BlocksView = {
    network: 'one',
    generated_at: at(0),
    thresholds: { lag_blocks: LAG_BLOCKS, stall_seconds: 60 },
    shards: shards ?? [aShard(ENDPOINTS.map(({ name }) => aWitness(name)))],
  }
  const model: Model = {
    route: { view: 'network', params: { network: 'one' }, query: {} },
    status: aStatus([network]),
    incidents,
    contact: { kind: 'live', by: 'events' },
    brand: { title: 'Heartline', hasLogo: false },
    nowMs: NOW,
    origin,
    access: isPublic === true ? 'public' : 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    data: {
      network,
      strips,
      silences: [],
      days,
      ...(isPublic === true ? { blocks: null, routing: null } : { blocks, routing }),
    },
  }
  return drawn(view.draw(model))
}

function drawn(template: TemplateResult): HTMLElement {
  const { document } = new Window()
  document.body.innerHTML = templateText(template)
  return document.body as unknown as HTMLElement
}

/** How the marks of a list are read. */
function looks(page: HTMLElement, list: string): string[] {
  return [...page.querySelectorAll(`${list} .mark`)].map((mark) => mark.getAttribute('aria-label') ?? '').sort()
}

describe('block arrival', () => {
  test('shows no lag of an endpoint that does not respond, only the head that was seen last', () => {
    const condition = { code: 'unreachable' as const, message: 'connection refused', since: at(9) }
    const down = anEndpoint('a', { state: 'down', conditions: [condition], heads: headAt(104, 0) })

    const page = draw({ network: aNetwork('one', [down]) })

    expect(textsOf(page, '.race tr.down :is(.height, .lag)')).toEqual(['104 last seen', '–'])
  })

  test('counts how often each endpoint was first, how often that is certain, and its usual delay', () => {
    const shard = aShard([
      aWitness('a', { later_seconds: [null, 0, 0, 0, 1] }),
      // 3 s later, and 2 s sooner at most: surely after the other. At the last block it was seen first, and the other asked since.
      aWitness('b', { later_seconds: [null, 3, 3, 1, 0] }),
    ])

    const [a, b] = arrivalsOf(shard, LAG_BLOCKS)

    expect([a?.firsts, a?.sure, a?.laterSeconds]).toEqual([3, 2, 0])
    expect([b?.firsts, b?.sure, b?.laterSeconds, b?.withinSeconds]).toEqual([1, 0, 1, 2])
    expect(b?.arrivals).toEqual(['there', 'late', 'late', 'with', 'first'])
  })

  test('an endpoint without the newest blocks is only behind once it is lagging', () => {
    const [near, far, away] = arrivalsOf(
      aShard([
        aWitness('near', { height: 103, later_seconds: [0, 0, 0, 0, null] }),
        aWitness('far', { height: 100, later_seconds: [0, null, null, null, null] }),
        aWitness('away', { height: 104, later_seconds: [null, null, 0, 0, 0], told: [null, null, 0, 0, 0] }),
      ]),
      LAG_BLOCKS,
    )

    expect(near?.arrivals.at(-1)).toBe('awaited')
    expect(far?.arrivals.slice(1)).toEqual(['missing', 'missing', 'missing', 'missing'])
    expect(away?.arrivals.slice(0, 2)).toEqual(['unknown', 'unknown'])
  })

  test('takes block intervals from timestamps, and spreads unknown ones evenly', () => {
    const unknown = { timestamp: null }
    const blocks = [aBlock(100), aBlock(101, unknown), aBlock(102), aBlock(103, unknown), aBlock(104, unknown)]

    expect(intervalsOf({ blocks })).toEqual([null, 10, 10, 10, 10])
    expect(intervalsOf({ blocks: blocks.slice(0, 2) })).toEqual([null, 10])
    expect(sinceLastBlock(aShard([aWitness('a')]), NOW)).toBe(5)
    expect(sinceLastBlock(aShard([], { blocks: [] }), NOW)).toBeNull()
  })

  test('has a row per endpoint with height, lag, firsts, delay and its uncertainty', () => {
    const page = draw({
      shards: [
        aShard([
          aWitness('a'),
          aWitness('b', { later_seconds: [1.5, 1.5, 1.5, 1.5, 1.5] }),
          aWitness('c', { height: 100, later_seconds: [4, null, null, null, null] }),
        ]),
      ],
    })

    const rows = textsOf(page, '.race tbody tr')
    expect(rows[0]).toMatch(/^The chain 104 5 s old one block per 10\ss expected: 10\ss/)
    expect(rows[1]).toBe('Node A 104 at head 5 of 5 –')
    expect(rows[2]).toBe('Node B 104 at head 0 of 5 –')
    expect(rows[3]).toMatch(/^Node C 101 3 30 s/)
    expect(page.textContent).toContain('Arrival times are accurate to one poll interval (2\u00a0s)')
    expect(page.querySelectorAll('.race tr')[4]?.querySelector('path.missing')).not.toBeNull()
  })

  test('of a halted chain tells nowhere that an endpoint is at head, also for folded shards', () => {
    const endpoints = ENDPOINTS.map((one) => ({
      ...one,
      heads: [0, 1].flatMap((shard) => headAt(104, 0).map((head) => ({ ...head, shard }))),
    }))
    const shards = [0, 1].map((shard) => aShard([aWitness('a'), aWitness('b')], { shard }))

    const page = draw({ network: aNetwork('one', endpoints, { halted: true }), shards })

    expect(textsOf(page, 'td.lag .quiet').slice(0, 2)).toEqual(['last block', 'last block'])
    expect(page.innerHTML).not.toContain('at head')
    expect(draw({ network: aNetwork('one', endpoints), shards }).innerHTML).toContain('at head')
  })

  test('marks an endpoint that flaps as unstable in every list, to the public too', () => {
    const flaps = { ...anEndpoint('b', { title: 'Node B', heads: headAt(104, 0) }), flapping: true, incident: 'x' }
    const network = aNetwork('one', [ENDPOINTS[0] ?? flaps, flaps])

    const page = draw({ network })
    const open = draw({ network, isPublic: true })

    expect(looks(page, '.race')).toEqual(['Unstable', 'Up'])
    expect(looks(page, '.routing ol')).toEqual(['Unstable', 'Up'])
    expect(looks(open, '.plain.card')).toEqual(['Unstable', 'Up'])
    expect(textsOf(open, '.plain.card .standing')[0]).toMatch(/^Unstable : up for/)
  })

  test('is one tab stop, and has a table of its contents', () => {
    const page = draw({
      shards: [aShard([aWitness('a'), aWitness('b', { height: 103, later_seconds: [0, 1, 1, 2.5, null] })])],
    })

    const sliders = page.querySelectorAll('[role="slider"]')
    expect(sliders).toHaveLength(1)
    expect(sliders[0]?.getAttribute('aria-valuetext')).toBe('5 blocks, one every 10\u00a0s, at most 10\u00a0s apart')
    const table = `#${sliders[0]?.getAttribute('data-chart-table')}`
    expect(textsOf(page, `${table} thead th`)).toEqual(['Block', 'Since previous block', 'Node A', 'Node B'])
    expect(textsOf(page, `${table} tbody tr`).slice(3)).toEqual([
      '103 10\u00a0s first +2.5\u00a0s'.replaceAll('\u00a0', ' '),
      '104 10 s first not there yet',
      'Next block 5 s not there yet not there yet',
    ])
    expect(sliders[0]?.getAttribute('aria-valuemax')).toBe('6')
  })

  test('shows the chain head of the latest event if that is newer than the blocks', () => {
    const heads = [{ shard: null, height: 106, hash: '0x106', timestamp: at(1) }]

    const page = draw({ network: aNetwork('one', ENDPOINTS, { heads }) })

    expect(textsOf(page, '.chain .height')).toEqual(['106'])
    expect(textsOf(page, '.chain .lag')).toEqual(['1 s old'])
  })

  test('shows the worst of hundreds of endpoints, and how many more there are', () => {
    const names = Array.from({ length: 90 }, (_, n) => `n-${n}`)
    const endpoints = names.map((name, n) => anEndpoint(name, n === 88 ? { state: 'down' } : { heads: headAt(104, 0) }))

    const page = draw({ network: aNetwork('one', endpoints), shards: [aShard(names.map((name) => aWitness(name)))] })

    const rows = textsOf(page, '.race tbody tr')
    expect(rows).toHaveLength(61)
    expect(rows[1]).toMatch(/^n-88 Down/)
    expect(page.textContent).toContain('30 more endpoints are not listed; these are the worst.')
  })

  test('the table of many endpoints has the first, the median and the last', () => {
    const many = Array.from({ length: 9 }, (_, n) => aWitness(`n-${n}`, { later_seconds: [n, n, n, n, n] }))

    const page = draw({ shards: [aShard(many)] })

    expect(textsOf(page, '#blocks-all tbody tr')[0]).toBe('100 – n-0 +4 s n-8 +8 s')
  })
})

describe('whether the chain is stalled, or a node', () => {
  const stalled = { code: 'stalled' as const, message: 'no new block for 2 min', since: at(60) }

  test('a node without new blocks while others advance is stalled, since its own last block', () => {
    const stuck = anEndpoint('c', { title: 'Node C', state: 'degraded', conditions: [stalled], heads: headAt(101, 3) })
    const network = aNetwork('one', [...ENDPOINTS.slice(0, 2), stuck])
    const shards = [aShard([aWitness('a'), aWitness('b'), aWitness('c', { height: 101, advanced_at: at(125) })])]

    const [sentence] = textsOf(draw({ network, shards }), '.pulse')

    expect(sentence).toBe(
      'The chain is advancing, but Node C has had no new block for 2 min 5 s: the node is stalled, not the chain.',
    )
  })

  test('a chain on which no endpoint advances is halted, and no node is blamed', () => {
    const blocks = BLOCKS.map((block) => ({ ...block, timestamp: at(200 + (104 - block.height) * 10) }))
    const page = draw({
      network: aNetwork('one', ENDPOINTS, { halted: true }),
      shards: [aShard([aWitness('a')], { blocks })],
    })

    expect(textsOf(page, '.pulse')[0]).toBe(
      'No endpoint has had a new block for 3 min 20 s: the chain is halted, no endpoint is at fault.',
    )
    expect(textsOf(page, '.alarm')).toEqual(['Chain halted'])
    expect(page.querySelector('path.running.over')).not.toBeNull()
  })

  test('names the shard that is halted', () => {
    const old = BLOCKS.map((block) => ({ ...block, timestamp: at(90 + (104 - block.height) * 10) }))
    const heads = [0, 1].map(
      (shard) => ({ ...headAt(104, 0)[0], shard }) as (typeof ENDPOINTS)[number]['heads'][number],
    )
    const shards = [aShard([aWitness('a')], { shard: 0 }), aShard([aWitness('a')], { shard: 1, blocks: old })]

    const page = draw({ network: aNetwork('one', [anEndpoint('a', { heads })], { halted: true }), shards })

    expect(textsOf(page, '.pulse')[0]).toContain('on shard 1 for 1 min 30 s: the chain is halted there')
  })

  test('a split chain blames no endpoint; one on a minority branch is named', () => {
    const forked = { code: 'forked' as const, message: 'another block', since: at(60) }
    const stray = anEndpoint('c', { title: 'Node C', conditions: [forked], heads: headAt(104, 0) })

    const split = draw({ network: aNetwork('one', ENDPOINTS, { forked: true }) })
    const astray = draw({ network: aNetwork('one', [...ENDPOINTS.slice(0, 2), stray]) })

    expect(textsOf(split, '.pulse')[0]).toMatch(/no branch has a majority/)
    expect(textsOf(astray, '.pulse')[0]).toBe('The chain is advancing, but Node C is on a minority branch.')
  })

  test('without any head the position of the chain is unknown', () => {
    const old = ENDPOINTS.map((of) => ({ ...of, heads: of.heads.map((head) => ({ ...head, lag_blocks: null })) }))

    const page = draw({ network: aNetwork('one', old) })

    expect(textsOf(page, '.pulse')[0]).toBe(
      'No endpoint reports its head at the moment, so the position of the chain is unknown.',
    )
  })

  test('an advancing chain has its pace', () => {
    const page = draw()

    expect(textsOf(page, '.pulse')[0]).toMatch(/^The chain is advancing, one block per 10\ss\.$/)
    expect(page.querySelector('path.running.over')).toBeNull()
  })
})

describe('block hashes by height', () => {
  const disputed = BLOCKS.map((block) =>
    block.height < 103 ? block : { ...block, hashes: [`0x${block.height}abcdef`, `0x${block.height}bad`] },
  )
  const lens = (witnesses: BlockWitnessView[], blocks = disputed, explored: Partial<NetworkView> = {}) =>
    drawn(
      blockHashes({
        network: { ...aNetwork('one'), ...explored },
        shard: aShard(witnesses, { blocks }),
        endpoints: ENDPOINTS,
      }),
    )

  test('link to the block explorer: each height, and each hash of a disagreement, but no text of a node', () => {
    const hashes = ['a', 'b', 'c'].map((letter) => `0x${letter.repeat(64)}`) as [string, string, string]
    const blocks = [
      { ...aBlock(102), hashes: ['0x" onclick="alert(1)'] },
      { ...aBlock(103), hashes: [hashes[0]] },
      { ...aBlock(104), hashes: [hashes[1], hashes[2]] },
    ]
    const told = [
      aWitness('a', { told: [0, 0, 0] }),
      aWitness('b', { told: [0, 0, 0] }),
      aWitness('c', { told: [0, 0, 1] }),
    ]
    const addressesOf = (of: HTMLElement) =>
      [...of.querySelectorAll('a.explorer')].map((link) => link.getAttribute('href'))
    const base = 'https://explorer.example.org'

    const page = lens(told, blocks, { explorer_url: base })

    const rows = [hashes[2], hashes[1], hashes[1]].map((hash) => `${base}/block/${hash}`)
    expect(addressesOf(page)).toEqual([`${base}/block/${hashes[0]}`, `${base}/block/${hashes[1]}`, ...rows])
    expect(addressesOf(lens(told, blocks))).toEqual([])
    expect(addressesOf(lens(told, blocks, { explorer_url: base, family: 'multiversx' }))[0]).toBe(
      `${base}/blocks/${hashes[0]}`,
    )
  })

  test('shows that all endpoints agree, and leaves unreported blocks blank', () => {
    const page = lens([aWitness('a'), aWitness('b', { told: [null, 0, 0, 0, 0] })], BLOCKS)

    expect(textsOf(page, 'p')).toEqual(['All endpoints agree.'])
    expect(textsOf(page, 'tbody tr')[0]).toBe('Node A 100ab 101ab 102ab 103ab 104ab')
    expect(textsOf(page, 'tbody td')[5]).toBe('not reported')
    expect(page.querySelectorAll('.odd')).toHaveLength(0)
  })

  test('an endpoint with a minority block is named, listed first, and marked since the fork', () => {
    const page = lens([aWitness('a'), aWitness('b'), aWitness('c', { told: [0, 0, 0, 1, 1] })])

    expect(textsOf(page, 'p')).toEqual([
      'At 104 the endpoints report 2 different blocks; first at 103; different block than the majority: Node C.',
    ])
    expect(textsOf(page, 'tbody tr')[0]).toBe(
      'Node C 100ab 101ab 102ab different block than the majority 103ba different block than the majority 104ba',
    )
    expect(page.querySelectorAll('.odd')).toHaveLength(2)
    expect(page.querySelectorAll('.most')).toHaveLength(4)
  })

  test('without a majority the branches have letters, and no endpoint is marked as wrong', () => {
    const page = lens([aWitness('a'), aWitness('c', { told: [0, 0, 0, 1, 1] })])

    expect(textsOf(page, 'p')[0]).toContain('no block has a majority')
    expect(textsOf(page, 'tbody tr')).toEqual([
      'Node C 100ab 101ab 102ab branch B 103ba branch B 104ba',
      'Node A 100ab 101ab 102ab branch A 103ab branch A 104ab',
    ])
  })

  test('while reports are missing, the minority stays the same as before', () => {
    const page = lens([
      aWitness('c', { told: [0, 0, 0, 1, 0] }),
      aWitness('a', { told: [0, 0, 0, 0, 1] }),
      aWitness('b', { height: 103, told: [0, 0, 0, 0, null] }),
    ])

    expect(textsOf(page, 'p')[0]).toBe(
      'At 103 the endpoints report 2 different blocks; different block than the majority: Node C.',
    )
    expect(textsOf(page, 'tbody tr')).toEqual([
      'Node C 100ab 101ab 102ab different block than the majority 103ba different block than the majority 104ab',
      'Node A 100ab 101ab 102ab 103ab 104ba',
      'Node B 100ab 101ab 102ab 103ab not reported',
    ])
  })

  test('shows the minority first among very many rows', () => {
    const names = Array.from({ length: 60 }, (_, n) => `n-${n}`)
    const witnesses = names.map((name, n) => aWitness(name, n === 59 ? { told: [0, 0, 0, 1, 1] } : {}))
    const shard = aShard(witnesses, { blocks: disputed })

    const page = drawn(
      blockHashes({ network: aNetwork('one'), shard, endpoints: names.map((name) => anEndpoint(name)) }),
    )

    const rows = textsOf(page, 'tbody tr')
    expect(rows).toHaveLength(16)
    expect(rows[0]).toMatch(/^n-59/)
    expect(textsOf(page, 'p').at(-1)).toBe('44 more agree with the majority')
  })
})

test('a network has embed code for its badge and for a frame of its 90 days, with its title escaped', () => {
  const page = draw({
    network: aNetwork('one', ENDPOINTS, { title: 'A "quick" <net>' }),
    origin: 'https://status.example.org',
  })
  const codeOf = (id: string) => page.querySelector(id)?.textContent

  expect(codeOf('#embed-state-html')).toBe(
    '<a href="https://status.example.org/networks/one"><img src="https://status.example.org/badge/one.svg" alt="State of A &quot;quick&quot; &lt;net>"></a>',
  )
  expect(codeOf('#embed-frame-html')).toBe(
    '<iframe src="https://status.example.org/embed/one" title="State of A &quot;quick&quot; &lt;net>" width="520" height="184"></iframe>',
  )
})

describe('the routing order', () => {
  test('lists eligible endpoints in order, and the others with their reasons', () => {
    const page = draw()

    expect(textsOf(page, '.routing ol li')).toEqual(['Node B 12 ms', 'Node A fallback'])
    expect(textsOf(page, '.routing ul li')).toEqual(['Node C behind the other endpoints'])
    expect(page.querySelector('.routing .aside')?.textContent).toContain('Current order.')
  })

  test('no endpoint that is down now has a place in it, though the order is older', () => {
    const [first, ...others] = ENDPOINTS
    if (first === undefined) throw new Error('no endpoint')
    const page = draw({
      network: aNetwork('one', [first, ...others.map((one) => ({ ...one, state: 'down' as const }))]),
    })

    expect(textsOf(page, '.routing ol li').join()).not.toContain('Node B')
    expect(textsOf(page, '.routing ul li')).toContain('Node B down')
  })

  test('is cut short for very many endpoints', () => {
    const endpoints = Array.from({ length: 40 }, (_, n) => ({
      name: `n-${n}`,
      tier: 'primary' as const,
      left_out: n < 20 ? null : 'lagging',
      latency_seconds: null,
    }))

    const page = draw({ routing: { ...ROUTING, endpoints } })

    expect(textsOf(page, '.routing ol li')).toHaveLength(6)
    expect(textsOf(page, '.routing .sides .aside')).toEqual(['and 14 more', 'and 8 more'])
  })

  test('says so if the gateway is disabled, or no endpoint is healthy', () => {
    const endpoints = ROUTING.endpoints.map((one) => ({ ...one, left_out: 'down' }))

    const page = draw({ routing: { ...ROUTING, enabled: false, endpoints } })

    expect(textsOf(page, '.routing .sides > p')).toEqual([
      'No healthy endpoint: reads are sent to the least unhealthy one, all other requests are rejected.',
    ])
    expect(page.querySelector('.routing .aside')?.textContent).toContain('The gateway is disabled')
  })
})

test('a shard shows only the conditions that concern it', () => {
  const heads = [0, 1].map((shard) => ({ ...headAt(104, 0)[0], shard }) as (typeof ENDPOINTS)[number]['heads'][number])
  const conditions = [
    { code: 'lagging' as const, message: 'shard 1: 10 blocks behind', since: at(60) },
    { code: 'slow' as const, message: '3 s', since: at(60) },
  ]
  const shards = [0, 1].map((shard) => aShard([aWitness('a')], { shard }))

  const page = draw({ network: aNetwork('one', [anEndpoint('a', { heads, conditions })]), shards })

  const [zero, one] = page.querySelectorAll('.race')
  expect(zero?.textContent).not.toContain('10 blocks behind')
  expect(zero?.textContent).toContain('slow')
  expect(one?.textContent?.replaceAll('\u00a0', ' ')).toContain('10 blocks behind')
})

test('shards with a lagging endpoint come first', () => {
  const behind = aWitness('a', { height: 100, later_seconds: [0, null, null, null, null] })
  const shards = [aShard([aWitness('a')], { shard: 0 }), aShard([behind], { shard: 1 })]

  const page = draw({ shards })

  expect(textsOf(page, 'h2').filter((title) => title.startsWith('Block'))).toEqual([
    'Block arrival, shard 1',
    'Block arrival, shard 0',
  ])
})

test('each shard has its own block arrival', () => {
  const shards = [0, 1, 4_294_967_295].map((shard) => aShard([aWitness('a')], { shard }))
  const heads = shards.map(
    ({ shard }) => ({ ...headAt(104, 0)[0], shard }) as NetworkView['endpoints'][number]['heads'][number],
  )

  const page = draw({ network: aNetwork('one', [anEndpoint('a', { heads })]), shards })

  expect(textsOf(page, 'h2').filter((title) => title.startsWith('Block'))).toEqual([
    'Block arrival, shard 0',
    'Block arrival, shard 1',
    'Block arrival, metachain',
  ])
  const ids = [...page.querySelectorAll('[id]')].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('endpoints that were never heard are listed, worst first, and a halted chain has no head to be at', () => {
  const never = anEndpoint('z', { title: 'Node Z', state: 'down' })

  const page = draw({ network: aNetwork('one', [...ENDPOINTS, never], { halted: true }) })

  expect(textsOf(page, '.race tbody th a')[0]).toBe('Node Z')
  expect(textsOf(page, '.subject .facts')[0]).toContain('at the last block')
})

test('open incidents and the last day stand above the block arrival', () => {
  const strip = {
    network: 'one',
    endpoint: 'a',
    states: 'ud',
    mixed: [],
    lag_blocks_max: [],
    latency_p95_seconds: [],
    recent_latency_p95_seconds: null,
  }
  const strips = { generated_at: at(0), from: at(-1800), to: at(0), step_seconds: 900, strips: [strip] }

  const page = draw({ strips, incidents: [anIncident('x', { network: 'one' }), anIncident('y', { network: 'two' })] })

  expect(textsOf(page, '.incidents li a')).toHaveLength(1)
  expect(textsOf(page, '.days li')).toHaveLength(ENDPOINTS.length)
  const order = [...page.querySelectorAll('.incidents, .days, .race')].map((one) => one.className.split(' ')[0])
  expect(order.slice(0, 2)).toEqual(['events', 'card'])
})

test('the availability beside the last day is that of the day, and beside 90 days that of 90', () => {
  const of = (ratio: number) => ({ ratio, coverage: 1, fresh: 1 })
  const availability = { '24h': of(0.9), '7d': of(0.91), '30d': of(0.92), '90d': of(0.93) }
  const strips = { generated_at: at(0), from: at(-1800), to: at(0), step_seconds: 900, strips: [] }

  const page = draw({ network: aNetwork('one', [anEndpoint('a', { availability })]), strips, days: DAYS })

  expect(textsOf(page, '[aria-labelledby=last-day] .n')).toEqual(['90.000 %'])
  expect(textsOf(page, '[aria-labelledby=last-days] .n')).toEqual(['93.000 %'])
})

test('has a bar for each known day of every endpoint, as tall as the share of each state', () => {
  const page = draw({ days: DAYS })

  expect(textsOf(page, '[aria-labelledby=last-days] h2')).toEqual(['Last 4 days'])
  expect(page.querySelectorAll('.bars svg')).toHaveLength(1)
  const bars = page.querySelector('.bars')
  expect(bars?.querySelector('.before')?.getAttribute('d')).toBe('M0 22h2v2h-2z')
  expect(bars?.querySelector('.ground')?.getAttribute('d')).toBe('')
  expect(bars?.querySelector('.up')?.getAttribute('d')).toBe('M3 0h2v24h-2zM6 0h2v24h-2zM9 0h2v24h-2z')
  // A minute of a day is a sliver, half a day is half a bar.
  expect(bars?.querySelector('.down')?.getAttribute('d')).toBe('M3 0h2v3h-2zM6 0h2v12h-2z')
  expect(bars?.getAttribute('role')).toBe('slider')
  expect(bars?.getAttribute('aria-valuetext')).toMatch(/^up 2 d 11 h, down 12 h 1 min$/)
})

test('a young endpoint has as many bars as days, and a day without data is neither up nor bad', () => {
  const [strip] = DAYS.strips
  if (strip === undefined) throw new Error('no strip')
  const of = (endpoint: string, states: string, mixed: typeof strip.mixed = []) => ({
    ...strip,
    endpoint,
    states,
    mixed,
  })
  const young = of('a', '.-du', [[2, 0, 60, 0, 0]])
  const all = { ...DAYS, strips: [young, of('b', '...u'), { ...of('z', 'uuuu'), network: 'two' }] }

  const known = knownDays(all, 'one')

  expect(known.from).toBe('2025-12-30T00:00:00.000Z')
  expect(known.strips.slice(0, 2).map(({ states }) => states)).toEqual(['-du', '..u'])
  expect(known.strips[0]?.mixed).toEqual([[1, 0, 60, 0, 0]])
  expect(knownDays(all)).toBe(all)
  const page = draw({ days: known })
  expect(textsOf(page, '[aria-labelledby=last-days] h2')).toEqual(['Last 3 days'])
  const [bars] = page.querySelectorAll('.bars')
  expect(bars?.className).toBe('strip bars week')
  expect(bars?.querySelector('.ground')?.getAttribute('d')).toBe('M0 0h2v24h-2z')
  expect(bars?.querySelector('.up')?.getAttribute('d')).toBe('M3 0h2v24h-2zM6 0h2v24h-2z')
  const none = knownDays({ ...DAYS, strips: [of('a', '....')] }, 'one')
  expect(textsOf(draw({ days: none }), '[aria-labelledby=last-days] h2')).toEqual(['Today'])
})

test('a day that was in maintenance for most of its good time is not up', () => {
  const [strip] = DAYS.strips
  if (strip === undefined) throw new Error('no strip')
  const days = {
    ...DAYS,
    strips: [{ ...strip, states: '...d', mixed: [[3, 0, 60, 80_000, 0] as (typeof strip.mixed)[0]] }],
  }

  const bars = draw({ days }).querySelector('.bars')

  expect(bars?.querySelector('.up')?.getAttribute('d')).toBe('')
  expect(bars?.querySelector('.maintenance')?.getAttribute('d')).not.toBe('')
})

test('a day of which more is unknown than up has no green bar', () => {
  const [strip] = DAYS.strips
  if (strip === undefined) throw new Error('no strip')
  const upOf = (unknown: number) =>
    draw({ days: { ...DAYS, strips: [{ ...strip, states: '...d', mixed: [[3, 0, 60, 0, unknown]] }] } })
      .querySelector('.bars .up')
      ?.getAttribute('d')

  expect(upOf(43_000)).toBe('M9 0h2v24h-2z')
  expect(upOf(86_340)).toBe('')
})

test('a day tells its states, and the incidents of the endpoint and of its network', () => {
  const [strip] = DAYS.strips
  if (strip === undefined) throw new Error('no strip')

  expect(daySentence(strip, 0, DAYS)).toBe('29 Dec: not monitored yet')
  expect(daySentence(strip, 1, DAYS)).toBe('30 Dec: up 23 h 59 min, down 1 min. 1 incident: down for 1 min')
  expect(daySentence(strip, 2, DAYS)).toBe(
    '31 Dec: up 12 h, down 12 h. 2 incidents: down for 12 h; chain halted for 5 min',
  )
  expect(daySentence(strip, 3, DAYS)).toBe('1 Jan: up')
  const flapping = { ...anOld('f', '2025-12-30T10:00:00Z', '2025-12-30T10:47:00Z'), state_seconds: 60 }
  expect(daySentence(strip, 1, { ...DAYS, incidents: [flapping] })).toBe(
    '30 Dec: up 23 h 59 min, down 1 min. 1 incident: down for 1 min',
  )
})

test('a day that is not over tells how long it was up so far', () => {
  const [strip] = DAYS.strips
  if (strip === undefined) throw new Error('no strip')
  const today = { ...strip, states: '...u', mixed: [[3, 0, 0, 0, 60] as (typeof strip.mixed)[0]] }

  expect(daySentence(today, 3, { ...DAYS, to: '2026-01-01T12:00:00Z', incidents: [] })).toBe(
    '1 Jan: up 11 h 59 min, unknown 1 min',
  )
})

test('the public sees names and states, but no height, hash or latency', () => {
  const page = draw({ isPublic: true, network: aNetwork('one', [anEndpoint('a', { title: 'Node A' })]) })

  expect(textsOf(page, 'li')).toEqual(['Node A Up for 10 min'])
  expect(page.querySelector('table')).toBeNull()
  expect(page.textContent).toContain('Sign in to see heights')
})

test('an unknown network is missing, and private data is absent', async () => {
  const route = { view: 'network', params: { network: 'one' }, query: {} } as const
  const locked: Answer<never> = { ok: false, why: 'locked' }
  const sources = (network: Answer<NetworkView>) =>
    ({
      network: async () => network,
      strips: async () => locked,
      silences: async () => locked,
      days: async () => locked,
      blocks: async () => locked,
      routing: async () => locked,
    }) as unknown as Sources

  const missing = await view.load(sources({ ok: false, why: 'missing' }), route, NOW)
  const known = await view.load(sources({ ok: true, value: aNetwork('one') }), route, NOW)

  expect(missing).toEqual({ ok: false, why: 'missing' })
  expect(known).toMatchObject({ ok: true, value: { blocks: null, routing: null } })
})
