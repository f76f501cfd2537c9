import { Window } from 'happy-dom'
import { describe, expect, test } from 'vitest'
import { templateText } from '../../src/http/template-text.ts'
import type { BlocksView, BlockView, BlockWitnessView } from '../../src/http/wire-blocks.ts'
import type { RoutingView } from '../../src/http/wire-gateway.ts'
import type { NetworkView } from '../../src/http/wire-status.ts'
import { forkLens } from '../../web/views/fork-lens.ts'
import type { TemplateResult } from '../../web/views/lit.ts'
import { view } from '../../web/views/network.ts'
import { intervalsOf, racersOf, sinceLastBlock } from '../../web/views/race-figures.ts'
import { type Answer, DEFAULT_SETTINGS, type Model, type Sources } from '../../web/views/view.ts'
import { aNetwork, anEndpoint, aStatus } from './things.ts'
import { told } from './told.ts'

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
  readonly isPublic?: boolean
}

function draw({ network = aNetwork('one', ENDPOINTS), shards, routing = ROUTING, isPublic }: Shown = {}): HTMLElement {
  const blocks: BlocksView = {
    network: 'one',
    generated_at: at(0),
    thresholds: { lag_blocks: LAG_BLOCKS, stall_seconds: 60 },
    shards: shards ?? [aShard(ENDPOINTS.map(({ name }) => aWitness(name)))],
  }
  const model: Model = {
    route: { view: 'network', params: { network: 'one' }, query: {} },
    status: aStatus([network]),
    incidents: [],
    contact: { kind: 'live', by: 'events' },
    nowMs: NOW,
    access: isPublic === true ? 'public' : 'open',
    settings: { ...DEFAULT_SETTINGS, zone: 'utc' },
    data: isPublic === true ? { network, blocks: null, routing: null } : { network, blocks, routing },
  }
  return drawn(view.draw(model))
}

function drawn(template: TemplateResult): HTMLElement {
  const { document } = new Window()
  document.body.innerHTML = templateText(template)
  return document.body as unknown as HTMLElement
}

describe('the race', () => {
  test('tells how often each was seen first, how often that is certain, and how much later it usually is', () => {
    const shard = aShard([
      aWitness('a', { later_seconds: [null, 0, 0, 0, 1] }),
      // 3 s later, and 2 s sooner at most: surely after the other. At the last block it was seen first, and the other asked since.
      aWitness('b', { later_seconds: [null, 3, 3, 1, 0] }),
    ])

    const [a, b] = racersOf(shard, LAG_BLOCKS)

    expect([a?.firsts, a?.sure, a?.laterSeconds]).toEqual([3, 2, 0])
    expect([b?.firsts, b?.sure, b?.laterSeconds, b?.withinSeconds]).toEqual([1, 0, 1, 2])
    expect(b?.places).toEqual(['there', 'late', 'late', 'with', 'first'])
  })

  test('one that is not there yet is behind only from the blocks on that make it lagging', () => {
    const [near, far, away] = racersOf(
      aShard([
        aWitness('near', { height: 103, later_seconds: [0, 0, 0, 0, null] }),
        aWitness('far', { height: 100, later_seconds: [0, null, null, null, null] }),
        aWitness('away', { height: 104, later_seconds: [null, null, 0, 0, 0], told: [null, null, 0, 0, 0] }),
      ]),
      LAG_BLOCKS,
    )

    expect(near?.places.at(-1)).toBe('awaited')
    expect(far?.places.slice(1)).toEqual(['missing', 'missing', 'missing', 'missing'])
    expect(away?.places.slice(0, 2)).toEqual(['unknown', 'unknown'])
  })

  test('tells the time to each block as blocks say it, and shares out what lies between two that are known', () => {
    const unknown = { timestamp: null }
    const blocks = [aBlock(100), aBlock(101, unknown), aBlock(102), aBlock(103, unknown), aBlock(104, unknown)]

    expect(intervalsOf({ blocks })).toEqual([null, 10, 10, 10, 10])
    expect(intervalsOf({ blocks: blocks.slice(0, 2) })).toEqual([null, 10])
    expect(sinceLastBlock(aShard([aWitness('a')]), NOW)).toBe(5)
    expect(sinceLastBlock(aShard([], { blocks: [] }), NOW)).toBeNull()
  })

  test('has a row for each endpoint with height, lag, firsts and delay, and how sharp that is', () => {
    const page = draw({
      shards: [
        aShard([
          aWitness('a'),
          aWitness('b', { later_seconds: [1.5, 1.5, 1.5, 1.5, 1.5] }),
          aWitness('c', { height: 100, later_seconds: [4, null, null, null, null] }),
        ]),
      ],
    })

    const rows = told(page, '.race tbody tr')
    expect(rows[0]).toMatch(/^The chain 104 5 s old a block every 10\ss expected: 10\ss/)
    expect(rows[1]).toBe('Node A 104 at head 5 of 5 +0 s ± 2 s')
    expect(rows[2]).toBe('Node B 104 at head 0 of 5 +1.5 s ± 2 s')
    expect(rows[3]).toMatch(/^Node C 101 3 30 s/)
    expect(page.textContent).toContain('it was there up to 2\u00a0s sooner, the time between two polls')
    expect(page.querySelectorAll('.race tr')[4]?.querySelector('path.missing')).not.toBeNull()
  })

  test('is one stop of the tab key, and tells in its table what it shows', () => {
    const page = draw({
      shards: [aShard([aWitness('a'), aWitness('b', { height: 103, later_seconds: [0, 1, 1, 2.5, null] })])],
    })

    const sliders = page.querySelectorAll('[role="slider"]')
    expect(sliders).toHaveLength(1)
    expect(sliders[0]?.getAttribute('aria-valuetext')).toBe('5 blocks, one every 10\u00a0s, at most 10\u00a0s apart')
    const table = `#${sliders[0]?.getAttribute('data-course')}`
    expect(told(page, `${table} thead th`)).toEqual(['Block', 'After the one before', 'Node A', 'Node B'])
    expect(told(page, `${table} tbody tr`).slice(3)).toEqual([
      '103 10\u00a0s first +2.5\u00a0s'.replaceAll('\u00a0', ' '),
      '104 10 s first not there yet',
      'The next one 5 s not there yet not there yet',
    ])
    expect(sliders[0]?.getAttribute('aria-valuemax')).toBe('6')
  })

  test('tells of the chain what the latest event has, where that is newer than the blocks', () => {
    const heads = [{ shard: null, height: 106, hash: '0x106', timestamp: at(1) }]

    const page = draw({ network: aNetwork('one', ENDPOINTS, { heads }) })

    expect(told(page, '.chain .height')).toEqual(['106'])
    expect(told(page, '.chain .lag')).toEqual(['1 s old'])
  })

  test('of hundreds of endpoints it has the worst, and says how many more there are', () => {
    const names = Array.from({ length: 90 }, (_, n) => `n-${n}`)
    const endpoints = names.map((name, n) => anEndpoint(name, n === 88 ? { state: 'down' } : { heads: headAt(104, 0) }))

    const page = draw({ network: aNetwork('one', endpoints), shards: [aShard(names.map((name) => aWitness(name)))] })

    const rows = told(page, '.race tbody tr')
    expect(rows).toHaveLength(61)
    expect(rows[1]).toMatch(/^n-88 Down/)
    expect(page.textContent).toContain('30 more are not listed: these are the worst.')
  })

  test('of many endpoints the table tells the first, the middle and the last', () => {
    const many = Array.from({ length: 9 }, (_, n) => aWitness(`n-${n}`, { later_seconds: [n, n, n, n, n] }))

    const page = draw({ shards: [aShard(many)] })

    expect(told(page, '#blocks-all tbody tr')[0]).toBe('100 – n-0 +4 s n-8 +8 s')
  })
})

describe('whether a chain stands, or a node', () => {
  const stalled = { code: 'stalled' as const, message: 'no new block for 2 min', since: at(60) }

  test('a node that stands while the others go on is stuck, since its own last block', () => {
    const stuck = anEndpoint('c', { title: 'Node C', state: 'degraded', conditions: [stalled], heads: headAt(101, 3) })
    const network = aNetwork('one', [...ENDPOINTS.slice(0, 2), stuck])
    const shards = [aShard([aWitness('a'), aWitness('b'), aWitness('c', { height: 101, advanced_at: at(125) })])]

    const [sentence] = told(draw({ network, shards }), '.pulse')

    expect(sentence).toBe(
      'The chain goes on, and Node C has stood at one block for 2 min 5 s: the node is stuck, not the chain.',
    )
  })

  test('a chain on which nobody goes on is halted, and no node is blamed', () => {
    const blocks = BLOCKS.map((block) => ({ ...block, timestamp: at(200 + (104 - block.height) * 10) }))
    const page = draw({
      network: aNetwork('one', ENDPOINTS, { halted: true }),
      shards: [aShard([aWitness('a')], { blocks })],
    })

    expect(told(page, '.pulse')[0]).toBe(
      'Nobody has had a new block for 3 min 20 s: the chain is halted, no endpoint is to blame.',
    )
    expect(told(page, '.alarm')).toEqual(['Chain halted'])
    expect(page.querySelector('path.running.over')).not.toBeNull()
  })

  test('of a halted shard the shard is told', () => {
    const old = BLOCKS.map((block) => ({ ...block, timestamp: at(90 + (104 - block.height) * 10) }))
    const heads = [0, 1].map(
      (shard) => ({ ...headAt(104, 0)[0], shard }) as (typeof ENDPOINTS)[number]['heads'][number],
    )
    const shards = [aShard([aWitness('a')], { shard: 0 }), aShard([aWitness('a')], { shard: 1, blocks: old })]

    const page = draw({ network: aNetwork('one', [anEndpoint('a', { heads })], { halted: true }), shards })

    expect(told(page, '.pulse')[0]).toContain('on shard 1 for 1 min 30 s: the chain is halted there')
  })

  test('a split chain blames nobody, and one on another branch is named', () => {
    const forked = { code: 'forked' as const, message: 'another block', since: at(60) }
    const stray = anEndpoint('c', { title: 'Node C', conditions: [forked], heads: headAt(104, 0) })

    const split = draw({ network: aNetwork('one', ENDPOINTS, { forked: true }) })
    const astray = draw({ network: aNetwork('one', [...ENDPOINTS.slice(0, 2), stray]) })

    expect(told(split, '.pulse')[0]).toMatch(/no branch has a majority/)
    expect(told(astray, '.pulse')[0]).toBe('The chain goes on, and Node C follows another branch than the majority.')
  })

  test('where nobody tells its head, nothing is said of the chain', () => {
    const old = ENDPOINTS.map((of) => ({ ...of, heads: of.heads.map((head) => ({ ...head, lag_blocks: null })) }))

    const page = draw({ network: aNetwork('one', old) })

    expect(told(page, '.pulse')[0]).toBe('Nobody tells its head now, so where the chain is cannot be known.')
  })

  test('a chain that goes on says how fast', () => {
    const page = draw()

    expect(told(page, '.pulse')[0]).toMatch(/^The chain goes on, a block every 10\ss\.$/)
    expect(page.querySelector('path.running.over')).toBeNull()
  })
})

describe('the fork lens', () => {
  const disputed = BLOCKS.map((block) =>
    block.height < 103 ? block : { ...block, hashes: [`0x${block.height}abcdef`, `0x${block.height}bad`] },
  )
  const lens = (witnesses: BlockWitnessView[], blocks = disputed) =>
    drawn(forkLens({ network: 'one', shard: aShard(witnesses, { blocks }), endpoints: ENDPOINTS }))

  test('shows calmly that all are of one mind, and leaves blank what was not told', () => {
    const page = lens([aWitness('a'), aWitness('b', { told: [null, 0, 0, 0, 0] })], BLOCKS)

    expect(told(page, 'p')).toEqual(['All that was told is of one mind.'])
    expect(told(page, 'tbody tr')[0]).toBe('Node A 100ab 101ab 102ab 103ab 104ab')
    expect(told(page, 'tbody td')[5]).toBe('not told')
    expect(page.querySelectorAll('.odd')).toHaveLength(0)
  })

  test('who has another block than most is named, first in the rows, and marked from where it parted', () => {
    const page = lens([aWitness('a'), aWitness('b'), aWitness('c', { told: [0, 0, 0, 1, 1] })])

    expect(told(page, 'p')).toEqual([
      'At 104 the endpoints tell 2 different blocks; the first time at 103; another block than most: Node C.',
    ])
    expect(told(page, 'tbody tr')[0]).toBe(
      'Node C 100ab 101ab 102ab another block than most 103ba another block than most 104ba',
    )
    expect(page.querySelectorAll('.odd')).toHaveLength(2)
    expect(page.querySelectorAll('.most')).toHaveLength(4)
  })

  test('without a majority nobody is called odd: the branches have letters', () => {
    const page = lens([aWitness('a'), aWitness('c', { told: [0, 0, 0, 1, 1] })])

    expect(told(page, 'p')[0]).toContain('no block has a majority')
    expect(told(page, 'tbody tr')).toEqual([
      'Node C 100ab 101ab 102ab branch B 103ba branch B 104ba',
      'Node A 100ab 101ab 102ab branch A 103ab branch A 104ab',
    ])
  })

  test('while the others have yet to tell theirs, whoever was odd before is so still, and nobody is outvoted', () => {
    const page = lens([
      aWitness('c', { told: [0, 0, 0, 1, 0] }),
      aWitness('a', { told: [0, 0, 0, 0, 1] }),
      aWitness('b', { height: 103, told: [0, 0, 0, 0, null] }),
    ])

    expect(told(page, 'p')[0]).toBe('At 103 the endpoints tell 2 different blocks; another block than most: Node C.')
    expect(told(page, 'tbody tr')).toEqual([
      'Node C 100ab 101ab 102ab another block than most 103ba another block than most 104ab',
      'Node A 100ab 101ab 102ab 103ab 104ba',
      'Node B 100ab 101ab 102ab 103ab not told',
    ])
  })

  test('of very many rows it shows those that matter', () => {
    const names = Array.from({ length: 60 }, (_, n) => `n-${n}`)
    const witnesses = names.map((name, n) => aWitness(name, n === 59 ? { told: [0, 0, 0, 1, 1] } : {}))
    const shard = aShard(witnesses, { blocks: disputed })

    const page = drawn(forkLens({ network: 'one', shard, endpoints: names.map((name) => anEndpoint(name)) }))

    const rows = told(page, 'tbody tr')
    expect(rows).toHaveLength(16)
    expect(rows[0]).toMatch(/^n-59/)
    expect(told(page, 'p').at(-1)).toBe('44 more, of one mind with the majority')
  })
})

describe('whom the gateway would ask', () => {
  test('is told in order, with the reasons of those left out', () => {
    const page = draw()

    expect(told(page, '.routing ol li')).toEqual(['Node B asked first , 12 ms', 'Node A fallback then'])
    expect(told(page, '.routing ul li')).toEqual(['Node C it is behind the others'])
    expect(page.querySelector('.routing .aside')?.textContent).toContain('What the gateway does now.')
  })

  test('of very many tells the first', () => {
    const endpoints = Array.from({ length: 40 }, (_, n) => ({
      name: `n-${n}`,
      tier: 'primary' as const,
      left_out: n < 20 ? null : 'lagging',
      latency_seconds: null,
    }))

    const page = draw({ routing: { ...ROUTING, endpoints } })

    expect(told(page, '.routing ol li')).toHaveLength(6)
    expect(told(page, '.routing .sides .aside')).toEqual(['and 14 more', 'and 8 more'])
  })

  test('without a gateway says that there is none, and with nobody well what happens', () => {
    const endpoints = ROUTING.endpoints.map((one) => ({ ...one, left_out: 'down' }))

    const page = draw({ routing: { ...ROUTING, enabled: false, endpoints } })

    expect(told(page, '.routing .sides > p')).toEqual([
      'Nobody is well: reads go to the least bad, writes are refused.',
    ])
    expect(page.querySelector('.routing .aside')?.textContent).toContain('There is no gateway')
  })
})

test('on a shard only what concerns it is told of an endpoint', () => {
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

test('shards on which somebody is behind come first', () => {
  const behind = aWitness('a', { height: 100, later_seconds: [0, null, null, null, null] })
  const shards = [aShard([aWitness('a')], { shard: 0 }), aShard([behind], { shard: 1 })]

  const page = draw({ shards })

  expect(told(page, 'h2').slice(1)).toEqual(['Height race, shard 1', 'Height race, shard 0'])
})

test('shards have a race each', () => {
  const shards = [0, 1, 4_294_967_295].map((shard) => aShard([aWitness('a')], { shard }))
  const heads = shards.map(
    ({ shard }) => ({ ...headAt(104, 0)[0], shard }) as NetworkView['endpoints'][number]['heads'][number],
  )

  const page = draw({ network: aNetwork('one', [anEndpoint('a', { heads })]), shards })

  expect(told(page, 'h2').slice(1)).toEqual(['Height race, shard 0', 'Height race, shard 1', 'Height race, metachain'])
  const ids = [...page.querySelectorAll('[id]')].map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
})

test('the public sees names and states, and no height, hash or latency', () => {
  const page = draw({ isPublic: true, network: aNetwork('one', [anEndpoint('a', { title: 'Node A' })]) })

  expect(told(page, 'li')).toEqual(['Node A Up for 10 min'])
  expect(page.querySelector('table')).toBeNull()
  expect(page.textContent).toContain('shown to who signs in')
})

test('an unknown network is missing, and what may not be seen is left out', async () => {
  const route = { view: 'network', params: { network: 'one' }, query: {} } as const
  const locked: Answer<never> = { ok: false, why: 'locked' }
  const sources = (network: Answer<NetworkView>) =>
    ({ network: async () => network, blocks: async () => locked, routing: async () => locked }) as unknown as Sources

  const missing = await view.load(sources({ ok: false, why: 'missing' }), route, NOW)
  const known = await view.load(sources({ ok: true, value: aNetwork('one') }), route, NOW)

  expect(missing).toEqual({ ok: false, why: 'missing' })
  expect(known).toMatchObject({ ok: true, value: { blocks: null, routing: null } })
})
