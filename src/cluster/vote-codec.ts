import * as z from 'zod'
import type { NetworkVote, Turns } from '../core/cluster/vote.ts'
import type { Endpoint } from '../core/endpoint.ts'
import { CONSENSUS_STATES, MAX_CHECKS } from '../core/poll-result.ts'
import { CONDITION_CODES, VERDICTS } from '../core/verdict/condition.ts'
import type { HeadStanding, Health } from '../core/verdict/health.ts'

/**
 * How votes are stored. Readers accept only what they know, because another version may have written it. Every property is
 * named, because V8 is slow at copying objects without some of their properties, and at reading objects of several shapes.
 */
export function writeHealth(
  health: Health,
  turns: Turns,
): Omit<Health, 'endpoint' | 'confirmation' | 'livenessLimited'> & { turns: Turns; recent: Recent | undefined } {
  const { verdict, since, conditions, lastPolledAt, validUntil, heads, liveness } = health
  const { latencyMs, clockSkewMs, tlsNotAfter, laggingShards, confirmation } = health
  return {
    verdict,
    since,
    conditions,
    lastPolledAt,
    validUntil,
    heads,
    liveness,
    latencyMs,
    clockSkewMs,
    tlsNotAfter,
    laggingShards,
    turns,
    recent: verdict === 'up' && confirmation.recent.every(isGood) ? undefined : confirmation.recent.slice(-MOST_POLLS),
  }
}

type Recent = Health['confirmation']['recent']
const isGood = ({ verdict }: Recent[number]): boolean => verdict === 'up'

/** `null` if it cannot be read. */
export function readHealth(value: unknown, endpoint: Endpoint): { health: Health; turns: Turns } | null {
  const parsed = StoredHealth.safeParse(value)
  if (!parsed.success) return null
  const said = parsed.data
  const { verdict, since, recent = NONE } = said
  const turns = said.turns ?? { down: since, up: since }
  const isBad = verdict !== null && verdict !== 'up'
  const health: Health = {
    endpoint,
    verdict,
    since,
    conditions: said.conditions.length === 0 ? NONE : said.conditions,
    lastPolledAt: said.lastPolledAt,
    validUntil: said.validUntil,
    heads: said.heads.map(headOf),
    liveness: said.liveness,
    latencyMs: said.latencyMs,
    clockSkewMs: said.clockSkewMs,
    tlsNotAfter: said.tlsNotAfter,
    confirmation: { verdict, since, ...(isBad && { badSince: turns.up }), recent, traces: NONE },
    laggingShards: said.laggingShards.length === 0 ? NONE : said.laggingShards,
    livenessLimited: false,
  }
  return { health, turns }
}

const NONE: readonly never[] = Object.freeze([])

/** In the order in which the poller makes it. */
function headOf({ shard, height, hash, parentHash, timestamp, lagBlocks, lagMs, advancedAt, readAt }: HeadStanding) {
  return { shard, height, hash, parentHash, timestamp, lagBlocks, lagMs, advancedAt, readAt }
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
const MOST_ENDPOINTS = 10_000
/** That a confirmation has seen; the configuration allows more. */
const MOST_POLLS = 64

const StoredCondition = z.object({
  code: z.enum(CONDITION_CODES).exclude(['partial']),
  verdict: z.enum(VERDICTS),
  message: Text,
  since: Time,
  isAlone: z.literal(true).exactOptional(),
  shards: z.array(z.number().int()).max(MOST_SHARDS).exactOptional(),
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
      state: z.enum(CONSENSUS_STATES).nullable(),
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
      checks: z.array(StoredCheck).max(MAX_CHECKS),
      heartbeatAt: Time.nullable(),
      report: StoredReport.exactOptional(),
      unanswered: z.literal(true).exactOptional(),
      chainIdVerified: z.literal(true).exactOptional(),
    })
    .nullable(),
  latencyMs: Ms.nullable(),
  clockSkewMs: z.number().nullable(),
  tlsNotAfter: Time.nullable(),
  laggingShards: z.array(ShardNumber).max(MOST_SHARDS),
  turns: z.object({ down: Time, up: Time, first: Time.optional(), back: Time.optional() }).optional(),
  recent: z
    .array(z.object({ at: Time, verdict: z.enum(VERDICTS) }))
    .max(MOST_POLLS)
    .optional(),
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
      shards: z.array(ShardNumber).max(MOST_SHARDS).exactOptional(),
      height: Count,
      since: Time,
      branches: z.array(z.object({ hash: Hash, endpoints: z.array(Text).max(MOST_ENDPOINTS) })).max(MOST_ENDPOINTS),
    })
    .nullable(),
})
