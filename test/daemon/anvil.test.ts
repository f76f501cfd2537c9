import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type Daemon, type EndpointView, removeFolder, startDaemonHere, until } from '../support/daemon.ts'

const INTERVAL_MS = 1000
const names = ['one', 'two', 'three']
let anvils: Anvil[] = []
let daemon: Daemon

beforeAll(async () => {
  const timestamp = Math.floor(Date.now() / 1000) - 1000
  anvils = await Promise.all(names.map(() => startAnvil({ timestamp })))
  for (const anvil of anvils) await anvil.mine(50)
  daemon = await startDaemonHere({
    poll: { interval: `${INTERVAL_MS}ms`, timeout: `${INTERVAL_MS}ms` },
    networks: [
      {
        name: 'dev',
        family: 'ethereum',
        chain_id: 31_337,
        block_time: '1s',
        thresholds: { stall: '3s' },
        endpoints: names.map((name, at) => ({ name, url: anvils[at]!.url })),
      },
    ],
  })
})

afterAll(async () => {
  await daemon?.stop()
  if (daemon) removeFolder(daemon.folder)
  await Promise.all(anvils.map((anvil) => anvil.stop()))
})

const codes = ({ conditions }: EndpointView) => conditions.map(({ code }) => code)
const see = (name: string) => daemon.endpoint('dev', name)

/** How many polls of an endpoint pass until it is seen like that. */
async function pollsUntil(name: string, holds: (view: EndpointView) => boolean): Promise<number> {
  const polls = new Set<string | null>()
  const before = (await see(name)).last_polled_at
  await until(async () => {
    const view = await see(name)
    if (view.last_polled_at !== before) polls.add(view.last_polled_at)
    return holds(view)
  }, `${name} is judged`)
  return polls.size
}

test('real nodes at one height are up', async () => {
  for (const name of names)
    expect(await see(name)).toMatchObject({ state: 'up', conditions: [], heads: [{ height: 50 }] })
})

test('one that is rolled back lags within two polls, and is up within two after it has caught up', async () => {
  await anvils[0]!.rollback(20)

  // A poll may be under way while the node is rolled back: that one saw it as it was.
  expect(await pollsUntil('one', (view) => codes(view).includes('lagging'))).toBeLessThanOrEqual(3)
  expect(await see('one')).toMatchObject({ state: 'degraded', heads: [{ height: 30, lag_blocks: 20 }] })
  expect((await see('one')).conditions[0]?.message).toBe('20 blocks (20 s) behind')
  for (const name of ['two', 'three']) expect(await see(name)).toMatchObject({ state: 'up', conditions: [] })

  await anvils[0]!.mine(20)

  expect(await pollsUntil('one', ({ state }) => state === 'up')).toBeLessThanOrEqual(3)
  const { text } = await daemon.get('/metrics')
  expect(text).toContain('heartline_endpoint_height_regressions_total{network="dev",endpoint="one",shard=""} 1')
})

test('a reorganised chain is counted, and no state changes', async () => {
  const countOf = async (counter: string, name: string) => {
    const { text } = await daemon.get('/metrics')
    return Number(
      new RegExp(`^heartline_endpoint_${counter}{network="dev",endpoint="${name}".*} (.*)$`, 'm').exec(text)?.[1],
    )
  }
  const changes = () => Promise.all(names.map((name) => countOf('state_changes_total', name)))
  // A poll between the two calls below sees the node a block lower, instead of another block at its height.
  const replacedOf = async (name: string) =>
    (await countOf('reorgs_total', name)) + (await countOf('height_regressions_total', name))
  const before = await changes()
  const replacedBefore = await Promise.all(names.map(replacedOf))

  // All of them follow: one alone would be forked.
  await Promise.all(
    anvils.map(async (anvil) => {
      await anvil.call('anvil_setCoinbase', [`0x${'1'.repeat(40)}`])
      await anvil.rollback(1)
      await anvil.mine()
    }),
  )

  for (const [at, name] of names.entries()) {
    const expected = (replacedBefore[at] ?? 0) + 1
    await until(async () => (await replacedOf(name)) === expected, `the reorg of ${name} is counted`)
    expect(await see(name)).toMatchObject({ state: 'up' })
  }
  expect(before).not.toContain(Number.NaN)
  expect(await changes()).toEqual(before)
})

test('one that stands still while the others mine is stalled, one that is killed unreachable', async () => {
  const mining = setInterval(() => void Promise.all([anvils[1]!.mine(), anvils[2]!.mine()]).catch(() => undefined), 400)
  try {
    await until(async () => codes(await see('one')).includes('stalled'), 'one is stalled')
    expect((await see('one')).state).toBe('degraded')

    await anvils[0]!.stop()
    await until(async () => (await see('one')).state === 'down', 'one is down')
    expect(codes(await see('one'))).toContain('unreachable')
    // On a busy machine a poll may be slow.
    for (const name of ['two', 'three']) await until(async () => (await see(name)).state === 'up', `${name} is up`)
  } finally {
    clearInterval(mining)
  }
})

test('another chain behind the same address is found out at once, however well it answers', async () => {
  const { port } = anvils[0]!
  anvils[0] = await startAnvil({ chainId: 5, port })
  await anvils[0].mine(500)

  await until(async () => codes(await see('one')).includes('wrong-network'), 'one is on another network')

  expect(await see('one')).toMatchObject({ state: 'down' })
  expect((await see('two')).heads[0]?.lag_blocks).toBe(0)
})
