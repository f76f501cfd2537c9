import { describe, expect, test } from 'vitest'
import { DEMO_FAULTS, startDemoNodes } from '../../src/simulator/demo.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { latestHeight, stopAfterTest } from './ask.ts'

describe('the demo nodes', () => {
  test('are nine, three a family, and the configuration leads to each', async () => {
    const demo = stopAfterTest(await startDemoNodes({ clock: createFakeClock() }))
    const { networks } = demo.config as unknown as { networks: { family: string; endpoints: { url: string }[] }[] }

    expect(demo.nodes).toHaveLength(9)
    expect(networks.map(({ family, endpoints }) => [family, endpoints.length])).toEqual([
      ['ethereum', 3],
      ['avalanche', 3],
      ['multiversx', 3],
    ])
    expect(networks.flatMap(({ endpoints }) => endpoints.map(({ url }) => url))).toEqual(
      demo.nodes.map(({ url }) => url),
    )
    expect(new Set(Object.keys(DEMO_FAULTS))).toEqual(new Set(demo.nodes.map(({ name }) => name)))
  })

  test('fall ill within the first ten seconds, each within a cycle, and are mostly well', async () => {
    const clock = createFakeClock()
    const demo = stopAfterTest(await startDemoNodes({ clock }))
    const illSeconds = new Map<string, number>()
    let most = 0
    let first: number | null = null

    for (let second = 0; second < 180; second++) {
      const ill = demo.nodes.filter((node) => node.faults().length > 0)
      if (ill.length > 0) first ??= second
      most = Math.max(most, ill.length)
      expect(new Set(ill.map(({ name }) => name.split('/')[0])).size).toBe(ill.length)
      for (const { name } of ill) illSeconds.set(name, (illSeconds.get(name) ?? 0) + 1)
      await clock.advance(1000)
    }

    expect(first).toBeLessThanOrEqual(10)
    expect(most).toBeLessThanOrEqual(3)
    expect(illSeconds.size).toBe(9)
    for (const seconds of illSeconds.values()) expect(seconds).toBeLessThan(60)
  })

  test('go on minting after the machine has slept', async () => {
    const clock = createFakeClock()
    const demo = stopAfterTest(await startDemoNodes({ clock, faults: false }))
    const ethereum = demo.nodes[0]
    const before = ethereum?.height() ?? 0

    // What suspension looks like from inside: the wall clock has run on alone.
    clock.stepWall(3_600_000)

    expect(ethereum?.height()).toBeGreaterThanOrEqual(before + 1199)
  })

  test('a demo without faults has none', async () => {
    const clock = createFakeClock()
    const demo = stopAfterTest(await startDemoNodes({ clock, faults: false }))

    await clock.advance(200_000)

    expect(demo.nodes.flatMap((node) => node.faults())).toEqual([])
  })

  test('answer over their sockets', async () => {
    const clock = createFakeClock()
    const demo = stopAfterTest(await startDemoNodes({ clock, faults: false }))
    const asked = latestHeight(demo.nodes[0]?.url ?? '')
    const answered = { yes: false }
    void asked.then(() => {
      answered.yes = true
    })

    // Their latency is on the clock, the socket's is not.
    await expect
      .poll(async () => {
        await clock.advance(10)
        return answered.yes
      })
      .toBe(true)

    expect(await asked).toBeGreaterThan(1_000_000)
  })
})
