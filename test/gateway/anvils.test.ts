import { expect, onTestFinished, test } from 'vitest'
import { systemClock as clock } from '../../src/clock.ts'
import type { Endpoint } from '../../src/core/endpoint.ts'
import { createCallerHeights } from '../../src/gateway/caller-heights.ts'
import { createChainRollbacks } from '../../src/gateway/chain-rollbacks.ts'
import { createForwarder } from '../../src/gateway/failover/forwarder.ts'
import { turnsOfSlices } from '../../src/gateway/loop-turns.ts'
import { Cancellation, type Reply } from '../../src/gateway/upstream-request.ts'
import { proberOf } from '../nodes/support.ts'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { endpoint, network, nodeTarget } from '../support/network.ts'
import { createWorld } from '../support/world.ts'
import { textOf } from './chain.ts'
import { BLOCK_NUMBER, LATEST_BLOCK } from './nodes.ts'

const REQUESTS_A_SECOND = 500
/** A machine that serves fewer requests a second gets fewer, instead of a queue that outlasts their timeout. */
const MOST_IN_FLIGHT = 100
const LENGTH_MS = 14_000
const BLOCK_TIME_MS = 500

/** Three real nodes on one chain, and something that happens to each of them while a caller asks where the chain is. */
test('a node rolled back, stopped or killed under up to 500 requests a second costs no error, and no height goes down', async () => {
  const timestamp = Math.floor(clock.now() / 1000) - 100_000
  const anvils = await Promise.all(['a', 'b', 'c'].map(() => startAnvil({ timestamp })))
  onTestFinished(async () => void (await Promise.all(anvils.map((anvil) => anvil.stop()))))
  const [a, b, c] = anvils as [Anvil, Anvil, Anvil]
  for (const anvil of anvils) for (let i = 0; i < 5; i++) await anvil.mine()
  const { ask, poll } = await watched(anvils)
  const minedBy = new Set(anvils)
  const away = async (anvil: Anvil) => {
    minedBy.delete(anvil)
    anvil.signal('SIGSTOP')
    await clock.sleep(5000)
    anvil.signal('SIGCONT')
    const behind = (await b.height()) - (await anvil.height())
    for (let i = 0; i < behind; i++) await anvil.mine()
    minedBy.add(anvil)
  }
  const events: [atMs: number, happens: () => void][] = [
    [2000, () => void b.rollback(2).then(async () => (await b.mine(), await b.mine()))],
    [4000, () => void away(c)],
    [11_000, () => (minedBy.delete(a), a.signal('SIGKILL'))],
  ]
  const ending = new AbortController()
  const mining = (async () => {
    while (!ending.signal.aborted) {
      for (const anvil of minedBy) await Promise.race([anvil.mine().catch(() => {}), clock.sleep(100)])
      await clock.sleep(BLOCK_TIME_MS)
    }
  })()
  const polling = poll(() => ending.signal.aborted)

  const heights: number[] = []
  const wrong: string[] = []
  const began = clock.monotonic()
  let sent = 0
  const inFlight = new Set<Promise<void>>()
  // A busy machine makes blocks more slowly.
  const hasGrown = () => (heights.at(-1) ?? 0) - (heights[0] ?? 0) > 10
  for (let now = 0; now < LENGTH_MS || !hasGrown(); now = clock.monotonic() - began) {
    while ((events[0]?.[0] ?? Number.POSITIVE_INFINITY) <= now) events.shift()?.[1]()
    while (sent < (now * REQUESTS_A_SECOND) / 1000 && inFlight.size < MOST_IN_FLIGHT) {
      const take = (reply: Reply) => {
        const height = heightIn(reply)
        if (height === null) wrong.push(JSON.stringify(reply))
        else if (height < (heights.at(-1) ?? 0)) wrong.push(`${height} after ${heights.at(-1)}, by ${reply.endpoint}`)
        else heights.push(height)
      }
      const answered = ask(sent++).then(take)
      inFlight.add(answered)
      void answered.then(() => inFlight.delete(answered))
    }
    await clock.sleep(2)
  }
  await Promise.all(inFlight)
  ending.abort()
  await Promise.all([mining, polling])

  expect(wrong).toEqual([])
  expect(heights).toHaveLength(sent)
}, 120_000)

function heightIn(reply: Reply): number | null {
  if (reply.kind !== 'result') return null
  const result = JSON.parse(textOf(reply)) as string | { number: string }
  return Number(typeof result === 'string' ? result : result.number)
}

async function watched(anvils: readonly Anvil[]) {
  const endpoints = anvils.map((_, index) => endpoint(`node-${index}`, { intervalMs: 1000 }))
  const world = createWorld(clock, [{ network: network({ blockTimeMs: BLOCK_TIME_MS }), endpoints }])
  const targets = endpoints.map((of, index) => nodeTarget(of, anvils[index]?.url ?? '', { timeoutMs: 2000 }))
  const prober = proberOf(targets)
  const signal = new AbortController().signal
  const pollOne = async (of: Endpoint) => world.poll(of, await prober.poll(of, signal))
  for (const of of endpoints) await pollOne(of)
  const rollbacks = createChainRollbacks(world.board)
  const forwarder = createForwarder({
    board: world.board,
    clock,
    rollbacks,
    slices: turnsOfSlices(),
    callerHeights: createCallerHeights(rollbacks),
    onDoubt(key) {
      const of = endpoints.find(({ name }) => key.endsWith(`/${name}`))
      if (of !== undefined) void pollOne(of)
    },
  })
  onTestFinished(() => forwarder.close())
  forwarder.retarget(targets)

  return {
    ask: (turn: number) =>
      forwarder.handle({
        network: 'ethereum',
        caller: 'wallet',
        canonical: '',
        to: { kind: 'rpc' },
        deadlineAt: clock.monotonic() + 10_000,
        signal: new Cancellation(),
        ...(turn % 2 === 0 ? BLOCK_NUMBER : LATEST_BLOCK),
      }),
    poll: (isOver: () => boolean) =>
      Promise.all(
        endpoints.map(async (of) => {
          while (!isOver()) {
            await pollOne(of)
            await clock.sleep(of.intervalMs)
          }
        }),
      ),
  }
}
