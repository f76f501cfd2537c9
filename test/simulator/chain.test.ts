import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createChain, type SimulatedChain } from '../../src/simulator/chain.ts'
import { createFakeClock } from '../support/fake-clock.ts'

const settings = { seed: 'test', blockTimeMs: 2000 }

function createClockedChain() {
  const clock = createFakeClock()
  return { clock, chain: createChain({ clock, ...settings }) }
}

describe('a simulated chain', () => {
  test('mints a block each block time', async () => {
    const clock = createFakeClock()
    const chain = createChain({ clock, ...settings })
    const before = chain.height(null)

    await clock.advance(20_000)

    expect(chain.height(null)).toBe(before + 10)
  })

  test('is the same in every process: hashes follow from seed, shard and height', () => {
    const one = createChain({ clock: createFakeClock(), ...settings })
    const other = createChain({ clock: createFakeClock({ monotonic: 99_000 }), ...settings })
    const foreign = createChain({ clock: createFakeClock(), ...settings, seed: 'another' })

    expect(other.height(null)).toBe(one.height(null))
    expect(other.block(null, 1000)).toEqual(one.block(null, 1000))
    expect(foreign.block(null, 1000).hash).not.toBe(one.block(null, 1000).hash)
  })

  test('does not notice a stepped wall clock', () => {
    const clock = createFakeClock()
    const chain = createChain({ clock, ...settings })
    const before = chain.height(null)

    clock.stepWall(3_600_000)

    expect(chain.height(null)).toBe(before)
  })

  test('goes on from where it halted, and dates what was minted before as before', async () => {
    const clock = createFakeClock()
    const chain = createChain({ clock, ...settings })
    const newest = chain.height(null)
    const { timestamp } = chain.block(null, newest)

    chain.halt()
    await clock.advance(60_000)
    const halted = chain.height(null)
    chain.resume()
    await clock.advance(2000)

    expect(halted).toBe(newest)
    expect(chain.height(null)).toBe(newest + 1)
    expect(chain.block(null, newest).timestamp).toBe(timestamp)
    expect(chain.block(null, newest + 1).timestamp).toBe(chain.now())
  })

  test('halts after the given block, and later catches up with a chain that never halted', async () => {
    const chains = [createClockedChain(), createClockedChain(), createClockedChain()]
    const [early, late, untouched] = chains.map(({ chain }) => chain) as [
      SimulatedChain,
      SimulatedChain,
      SimulatedChain,
    ]
    const at = early.height(null) + 10
    const wait = async (ms: number) => {
      for (const { clock } of chains) await clock.advance(ms)
    }

    early.halt(at)
    await wait(10_000)
    late.halt(at)
    const before = [early.halted, late.halted, early.height(null), late.height(null)]
    await wait(30_000)
    const during = [early.halted, late.halted, early.height(null), late.height(null)]
    early.resume()
    late.resume()

    expect(before).toEqual([false, false, at - 5, at - 5])
    expect(during).toEqual([true, true, at, at])
    expect(early.height(null)).toBe(untouched.height(null))
    expect(late.block(null, at + 3)).toEqual(untouched.block(null, at + 3))
  })

  test('never goes back for a halt at a height that has passed', () => {
    const { chain } = createClockedChain()
    const before = chain.height(null)

    chain.halt(before - 20)

    expect(chain.height(null)).toBe(before)
    expect(chain.halted).toBe(true)
  })

  test('mines at once, on every shard, also while halted', () => {
    const chain = createChain({ clock: createFakeClock(), ...settings, shards: [0, 1] })
    const before = [chain.height(0), chain.height(1)]

    chain.halt()
    chain.mine(5)

    expect([chain.height(0), chain.height(1)]).toEqual(before.map((height) => height + 5))
    expect(chain.block(0, chain.height(0)).timestamp).toBe(chain.now())
  })

  test('has other hashes on a branch, from its first block on', () => {
    const chain = createChain({ clock: createFakeClock(), ...settings })
    const branch = { id: 'fork', from: 100 }

    expect(chain.block(null, 99, branch)).toEqual(chain.block(null, 99))
    expect(chain.block(null, 100, branch).hash).not.toBe(chain.block(null, 100).hash)
    expect(chain.block(null, 100, branch).parentHash).toBe(chain.block(null, 99).hash)
    expect(chain.block(null, 101, branch).parentHash).toBe(chain.block(null, 100, branch).hash)
  })

  test('whatever happens to it, heights never fall, blocks stand on their parents, and dates never go back', async () => {
    const event = fc.oneof(
      fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 30_000 }) }),
      fc.record({ kind: fc.constant('mine' as const), blocks: fc.integer({ min: 1, max: 20 }) }),
      fc.constant({ kind: 'halt' as const }),
      fc.record({ kind: fc.constant('halt at' as const), more: fc.integer({ min: -5, max: 10 }) }),
      fc.constant({ kind: 'resume' as const }),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (events) => {
        const clock = createFakeClock()
        const chain = createChain({ clock, ...settings })
        const first = chain.height(null)
        let last = first
        for (const happens of events) {
          if (happens.kind === 'wait') await clock.advance(happens.ms)
          else if (happens.kind === 'mine') chain.mine(happens.blocks)
          else if (happens.kind === 'halt at') chain.halt(chain.height(null) + happens.more)
          else chain[happens.kind]()
          expect(chain.height(null)).toBeGreaterThanOrEqual(last)
          last = chain.height(null)
        }
        for (let height = first + 1; height <= last; height++) {
          const [parent, block] = [chain.block(null, height - 1), chain.block(null, height)]
          expect(block.parentHash).toBe(parent.hash)
          expect(block.timestamp).toBeGreaterThanOrEqual(parent.timestamp)
          expect(block.timestamp).toBeLessThanOrEqual(chain.now())
        }
      }),
      { numRuns: 50 },
    )
  })
})
