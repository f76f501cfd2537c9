import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { beaconConsensus, withConsensus } from '../../src/chains/beacon.ts'
import { newChainMemory } from '../../src/chains/chain.ts'
import { describeFailure, type Failure } from '../../src/core/failure.ts'
import type { Liveness, Outcome } from '../../src/core/poll-result.ts'
import { inquire, recorded, type Scripted, valueOf } from './support.ts'

const HEALTH = '/eth/v1/node/health'
const SYNCING = '/eth/v1/node/syncing'
const PEER_COUNT = '/eth/v1/node/peer_count'
const READY: Scripted = { body: '', status: 200 }
const answer = (name: string): Scripted => ({ body: recorded(`beacon/${name}`) })
const [SYNCED, PEERS] = [answer('synced'), answer('peer-count')]

function ask(script: readonly (Scripted | Failure)[], memory = newChainMemory(), now = 0) {
  return inquire(beaconConsensus(memory, now), script)
}

const UNTOLD = { sync: null, peers: null, client: null }
const reportOf = (script: readonly (Scripted | Failure)[]) => valueOf(ask(script)).report

test('asks for health, synchronization and peers', () => {
  const { reading, requests } = ask([READY, SYNCED, PEERS])

  expect(requests.map(({ method, path }) => `${method} ${path}`)).toEqual([
    `GET ${HEALTH}`,
    `GET ${SYNCING}`,
    `GET ${PEER_COUNT}`,
  ])
  expect(reading).toMatchObject({
    ok: true,
    value: { report: { state: 'synced', reason: null, remainingSlots: 0, peers: 56 } },
  })
})

test.each<[string, Scripted, Scripted, object]>([
  ['answers 206', { body: '', status: 206 }, SYNCED, { state: 'syncing' }],
  ['is syncing', { body: '', status: 206 }, answer('syncing'), { state: 'syncing', remainingSlots: 320 }],
  ['is syncing, and answers 200', READY, answer('syncing'), { state: 'syncing', remainingSlots: 320 }],
  ['is optimistic', { body: '', status: 206 }, answer('optimistic'), { state: 'optimistic' }],
  ['has no execution node', { body: '', status: 206 }, answer('el-offline'), { state: 'without-execution' }],
  ['offers no health', { body: '', status: 404 }, SYNCED, { state: 'synced' }],
  ['offers no synchronization', READY, { body: '', status: 403 }, { state: 'synced' }],
  ['offers neither', { body: '', status: 404 }, { body: '', status: 404 }, { state: null }],
])('that %s', (_title, health, syncing, report) => {
  expect(reportOf([health, syncing, PEERS])).toMatchObject(report)
})

test.each<[string, Scripted | Failure, string]>([
  ['answers 503', { body: '', status: 503 }, 'it is not initialized or has issues (HTTP 503)'],
  ['is behind a broken proxy', { body: '', status: 502 }, 'answered HTTP 502'],
  ['refuses connections', { kind: 'refused' }, 'connection refused'],
  ['hangs', { kind: 'timeout', afterMs: 5000 }, 'no complete answer within 5 s'],
])('that %s is down, and gets no other request', (_title, health, reason) => {
  const { reading, requests } = ask([health])

  expect(requests).toHaveLength(1)
  expect(reading).toMatchObject({ ok: true, value: { report: { state: 'down', reason } } })
  const [check] = valueOf(ask([health])).checks
  expect([check?.error, check?.checkedAt === null]).toEqual([expect.any(String), !('body' in health)])
})

test.each<Failure>([
  { kind: 'unroutable', code: 'ENETUNREACH' },
  { kind: 'dns', code: 'EAI_AGAIN' },
])(
  'that this machine has no network or name server for ($kind) is not reported as down, but with the reason',
  (failure) => {
    const reason = describeFailure(failure)
    const { reading, requests } = ask([failure])

    expect(requests).toHaveLength(1)
    expect(reading).toMatchObject({
      ok: true,
      value: { report: { state: 'unreached', reason }, checks: [{ error: reason }] },
    })
  },
)

test.each<[string, Scripted, Scripted, readonly boolean[]]>([
  ['health alone says that it is syncing', { body: '', status: 206 }, SYNCED, [false, true, true]],
  ['synchronization is not offered', { body: '', status: 206 }, { body: '', status: 404 }, [false, true, true]],
  ['synchronization alone says so', READY, answer('syncing'), [true, false, true]],
])('the check that says so is unhealthy: %s', (_title, health, syncing, healthy) => {
  const { checks } = valueOf(ask([health, syncing, PEERS]))

  expect(checks.map((check) => check.healthy)).toEqual(healthy)
})

test('that answers the question for its peers with an error: their number is unknown', () => {
  expect(reportOf([READY, SYNCED, { body: '', status: 500 }])).toMatchObject({ peers: null, peersFailed: true })
  expect(reportOf([READY, SYNCED, { body: '', status: 429, retryAfterMs: null }])).toMatchObject({ peersFailed: true })
  expect(reportOf([READY, SYNCED, { body: '', status: 404 }])).not.toHaveProperty('peersFailed')
})

test.each<[string, Scripted]>([
  ['an error', { body: '', status: 500 }],
  ['a rate limit', { body: '', status: 429, retryAfterMs: null }],
])('that answers the question for its synchronization with %s: only its health is known', (_title, failed) => {
  expect(reportOf([READY, failed, PEERS])).toMatchObject({ state: 'synced', syncFailed: true })
  expect(reportOf([READY, { body: '', status: 404 }, PEERS])).not.toHaveProperty('syncFailed')
})

describe('that limits our rate', () => {
  const limited = (retryAfterMs: number | null): Scripted => ({ body: '', status: 429, retryAfterMs })

  test('is neither down nor syncing, and has failed no check', () => {
    const { report, checks } = valueOf(ask([limited(null), SYNCED, limited(null)]))

    expect(report).toEqual({ state: 'synced', reason: null, remainingSlots: 0, peers: null, peersFailed: true })
    expect(checks.map(({ name, healthy }) => [name, healthy])).toEqual([[SYNCING, true]])
  })

  test('after its health is not asked for the rest, which stays as it was', () => {
    const { reading, requests } = ask([READY, limited(600_000)])

    expect(requests).toHaveLength(2)
    const report = { state: 'synced', peers: null, syncFailed: true, peersFailed: true }
    expect(reading).toMatchObject({ ok: true, value: { report } })
  })

  test('is not known if it tells neither health nor synchronization', () => {
    expect(reportOf([limited(null), limited(null), PEERS])).toMatchObject({ state: null, isLimited: true })
  })

  test('gets no request before its Retry-After is over, and nothing is known of it until then', () => {
    const memory = newChainMemory()

    expect(ask([limited(600_000)], memory, 0).requests).toHaveLength(1)
    const { reading, requests } = ask([], memory, 599_999)
    expect(requests).toEqual([])
    expect(reading).toEqual({
      ok: true,
      value: { report: { state: null, reason: null, remainingSlots: null, peers: null, isLimited: true }, checks: [] },
    })
    expect(ask([READY, SYNCED, PEERS], memory, 600_000).requests).toHaveLength(3)
  })
})

test('that does not offer something gets the request again after an hour', () => {
  const memory = newChainMemory()
  ask([{ body: '', status: 404 }, SYNCED, PEERS], memory, 0)

  expect(ask([SYNCED, PEERS], memory, 3_599_999).requests).toHaveLength(2)
  expect(ask([READY, SYNCED, PEERS], memory, 3_600_000).requests).toHaveLength(3)
})

test('that was answering gets the request again at once: a proxy refuses while the node behind it starts', () => {
  const memory = newChainMemory()
  ask([READY, SYNCED, PEERS], memory, 0)
  ask(
    [
      { body: '', status: 404 },
      { body: '', status: 404 },
      { body: '', status: 404 },
    ],
    memory,
    60_000,
  )

  const { reading } = ask([{ body: '', status: 503 }], memory, 120_000)
  expect(reading).toMatchObject({ value: { report: { state: 'down' } } })
})

test.each<[string, readonly (Scripted | Failure)[]]>([
  ['is slow', [READY, SYNCED, PEERS]],
  ['hangs', [{ kind: 'timeout', afterMs: 5000 }]],
])('that %s makes the node in front of it no slower: no caller waits for it', (_title, script) => {
  const own: Outcome<Liveness> = {
    ok: true,
    value: { healthy: true, checks: [], heartbeatAt: null, report: { ...UNTOLD, consensus: null } },
    durationMs: 4,
  }
  const limited: Outcome<Liveness> = { ok: false, failure: { kind: 'rate-limited', retryAfterMs: null }, durationMs: 4 }
  const { reading } = ask(script)
  const told = reading.ok ? { ...reading, durationMs: 5000 } : expect.fail('no answer')

  expect(withConsensus(own, told, null)).toMatchObject({ ok: true, durationMs: 4 })
  expect(withConsensus(limited, told, null)).toMatchObject({ durationMs: 4 })
})

describe('by the schemas of the Beacon API', () => {
  const schemas = JSON.parse(readFileSync(new URL('../answers/beacon/schemas.json', import.meta.url), 'utf8'))

  test.each([
    [SYNCING, 'synced'],
    [SYNCING, 'syncing'],
    [SYNCING, 'optimistic'],
    [SYNCING, 'el-offline'],
    [PEER_COUNT, 'peer-count'],
  ])('an answer to %s is %s', (path, name) => {
    const schema = z.fromJSONSchema(schemas[path])

    expect(schema.safeParse(JSON.parse(recorded(`beacon/${name}`))).error).toBeUndefined()
    expect(schema.safeParse({ data: {} }).success).toBe(false)
  })

  test('every status of health is read', () => {
    // 400 only answers a request for another status than 206, which is never made.
    const states = Object.keys(schemas[HEALTH]).map((status) => {
      const health = { body: '', status: Number(status) }
      return [status, reportOf(status === '503' ? [health] : [health, answer('synced'), PEERS]).state]
    })

    expect(states).toEqual([
      ['200', 'synced'],
      ['206', 'syncing'],
      ['400', 'synced'],
      ['503', 'down'],
    ])
  })
})
