import { expect, test } from 'vitest'
import { unpolled } from '../../src/core/verdict/health.ts'
import { createInspector } from '../../src/poll/on-demand-poll.ts'
import { createBoard } from '../../src/state/board.ts'
import { createFakeClock } from '../support/fake-clock.ts'
import { endpoint, good, head, network, pollResult } from '../support/network.ts'

const HOUR = 3_600_000

test.each([
  { other: 'is polled for liveness only', over: { checks: ['liveness'] as const }, verdict: 'down' },
  { other: 'was polled without an answer', over: {}, lastPolledAt: 1, verdict: 'down' },
  { other: 'was not polled yet', over: {}, verdict: 'up' },
  { other: 'answered two intervals ago', over: {}, lastPolledAt: 0, readMsAgo: 20_000, verdict: 'up' },
  { other: 'has not answered since', over: {}, lastPolledAt: 0, readMsAgo: 20_001, verdict: 'down' },
])(
  'an on-demand poll judges the age of blocks unless another endpoint may be there to compare: it $other',
  async (given) => {
    const clock = createFakeClock()
    const polled = endpoint('a')
    const { readMsAgo, lastPolledAt = null } = given
    const lastHead = { ...head(1000, clock.now()), shard: null, lagBlocks: 0, lagMs: 0, advancedAt: 0 }
    const heads = readMsAgo === undefined ? [] : [{ ...lastHead, readAt: clock.now() - readMsAgo }]
    const other = { ...unpolled(endpoint('b', given.over), clock.now()), lastPolledAt, heads }
    const board = createBoard()
    const tally = { reorgs: null, regressions: null } as never
    const fresh = [unpolled(polled, clock.now()), other].map((health) => ({ health, tally }))
    board.configure([{ network: network(), fresh }])
    const inspect = createInspector({
      board,
      clock,
      scheduler: {
        async pollOnDemand(_key, _signal, run) {
          await run(new AbortController().signal)
          return { kind: 'done' }
        },
      },
      prober: {
        inspect: (of) => {
          const heads = [{ shard: null, outcome: good(head(1000, clock.now() - 41 * HOUR)) }]
          return Promise.resolve(pollResult(of, clock.now(), { heads }))
        },
      },
    })

    expect(await inspect(polled, 1000)).toMatchObject({ inspection: { health: { verdict: given.verdict } } })
  },
)
