import { describe, expect, test } from 'vitest'
import { PollsView, RulesView } from '../../src/http/wire/history.ts'
import { Secret } from '../../src/secret.ts'
import { Unreadable } from '../../src/store/reads.ts'
import type { PollsQuery, StoredPoll } from '../../src/store/store.ts'
import { setUp } from './setting.ts'

const URL = '/api/v1/endpoints/avalanche/own-1/polls'

/** A store with one poll per second. */
function everySecond() {
  const asked: PollsQuery[] = []
  return {
    asked,
    async polls(query: PollsQuery): Promise<readonly StoredPoll[]> {
      asked.push(query)
      const count = Math.min(query.limit, Math.ceil((query.to - query.from) / 1000))
      return Array.from({ length: count }, (_, at) => ({
        at: query.from + at * 1000,
        state: 'up',
        fresh: true,
        latencyMs: 12.5,
        height: 1000 + at,
        lagBlocks: 0,
        heartbeatLagMs: 1500,
        contiguousFailures: null,
        failure: null,
      }))
    },
  }
}

describe('…/polls', () => {
  test('lists the polls of the last hour, and where the next page begins', async () => {
    const store = everySecond()
    const { server, clock } = setUp({ store })

    const view = PollsView.strict().parse((await server.inject(URL)).json())

    expect(store.asked).toMatchObject([{ endpoint: 'avalanche/own-1', from: clock.now() - 3_600_000, to: clock.now() }])
    expect(view.polls).toHaveLength(2000)
    expect(Date.parse(view.next_from ?? '')).toBe(clock.now() - 3_600_000 + 2_000_000)
    expect(view.polls[1]).toMatchObject({
      state: 'up',
      vantage: null,
      latency_seconds: 0.0125,
      height: 1001,
      heartbeat_lag_seconds: 1.5,
    })
    const rest = PollsView.parse(
      (await server.inject(`${URL}?from=${encodeURIComponent(view.next_from ?? '')}`)).json(),
    )
    expect(rest.polls).toHaveLength(1600)
    expect(rest.next_from).toBeNull()
  })

  test('says from which place of a cluster each poll was made', async () => {
    const [poll] = await everySecond().polls({ endpoint: 'avalanche/own-1', from: 0, to: 1000, limit: 1 })
    const polls = async () => ['fra1', 'nyc1'].flatMap((vantage) => (poll === undefined ? [] : { ...poll, vantage }))
    const { server } = setUp({ store: { polls } })

    const view = PollsView.strict().parse((await server.inject(URL)).json())

    expect(view.polls.map(({ vantage }) => vantage)).toEqual(['fra1', 'nyc1'])
  })

  test('lists no poll on two pages, though two places polled at the same time', async () => {
    const every = await everySecond().polls({ endpoint: 'avalanche/own-1', from: 0, to: 1_500_000, limit: 1500 })
    const both = every.flatMap((poll, at) => [
      { ...poll, vantage: 'fra1' },
      ...(at === 0 ? [] : [{ ...poll, vantage: 'nyc1' }]),
    ])
    const polls = async ({ from, limit }: PollsQuery) => both.filter(({ at }) => at >= from).slice(0, limit)
    const { server } = setUp({ store: { polls } })
    const read = async (from: string) =>
      PollsView.parse((await server.inject(`${URL}?from=${encodeURIComponent(from)}&to=1500`)).json())

    const first = await read('0')
    const second = await read(first.next_from ?? '')

    const told = [...first.polls, ...second.polls].map(({ at, vantage }) => `${at} ${vantage}`)
    expect(told).toHaveLength(2999)
    expect(new Set(told).size).toBe(2999)
    expect(second.next_from).toBeNull()
  })

  test.each(['from=5&to=5', 'from=0&to=90000', 'from=x', 'step=5'])('rejects %s', async (query) => {
    expect((await setUp().server.inject(`${URL}?${query}`)).statusCode).toBe(400)
  })

  test('is a problem without details where they cannot be read', async () => {
    const { server } = setUp({ store: { polls: () => Promise.reject(new Unreadable('single polls', 'canary')) } })

    const answer = await server.inject(URL)

    expect(answer.statusCode).toBe(503)
    expect(answer.body).not.toContain('canary')
  })

  test.each(['polls', 'rules'])('and …/rules need the token: %s', async (what) => {
    const { server } = setUp({ options: { token: new Secret('a-token-of-the-operator') } })
    const url = `/api/v1/endpoints/avalanche/own-1/${what}`

    expect((await server.inject(url)).statusCode).toBe(401)
    const headers = { authorization: 'Bearer a-token-of-the-operator' }
    expect((await server.inject({ url, headers })).statusCode).toBe(200)
    expect((await server.inject({ url: `/api/v1/endpoints/avalanche/missing/${what}`, headers })).statusCode).toBe(404)
  })
})

test('…/rules shows how an endpoint is polled, and its thresholds', async () => {
  const { server, world } = setUp()

  const rules = RulesView.strict().parse((await server.inject('/api/v1/endpoints/avalanche/own-1/rules')).json())

  const thresholds = world.board.network('avalanche')?.standing.network.thresholds
  expect(rules).toMatchObject({ network: 'avalanche', endpoint: 'own-1', checks: ['liveness', 'head'] })
  expect(rules.thresholds).toMatchObject({
    lag_blocks: thresholds?.lagBlocks,
    stall_seconds: (thresholds?.stallMs ?? 0) / 1000,
    fail_after: thresholds?.failAfter,
  })
})
