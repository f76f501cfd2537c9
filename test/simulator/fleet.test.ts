import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { startFleet } from '../../bench/fleet.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { post, rpc, stopAfterTest } from './ask.ts'

describe('a fleet', () => {
  test('serves many endpoints, spread over its origins', async () => {
    const fleet = stopAfterTest(
      await startFleet({ clock: createFakeClock(), family: 'avalanche', count: 1000, origins: 4 }),
    )

    expect(fleet.urls).toHaveLength(1000)
    expect(new Set(fleet.urls).size).toBe(1000)
    expect(new Set(fleet.urls.map((url) => new URL(url).hostname))).toEqual(
      new Set(['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4']),
    )
  })

  test('answers liveness with about 1 KB, and a block with 11.8 KB', async () => {
    const fleet = stopAfterTest(await startFleet({ clock: createFakeClock(), family: 'avalanche', count: 3 }))
    const ask = async (path: string, method: string) =>
      (await post(`${fleet.urls[2]}${path}`, { jsonrpc: '2.0', id: 1, method, params: ['latest', false] })).text()

    const liveness = await ask('/ext/health', 'health.getLiveness')
    const block = await ask('/ext/bc/C/rpc', 'eth_getBlockByNumber')

    expect(liveness.length).toBeGreaterThan(900)
    expect(liveness.length).toBeLessThan(1300)
    expect(Math.abs(block.length - 11_800)).toBeLessThan(300)
    expect(fleet.requests()).toBe(2)
  })

  test('has a new head each block time', async () => {
    const clock = createFakeClock()
    const fleet = stopAfterTest(await startFleet({ clock, family: 'ethereum', count: 1, blockTimeMs: 2000 }))
    const height = async () =>
      Number((await rpc(fleet.urls[0] ?? '', 'eth_getBlockByNumber', ['latest', false])).result.number)
    const before = await height()

    await clock.advance(10_000)

    expect(await height()).toBe(before + 5)
  })

  test('runs in a process of its own, and ends with its parent', async () => {
    const entry = fileURLToPath(new URL('../../bench/fleet-process.ts', import.meta.url))
    const child = fork(entry, [JSON.stringify({ family: 'ethereum', count: 2 })], { execArgv: ['--import', 'tsx'] })

    const { urls } = await new Promise<{ urls: string[] }>((resolve) => {
      child.once('message', (message) => resolve(message as { urls: string[] }))
    })
    const reply = await rpc(urls[1] ?? '', 'eth_chainId')
    child.disconnect()
    const status = await new Promise((resolve) => child.once('exit', resolve))

    expect(reply.result).toBe('0x1')
    expect(status).toBe(0)
  })
})
