import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readHealth, readNetworkWord, writeHealth } from '../../src/cluster/vote-codec.ts'
import { CONSENSUS_STATES, MAX_CHECKS } from '../../src/core/poll-result.ts'
import type { Health } from '../../src/core/verdict/health.ts'
import { nodeCheck } from '../support/network.ts'
import { aVote, condition, VOTED } from '../support/votes.ts'

const NOW = 1_000_000

const { health: plain, turns } = aVote('fra1', 'degraded', 5, NOW)

/** With everything that a health can have. */
const full: Health = {
  ...plain,
  conditions: [
    { ...condition('lagging', 'degraded', 5), isAlone: true, shards: [0] },
    condition('clock-skewed', 'up', 6),
  ],
  heads: [null, 0, 4_294_967_295].map((shard) => ({
    shard,
    height: 7,
    hash: '0x7',
    parentHash: '0x6',
    timestamp: 1,
    lagBlocks: shard === null ? null : 2,
    lagMs: shard === null ? null : 24_000.5,
    advancedAt: 2,
    readAt: 3,
  })),
  liveness: {
    healthy: false,
    checks: [nodeCheck('network', { error: 'down', failingSince: 3, offered: false }), nodeCheck('bootstrapped')],
    heartbeatAt: 99.5,
    unanswered: true,
    report: {
      sync: { isSyncing: true, remainingBlocks: null },
      peers: 0,
      client: { name: 'Geth', version: null },
      consensus: { state: 'optimistic', reason: null, remainingSlots: 3, peers: null },
    },
  },
  clockSkewMs: -12.5,
  tlsNotAfter: 77,
  laggingShards: [null, 0],
  confirmation: { ...plain.confirmation, recent: [{ at: NOW, verdict: 'up' }] },
}

const overTheWire = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test.each([
  ['plain', plain],
  ['full', full],
])('a %s health is read as it was written, for the endpoint of the reader', (_name, health) => {
  const read = readHealth(overTheWire(writeHealth(health, turns)), { ...VOTED, title: 'ours' })

  const { confirmation, ...said } = health
  expect(read?.turns).toEqual(turns)
  expect(read?.health).toEqual({
    ...said,
    endpoint: { ...VOTED, title: 'ours' },
    confirmation: { verdict: 'degraded', since: 5, badSince: 5, recent: confirmation.recent, traces: [] },
  })
})

test('a vote is read whatever is known of the consensus node, and with as many checks as a node may have', () => {
  const votes = [...CONSENSUS_STATES, null].map((state): Health => {
    const consensus = { state, reason: null, remainingSlots: null, peers: null }
    const checks = Array(MAX_CHECKS).fill(nodeCheck('network'))
    const report = { sync: null, peers: null, client: null, consensus }
    return { ...full, liveness: { healthy: true, heartbeatAt: null, checks, report } }
  })

  for (const health of votes) {
    expect(readHealth(overTheWire(writeHealth(health, turns)), VOTED)?.health.liveness).toEqual(health.liveness)
  }
})

test('neither the endpoint, with its settings, nor the traces of confirmation are written', () => {
  const written = JSON.stringify(writeHealth(full, turns))

  expect(written).not.toContain(VOTED.name)
  expect(written).not.toContain('traces')
})

test('of an endpoint that is up, the latest polls are written only if one of them was bad', () => {
  const up = { ...plain, verdict: 'up' } as const
  const recent = [{ at: NOW, verdict: 'up' }] as const
  const withBad = [{ at: NOW, verdict: 'down' }, ...recent] as const

  const written = [recent, withBad].map((polls) => {
    return overTheWire(writeHealth({ ...up, confirmation: { ...up.confirmation, recent: polls } }, turns))
  })

  expect(written[0]).not.toHaveProperty('recent')
  expect(readHealth(written[1], VOTED)?.health.confirmation).toEqual({
    verdict: 'up',
    since: 5,
    recent: withBad,
    traces: [],
  })
})

test('a vote of an older version is read without turns and latest polls, and what a newer one added is left out', () => {
  const { turns: _turns, recent: _recent, ...old } = overTheWire(writeHealth(full, turns)) as Record<string, unknown>

  expect(readHealth(old, VOTED)?.turns).toEqual({ down: 5, up: 5 })
  expect(readHealth(old, VOTED)?.health.confirmation).toMatchObject({ badSince: 5, recent: [] })
  expect(readHealth({ ...old, future: true }, VOTED)?.health).not.toHaveProperty('future')
})

test('what is no vote, or larger than any of ours, is not read', () => {
  const written = overTheWire(writeHealth(full, turns)) as Record<string, unknown>
  const wrong = [
    { verdict: 'maintenance' },
    { since: null },
    { conditions: [condition('partial', 'degraded', 1)] },
    { conditions: [{ ...condition('slow', 'up', 1), code: 'unheard-of' }] },
    { heads: Array(65).fill(full.heads[0]) },
    { heads: [{ ...full.heads[0], height: -1 }] },
    { latencyMs: '12' },
    { liveness: { ...full.liveness, checks: Array(MAX_CHECKS + 1).fill(nodeCheck('c')) } },
    { liveness: { ...full.liveness, checks: [nodeCheck('c', { error: 'x'.repeat(10_000) })] } },
  ]
  for (const over of wrong) expect([over, readHealth({ ...written, ...over }, VOTED)]).toEqual([over, null])

  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(readHealth(value, VOTED)).toBeNull()
      expect(readNetworkWord(value)).toBeNull()
    }),
  )
})

test('the word on a network is read as it was written', () => {
  const head = {
    shard: null,
    height: 7,
    confirmedHeight: 6,
    hash: null,
    timestamp: null,
    branches: 2,
    blockTimeMs: 12.5,
  }
  const fork = { shard: 0, shards: [0, 2], height: 7, since: 5, branches: [{ hash: '0x7', endpoints: ['own-1'] }] }

  for (const word of [
    { heads: [head], halts: [{ shard: 0, since: 5 }], fork },
    { heads: [], halts: [], fork: null },
  ])
    expect(readNetworkWord(overTheWire(word))).toEqual(word)
})
