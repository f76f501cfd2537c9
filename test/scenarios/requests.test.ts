import { expect, test } from 'vitest'
import { type Clock, systemClock } from '../../src/clock.ts'
import { createMetrics } from '../../src/metrics/metrics.ts'
import type { Board } from '../../src/state/board.ts'
import { createIncidentLog } from '../../src/state/incident-log.ts'
import { proberOf } from '../nodes/support.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { serveHttp } from '../support/http-server.ts'
import { endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld, headCounts, QUIET_STORE } from '../support/world.ts'

/** Providers bill per request: a node gets what the configuration says, and its chain id every ten minutes. */
const INTERVAL_MS = 15_000
const TEN_MINUTES_MS = 600_000
const ENDPOINTS = 100

async function startProvider(blockTimeMs: number, now: () => number) {
  const asked = new Map<string, number>()
  /** From this height on, the blocks have been replaced. */
  let replacedFrom = Number.POSITIVE_INFINITY
  const hash = (height: number) => `0x${height >= replacedFrom ? 'f' : '0'}${height.toString(16).padStart(63, '0')}`
  const { url, accepted } = await serveHttp((request, response, body) => {
    const { id, method, params } = JSON.parse(body)
    const key = `${request.url} ${method}`
    asked.set(key, (asked.get(key) ?? 0) + 1)
    const height = params?.[0] === 'latest' ? Math.floor(now() / blockTimeMs) : Number(params?.[0])
    const block = {
      number: `0x${height.toString(16)}`,
      hash: hash(height),
      parentHash: hash(height - 1),
      timestamp: `0x${Math.floor((height * blockTimeMs) / 1000).toString(16)}`,
    }
    response.end(JSON.stringify({ jsonrpc: '2.0', id, result: method === 'eth_chainId' ? '0x1' : block }))
  })
  return {
    url,
    asked,
    connections: accepted,
    replaceHead() {
      replacedFrom = Math.floor(now() / blockTimeMs)
    },
    of: (method: string) => [...asked].reduce((sum, [key, count]) => sum + (key.endsWith(method) ? count : 0), 0),
  }
}

/** Endpoints of one provider, polled over real sockets; only time is driven. */
async function openScene(count: number, blockTimeMs: number) {
  const clock = createFakeClock()
  const provider = await startProvider(blockTimeMs, clock.now)
  const endpoints = Array.from({ length: count }, (_, at) => endpoint(`e${at}`, { intervalMs: INTERVAL_MS }))
  const prober = proberOf(
    endpoints.map((of) => nodeTarget(of, `${provider.url}/${of.name}`, { chainId: 1, timeoutMs: 30_000 })),
    { clock: { ...systemClock, now: clock.now, monotonic: clock.monotonic } },
  )
  const world = createWorld(clock, [{ network: network({ chainId: 1, blockTimeMs }), endpoints }], { prober })
  return { clock, provider, endpoints, world }
}

/** The series of `heartline_node_requests_total`, as they are scraped. */
async function requestsOf(board: Board, clock: Clock): Promise<string[]> {
  const metrics = createMetrics({
    board,
    clock,
    incidents: createIncidentLog(),
    version: '1.2.3',
    storeStatus: () => QUIET_STORE,
    scheduler: () => ({ lastRoundAt: null }),
    observer: () => ({ impaired: false, judging: true }),
  })
  const text = await metrics.render()
  return text.split('\n').flatMap((line) => /^heartline_node_requests_total(.*)/.exec(line)?.slice(1) ?? [])
}

test.each([
  12_000,
  // Ten blocks an interval: heads are compared by their parents, which other endpoints have told.
  1500,
])(
  '100 endpoints on one host get the configured requests over ten minutes, with a block each %i ms, and the metric counts them',
  async (blockTimeMs) => {
    const { clock, provider, endpoints, world } = await openScene(ENDPOINTS, blockTimeMs)
    const rounds = TEN_MINUTES_MS / INTERVAL_MS
    for (let round = 0; round < rounds; round++) {
      // As the scheduler does: some at the same time, over several connections.
      for (let at = 0; at < ENDPOINTS; at += 10) {
        await Promise.all(endpoints.slice(at, at + 10).map((of) => world.poll(of)))
        await clock.advance(INTERVAL_MS / 10)
      }
    }

    expect(provider.connections()).toBeGreaterThan(1)
    expect(provider.of('eth_getBlockByNumber')).toBe(rounds * ENDPOINTS)
    expect(provider.of('eth_chainId')).toBe(ENDPOINTS)
    expect(await requestsOf(world.board, clock)).toEqual(
      endpoints.map(({ name }) => `{network="ethereum",endpoint="${name}",check="head"} ${rounds + 1}`),
    )
  },
)

test.each([
  { count: 1, costs: [7] },
  // Once as many have the new block as the old one, the rest need no proof.
  { count: 6, costs: [7, 7, 7, 1, 1, 1] },
])('a replaced head costs $costs requests of $count endpoints, once', async ({ count, costs }) => {
  const { clock, provider, endpoints, world } = await openScene(count, 4 * INTERVAL_MS)
  const requests = () => endpoints.map((of) => headCounts(world.board.entry('ethereum', of.name))?.requests)
  const round = async (): Promise<number[]> => {
    const before = requests()
    for (const of of endpoints) {
      await world.poll(of)
      await clock.advance(INTERVAL_MS / count)
    }
    return requests().map((now, at) => (now ?? 0) - (before[at] ?? 0))
  }
  const calm = costs.map(() => 1)
  await clock.advance(4 * INTERVAL_MS - (clock.now() % (4 * INTERVAL_MS)))
  await round()
  expect(await round()).toEqual(calm)

  provider.replaceHead()

  expect(await round()).toEqual(costs)
  expect(await round()).toEqual(calm)
  // The next block is a child of the new one.
  expect(await round()).toEqual(calm)
})
