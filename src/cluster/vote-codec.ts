import { z } from 'zod'
import { type NetworkVote, type Turns, turnsAfter } from '../core/cluster/vote.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'
import { type Health, unpolled } from '../core/verdict/health.ts'

/** How votes are stored. Readers accept only what they know, because another version may have written it. */
export function writeHealth(health: Health, turns: Turns): unknown {
  const { endpoint: _configured, confirmation: _private, ...said } = health
  return { ...said, turns }
}

/** `null` if it cannot be read. */
export function readHealth(value: unknown, endpoint: Endpoint): { health: Health; turns: Turns } | null {
  const parsed = StoredHealth.safeParse(value)
  if (!parsed.success) return null
  const { turns, ...said } = parsed.data
  const { confirmation } = unpolled(endpoint, said.since)
  const health: Health = { ...said, endpoint, confirmation: { ...confirmation, verdict: said.verdict } }
  return { health, turns: turns ?? turnsAfter(null, health) }
}

export type NetworkWord = Pick<NetworkVote, 'heads' | 'halts' | 'fork'>

export function readNetworkWord(value: unknown): NetworkWord | null {
  const parsed = StoredWord.safeParse(value)
  return parsed.success ? parsed.data : null
}

const Time = z.number()
const Count = z.number().int().nonnegative()
const Ms = z.number().nonnegative()
const Text = z.string().max(4000)
const Hash = z.string().max(256)
const ShardNumber = z.number().int().nullable()
const MOST_SHARDS = 64
const MOST_CHECKS = 256
const MOST_ENDPOINTS = 10_000

const StoredCondition = z.object({
  code: z.enum(CONDITION_CODES).exclude(['partial']),
  verdict: z.enum(VERDICTS),
  message: Text,
  since: Time,
  isAlone: z.literal(true).exactOptional(),
})

const StoredHead = z.object({
  shard: ShardNumber,
  height: Count,
  hash: Hash,
  parentHash: Hash,
  timestamp: Time,
  lagBlocks: Count.nullable(),
  lagMs: Ms.nullable(),
  advancedAt: Time,
  readAt: Time,
})

const StoredCheck = z.object({
  name: Text,
  healthy: z.boolean(),
  error: Text.nullable(),
  contiguousFailures: Count,
  failingSince: Time.nullable(),
  checkedAt: Time.nullable(),
  durationMs: Ms.nullable(),
  offered: z.literal(false).exactOptional(),
})

const StoredReport = z.object({
  sync: z.object({ isSyncing: z.boolean(), remainingBlocks: Count.nullable() }).nullable(),
  peers: Count.nullable(),
  client: z.object({ name: Text, version: Text.nullable() }).nullable(),
  consensus: z
    .object({
      state: z.enum(['synced', 'syncing', 'optimistic', 'without-execution', 'down']).nullable(),
      reason: Text.nullable(),
      remainingSlots: Count.nullable(),
      peers: Count.nullable(),
    })
    .nullable(),
})

const StoredHealth = z.object({
  verdict: z.enum(VERDICTS).nullable(),
  since: Time,
  conditions: z.array(StoredCondition).max(CONDITION_CODES.length),
  lastPolledAt: Time.nullable(),
  validUntil: Time,
  heads: z.array(StoredHead).max(MOST_SHARDS),
  liveness: z
    .object({
      healthy: z.boolean(),
      checks: z.array(StoredCheck).max(MOST_CHECKS),
      heartbeatAt: Time.nullable(),
      report: StoredReport.exactOptional(),
    })
    .nullable(),
  latencyMs: Ms.nullable(),
  clockSkewMs: z.number().nullable(),
  tlsNotAfter: Time.nullable(),
  laggingShards: z.array(ShardNumber).max(MOST_SHARDS),
  turns: z.object({ down: Time, up: Time }).optional(),
})

const StoredWord = z.object({
  heads: z
    .array(
      z.object({
        shard: ShardNumber,
        height: Count,
        confirmedHeight: Count,
        hash: Hash.nullable(),
        timestamp: Time.nullable(),
        branches: Count,
        blockTimeMs: Ms.nullable(),
      }),
    )
    .max(MOST_SHARDS),
  halts: z.array(z.object({ shard: ShardNumber, since: Time })).max(MOST_SHARDS),
  fork: z
    .object({
      shard: ShardNumber,
      height: Count,
      since: Time,
      branches: z.array(z.object({ hash: Hash, endpoints: z.array(Text).max(MOST_ENDPOINTS) })).max(MOST_ENDPOINTS),
    })
    .nullable(),
})
