import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { checkOutcome, type PollResult } from '../../src/core/poll-result.ts'
import { createProber, type Prober } from '../../src/nodes/probe.ts'
import type { NodeOptions } from '../../src/simulator/node.ts'
import { until } from '../support/daemon.ts'
import { rpc, targetOf } from './ask.ts'
import { type SimulatedProcess, simulateProcess } from './processes.ts'

/** The faults as a user orders them, from `heartline simulate` in processes of their own, and what the daemon's prober sees of them. */
const BLOCK_MS = 200
const NEVER = new AbortController().signal

type Kind = NodeOptions['kind']
const ETHEREUM: Kind = { family: 'ethereum' }
const OLD: Kind = { family: 'avalanche', generation: 'old' }
const NEW: Kind = { family: 'avalanche', generation: 'new' }
const PROXY: Kind = { family: 'multiversx' }
const OBSERVER: Kind = { family: 'multiversx', kind: 'observer', shard: 2 }

const KINDS: readonly [name: string, kind: Kind, args: readonly string[]][] = [
  ['ethereum', ETHEREUM, []],
  ['avalanche of 2020', OLD, ['--generation', 'old']],
  ['avalanche of today', NEW, ['--generation', 'new']],
  ['multiversx proxy', PROXY, []],
  ['multiversx observer', OBSERVER, ['--kind', 'observer', '--shard', '2']],
]

/** One process of each kind, and what polls it. */
const nodes = new Map<Kind, SimulatedProcess>()
const probers = new Map<string, Prober>()

async function start(kind: Kind, name: string, args: readonly string[]): Promise<SimulatedProcess> {
  const common = ['--family', kind.family, '--port', '0', '--endpoint-name', name, '--block-time', `${BLOCK_MS}ms`]
  return simulateProcess(...common, ...args)
}

beforeAll(async () => {
  await Promise.all(
    KINDS.map(async ([, kind, args]) => {
      nodes.set(kind, await start(kind, 'own-1', args))
    }),
  )
})
afterEach(async () => {
  await Promise.all([...nodes.values()].map((node) => node.heal()))
  for (const prober of probers.values()) prober.close()
  probers.clear()
})
afterAll(async () => {
  const statuses = await Promise.all([...nodes.values()].map((node) => node.stop()))
  expect(statuses.every((status) => status === 0)).toBe(true)
})

function nodeOf(kind: Kind): SimulatedProcess {
  const node = nodes.get(kind)
  if (node === undefined) throw new Error('not started')
  return node
}

/** A busy machine takes hundreds of milliseconds for an answer; only tests of nodes that never answer have a short timeout. */
const PATIENT_MS = 5000
const SHORT_MS = 400

function poll(
  kind: Kind,
  node = nodeOf(kind),
  compare?: (height: number) => number,
  timeoutMs = PATIENT_MS,
): Promise<PollResult> {
  const target = targetOf(kind, node.url, timeoutMs)
  const prober = probers.get(node.url) ?? createProber({ clock: systemClock })
  probers.set(node.url, prober)
  prober.retarget([target])
  return prober.poll(target.endpoint, NEVER, (heads) =>
    compare === undefined
      ? []
      : heads.map(({ shard, outcome }) => ({ shard, height: compare(outcome.ok ? outcome.value.height : 0) })),
  )
}

const headOf = (result: PollResult) => checkOutcome(result, 'head')
const heightsOf = ({ heads }: PollResult) =>
  heads.map(({ outcome }) => (outcome.ok ? outcome.value.height : Number.NaN))
const chainHeights = async (node: SimulatedProcess) => (await node.status()).heads.map((head) => head.chain_height)

/** How far each shard's polled head is behind the chain, which went on meanwhile: from this to that. */
async function behind(kind: Kind): Promise<readonly (readonly [least: number, most: number])[]> {
  const before = await chainHeights(nodeOf(kind))
  const heights = heightsOf(await poll(kind))
  const after = await chainHeights(nodeOf(kind))
  return heights.map((height, at) => [(before[at] ?? 0) - height, (after[at] ?? 0) - height])
}

async function isWell(kind: Kind): Promise<boolean> {
  const result = await poll(kind)
  const lags = await behind(kind)
  return (
    result.heads.every(({ outcome }) => outcome.ok) &&
    (result.liveness === null || (result.liveness.ok && result.liveness.value.healthy)) &&
    lags.every(([least, most]) => least <= 1 && most >= 0)
  )
}

describe.each(KINDS)('a simulated %s', (_name, kind) => {
  test('is well when nothing is wrong with it', async () => {
    expect(await isWell(kind)).toBe(true)
  })

  test('stalls, and goes on', async () => {
    const { heads } = await nodeOf(kind).inject({ kind: 'stall' })
    const stalledAt = heads.map(({ height }) => height)
    await until(async () => ((await chainHeights(nodeOf(kind)))[0] ?? 0) > (stalledAt[0] ?? 0) + 2, 'the chain goes on')

    const stalled = heightsOf(await poll(kind))
    await nodeOf(kind).heal('stall')

    expect(stalled).toEqual(stalledAt)
    expect(await isWell(kind)).toBe(true)
  })

  test.each([
    [{ kind: 'lag', blocks: 12 }, 12],
    [{ kind: 'lie', blocks: 1_000_000_000 }, -1_000_000_000],
    // The node catches up by a block each block time: 100 of them while the test runs.
    [{ kind: 'regress', blocks: 5000 }, 4900],
  ])('reports another height: %j', async (fault, expected) => {
    await nodeOf(kind).inject(fault)

    const lags = await behind(kind)
    await nodeOf(kind).heal()

    for (const [least, most] of lags) {
      expect(least).toBeLessThanOrEqual(expected + (fault.kind === 'regress' ? 100 : 1))
      expect(most).toBeGreaterThanOrEqual(expected)
    }
    expect(await isWell(kind)).toBe(true)
  })

  test('jitters', async () => {
    await nodeOf(kind).inject({ kind: 'jitter', blocks: 40 })

    const seen: number[] = []
    for (let turn = 0; turn < 5; turn++) seen.push(...(await behind(kind)).map(([least]) => least))

    expect(Math.max(...seen)).toBeLessThanOrEqual(41)
    expect(Math.max(...seen) - Math.min(...seen)).toBeGreaterThan(3)
  })

  test.each([
    ['reset', { kind: 'reset' }],
    ['timeout', { kind: 'hang' }],
    ['timeout', { kind: 'drip' }],
    ['not-json', { kind: 'garbage' }],
    ['http', { kind: 'http', status: 503 }],
    ['rate-limited', { kind: 'rate-limit', retry_after: '7s' }],
  ])('fails with %s: %j', async (failure, fault) => {
    await nodeOf(kind).inject(fault)

    const head = headOf(await poll(kind, nodeOf(kind), undefined, failure === 'timeout' ? SHORT_MS : PATIENT_MS))
    await nodeOf(kind).heal()

    expect(head).toMatchObject({ ok: false, failure: { kind: failure } })
    expect(await isWell(kind)).toBe(true)
  })

  test('flaps: well and gone in turns', async () => {
    await nodeOf(kind).inject({ kind: 'flap', up: '400ms', down: '400ms' })
    const isUp = async () => headOf(await poll(kind))?.ok === true

    await until(async () => !(await isUp()), 'it is gone')
    await until(isUp, 'it is back')
    await until(async () => !(await isUp()), 'it is gone again')
  })

  test('has a clock that is off', async () => {
    await nodeOf(kind).inject({ kind: 'clock-skew', by: '-90s' })

    expect(Math.abs(((await poll(kind)).clockSkewMs ?? 0) + 90_000)).toBeLessThan(1500)
  })

  test('closes its port, and opens it again by itself', async () => {
    await nodeOf(kind).inject({ kind: 'refuse', for: '300ms' })

    await until(async () => {
      const head = headOf(await poll(kind))
      return head !== null && !head.ok && ['refused', 'reset'].includes(head.failure.kind)
    }, 'it is gone')
    await until(async () => headOf(await poll(kind))?.ok === true, 'it is back')

    expect(await isWell(kind)).toBe(true)
  })

  test('halts with its chain, and goes on', async () => {
    await nodeOf(kind).inject({ kind: 'halt' })
    const halted = heightsOf(await poll(kind))
    await new Promise((resolve) => systemClock.after(3 * BLOCK_MS, () => resolve(null)))

    const still = heightsOf(await poll(kind))
    await nodeOf(kind).heal('halt')

    expect(still).toEqual(halted)
    await until(async () => (heightsOf(await poll(kind))[0] ?? 0) > (halted[0] ?? 0), 'the chain goes on')
  })
})

describe('a simulated EVM node', () => {
  test.each([ETHEREUM, OLD, NEW])('says that it serves another chain', async (kind) => {
    await nodeOf(kind).inject({ kind: 'wrong-chain', chain_id: 5 })

    expect(headOf(await poll(kind))).toMatchObject({ ok: false, failure: { kind: 'wrong-network', actual: '5' } })
  })
})

describe.each([OLD, NEW])('a simulated avalanche node', (kind) => {
  const livenessOf = async () => (await poll(kind)).liveness

  test('is unhealthy', async () => {
    await nodeOf(kind).inject({ kind: 'unhealthy' })

    expect(await livenessOf()).toMatchObject({ ok: true, value: { healthy: false } })
  })

  test('has a check that fails, healthy all the same', async () => {
    await nodeOf(kind).inject({ kind: 'failing-check', name: 'router', contiguous_failures: 5 })

    const liveness = await livenessOf()
    expect(liveness).toMatchObject({ ok: true, value: { healthy: true } })
    expect(liveness?.ok && liveness.value.checks).toContainEqual(
      expect.objectContaining({ name: 'router', contiguousFailures: 5 }),
    )
  })

  test('hears nothing of the network any more', async () => {
    const heartbeatAt = async () => {
      const liveness = await livenessOf()
      return liveness?.ok ? (liveness.value.heartbeatAt ?? 0) : 0
    }
    await nodeOf(kind).inject({ kind: 'frozen-heartbeat' })

    const first = await heartbeatAt()
    const later = await heartbeatAt()

    expect(Math.abs(systemClock.now() - first)).toBeLessThan(62_000)
    expect(Math.abs(later - first)).toBeLessThan(1500)
  })
})

describe('a fault that does not fit the node is refused, and says why:', () => {
  test.each<[object, Kind, string]>([
    [{ kind: 'unhealthy' }, ETHEREUM, 'avalanche nodes only'],
    [{ kind: 'frozen-heartbeat' }, PROXY, 'avalanche nodes only'],
    [{ kind: 'stall', shard: 1 }, ETHEREUM, 'shards of this node are none'],
    [{ kind: 'stall', shard: 1 }, OBSERVER, 'shards of this node are 2'],
    [{ kind: 'stall', shard: 9 }, PROXY, 'shards of this node are 0, 1, 2, 4294967295'],
    [{ kind: 'halt', at: 5 }, NEW, 'the chain is at '],
  ])('%j', async (fault, kind, why) => {
    await expect(nodeOf(kind).inject(fault)).rejects.toThrow(why)

    expect((await nodeOf(kind).status()).faults).toEqual([])
  })
})

describe.each([
  ['ethereum', ETHEREUM],
  ['avalanche', NEW],
  ['multiversx', PROXY],
] as const)('two of five processes on another branch of one chain (%s)', (_name, kind) => {
  let five: readonly SimulatedProcess[] = []
  beforeAll(async () => {
    five = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => start(kind, name, [])))
  })
  afterAll(async () => void (await Promise.all(five.map((node) => node.stop()))))

  /** The hashes of the first shard at this height, node for node; asked again while a busy machine leaves one untold. */
  async function hashesAt(height: number): Promise<readonly (string | undefined)[]> {
    let hashes: readonly (string | undefined)[] = []
    await until(async () => {
      const results = await Promise.all(five.map((node) => poll(kind, node, () => height)))
      hashes = results.map(({ compared }) => compared[0]?.hash)
      return !hashes.includes(undefined)
    }, `all five tell block ${height}`)
    return hashes
  }

  async function reached(height: number): Promise<void> {
    const [first] = five
    await until(async () => ((await first?.status())?.heads[0]?.chain_height ?? 0) >= height, 'the chain is there')
  }

  test('agree with each other, part from the others at that block, and come back when healed', async () => {
    const [a, b, c] = five as [SimulatedProcess, SimulatedProcess, SimulatedProcess]
    const at = ((await a.status()).heads[0]?.chain_height ?? 0) + 2
    await a.inject({ kind: 'fork', branch: 1, at })
    await reached(at + 1)
    await b.inject({ kind: 'fork', branch: 1, at })
    await reached(at + 3)

    const before = await hashesAt(at - 1)
    const parted = await hashesAt(at)
    const later = await hashesAt(at + 3)
    await c.inject({ kind: 'fork', branch: 2, at })
    const three = await hashesAt(at + 3)
    await Promise.all([a, b, c].map((node) => node.heal()))
    const healed = await hashesAt(at + 3)

    expect(new Set(before).size).toBe(1)
    for (const [one, other, ...rest] of [parted, later]) {
      expect(one).toBe(other)
      expect(new Set(rest).size).toBe(1)
      expect(one).not.toBe(rest[0])
    }
    expect(new Set(three).size).toBe(3)
    expect(new Set(healed)).toEqual(new Set([later[4]]))
  })

  test('halt after the same block although told one after the other, and agree again once healed', async () => {
    const at = ((await five[0]?.status())?.heads[0]?.chain_height ?? 0) + 8
    for (const node of five) await node.inject({ kind: 'halt', at })
    await reached(at)
    await new Promise((resolve) => systemClock.after(3 * BLOCK_MS, () => resolve(null)))

    const halted = await Promise.all(five.map((node) => node.status()))
    for (const node of five) await node.heal('halt')
    await reached(at + 5)
    const hashes = await hashesAt(at + 3)

    expect(halted.map((status) => [status.halted, status.heads[0]?.height])).toEqual(five.map(() => [true, at]))
    expect(new Set(hashes).size).toBe(1)
    expect(hashes[0]).toBeDefined()
  })
})

test('a forked node answers consistently: by number, by hash, each block on its parent, back to the fork and before', async () => {
  const node = nodeOf(ETHEREUM)
  const { heads } = await node.inject({ kind: 'fork', depth: 5 })
  const [head] = heads
  const from = (head?.height ?? 0) - 4
  const block = async (method: string, which: string) => (await rpc(node.url, method, [which, false])).result
  await until(async () => ((await node.status()).heads[0]?.height ?? 0) > from + 6, 'it goes on with its branch')

  const blocks = await Promise.all(
    Array.from({ length: 10 }, (_, index) => block('eth_getBlockByNumber', `0x${(from - 3 + index).toString(16)}`)),
  )

  for (const [index, each] of blocks.entries()) {
    expect(await block('eth_getBlockByHash', each.hash)).toEqual(each)
    if (index > 0) expect(each.parentHash).toBe(blocks[index - 1].hash)
  }
  await node.heal('fork')
  const common = await Promise.all(blocks.map(({ number }) => block('eth_getBlockByNumber', number)))
  expect(common.map(({ hash }, index) => hash === blocks[index].hash)).toEqual(blocks.map((_, index) => index < 3))
})
