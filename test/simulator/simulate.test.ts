import { describe, expect, test } from 'vitest'
import { simulate } from '../../src/commands/simulate.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { latestHeight, post, rpc } from './ask.ts'

/** The command as it runs: what it has printed, and a way to end it. */
async function run(options: Parameters<typeof simulate>[0]) {
  const lines: string[] = []
  const ending = new AbortController()
  const tell = (line: string) => void lines.push(line)
  const status = simulate(options, { out: tell, err: tell, signal: ending.signal }, createFakeClock())
  await Promise.race([status, expect.poll(() => lines.length).toBe(3)])
  const printed = (word: string) =>
    lines
      .find((line) => line.includes(word))
      ?.split(/\s+/)
      .at(-1) ?? ''
  return { lines, status, url: printed('url'), control: printed('control'), end: () => ending.abort() }
}

describe('heartline simulate', () => {
  test('runs one node with a control interface until stopped, and leaves its port', async () => {
    const simulated = await run({ family: 'ethereum', port: 0, endpointName: 'own-2' })

    const height = await latestHeight(simulated.url)
    await post(`${simulated.control}/mine`, { blocks: 3 })
    const mined = await latestHeight(simulated.url)
    simulated.end()

    expect(simulated.lines[0]).toContain('own-2')
    expect(mined).toBe(height + 3)
    expect(await simulated.status).toBe(0)
    await expect(post(simulated.url, {})).rejects.toThrow('fetch failed')
  })

  test('says so when the port is taken', async () => {
    const first = await run({ family: 'ethereum', port: 0 })

    const second = await run({ family: 'ethereum', port: Number(new URL(first.url).port) })
    first.end()

    expect(await second.status).not.toBe(0)
    expect(second.lines.join()).toContain('EADDRINUSE')
    expect(await first.status).toBe(0)
  })

  test('an avalanche node of either generation, its admin API only on demand', async () => {
    const old = await run({ family: 'avalanche', port: 0, generation: 'old', adminEnabled: true })

    expect((await rpc(`${old.url}/ext/health`, 'health.getLiveness', undefined)).result.healthy).toBe(true)
    expect((await rpc(`${old.url}/ext/admin`, 'admin.alias', { endpoint: 'bc/C', alias: 'x' })).result).toEqual({})
    old.end()
    await old.status
  })

  test.each([
    [{ family: 'ethereum', generation: 'old' }, '--generation is for avalanche, not for ethereum'],
    [{ family: 'ethereum', checkEveryMs: 5000 }, '--check-every is for avalanche, not for ethereum'],
    [{ family: 'multiversx', adminEnabled: true }, '--api-admin-enabled is for avalanche, not for multiversx'],
    [{ family: 'multiversx', chainId: 5 }, '--chain-id is for ethereum and avalanche, not for multiversx'],
    [{ family: 'avalanche', kind: 'observer', shard: 1 }, '--kind is for multiversx, not for avalanche'],
    [{ family: 'ethereum', shard: 1 }, '--shard is for multiversx, not for ethereum'],
    [{ family: 'multiversx', shard: 1 }, '--shard needs --kind observer'],
  ] as const)('an option that would change nothing is refused: %o', async (options, why) => {
    const refused = await run({ ...options, port: 0 })

    refused.end()
    expect(refused.lines).toEqual([`heartline simulate: ${why}`])
    expect(await refused.status).toBe(64)
  })

  test('two of them are on one chain', async () => {
    const nodes = [await run({ family: 'multiversx', port: 0 }), await run({ family: 'multiversx', port: 0 })]

    const blocks = await Promise.all(nodes.map(async ({ url }) => (await fetch(`${url}/block/0/by-nonce/1000`)).json()))

    expect(blocks[0]).toEqual(blocks[1])
    for (const node of nodes) node.end()
    await Promise.all(nodes.map(({ status }) => status))
  })
})
