import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { systemClock } from '../../src/clock.ts'
import { createChain } from '../../src/simulator/chain.ts'
import { BAD_HEIGHTS, type Fault } from '../../src/simulator/fault.ts'
import { type SimulatedNode, startSimulatedNode } from '../../src/simulator/node.ts'
import { type RunningDaemon, removeFolder, startDaemon, until } from '../support/daemon.ts'
import { freePort } from '../support/free-port.ts'

const GIB = 2 ** 30

/** What a node does, and what it must be called for it. */
const ATTACKS: readonly (readonly [name: string, fault: Fault, state: string, code: string])[] = [
  ['hang', { kind: 'hang' }, 'down', 'unreachable'],
  ['reset', { kind: 'reset' }, 'down', 'unreachable'],
  ['refuse', { kind: 'refuse' }, 'down', 'unreachable'],
  ['drip', { kind: 'drip', bytes: 1, everyMs: 100 }, 'down', 'unreachable'],
  ['endless', { kind: 'endless', everyMs: 50 }, 'down', 'unreachable'],
  ['truncated', { kind: 'truncated' }, 'down', 'bad-answer'],
  ['not-http', { kind: 'not-http' }, 'down', 'bad-answer'],
  ['garbage', { kind: 'garbage' }, 'down', 'bad-answer'],
  ['html', { kind: 'html' }, 'down', 'bad-answer'],
  ['empty', { kind: 'empty' }, 'down', 'bad-answer'],
  ['huge', { kind: 'huge', bytes: GIB }, 'down', 'bad-answer'],
  ['gzip-bomb', { kind: 'gzip-bomb', bytes: GIB }, 'down', 'bad-answer'],
  ['deep', { kind: 'deep', levels: 100_000 }, 'down', 'bad-answer'],
  ['wrong-id', { kind: 'wrong-id' }, 'down', 'bad-answer'],
  ['redirect', { kind: 'redirect' }, 'down', 'bad-answer'],
  ['error-200', { kind: 'error-200' }, 'down', 'bad-answer'],
  ['http-503', { kind: 'http', status: 503 }, 'down', 'bad-answer'],
  ['rate-limit', { kind: 'rate-limit', retryAfterMs: 1000 }, 'degraded', 'rate-limited'],
  ['wrong-chain', { kind: 'wrong-chain', chainId: 5 }, 'down', 'wrong-network'],
  ...BAD_HEIGHTS.map((value) => [`height-${value}`, { kind: 'bad-height', value }, 'down', 'bad-answer'] as const),
]
/** What must not be held against a node. */
const HARMLESS: readonly (readonly [name: string, fault: Fault])[] = [['proto', { kind: 'proto' }]]

const honest = ['honest-1', 'honest-2', 'honest-3', 'honest-4']
let nodes = new Map<string, SimulatedNode>()
let daemon: RunningDaemon

beforeAll(async () => {
  // All have one chain, and the honest alone are not the majority of the endpoints: what liars say is what counts.
  const chain = createChain({ clock: systemClock, seed: 'hostile', blockTimeMs: 2000 })
  const kind = { family: 'ethereum', chainId: 1 } as const
  const all = [...honest, ...ATTACKS.map(([name]) => name), ...HARMLESS.map(([name]) => name)]
  nodes = new Map(
    await Promise.all(
      all.map(async (name) => {
        const port = await freePort()
        return [name, await startSimulatedNode({ clock: systemClock, chain, kind, name, port })] as const
      }),
    ),
  )
  // It was another chain's all along; one that becomes so is in anvil.test.ts.
  nodes.get('wrong-chain')!.inject({ kind: 'wrong-chain', chainId: 5 })
  daemon = await startDaemon({
    // Room for a busy machine: only nodes that never answer run into it.
    poll: { interval: '2s', timeout: '2s' },
    networks: [
      {
        name: 'chain',
        family: 'ethereum',
        chain_id: 1,
        block_time: '2s',
        thresholds: { lag_blocks: 5 },
        endpoints: all.map((name) => ({ name, url: nodes.get(name)!.url })),
      },
    ],
  })
  for (const [name, fault] of [...ATTACKS, ...HARMLESS]) nodes.get(name)!.inject(fault)
}, 120_000)

afterAll(async () => {
  await daemon?.stop()
  if (daemon) removeFolder(daemon.folder)
  await Promise.all([...nodes.values()].map((node) => node.stop()))
})

describe('an answer that is', () => {
  test.each(ATTACKS)('%s is one clear condition on that endpoint', async (name, _fault, state, code) => {
    await until(async () => {
      const view = await daemon.endpoint('chain', name)
      return view.state === state && view.conditions.some((condition) => condition.code === code)
    }, `${name} is ${state}: ${code}`)
  })

  test.each(HARMLESS)('%s is harmless', async (name) => {
    expect(await daemon.endpoint('chain', name)).toMatchObject({ state: 'up' })
  })
})

describe('all of that at once', () => {
  test('disturbs no honest node', async () => {
    for (const name of honest)
      expect(await daemon.endpoint('chain', name)).toMatchObject({ state: 'up', conditions: [] })
  })

  test('costs little memory, no skipped poll of an honest node, and no lost row', async () => {
    const { text } = await daemon.get('/metrics')
    const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])

    expect(metric('process_resident_memory_bytes')).toBeLessThan(400 * 2 ** 20)
    expect(metric('heartline_store_rows_dropped_total')).toBe(0)
    expect(metric('heartline_store_degraded')).toBe(0)
  })

  test('is over when it is over', async () => {
    for (const [name] of ATTACKS) nodes.get(name)!.heal()

    for (const [name] of ATTACKS) {
      await until(async () => (await daemon.endpoint('chain', name)).state === 'up', `${name} is up again`)
    }
  })
})
