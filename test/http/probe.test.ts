import { describe, expect, test } from 'vitest'
import type { Endpoint } from '../../src/core/endpoint.ts'
import type { PollResult } from '../../src/core/poll-result.ts'
import { type Inspected, judgeSinglePoll } from '../../src/core/verdict/single-poll.ts'
import { Secret } from '../../src/secret.ts'
import { bad, good, head, liveness, pollResult } from '../support/network.ts'
import { NODE, OWN, type SettingOptions, setUp } from './setting.ts'

const TARGET = '/probe?target=avalanche/own-1'
const TEXT = 'text/plain; version=0.0.4; charset=utf-8'

/** A server whose probes find this, and records them. */
function probing(over: Partial<PollResult> = {}, options: SettingOptions = {}) {
  const asked: { endpoint: Endpoint; withinMs: number }[] = []
  const setting = setUp({
    ...options,
    inspect: async (endpoint, withinMs): Promise<Inspected> => {
      asked.push({ endpoint, withinMs })
      const now = setting.clock.now()
      const result = pollResult(endpoint, now, {
        liveness: good(liveness(now - 2000)),
        heads: [{ shard: null, outcome: good(head(1005, now - 1000)) }],
        ...over,
      })
      const { standing } = setting.world.board.network(endpoint.network)!
      const known = setting.world.board.entry(endpoint.network, endpoint.name)!.health
      const health = judgeSinglePoll(result, known, { ...standing, alone: new Set() }, now)
      const step = { afterMs: 0.2, tookMs: 3, waitedMs: 0, method: 'POST', path: '/ext/health', body: '{}' } as const
      const answer = { ok: true, status: 200, bytes: 12, text: '{"a":\n1}\u001b[2J' } as const
      const steps = [{ ...step, answer }]
      return { kind: 'polled', inspection: { result, health, steps, startedAt: now, tookMs: 5, waitedMs: 1 } }
    },
  })
  return { ...setting, asked }
}

describe('/probe', () => {
  test('polls the endpoint and answers with its metrics alone', async () => {
    const { server, world, asked } = probing()
    await world.pollAll()

    const answer = await server.inject({ url: TARGET })

    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe(TEXT)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(asked.map(({ endpoint }) => endpoint.name)).toEqual(['own-1'])
    const samples = answer.body.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    expect(samples.length).toBeGreaterThan(30)
    for (const line of samples) expect(line).toMatch(/^heartline_\w+\{network="avalanche",endpoint="own-1"/)
    expect(samples).toContain('heartline_probe_success{network="avalanche",endpoint="own-1"} 1')
    expect(samples).toContain('heartline_endpoint_block_height{network="avalanche",endpoint="own-1",shard=""} 1005')
    expect(samples).toContain('heartline_probe_duration_seconds{network="avalanche",endpoint="own-1"} 0.005')
  })

  test('shows what this one poll found, unconfirmed, and changes neither counters nor the board', async () => {
    const refused = bad({ kind: 'refused' })
    const { server, world } = probing({ liveness: refused, heads: [{ shard: null, outcome: refused }] })
    await world.pollAll()
    const before = world.board.entry('avalanche', 'own-1')!.health

    const { body } = await server.inject({ url: TARGET })

    const own = 'network="avalanche",endpoint="own-1"'
    expect(body).toContain(`heartline_probe_success{${own}} 0\n`)
    expect(body).toContain(`heartline_endpoint_up{${own}} 0\n`)
    expect(body).toContain(`heartline_endpoint_condition{${own},condition="unreachable"} 1\n`)
    expect(body).toContain(`heartline_check_success{${own},check="head"} 0\n`)
    expect(body).toContain(`heartline_check_consecutive_failures{${own},check="head"} 1\n`)
    expect(body).toContain(`heartline_checks_total{${own},check="head"} 1\n`)
    expect(body).not.toContain('heartline_endpoint_block_height{')
    expect(body).not.toContain('heartline_check_failures_total{')
    expect(world.board.entry('avalanche', 'own-1')!.health).toBe(before)
    expect((await server.inject({ url: '/metrics' })).body).toContain(`heartline_endpoint_up{${own}} 1\n`)
  })

  test.each([
    [undefined, 9500],
    ['15', 14_500],
    ['0.2', 100],
    ['2.5', 2000],
    ['-1', 9500],
    ['nonsense', 9500],
    ['1e9', 60_000],
  ])('is given the scraper’s timeout of %s s less half a second', async (header, expected) => {
    const { server, asked } = probing()
    const headers = header === undefined ? {} : { 'x-prometheus-scrape-timeout-seconds': header }

    await server.inject({ url: TARGET, headers })

    expect(asked[0]?.withinMs).toBe(expected)
  })

  test.each([
    ['/probe', 400, 'target is missing'],
    ['/probe?target=http://169.254.169.254/', 400, 'target must be NETWORK/ENDPOINT'],
    ['/probe?target=avalanche', 400, 'target must be'],
    ['/probe?target=avalanche/own-1&target=avalanche/own-2', 400, 'given more than once'],
    ['/probe?target=avalanche/own-1&module=http_2xx', 400, 'module is not a parameter'],
    ['/probe?target=avalanche/own-1&debug=1', 400, 'debug must be true or false'],
    ['/probe?target=avalanche/missing', 404, 'no such endpoint'],
    ['/probe?target=nowhere/own-1', 404, 'no such endpoint'],
  ])('%s is rejected with %i, without a poll', async (url, status, why) => {
    const { server, asked } = probing()

    const answer = await server.inject({ url })

    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    expect(answer.json().detail).toContain(why)
    expect(asked).toEqual([])
  })

  test.each<[Inspected, number, string | undefined]>([
    [{ kind: 'no-place' }, 503, undefined],
    [{ kind: 'asked-to-wait', forMs: 2500 }, 503, '3'],
    [{ kind: 'unknown-endpoint' }, 404, undefined],
  ])('that could not poll says so: %o', async (inspected, status, retryAfter) => {
    const { server } = setUp({ inspect: async () => inspected })

    const answer = await server.inject({ url: TARGET })

    expect(answer.statusCode).toBe(status)
    expect(answer.headers['retry-after']).toBe(retryAfter)
    expect(answer.json()).toMatchObject({ status })
  })

  test('with debug=true lists every step on lines that no node can break, the findings, and the metrics', async () => {
    const { server, world } = probing({ liveness: bad({ kind: 'timeout', afterMs: 5000 }) })
    await world.pollAll()

    const answer = await server.inject({ url: `${TARGET}&debug=true` })

    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8')
    expect(answer.body).toContain('Probe of avalanche/own-1')
    expect(answer.body).toContain('POST <url>/ext/health {}')
    expect(answer.body).toContain('HTTP 200, 12 bytes in 3.0 ms: {"a": 1}�[2J\n')
    expect(answer.body).toContain('liveness: failed, timeout: no complete answer within 5 s')
    expect(answer.body).toContain('head: height 1005, hash 0x1005')
    expect(answer.body).toContain('state: down (by scheduled polls: up)')
    expect(answer.body).toContain('heartline_probe_success{network="avalanche",endpoint="own-1"} 0')
  })

  test('with debug=true says that the result of scheduled polls no longer holds', async () => {
    const { server, world, clock } = probing()
    await world.pollAll()
    await clock.advance(3_600_000)

    const answer = await server.inject({ url: `${TARGET}&debug=true` })

    expect(answer.body).toContain('state: up (by scheduled polls: unknown)')
  })

  test('is private where there is a token', async () => {
    const { server, asked } = probing({}, { options: { token: new Secret('x'.repeat(32)) } })

    const without = await server.inject({ url: TARGET })
    const withIt = await server.inject({ url: TARGET, headers: { authorization: `Bearer ${'x'.repeat(32)}` } })

    expect([without.statusCode, withIt.statusCode]).toEqual([401, 200])
    expect(asked).toHaveLength(1)
  })
})

describe('/sd', () => {
  test('lists every endpoint as a target of /probe, with its labels', async () => {
    const { server, asked } = probing()

    const answer = await server.inject({ url: '/sd' })

    expect(answer.statusCode).toBe(200)
    expect(answer.headers['content-type']).toBe('application/json')
    const groups = answer.json()
    expect(groups).toEqual([
      { targets: ['avalanche/own-1'], labels: { network: 'avalanche', endpoint: 'own-1', family: 'avalanche' } },
      { targets: ['avalanche/own-2'], labels: { network: 'avalanche', endpoint: 'own-2', family: 'avalanche' } },
      { targets: ['ethereum/node'], labels: { network: 'ethereum', endpoint: 'node', family: 'ethereum' } },
    ])
    for (const { targets } of groups) {
      expect((await server.inject({ url: `/probe?target=${targets[0]}` })).statusCode).toBe(200)
    }
    expect(asked.map(({ endpoint }) => endpoint.name)).toEqual([OWN.name, 'own-2', NODE.name])
  })

  test('is an empty list without endpoints, and private where there is a token', async () => {
    const empty = setUp({ networks: [] })
    const closed = setUp({ options: { token: new Secret('x'.repeat(32)) } })

    expect((await empty.server.inject({ url: '/sd' })).body).toBe('[]')
    expect((await closed.server.inject({ url: '/sd' })).statusCode).toBe(401)
  })
})

describe('OpenMetrics', () => {
  const PROMETHEUS_2 =
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1'
  const PROMETHEUS_3 =
    'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2'

  test.each([
    [PROMETHEUS_2, true],
    [PROMETHEUS_3, true],
    ['application/openmetrics-text', true],
    ['text/plain;version=0.0.4, application/openmetrics-text; version="1.0.0"; q=0.5', false],
    ['application/openmetrics-text;version=0.0.1', false],
    ['application/openmetrics-text;version=1.0.0;q=0', false],
    ['*/*', false],
    ['', false],
    ['text/html,application/xhtml+xml,*/*;q=0.8', false],
  ])('for a scraper that accepts "%s": %s', async (accept, expected) => {
    const { server, world } = probing()
    await world.pollAll()

    for (const url of ['/metrics', TARGET]) {
      const answer = await server.inject({ url, headers: { accept } })

      expect(answer.headers['content-type']).toBe(
        expected ? 'application/openmetrics-text; version=1.0.0; charset=utf-8' : TEXT,
      )
      expect(answer.headers['vary']).toContain('Accept')
      expect(answer.body.endsWith('# EOF\n')).toBe(expected)
    }
  })
})
