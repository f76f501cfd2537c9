import { describe, expect, onTestFinished, test } from 'vitest'
import { createChainRollbacks } from '../../src/gateway/chain-rollbacks.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { bad, endpoint, good, head, network } from '../support/network.ts'
import { createWorld } from '../support/world.ts'

function scene(names: readonly string[]) {
  const clock = createFakeClock()
  const endpoints = names.map((name) => endpoint(name))
  const world = createWorld(clock, [{ network: network(), endpoints }])
  const rollbacks = createChainRollbacks(world.board)
  onTestFinished(() => rollbacks.stop())
  async function poll(height: number | null, ...only: readonly string[]): Promise<void> {
    await clock.advance(1000)
    for (const one of endpoints) {
      if (only.length > 0 && !only.includes(one.name)) continue
      const outcome = height === null ? bad({ kind: 'refused' }) : good(head(height, clock.now()))
      await world.poll(one, { heads: [{ shard: null, outcome }] })
    }
  }
  const isGone = (height: number, since: number) => rollbacks.hasGoneBelow('ethereum', null, height, since)
  return { poll, isGone, now: rollbacks.now }
}

describe('a chain has gone below a height', () => {
  test('when its reference head stayed below for two rounds of polls, and not before', async () => {
    const { poll, isGone, now } = scene(['a'])
    await poll(1002)
    const since = now()
    const seen: boolean[] = []
    for (let round = 0; round < 3; round++) {
      await poll(990)
      seen.push(isGone(1002, since))
    }

    expect(seen).toEqual([false, true, true])
    expect(isGone(990, since)).toBe(false)
  })

  test('not when a height between two polls was only ahead of them', async () => {
    const { poll, isGone, now } = scene(['a'])
    await poll(1000)
    const since = now()
    await poll(1001)
    await poll(1004)
    await poll(1005)

    expect(isGone(1003, since)).toBe(false)
  })

  test('not when the reference head has been there in the meantime', async () => {
    const { poll, isGone, now } = scene(['a'])
    const since = now()
    for (const height of [990, 1002, 990]) await poll(height)

    expect(isGone(1002, since)).toBe(false)
  })

  test('not while one endpoint was polled only once', async () => {
    const { poll, isGone, now } = scene(['a', 'b'])
    await poll(1002)
    const since = now()
    await poll(990)
    for (let round = 0; round < 5; round++) await poll(990, 'a')

    expect(isGone(1002, since)).toBe(false)
  })

  test('not when no endpoint answers its polls', async () => {
    const { poll, isGone, now } = scene(['a', 'b'])
    await poll(1000)
    const since = now()
    for (let round = 0; round < 5; round++) await poll(null)

    expect(isGone(1002, since)).toBe(false)
  })
})
